//! What a reflector does next: a pure machine from (state, input, now) to (state, action).
//!
//! Answers to `ListAndWatch` of client-go's `tools/cache/reflector.go`. It differs where that one is known to
//! hurt: a watch-list has a deadline and its failure is remembered; a plain watch that fails is opened again where
//! it was rather than listed anew; health alone resets the backoff. It does no I/O and logs nothing: the driver
//! (`reflector.rs`) carries out each [`ReflectorAction`] and answers with the next [`ReflectorInput`].
//!
//! **A server that was set back** (an etcd restored from a backup) hands its resourceVersions out again. Four rules keep
//! the cache right, whether or not the server has caught up with its old numbers by the time it is reached:
//!
//! 1. Every list is a consistent read: what it shows is the truth whatever the numbers say, also where a lagging replica
//!    answers. (client-go asks for "not older than"; consistent reads come from the watch cache since 1.31.)
//! 2. After a connection broke, a watch ended before its time or was refused, the next watch begins just before the newest
//!    change that was seen and must repeat it (`history.rs`); so does one that is answered late. If another change comes first, the
//!    past is another: list. If nothing comes: list. If the server does not remember that change (410), or nothing is known that
//!    could be repeated, it depends (`doubt.rs`): after an outage, without which no etcd is restored, list; after a mere cut, which
//!    load balancers make of every idle connection, watch from where everything was seen. So a cut costs one repeated event or one
//!    refused request and never a list. Should an etcd be restored within seconds all the same, rule 3 finds it.
//! 3. A list whose resourceVersion is lower than the one that was reached proves it as well, and so does a resourceVersion
//!    that is still refused as too large after some tries.
//! 4. What was proven is announced once by each watch: `ListWatchError::Rewound` to the watch-error hook. It is one new epoch.
//!
//! **A dead connection** is found within [`BOOKMARK_SILENCE_MAX`] on a watch that has brought a bookmark: the API server repeats
//! it about once a minute. There is none before the resourceVersion has moved on from the watch's start (storage/cacher's
//! `cacheWatcher.process`), so silence means nothing before. A dead connection is then found when the watch outlives the time it
//! asked for: 10 min 15 s by default.
//!
//! **A resource that can be listed and not watched** (a permission without the verb, a proxy that refuses or ends every watch,
//! metrics) is listed again, at most once in [`UNWATCHED_LIST_INTERVAL`]. client-go's reflector does so after each failed watch but
//! where the connection is refused or the answer is 429. It is the same here: while the server is away no list helps, and 429 asks
//! for patience.
//!
//! **What is absent** is not forgotten on a mere 404: discovery must answer, and must not know the resource (`absence.rs`).

mod absence;
mod doubt;
mod history;
mod paged_list;
mod repair;
mod waiting;
mod watch;
mod watch_list;

use super::backoff::Backoff;
use crate::list_watch::{ListOptions, ListTweaks, ListWatchError, PageTrail, WatchOptions};
use crate::object::{DecodeError, Object, compare_resource_versions};
use crate::relist_cause::RelistCause;
use doubt::Doubt;
use history::History;
use repair::Repair;
use std::cmp::Ordering;
use std::time::{Duration, Instant};
use watch::Watch;
use watch_list::{WatchListSupport, WatchListing};

/// How much later than its time's end a watch may end.
const WATCH_TIMEOUT_GRACE: Duration = Duration::from_secs(15);
/// Bookmarks come about once a minute; two missing in a row and some slack mean a dead connection.
const BOOKMARK_SILENCE_MAX: Duration = Duration::from_secs(150);
/// A request's head, or a list's next bytes, come within this time.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(60);
/// One page takes no longer, however steadily it trickles: it holds one of the process's permits to list.
const PAGE_MAX: Duration = Duration::from_secs(600);
/// Lists that follow each other sooner than this help nobody: their pauses grow.
const RELIST_SOON: Duration = Duration::from_secs(10);
/// A watch that ends sooner than this, without an event, was not a watch (client-go's "very short watch").
const VERY_SHORT_WATCH: Duration = Duration::from_secs(1);
/// Continue tokens that expire this often in a row mean that pages are read too slowly: one unpaged list.
const EXPIRED_PAGES_MAX: u32 = 2;
/// Refusals of a resourceVersion as too large before it is given up: the server was set back.
const TOO_LARGE_MAX: u32 = 3;
/// After so long without a watch that brings anything, and without a list, a list takes its place.
const UNWATCHED_LIST_INTERVAL: Duration = Duration::from_secs(30);
/// A server that asks for more patience is asked again all the same: as long as the longest pause of the backoff,
/// so that no informer is parked for an hour by one header.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// What the driver carries out; each but those that wait or open something is followed by reading on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReflectorAction {
    /// Make the request; answer `Opened` or `Failed`.
    Open(ReflectorRequest),
    /// Ask discovery whether the resource is served; answer `Served`.
    Discover,
    /// A set of objects begins.
    Begin { cause: RelistCause },
    /// Queue the event that was just given.
    Enqueue,
    /// The set is complete; `whole`: nothing in it was unreadable, so that what it did not show is gone.
    End { resource_version: Box<str>, whole: bool },
    /// The resource is gone, and all its objects with it.
    Forget,
    /// Read on.
    Read,
    /// Drop any stream; answer `Elapsed`.
    Wait(Duration),
    /// Drop any stream and wait for the resource to be served; answer `DefinitionTold` or `Elapsed`, at the latest after `told` where
    /// somebody tells when that may be, else after `untold`.
    WaitForResource { told: Duration, untold: Duration },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReflectorRequest {
    List(ListOptions),
    Watch(WatchOptions),
}

/// What wakes the machine.
#[derive(Clone, Debug)]
pub(super) enum ReflectorInput<'a> {
    /// The request was accepted.
    Opened,
    /// An object of a list, or a change; `gone` where it is the object's end.
    Event { object: &'a Object, gone: bool },
    /// How far the stream has come.
    Bookmark { resource_version: &'a str, initial_events_end: bool },
    /// Something that could not be read went by. `known`: it may have been about an object that is cached.
    Malformed { known: bool, message: &'a DecodeError },
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
    /// The wait is over, because a definition of a resource was listed, changed or deleted.
    DefinitionTold,
    /// Discovery knows the resource, or does not; `None` where it could not be asked.
    Served(Option<bool>),
}

/// Where the reflector is.
#[derive(Clone, Debug)]
pub(super) enum ReflectorState {
    /// A watch-list: objects, then a bookmark.
    WatchListing(WatchListing),
    /// Pages.
    Listing { page: ListPage, since: Instant, heard: Instant },
    /// The last page is whole; nothing is read after it.
    Listed,
    /// Changes.
    Watching(Watch),
    /// The resource answers 404: does discovery know it? If it does: what follows.
    Asking { next: Next },
    /// It does not; its objects are being forgotten.
    Forgetting,
    /// Waiting, and what for.
    BackingOff { next: Next },
}

/// A page that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListPage {
    options: ListOptions,
    /// The set of objects has begun.
    begun: bool,
    cause: RelistCause,
    /// Nothing was unreadable so far.
    whole: bool,
    trail: PageTrail,
}

/// Whether it was said that the server was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Announced {
    No,
    /// The list that takes the past in is not complete.
    Yes,
    /// It is; nothing more is said of it.
    AndListed,
}

/// What follows a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    List(RelistCause),
    Page(ListPage),
    Watch,
}

/// State, and what is remembered across states.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) state: ReflectorState,
    /// What the last step found wrong, for the one report of it.
    pub(super) failure: Option<ListWatchError>,
    tweaks: ListTweaks,
    /// The newest resourceVersion up to which everything was seen; none before the first list.
    resource_version: Option<Box<str>>,
    history: History,
    /// What happened since the last stream; if anything did, the server must show that its past is the known one.
    doubt: Doubt,
    /// How often the server was found to have been set back.
    epoch: u64,
    announced: Announced,
    /// When the last list was complete; none while nothing is known of the resource.
    listed: Option<Instant>,
    /// A list has begun since there was nothing known: the cache may hold objects.
    begun: bool,
    too_large: u32,
    /// Since when every watch was refused, was not answered or ended at once.
    unwatched_since: Option<Instant>,
    expired_pages: u32,
    watch_lists: WatchListSupport,
    repair: Repair,
    /// Since when the resource or the permission has been missing.
    missing_since: Option<Instant>,
    backoff: Backoff,
}

impl Machine {
    /// The machine and its first action. `again`: the cache may hold objects, of another machine that was stopped.
    pub(super) fn start(
        tweaks: ListTweaks,
        seed: u64,
        again: bool,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        let machine = Self {
            state: ReflectorState::Listed,
            failure: None,
            tweaks,
            resource_version: None,
            history: History::Empty,
            doubt: Doubt::None,
            epoch: 0,
            announced: Announced::No,
            listed: None,
            begun: again,
            too_large: 0,
            unwatched_since: None,
            expired_pages: 0,
            watch_lists: WatchListSupport::new(),
            repair: Repair::new(),
            missing_since: None,
            backoff: Backoff::new(seed),
        };
        machine.list(RelistCause::Start, now)
    }

    /// How often the server was found to have been set back.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// When to give [`Input::Deadline`] if nothing else comes.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            ReflectorState::WatchListing(listing) => Some(listing.deadline()),
            ReflectorState::Listing { since, heard, .. } => {
                Some((*heard + ANSWER_MAX).min(*since + PAGE_MAX))
            }
            ReflectorState::Watching(watch) => {
                let deadline = watch.deadline();
                Some(self.repair.due().map_or(deadline, |due| deadline.min(due)))
            }
            // There is nothing more to read.
            ReflectorState::Listed => self.listed,
            ReflectorState::Asking { .. }
            | ReflectorState::Forgetting
            | ReflectorState::BackingOff { .. } => None,
        }
    }

    /// One step.
    pub(super) fn step(
        mut self,
        input: ReflectorInput<'_>,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        self.failure = None;
        let state = std::mem::replace(&mut self.state, ReflectorState::Listed);
        match state {
            ReflectorState::WatchListing(listing) => self.watch_listing(listing, input, now),
            ReflectorState::Listing { page, since, .. } => self.listing(page, since, input, now),
            ReflectorState::Listed => self.watch(now),
            ReflectorState::Watching(watch) => self.watching(watch, input, now),
            ReflectorState::Asking { next } => self.asked(next, input, now),
            ReflectorState::Forgetting => self.wait_for_resource(now),
            ReflectorState::BackingOff { next } => self.backing_off(next, input, now),
        }
    }

    /// Lists anew: by watch-list where the server can do it, else in pages. A watch-list is a watch: where none has come about for
    /// long, pages are asked for at once.
    fn list(mut self, cause: RelistCause, now: Instant) -> (Self, ReflectorAction) {
        let tries = self.tweaks.tries_watch_lists() && !self.is_unwatched_for_long(now);
        if tries && self.watch_lists.are_worth_a_try(now) {
            return self.watch_list(cause, now);
        }
        self.watch_lists.are_passed_over();
        self.paged_list(cause, now)
    }

    fn watch_timeout(&mut self) -> Duration {
        let (min, max) = self.tweaks.watch_timeout();
        self.backoff.between(min, max)
    }

    /// A set of objects begins: what is known of the past is known from it.
    fn begin(&mut self, cause: RelistCause) -> ReflectorAction {
        self.history = History::Empty;
        self.begun = true;
        if self.announced == Announced::AndListed {
            self.announced = Announced::No;
        }
        self.repair.begins();
        ReflectorAction::Begin { cause }
    }

    /// A set of objects is complete.
    fn end(&mut self, resource_version: &str, whole: bool, now: Instant) -> ReflectorAction {
        let known = self.resource_version.as_deref().unwrap_or_default();
        if compare_resource_versions(resource_version, known) == Some(Ordering::Less) {
            let message = format!("from resourceVersion {known} to {resource_version}");
            self.announce(message, Announced::AndListed);
        }
        if self.announced == Announced::Yes {
            self.announced = Announced::AndListed;
        }
        self.resource_version = Some(resource_version.into());
        self.doubt = Doubt::None;
        self.listed = Some(now);
        self.missing_since = None;
        self.expired_pages = 0;
        self.too_large = 0;
        self.backoff.succeeded(now);
        if !whole {
            self.repair.unreadable(now);
        }
        ReflectorAction::End { resource_version: resource_version.into(), whole }
    }

    /// The server was set back: its numbers mean something else now, and a list takes that in.
    fn rewound(&mut self, message: String) {
        self.resource_version = None;
        self.announce(message, Announced::Yes);
    }

    /// The list that is being made, or was made last, put older objects over newer ones.
    pub(super) fn store_was_set_back(&mut self) {
        let listing =
            matches!(self.state, ReflectorState::WatchListing(_) | ReflectorState::Listing { .. });
        let announced = if listing { Announced::Yes } else { Announced::AndListed };
        let message = "it lists objects that are older than those it has sent before";
        self.announce(message.to_owned(), announced);
    }

    /// Once for each time, however it shows and in how many ways.
    fn announce(&mut self, message: String, announced: Announced) {
        if self.announced == Announced::No {
            self.epoch += 1;
            self.failure = Some(ListWatchError::Rewound { message });
            self.announced = announced;
        }
    }

    fn unreadable(&mut self, message: &DecodeError) {
        self.failure = Some(ListWatchError::unreadable(&message.to_string()));
    }

    /// The stream ended before it was complete.
    fn incomplete(&mut self, what: &str, now: Instant) {
        self.doubt.cut(now);
        self.failure = Some(ListWatchError::Incomplete { message: what.to_owned() });
    }

    /// Nothing came for too long.
    fn silent(&mut self, what: &str) {
        self.doubt.outage();
        self.failure = Some(ListWatchError::Silent { message: what.to_owned() });
    }
}

#[cfg(test)]
mod tests;
