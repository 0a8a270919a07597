//! The arguments of `informant dev`.

use super::{BuildTimeArgs, HostArgs};
use std::path::PathBuf;

#[derive(clap::Args, Debug)]
pub(crate) struct DevArgs {
    /// Directories of plugin files, plugin projects, and folders of projects. A project is built at the start and after each save, but not after a save of tests or of their data.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) time: BuildTimeArgs,
    /// Changes a second that the workloads of the embedded cluster make, about. 0 makes none.
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    pub(crate) traffic: f64,
    /// Grant each plugin what its descriptor asks for. Only with the embedded cluster; requests over HTTP are sent.
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) grant_all: bool,
    /// Text below the log of a terminal [default: how to change the plugins].
    #[arg(long, value_name = "TEXT", hide = true)]
    pub(crate) hint: Option<String>,
    #[command(flatten)]
    pub(crate) host: HostArgs,
}
