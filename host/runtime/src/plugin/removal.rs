//! The removal of a plugin whose file is gone: its waiting events are delivered, within a time
//! limit. It goes on if the file comes back.

use super::Plugin;
use crate::contract::configuration::OnRemoval;
use crate::delivery::mailboxes::Mailboxes;
use crate::delivery::subscription::Progress;
use crate::plugin::core::PluginCore;
use crate::plugin::lifecycle::{Input, LifecycleState};
use jiff::Timestamp;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is to be told before a plugin ends: events, what replays that are under way have yet to come to, and keys that are not for later.
pub(crate) struct Drain {
    core: Arc<PluginCore>,
    walks: Vec<Arc<Progress>>,
    /// How long that may take.
    pub(crate) limit: Duration,
}

impl Drain {
    /// Tells what can be told in time.
    pub(crate) async fn carry_out(self) {
        let all_told = async {
            loop {
                // Whoever makes progress from here on is heard.
                let progress = self.core.queue.progress();
                if self.is_over() || self.core.state().is_tripped() {
                    return;
                }
                progress.await;
            }
        };
        let _: Result<(), _> = tokio::time::timeout(self.limit, all_told).await;
    }

    /// Whether nothing is left. Of a walk come events, and of events keys.
    fn is_over(&self) -> bool {
        self.walks.iter().all(|walk| walk.count().is_none())
            && self.core.queue.look(|mailboxes| mailboxes.is_drained(Instant::now()))
    }
}

impl Plugin {
    /// Takes nothing new in any more, and answers with what is to be told before it ends; none if nothing is: nothing waits, or nothing would be told, or
    /// that is not wanted. In the middle of a load nobody knows to which version to tell it.
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

    /// How many events wait, and how many keys there are.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        self.core.queue.look(|mailboxes| (mailboxes.load().events, mailboxes.keys.count()))
    }

    /// Replays that are under way. One whose first list is still to come has nothing to tell, maybe for ever.
    fn walks(&self) -> Vec<Arc<Progress>> {
        let active = self.subscriptions.values();
        let synced = active.filter(|active| active.informer.informer().has_synced());
        synced.map(|active| active.handler.progress()).collect()
    }

    /// Its file is there again. Answers whether it was gone.
    pub(crate) fn goes_on(&mut self) -> bool {
        let was_gone = self.draining.take().is_some();
        if was_gone {
            self.core.queue.change(Mailboxes::reopen);
            self.core.apply([Input::FileBack], Timestamp::now());
        }
        was_gone
    }
}
