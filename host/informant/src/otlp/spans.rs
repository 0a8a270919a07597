//! The export of traces: takes spans from the queue, in batches.

use super::client::OtlpBody;
use super::cut_off;
use super::messages::{
    AttributeValue, KeyValue, LinkMessage, Resource, ResourceSpans, SAMPLED, STATUS_ERROR, Scope,
    ScopeSpans, SpanMessage, SpanStatus, TracesRequest,
};
use super::queue::QueuedSpan;
use super::sender::{ATTEMPTS_MAX, Sender};
use super::settings::QueueSettings;
use informant_runtime::{Span, SpanKind, SpanValue};
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub(super) struct SpansExport {
    sender: Sender,
    resource: Resource,
    queue: QueueSettings,
}

impl SpansExport {
    pub(super) fn new(sender: Sender, resource: Resource, queue: QueueSettings) -> Self {
        Self { sender, resource, queue }
    }

    /// Runs until `end`, and then sends what waits.
    pub(super) async fn run(
        mut self,
        mut spans: mpsc::Receiver<QueuedSpan>,
        end: CancellationToken,
    ) {
        let cut_off = cut_off(end.clone());
        let exported = async {
            while let Some(batch) = batch(self.queue, &mut spans, &end).await {
                self.export(batch, &end).await;
            }
        };
        tokio::select! {
            () = exported => {}
            () = cut_off => {}
        }
        // Spans of the batch that was cut off are not among these. Nothing reads the numbers any more.
        self.sender.counts.spans_failed.fetch_add(spans.len() as u64, Relaxed);
    }

    async fn export(&mut self, batch: Vec<QueuedSpan>, end: &CancellationToken) {
        let count = batch.len() as u64;
        let (resource, is_compressed) = (self.resource.clone(), self.sender.is_compressed());
        let encode = move || OtlpBody::new(&request(&resource, batch), is_compressed);
        let sent = match tokio::task::spawn_blocking(encode).await {
            Ok(body) => self.sender.send(&body, ATTEMPTS_MAX, end).await,
            // The runtime ends.
            Err(_) => None,
        };
        if sent.is_some() {
            self.sender.succeeded();
        }
        let rejected = sent.unwrap_or(count).min(count);
        self.sender.counts.spans_failed.fetch_add(rejected, Relaxed);
        self.sender.counts.spans_exported.fetch_add(count - rejected, Relaxed);
    }
}

/// The next batch: as many spans as it takes, or those of the time that the first one waits. `None` after the end, once no
/// span waits.
async fn batch(
    QueueSettings { batch_max, delay, .. }: QueueSettings,
    spans: &mut mpsc::Receiver<QueuedSpan>,
    end: &CancellationToken,
) -> Option<Vec<QueuedSpan>> {
    let mut batch = Vec::new();
    tokio::select! {
        biased;
        _ = spans.recv_many(&mut batch, batch_max) => {}
        () = end.cancelled() => {}
    }
    let fill = async {
        while batch.len() < batch_max {
            let room = batch_max - batch.len();
            if spans.recv_many(&mut batch, room).await == 0 {
                return;
            }
        }
    };
    tokio::select! {
        _ = timeout(delay, fill) => {}
        () = end.cancelled() => {}
    }
    (!batch.is_empty()).then_some(batch)
}

fn request(resource: &Resource, spans: Vec<QueuedSpan>) -> TracesRequest {
    let spans = spans.into_iter().map(|queued| message(queued.span)).collect();
    let scope_spans = vec![ScopeSpans { scope: Some(Scope::of_host()), spans }];
    let resource_spans = vec![ResourceSpans { resource: Some(resource.clone()), scope_spans }];
    TracesRequest { resource_spans }
}

fn message(span: Span) -> SpanMessage {
    let attribute = |(key, value): (&'static str, SpanValue)| match value {
        SpanValue::Text(text) => KeyValue::new(key, AttributeValue::Text(text)),
        SpanValue::Number(number) => KeyValue::new(key, AttributeValue::Number(number)),
    };
    let link = span
        .link
        .map(|(trace, id)| LinkMessage { trace_id: trace.0.to_vec(), span_id: id.0.to_vec() });
    SpanMessage {
        trace_id: span.trace.0.to_vec(),
        span_id: span.id.0.to_vec(),
        parent_span_id: span.parent.map_or_else(Vec::new, |parent| parent.0.to_vec()),
        name: span.name,
        kind: match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Client => 3,
            SpanKind::Consumer => 5,
        },
        start_time_unix_nano: span.start,
        end_time_unix_nano: span.end,
        attributes: span.attributes.into_iter().map(attribute).collect(),
        links: link.into_iter().collect(),
        status: span.is_error.then_some(SpanStatus { code: STATUS_ERROR }),
        flags: SAMPLED,
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::SpanQueue;
    use super::super::queue::tests::span;
    use super::*;
    use informant_runtime::SpanProcessor as _;
    use std::sync::Arc;
    use std::time::Duration;

    /// Sends spans named by letters at these seconds; `!` is the end of the host. Checks the batches, each with the
    /// second at which it is complete.
    async fn check(at: &[(u64, &str)], expect: &[(u64, &str)]) {
        let (sender, mut spans) = SpanQueue::new(100, Arc::default());
        let (end, began) = (CancellationToken::new(), tokio::time::Instant::now());
        let (second, ended) = (Duration::from_secs(1), end.clone());
        let send = async {
            for (seconds, names) in at {
                tokio::time::sleep_until(began + second * u32::try_from(*seconds).expect("few"))
                    .await;
                match *names {
                    "!" => ended.cancel(),
                    names => {
                        for name in names.chars() {
                            sender.on_end(span(&name.to_string()));
                        }
                    }
                }
            }
        };
        let queue = QueueSettings { spans_max: 100, batch_max: 3, delay: 5 * second };
        let take = async {
            let mut batches = Vec::new();
            while let Some(batch) = batch(queue, &mut spans, &end).await {
                let names: String = batch.into_iter().map(|queued| queued.span.name).collect();
                batches.push((began.elapsed().as_secs(), names));
            }
            batches
        };
        let ((), batches) = tokio::join!(send, take);
        let batches: Vec<_> = batches.iter().map(|(at, names)| (*at, names.as_str())).collect();
        assert_eq!(batches, expect, "{at:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_is_full_or_its_first_span_has_waited_or_the_host_ends() {
        check(&[(1, "abcdefg"), (20, "!")], &[(1, "abc"), (1, "def"), (6, "g")]).await;
        check(&[(1, "a"), (3, "b"), (9, "!")], &[(6, "ab")]).await;
        check(&[(1, "a"), (3, "bc"), (9, "!")], &[(3, "abc")]).await;
        check(&[(1, "a"), (2, "!")], &[(2, "a")]).await;
        check(&[(1, "!")], &[]).await;
    }

    #[test]
    fn a_span_keeps_its_parts() {
        let attributes =
            vec![KeyValue::text("a", "b"), KeyValue::new("c", AttributeValue::Number(6))];
        let expect = SpanMessage {
            trace_id: vec![1; 16],
            span_id: vec![2; 8],
            parent_span_id: vec![3; 8],
            name: "x".to_owned(),
            kind: 3,
            start_time_unix_nano: 4,
            end_time_unix_nano: 5,
            attributes,
            links: vec![LinkMessage { trace_id: vec![7; 16], span_id: vec![8; 8] }],
            status: Some(SpanStatus { code: 2 }),
            flags: 1,
        };
        assert_eq!(message(span("x")), expect);
    }
}
