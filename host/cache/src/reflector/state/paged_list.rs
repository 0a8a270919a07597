//! The machine while pages are read.

use super::{Action, EXPIRED_PAGES_MAX, Input, Machine, Next, RelistCause, State};
use crate::list_watch::{ListOptions, ListWatchError};
use std::time::Instant;

impl Machine {
    pub(super) fn listing(
        mut self,
        page: ListOptions,
        first: bool,
        cause: RelistCause,
        input: Input<'_>,
        now: Instant,
    ) -> (Self, Action) {
        match input {
            Input::Opened => {
                let consistent = self.is_consistent();
                self.state = State::Listing { page, first, cause, heard: now };
                let begin = Action::Begin { consistent, cause };
                (self, if first { begin } else { Action::Read })
            }
            Input::Event { .. } => {
                self.state = State::Listing { page, first, cause, heard: now };
                (self, Action::Enqueue)
            }
            Input::Malformed | Input::Bookmark { .. } | Input::Elapsed => {
                self.state = State::Listing { page, first, cause, heard: now };
                (self, Action::Read)
            }
            Input::PageEnd { continue_token: Some(token), .. } => {
                let continue_token = Some(token.into());
                let next = ListOptions { not_older_than: None, continue_token, ..page };
                self.page(next, false, cause, now)
            }
            Input::PageEnd { resource_version, continue_token: None } => {
                self.synced(resource_version, now);
                self.state = State::Listed;
                (self, Action::End { resource_version: resource_version.into() })
            }
            Input::Ended => self.wait(Next::List(RelistCause::Interrupted), None, now),
            Input::Deadline => self.wait(Next::List(RelistCause::Interrupted), None, now),
            Input::Failed(error) => self.page_failed(page, first, cause, error, now),
        }
    }

    fn page_failed(
        mut self,
        page: ListOptions,
        first: bool,
        cause: RelistCause,
        error: &ListWatchError,
        now: Instant,
    ) -> (Self, Action) {
        match error {
            // client-go's pager falls back to one full list as well.
            ListWatchError::Expired { .. } if page.continue_token.is_some() => {
                self.expired_pages += 1;
                if self.expired_pages < EXPIRED_PAGES_MAX {
                    self.paged_list(cause, now)
                } else {
                    self.list_from_first_page(cause, 0, now)
                }
            }
            ListWatchError::Expired { .. } | ListWatchError::TooLargeResourceVersion { .. } => {
                self.list_consistently(cause, now)
            }
            ListWatchError::TooManyRequests { retry_after, .. } => {
                self.wait_patiently(Next::Page { page, first, cause }, cause, *retry_after, now)
            }
            ListWatchError::Forbidden { .. }
            | ListWatchError::Unauthorized { .. }
            | ListWatchError::NotFound { .. } => {
                self.wait_for_access(Next::List(RelistCause::Unavailable), None, now)
            }
            ListWatchError::BadRequest { .. }
            | ListWatchError::Internal { .. }
            | ListWatchError::Transient { .. } => {
                let cause = if first { cause } else { RelistCause::Interrupted };
                self.wait(Next::List(cause), None, now)
            }
        }
    }
}
