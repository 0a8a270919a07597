//! The same queue for a caller with its own task and clock: it never waits or locks, and the time is a parameter.

use super::AddOptions;
use super::WorkQueueOptions;
use super::lanes::Lane;
use super::state::{Leftover, Look, QueuePhase, WorkQueueState};
use std::hash::Hash;
use std::time::Instant;

/// How many delayed keys whose time has come a take moves: its caller holds a lock meanwhile.
const RIPENED_MAX: usize = 128;

/// Keys for one worker that is called when there is work. It has the bound of a [`WorkQueue`](super::WorkQueue).
pub struct PolledWorkQueue<K> {
    state: WorkQueueState<K>,
}

impl<K> std::fmt::Debug for PolledWorkQueue<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PolledWorkQueue")
    }
}

impl<K: Hash + Eq + Clone> PolledWorkQueue<K> {
    /// An empty queue.
    pub fn new(options: WorkQueueOptions<K>) -> Self {
        Self { state: WorkQueueState::new(options.rate_limiter, options.lanes) }
    }

    /// As [`WorkQueue::add_with`](super::WorkQueue::add_with).
    pub fn add_with(&mut self, key: K, options: AddOptions, now: Instant) {
        self.state.add(key, options, now);
    }

    /// The next key that can be handed out at `now`. It is in work until [`done`](Self::done).
    pub fn take(&mut self, now: Instant) -> Option<(K, Lane)> {
        match self.state.look_some(RIPENED_MAX, now) {
            Look::Taken(key, lane) => Some((key, lane)),
            Look::ShutDown | Look::Nothing { .. } => None,
        }
    }

    /// As [`WorkQueue::done`](super::WorkQueue::done).
    pub fn done(&mut self, key: &K, now: Instant) {
        self.state.done(key, now);
    }

    /// As [`WorkQueue::forget`](super::WorkQueue::forget).
    pub fn forget(&mut self, key: &K) {
        self.state.limiter.forget(key);
    }

    /// As [`WorkQueue::num_requeues`](super::WorkQueue::num_requeues).
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.state.limiter.num_requeues(key)
    }

    /// Whether the key is known: it waits, is delayed or is in work, or its failures count.
    pub fn contains(&self, key: &K) -> bool {
        self.state.contains(key) || self.num_requeues(key) > 0
    }

    /// When a key can be handed out: `now` if one can be, `None` if none waits.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        if self.state.queue.waiting() > 0 { Some(now) } else { self.state.due() }
    }

    /// Moves delayed keys whose time has come to the keys that can be handed out, at most `most`. Returns whether there
    /// may be more. [`take`](Self::take) moves a few, and every other call all of them, which may take long.
    pub fn ripen(&mut self, most: usize, now: Instant) -> bool {
        self.state.ripen_some(most, now) == most
    }

    /// The number of keys that could be handed out at `now`.
    pub fn len(&mut self, now: Instant) -> usize {
        self.state.ripen(now);
        self.state.queue.waiting()
    }

    /// The number of delayed keys, as of the last call with a time.
    pub fn delayed(&self) -> usize {
        self.state.delayed()
    }

    /// Whether the key is present and not delayed, as of the last call with a time: it could be handed out, or is in
    /// work.
    pub fn is_due(&self, key: &K) -> bool {
        self.state.queue.contains(key)
    }

    /// Ends the queue and takes the keys that it did not hand out, for another queue.
    pub fn into_leftovers(mut self, now: Instant) -> Vec<Leftover<K>> {
        self.state.phase = QueuePhase::ShutDown;
        self.state.take_leftovers(now)
    }

    /// Since when the first key of the lanes waits; `None` if none could be handed out.
    pub fn oldest(&self) -> Option<Instant> {
        self.state.queue.oldest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Checks a row of steps: `a+` adds a key, `a+5` adds it after 5 ms, `a!` adds it rate-limited, `a.` is done with
    /// it, and `a~` forgets it. `*` takes the next one, and `9` lets as many ms pass. `?` shows how many wait, how
    /// many are delayed and when one is due.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let mut queue = PolledWorkQueue::<char>::new(WorkQueueOptions::default());
        let begin = Instant::now();
        let mut now = begin;
        let mut shown = Vec::new();
        for step in steps.split(' ') {
            let (first, rest) = step.split_at(1);
            let key = first.chars().next().expect("one");
            match (first, rest.split_at_checked(1)) {
                ("*", _) => {
                    let taken = queue.take(now).map(|(key, _)| key);
                    shown.push(taken.map_or("-".to_owned(), String::from));
                }
                ("?", _) => {
                    let due = queue.due(now).map(|due| (due - begin).as_millis());
                    let (len, delayed) = (queue.len(now), queue.delayed());
                    shown.push(format!("{len}/{delayed}@{due:?}"));
                }
                (_, Some(("+", after))) => {
                    let after = Duration::from_millis(after.parse().unwrap_or_default());
                    queue.add_with(key, AddOptions { after, ..AddOptions::default() }, now);
                }
                (_, Some(("!", _))) => {
                    let options = AddOptions { rate_limited: true, ..AddOptions::default() };
                    queue.add_with(key, options, now);
                }
                (_, Some((".", _))) => queue.done(&key, now),
                (_, Some(("~", _))) => queue.forget(&key),
                _ => now += Duration::from_millis(step.parse().expect("a time")),
            }
        }
        assert_eq!(shown.join(" "), expect, "{steps}");
    }

    #[test]
    fn keys_come_in_order_and_not_while_they_are_worked_on() {
        check("a+ b+ a+ * * *", "a b -");
        check("a+ * a+ * a. * a. *", "a - a -");
    }

    #[test]
    fn it_says_when_a_key_is_due() {
        check("?", "0/0@None");
        check("a+7 ? 6 ? * 1 ? *", "0/1@Some(7) 0/1@Some(7) - 1/0@Some(7) a");
        check("a! a! ? 5 ? *", "0/1@Some(5) 1/0@Some(5) a");
    }

    #[test]
    fn what_was_not_handed_out_is_left_over_with_its_time() {
        let mut queue = PolledWorkQueue::new(WorkQueueOptions::default());
        let now = Instant::now();
        let after = Duration::from_millis(7);
        queue.add_with('a', AddOptions { after, ..AddOptions::default() }, now);
        for key in ['b', 'c'] {
            queue.add_with(key, AddOptions::default(), now);
        }
        assert_eq!(queue.take(now), Some(('b', Lane::Live)));
        let left = queue.into_leftovers(now).into_iter().map(|left| (left.key, left.ready_at));
        assert_eq!(left.collect::<Vec<_>>(), [('c', None), ('a', Some(now + after))]);
    }

    #[test]
    fn what_is_kept_of_a_key_is_known() {
        let mut queue = PolledWorkQueue::new(WorkQueueOptions::default());
        let now = Instant::now();
        let limited = AddOptions { rate_limited: true, ..AddOptions::default() };
        assert!(!queue.contains(&'a'));
        queue.add_with('a', limited, now);
        assert!(queue.contains(&'a') && !queue.is_due(&'a'), "it is delayed");
        let later = now + Duration::from_secs(1);
        assert_eq!(queue.len(later), 1);
        assert_eq!(queue.oldest(), Some(later));
        assert!(queue.is_due(&'a'), "it could be handed out");
        assert_eq!(queue.take(later), Some(('a', Lane::Live)));
        assert!(queue.is_due(&'a'), "it is being worked on");
        queue.done(&'a', later);
        assert!(queue.contains(&'a') && !queue.is_due(&'a'), "its failure counts");
        queue.forget(&'a');
        assert!(!queue.contains(&'a'));
    }
}
