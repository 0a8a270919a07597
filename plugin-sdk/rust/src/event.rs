//! One event, as the plugin gets it.

mod flat_names;

use crate::bindings::exports::informant::plugin::handler;
use crate::{Change, Failure, ObjectKey, Reason, Result, event_data};
use flat_names::FlatNames;
use serde::Deserialize;
use std::cell::OnceCell;
use std::fmt;

pub use crate::bindings::exports::informant::plugin::handler::Gone;

/// A change of one object. Its objects stay JSON until the plugin decodes them. Decoding takes most of a plugin's
/// time, so use a struct with only the needed fields.
pub struct Event {
    inner: handler::Event,
    /// The names of the object, from a host that calls `flat-handler`.
    names: Option<FlatNames>,
    /// The objects of a lazy delivery, kept so that each is requested once.
    lazy_new: OnceCell<Option<Vec<u8>>>,
    lazy_old: OnceCell<Option<Vec<u8>>>,
}

impl Event {
    pub(crate) fn new(inner: handler::Event) -> Self {
        Self { inner, names: None, lazy_new: OnceCell::new(), lazy_old: OnceCell::new() }
    }

    /// The event with the names of its object in one text.
    pub(crate) fn flat(inner: handler::Event, names: String, ends: u64) -> Self {
        Self { names: Some(FlatNames::new(names, ends)), ..Self::new(inner) }
    }

    /// The kind of the change.
    #[must_use]
    pub fn change(&self) -> Change {
        self.inner.change
    }

    /// The reason for the event.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.inner.reason
    }

    /// The key of the event's object. Its text form is `namespace/name`.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        self.names.as_ref().map_or(&self.inner.key, FlatNames::key)
    }

    /// The object's UID. An object that is deleted and created again has another UID.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.names.as_ref().map_or(&self.inner.uid, FlatNames::uid)
    }

    /// The object's `metadata.resourceVersion`.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        self.names.as_ref().map_or(&self.inner.resource_version, FlatNames::resource_version)
    }

    /// The index of the event's subscription in the descriptor, counted from 0.
    #[must_use]
    pub fn subscription(&self) -> u32 {
        self.inner.subscription
    }

    /// A number that rises by one with every event of this plugin, or of this shard. A retry keeps its number.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.inner.seq
    }

    /// The number of older, undelivered events that this event replaces.
    #[must_use]
    pub fn coalesced(&self) -> u32 {
        self.inner.coalesced
    }

    /// 1 for the first delivery, more after failures.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.inner.attempt
    }

    /// With [`Change::Deleted`], the kind of the deletion.
    #[must_use]
    pub fn gone(&self) -> Option<Gone> {
        self.inner.gone
    }

    /// The object after the change; for a deletion, its last known state.
    ///
    /// An object that cannot be decoded is a failure without a retry, because a retry would fail as well.
    pub fn object<'a, T: Deserialize<'a>>(&'a self) -> Result<T> {
        let missing =
            || Failure::new(format!("the event of {} brings no object", self.key())).never_retry();
        self.decode("the object", self.object_json().ok_or_else(missing)?)
    }

    /// The object before the change: for updates where the subscription says
    /// [`with_old`](crate::Subscription::with_old), and for deletions.
    pub fn old<'a, T: Deserialize<'a>>(&'a self) -> Result<Option<T>> {
        self.old_json().map(|json| self.decode("the old object", json)).transpose()
    }

    /// The JSON that [`object`](Self::object) decodes.
    #[must_use]
    pub fn object_json(&self) -> Option<&[u8]> {
        if self.change() == Change::Deleted {
            return self.old_json();
        }
        let ask = || event_data::json(event_data::Side::New);
        self.inner.object.as_deref().or_else(|| self.lazy_new.get_or_init(ask).as_deref())
    }

    /// The JSON that [`old`](Self::old) decodes.
    #[must_use]
    pub fn old_json(&self) -> Option<&[u8]> {
        let ask = || event_data::json(event_data::Side::Old);
        self.inner.old.as_deref().or_else(|| {
            let may_be_lazy = self.inner.object.is_none();
            may_be_lazy.then(|| self.lazy_old.get_or_init(ask).as_deref()).flatten()
        })
    }

    fn decode<'a, T: Deserialize<'a>>(&self, what: &str, json: &'a [u8]) -> Result<T> {
        serde_json::from_slice(json).map_err(|e| {
            Failure::new(format!("{what} of {} does not fit its type: {e}", self.key()))
                .never_retry()
        })
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({} {} {})", self.seq(), self.change(), self.key())
    }
}

impl ObjectKey {
    /// A key; `namespace` is empty for cluster-scoped objects.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    /// `namespace/name`, or only the name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => f.write_str(&self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "added",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initial => "initial",
            Self::Watch => "watch",
            Self::Relist => "relist",
            Self::Resync => "resync",
            Self::Reload => "reload",
            Self::Redrive => "redrive",
        })
    }
}
