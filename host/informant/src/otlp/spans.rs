//! The export of traces: sends the batches of the queue.

use super::client::OtlpBody;
use super::cut_off;
use super::messages::Resource;
use super::queue::{SpanBatch, SpanQueue};
use super::sender::{ATTEMPTS_MAX, Sender};
use super::span_bytes::request;
use std::sync::atomic::Ordering::Relaxed;
use tokio_util::sync::CancellationToken;

pub(super) struct SpansExport {
    sender: Sender,
    resource: Resource,
    queue: SpanQueue,
}

impl SpansExport {
    pub(super) fn new(sender: Sender, resource: Resource, queue: SpanQueue) -> Self {
        Self { sender, resource, queue }
    }

    /// Runs until `end`, and then sends what waits.
    pub(super) async fn run(mut self, end: CancellationToken) {
        let (queue, cut_off) = (self.queue.clone(), cut_off(end.clone()));
        let exported = async {
            while let Some(batch) = queue.next(&end).await {
                self.export(batch, &end).await;
            }
        };
        tokio::select! {
            () = exported => {}
            () = cut_off => {}
        }
        // Spans of the batch that was cut off are not among these. Nothing reads the numbers any more.
        self.sender.counts.spans_failed.fetch_add(queue.len() as u64, Relaxed);
    }

    async fn export(&mut self, SpanBatch { bytes, spans }: SpanBatch, end: &CancellationToken) {
        let (resource, is_compressed) = (self.resource.clone(), self.sender.is_compressed());
        let encode = move || OtlpBody::new(request(&resource, &bytes), is_compressed);
        let sent = match tokio::task::spawn_blocking(encode).await {
            Ok(body) => self.sender.send(&body, ATTEMPTS_MAX, end).await,
            // The runtime ends.
            Err(_) => None,
        };
        if sent.is_some() {
            self.sender.succeeded();
        }
        let count = spans as u64;
        let rejected = sent.unwrap_or(count).min(count);
        self.sender.counts.spans_failed.fetch_add(rejected, Relaxed);
        self.sender.counts.spans_exported.fetch_add(count - rejected, Relaxed);
    }
}
