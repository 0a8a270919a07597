//! When the head of each held lane may be tried: heads that have failed, which a tripped plugin holds back, apart from those that have not.

use super::{EventQueue, Lane, Queued};
use std::collections::BTreeSet;
use std::time::Instant;

/// Lanes in the order in which their heads may be tried.
#[derive(Debug, Default)]
struct Places(BTreeSet<(Instant, u64, Lane)>);

#[derive(Debug, Default)]
pub(super) struct Due {
    /// Heads that were attempted before.
    retries: Places,
    /// Heads whose first attempt is next: what stood before them has come to its end.
    untried: Places,
    /// No retry comes out before this.
    retries_from: Option<Instant>,
    /// The event that came out last was a retry.
    had_turn: bool,
}

impl Due {
    /// The head of a lane may be tried at this time.
    pub(super) fn insert(&mut self, head: &Queued, at: Instant, lane: Lane) {
        let places = if head.attempt > 1 { &mut self.retries } else { &mut self.untried };
        places.0.insert((at, head.seq, lane));
    }

    /// No retry comes out before this; none: each comes at its own time.
    pub(super) fn hold_retries(&mut self, from: Option<Instant>) {
        self.retries_from = from;
    }

    /// Lanes whose head has failed.
    pub(super) fn failed(&self) -> usize {
        self.retries.0.len()
    }

    /// The next lane whose head is a retry.
    pub(super) fn pop_retry(&mut self, now: Instant) -> Option<Lane> {
        if self.retries_from.is_some_and(|from| from > now) {
            return None;
        }
        self.retries.pop(now)
    }

    /// The next lane whose head was never tried.
    pub(super) fn pop_untried(&mut self, now: Instant) -> Option<Lane> {
        self.untried.pop(now)
    }

    /// When the first head may be tried.
    pub(super) fn first(&self) -> Option<Instant> {
        let at = |places: &Places| places.0.first().map(|(at, _, _)| *at);
        let retry = at(&self.retries).map(|at| self.retries_from.map_or(at, |from| from.max(at)));
        retry.into_iter().chain(at(&self.untried)).min()
    }

    /// Forgets all other lanes.
    pub(super) fn retain(&mut self, keep: impl Fn(&Lane) -> bool) {
        self.retries.0.retain(|(_, _, lane)| keep(lane));
        self.untried.0.retain(|(_, _, lane)| keep(lane));
    }

    /// Moves each lane's place to where it belongs now.
    pub(super) fn scatter(&mut self, to: impl Fn(&Lane) -> usize, lines: &mut [EventQueue]) {
        for place in std::mem::take(&mut self.retries.0) {
            lines[to(&place.2)].due.retries.0.insert(place);
        }
        for place in std::mem::take(&mut self.untried.0) {
            lines[to(&place.2)].due.untried.0.insert(place);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.retries.0.len() + self.untried.0.len()
    }
}

impl Places {
    fn pop(&mut self, now: Instant) -> Option<Lane> {
        if self.0.first()?.0 > now {
            return None;
        }
        self.0.pop_first().map(|(_, _, lane)| lane)
    }
}

impl EventQueue {
    /// Objects whose first event has failed and is tried again.
    pub(crate) fn failed(&self) -> usize {
        let is_retry = self.in_flight.as_ref().is_some_and(|queued| queued.attempt > 1);
        self.due.failed() + usize::from(is_retry)
    }

    /// Events that wait for their turn alone, and when the first of them was read: others wait for a retry of their object, or are one.
    pub(crate) fn ready(&self) -> (usize, Option<Instant>) {
        let retried = self.in_flight.as_ref().filter(|queued| queued.attempt > 1);
        let retried = retried.map(|queued| Lane::of(&queued.event));
        let (mut count, mut heads) = (self.depth, Vec::new());
        for (lane, events) in &self.held {
            let head = events.front().filter(|head| head.attempt == 1);
            match head.filter(|_| retried.as_ref() != Some(lane)) {
                Some(head) => heads.push(head.event.received),
                None => count -= events.len(),
            }
        }
        let waiting = self.waiting.iter().flatten().next().map(|event| event.received);
        (count, heads.into_iter().chain(waiting).min())
    }

    /// No event that has failed comes out before this; none: each comes at its own time.
    pub(crate) fn hold_retries(&mut self, from: Option<Instant>) {
        self.due.hold_retries(from);
    }

    /// The next event of all: a retry and one that was never tried by turns.
    pub(super) fn pop_next(&mut self, now: Instant) -> Option<Queued> {
        let queued = match self.due.had_turn {
            true => self.pop_untried(now).or_else(|| self.pop_retry(now)),
            false => self.pop_retry(now).or_else(|| self.pop_untried(now)),
        }?;
        self.due.had_turn = queued.attempt > 1;
        Some(queued)
    }

    fn pop_retry(&mut self, now: Instant) -> Option<Queued> {
        let lane = self.due.pop_retry(now)?;
        self.pop_head(lane)
    }

    /// An event whose first attempt this is.
    fn pop_untried(&mut self, now: Instant) -> Option<Queued> {
        let head = self.due.pop_untried(now).and_then(|lane| self.pop_head(lane));
        head.or_else(|| self.pop_by_turns(now))
    }

    fn pop_head(&mut self, lane: Lane) -> Option<Queued> {
        let mut queued = self.held.get_mut(&lane)?.pop_front()?;
        self.restored.remove(&lane);
        self.number(&mut queued);
        Some(queued)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settled;
    use super::super::tests::{NO_MARK, parse, show};
    use super::*;
    use std::time::Duration;

    /// `p` takes the next event, which is shown, and `s` settles it, `f` fails it, `l` has it come again later without an attempt; `h` holds what has failed
    /// for a second, `r` no longer, and `.` lets a second pass. Everything else is an event.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let (mut queue, mut now) = (EventQueue::new(NO_MARK), Instant::now());
        let second = Duration::from_secs(1);
        let mut shown = Vec::new();
        for step in steps.split(' ') {
            match step {
                "p" => {
                    let is_due = queue.next_due(now).is_some_and(|due| due <= now);
                    let popped = queue.pop(now);
                    assert!(is_due || popped.is_none(), "whoever waits would not have looked");
                    shown.push(popped.map_or("-".to_owned(), |queued| show(&queued)));
                }
                "s" => queue.settle(Settled::Finished, now),
                "f" => queue.settle(Settled::RetryAt(now), now),
                "l" => queue.settle(Settled::NotCalled(now + second), now),
                "h" => queue.hold_retries(Some(now + second)),
                "r" => queue.hold_retries(None),
                "." => now += second,
                _ => queue.push(parse(step)),
            }
            queue.check_invariants();
        }
        assert_eq!(shown.join(" "), expect, "{steps}");
    }

    #[test]
    fn retries_and_other_events_take_turns() {
        check("+a1 +b1 +c1 +d1 p f p f p f p", "+a1 +a1#2 +b1 +a1#3");
        check("+a1 p f p f p f p", "+a1 +a1#2 +a1#3 +a1#4");
    }

    #[test]
    fn what_has_failed_is_held_and_nothing_else() {
        check("+a1 p f h +b1 ~a2 p s p . p s p", "+a1 +b1 - +a1#2 ~a2");
        check("+a1 p f h p r p s p", "+a1 - +a1#2 -");
        check("+a1 p f ~a2 p h s p s p", "+a1 +a1#2 ~a2 -");
    }

    #[test]
    fn an_event_that_was_not_tried_has_not_failed() {
        check("+a1 p l h p . p s p", "+a1 - +a1 -");
    }
}
