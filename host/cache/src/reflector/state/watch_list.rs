//! The machine while a watch-list runs: all objects on a watch, then a bookmark that says so.

use super::{
    Action, Input, Machine, Next, RelistCause, State, WATCH_LIST_FAILURES_MAX, WATCH_LIST_MAX,
    WATCH_LIST_PROBE_AFTER, WATCH_TIMEOUT_GRACE, WatchList,
};
use crate::list_watch::ListWatchError;
use std::time::Instant;

impl Machine {
    pub(super) fn watch_listing(
        mut self,
        opened: bool,
        cause: RelistCause,
        give_up: Instant,
        input: Input<'_>,
        now: Instant,
    ) -> (Self, Action) {
        let stay = State::WatchListing { opened: true, cause, give_up, heard: now };
        match input {
            Input::Opened => {
                // Only now: the request may have waited for its turn.
                let give_up = now + WATCH_LIST_MAX;
                self.state = State::WatchListing { opened: true, cause, give_up, heard: now };
                let consistent = self.is_consistent();
                (self, Action::Begin { consistent, cause })
            }
            Input::Event { .. } => {
                self.state = stay;
                (self, Action::Enqueue)
            }
            Input::Bookmark { resource_version, initial_events_end: true } => {
                self.synced(resource_version, now);
                self.watch_list = WatchList::Usable { failures: 0 };
                self.state = State::Watching {
                    opened: true,
                    since: now,
                    until: now + self.tweaks.watch_timeout().1 + WATCH_TIMEOUT_GRACE,
                    heard: now,
                    events: true,
                };
                (self, Action::End { resource_version: resource_version.into() })
            }
            Input::Bookmark { initial_events_end: false, .. }
            | Input::Malformed
            | Input::PageEnd { .. }
            | Input::Elapsed => {
                self.state = stay;
                (self, Action::Read)
            }
            Input::Ended => {
                self.watch_list_failed(now);
                self.paged_list(cause, now)
            }
            // A server that does not answer at all says nothing about watch-lists.
            Input::Deadline if !opened => self.wait(Next::List(cause), None, now),
            Input::Deadline => {
                self.watch_list_unusable(now);
                self.paged_list(cause, now)
            }
            Input::Failed(error) => self.watch_list_refused(cause, error, now),
        }
    }

    fn watch_list_refused(
        mut self,
        cause: RelistCause,
        error: &ListWatchError,
        now: Instant,
    ) -> (Self, Action) {
        match error {
            ListWatchError::BadRequest { .. } => {
                self.watch_list_unusable(now);
                self.paged_list(cause, now)
            }
            // The permission to list does not always come with the one to watch.
            ListWatchError::Forbidden { .. } => self.paged_list(cause, now),
            ListWatchError::Expired { .. } | ListWatchError::TooLargeResourceVersion { .. } => {
                self.list_consistently(cause, now)
            }
            ListWatchError::TooManyRequests { retry_after, .. } => {
                self.wait_patiently(Next::List(cause), cause, *retry_after, now)
            }
            ListWatchError::Unauthorized { .. } | ListWatchError::NotFound { .. } => {
                self.wait_for_access(Next::List(RelistCause::Unavailable), None, now)
            }
            ListWatchError::Internal { .. } | ListWatchError::Transient { .. } => {
                self.wait(Next::List(cause), None, now)
            }
        }
    }

    fn watch_list_failed(&mut self, now: Instant) {
        match self.watch_list {
            WatchList::Usable { failures } if failures + 1 < WATCH_LIST_FAILURES_MAX => {
                self.watch_list = WatchList::Usable { failures: failures + 1 };
            }
            WatchList::Usable { .. } | WatchList::Unusable { .. } => self.watch_list_unusable(now),
        }
    }

    fn watch_list_unusable(&mut self, now: Instant) {
        self.watch_list = WatchList::Unusable { until: now + WATCH_LIST_PROBE_AFTER };
    }

    /// At once the first time, as client-go does; a consistent read that is refused as well must wait.
    pub(super) fn list_consistently(mut self, cause: RelistCause, now: Instant) -> (Self, Action) {
        if self.is_consistent() {
            return self.wait(Next::List(cause), None, now);
        }
        self.consistent = true;
        self.list(cause, now)
    }
}
