//! The watched directories. They are the truth; file events only say that it is time to look.

mod debounce;
mod scan;
mod watch;

pub(crate) use debounce::Debounce;
pub(crate) use scan::{Known, PluginFile, Problem, Scan, scan};
pub(crate) use watch::DirectoryWatch;
