//! The arguments of every command that starts a host.

use super::{
    AccessArgs, CompilerArgs, ConfigArgs, ConnectionArgs, OtlpArgs, OutboundArgs, RecordArgs,
    ServeArgs, StateArgs,
};

#[derive(clap::Args, Debug)]
pub(crate) struct HostArgs {
    #[command(flatten, next_help_heading = "Plugins")]
    pub(crate) config: ConfigArgs,
    #[command(flatten, next_help_heading = "Cluster")]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten, next_help_heading = "Cluster")]
    pub(crate) access: AccessArgs,
    #[command(flatten, next_help_heading = "Plugins")]
    pub(crate) compiler: CompilerArgs,
    #[command(flatten, next_help_heading = "State")]
    pub(crate) state: StateArgs,
    #[command(flatten, next_help_heading = "Requests of plugins over HTTP")]
    pub(crate) outbound: OutboundArgs,
    #[command(flatten, next_help_heading = "Recording")]
    pub(crate) record: RecordArgs,
    #[command(flatten, next_help_heading = "OpenTelemetry")]
    pub(crate) otlp: OtlpArgs,
    #[command(flatten, next_help_heading = "HTTP API and log")]
    pub(crate) serve: ServeArgs,
}
