//! The work of a shard's actor, one step at a time, and the end of that work.

use crate::delivery::key_queue::{KeyWork, Worked};
use crate::delivery::mailbox::{Queued, Settled};
use crate::delivery::sync_calls::SyncCall;
use crate::delivery::timers::{Firing, Now};
use crate::event::SubscriptionId;
use crate::history::EndedDelivery;
use std::time::Instant;

/// The next work for a shard.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// The shard has no instance: the actor is to start one.
    Start,
    /// The instance is to get a `synced` call.
    Sync(SyncCall),
    /// A schedule's time has come.
    Fire(Firing),
    /// The guest is to reconcile a key.
    Reconcile(KeyWork),
    /// The guest is to get an event.
    Deliver(Queued),
}

/// The end of a work.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Completed<'a> {
    Started,
    /// With the error of a failed call.
    Synced(SubscriptionId, Settled, Option<&'a str>),
    /// With the error of a failed call.
    Fired(&'a Firing, Settled, Option<&'a str>, Now),
    Reconciled(Worked<'a>),
    Delivered(Settled, &'a EndedDelivery<'a>),
}

/// Whether a guest reconciles keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reconciles {
    /// The guest has no function for keys.
    Never,
    /// Not before everything has synced that the guest may read.
    Later,
    Now,
}

/// The abilities of an actor for its shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hands {
    /// Without an instance, the work is to start one.
    pub(crate) has_instance: bool,
    pub(crate) reconciles: Reconciles,
    /// Whether this actor calls the schedules: the guest of one shard gets them.
    pub(crate) fires: bool,
    /// No work before this time: an instance did not start, or the guest has logged too much.
    pub(crate) from: Option<Instant>,
    /// The load of the version whose filters decide about new events. `None` while results of older events are
    /// remembered, which decide too.
    pub(crate) filters_of: Option<u64>,
}

impl Hands {
    /// The abilities of a running version's actor that only takes events.
    pub(crate) fn waiting(load: u64) -> Self {
        let (has_instance, reconciles, fires) = (true, Reconciles::Never, false);
        Self { has_instance, reconciles, fires, from: None, filters_of: Some(load) }
    }
}

#[cfg(test)]
impl Hands {
    /// The abilities for a guest that only takes events.
    pub(crate) const EVENTS: Self = Self {
        has_instance: true,
        reconciles: Reconciles::Never,
        fires: false,
        from: None,
        filters_of: None,
    };
    /// The abilities for a guest with all functions.
    pub(crate) const ALL: Self = Self { reconciles: Reconciles::Now, fires: true, ..Self::EVENTS };
}
