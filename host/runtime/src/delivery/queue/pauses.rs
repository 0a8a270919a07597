//! When an event may come out that nothing stands before: once it has waited for others of its object.

use super::EventQueue;
use std::time::{Duration, Instant};

impl EventQueue {
    /// How long events wait for others of their object from here on.
    pub(crate) fn set_debounce(&mut self, debounce: Duration) {
        self.debounce = debounce;
    }

    /// When something can be popped: now if it is past, none if nothing waits.
    pub(crate) fn next_due(&self, now: Instant) -> Option<Instant> {
        if !self.replays.is_empty() {
            return Some(now);
        }
        let first = self.waiting.iter().flatten().next();
        let debounce = self.debounce();
        let waiting = first.map(|event| match debounce.is_zero() {
            true => now,
            false => event.received + debounce,
        });
        waiting.into_iter().chain(self.due.first()).min()
    }
}
