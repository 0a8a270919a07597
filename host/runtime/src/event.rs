//! An event: one change of one object for one subscription, on its way to a plugin.

pub(crate) mod enqueue;
pub(crate) mod merge;

mod current;
mod keys;
mod shown;

pub(crate) use current::CurrentEvent;
use informant_cache::{Object, Reason as CacheReason};
pub use keys::EventKeys;
pub(crate) use shown::{NAME_BYTES_MAX, ShownObject};
use std::time::Instant;

/// The change of an object, as the subscription sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// The object is new to the subscription.
    Added,
    /// The object changed, or is delivered again.
    Updated,
    /// The object has left the subscription.
    Deleted,
}

/// The reason of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The object was there before the plugin subscribed.
    Initial,
    /// The API server reported it on a watch.
    Watch,
    /// A relist found a change that the watch had missed.
    Relist,
    /// The resync period came round.
    Resync,
    /// A new version of the plugin asked for its objects again.
    Reload,
    /// A user redrove a dead letter.
    Redrive,
}

impl Change {
    pub(crate) const ALL: [Self; 3] = [Self::Added, Self::Updated, Self::Deleted];

    /// As the contract spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
        }
    }
}

impl Reason {
    pub(crate) const ALL: [Self; 6] =
        [Self::Initial, Self::Watch, Self::Relist, Self::Resync, Self::Reload, Self::Redrive];

    /// As the contract spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Watch => "watch",
            Self::Relist => "relist",
            Self::Resync => "resync",
            Self::Reload => "reload",
            Self::Redrive => "redrive",
        }
    }
}

impl From<CacheReason> for Reason {
    fn from(reason: CacheReason) -> Self {
        match reason {
            CacheReason::Initial => Self::Initial,
            CacheReason::Watch => Self::Watch,
            CacheReason::Relist => Self::Relist,
            CacheReason::Resync => Self::Resync,
        }
    }
}

/// The way in which an object left a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gone {
    /// It was deleted.
    Deleted,
    /// It exists on, outside the subscription.
    LeftView,
    /// The deletion was not seen.
    Unknown,
}

impl Gone {
    pub(crate) const ALL: [Self; 3] = [Self::Deleted, Self::LeftView, Self::Unknown];

    /// As the contract spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::LeftView => "left-view",
            Self::Unknown => "unknown",
        }
    }
}

/// One change of one object for one subscription.
#[derive(Debug, Clone)]
pub struct Event {
    /// The subscription's number, which it has as long as the plugin's name exists.
    pub subscription: SubscriptionId,
    /// The number of the load since which the subscription is unchanged; 0 if an earlier host
    /// queued the event.
    pub asked_by: u64,
    /// The type of change.
    pub change: Change,
    /// The reason of the event.
    pub reason: Reason,
    /// Only with [`Change::Deleted`].
    pub gone: Option<Gone>,
    /// The newest state; for [`Change::Deleted`] the last one known.
    pub object: Object,
    /// The state before the oldest change of this event. Only with [`Change::Updated`], and not with
    /// [`Reason::Resync`].
    pub old: Option<Object>,
    /// How many older events were merged into this one.
    pub coalesced: u32,
    /// Ids of the plugin's dead letters that this event redrives.
    pub letters: Vec<u64>,
    /// When the bytes of the newest state were read.
    pub received: Instant,
    /// Whether the oldest change of this event was queued before the subscription's initial objects
    /// were delivered.
    pub before_sync: bool,
    /// Only with [`Change::Added`]: the plugin may know the object already, after a reload or from
    /// a dead letter that is redriven.
    pub knew: bool,
    /// Only for a subscription with `enqueue` rules: the rules, and keys beside those of the
    /// object's states.
    pub keys: EventKeys,
}

impl Event {
    /// A single change from a watch, in its first delivery.
    pub fn new(
        subscription: SubscriptionId,
        change: Change,
        object: Object,
        received: Instant,
    ) -> Self {
        Self {
            subscription,
            asked_by: 0,
            change,
            reason: Reason::Watch,
            gone: None,
            object,
            old: None,
            coalesced: 0,
            letters: Vec::new(),
            received,
            before_sync: false,
            knew: false,
            keys: EventKeys::default(),
        }
    }
}

/// A subscription of a plugin's name. Reloads keep it as long as the subscription's name stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionId(pub u32);
