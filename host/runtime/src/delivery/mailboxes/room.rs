//! The room that replays have in the mailboxes, and the signals when room is free again.

use super::Mailboxes;
use crate::delivery::mailbox::{Mailbox, ROOM, ROOM_OF_ALL};
use crate::event::SubscriptionId;
use informant_cache::RoomSignal;
use std::mem::take;

impl Mailboxes {
    /// A load is about to deliver a subscription's initial objects. `room` signals that the replay may go on after a
    /// wait.
    pub(crate) fn begin_initial(&mut self, id: SubscriptionId, load: u64, room: RoomSignal) {
        self.rooms.insert(id, room);
        self.change_initials(|initials| initials.begin(id, load));
    }

    /// Whether a subscription's replay may go on. If not, [`Self::take_roomy`] lists it once it may.
    pub(crate) fn ask_for_replay_room(&mut self, id: SubscriptionId) -> bool {
        let has_room = self.is_roomy(id);
        if !has_room && !self.refused.contains(&id) {
            self.refused.push(id);
        }
        has_room
    }

    /// One replay serves all mailboxes. A slow mailbox stops the replay only when as many events wait as all of them
    /// may hold.
    fn is_roomy(&self, id: SubscriptionId) -> bool {
        self.all_replays_waiting() < self.room_of_all() && self.has_own_room(id)
    }

    fn has_own_room(&self, id: SubscriptionId) -> bool {
        self.replays_waiting(id) < ROOM * self.shards.len()
    }

    /// All replays of the plugin stop when so many of their events wait.
    fn room_of_all(&self) -> usize {
        ROOM_OF_ALL + ROOM * self.shards.len().saturating_sub(1)
    }

    fn all_replays_waiting(&self) -> usize {
        self.shards.iter().map(Mailbox::all_replays_waiting).sum()
    }

    /// The signals of replays that found no room and have room now.
    pub(in crate::delivery) fn take_room_signals(&mut self) -> Vec<RoomSignal> {
        let roomy = self.take_roomy();
        roomy.iter().filter_map(|id| self.rooms.get(id).cloned()).collect()
    }

    pub(super) fn take_roomy(&mut self) -> Vec<SubscriptionId> {
        // Called after each change of the queue: the first question is one for all. One free place is not enough for all.
        if self.refused.is_empty()
            || self.all_replays_waiting() >= self.room_of_all() / 4 * 3
            || !self.refused.iter().any(|id| self.has_own_room(*id))
        {
            return Vec::new();
        }
        let refused = take(&mut self.refused);
        let (roomy, refused) = refused.into_iter().partition(|id| self.has_own_room(*id));
        self.refused = refused;
        roomy
    }

    /// The number of waiting replayed events of a subscription.
    pub(crate) fn replays_waiting(&self, id: SubscriptionId) -> usize {
        self.shards.iter().map(|mailbox| mailbox.replays_waiting(id)).sum()
    }
}

#[cfg(test)]
impl Mailboxes {
    /// Checks that the lines of replays are no longer than the bound with one more step.
    pub(crate) fn check_replays(&self) {
        let (count, shards) = (self.all_replays_waiting(), self.shards.len());
        assert!(count < (shards + 1) * ROOM, "{count} replayed events wait, in {shards} shards");
    }
}
