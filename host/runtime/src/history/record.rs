//! One delivery as bytes of the history, and the conversions.

use crate::event::{Change, Gone, Reason, SubscriptionId};
use hashbrown::DefaultHashBuilder;
use informant_cache::ObjectKey;
use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Bytes of a record without its texts.
pub(super) const HEAD_BYTES: usize = 39;
/// The most bytes of each text.
const TEXT_BYTES_MAX: usize = u8::MAX as usize;
/// resourceVersion, error, writes.
const TEXTS: usize = 3;

/// An object's key in a record. Only questions that have the key read records, and its texts would be half of a record.
/// The seed is random in each process: that two objects have the same hash is as good as impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyHash(u64);

impl From<&ObjectKey> for KeyHash {
    fn from(key: &ObjectKey) -> Self {
        static SEED: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
        Self(SEED.hash_one((key.namespace(), key.name())))
    }
}

/// The end of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryEnd {
    /// The plugin handled the event.
    Ok,
    /// The call failed, and the event comes again.
    Failed,
    /// The call failed, and the event is a dead letter.
    GivenUp,
    /// The plugin was not called: the filter refused the event.
    Filtered,
    /// The plugin was not called: since a reload, the subscription does not want the event.
    Unwanted,
    /// The plugin was not called: the event became keys of the workqueue.
    Enqueued,
    /// The plugin was not called: its version has no such subscription.
    Dropped,
    /// The plugin was not called: the configuration no longer grants the read. The event comes again.
    Withdrawn,
}

impl DeliveryEnd {
    const ALL: [Self; 8] = [
        Self::Ok,
        Self::Failed,
        Self::GivenUp,
        Self::Filtered,
        Self::Unwanted,
        Self::Enqueued,
        Self::Dropped,
        Self::Withdrawn,
    ];

    /// The word in answers.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::GivenUp => "given-up",
            Self::Filtered => "filtered",
            Self::Unwanted => "unwanted",
            Self::Enqueued => "enqueued",
            Self::Dropped => "dropped",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// Whether the plugin was called.
    pub(crate) fn is_call(self) -> bool {
        matches!(self, Self::Ok | Self::Failed | Self::GivenUp)
    }
}

/// A delivery that has just ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedDelivery<'a> {
    pub(crate) subscription: SubscriptionId,
    pub(crate) change: Change,
    pub(crate) reason: Reason,
    pub(crate) gone: Option<Gone>,
    pub(crate) object: KeyHash,
    pub(crate) resource_version: &'a str,
    pub(crate) attempt: u32,
    /// From the read of the watch's bytes to the call.
    pub(crate) waited: Duration,
    /// The time of the call.
    pub(crate) took: Duration,
    pub(crate) ended: Instant,
    pub(crate) end: DeliveryEnd,
    /// Empty for a success.
    pub(crate) error: &'a str,
    /// The writes of the call to the cluster; empty without writes.
    pub(crate) wrote: &'a str,
}

/// A delivery from the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PastDelivery {
    pub(crate) subscription: SubscriptionId,
    pub(crate) change: Change,
    pub(crate) reason: Reason,
    pub(crate) gone: Option<Gone>,
    pub(crate) object: KeyHash,
    pub(crate) resource_version: String,
    pub(crate) attempt: u32,
    pub(crate) waited: Duration,
    pub(crate) took: Duration,
    pub(crate) ended: Instant,
    pub(crate) end: DeliveryEnd,
    pub(crate) error: String,
    pub(crate) wrote: String,
}

impl<'a> From<&'a PastDelivery> for EndedDelivery<'a> {
    fn from(past: &'a PastDelivery) -> Self {
        Self {
            subscription: past.subscription,
            change: past.change,
            reason: past.reason,
            gone: past.gone,
            object: past.object,
            resource_version: &past.resource_version,
            attempt: past.attempt,
            waited: past.waited,
            took: past.took,
            ended: past.ended,
            end: past.end,
            error: &past.error,
            wrote: &past.wrote,
        }
    }
}

impl EndedDelivery<'_> {
    /// The texts, cut to their bounds.
    pub(super) fn texts(&self) -> [&str; TEXTS] {
        let texts = [self.resource_version, self.error, self.wrote];
        texts.map(|text| &text[..text.floor_char_boundary(TEXT_BYTES_MAX)])
    }
}

/// The bytes of a record before its texts. Times are nanoseconds since `base`, and microseconds.
pub(super) fn head(delivery: &EndedDelivery<'_>, base: Instant) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        head[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    let since = delivery.ended.saturating_duration_since(base);
    put(&u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).to_le_bytes());
    put(&delivery.object.0.to_le_bytes());
    put(&delivery.subscription.0.to_le_bytes());
    put(&delivery.attempt.to_le_bytes());
    put(&microseconds(delivery.waited).to_le_bytes());
    put(&microseconds(delivery.took).to_le_bytes());
    put(&[
        delivery.change as u8,
        delivery.reason as u8,
        delivery.gone.map_or(u8::MAX, |gone| gone as u8),
        delivery.end as u8,
    ]);
    put(&delivery.texts().map(|text| text.len() as u8));
    head
}

fn microseconds(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// The size of a record, and the end of its delivery.
pub(super) struct Placed {
    pub(super) bytes: usize,
    pub(super) ended: Instant,
}

/// The first record, without its texts.
pub(super) fn first(records: &VecDeque<u8>, base: Instant) -> Option<Placed> {
    let (front, back) = records.as_slices();
    if let Some(head) = front.first_chunk() {
        return Some(RecordHead(head).placed(base));
    }
    // The record goes on at the beginning of the ring.
    let mut head = [0; HEAD_BYTES];
    let (before, rest) = head.split_at_mut(front.len());
    before.copy_from_slice(front);
    rest.copy_from_slice(back.get(..rest.len())?);
    Some(RecordHead(&head).placed(base))
}

/// The records of wanted objects, oldest first. The others cost no allocation.
pub(super) fn those(
    records: &VecDeque<u8>,
    base: Instant,
    is_wanted: impl Fn(KeyHash) -> bool,
) -> impl Iterator<Item = PastDelivery> {
    let bytes: Vec<u8> = records.iter().copied().collect();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let head = RecordHead(bytes.get(at..at + HEAD_BYTES)?.try_into().ok()?);
            let placed = head.placed(base);
            let texts = bytes.get(at + HEAD_BYTES..at + placed.bytes)?;
            at += placed.bytes;
            if is_wanted(head.object()) {
                return head.delivery(texts, placed.ended);
            }
        }
    })
}

/// The bytes from [`head`].
struct RecordHead<'a>(&'a [u8; HEAD_BYTES]);

impl RecordHead<'_> {
    fn u32(&self, at: usize) -> u32 {
        let bytes = [self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]];
        u32::from_le_bytes(bytes)
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from(self.u32(at)) | (u64::from(self.u32(at + 4)) << 32)
    }

    fn object(&self) -> KeyHash {
        KeyHash(self.u64(8))
    }

    fn lengths(&self) -> [usize; TEXTS] {
        std::array::from_fn(|number| usize::from(self.0[HEAD_BYTES - TEXTS + number]))
    }

    fn placed(&self, base: Instant) -> Placed {
        let bytes = HEAD_BYTES + self.lengths().iter().sum::<usize>();
        Placed { bytes, ended: base + Duration::from_nanos(self.u64(0)) }
    }

    /// Splits the texts.
    fn split<'a>(&self, texts: &'a [u8]) -> [&'a [u8]; TEXTS] {
        let mut rest = texts;
        self.lengths().map(|length| {
            let (text, behind) = rest.split_at_checked(length).unwrap_or_default();
            rest = behind;
            text
        })
    }

    fn delivery(&self, texts: &[u8], ended: Instant) -> Option<PastDelivery> {
        let texts = self.split(texts).map(|text| String::from_utf8_lossy(text).into_owned());
        let [resource_version, error, wrote] = texts;
        let microseconds = |at| Duration::from_micros(u64::from(self.u32(at)));
        Some(PastDelivery {
            subscription: SubscriptionId(self.u32(16)),
            attempt: self.u32(20),
            waited: microseconds(24),
            took: microseconds(28),
            change: *Change::ALL.get(usize::from(self.0[32]))?,
            reason: *Reason::ALL.get(usize::from(self.0[33]))?,
            gone: Gone::ALL.get(usize::from(self.0[34])).copied(),
            end: *DeliveryEnd::ALL.get(usize::from(self.0[35]))?,
            object: self.object(),
            resource_version,
            ended,
            error,
            wrote,
        })
    }
}
