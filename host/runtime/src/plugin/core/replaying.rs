//! The delivered subscriptions of a plugin, and the progress of their replays.

use crate::delivery::plugin_queue::PluginQueue;
use crate::delivery::subscription::SubscriptionHandler;
use crate::event::SubscriptionId;
use informant_cache::Indexer;
use std::sync::Arc;

/// A subscription whose replay runs or has ended.
#[derive(Clone)]
pub(crate) struct Replaying {
    pub(crate) id: SubscriptionId,
    pub(crate) subscription: String,
    pub(crate) handler: Arc<SubscriptionHandler>,
    pub(crate) indexer: Indexer,
}

/// The progress of a replay that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplaySnapshot {
    /// The subscription's name.
    pub subscription: String,
    /// Objects of the resource that the replay has finished with, delivered or outside the view.
    pub told: usize,
    /// The remaining objects. If finished objects come or go meanwhile, this number is wrong by as many.
    pub left: usize,
}

impl Replaying {
    /// The snapshot; `None` once the replay has ended and none of its events waits.
    pub(crate) fn snapshot(&self, queue: &PluginQueue) -> Option<ReplaySnapshot> {
        let come_to = self.handler.progress().count();
        let waiting = queue.look(|mailboxes| mailboxes.replays_waiting(self.id));
        if come_to.is_none() && waiting == 0 {
            return None;
        }
        let there = self.indexer.count(None);
        let told = come_to.unwrap_or(there).saturating_sub(waiting);
        let left = there.saturating_sub(told);
        Some(ReplaySnapshot { subscription: self.subscription.clone(), told, left })
    }
}
