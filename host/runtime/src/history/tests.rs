//! The kept and the dropped deliveries of the history.

use super::record::HEAD_BYTES;
use super::*;
use crate::event::{Change, Gone, Reason, SubscriptionId};
use std::time::Duration;

fn history(bytes_max: usize) -> History {
    History::new(bytes_max, Instant::now())
}

/// A delivery of `shop/web` that ended at this time.
pub(crate) fn past(ended: Instant) -> EndedDelivery<'static> {
    EndedDelivery {
        subscription: SubscriptionId(7),
        change: Change::Added,
        reason: Reason::Initial,
        gone: None,
        object: object("web"),
        resource_version: "1",
        attempt: 1,
        waited: Duration::ZERO,
        took: Duration::from_millis(2),
        ended,
        end: DeliveryEnd::Ok,
        error: "",
        wrote: "",
    }
}

/// An object of the namespace `shop`.
pub(crate) fn object(name: &str) -> KeyHash {
    KeyHash::from(&ObjectKey::new("shop", name))
}

/// The delivery of a state with this resourceVersion that ended so many seconds after the history began.
fn ended<'a>(history: &History, version: &'a str, seconds: u64) -> EndedDelivery<'a> {
    EndedDelivery { resource_version: version, ..past(history.base + Duration::from_secs(seconds)) }
}

fn versions(history: &History) -> String {
    let all = record::those(&history.records, history.base, |_| true);
    all.map(|delivery| delivery.resource_version).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_delivery_is_read_as_it_was_written() {
    let mut history = history(1 << 10);
    let error = "no answer from the server";
    let wrote = "patch v1/pods shop/web: ok";
    let failed = EndedDelivery {
        end: DeliveryEnd::Failed,
        change: Change::Deleted,
        gone: Some(Gone::LeftView),
        error,
        wrote,
        ..ended(&history, "1", 5)
    };
    history.push(&failed);
    history.push(&EndedDelivery { object: object("db"), ..ended(&history, "2", 6) });
    let found = history.of(&ObjectKey::new("shop", "web"));
    let expect = PastDelivery {
        subscription: failed.subscription,
        change: failed.change,
        reason: failed.reason,
        gone: failed.gone,
        object: object("web"),
        resource_version: "1".to_owned(),
        attempt: 1,
        waited: failed.waited,
        took: failed.took,
        ended: failed.ended,
        end: DeliveryEnd::Failed,
        error: error.to_owned(),
        wrote: wrote.to_owned(),
    };
    assert_eq!(found, [expect]);
}

/// There is room for three records, and none for a part of a fourth.
#[test]
fn the_oldest_deliveries_are_forgotten_above_the_bound() {
    let one = HEAD_BYTES + "a".len();
    let mut history = history(3 * one);
    let mut check = |version: &str, seconds: u64, expect: &str, forgotten: Option<u64>| {
        let delivery = ended(&history, version, seconds);
        history.push(&delivery);
        assert_eq!(versions(&history), expect);
        assert!(history.bytes() <= 3 * one, "{} bytes", history.bytes());
        let forgotten = forgotten.map(|seconds| history.base + Duration::from_secs(seconds));
        assert_eq!(history.forgotten(), forgotten, "after {version}");
    };
    check("a", 1, "a", None);
    check("b", 2, "a b", None);
    check("c", 3, "a b c", None);
    check("d", 4, "c d", Some(2));
    check("e", 5, "c d e", Some(2));
    check("ff", 6, "e ff", Some(4));
    let long = "x".repeat(3 * one);
    check(&long, 7, "e ff", Some(7));
}

/// The oldest record may go on at the beginning of the ring, at each of its bytes.
#[test]
fn a_record_across_the_end_of_the_ring_is_forgotten_as_a_whole() {
    let mut history = history(1_021);
    for number in 0..3_000_u64 {
        let version = "1".repeat(1 + number as usize % 7);
        history.push(&ended(&history, &version, number));
        let kept = versions(&history);
        let lengths: Vec<usize> = kept.split(' ').map(str::len).collect();
        let first = number + 1 - lengths.len() as u64;
        let expect: Vec<usize> = (first..=number).map(|kept| 1 + kept as usize % 7).collect();
        assert_eq!(lengths, expect);
    }
}

#[test]
fn a_ring_has_little_more_room_than_its_deliveries_take() {
    let mut history = history(64 << 10);
    for number in 0..100 {
        history.push(&ended(&history, "1234567890", number));
    }
    assert!(history.bytes() * 3 < history.records.len() * 4, "{} bytes", history.bytes());
}

#[test]
fn a_history_without_bytes_keeps_nothing() {
    let mut history = history(1 << 10);
    history.push(&ended(&history, "a", 1));
    history.set_bytes_max(0);
    history.push(&ended(&history, "b", 2));
    assert_eq!((versions(&history).as_str(), history.bytes()), ("", 0));
    assert!(!history.is_kept());
    let forgotten = history.forgotten().map(|at| at.duration_since(history.base).as_secs());
    assert_eq!(forgotten, Some(2), "the newest that is not there");
}

#[test]
fn texts_are_cut_to_their_bounds() {
    let mut history = history(4 << 10);
    let long = "ä".repeat(400);
    let delivery = EndedDelivery { error: &long, wrote: &long, ..ended(&history, "a", 1) };
    history.push(&delivery);
    let found = history.of(&ObjectKey::new("shop", "web"));
    let cut = "ä".repeat(127);
    assert_eq!((&found[0].error, &found[0].wrote), (&cut, &cut));
}
