//! The last deliveries of one plugin: a ring of bytes, for the question why an object was delivered
//! or was not. Synchronous; the time is an argument.
//!
//! A record has 39 bytes and its texts. The host writes it when the event is settled, under the
//! lock of the queue, which it holds there in any case. Nothing is allocated once the ring has its
//! size. An object that no subscription let through has no record: `why` evaluates the subscription
//! again.

mod record;

use informant_cache::ObjectKey;
pub(crate) use record::{DeliveryEnd, EndedDelivery, KeyHash, PastDelivery};
use std::collections::VecDeque;
use std::time::Instant;

/// The first size of the ring, in bytes. It grows up to its bound.
const FIRST_BYTES: usize = 4 << 10;
/// Each time the ring grows by this part of its size. Most plugins get few events, and what is allocated beyond them is
/// taken by each of a thousand plugins.
const GROWTH: usize = 4;

/// A full ring drops this part of its bytes at once. The oldest records of a hundred plugins are in no cache: read one by
/// one, each would be waited for.
const DROPPED_AT_ONCE: usize = 32;

/// The newest deliveries of one plugin's name, in the order in which they were noted.
#[derive(Debug, Clone)]
pub(crate) struct History {
    records: VecDeque<u8>,
    /// Bytes of the records. Invariant 19.
    bytes_max: usize,
    /// The moment from which the records' times count.
    base: Instant,
    /// The end of the newest dropped delivery.
    forgotten: Option<Instant>,
}

impl History {
    pub(crate) fn new(bytes_max: usize, base: Instant) -> Self {
        Self { records: VecDeque::new(), bytes_max, base, forgotten: None }
    }

    /// Sets the bound in bytes; 0: no deliveries are kept.
    pub(crate) fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
        self.make_room(0);
        self.records.shrink_to(bytes_max);
    }

    /// Whether deliveries are kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.bytes_max > 0
    }

    /// Allocated bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.records.capacity()
    }

    /// The end of the newest dropped delivery; `None` if none was dropped.
    pub(crate) fn forgotten(&self) -> Option<Instant> {
        self.forgotten
    }

    /// Notes the end of a delivery that the history does not get.
    pub(crate) fn forget_until(&mut self, ended: Option<Instant>) {
        self.forgotten = self.forgotten.max(ended);
    }

    /// Notes a delivery that ended before others of the history, if there is room without any of them.
    pub(crate) fn push_if_room(&mut self, delivery: &EndedDelivery<'_>) {
        let texts = delivery.texts().iter().map(|text| text.len()).sum::<usize>();
        let bytes = record::head(delivery, self.base).len() + texts;
        match self.records.len() + bytes <= self.bytes_max {
            true => self.push(delivery),
            false => self.forget_until(Some(delivery.ended)),
        }
    }

    /// Notes a delivery that has ended.
    pub(crate) fn push(&mut self, delivery: &EndedDelivery<'_>) {
        if self.bytes_max == 0 {
            self.forget_until(Some(delivery.ended));
            return;
        }
        let head = record::head(delivery, self.base);
        let texts = delivery.texts();
        let bytes = head.len() + texts.iter().map(|text| text.len()).sum::<usize>();
        if bytes > self.bytes_max {
            self.forget_until(Some(delivery.ended));
            return;
        }
        self.make_room(bytes);
        self.grow(bytes);
        self.records.extend(&head);
        for text in texts {
            self.records.extend(text.as_bytes());
        }
    }

    /// Makes room for so many bytes, if there is none, and for some more.
    fn make_room(&mut self, bytes: usize) {
        if self.records.len() + bytes <= self.bytes_max {
            return;
        }
        let left = self.bytes_max - self.bytes_max / DROPPED_AT_ONCE;
        while !self.records.is_empty() && self.records.len() + bytes > left {
            let Some(oldest) = record::first(&self.records, self.base) else {
                return self.records.clear();
            };
            self.forget_until(Some(oldest.ended));
            self.records.drain(..oldest.bytes);
        }
    }

    /// Allocates room for so many more bytes, within the bound.
    fn grow(&mut self, bytes: usize) {
        let wanted = self.records.len() + bytes;
        if wanted > self.records.capacity() {
            let grown = self.records.capacity() / GROWTH * (GROWTH + 1);
            let grown = grown.max(FIRST_BYTES).max(wanted);
            self.records.reserve_exact(grown.min(self.bytes_max) - self.records.len());
        }
    }

    /// The deliveries of an object, oldest first. Reads the whole ring: read a copy, without the lock.
    pub(crate) fn of(&self, key: &ObjectKey) -> Vec<PastDelivery> {
        let wanted = KeyHash::from(key);
        record::those(&self.records, self.base, |object| object == wanted).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests;
