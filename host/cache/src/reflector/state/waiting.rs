//! The machine between two requests.

use super::{
    Machine, Next, RETRY_AFTER_MAX, ReflectorAction, ReflectorInput, ReflectorState, RelistCause,
};
use std::time::{Duration, Instant};

impl Machine {
    pub(super) fn wait(
        mut self,
        next: Next,
        at_least: Option<Duration>,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        let at_least = at_least.map(|asked| asked.min(RETRY_AFTER_MAX));
        let wait = self.backoff.failed(now, at_least);
        self.state = ReflectorState::BackingOff { next };
        (self, ReflectorAction::Wait(wait))
    }

    /// The server asks for patience. Where the resource was missing, it is often only being set up.
    pub(super) fn wait_patiently(
        self,
        next: Next,
        cause: RelistCause,
        at_least: Option<Duration>,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        if cause == RelistCause::Unavailable {
            self.wait_for_access(next, at_least, now)
        } else {
            self.wait(next, at_least, now)
        }
    }

    pub(super) fn backing_off(
        mut self,
        next: Next,
        input: ReflectorInput<'_>,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        match input {
            ReflectorInput::Elapsed => {}
            // Another replica of the server may take a moment longer to serve it.
            ReflectorInput::DefinitionTold => self.backoff.reset(),
            _ => {
                self.state = ReflectorState::BackingOff { next };
                return (self, ReflectorAction::Read);
            }
        }
        match next {
            Next::List(cause) => self.list(cause, now),
            Next::Page(page) => self.page(page, now),
            Next::Watch => self.watch(now),
        }
    }
}
