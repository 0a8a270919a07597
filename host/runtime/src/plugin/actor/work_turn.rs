//! The turn of an actor: pieces of work that follow each other without a turn of the thread's other plugins.

use crate::delivery::mailboxes::Work;
use std::time::{Duration, Instant};

/// The pieces of work in a turn. The end of a turn costs about as much as one event.
const WORKS_MAX: usize = 64;
/// No work is taken after this time: a guest's own turn is no longer than a tick.
const TIME_MAX: Duration = Duration::from_millis(1);

/// A turn of an actor.
pub(crate) struct WorkTurn {
    began: Instant,
    left: usize,
    /// The next work, which was taken together with the end of the last one: both need the queue's lock.
    pub(super) next: Option<Work>,
}

impl WorkTurn {
    pub(super) fn begin(now: Instant) -> Self {
        Self { began: now, left: WORKS_MAX, next: None }
    }

    /// A turn in which no other work follows.
    pub(crate) fn over(now: Instant) -> Self {
        Self { began: now, left: 0, next: None }
    }

    pub(super) fn work_begins(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Whether others have their turn before the next work.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.left == 0 || now.saturating_duration_since(self.began) > TIME_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_after_its_works_or_its_time() {
        let began = Instant::now();
        let mut turn = WorkTurn::begin(began);
        assert!(!turn.is_over(began + TIME_MAX) && turn.is_over(began + 2 * TIME_MAX));
        for _ in 1..WORKS_MAX {
            turn.work_begins();
        }
        assert!(!turn.is_over(began));
        turn.work_begins();
        assert!(turn.is_over(began));
    }
}
