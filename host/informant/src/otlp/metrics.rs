//! The export of metrics: what `/metrics` shows, every minute.

use super::FLUSH_MAX;
use super::messages::{
    MetricMessage, MetricsRequest, Resource, ResourceMetrics, Scope, ScopeMetrics,
};
use super::page::MetricsPage;
use super::sender::Sender;
use super::unix_nanoseconds;
use crate::metrics::{self, MetricSources};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

/// Pieces of a page that wait to be sent.
const PIECES_WAITING: usize = 1;

pub(super) struct MetricsExport {
    sender: Sender,
    resource: Resource,
    sources: MetricSources,
    /// The start of the host, in nanoseconds since 1970.
    began: u64,
}

impl MetricsExport {
    pub(super) fn new(
        sender: Sender,
        resource: Resource,
        (sources, began): (MetricSources, u64),
    ) -> Self {
        Self { sender, resource, sources, began }
    }

    /// Runs until `end`, and then sends the last numbers, within [`FLUSH_MAX`].
    pub(super) async fn run(mut self, period: Duration, end: CancellationToken) {
        let mut ticks = interval_at(tokio::time::Instant::now() + period, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = end.cancelled() => break,
            }
            let ended = async {
                end.cancelled().await;
                tokio::time::sleep(FLUSH_MAX).await;
            };
            tokio::select! {
                () = self.export(&end) => {}
                () = ended => return,
            }
        }
        // A collector that does not answer in time has the numbers of a minute ago.
        let _ = timeout(FLUSH_MAX, self.export(&end)).await;
    }

    /// Sends the present numbers. There are no repetitions, because newer numbers follow. After a failure the rest of the
    /// page is neither sent nor written.
    async fn export(&mut self, end: &CancellationToken) {
        let (sources, times) = (self.sources.clone(), (self.began, unix_nanoseconds()));
        let (pieces, mut taken) = mpsc::channel(PIECES_WAITING);
        tokio::task::spawn_blocking(move || {
            let mut page = MetricsPage::in_pieces(times, pieces);
            // It fails if the pieces are no longer taken.
            let _ = metrics::write(sources, &mut page).and_then(|()| page.end());
        });
        while let Some(metrics) = taken.recv().await {
            let request = request(&self.resource, metrics);
            if self.sender.send(&request, 1, end).await.is_none() {
                return;
            }
        }
    }
}

fn request(resource: &Resource, metrics: Vec<MetricMessage>) -> MetricsRequest {
    let scope_metrics = vec![ScopeMetrics { scope: Some(Scope::of_host()), metrics }];
    let resource = Some(resource.clone());
    MetricsRequest { resource_metrics: vec![ResourceMetrics { resource, scope_metrics }] }
}
