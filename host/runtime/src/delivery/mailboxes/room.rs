//! The room that walks through the store have for their replays, and how they hear of it.

use super::Mailboxes;
#[cfg(test)]
use crate::delivery::mailbox::Mailbox;
use crate::delivery::mailbox::ROOM;
use crate::event::SubscriptionId;
use informant_cache::RoomSignal;
use std::mem::take;

impl Mailboxes {
    /// A load is about to have a subscription's objects told. `room` lets that go on when it had to wait.
    pub(crate) fn begin_initial(&mut self, id: SubscriptionId, load: u64, room: RoomSignal) {
        self.rooms.insert(id, room);
        self.change_initials(|initials| initials.begin(id, load));
    }

    /// Whether a subscription's walk may go on. If not, [`Self::take_roomy`] says when it may.
    pub(crate) fn has_replay_room(&mut self, id: SubscriptionId) -> bool {
        let has_room = self.is_roomy(id);
        if !has_room && !self.refused.contains(&id) {
            self.refused.push(id);
        }
        has_room
    }

    /// It is one walk for all mailboxes: one that is behind holds it up only once it has what would fill all of them.
    fn is_roomy(&self, id: SubscriptionId) -> bool {
        self.replays_waiting(id) < ROOM * self.shards.len()
    }

    /// What lets walks go on that were refused room and have some now.
    pub(in crate::delivery) fn take_room_signals(&mut self) -> Vec<RoomSignal> {
        let roomy = self.take_roomy();
        roomy.iter().filter_map(|id| self.rooms.get(id).cloned()).collect()
    }

    pub(super) fn take_roomy(&mut self) -> Vec<SubscriptionId> {
        if !self.refused.iter().any(|id| self.is_roomy(*id)) {
            return Vec::new();
        }
        let refused = take(&mut self.refused);
        let (roomy, refused) = refused.into_iter().partition(|id| self.is_roomy(*id));
        self.refused = refused;
        roomy
    }

    /// Replayed events of a subscription that wait.
    pub(crate) fn replays_waiting(&self, id: SubscriptionId) -> usize {
        self.shards.iter().map(|mailbox| mailbox.replays_waiting(id)).sum()
    }
}

#[cfg(test)]
impl Mailboxes {
    /// That the lines of replays are no longer than a walk with its last step makes them.
    pub(crate) fn check_replays(&self) {
        let count: usize = self.shards.iter().map(Mailbox::replayed).sum();
        let shards = self.shards.len();
        assert!(count < (shards + 1) * ROOM, "{count} replayed events wait, in {shards} shards");
    }
}
