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
    pub(crate) fn has_replay_room(&mut self, id: SubscriptionId) -> bool {
        let has_room = self.is_roomy(id);
        if !has_room && !self.refused.contains(&id) {
            self.refused.push(id);
        }
        has_room
    }

    /// One replay serves all mailboxes. A slow mailbox stops the replay only when as many events wait as all of them
    /// may hold.
    fn is_roomy(&self, id: SubscriptionId) -> bool {
        self.has_room_for_any() && self.replays_waiting(id) < ROOM * self.shards.len()
    }

    fn has_room_for_any(&self) -> bool {
        let waiting = self.shards.iter().map(Mailbox::all_replays_waiting).sum::<usize>();
        waiting < ROOM_OF_ALL * self.shards.len()
    }

    /// The signals of replays that found no room and have room now.
    pub(in crate::delivery) fn take_room_signals(&mut self) -> Vec<RoomSignal> {
        let roomy = self.take_roomy();
        roomy.iter().filter_map(|id| self.rooms.get(id).cloned()).collect()
    }

    pub(super) fn take_roomy(&mut self) -> Vec<SubscriptionId> {
        // Called after each change of the queue: the first question is one for all.
        if self.refused.is_empty()
            || !self.has_room_for_any()
            || !self.refused.iter().any(|id| self.is_roomy(*id))
        {
            return Vec::new();
        }
        let refused = take(&mut self.refused);
        let (roomy, refused) = refused.into_iter().partition(|id| self.is_roomy(*id));
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
        let count: usize = self.shards.iter().map(Mailbox::all_replays_waiting).sum();
        let shards = self.shards.len();
        assert!(count < (shards + 1) * ROOM, "{count} replayed events wait, in {shards} shards");
    }
}
