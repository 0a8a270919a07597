//! What the queue brings to its plugin's account.

use super::PluginQueue;
use std::time::Duration;

impl PluginQueue {
    /// A subscription was evaluated in an informer's task.
    pub(crate) fn evaluated(&self, time: Duration) {
        self.counters.ledger.evaluated(time);
    }

    /// Bytes of the objects of the events that wait.
    pub(crate) fn bytes(&self) -> usize {
        self.shared.lock().queue.load().bytes
    }
}
