//! What waits for subscriptions that a new version lacks goes.

use super::{EventQueue, size};
use crate::event::{Event, SubscriptionId};
use hashbrown::HashSet;

impl EventQueue {
    /// Drops the waiting events of all other subscriptions and says how many those were.
    pub(crate) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        let before = self.depth;
        let (mut dropped_events, mut dropped_bytes) = (0, 0);
        let mut drop_unless = |event: &Event| {
            let kept = keep.contains(&event.subscription);
            if !kept {
                dropped_events += 1;
                dropped_bytes += size(event);
            }
            kept
        };
        for entry in &mut self.waiting {
            if entry.as_ref().is_some_and(|event| !drop_unless(event)) {
                *entry = None;
            }
        }
        for lane in self.held.values_mut() {
            lane.retain(|queued| drop_unless(&queued.event));
        }
        if let Some(last) = &mut self.last {
            last.retain(|lane, _| keep.contains(&lane.subscription));
        }
        if let Some(waits) = &mut self.waits {
            waits.retain(|lane, _| keep.contains(&lane.subscription));
        }
        self.held.retain(|lane, _| keep.contains(&lane.subscription));
        self.due.retain(|lane| keep.contains(&lane.subscription));
        self.restored.retain(|lane| keep.contains(&lane.subscription));
        self.initials.retain(keep);
        if let Some(aside) = &mut self.aside {
            aside.retain(keep);
        }
        self.depth -= dropped_events;
        self.bytes -= dropped_bytes;
        before - self.depth + self.retain_replays(keep) + self.withheld.retain(keep)
    }
}
