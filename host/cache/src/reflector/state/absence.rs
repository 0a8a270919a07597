//! The machine while a resource or the permission to read it is missing: states that heal by themselves.
//!
//! A 404 can come from a proxy or from an aggregated API server that is down, and must not empty the cache. So discovery is
//! asked: only if it answers and does not know the resource are the objects forgotten, with real deletions. What is
//! unclear leaves the cache as it is, and the next try asks again. Without permission (403, 401) the cache is kept as
//! well, and the watch goes on where it was once the permission is back. So it does where only the watch answers 404.

use super::{
    Machine, Next, RETRY_AFTER_MAX, ReflectorAction, ReflectorInput, ReflectorState, RelistCause,
};
use crate::reflector::state::history::History;
use std::time::{Duration, Instant};

/// Somebody is about to create the resource or grant the permission, and looks on: one small refused request.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// After this long nobody looks on any more,
const LONG_MISSING: Duration = Duration::from_secs(300);
/// and this is often enough.
const LONG_MISSING_WAIT_MAX: Duration = Duration::from_secs(30);

impl Machine {
    /// 404 or its like. What was never listed, not even in part, can only be waited for.
    pub(super) fn not_found(mut self, next: Next, now: Instant) -> (Self, ReflectorAction) {
        if !self.begun {
            return self.wait_for_resource(now);
        }
        self.state = ReflectorState::Asking { next };
        (self, ReflectorAction::Discover)
    }

    /// Discovery has answered, or could not.
    pub(super) fn asked(
        mut self,
        next: Next,
        input: ReflectorInput<'_>,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        // Invariant 13.
        if let ReflectorInput::Served(Some(false)) = input {
            self.listed = None;
            self.begun = false;
            self.unwatched_since = None;
            self.resource_version = None;
            self.history = History::Empty;
            self.state = ReflectorState::Forgetting;
            return (self, ReflectorAction::Forget);
        }
        match next {
            Next::Watch => self.wait_for_access(next, None, now),
            Next::List(_) | Next::Page(_) => self.wait_for_resource(now),
        }
    }

    /// A resource that comes back is another one: its objects are listed.
    pub(super) fn wait_for_resource(mut self, now: Instant) -> (Self, ReflectorAction) {
        let told = self.backoff.failed(now, None);
        let untold = told.min(self.wait_max(now));
        self.state = ReflectorState::BackingOff { next: Next::List(RelistCause::Unavailable) };
        (self, ReflectorAction::WaitForResource { told, untold })
    }

    /// The permission is missing; the next try tells when it is there.
    pub(super) fn wait_for_access(
        mut self,
        next: Next,
        at_least: Option<Duration>,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        self.doubt.cut(now);
        let asked = at_least.unwrap_or_default().min(RETRY_AFTER_MAX);
        let wait = self.backoff.failed(now, None).min(self.wait_max(now)).max(asked);
        self.state = ReflectorState::BackingOff { next };
        (self, ReflectorAction::Wait(wait))
    }

    /// The longest pause now, spread so that informers that wait for the same thing do not come all at once.
    fn wait_max(&mut self, now: Instant) -> Duration {
        let since = *self.missing_since.get_or_insert(now);
        let long = now.duration_since(since) >= LONG_MISSING;
        let max = if long { LONG_MISSING_WAIT_MAX } else { WAIT_MAX };
        self.backoff.between(max.mul_f64(0.8), max)
    }
}
