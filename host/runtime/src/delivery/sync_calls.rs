//! Which of its subscriptions a running instance has been told to be through, and when it is told of the others. Synchronous.

use crate::call_error::CallError;
use crate::contract::limits::Limits;
use crate::delivery::mailbox::Initials;
use crate::event::SubscriptionId;
use std::collections::BTreeMap;
use std::time::Instant;

/// The calls that a version is to get, one for each subscription and instance. None for a version that does not want to know.
#[derive(Debug, Default)]
pub(crate) struct SyncCalls {
    /// The load of the version.
    load: u64,
    calls: BTreeMap<SubscriptionId, Call>,
}

#[derive(Debug)]
struct Call {
    /// 1 for the first.
    attempt: u32,
    /// How many of the attempts before it do not count.
    excused: u32,
    /// How many instances it has ended in attempts that count.
    crashes: u32,
    state: CallState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    /// To be made once the objects are through.
    Due,
    /// It failed, and comes again.
    Again(Instant),
    /// This instance knows.
    Told,
    /// No instance of the version will know.
    GivenUp,
}

impl SyncCalls {
    /// What a version is to be told of.
    pub(crate) fn new(load: u64, subscriptions: impl Iterator<Item = SubscriptionId>) -> Self {
        let call = || Call { attempt: 1, excused: 0, crashes: 0, state: CallState::Due };
        Self { load, calls: subscriptions.map(|id| (id, call())).collect() }
    }

    /// Another instance of the same version runs, and knows nothing yet.
    pub(crate) fn restart(&mut self) {
        for call in self.calls.values_mut().filter(|call| call.state == CallState::Told) {
            *call = Call { state: CallState::Due, attempt: 1, excused: 0, ..*call };
        }
    }

    /// Whether no call is to be made any more.
    pub(crate) fn are_made(&self) -> bool {
        let is_made = |call: &Call| matches!(call.state, CallState::Told | CallState::GivenUp);
        self.calls.values().all(is_made)
    }

    /// The next call to be made, and when.
    pub(crate) fn next(
        &self,
        initials: &Initials,
        now: Instant,
    ) -> Option<(Instant, SubscriptionId)> {
        let due = |(id, call): (&SubscriptionId, &Call)| match call.state {
            CallState::Due => Some((now, *id)),
            CallState::Again(at) => Some((at, *id)),
            CallState::Told | CallState::GivenUp => None,
        };
        let through = |id: SubscriptionId| initials.are_told(id, self.load);
        self.calls.iter().filter_map(due).filter(|(_, id)| through(*id)).min()
    }

    /// The number of the call's attempt, and how many instances it has ended.
    pub(crate) fn tried(&self, id: SubscriptionId) -> (u32, u32) {
        self.calls.get(&id).map_or((1, 0), |call| (call.attempt, call.crashes))
    }

    /// The instance knows.
    pub(crate) fn told(&mut self, id: SubscriptionId) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.state = CallState::Told;
        }
    }

    /// The call failed, in an attempt that counts unless it is excused, and comes `again` then. Answers whether it is given up, as an event would be.
    pub(crate) fn failed(
        &mut self,
        id: SubscriptionId,
        (error, is_excused): (&CallError, bool),
        again: Instant,
        limits: &Limits,
    ) -> bool {
        let Some(call) = self.calls.get_mut(&id) else { return true };
        call.crashes += u32::from(error.ends_instance() && !is_excused);
        let is_last = call.attempt - call.excused >= limits.attempts_max
            || (error.ends_instance() && call.crashes >= limits.crashes_per_event_max);
        let is_given_up = error.is_lasting(is_excused) || (is_last && !is_excused);
        call.attempt += 1;
        call.excused += u32::from(is_excused);
        call.state = if is_given_up { CallState::GivenUp } else { CallState::Again(again) };
        is_given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_error::Retry;
    use std::time::Duration;

    /// What happens to the calls of two subscriptions, of which the first is through: `t` it is told, `f` it fails, `n` it fails for good,
    /// `c` it ends the instance, `h`, `m` and `x` are `f`, `n` and `c` where something was missing, `r` another instance runs, `s` the second is through. Shows the next call
    /// after each step: its subscription, and in how many ms.
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
        let limits = Limits { attempts_max: 4, crashes_per_event_max: 2, ..Limits::default() };
        let now = Instant::now();
        let mut shown = Vec::new();
        for step in steps.chars() {
            let guest = |retry| CallError::guest("no", retry);
            let error = match step {
                'f' | 'h' => Some(guest(Retry::Backoff)),
                'n' | 'm' => Some(guest(Retry::Never)),
                'c' | 'x' => Some(CallError::Trap("trap".to_owned())),
                _ => None,
            };
            match (step, error) {
                (_, Some(error)) => {
                    let (again, is_excused) =
                        (now + Duration::from_millis(5), "hmx".contains(step));
                    _ = calls.failed(ids[0], (&error, is_excused), again, &limits);
                }
                ('t', _) => calls.told(ids[0]),
                ('r', _) => calls.restart(),
                ('s', _) => initials.queued(ids[1], 7),
                (other, _) => panic!("no such step: {other}"),
            }
            let next = calls.next(&initials, now);
            shown.push(next.map_or("-".to_owned(), |(due, id)| {
                format!("{}@{}", id.0, (due - now).as_millis())
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
        check("ft", "1@5 -");
        check("nr", "- -");
        check("ffffr", "1@5 1@5 1@5 - -");
        check("frt", "1@5 1@5 -");
    }

    #[test]
    fn one_that_ends_instances_is_given_up() {
        check("crcr", "1@5 1@5 - -");
        check("ctrcr", "1@5 - 1@0 - -");
    }

    #[test]
    fn what_fails_because_something_is_missing_is_not_given_up() {
        check("hhhhhhfffft", "1@5 1@5 1@5 1@5 1@5 1@5 1@5 1@5 1@5 - -");
        check("mmnt", "1@5 1@5 - -");
        check("xrxrxrcrct", "1@5 1@5 1@5 1@5 1@5 1@5 1@5 1@5 - -");
    }
}
