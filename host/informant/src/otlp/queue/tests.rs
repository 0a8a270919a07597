use super::super::span_bytes::tests::{names, span};
use super::*;
use informant_runtime::SpanValue;
use std::time::Duration;

fn settings(spans_max: usize, batch_max: usize) -> QueueSettings {
    QueueSettings { spans_max, batch_max, delay: Duration::from_secs(5) }
}

/// The names in the batches of this size that a queue of this size has of five spans; twice.
#[track_caller]
fn check_bound(spans_max: usize, batch_max: usize, expect: &[&str]) {
    let counts = Arc::<OtlpCounts>::default();
    let queue = SpanQueue::new(settings(spans_max, batch_max), counts.clone());
    for round in 1..=2 {
        ["a", "b", "c", "d", "e"].into_iter().for_each(|name| queue.on_end(&span(name)));
        let taken = queue.len();
        let batches = std::iter::from_fn(|| queue.0.waiting.lock().pop());
        let batches: Vec<_> = batches.map(|batch| names(&batch.bytes).concat()).collect();
        assert_eq!(batches, expect, "{spans_max} {batch_max}");
        assert_eq!(counts.spans_dropped.load(Relaxed), round * (5 - taken as u64));
        let waiting = queue.0.waiting.lock();
        assert_eq!((waiting.spans, waiting.bytes), (0, 0));
    }
}

#[test]
fn spans_above_the_bound_are_counted() {
    check_bound(5, 5, &["abcde"]);
    check_bound(4, 5, &["abcd"]);
    check_bound(4, 2, &["ab", "cd"]);
    check_bound(3, 2, &["ab", "c"]);
}

#[test]
fn spans_above_the_bounds_in_bytes_are_counted_and_fill_a_batch() {
    let counts = Arc::<OtlpCounts>::default();
    let queue = SpanQueue::new(settings(65_536, 65_536), counts.clone());
    let text = "x".repeat(1 << 20);
    let large = || {
        let attributes = vec![("a", SpanValue::Text(text.as_str().into()))];
        queue.on_end(&Span { attributes, ..span("x") });
    };
    (0..40).for_each(|_| large());
    let waiting = queue.0.waiting.lock();
    let expect = BYTES_MAX / ((1 << 20) + 200);
    assert_eq!((waiting.spans, counts.spans_dropped.load(Relaxed)), (expect, 40 - expect as u64));
    let sizes: Vec<usize> = waiting.batches.iter().map(|batch| batch.spans).collect();
    assert!(sizes.iter().rev().skip(1).all(|spans| *spans == 4), "{sizes:?}");
}

/// Sends spans named by letters at these seconds; `!` is the end of the host. Checks the batches, each with the second at
/// which it is complete.
async fn check(at: &[(u64, &str)], expect: &[(u64, &str)]) {
    let queue = SpanQueue::new(settings(100, 3), Arc::default());
    let (end, began) = (CancellationToken::new(), tokio::time::Instant::now());
    let send = async {
        for (seconds, names) in at {
            tokio::time::sleep_until(began + Duration::from_secs(*seconds)).await;
            match *names {
                "!" => end.cancel(),
                names => {
                    for name in names.chars() {
                        queue.on_end(&span(&name.to_string()));
                    }
                }
            }
        }
    };
    let take = async {
        let mut batches = Vec::new();
        while let Some(batch) = queue.next(&end).await {
            batches.push((began.elapsed().as_secs(), names(&batch.bytes).concat()));
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
