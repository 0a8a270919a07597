//! The machine while changes are watched, and while it waits to do something again.

use super::{
    Action, Input, Machine, Next, RELIST_SOON, RelistCause, State, TOO_LARGE_MAX, VERY_SHORT_WATCH,
};
use crate::list_watch::ListWatchError;
use crate::object::compare_resource_versions;
use std::cmp::Ordering;
use std::time::Instant;

/// What `State::Watching` says.
pub(super) struct Watch {
    pub(super) opened: bool,
    pub(super) since: Instant,
    pub(super) until: Instant,
    pub(super) events: bool,
}

impl Watch {
    fn heard(self, now: Instant) -> State {
        let Self { since, until, events, .. } = self;
        State::Watching { opened: true, since, until, heard: now, events }
    }
}

impl Machine {
    pub(super) fn watching(
        mut self,
        watch: Watch,
        input: Input<'_>,
        now: Instant,
    ) -> (Self, Action) {
        match input {
            Input::Opened => {
                self.backoff.succeeded(now);
                self.state = watch.heard(now);
                (self, Action::Read)
            }
            Input::Event { resource_version } => {
                self.advance(resource_version);
                self.state = Watch { events: true, ..watch }.heard(now);
                (self, Action::Enqueue)
            }
            Input::Bookmark { resource_version, .. } => {
                self.advance(resource_version);
                self.bookmarks = true;
                self.state = Watch { events: true, ..watch }.heard(now);
                (self, Action::Enqueue)
            }
            Input::Malformed | Input::PageEnd { .. } | Input::Elapsed => {
                self.state = watch.heard(now);
                (self, Action::Read)
            }
            Input::Ended if watch.events || now.duration_since(watch.since) >= VERY_SHORT_WATCH => {
                self.watch(now)
            }
            Input::Ended | Input::Deadline => self.wait(Next::Watch, None, now),
            Input::Failed(error) => self.watch_failed(watch.opened, error, now),
        }
    }

    fn watch_failed(
        mut self,
        opened: bool,
        error: &ListWatchError,
        now: Instant,
    ) -> (Self, Action) {
        match error {
            ListWatchError::Expired { .. } => {
                // An answer, not an outage: only lists in quick succession are slowed down.
                if self.listed.is_none_or(|listed| now.duration_since(listed) >= RELIST_SOON) {
                    self.backoff.reset();
                }
                self.wait(Next::List(RelistCause::Expired), None, now)
            }
            ListWatchError::TooLargeResourceVersion { .. } => {
                self.too_large += 1;
                if self.too_large < TOO_LARGE_MAX {
                    return self.wait(Next::Watch, None, now);
                }
                self.consistent = true;
                self.wait(Next::List(RelistCause::TooLargeResourceVersion), None, now)
            }
            ListWatchError::TooManyRequests { retry_after, .. } => {
                self.wait(Next::Watch, *retry_after, now)
            }
            ListWatchError::Internal { .. } if opened => {
                self.wait(Next::List(RelistCause::ServerError), None, now)
            }
            // What is known stays known: the resourceVersion is still good when access comes back, or
            // the server says that it is not.
            ListWatchError::Forbidden { .. } | ListWatchError::Unauthorized { .. } => {
                self.wait_for_access(Next::Watch, None, now)
            }
            ListWatchError::Internal { .. } | ListWatchError::Transient { .. } => {
                self.wait(Next::Watch, None, now)
            }
            // A resource that comes back is another one: its objects are compared with those known.
            ListWatchError::NotFound { .. } | ListWatchError::BadRequest { .. } => {
                self.wait_for_access(Next::List(RelistCause::Unavailable), None, now)
            }
        }
    }

    /// Never backwards: a lower one would repeat what was told.
    fn advance(&mut self, resource_version: &str) {
        let known = self.resource_version.as_deref().unwrap_or_default();
        if !resource_version.is_empty()
            && compare_resource_versions(resource_version, known) != Some(Ordering::Less)
        {
            self.resource_version = Some(resource_version.into());
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
                Next::Page { page, first, cause } => self.page(page, first, cause, now),
                Next::Watch => self.watch(now),
            },
            Input::Opened
            | Input::Event { .. }
            | Input::Bookmark { .. }
            | Input::Malformed
            | Input::PageEnd { .. }
            | Input::Ended
            | Input::Failed(_)
            | Input::Deadline => {
                self.state = State::BackingOff { next };
                (self, Action::Read)
            }
        }
    }
}
