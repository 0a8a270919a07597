//! Misbehaviour on demand: what tests make the server do to its clients.

use std::time::Duration;

use informant_apimachinery::Status;
use parking_lot::Mutex;

/// The faults in force. Shared with the server; everything takes effect with the next request.
#[derive(Debug, Default)]
pub struct Faults {
    plan: Mutex<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    delay: Duration,
    failures: Vec<Failure>,
}

#[derive(Debug)]
struct Failure {
    /// How many more requests it meets.
    left: usize,
    /// Only requests whose method, path and query contain this.
    matching: String,
    status: Status,
}

impl Faults {
    /// Every request waits this long before it is looked at.
    pub fn delay(&self, delay: Duration) {
        self.plan.lock().delay = delay;
    }

    /// The next `count` requests whose `METHOD /path?query` contains `matching` are answered with `status`.
    /// `continue=` meets second pages, `sendInitialEvents` watch-lists, the empty text everything.
    pub fn fail_next(&self, count: usize, matching: impl Into<String>, status: Status) {
        if count == 0 {
            return;
        }
        let failure = Failure { left: count, matching: matching.into(), status };
        self.plan.lock().failures.push(failure);
    }

    /// Ends all faults.
    pub fn clear(&self) {
        *self.plan.lock() = Plan::default();
    }

    /// What is to happen to a request: a delay, then perhaps a failure.
    pub(crate) fn meet(&self, request: &str) -> (Duration, Option<Status>) {
        let mut plan = self.plan.lock();
        let met = plan.failures.iter_mut().find(|failure| request.contains(&failure.matching));
        let status = met.map(|failure| {
            failure.left -= 1;
            failure.status.clone()
        });
        plan.failures.retain(|failure| failure.left > 0);
        (plan.delay, status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(faults: &Faults, request: &str, code: Option<u16>) {
        assert_eq!(faults.meet(request).1.map(|status| status.code), code, "{request}");
    }

    #[test]
    fn failures_meet_what_they_match_and_no_more_than_they_should() {
        let faults = Faults::default();
        faults.fail_next(2, "continue=", Status::service_unavailable("planned"));
        faults.fail_next(0, "", Status::internal_error("never"));
        check(&faults, "GET /api/v1/pods?limit=1", None);
        check(&faults, "GET /api/v1/pods?limit=1&continue=x", Some(503));
        check(&faults, "GET /api/v1/pods?limit=1&continue=x", Some(503));
        check(&faults, "GET /api/v1/pods?limit=1&continue=x", None);
    }
}
