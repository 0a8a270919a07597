//! The option for traces and metrics by OpenTelemetry.

#[derive(clap::Args, Debug)]
pub(crate) struct OtlpArgs {
    /// URL of an OpenTelemetry collector, such as http://127.0.0.1:4318: traces of events, calls and writes, and the
    /// metrics of /metrics, by OTLP over HTTP in protobuf. Without this option nothing is exported. The other settings
    /// are OpenTelemetry's environment variables; host/docs/tracing.md has those that count.
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub(crate) otlp_endpoint: Option<String>,
}
