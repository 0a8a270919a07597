//! The `synced` calls of one instance: the calls made, and the due times of the others. Synchronous.

use crate::delivery::mailbox::{Attempts, Initials, Settled};
use crate::event::SubscriptionId;
use std::collections::BTreeMap;
use std::time::Instant;

/// The `synced` calls for a version, one for each subscription and instance. Empty for a version without the function.
#[derive(Debug, Default)]
pub(crate) struct SyncCalls {
    /// The load of the version.
    load: u64,
    calls: BTreeMap<SubscriptionId, Call>,
}

#[derive(Debug)]
struct Call {
    tried: Attempts,
    state: CallState,
    /// The error of the last call, if that failed.
    failure: Option<Box<str>>,
}

/// A due call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SyncCall {
    pub(crate) due: Instant,
    pub(crate) id: SubscriptionId,
    pub(crate) tried: Attempts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    /// To be made once the initial objects are settled.
    Due,
    /// The call failed, and comes again then.
    Again(Instant),
    /// This instance has had the call.
    Told,
    /// No instance of the version gets the call again.
    GivenUp,
}

impl SyncCalls {
    /// The calls for the subscriptions of a version.
    pub(crate) fn new(load: u64, subscriptions: impl Iterator<Item = SubscriptionId>) -> Self {
        let call = || Call { tried: Attempts::NONE, state: CallState::Due, failure: None };
        Self { load, calls: subscriptions.map(|id| (id, call())).collect() }
    }

    /// Another instance of the same version runs, and has had no call.
    pub(crate) fn restart(&mut self) {
        for call in self.calls.values_mut().filter(|call| call.state == CallState::Told) {
            let tried = Attempts { crashes: call.tried.crashes, ..Attempts::NONE };
            *call = Call { state: CallState::Due, tried, failure: None };
        }
    }

    /// The errors of failed calls that no later call has replaced.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &str> {
        self.calls.values().filter_map(|call| call.failure.as_deref())
    }

    /// The next due call.
    pub(crate) fn next(&self, initials: &Initials, now: Instant) -> Option<SyncCall> {
        let due = |(id, call): (&SubscriptionId, &Call)| {
            let due = match call.state {
                CallState::Due => now,
                CallState::Again(at) => at,
                CallState::Told | CallState::GivenUp => return None,
            };
            Some(SyncCall { due, id: *id, tried: call.tried })
        };
        let through = |id: SubscriptionId| initials.are_told(id, self.load);
        self.calls.iter().filter_map(due).filter(|call| through(call.id)).min()
    }

    /// Notes the end of a call, with its error if it failed.
    pub(crate) fn settle(&mut self, id: SubscriptionId, settled: Settled, failure: Option<&str>) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.failure = failure.map(Into::into);
        if let Some(again) = settled.again() {
            call.tried = call.tried.after(&again);
            call.state = CallState::Again(again.at);
        } else {
            let is_told = settled == Settled::Finished;
            call.state = if is_told { CallState::Told } else { CallState::GivenUp };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Steps for the calls of two subscriptions; the initial objects of the first are settled. `t`: the call succeeds.
    /// `f`: it fails. `g`: it is given up. `c`: it ends the instance. `h`: it fails in an attempt that does not count.
    /// `r`: another instance runs. `s`: the second subscription is settled. Shows the next call after each step: its
    /// subscription, its time in ms, and, if there are any, the attempts that count and the ended instances.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let ids = [SubscriptionId(1), SubscriptionId(2)];
        let mut calls = SyncCalls::new(7, ids.into_iter());
        let mut initials = Initials::default();
        initials.put_in_place(7);
        for id in ids {
            initials.begin(id, 7);
        }
        initials.queued(ids[0], 7);
        let now = Instant::now();
        let again = now + Duration::from_millis(5);
        let mut shown = Vec::new();
        for step in steps.chars() {
            match step {
                't' => calls.settle(ids[0], Settled::Finished, None),
                'f' => calls.settle(ids[0], Settled::RetryAt(again), None),
                'g' => calls.settle(ids[0], Settled::GivenUp, None),
                'c' => calls.settle(ids[0], Settled::CrashedRetryAt(again), None),
                'h' => calls.settle(ids[0], Settled::ExcusedRetryAt(again), None),
                'r' => calls.restart(),
                's' => initials.queued(ids[1], 7),
                other => panic!("no such step: {other}"),
            }
            let next = calls.next(&initials, now);
            shown.push(next.map_or("-".to_owned(), |SyncCall { due, id, tried }| {
                let of = match (tried.counted(), tried.crashes) {
                    (1, 0) => String::new(),
                    (counted, crashes) => format!("#{counted}{}", "c".repeat(crashes as usize)),
                };
                format!("{}@{}{of}", id.0, (due - now).as_millis())
            }));
        }
        assert_eq!(shown.join(" "), expect, "{steps}");
    }

    #[test]
    fn each_instance_is_told_once_of_each() {
        check("tst", "- 2@0 2@0");
        check("trst", "- 1@0 1@0 2@0");
    }

    #[test]
    fn a_failure_brings_it_again_until_it_is_given_up() {
        check("ft", "1@5#2 -");
        check("gr", "- -");
        check("fffgr", "1@5#2 1@5#3 1@5#4 - -");
        check("frt", "1@5#2 1@5#2 -");
    }

    #[test]
    fn the_instances_that_it_has_ended_are_counted_beyond_those_that_were_told() {
        check("crcr", "1@5#2c 1@5#2c 1@5#3cc 1@5#3cc");
        check("ctrc", "1@5#2c - 1@0#1c 1@5#2cc");
    }

    #[test]
    fn an_attempt_that_is_excused_does_not_count() {
        check("hhft", "1@5 1@5 1@5#2 -");
    }
}
