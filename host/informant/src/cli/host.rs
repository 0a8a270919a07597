//! The arguments of every command that starts a host.

use super::{
    AccessArgs, CompilerArgs, ConfigArgs, ConnectionArgs, OtlpArgs, OutboundArgs, RecordArgs,
    ServeArgs, StateArgs,
};

#[derive(clap::Args, Debug)]
pub(crate) struct HostArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
    #[command(flatten)]
    pub(crate) state: StateArgs,
    #[command(flatten)]
    pub(crate) outbound: OutboundArgs,
    #[command(flatten)]
    pub(crate) record: RecordArgs,
    #[command(flatten)]
    pub(crate) otlp: OtlpArgs,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}
