//! The machine while pages are read.

use super::{Action, EXPIRED_PAGES_MAX, Input, Machine, Next, Page, RelistCause, Request, State};
use crate::list_watch::{ListOptions, ListWatchError};
use std::time::Instant;

impl Machine {
    pub(super) fn paged_list(self, cause: RelistCause, now: Instant) -> (Self, Action) {
        let limit = self.tweaks.page_objects();
        self.list_from_first_page(cause, limit, now)
    }

    /// A `limit` of 0 is no limit: one page with everything.
    fn list_from_first_page(self, cause: RelistCause, limit: u32, now: Instant) -> (Self, Action) {
        let parameters = self.tweaks.parameters();
        let metadata_only = self.tweaks.asks_for_metadata_only();
        // Invariant 8.
        let options = ListOptions { limit, metadata_only, parameters, ..ListOptions::default() };
        self.page(Page { options, begun: false, cause, whole: true }, now)
    }

    pub(super) fn page(mut self, page: Page, now: Instant) -> (Self, Action) {
        let options = page.options.clone();
        self.state = State::Listing { page, since: now, heard: now };
        (self, Action::Open(Request::List(options)))
    }

    pub(super) fn listing(
        mut self,
        mut page: Page,
        since: Instant,
        input: Input<'_>,
        now: Instant,
    ) -> (Self, Action) {
        match input {
            Input::Opened => {
                let (begun, cause) = (page.begun, page.cause);
                page.begun = true;
                // Only now: the request may have waited for its turn.
                self.state = State::Listing { page, since: now, heard: now };
                let action = if begun { Action::Read } else { self.begin(cause) };
                (self, action)
            }
            Input::Event { object, gone } => {
                self.history.note(object, gone);
                self.state = State::Listing { page, since, heard: now };
                (self, Action::Enqueue)
            }
            Input::Malformed { known, message } => {
                self.unreadable(message);
                page.whole &= !known;
                self.state = State::Listing { page, since, heard: now };
                (self, Action::Read)
            }
            Input::Bookmark { .. } | Input::Elapsed | Input::Served(_) => {
                self.state = State::Listing { page, since, heard: now };
                (self, Action::Read)
            }
            Input::PageEnd { continue_token: Some(token), .. } => {
                page.options.continue_token = Some(token.into());
                self.page(page, now)
            }
            Input::PageEnd { resource_version, continue_token: None } => {
                self.state = State::Listed;
                let end = self.end(resource_version, page.whole, now);
                (self, end)
            }
            Input::Ended => {
                self.incomplete("list ended before it was complete", now);
                let next = self.after_failed_list(&page, now);
                self.wait(next, None, now)
            }
            Input::Deadline => {
                self.silent("list was silent, or trickled, for too long");
                let next = self.after_failed_list(&page, now);
                self.wait(next, None, now)
            }
            Input::Failed(error) => self.page_failed(page, error, now),
        }
    }

    fn page_failed(mut self, page: Page, error: &ListWatchError, now: Instant) -> (Self, Action) {
        self.failure = Some(error.clone());
        let cause = page.cause;
        match error {
            // client-go's pager falls back to one full list as well.
            ListWatchError::Expired { .. } if page.options.continue_token.is_some() => {
                self.expired_pages += 1;
                // Something of it was shown, so that only a list can follow, whatever comes of the next.
                let cause = RelistCause::Interrupted;
                if self.expired_pages < EXPIRED_PAGES_MAX {
                    self.paged_list(cause, now)
                } else {
                    self.list_from_first_page(cause, 0, now)
                }
            }
            ListWatchError::TooManyRequests { retry_after, .. } => {
                self.wait_patiently(Next::Page(page), cause, *retry_after, now)
            }
            ListWatchError::NotFound { .. } => {
                self.doubt.outage();
                self.not_found(Next::List(RelistCause::Unavailable), now)
            }
            ListWatchError::Forbidden { .. } | ListWatchError::Unauthorized { .. } => {
                let next = match self.after_failed_list(&page, now) {
                    Next::List(_) => Next::List(RelistCause::Unavailable),
                    other => other,
                };
                self.wait_for_access(next, None, now)
            }
            // A first page cannot be too old or too new: it is a consistent read.
            ListWatchError::Expired { .. }
            | ListWatchError::TooLargeResourceVersion { .. }
            | ListWatchError::BadRequest { .. }
            | ListWatchError::Internal { .. }
            | ListWatchError::Unreadable { .. }
            | ListWatchError::Incomplete { .. }
            | ListWatchError::Silent { .. }
            | ListWatchError::Rewound { .. }
            | ListWatchError::Unreachable { .. }
            | ListWatchError::Transient { .. } => {
                self.doubt.outage();
                let next = self.after_failed_list(&page, now);
                self.wait(next, None, now)
            }
        }
    }

    /// Another list. Where this one stood in for a watch and has not begun, what a watch has reached is still good: most probably the
    /// next answer is one to a watch.
    fn after_failed_list(&mut self, page: &Page, now: Instant) -> Next {
        match (page.begun, page.cause) {
            (true, _) => Next::List(RelistCause::Interrupted),
            (false, RelistCause::Unwatched) => {
                self.unwatched_since = Some(now);
                Next::Watch
            }
            (false, cause) => Next::List(cause),
        }
    }
}
