//! The machine between two requests.

use super::{Action, Input, Machine, Next, RETRY_AFTER_MAX, RelistCause, State};
use std::time::{Duration, Instant};

impl Machine {
    pub(super) fn wait(
        mut self,
        next: Next,
        at_least: Option<Duration>,
        now: Instant,
    ) -> (Self, Action) {
        let at_least = at_least.map(|asked| asked.min(RETRY_AFTER_MAX));
        let wait = self.backoff.failed(now, at_least);
        self.state = State::BackingOff { next };
        (self, Action::Wait(wait))
    }

    /// The server asks for patience. Where the resource was missing, it is often only being set up.
    pub(super) fn wait_patiently(
        self,
        next: Next,
        cause: RelistCause,
        at_least: Option<Duration>,
        now: Instant,
    ) -> (Self, Action) {
        if cause == RelistCause::Unavailable {
            self.wait_for_access(next, at_least, now)
        } else {
            self.wait(next, at_least, now)
        }
    }

    pub(super) fn backing_off(
        mut self,
        next: Next,
        input: Input<'_>,
        now: Instant,
    ) -> (Self, Action) {
        match input {
            Input::Elapsed => match next {
                Next::List(cause) => self.list(cause, now),
                Next::Page(page) => self.page(page, now),
                Next::Watch => self.watch(now),
            },
            Input::Opened
            | Input::Event { .. }
            | Input::Bookmark { .. }
            | Input::Malformed { .. }
            | Input::PageEnd { .. }
            | Input::Ended
            | Input::Failed(_)
            | Input::Deadline
            | Input::Served(_) => {
                self.state = State::BackingOff { next };
                (self, Action::Read)
            }
        }
    }
}
