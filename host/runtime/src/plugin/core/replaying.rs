//! The subscriptions of a plugin that are delivered, and how far their replays are.

use crate::delivery::plugin_queue::PluginQueue;
use crate::delivery::subscription::SubscriptionHandler;
use crate::event::SubscriptionId;
use informant_cache::Indexer;
use std::sync::Arc;

/// A subscription whose objects are told, or have been.
#[derive(Clone)]
pub(crate) struct Replaying {
    pub(crate) id: SubscriptionId,
    pub(crate) subscription: String,
    pub(crate) handler: Arc<SubscriptionHandler>,
    pub(crate) indexer: Indexer,
}

/// How far a replay is that is not through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplaySnapshot {
    /// The subscription's name.
    pub subscription: String,
    /// Objects of its resource that it is done with: told, or none of the subscription's business.
    pub told: usize,
    /// The others. Objects that come or go among those that it is done with make this wrong by as many.
    pub left: usize,
}

impl Replaying {
    /// None once it is through, and nothing of it waits.
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
