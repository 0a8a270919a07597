//! The commands that run plugins without a host.

use super::{ConfigArgs, Output};
use crate::compiler::CompilerArgs;
use std::path::PathBuf;

#[derive(clap::Args, Debug)]
pub(crate) struct TestArgs {
    /// Plugin file. What stands in NAME.yaml beside NAME.wasm counts as it would for a host.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Directory of manifests, YAML or JSON: what is in the cluster, and in the cache, when the plugin starts.
    #[arg(long, value_name = "DIR")]
    pub(crate) objects: Option<PathBuf>,
    /// File with a JSON object a line: what happens then, and how requests are answered.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// The plugin's own configuration, in place of NAME.yaml beside it.
    #[arg(long, value_name = "FILE")]
    pub(crate) plugin_config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) golden: GoldenArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
    /// How a run is shown: `json` is a JSON object a line.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// What a run is to be.
#[derive(clap::Args, Debug)]
pub(crate) struct GoldenArgs {
    /// File that what is shown is compared with, in place of showing it; the difference is shown, and fails.
    #[arg(long, value_name = "FILE")]
    pub(crate) golden: Option<PathBuf>,
    /// Write the file anew.
    #[arg(long, requires = "golden")]
    pub(crate) update: bool,
}
