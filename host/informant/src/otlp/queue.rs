//! The queue of ended spans: the bytes of the next requests. A span that finds it full is dropped and counted: no call waits
//! for the collector.

use super::settings::QueueSettings;
use super::span_bytes::{append, encoded};
use crate::metrics::OtlpCounts;
use informant_runtime::{Span, SpanProcessor};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Bytes of all spans that wait; their buffers may have twice as many. A span of a change has about 400 bytes, and one whose texts are all cut less than 16 KiB.
const BYTES_MAX: usize = 32 << 20;
/// A batch of so many bytes is full: collectors refuse requests above some MiB.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// The queue. Clones share all state.
#[derive(Clone)]
pub(super) struct SpanQueue(Arc<QueueState>);

struct QueueState {
    waiting: Mutex<WaitingSpans>,
    /// A batch began or is full. One task waits for that.
    changed: Notify,
    settings: QueueSettings,
    counts: Arc<OtlpCounts>,
}

/// The room of a new batch for each span that it may have: it hardly grows under the lock.
const SPAN_BYTES: usize = 512;

/// The batches that wait, oldest first. All but the last are full.
#[derive(Default)]
struct WaitingSpans {
    batches: VecDeque<SpanBatch>,
    /// Of all batches. Their bounds are `OTEL_BSP_MAX_QUEUE_SIZE` and [`BYTES_MAX`].
    spans: usize,
    bytes: usize,
}

/// The spans of one request.
pub(super) struct SpanBatch {
    /// Encoded, one after the other.
    pub(super) bytes: Vec<u8>,
    pub(super) spans: usize,
}

impl WaitingSpans {
    /// Adds a span. Returns whether its batch began or is full now, or `None` without room.
    fn push(&mut self, encoded: &[u8], settings: &QueueSettings) -> Option<bool> {
        if self.spans >= settings.spans_max || self.bytes + encoded.len() > BYTES_MAX {
            return None;
        }
        if self.batches.back().is_none_or(|batch| batch.is_full(settings)) {
            let room = (settings.batch_max * SPAN_BYTES).min(BATCH_BYTES_MAX);
            self.batches.push_back(SpanBatch { bytes: Vec::with_capacity(room), spans: 0 });
        }
        let batch = self.batches.back_mut()?;
        let before = batch.bytes.len();
        append(&mut batch.bytes, encoded);
        batch.spans += 1;
        self.spans += 1;
        self.bytes += batch.bytes.len() - before;
        Some(batch.spans == 1 || batch.is_full(settings))
    }

    fn pop(&mut self) -> Option<SpanBatch> {
        let batch = self.batches.pop_front()?;
        self.spans -= batch.spans;
        self.bytes -= batch.bytes.len();
        Some(batch)
    }
}

impl SpanBatch {
    fn is_full(&self, settings: &QueueSettings) -> bool {
        self.spans >= settings.batch_max || self.bytes.len() >= BATCH_BYTES_MAX
    }
}

impl SpanQueue {
    pub(super) fn new(settings: QueueSettings, counts: Arc<OtlpCounts>) -> Self {
        let (waiting, changed) = (Mutex::default(), Notify::new());
        Self(Arc::new(QueueState { waiting, changed, settings, counts }))
    }

    /// The number of spans that wait.
    pub(super) fn len(&self) -> usize {
        self.0.waiting.lock().spans
    }

    /// The next batch: a full one, or the spans of the time that the first one waits. `None` after the end, once no span
    /// waits. One task calls it.
    pub(super) async fn next(&self, end: &CancellationToken) -> Option<SpanBatch> {
        let settings = &self.0.settings;
        tokio::select! {
            () = self.until(|_| true) => {}
            () = end.cancelled() => {}
        }
        tokio::select! {
            _ = timeout(settings.delay, self.until(|first| first.is_full(settings))) => {}
            () = end.cancelled() => {}
        }
        self.0.waiting.lock().pop()
    }

    /// Waits for a first batch that is such a one.
    async fn until(&self, is_met: impl Fn(&SpanBatch) -> bool) {
        while !self.0.waiting.lock().batches.front().is_some_and(&is_met) {
            self.0.changed.notified().await;
        }
    }
}

impl SpanProcessor for SpanQueue {
    fn on_end(&self, span: &Span<'_>) {
        let encoded = encoded(span);
        let pushed = self.0.waiting.lock().push(&encoded, &self.0.settings);
        match pushed {
            Some(true) => self.0.changed.notify_one(),
            Some(false) => {}
            None => {
                self.0.counts.spans_dropped.fetch_add(1, Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests;
