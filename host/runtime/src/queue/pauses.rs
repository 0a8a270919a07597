//! When an event may come out that nothing stands before: once it has waited for others of its object, and once the plugin may be called again.

use super::EventQueue;
use super::call_rate::CallRate;
use crate::configuration::RateLimit;
use std::time::{Duration, Instant};

impl EventQueue {
    /// How long events wait for others of their object from here on, and how often they come out.
    pub(crate) fn set_pauses(&mut self, debounce: Duration, rate: Option<RateLimit>, now: Instant) {
        self.debounce = debounce;
        match (&mut self.rate, rate) {
            (Some(rate), Some(limit)) => rate.set(limit, now),
            (rate, limit) => *rate = limit.map(|limit| CallRate::new(limit, now)),
        }
    }

    /// The event in flight is handed to the plugin, for the first time or again.
    pub(crate) fn calls(&mut self, now: Instant) {
        if let Some(rate) = &mut self.rate {
            rate.spend(now);
        }
    }

    /// Whether an event could come out but for the rate.
    pub(crate) fn is_rate_limited(&mut self, now: Instant) -> bool {
        let waits = self.next_waiting(now).is_some_and(|due| due <= now);
        waits && self.rate.as_mut().is_some_and(|rate| !rate.wait(now).is_zero())
    }

    /// When something can be popped: now if it is past, none if nothing waits.
    pub(crate) fn next_due(&mut self, now: Instant) -> Option<Instant> {
        let due = self.next_waiting(now)?;
        let rate = self.rate.as_mut().map(|rate| now + rate.wait(now));
        Some(rate.map_or(due, |rate| due.max(rate)))
    }

    /// The same, if there were no rate.
    fn next_waiting(&self, now: Instant) -> Option<Instant> {
        if !self.replays.is_empty() {
            return Some(now);
        }
        let first = self.waiting.iter().flatten().next();
        let debounce = self.debounce();
        let waiting = first.map(|event| match debounce.is_zero() {
            true => now,
            false => event.received + debounce,
        });
        waiting.into_iter().chain(self.due.first().map(|(at, _, _)| *at)).min()
    }
}
