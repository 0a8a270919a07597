//! The queue of ended spans. A span that finds it full is dropped and counted: no call waits for the collector.

use crate::metrics::OtlpCounts;
use informant_runtime::{Span, SpanProcessor};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::mpsc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of all spans that wait, and of the batch that is encoded. A span for a write has about 1 KiB, and one whose texts
/// are all cut has less than 16.
const BYTES_MAX: usize = 32 << 20;

pub(super) struct SpanQueue {
    /// Its bound is `OTEL_BSP_MAX_QUEUE_SIZE`.
    spans: mpsc::Sender<QueuedSpan>,
    bytes: Arc<Semaphore>,
    counts: Arc<OtlpCounts>,
}

/// A span with its room in the queue.
pub(super) struct QueuedSpan {
    pub(super) span: Span,
    _room: OwnedSemaphorePermit,
}

impl SpanQueue {
    /// A queue for so many spans, and its end.
    pub(super) fn new(
        spans_max: usize,
        counts: Arc<OtlpCounts>,
    ) -> (Self, mpsc::Receiver<QueuedSpan>) {
        Self::of_size((spans_max, BYTES_MAX), counts)
    }

    fn of_size(
        (spans_max, bytes_max): (usize, usize),
        counts: Arc<OtlpCounts>,
    ) -> (Self, mpsc::Receiver<QueuedSpan>) {
        let (spans, taken) = mpsc::channel(spans_max);
        (Self { spans, bytes: Arc::new(Semaphore::new(bytes_max)), counts }, taken)
    }

    fn push(&self, span: Span) -> Option<()> {
        let bytes = u32::try_from(span.bytes()).ok()?;
        let _room = self.bytes.clone().try_acquire_many_owned(bytes).ok()?;
        self.spans.try_send(QueuedSpan { span, _room }).ok()
    }
}

impl SpanProcessor for SpanQueue {
    fn on_end(&self, span: Span) {
        if self.push(span).is_none() {
            self.counts.spans_dropped.fetch_add(1, Relaxed);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use informant_runtime::{SpanId, SpanKind, TraceId};

    pub(crate) fn span(name: &str) -> Span {
        Span {
            trace: TraceId([1; 16]),
            id: SpanId([2; 8]),
            parent: Some(SpanId([3; 8])),
            name: name.to_owned(),
            kind: SpanKind::Client,
            start: 4,
            end: 5,
            attributes: vec![("a", "b".into()), ("c", 6.into())],
            link: Some((TraceId([7; 16]), SpanId([8; 8]))),
            is_error: true,
        }
    }

    /// The names of the spans that a queue of this size takes, of three; twice.
    #[track_caller]
    fn check(size: (usize, usize), expect: &[&str]) {
        let counts = Arc::<OtlpCounts>::default();
        let (queue, mut taken) = SpanQueue::of_size(size, counts.clone());
        for round in 1..=2 {
            ["a", "b", "c"].into_iter().for_each(|name| queue.on_end(span(name)));
            let names = std::iter::from_fn(|| taken.try_recv().ok()).map(|it| it.span.name);
            assert_eq!(names.collect::<Vec<_>>(), expect, "{size:?}");
            let dropped = round * (3 - expect.len() as u64);
            assert_eq!(counts.spans_dropped.load(Relaxed), dropped, "{size:?}");
        }
    }

    #[test]
    fn spans_above_the_bounds_are_counted() {
        check((2, BYTES_MAX), &["a", "b"]);
        let bytes = span("a").bytes();
        check((3, 3 * bytes), &["a", "b", "c"]);
        check((3, 3 * bytes - 1), &["a", "b"]);
        check((3, bytes - 1), &[]);
    }
}
