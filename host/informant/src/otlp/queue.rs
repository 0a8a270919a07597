//! The queue of ended spans. A span that finds it full is dropped and counted: no call waits for the collector.

use crate::metrics::OtlpCounts;
use informant_runtime::{Span, SpanProcessor};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::mpsc;

pub(super) struct SpanQueue {
    /// Its bound is `OTEL_BSP_MAX_QUEUE_SIZE`. A span has less than 3 KiB.
    spans: mpsc::Sender<Span>,
    counts: Arc<OtlpCounts>,
}

impl SpanQueue {
    pub(super) fn new(spans: mpsc::Sender<Span>, counts: Arc<OtlpCounts>) -> Self {
        Self { spans, counts }
    }
}

impl SpanProcessor for SpanQueue {
    fn on_end(&self, span: Span) {
        if self.spans.try_send(span).is_err() {
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

    #[test]
    fn spans_above_the_bound_are_counted() {
        let (sender, mut taken) = mpsc::channel(2);
        let counts = Arc::<OtlpCounts>::default();
        let queue = SpanQueue::new(sender, counts.clone());
        ["a", "b", "c"].into_iter().for_each(|name| queue.on_end(span(name)));
        assert_eq!(counts.spans_dropped.load(Relaxed), 1);
        let names = std::iter::from_fn(|| taken.try_recv().ok()).map(|span| span.name);
        assert_eq!(names.collect::<Vec<_>>(), ["a", "b"]);
    }
}
