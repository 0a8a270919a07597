//! The queue of a plugin whose file is gone.

use super::PluginQueue;
use crate::queue::EventQueue;

impl PluginQueue {
    /// From here on what comes is put aside.
    pub(crate) fn close(&self) {
        self.change(EventQueue::close);
    }

    /// Goes on with what was put aside.
    pub(crate) fn reopen(&self) {
        self.change(EventQueue::reopen);
        for room in self.rooms.lock().values() {
            room.send();
        }
    }

    /// Whether nothing waits, and nothing is in the plugin's hands.
    pub(crate) fn is_drained(&self) -> bool {
        self.shared.lock().queue.is_drained()
    }

    /// Waits until everything came out of a closed queue, or somebody gives up on that.
    pub(crate) async fn drained(&self) {
        // Whoever notifies from here on is heard.
        let drained = self.drained.notified();
        if !self.is_drained() {
            drained.await;
        }
    }

    /// What waits will not come out soon.
    pub(crate) fn give_up_draining(&self) {
        self.drained.notify_waiters();
    }
}
