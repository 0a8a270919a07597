//! The commands, one file each.

mod ask;
mod check;
mod cluster;
mod dev;
mod dlq;
mod explain;
mod generated;
mod get;
mod golden;
mod host;
mod input;
mod list;
mod manifests;
mod object_argument;
mod offline;
mod plugin;
mod plugin_build;
mod plugin_new;
mod plugin_test;
mod rbac;
mod replay;
mod run;
mod tail;
mod top;
mod ui;
mod why;
mod yaml;

pub(crate) use cluster::cluster;
pub(crate) use dev::dev;
pub(crate) use dlq::dlq;
pub(crate) use explain::explain;
pub(crate) use generated::{completion, man, version};
pub(crate) use get::get;
pub(crate) use plugin::plugin;
pub(crate) use rbac::rbac;
pub(crate) use replay::replay;
pub(crate) use run::run;
pub(crate) use tail::tail;
pub(crate) use top::top;
pub(crate) use ui::ui;
pub(crate) use why::why;

use crate::shutdown::{self, Stop};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::time::Duration;

/// How long the remaining threads may run after the end of a command. A compilation cannot be interrupted, and a
/// guest's thread cannot be ended from outside.
const LEFTOVERS_MAX: Duration = Duration::from_secs(1);

/// Runs a command until it ends. A signal cancels the token that asks the command to end. Guests have their own
/// threads; informers also make quick calls of guests on theirs.
fn run_until_signal<F>(command: impl FnOnce(Stop) -> F) -> Result<()>
where
    F: Future<Output = Result<()>>,
{
    crate::open_files::allow_all();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(worker_threads())
        .thread_stack_size(informant_runtime::THREAD_STACK_BYTES)
        .enable_all()
        .build()
        .context("the async runtime cannot start")?;
    let stop = shutdown::on_signals().context("signals cannot be received")?;
    let result = runtime.block_on(command(stop));
    runtime.shutdown_timeout(LEFTOVERS_MAX);
    result
}

/// Half of the cores; the other half is for the guests. An event that goes from the connection to the store on one
/// thread wakes no other thread. Measured on two cores: one worker hands over most events of a slow stream sooner than
/// two workers, and as many events of a fast stream.
fn worker_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.div_ceil(2)
}

/// A plugin directory must exist at the start: the host would watch a mistyped path in vain.
fn check_directory(path: &Path) -> Result<()> {
    let problem = match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => match std::fs::read_dir(path) {
            Ok(_) => return Ok(()),
            Err(error) => format!("cannot be read: {error}"),
        },
        Ok(_) => "is not a directory; name the directory that the plugin files are in".to_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            format!("does not exist; make it (mkdir -p {}) or name another", path.display())
        }
        Err(error) => format!("cannot be read: {error}"),
    };
    bail!("the plugin directory {} {problem}", path.display())
}
