//! The export of metrics: what `/metrics` shows, every minute.

use super::client::OtlpBody;
use super::cut_off;
use super::messages::{
    MetricMessage, MetricsRequest, Resource, ResourceMetrics, Scope, ScopeMetrics,
};
use super::page::{MetricsPage, POINTS_AT_ONCE};
use super::sender::Sender;
use super::unix_nanoseconds;
use crate::metrics::{self, MetricSources};
use prost::Message as _;
use std::fmt;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval_at};
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

    /// Runs until `end`, and then sends the last numbers. A collector that does not answer in time has older ones.
    pub(super) async fn run(mut self, period: Duration, end: CancellationToken) {
        let mut ticks = interval_at(tokio::time::Instant::now() + period, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let cut_off = cut_off(end.clone());
        let exported = async {
            loop {
                tokio::select! {
                    biased;
                    () = end.cancelled() => break,
                    _ = ticks.tick() => self.export(&end).await,
                }
            }
            self.export(&end).await;
        };
        tokio::select! {
            () = exported => {}
            () = cut_off => {}
        }
    }

    /// Sends the present numbers. There are no repetitions, because newer numbers follow. After a failure the rest of the
    /// page is neither sent nor written.
    async fn export(&mut self, end: &CancellationToken) {
        if self.sender.must_wait() {
            return;
        }
        let (sources, began, resource) = (self.sources.clone(), self.began, self.resource.clone());
        let is_compressed = self.sender.is_compressed();
        let (pieces, mut taken) = mpsc::channel(PIECES_WAITING);
        tokio::task::spawn_blocking(move || {
            // It fails if the pieces are no longer taken.
            let hand_over = |metrics| {
                let body =
                    OtlpBody::new(request(&resource, metrics).encode_to_vec(), is_compressed);
                pieces.blocking_send(body).map_err(|_| fmt::Error)
            };
            let mut page = MetricsPage::new((began, unix_nanoseconds), POINTS_AT_ONCE, hand_over);
            let _ = metrics::write(sources, &mut page).and_then(|()| page.end());
        });
        while let Some(body) = taken.recv().await {
            if self.sender.send(&body, 1, end).await.is_none() {
                return;
            }
        }
        self.sender.succeeded();
    }
}

fn request(resource: &Resource, metrics: Vec<MetricMessage>) -> MetricsRequest {
    let scope_metrics = vec![ScopeMetrics { scope: Some(Scope::of_host()), metrics }];
    let resource = Some(resource.clone());
    MetricsRequest { resource_metrics: vec![ResourceMetrics { resource, scope_metrics }] }
}
