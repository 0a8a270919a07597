//! The machine while pages are read.

use super::{
    EXPIRED_PAGES_MAX, ListPage, Machine, Next, ReflectorAction, ReflectorInput, ReflectorRequest,
    ReflectorState, RelistCause,
};
use crate::list_watch::{ListOptions, ListWatchError, PageTrail};
use std::time::Instant;

impl Machine {
    pub(super) fn paged_list(self, cause: RelistCause, now: Instant) -> (Self, ReflectorAction) {
        let limit = self.tweaks.page_objects();
        self.list_from_first_page(cause, limit, now)
    }

    /// A `limit` of 0 is no limit: one page with everything.
    fn list_from_first_page(
        self,
        cause: RelistCause,
        limit: u32,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        let parameters = self.tweaks.parameters();
        // Invariant 8.
        let options = ListOptions { limit, parameters, ..ListOptions::default() };
        let trail = PageTrail::default();
        let page = ListPage { options, begun: false, cause, whole: true, trail };
        self.page(page, now)
    }

    pub(super) fn page(mut self, page: ListPage, now: Instant) -> (Self, ReflectorAction) {
        let options = page.options.clone();
        self.state = ReflectorState::Listing { page, since: now, heard: now };
        (self, ReflectorAction::Open(ReflectorRequest::List(options)))
    }

    pub(super) fn listing(
        mut self,
        mut page: ListPage,
        since: Instant,
        input: ReflectorInput<'_>,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        match input {
            ReflectorInput::Opened => {
                let (begun, cause) = (page.begun, page.cause);
                page.begun = true;
                // Only now: the request may have waited for its turn.
                self.state = ReflectorState::Listing { page, since: now, heard: now };
                let action = if begun { ReflectorAction::Read } else { self.begin(cause) };
                (self, action)
            }
            ReflectorInput::Event { object, gone } => {
                self.history.note(object, gone);
                self.state = ReflectorState::Listing { page, since, heard: now };
                (self, ReflectorAction::Enqueue)
            }
            ReflectorInput::Malformed { known, message } => {
                self.unreadable(message);
                page.whole &= !known;
                self.state = ReflectorState::Listing { page, since, heard: now };
                (self, ReflectorAction::Read)
            }
            ReflectorInput::Bookmark { .. }
            | ReflectorInput::Elapsed
            | ReflectorInput::DefinitionTold
            | ReflectorInput::Served(_) => {
                self.state = ReflectorState::Listing { page, since, heard: now };
                (self, ReflectorAction::Read)
            }
            ReflectorInput::PageEnd { continue_token: Some(token), .. } => {
                if page.trail.leads_back(token) {
                    let message = "the list's pages lead back to one of them".to_owned();
                    return self.page_failed(page, &ListWatchError::Unreadable { message }, now);
                }
                page.options.continue_token = Some(token.into());
                self.page(page, now)
            }
            ReflectorInput::PageEnd { resource_version, continue_token: None } => {
                self.state = ReflectorState::Listed;
                let end = self.end(resource_version, page.whole, now);
                (self, end)
            }
            ReflectorInput::Ended => {
                self.incomplete("list ended before it was complete", now);
                let next = self.after_failed_list(&page, now);
                self.wait(next, None, now)
            }
            ReflectorInput::Deadline => {
                self.silent("list was silent, or trickled, for too long");
                let next = self.after_failed_list(&page, now);
                self.wait(next, None, now)
            }
            ReflectorInput::Failed(error) => self.page_failed(page, error, now),
        }
    }

    fn page_failed(
        mut self,
        page: ListPage,
        error: &ListWatchError,
        now: Instant,
    ) -> (Self, ReflectorAction) {
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
    fn after_failed_list(&mut self, page: &ListPage, now: Instant) -> Next {
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
