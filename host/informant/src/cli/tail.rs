//! The arguments of `informant tail`: those of `kubectl logs`.

use super::AdminArgs;
use clap::ArgAction;
use informant_apimachinery::duration;
use std::time::Duration;

#[derive(clap::Args, Debug)]
pub(crate) struct TailArgs {
    /// The plugin's name: its file name without .wasm.
    #[arg(value_name = "PLUGIN")]
    pub(crate) name: String,
    /// Show only so many of the lines that the host keeps [default: all of them].
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) tail: Option<u32>,
    /// Show only lines of the last so long, such as 30s or 1h30m.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) since: Option<Duration>,
    /// Begin each line with its time, in UTC.
    #[arg(long)]
    pub(crate) timestamps: bool,
    /// Go on with the lines as they come. --follow=false ends after the lines that the host keeps.
    #[arg(
        long, short, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1,
        require_equals = true, action = ArgAction::Set
    )]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
}
