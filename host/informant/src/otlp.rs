//! Traces and metrics for OpenTelemetry: OTLP over HTTP, in protobuf. Off unless an endpoint is given.
//!
//! The messages are declared here (`messages.rs`) and not taken from OpenTelemetry's SDK. The SDK would bring ten
//! crates, its own spans and its own instruments; the spans are made in `host/runtime`, and the metrics are those of
//! `/metrics`.

mod client;
mod endpoint;
mod health;
mod messages;
mod metrics;
mod page;
mod queue;
mod sender;
mod settings;
mod spans;

use crate::metrics::{MetricSources, OtlpCounts};
use crate::task::{Task, end, ended_early};
use anyhow::{Result, anyhow};
use client::OtlpClient;
use health::ExportHealth;
use informant_runtime::{Span, Tracer};
use messages::Resource;
use metrics::MetricsExport;
use queue::SpanQueue;
use rustls::crypto::ring::default_provider;
use sender::Sender;
pub(crate) use settings::OtlpSettings;
use spans::SpansExport;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// How long the end of the host waits for the last spans and metrics.
const FLUSH_MAX: Duration = Duration::from_secs(3);
/// Bytes of the key of changes' ids.
const KEY_BYTES: usize = 32;

/// The export, before its tasks run.
pub(crate) struct Otlp {
    settings: OtlpSettings,
    tracer: Option<Tracer>,
    spans: Option<mpsc::Receiver<Span>>,
    counts: Arc<OtlpCounts>,
    instance: [u8; 16],
}

/// The running export. Its tasks end before the host.
pub(crate) struct OtlpTasks {
    traces: Option<Task>,
    metrics: Option<Task>,
    end: CancellationToken,
}

impl Otlp {
    pub(crate) fn new(settings: OtlpSettings) -> Result<Self> {
        let (mut key, mut instance) = ([0; KEY_BYTES], [0; 16]);
        for bytes in [&mut key[..], &mut instance] {
            let filled = default_provider().secure_random.fill(bytes);
            filled.map_err(|_| anyhow!("the system has no random numbers"))?;
        }
        let counts = Arc::<OtlpCounts>::default();
        let queue = settings.traces.as_ref().map(|_| {
            let (spans, taken) = mpsc::channel(settings.queue.spans_max);
            let processor = SpanQueue::new(spans, counts.clone());
            (Tracer::new(&key, (settings.ratio, true), processor), taken)
        });
        let (tracer, spans) = queue.unzip();
        Ok(Self { settings, tracer, spans, counts, instance })
    }

    /// The maker of spans for plugins' calls. `None`: no traces are exported.
    pub(crate) fn tracer(&self) -> Option<Tracer> {
        self.tracer.clone()
    }

    /// The numbers for `/metrics`.
    pub(crate) fn counts(&self) -> Arc<OtlpCounts> {
        self.counts.clone()
    }

    /// Starts the tasks. Call it within the async runtime.
    pub(crate) fn start(self, sources: MetricSources) -> Result<OtlpTasks> {
        let Self { settings, spans, counts, instance, .. } = self;
        let OtlpSettings { traces, metrics, resource, queue, metric_interval, .. } = settings;
        let resource = Resource::new(resource, instance);
        let token = CancellationToken::new();
        let sender = |signal, settings| {
            let health = ExportHealth::new(signal);
            OtlpClient::new(settings).map(|client| Sender::new(client, health, counts.clone()))
        };
        let traces = traces.zip(spans).map(|(settings, spans)| {
            info!("traces are sent to {}", settings.endpoint);
            let export = SpansExport::new(sender("traces", settings)?, resource.clone(), queue);
            anyhow::Ok(Task::spawn("the export of traces", export.run(spans, token.clone())))
        });
        let traces = traces.transpose()?;
        let metrics = metrics.map(|settings| {
            info!("metrics are sent to {}", settings.endpoint);
            let sender = sender("metrics", settings)?;
            let began = unix_nanoseconds();
            let export = MetricsExport::new(sender, resource.clone(), (sources, began));
            let run = export.run(metric_interval, token.clone());
            anyhow::Ok(Task::spawn("the export of metrics", run))
        });
        Ok(OtlpTasks { traces, metrics: metrics.transpose()?, end: token })
    }
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
