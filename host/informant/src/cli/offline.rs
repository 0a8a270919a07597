//! The commands that run plugins without a host.

use super::{ConfigArgs, Output};
use crate::compiler::{CompilerArgs, size};
use informant_runtime::{PluginName, RECORDING_BYTES_MAX, RecordOptions};
use std::path::PathBuf;

/// Which plugin is run without a host, and how.
#[derive(clap::Args, Debug)]
pub(crate) struct OfflineArgs {
    /// Plugin file. NAME.yaml beside NAME.wasm counts as for a host.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The plugin's own configuration, in place of NAME.yaml beside it.
    #[arg(long, value_name = "FILE")]
    pub(crate) plugin_config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) golden: GoldenArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
    /// Format of the output: `json` is one JSON object a line.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(clap::Args, Debug)]
pub(crate) struct TestArgs {
    /// Directory of manifests, YAML or JSON: the objects of the cluster when the plugin starts.
    #[arg(long, value_name = "DIR")]
    pub(crate) objects: Option<PathBuf>,
    /// File with one JSON object a line: the events, and the answers to requests.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Apply the plugin's writes to the objects of the run, and deliver the changes to the plugin, so that a controller comes to rest.
    /// Writes with an answer in the events file change nothing.
    #[arg(long)]
    pub(crate) apply_writes: bool,
    #[command(flatten)]
    pub(crate) offline: OfflineArgs,
}

/// What a run is to be.
#[derive(clap::Args, Debug)]
pub(crate) struct GoldenArgs {
    /// File to compare the output with. A difference is printed in place of the output, and is a failure.
    #[arg(long, value_name = "FILE")]
    pub(crate) golden: Option<PathBuf>,
    /// Write the output to the file of --golden.
    #[arg(long, requires = "golden")]
    pub(crate) update: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ReplayArgs {
    /// Recording of `run --record` or `dev --record`.
    #[arg(value_name = "RECORDING")]
    pub(crate) recording: PathBuf,
    #[command(flatten)]
    pub(crate) offline: OfflineArgs,
}

/// What is written down of plugins.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct RecordArgs {
    /// Directory for recordings of all calls, requests and answers of plugins, for `replay`. No other host may use it. Recordings have
    /// everything that the plugins see. A plugin with a grant for Secrets is recorded only if --record-plugin names it, and the
    /// content of Secrets is replaced.
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Record this plugin only, also one with a grant for Secrets. May be repeated.
    #[arg(long, value_name = "NAME", requires = "record")]
    pub(crate) record_plugin: Vec<PluginName>,
    /// Largest size of one recording, up to 1Gi. A recording ends there.
    #[arg(long, value_name = "SIZE", default_value = "64Mi", requires = "record", value_parser = recording_size)]
    pub(crate) record_size: u64,
}

impl RecordArgs {
    pub(crate) fn options(self) -> Option<RecordOptions> {
        let (plugins, bytes_max) = (self.record_plugin, self.record_size);
        self.record.map(|directory| RecordOptions { directory, plugins, bytes_max })
    }
}

fn recording_size(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    match bytes <= RECORDING_BYTES_MAX {
        true => Ok(bytes),
        false => Err("a recording has at most 1Gi".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_runtime::RECORDING_BYTES_DEFAULT;

    #[test]
    fn recordings_are_bounded() {
        assert_eq!(recording_size("64Mi"), Ok(RECORDING_BYTES_DEFAULT));
        assert_eq!(recording_size("1Gi"), Ok(RECORDING_BYTES_MAX));
        let more = (RECORDING_BYTES_MAX + 1).to_string();
        assert_eq!(recording_size(&more), Err("a recording has at most 1Gi".to_owned()));
    }
}
