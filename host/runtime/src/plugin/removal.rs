//! The removal of a plugin whose file is gone: its waiting events are delivered, within a time
//! limit. It goes on if the file comes back.

use super::Plugin;
use crate::contract::configuration::OnRemoval;
use crate::delivery::mailboxes::Mailboxes;
use crate::delivery::subscription::Replay;
use crate::plugin::core::PluginCore;
use crate::plugin::lifecycle::{Input, LifecycleState};
use jiff::Timestamp;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The remaining work before a plugin's end: events, the rest of running replays, and keys that are due.
pub(crate) struct Drain {
    core: Arc<PluginCore>,
    walks: Vec<Arc<Replay>>,
    /// The time limit of the drain.
    pub(crate) limit: Duration,
}

impl Drain {
    /// Waits until the remaining work is done, or the time is over.
    pub(crate) async fn carry_out(self) {
        let all_told = async {
            loop {
                // Progress from here on wakes this wait.
                let progress = self.core.queue.progress();
                if self.is_over() || self.core.state().is_tripped() {
                    return;
                }
                progress.await;
            }
        };
        let _: Result<(), _> = tokio::time::timeout(self.limit, all_told).await;
    }

    fn is_drained(&self) -> bool {
        let now = Instant::now();
        self.core.queue.ripen(now);
        self.core.queue.look(|mailboxes| mailboxes.is_drained(now))
    }

    /// Whether no work is left. Replays add events, and events add keys.
    fn is_over(&self) -> bool {
        self.walks.iter().all(|walk| walk.count().is_none()) && self.is_drained()
    }
}

impl Plugin {
    /// Takes in no new events. Returns the remaining work before the plugin's end. `None` if no work waits, if none
    /// could be delivered, or if the settings want no drain. During a load there is no drain, because no version is
    /// certain to get the events.
    pub(crate) fn drain(&mut self, number: u64) -> Option<Drain> {
        let settings = &self.current.as_ref()?.prepared.settings;
        let limit = settings.limits.drain_time;
        let is_held = matches!(
            self.core.state(),
            LifecycleState::Paused { .. } | LifecycleState::Tripped { .. }
        );
        let is_wanted = settings.on_removal == OnRemoval::Drain;
        let drain = Drain { core: self.core.clone(), walks: self.walks(), limit };
        if !is_wanted || is_held || self.load.is_some() || drain.is_over() {
            return None;
        }
        (self.draining, self.next) = (Some(number), None);
        self.core.queue.change(Mailboxes::close);
        self.core.apply([Input::FileGone], Timestamp::now());
        Some(drain)
    }

    /// The number of waiting events, and of keys.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        self.core.queue.look(|mailboxes| (mailboxes.load().events, mailboxes.keys.count()))
    }

    /// The running replays. A replay before the first list has no events, maybe for ever, and does not count.
    fn walks(&self) -> Vec<Arc<Replay>> {
        let active = self.subscriptions.values();
        let synced = active.filter(|active| active.informer.informer().has_synced());
        synced.map(|active| active.handler.progress()).collect()
    }

    /// The file is there again. Returns whether the file was gone.
    pub(crate) fn goes_on(&mut self) -> bool {
        let was_gone = self.draining.take().is_some();
        if was_gone {
            self.core.queue.change(Mailboxes::reopen);
            self.core.apply([Input::FileBack], Timestamp::now());
        }
        was_gone
    }
}
