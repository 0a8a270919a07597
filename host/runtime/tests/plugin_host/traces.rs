//! The spans of calls.

use super::{Bench, NoCluster, NoHttp, NoReviews, hello, pod};
use informant_runtime::configuration::Configurations;
use informant_runtime::{Limits, Span, SpanProcessor, SpanValue, Tracer};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A span's name and its type of error.
type Ended = (String, Option<SpanValue<'static>>);

/// Keeps the spans.
#[derive(Clone, Default)]
struct KeptSpans(Arc<Mutex<Vec<Ended>>>);

impl SpanProcessor for KeptSpans {
    fn on_end(&self, span: &Span<'_>) {
        let error = span.attributes.iter().find(|(key, _)| *key == "error.type");
        assert_eq!(span.is_error, error.is_some());
        let error = error.map(|(_, value)| value.clone().into_owned());
        let name = format!("{} {}", span.name.0, span.name.1);
        self.0.lock().expect("no test panics with it").push((name, error));
    }
}

/// The first span of the plugin's call for an existing pod, and its type of error.
async fn called(limits: &Limits) -> Ended {
    let kept = KeptSpans::default();
    let tracer = Tracer::new((1.0, true), kept.clone());
    let ways = (Arc::new(NoCluster) as _, Arc::new(NoHttp) as _, Arc::new(NoReviews) as _);
    let configurations = Configurations::with_limits(limits);
    let bench = Bench::start_traced(None, configurations, (None, Some(tracer)), ways);
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &hello());
    let first = async {
        loop {
            let first = kept.0.lock().expect("no test panics with it").first().cloned();
            if let Some(first) = first {
                return first;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let first = tokio::time::timeout(super::DEADLINE, first).await.expect("a span");
    bench.stop().await;
    assert_eq!(kept.0.lock().expect("no test panics with it").len(), 1);
    first
}

#[tokio::test]
async fn an_event_has_a_span_also_if_it_is_too_large_for_a_call() {
    let call = "handle hello".to_owned();
    assert_eq!(called(&Limits::default()).await, (call.clone(), None));
    let limits = Limits { event_bytes_max: 8, ..Limits::default() };
    assert_eq!(called(&limits).await, (call, Some("too-large".into())));
}
