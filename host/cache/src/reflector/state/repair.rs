//! When to list again because something could not be read.
//!
//! client-go logs such an event and goes on, so that its object stays wrong in the cache until the next relist, which
//! may be days away. Here a list follows: soon the first time, with growing pauses where it keeps happening.

use std::time::{Duration, Instant};

/// Before the first repair: garbage seldom comes alone, and one list heals all of it.
const PAUSE_MIN: Duration = Duration::from_secs(10);
/// Between repairs that do not help: a list every ten minutes burdens no server.
const PAUSE_MAX: Duration = Duration::from_secs(600);
/// After this long without anything unreadable the pauses begin anew.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(1800);

#[derive(Clone, Debug)]
pub(super) struct Repair {
    due: Option<Instant>,
    pause: Duration,
    /// When something could not be read last.
    last: Option<Instant>,
}

impl Repair {
    pub(super) fn new() -> Self {
        Self { due: None, pause: PAUSE_MIN, last: None }
    }

    /// Something could not be read.
    pub(super) fn unreadable(&mut self, now: Instant) {
        if self.last.is_some_and(|last| now.duration_since(last) >= FORGOTTEN_AFTER) {
            self.pause = PAUSE_MIN;
        }
        self.last = Some(now);
        self.due.get_or_insert(now + self.pause);
    }

    /// When to list.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// A list begins, for whatever reason.
    pub(super) fn begins(&mut self) {
        if self.due.take().is_some() {
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds between something unreadable and its list, for things that come so many seconds after the list before.
    #[track_caller]
    fn check(steps: &[(u64, u64)]) {
        let mut repair = Repair::new();
        let mut now = Instant::now();
        for &(after, pause) in steps {
            now += Duration::from_secs(after);
            repair.unreadable(now);
            repair.unreadable(now + Duration::from_secs(1));
            assert_eq!(repair.due(), Some(now + Duration::from_secs(pause)));
            now += Duration::from_secs(pause);
            repair.begins();
            assert_eq!(repair.due(), None);
        }
    }

    #[test]
    fn repairs_that_do_not_help_become_rare() {
        check(&[(0, 10), (0, 20), (0, 40), (0, 80), (0, 160), (0, 320), (0, 600), (0, 600)]);
    }

    #[test]
    fn a_long_time_without_trouble_is_a_new_beginning() {
        check(&[(0, 10), (0, 20), (1799 - 20, 40), (1800, 10)]);
    }
}
