//! What a reflector does next: a pure machine from (state, input, now) to (state, action).
//!
//! Answers to `ListAndWatch` of client-go's `tools/cache/reflector.go`. It differs where that one is known to
//! hurt: a watch-list has a deadline and its failure is remembered; a plain watch that fails is opened again where
//! it was rather than listed anew; health alone resets the backoff. It does no I/O and logs nothing: the driver
//! (`reflector.rs`) carries out each [`Action`] and answers with the next [`Input`].

mod paged_list;
mod watch;
mod watch_list;

use super::backoff::Backoff;
use crate::list_watch::{ListOptions, ListTweaks, ListWatchError, WatchOptions};
use std::time::{Duration, Instant};
use watch::Watch;

/// How much later than its time's end a watch may end.
const WATCH_TIMEOUT_GRACE: Duration = Duration::from_secs(15);
/// Bookmarks come about once a minute; two missing in a row and some slack mean a dead connection.
const BOOKMARK_SILENCE_MAX: Duration = Duration::from_secs(150);
/// The initial events of 165,000 pods took 30 s at the 99th percentile (KEP-3157): beyond twice that, paged
/// lists are tried.
const WATCH_LIST_MAX: Duration = Duration::from_secs(60);
/// Initial events flow; a pause this long means that the end bookmark never comes.
const WATCH_LIST_SILENCE_MAX: Duration = Duration::from_secs(10);
/// Clean ends without an end bookmark before a server is taken for one that cannot do it.
const WATCH_LIST_FAILURES_MAX: u32 = 3;
/// When a server that could not do watch-lists is asked again, at the next list that is due.
const WATCH_LIST_PROBE_AFTER: Duration = Duration::from_secs(1800);
/// A request's head, or a list's next bytes, come within this time.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(60);
/// How long an absent resource or a missing permission is left alone: one small refused request.
const WAIT_FOR_ACCESS_MAX: Duration = Duration::from_secs(5);
/// Lists that follow each other sooner than this help nobody: their pauses grow.
const RELIST_SOON: Duration = Duration::from_secs(10);
/// A watch that ends sooner than this, without an event, was not a watch (client-go's "very short watch").
const VERY_SHORT_WATCH: Duration = Duration::from_secs(1);
/// Continue tokens that expire this often in a row mean that pages are read too slowly: one unpaged list.
const EXPIRED_PAGES_MAX: u32 = 2;
/// Refusals of a resourceVersion as too large before it is given up: the server was set back.
const TOO_LARGE_MAX: u32 = 3;

/// Why the objects are listed anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelistCause {
    /// The first list.
    Start,
    /// 410: the watch's resourceVersion is forgotten.
    Expired,
    /// The server does not know the resourceVersion yet, or was set back.
    TooLargeResourceVersion,
    /// The server failed in the middle of the watch and may have lost changes.
    ServerError,
    /// The resource or the permission was missing.
    Unavailable,
    /// The list before broke off.
    Interrupted,
}

impl RelistCause {
    /// Every cause.
    pub const ALL: [Self; 6] = [
        Self::Start,
        Self::Expired,
        Self::TooLargeResourceVersion,
        Self::ServerError,
        Self::Unavailable,
        Self::Interrupted,
    ];

    /// The word in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Expired => "expired",
            Self::TooLargeResourceVersion => "too_large_resource_version",
            Self::ServerError => "server_error",
            Self::Unavailable => "unavailable",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What the driver carries out; each but `Wait` and `Open` is followed by reading on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Make the request; answer `Opened` or `Failed`.
    Open(Request),
    /// A set of objects begins.
    Begin { consistent: bool, cause: RelistCause },
    /// Queue the event that was just given.
    Enqueue,
    /// The set is complete.
    End { resource_version: Box<str> },
    /// Read on.
    Read,
    /// Drop any stream; answer `Elapsed`.
    Wait(Duration),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    List(ListOptions),
    Watch(WatchOptions),
}

/// What wakes the machine.
#[derive(Clone, Debug)]
pub(super) enum Input<'a> {
    /// The request was accepted.
    Opened,
    /// An object of a list, or a change.
    Event { resource_version: &'a str },
    /// How far the stream has come.
    Bookmark { resource_version: &'a str, initial_events_end: bool },
    /// Something that could not be read went by.
    Malformed,
    /// A page is whole.
    PageEnd { resource_version: &'a str, continue_token: Option<&'a str> },
    /// The stream ended cleanly.
    Ended,
    /// The request or the stream failed.
    Failed(&'a ListWatchError),
    /// `deadline` passed.
    Deadline,
    /// The wait is over.
    Elapsed,
}

/// Where the reflector is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A watch-list: objects, then a bookmark.
    WatchListing { opened: bool, cause: RelistCause, give_up: Instant, heard: Instant },
    /// Pages.
    Listing { page: ListOptions, first: bool, cause: RelistCause, heard: Instant },
    /// The last page is whole; its stream is about to end.
    Listed,
    /// Changes.
    Watching { opened: bool, since: Instant, until: Instant, heard: Instant, events: bool },
    /// Waiting, and what for.
    BackingOff { next: Next },
}

/// What follows a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    List(RelistCause),
    Page { page: ListOptions, first: bool, cause: RelistCause },
    Watch,
}

/// State, and what is remembered across states.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) state: State,
    tweaks: ListTweaks,
    /// The newest resourceVersion up to which everything was seen; none before the first list.
    resource_version: Option<Box<str>>,
    /// The next list is a consistent read: the last resourceVersion was refused.
    consistent: bool,
    /// When the last list was complete.
    listed: Option<Instant>,
    too_large: u32,
    expired_pages: u32,
    watch_list: WatchList,
    /// The server sends bookmarks now and then; so their absence means something.
    bookmarks: bool,
    backoff: Backoff,
}

/// What is known of the server's watch-lists.
#[derive(Clone, Debug, PartialEq, Eq)]
enum WatchList {
    Usable { failures: u32 },
    Unusable { until: Instant },
}

impl Machine {
    /// The machine and its first action.
    pub(super) fn start(tweaks: ListTweaks, seed: u64, now: Instant) -> (Self, Action) {
        let machine = Self {
            state: State::Listed,
            tweaks,
            resource_version: None,
            consistent: false,
            listed: None,
            too_large: 0,
            expired_pages: 0,
            watch_list: WatchList::Usable { failures: 0 },
            bookmarks: false,
            backoff: Backoff::new(seed),
        };
        machine.list(RelistCause::Start, now)
    }

    /// When to give [`Input::Deadline`] if nothing else comes.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::WatchListing { opened: false, heard, .. }
            | State::Listing { heard, .. }
            | State::Watching { opened: false, heard, .. } => Some(*heard + ANSWER_MAX),
            State::WatchListing { give_up, heard, .. } => {
                Some((*heard + WATCH_LIST_SILENCE_MAX).min(*give_up))
            }
            State::Watching { until, heard, .. } => Some(if self.bookmarks {
                (*heard + BOOKMARK_SILENCE_MAX).min(*until)
            } else {
                *until
            }),
            State::Listed | State::BackingOff { .. } => None,
        }
    }

    /// One step.
    pub(super) fn step(mut self, input: Input<'_>, now: Instant) -> (Self, Action) {
        let state = std::mem::replace(&mut self.state, State::Listed);
        match state {
            State::WatchListing { opened, cause, give_up, .. } => {
                self.watch_listing(opened, cause, give_up, input, now)
            }
            State::Listing { page, first, cause, .. } => {
                self.listing(page, first, cause, input, now)
            }
            State::Listed => self.watch(now),
            State::Watching { since, until, events, opened, .. } => {
                self.watching(Watch { opened, since, until, events }, input, now)
            }
            State::BackingOff { next } => self.backing_off(next, input, now),
        }
    }

    /// Lists anew: by watch-list where the server can do it, else in pages.
    fn list(self, cause: RelistCause, now: Instant) -> (Self, Action) {
        match self.watch_list {
            _ if !self.tweaks.tries_watch_lists() => self.paged_list(cause, now),
            WatchList::Usable { .. } => self.watch_list(cause, now),
            WatchList::Unusable { until } if now >= until => self.watch_list(cause, now),
            WatchList::Unusable { .. } => self.paged_list(cause, now),
        }
    }

    fn watch_list(mut self, cause: RelistCause, now: Instant) -> (Self, Action) {
        let options = WatchOptions {
            resource_version: self.list_resource_version().unwrap_or_default(),
            send_initial_events: true,
            timeout: self.watch_timeout(),
            parameters: self.tweaks.parameters(),
        };
        let give_up = now + WATCH_LIST_MAX;
        self.state = State::WatchListing { opened: false, cause, give_up, heard: now };
        (self, Action::Open(Request::Watch(options)))
    }

    fn paged_list(self, cause: RelistCause, now: Instant) -> (Self, Action) {
        let limit = self.tweaks.page_objects();
        self.list_from_first_page(cause, limit, now)
    }

    /// A `limit` of 0 is no limit: one page with everything.
    fn list_from_first_page(self, cause: RelistCause, limit: u32, now: Instant) -> (Self, Action) {
        let not_older_than = self.list_resource_version();
        let parameters = self.tweaks.parameters();
        let page = ListOptions { not_older_than, limit, continue_token: None, parameters };
        self.page(page, true, cause, now)
    }

    fn watch_timeout(&mut self) -> Duration {
        let (min, max) = self.tweaks.watch_timeout();
        self.backoff.between(min, max)
    }

    fn page(
        mut self,
        page: ListOptions,
        first: bool,
        cause: RelistCause,
        now: Instant,
    ) -> (Self, Action) {
        self.state = State::Listing { page: page.clone(), first, cause, heard: now };
        (self, Action::Open(Request::List(page)))
    }

    /// None asks for a consistent read. The first one always is: it must not go back behind what an
    /// earlier run of this program has seen.
    fn list_resource_version(&self) -> Option<Box<str>> {
        self.resource_version.clone().filter(|_| !self.consistent)
    }

    fn watch(mut self, now: Instant) -> (Self, Action) {
        let timeout = self.watch_timeout();
        let until = now + timeout + WATCH_TIMEOUT_GRACE;
        self.state =
            State::Watching { opened: false, since: now, until, heard: now, events: false };
        let resource_version = self.resource_version.clone().unwrap_or_default();
        let parameters = self.tweaks.parameters();
        let send_initial_events = false;
        let options = WatchOptions { resource_version, send_initial_events, timeout, parameters };
        (self, Action::Open(Request::Watch(options)))
    }

    fn wait(mut self, next: Next, at_least: Option<Duration>, now: Instant) -> (Self, Action) {
        let wait = self.backoff.failed(now, at_least);
        self.state = State::BackingOff { next };
        (self, Action::Wait(wait))
    }

    /// Somebody is about to create the resource or grant the permission, and looks on.
    fn wait_for_access(
        self,
        next: Next,
        at_least: Option<Duration>,
        now: Instant,
    ) -> (Self, Action) {
        let (machine, action) = self.wait(next, None, now);
        let capped =
            |wait: Duration| wait.min(WAIT_FOR_ACCESS_MAX).max(at_least.unwrap_or_default());
        match action {
            Action::Wait(wait) => (machine, Action::Wait(capped(wait))),
            action => (machine, action),
        }
    }

    /// The server asks for patience. Where the resource was missing, it is often only being set up.
    fn wait_patiently(
        self,
        next: Next,
        cause: RelistCause,
        at_least: Option<Duration>,
        now: Instant,
    ) -> (Self, Action) {
        match cause {
            RelistCause::Unavailable => self.wait_for_access(next, at_least, now),
            RelistCause::Start
            | RelistCause::Expired
            | RelistCause::TooLargeResourceVersion
            | RelistCause::ServerError
            | RelistCause::Interrupted => self.wait(next, at_least, now),
        }
    }

    fn synced(&mut self, resource_version: &str, now: Instant) {
        self.resource_version = Some(resource_version.into());
        self.consistent = false;
        self.listed = Some(now);
        self.expired_pages = 0;
        self.too_large = 0;
        self.backoff.succeeded(now);
    }

    fn is_consistent(&self) -> bool {
        self.list_resource_version().is_none()
    }
}

#[cfg(test)]
mod tests;
