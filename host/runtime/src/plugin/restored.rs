//! The data of a plugin's name from the state directory: dead letters, `state`, a pause, and the
//! retries, which come before other events.

use super::Plugin;
use crate::contract::descriptor::Descriptor;
use crate::counters::Counters;
use crate::delivery::mailbox::{Attempts, Queued};
use crate::event::{Change, Event, SubscriptionId};
use crate::kept::archive::{Archive, Kept, WaitingRetry};
use hashbrown::HashMap;
use informant_cache::Object;
use jiff::Timestamp;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// A retry that came due while no host ran waits so long for the first list. The list's event for the object can then
/// replace it.
const LIST_WAIT: Duration = Duration::from_secs(1);

/// Kept data that is not in its place yet.
#[derive(Default)]
pub(super) struct Memory {
    /// Whether the kept data was read.
    is_read: bool,
    /// Whether a user paused or resumed the plugin since the host started: that replaces the kept pause.
    pub(super) pause_is_said: bool,
    /// Retries whose subscriptions have not begun.
    retries: Vec<(Arc<str>, WaitingRetry)>,
}

impl Plugin {
    /// Whether the kept data was read.
    pub(crate) fn remembers(&self) -> bool {
        self.memory.is_read
    }

    /// Takes over the data of an earlier host. Unreadable data is left alone.
    pub(crate) fn remember(&mut self, name: &str, archive: &Archive, kept: Option<Kept>) {
        self.memory.is_read = true;
        let Some(kept) = kept else {
            warn!(plugin = name, "the state directory is used no more, and nothing of it is kept");
            return;
        };
        let (letters, retries, keys) = (kept.letters.len(), kept.retries.len(), kept.state.len());
        if letters + retries + keys > 0 {
            info!(plugin = name, letters, retries, keys, "goes on with what was kept of it");
        }
        if kept.unreadable > 0 {
            let count = kept.unreadable;
            warn!(
                plugin = name,
                "{count} entries of the state directory cannot be read; they stay"
            );
        }
        self.core.archive.open(archive.clone(), &kept);
        let head = kept.head.unwrap_or_default();
        self.core.dead_letters.lock().restore(kept.letters, head.letters);
        self.core.state.lock().restore(kept.state);
        self.memory.retries = kept.retries;
        if self.memory.pause_is_said {
            self.core.archive.paused(self.paused);
        } else if head.paused {
            self.pause(true, Box::new(|_| {}));
            info!(plugin = name, "it is paused, as it was when the host ended");
        }
    }

    /// Queues the retries of subscriptions that begin, and returns the objects that were delivered to the plugin.
    /// Retries of subscriptions that the version lacks are dropped, as at a reload.
    pub(super) fn restore(
        &mut self,
        descriptor: &Descriptor,
        ids: &[SubscriptionId],
    ) -> HashMap<SubscriptionId, Vec<Object>> {
        let mut told = HashMap::<SubscriptionId, Vec<Object>>::new();
        let mut dropped = Vec::new();
        for (subscription, waiting) in std::mem::take(&mut self.memory.retries) {
            let mut specs = descriptor.subscriptions.iter().zip(ids);
            let id = specs.find(|(spec, _)| {
                *spec.name == *subscription && spec.resource.to_string() == *waiting.resource
            });
            let Some((_, id)) = id else {
                dropped.push((subscription, waiting));
                continue;
            };
            self.core.archive.restored(*id, &subscription, &waiting);
            if waiting.event.change != Change::Deleted {
                told.entry(*id).or_default().push(waiting.event.object.clone());
            }
            let left = wait(waiting.due, waiting.wait, Timestamp::now());
            let due = Instant::now() + left.max(LIST_WAIT);
            let WaitingRetry { event, attempt, crashes, .. } = waiting;
            let event = Event { subscription: *id, ..event };
            let tried = Attempts { number: attempt, excused: 0, crashes };
            let queued = Queued { event: event.into(), tried, seq: 0 };
            self.core.queue.change(|mailboxes| mailboxes.restore(queued, due));
        }
        let counters: &Counters = &self.core.counters;
        counters.dropped.fetch_add(dropped.len() as u64, Relaxed);
        self.core.archive.dropped(&dropped);
        told
    }
}

/// The remaining wait of a retry, at most the original wait: the clock may have been set back.
fn wait(due: Timestamp, at_first: Duration, now: Timestamp) -> Duration {
    Duration::try_from(due.duration_since(now)).unwrap_or_default().min(at_first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_waits_no_longer_than_at_first_though_the_clock_was_set_back() {
        let at = |seconds: i64| Timestamp::from_second(1_000_000 + seconds).expect("a time");
        let first = Duration::from_secs(30);
        for (now, left) in [(at(0), 30), (at(20), 10), (at(30), 0), (at(99), 0), (at(-3_600), 30)] {
            assert_eq!(wait(at(30), first, now), Duration::from_secs(left));
        }
        assert_eq!(wait(at(30), Duration::MAX, at(20)), Duration::from_secs(10));
    }
}
