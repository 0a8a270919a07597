//! The machine while a watch-list runs: all objects on a watch, then a bookmark that says so.
//!
//! Unlike in client-go (kubernetes/kubernetes#140890) it has a deadline, its failures are counted, and a server that
//! cannot do it is asked for pages until the next probe.

use super::watch::Watch;
use super::{
    ANSWER_MAX, Machine, Next, ReflectorAction, ReflectorInput, ReflectorRequest, ReflectorState,
    RelistCause,
};
use crate::list_watch::{ListWatchError, WatchOptions};
use std::time::{Duration, Instant};

/// The initial events of 165,000 pods took 30 s at the 99th percentile (KEP-3157): beyond twice that, paged
/// lists are tried,
const WATCH_LIST_MAX: Duration = Duration::from_secs(60);
/// except that each object buys this much more time: a thousand in a second are worth waiting for,
const WATCH_LIST_MORE: Duration = Duration::from_millis(1);
/// up to here, for a busy stream can look like one.
const WATCH_LIST_LONGEST: Duration = Duration::from_secs(600);
/// Initial events flow; a pause this long means that the end bookmark never comes.
const WATCH_LIST_SILENCE_MAX: Duration = Duration::from_secs(10);
/// Streams without an end bookmark before a server, or what is before it, is taken for one that cannot do it.
const WATCH_LIST_FAILURES_MAX: u32 = 3;
/// When a server that could not do watch-lists is asked again, at the next list that is due.
const WATCH_LIST_PROBE_AFTER: Duration = Duration::from_secs(1800);

/// What is known of the server's watch-lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WatchListSupport {
    /// `failures` of those that were tried; `refusals` in a row that may have had nothing to do with watch-lists.
    Usable {
        failures: u32,
        refusals: u32,
    },
    Unusable {
        until: Instant,
    },
}

impl WatchListSupport {
    pub(super) fn new() -> Self {
        Self::Usable { failures: 0, refusals: 0 }
    }

    pub(super) fn are_worth_a_try(&self, now: Instant) -> bool {
        match self {
            Self::Usable { refusals, .. } => *refusals < WATCH_LIST_FAILURES_MAX,
            Self::Unusable { until } => now >= *until,
        }
    }

    fn failed(&mut self, now: Instant) {
        *self = match self {
            Self::Usable { failures, .. } if *failures + 1 < WATCH_LIST_FAILURES_MAX => {
                Self::Usable { failures: *failures + 1, refusals: 0 }
            }
            Self::Usable { .. } | Self::Unusable { .. } => Self::unusable(now),
        };
    }

    fn refused(&mut self) {
        if let Self::Usable { refusals, .. } = self {
            *refusals += 1;
        }
    }

    /// This once, pages are tried.
    pub(super) fn are_passed_over(&mut self) {
        if let Self::Usable { refusals, .. } = self {
            *refusals = 0;
        }
    }

    fn unusable(now: Instant) -> Self {
        Self::Unusable { until: now + WATCH_LIST_PROBE_AFTER }
    }
}

/// A watch-list in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::reflector) struct WatchListing {
    opened: bool,
    cause: RelistCause,
    /// How long the server was asked to go on with the watch.
    timeout: Duration,
    since: Instant,
    heard: Instant,
    objects: u32,
    /// Nothing was unreadable so far.
    whole: bool,
}

impl WatchListing {
    pub(super) fn deadline(&self) -> Instant {
        if self.opened {
            let time = WATCH_LIST_MAX + WATCH_LIST_MORE * self.objects;
            (self.heard + WATCH_LIST_SILENCE_MAX).min(self.since + time.min(WATCH_LIST_LONGEST))
        } else {
            self.since + ANSWER_MAX
        }
    }

    fn heard(self, now: Instant) -> ReflectorState {
        ReflectorState::WatchListing(Self { opened: true, heard: now, ..self })
    }

    /// A proxy that holds a stream back until it is complete answers late or never: that says something of watch-lists. A
    /// refused connection does not.
    fn counts(&self, now: Instant) -> bool {
        self.opened || now.duration_since(self.since) >= WATCH_LIST_SILENCE_MAX
    }
}

impl Machine {
    pub(super) fn watch_list(
        mut self,
        cause: RelistCause,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        let timeout = self.watch_timeout();
        let options = WatchOptions {
            resource_version: Box::default(),
            send_initial_events: true,
            timeout,
            parameters: self.tweaks.parameters(),
        };
        let listing = WatchListing {
            opened: false,
            cause,
            timeout,
            since: now,
            heard: now,
            objects: 0,
            whole: true,
        };
        self.state = ReflectorState::WatchListing(listing);
        (self, ReflectorAction::Open(ReflectorRequest::Watch(options)))
    }

    pub(super) fn watch_listing(
        mut self,
        listing: WatchListing,
        input: ReflectorInput<'_>,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        let cause = listing.cause;
        match input {
            ReflectorInput::Opened => {
                // Only now: the request may have waited for its turn.
                self.state = WatchListing { since: now, ..listing }.heard(now);
                let begin = self.begin(cause);
                (self, begin)
            }
            ReflectorInput::Event { object, gone } => {
                self.history.note(object, gone);
                let objects = listing.objects.saturating_add(1);
                self.state = WatchListing { objects, ..listing }.heard(now);
                (self, ReflectorAction::Enqueue)
            }
            ReflectorInput::Bookmark { resource_version, initial_events_end: true } => {
                self.watch_lists = WatchListSupport::new();
                self.state = ReflectorState::Watching(Watch::after_list(
                    listing.since,
                    listing.timeout,
                    now,
                ));
                let end = self.end(resource_version, listing.whole, now);
                (self, end)
            }
            ReflectorInput::Malformed { known, message } => {
                self.unreadable(message);
                let whole = listing.whole && !known;
                self.state = WatchListing { whole, ..listing }.heard(now);
                (self, ReflectorAction::Read)
            }
            ReflectorInput::Bookmark { initial_events_end: false, .. }
            | ReflectorInput::PageEnd { .. }
            | ReflectorInput::Served(_)
            | ReflectorInput::Elapsed
            | ReflectorInput::DefinitionTold => {
                self.state = listing.heard(now);
                (self, ReflectorAction::Read)
            }
            ReflectorInput::Ended => {
                self.incomplete("watch-list ended before it was complete", now);
                self.watch_lists.failed(now);
                self.paged_list(cause, now)
            }
            ReflectorInput::Deadline => self.watch_list_is_late(&listing, now),
            ReflectorInput::Failed(error) => self.watch_list_refused(listing, error, now),
        }
    }

    fn watch_list_is_late(
        mut self,
        listing: &WatchListing,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        if listing.opened {
            self.silent("watch-list did not say in time that it was complete");
            self.watch_lists = WatchListSupport::unusable(now);
            return self.paged_list(listing.cause, now);
        }
        // A server that does not answer at all says little about watch-lists.
        self.silent("watch-list was not answered in time");
        self.watch_lists.failed(now);
        self.wait(Next::List(listing.cause), None, now)
    }

    fn watch_list_refused(
        mut self,
        listing: WatchListing,
        error: &ListWatchError,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        let cause = listing.cause;
        self.failure = Some(error.clone());
        match error {
            ListWatchError::BadRequest { .. } => {
                self.watch_lists = WatchListSupport::unusable(now);
                self.paged_list(cause, now)
            }
            // The permission to list does not always come with the one to watch. Nor does the resource: an aggregated API may
            // answer 404 to a watch of what it lists. A list tells that apart from a resource that is missing.
            ListWatchError::Forbidden { .. } | ListWatchError::NotFound { .. } => {
                self.paged_list(cause, now)
            }
            ListWatchError::TooManyRequests { retry_after, .. } => {
                self.wait_patiently(Next::List(cause), cause, *retry_after, now)
            }
            ListWatchError::Unauthorized { .. } => {
                self.wait_for_access(Next::List(RelistCause::Unavailable), None, now)
            }
            // The server answered, but not with a watch-list.
            ListWatchError::Internal { .. } | ListWatchError::Unreadable { .. } => {
                self.watch_lists.failed(now);
                self.wait(Next::List(cause), None, now)
            }
            // So did this one, which has to wait for its replica longer than it wants to.
            ListWatchError::Expired { .. } | ListWatchError::TooLargeResourceVersion { .. } => {
                self.watch_lists.failed(now);
                self.wait(Next::List(cause), None, now)
            }
            ListWatchError::Incomplete { .. }
            | ListWatchError::Silent { .. }
            | ListWatchError::Rewound { .. }
            | ListWatchError::Unreachable { .. }
            | ListWatchError::Transient { .. } => {
                if listing.counts(now) {
                    self.watch_lists.failed(now);
                } else {
                    self.watch_lists.refused();
                }
                self.wait(Next::List(cause), None, now)
            }
        }
    }
}
