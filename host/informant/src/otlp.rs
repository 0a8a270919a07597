//! Traces and metrics for OpenTelemetry: OTLP over HTTP, in protobuf. Off unless an endpoint is given.
//!
//! The messages are declared here (`messages.rs`; those of spans are written by `span_bytes.rs`) and not taken from OpenTelemetry's crates, which are about ten more and
//! take longer to compile (`host/docs/designs/choices.md`). The spans are made in `host/runtime`, and the metrics are
//! those of `/metrics`.

mod client;
mod endpoint;
mod health;
mod messages;
mod metrics;
mod page;
mod queue;
mod sender;
mod settings;
mod span_bytes;
mod spans;
mod wire;

use crate::metrics::{MetricSources, OtlpCounts};
use crate::task::{Task, end, ended_early};
use anyhow::{Result, anyhow};
use client::OtlpClient;
use health::ExportHealth;
use informant_runtime::Tracer;
use messages::Resource;
use metrics::MetricsExport;
use queue::SpanQueue;
use ring::rand::{SecureRandom as _, SystemRandom};
use sender::Sender;
pub(crate) use settings::OtlpSettings;
use settings::{SignalSettings, left_off};
use spans::SpansExport;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How long the end of the host waits for the last spans and metrics.
const FLUSH_MAX: Duration = Duration::from_secs(3);

/// The export, before its tasks run.
pub(crate) struct Otlp {
    settings: OtlpSettings,
    traces: Option<TracesParts>,
    metrics: Option<OtlpClient>,
    counts: Arc<OtlpCounts>,
}

/// The parts of the export of traces.
struct TracesParts {
    client: OtlpClient,
    tracer: Tracer,
    queue: SpanQueue,
}

/// The running export. Its tasks end before the host.
pub(crate) struct OtlpTasks {
    traces: Option<Task>,
    metrics: Option<Task>,
    end: CancellationToken,
}

impl Otlp {
    pub(crate) fn new(mut settings: OtlpSettings) -> Result<Self> {
        let counts = Arc::<OtlpCounts>::default();
        let traces = client(settings.traces.take())?.map(|client| {
            let queue = SpanQueue::new(settings.queue, counts.clone());
            let sampled = (settings.ratio, settings.propagates);
            TracesParts { client, tracer: Tracer::new(sampled, queue.clone()), queue }
        });
        let metrics = client(settings.metrics.take())?;
        Ok(Self { settings, traces, metrics, counts })
    }

    /// The maker of spans for plugins' calls. `None`: no traces are exported.
    pub(crate) fn tracer(&self) -> Option<Tracer> {
        self.traces.as_ref().map(|traces| traces.tracer.clone())
    }

    /// The numbers for `/metrics`.
    pub(crate) fn counts(&self) -> Arc<OtlpCounts> {
        self.counts.clone()
    }

    /// Starts the tasks. Call it within the async runtime.
    pub(crate) fn start(self, sources: MetricSources) -> Result<OtlpTasks> {
        let Self { settings, traces, metrics, counts } = self;
        let OtlpSettings { resource, metric_interval, .. } = settings;
        let instance = u128::from_be_bytes(random()?);
        let resource = Resource::new(resource, &format!("{instance:032x}"));
        let token = CancellationToken::new();
        let sender = |signal, client: OtlpClient| {
            info!("{signal} are sent to {}", client.endpoint());
            Sender::new(client, ExportHealth::new(signal), counts.clone())
        };
        let traces = traces.map(|TracesParts { client, queue, .. }| {
            let export = SpansExport::new(sender("traces", client), resource.clone(), queue);
            Task::spawn("the export of traces", export.run(token.clone()))
        });
        let metrics = metrics.map(|client| {
            let (sender, began) = (sender("metrics", client), unix_nanoseconds());
            let export = MetricsExport::new(sender, resource.clone(), (sources, began));
            Task::spawn("the export of metrics", export.run(metric_interval, token.clone()))
        });
        Ok(OtlpTasks { traces, metrics, end: token })
    }
}

/// The client of a signal that is on. Variables that were meant for another program do not end the start.
fn client(settings: Option<SignalSettings>) -> Result<Option<OtlpClient>> {
    let Some(settings) = settings else { return Ok(None) };
    let is_required = settings.is_required;
    match OtlpClient::new(settings) {
        Err(problem) if !is_required => {
            warn!("{}", left_off(&problem));
            Ok(None)
        }
        client => client.map(Some),
    }
}

fn random() -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| anyhow!("the system has no random numbers"))?;
    Ok(bytes)
}

/// Waits until the last messages have had their time after the end.
async fn cut_off(end: CancellationToken) {
    end.cancelled().await;
    tokio::time::sleep(FLUSH_MAX).await;
}

impl OtlpTasks {
    /// Sends what waits, within a deadline.
    pub(crate) async fn end(&mut self) -> Result<()> {
        self.end.cancel();
        let traces = end(&mut self.traces).await;
        traces.and(end(&mut self.metrics).await)
    }

    /// Waits for an unrequested end.
    async fn early(&mut self) -> anyhow::Error {
        tokio::select! {
            early = ended_early(&mut self.traces) => early,
            early = ended_early(&mut self.metrics) => early,
        }
    }

    /// The same for an export that may be off.
    pub(crate) async fn ended_early(tasks: &mut Option<Self>) -> anyhow::Error {
        match tasks {
            Some(tasks) => tasks.early().await,
            None => pending().await,
        }
    }
}

fn unix_nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
