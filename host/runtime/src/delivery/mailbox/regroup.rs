//! Moves waiting events to other mailboxes when the plugin runs in another number of shards.

use super::{Event, Lane, Mailbox};
use crate::shard;
use std::collections::VecDeque;

impl Mailbox {
    /// Moves all waiting events into the empty mailboxes of their new shards. Each object's events keep their order
    /// and their attempts. First attempts keep their order of arrival. No event may be in flight.
    pub(in crate::delivery) fn regroup(mut before: Vec<Self>, after: &mut [Self]) {
        for mailbox in &mut before {
            mailbox.scatter(after);
        }
        let backlogs = before.iter_mut().map(|mailbox| std::mem::take(&mut mailbox.backlog));
        for event in by_arrival(backlogs.map(|backlog| backlog.into_events()).collect()) {
            let mailbox = &mut after[shard::of_object(event.object.key(), after.len())];
            mailbox.initials.came(&event);
            mailbox.backlog.append(event);
        }
        let asides: Vec<Self> = before.into_iter().filter_map(|it| Some(*it.aside?)).collect();
        if asides.is_empty() {
            return;
        }
        let mut put: Vec<Self> = after.iter().map(|mailbox| Self::new(mailbox.marks)).collect();
        Self::regroup(asides, &mut put);
        for (mailbox, put) in after.iter_mut().zip(put) {
            mailbox.aside = Some(Box::new(put));
        }
    }

    /// Moves all events of a mailbox, apart from first attempts and events that are put aside.
    fn scatter(&mut self, after: &mut [Self]) {
        let shards = after.len();
        let of = |lane: &Lane| shard::of_object(lane.key(), shards);
        for (mailbox, held) in
            after.iter_mut().zip(std::mem::take(&mut self.held).split(shards, of))
        {
            held.events().for_each(|event| mailbox.initials.came(event));
            mailbox.held.absorb(held);
        }
        for event in std::mem::take(&mut self.replays).into_events() {
            let lane = Lane::of(&event);
            let mailbox = &mut after[of(&lane)];
            mailbox.initials.came(&event);
            mailbox.replays.push(lane, event);
        }
        for (id, events) in std::mem::take(&mut self.withheld).into_subscriptions() {
            // Withholds the subscription in every mailbox, also in one without events of it.
            for mailbox in &mut *after {
                mailbox.withheld.begin(id);
            }
            for queued in events {
                let mailbox = &mut after[shard::of_object(queued.event.object.key(), shards)];
                mailbox.initials.came(&queued.event);
                mailbox.withheld.begin(id).push_back(queued);
            }
        }
        after[0].coalesced += self.coalesced;
    }

    /// An empty mailbox for the same plugin. Its numbers continue above `seq`.
    pub(in crate::delivery) fn emptied(&self, seq: u64) -> Self {
        let initials = self.initials.emptied();
        Self { debounce: self.debounce, initials, seq, ..Self::new(self.marks) }
    }

    /// The number that was given last.
    pub(in crate::delivery) fn seq(&self) -> u64 {
        self.seq
    }
}

/// The events of several mailboxes by time of arrival: always the oldest of the first events. Each mailbox keeps
/// its order.
fn by_arrival(mut lines: Vec<VecDeque<Event>>) -> impl Iterator<Item = Event> {
    std::iter::from_fn(move || {
        let first = lines.iter_mut().filter(|line| !line.is_empty());
        first.min_by_key(|line| line.front().map(|event| event.received))?.pop_front()
    })
}
