//! Plugins without a cluster and without a clock: runs that are the same each time, through what calls plugins in a host, for tests and for what was
//! recorded. The why is in `host/docs/designs/recordings.md`.

pub(crate) mod check;

mod field_error;
mod journal;
mod outside;
mod plugin;
mod replay;
mod run;
mod script;
mod transcript;
mod world;

pub use outside::{PatchObject, PatchOf};
pub use plugin::{OfflineError, OfflineOptions, OfflinePlugin};
pub use script::{KindedObject, Script, ScriptError};
pub use transcript::Transcript;
