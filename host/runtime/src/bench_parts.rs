//! Parts by themselves, for this crate's benches and its test that counts allocations. No part of its interface: it changes whenever they do.

use crate::event::{Change, Event, Reason, SubscriptionId};
use crate::event_keys::EventKeys;
use crate::queue::{EventQueue, Marks, Settled};
use informant_cache::Object;
use std::time::Instant;

/// A plugin's queue of events, without the plugin.
#[derive(Debug)]
pub struct Events {
    queue: EventQueue,
    now: Instant,
}

impl Events {
    /// A queue that keeps so many events before it merges.
    pub fn new(mark: usize, now: Instant) -> Self {
        let marks = Marks { events: mark, bytes: usize::MAX };
        Self { queue: EventQueue::new(marks), now }
    }

    /// An update comes.
    pub fn push(&mut self, old: &Object, object: &Object) {
        self.queue.push(Event {
            subscription: SubscriptionId(1),
            asked_by: 0,
            change: Change::Updated,
            reason: Reason::Watch,
            gone: None,
            object: object.clone(),
            old: Some(old.clone()),
            coalesced: 0,
            letters: Vec::new(),
            received: self.now,
            before_sync: false,
            knew: false,
            keys: EventKeys::default(),
        });
    }

    /// The next event is taken and handled; answers whether there was one.
    pub fn pop(&mut self) -> bool {
        let popped = self.queue.pop(self.now).is_some();
        if popped {
            self.queue.settle(Settled::Finished, self.now);
        }
        popped
    }

    /// Events that wait.
    pub fn depth(&self) -> usize {
        self.queue.depth()
    }
}
