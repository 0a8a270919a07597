//! What the actor of a shard does for its guest, one at a time, and what became of it.

use crate::delivery::key_queue::{KeyWork, Worked};
use crate::delivery::mailbox::{Queued, Settled};
use crate::delivery::sync_calls::SyncCall;
use crate::delivery::timers::{Firing, Now};
use crate::event::SubscriptionId;
use crate::history::EndedDelivery;
use std::time::Instant;

/// What is to be done next for a shard.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// It has no instance: one is to be started.
    Start,
    /// The instance is to be told that a subscription has synced.
    Sync(SyncCall),
    /// A schedule's moment has come.
    Fire(Firing),
    /// A key is to be reconciled.
    Reconcile(KeyWork),
    /// An event is to be delivered.
    Deliver(Queued),
}

/// What became of it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Completed<'a> {
    Started,
    /// With a text of a call that failed.
    Synced(SubscriptionId, Settled, Option<&'a str>),
    /// With the error of a call that failed.
    Fired(&'a Firing, Settled, Option<&'a str>, Now),
    Reconciled(Worked),
    Delivered(Settled, &'a EndedDelivery<'a>),
}

/// Whether a guest reconciles keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reconciles {
    /// It has no function for that.
    Never,
    /// Not before everything is there that it may read.
    Later,
    Now,
}

/// What an actor can do for its shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hands {
    /// Without one the work is to start it.
    pub(crate) has_instance: bool,
    pub(crate) reconciles: Reconciles,
    /// Its schedules count: one shard's guest hears of them.
    pub(crate) fires: bool,
    /// Nothing before this: the start of an instance has failed, or the guest has logged too much.
    pub(crate) from: Option<Instant>,
}

#[cfg(test)]
impl Hands {
    /// Those of a guest that only takes events.
    pub(crate) const EVENTS: Self =
        Self { has_instance: true, reconciles: Reconciles::Never, fires: false, from: None };
    /// Those of a guest that does everything.
    pub(crate) const ALL: Self = Self { reconciles: Reconciles::Now, fires: true, ..Self::EVENTS };
}
