//! The last deliveries of one plugin: a ring of bytes, for the question why an object was delivered
//! or was not. Synchronous; the time is an argument.
//!
//! A record has 33 bytes and its texts. The host writes it when the event is settled, under the
//! lock of the queue, which it holds there in any case. Nothing is allocated once the ring has its
//! size. An object that no subscription let through has no record: `why` evaluates the subscription
//! again.

mod record;

use informant_cache::ObjectKey;
pub(crate) use record::{DeliveryEnd, EndedDelivery, PastDelivery};
use std::collections::VecDeque;
use std::time::Instant;

/// The ring begins with so many bytes, and doubles up to its bound.
const FIRST_BYTES: usize = 4 << 10;

/// The newest deliveries of one plugin's name, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct History {
    records: VecDeque<u8>,
    /// Bytes of the records. Invariant 19.
    bytes_max: usize,
    /// The moment that the records' times count from.
    base: Instant,
    /// The end of the newest delivery that is not there any more.
    forgotten: Option<Instant>,
}

impl History {
    pub(crate) fn new(bytes_max: usize, base: Instant) -> Self {
        Self { records: VecDeque::new(), bytes_max, base, forgotten: None }
    }

    /// Keeps so many bytes from here on; 0: nothing.
    pub(crate) fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
        self.make_room(0);
        self.records.shrink_to(bytes_max);
    }

    /// Whether it keeps anything.
    pub(crate) fn is_kept(&self) -> bool {
        self.bytes_max > 0
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.records.capacity()
    }

    /// The end of the newest delivery that is not there any more; none: all of them are.
    pub(crate) fn forgotten(&self) -> Option<Instant> {
        self.forgotten
    }

    /// A delivery has ended.
    pub(crate) fn push(&mut self, delivery: &EndedDelivery<'_>) {
        if self.bytes_max == 0 {
            self.forgotten = Some(delivery.ended);
            return;
        }
        let head = record::head(delivery, self.base);
        let texts = delivery.texts();
        let bytes = head.len() + texts.iter().map(|text| text.len()).sum::<usize>();
        if bytes > self.bytes_max {
            self.forgotten = Some(delivery.ended);
            return;
        }
        self.make_room(bytes);
        self.grow(bytes);
        self.records.extend(&head);
        for text in texts {
            self.records.extend(text.as_bytes());
        }
    }

    /// The oldest records go until so many bytes are left.
    fn make_room(&mut self, bytes: usize) {
        while self.records.len() + bytes > self.bytes_max {
            let Some(oldest) = record::first(&self.records, self.base) else {
                return self.records.clear();
            };
            self.forgotten = Some(oldest.ended);
            self.records.drain(..oldest.bytes);
        }
    }

    /// Room for so many more bytes, which the bound has.
    fn grow(&mut self, bytes: usize) {
        let wanted = self.records.len() + bytes;
        if wanted > self.records.capacity() {
            let doubled = (2 * self.records.capacity()).max(FIRST_BYTES).max(wanted);
            self.records.reserve_exact(doubled.min(self.bytes_max) - self.records.len());
        }
    }

    /// The deliveries of an object, oldest first. It reads the whole ring: a copy is read without the lock.
    pub(crate) fn of(&self, key: &ObjectKey) -> Vec<PastDelivery> {
        let is_wanted = |namespace: &[u8], name: &[u8]| {
            (namespace, name) == (key.namespace().as_bytes(), key.name().as_bytes())
        };
        record::those(&self.records, self.base, is_wanted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::record::HEAD_BYTES;
    use super::*;
    use crate::event::{Change, Gone, Reason, SubscriptionId};
    use std::time::Duration;

    fn history(bytes_max: usize) -> History {
        History::new(bytes_max, Instant::now())
    }

    /// The delivery of an object with this name that ended so many seconds after the history began.
    fn ended<'a>(history: &History, name: &'a str, seconds: u64) -> EndedDelivery<'a> {
        let ended = history.base + Duration::from_secs(seconds);
        EndedDelivery {
            subscription: SubscriptionId(7),
            change: Change::Updated,
            reason: Reason::Watch,
            gone: None,
            namespace: "shop",
            name,
            resource_version: "12",
            attempt: 3,
            waited: Duration::from_micros(1_500),
            took: Duration::from_micros(250),
            ended,
            end: DeliveryEnd::Ok,
            error: "",
            wrote: "",
        }
    }

    fn names(history: &History) -> String {
        let all = record::those(&history.records, history.base, |_, _| true);
        all.map(|delivery| delivery.name).collect::<Vec<_>>().join(" ")
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
            ..ended(&history, "web", 5)
        };
        history.push(&failed);
        history.push(&ended(&history, "db", 6));
        let found = history.of(&ObjectKey::new("shop", "web"));
        let expect = PastDelivery {
            subscription: failed.subscription,
            change: failed.change,
            reason: failed.reason,
            gone: failed.gone,
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            resource_version: "12".to_owned(),
            attempt: 3,
            waited: failed.waited,
            took: failed.took,
            ended: failed.ended,
            end: DeliveryEnd::Failed,
            error: error.to_owned(),
            wrote: wrote.to_owned(),
        };
        assert_eq!(found, [expect]);
    }

    /// Three records have room.
    #[test]
    fn the_oldest_deliveries_are_forgotten_above_the_bound() {
        let one = HEAD_BYTES + "shop".len() + "a".len() + "12".len();
        let mut history = history(3 * one);
        let mut check = |name: &str, seconds: u64, expect: &str, forgotten: Option<u64>| {
            let delivery = ended(&history, name, seconds);
            history.push(&delivery);
            assert_eq!(names(&history), expect);
            assert!(history.bytes() <= 3 * one, "{} bytes", history.bytes());
            let forgotten = forgotten.map(|seconds| history.base + Duration::from_secs(seconds));
            assert_eq!(history.forgotten(), forgotten, "after {name}");
        };
        check("a", 1, "a", None);
        check("b", 2, "a b", None);
        check("c", 3, "a b c", None);
        check("d", 4, "b c d", Some(1));
        check("ee", 5, "d ee", Some(3));
        let long = "x".repeat(3 * one);
        check(&long, 6, "d ee", Some(6));
    }

    #[test]
    fn a_history_without_bytes_keeps_nothing() {
        let mut history = history(1 << 10);
        history.push(&ended(&history, "a", 1));
        history.set_bytes_max(0);
        history.push(&ended(&history, "b", 2));
        assert_eq!((names(&history).as_str(), history.bytes()), ("", 0));
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
        let found = history.of(&ObjectKey::new("shop", "a"));
        let cut = "ä".repeat(127);
        assert_eq!((&found[0].error, &found[0].wrote), (&cut, &cut));
    }
}
