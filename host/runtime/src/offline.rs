//! Plugins without a cluster and without a clock, for tests and for recordings. The code that calls
//! them is that of a host, and each run is the same. Reasons: `host/docs/designs/recordings.md`.

pub(crate) mod check;

mod applied;
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
pub use script::{KindedObject, SCRIPT_BYTES_MAX, Script, ScriptError};
pub use transcript::Transcript;
