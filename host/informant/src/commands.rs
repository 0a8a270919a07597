//! What each command does.

mod cluster;
mod dev;
mod run;

pub(crate) use cluster::cluster;
pub(crate) use dev::dev;
pub(crate) use run::run;

use anyhow::{Context, Result, bail};
use std::path::Path;

/// The runtime of the host's own tasks; guests have threads of their own.
fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the async runtime cannot start")
}

/// A plugin directory must be there from the start: a mistyped one would be watched in vain.
fn check_directory(path: &Path) -> Result<()> {
    let problem = match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => match std::fs::read_dir(path) {
            Ok(_) => return Ok(()),
            Err(error) => format!("cannot be read: {error}"),
        },
        Ok(_) => "is not a directory".to_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            format!("does not exist; make it (mkdir -p {}) or name another", path.display())
        }
        Err(error) => format!("cannot be read: {error}"),
    };
    bail!("the plugin directory {} {problem}", path.display())
}
