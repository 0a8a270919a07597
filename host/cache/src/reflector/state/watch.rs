//! The machine while changes are watched.

use super::doubt::{CUT_MAX, Doubt};
use super::history::{Repeated, Witness};
use super::{
    ANSWER_MAX, BOOKMARK_SILENCE_MAX, Machine, Next, RELIST_SOON, ReflectorAction, ReflectorInput,
    ReflectorRequest, ReflectorState, RelistCause, TOO_LARGE_MAX, UNWATCHED_LIST_INTERVAL,
    VERY_SHORT_WATCH, WATCH_TIMEOUT_GRACE,
};
use crate::list_watch::{ListWatchError, WatchOptions};
use crate::object::{Object, compare_resource_versions};
use std::cmp::Ordering;
use std::time::{Duration, Instant};

/// What was seen before is repeated first, from memory: a server that takes longer does not know it.
const REPEAT_MAX: Duration = Duration::from_secs(10);

/// A watch.
#[derive(Clone, Debug)]
pub(in crate::reflector) struct Watch {
    opened: bool,
    since: Instant,
    /// When the server was asked to end it.
    ends: Instant,
    heard: Instant,
    events: bool,
    /// A bookmark came after the initial events: from then on the server sends one about every minute, even if nothing changes.
    bookmarks: bool,
    /// It began before the point that was reached, and repeats what led there.
    repeats: bool,
    /// The change that must come first.
    expected: Option<Witness>,
    /// If it cannot, everything is listed: the server was away.
    after_outage: bool,
}

impl Watch {
    /// A watch that is asked for.
    fn asked(since: Instant, timeout: Duration) -> Self {
        Self {
            opened: false,
            since,
            ends: since + timeout,
            heard: since,
            events: false,
            bookmarks: false,
            repeats: false,
            expected: None,
            after_outage: false,
        }
    }

    /// The rest of a watch-list.
    pub(super) fn after_list(since: Instant, timeout: Duration, now: Instant) -> Self {
        Self { opened: true, heard: now, events: true, ..Self::asked(since, timeout) }
    }

    pub(super) fn deadline(&self) -> Instant {
        // Invariant 16.
        let end = self.ends + WATCH_TIMEOUT_GRACE;
        if !self.opened {
            self.since + ANSWER_MAX
        } else if self.expected.is_some() {
            self.heard + REPEAT_MAX
        } else if self.bookmarks {
            end.min(self.heard + BOOKMARK_SILENCE_MAX)
        } else {
            end
        }
    }

    fn heard(self, now: Instant) -> ReflectorState {
        ReflectorState::Watching(Self { opened: true, heard: now, ..self })
    }

    /// Some things are heard without being an event of the watch, and do not prolong the wait for the repeated change.
    fn stays(self) -> ReflectorState {
        ReflectorState::Watching(self)
    }

    /// Not a connection that is opened and brings nothing, in time, of what there is.
    fn brings_something(&self, now: Instant) -> bool {
        let was_short = now.duration_since(self.since) < VERY_SHORT_WATCH;
        self.opened && (self.events || (self.expected.is_none() && !was_short))
    }

    fn is_before_its_time(&self, now: Instant) -> bool {
        now + VERY_SHORT_WATCH < self.ends
    }
}

impl Machine {
    /// Watches from where everything was seen; after a broken stream from just before the newest change.
    pub(super) fn watch(mut self, now: Instant) -> (Self, ReflectorAction) {
        let doubt = self.doubt.at(now);
        let after_outage = doubt == Doubt::Outage;
        let repeated = self.history.repeatable().filter(|_| doubt != Doubt::None);
        let repeated = repeated.map(|(newest, before)| (newest.clone(), before));
        let (expected, before) = repeated.unzip();
        // Invariant 8.
        if after_outage && expected.is_none() {
            return self.list_unconfirmed(now);
        }
        let timeout = self.watch_timeout();
        let watch = Watch { expected, after_outage, ..Watch::asked(now, timeout) };
        self.state = ReflectorState::Watching(watch);
        let options = WatchOptions {
            resource_version: before.or(self.resource_version.clone()).unwrap_or_default(),
            send_initial_events: false,
            timeout,
            parameters: self.tweaks.parameters(),
        };
        (self, ReflectorAction::Open(ReflectorRequest::Watch(options)))
    }

    /// Nothing is known that could be repeated.
    fn list_unconfirmed(self, now: Instant) -> (Self, ReflectorAction) {
        if self.listed.is_some_and(|listed| now.duration_since(listed) < RELIST_SOON) {
            return self.wait(Next::List(RelistCause::Unconfirmed), None, now);
        }
        self.list(RelistCause::Unconfirmed, now)
    }

    /// Whether changes come in, and nothing speaks against it.
    pub(in crate::reflector) fn is_following(&self) -> bool {
        match &self.state {
            ReflectorState::Watching(watch) => watch.opened && watch.expected.is_none(),
            ReflectorState::WatchListing(_)
            | ReflectorState::Listing { .. }
            | ReflectorState::Listed
            | ReflectorState::Asking { .. }
            | ReflectorState::Forgetting
            | ReflectorState::BackingOff { .. } => false,
        }
    }

    pub(super) fn watching(
        mut self,
        watch: Watch,
        input: ReflectorInput<'_>,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        if watch.brings_something(now) {
            self.unwatched_since = None;
        }
        match input {
            ReflectorInput::Opened => self.watch_opened(watch, now),
            ReflectorInput::Event { object, gone } => match &watch.expected {
                Some(expected) => {
                    let repeated = expected.compare(object, gone);
                    let known = expected.resource_version();
                    self.repeated(watch, repeated, known, object, now)
                }
                None => {
                    let seen = watch.repeats && self.has_seen(object.resource_version());
                    self.advance(object.resource_version());
                    self.history.note(object, gone);
                    self.state = Watch { events: true, ..watch }.heard(now);
                    (self, if seen { ReflectorAction::Read } else { ReflectorAction::Enqueue })
                }
            },
            ReflectorInput::Bookmark { resource_version, .. } => {
                let watch = Watch { bookmarks: true, ..watch };
                if watch.expected.is_some() {
                    // A replica that is behind, perhaps. It has its time.
                    self.state = watch.stays();
                    return (self, ReflectorAction::Read);
                }
                self.advance(resource_version);
                self.state = Watch { events: true, ..watch }.heard(now);
                (self, ReflectorAction::Enqueue)
            }
            ReflectorInput::Malformed { known, message } => {
                self.unreadable(message);
                self.watch_unreadable(watch, known, now)
            }
            ReflectorInput::PageEnd { .. }
            | ReflectorInput::Elapsed
            | ReflectorInput::DefinitionTold
            | ReflectorInput::Served(_) => {
                self.state = watch.stays();
                (self, ReflectorAction::Read)
            }
            ReflectorInput::Ended => self.watch_ended(&watch, now),
            ReflectorInput::Deadline => self.watch_is_late(&watch, now),
            ReflectorInput::Failed(error) => self.watch_failed(&watch, error, now),
        }
    }

    fn watch_opened(mut self, watch: Watch, now: Instant) -> (Self, ReflectorAction) {
        self.backoff.succeeded(now);
        self.missing_since = None;
        self.too_large = 0;
        let late = now.duration_since(watch.since) > CUT_MAX;
        if late && watch.expected.is_none() && self.history.repeatable().is_some() {
            // Whoever answers now may not be who was asked.
            self.doubt.outage();
            return self.watch(now);
        }
        if watch.expected.is_none() {
            // Nothing can be shown, and no outage was seen.
            self.doubt = Doubt::None;
        }
        self.state = Watch { since: now, ..watch }.heard(now);
        (self, ReflectorAction::Read)
    }

    /// Something came that cannot be read; `known` says that it was of a known type.
    fn watch_unreadable(
        mut self,
        watch: Watch,
        known: bool,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        if known && watch.expected.is_some() {
            // It may have been the very change that must come first.
            return self.wait(Next::List(RelistCause::Unconfirmed), None, now);
        }
        // Invariant 14.
        if known {
            self.repair.unreadable(now);
        }
        self.state = watch.heard(now);
        (self, ReflectorAction::Read)
    }

    /// The first event of a watch that must begin with what is known. It is not queued: it was. Invariant 8.
    fn repeated(
        mut self,
        watch: Watch,
        repeated: Repeated,
        known: u64,
        object: &Object,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        let message = match repeated {
            Repeated::Same => {
                self.doubt = Doubt::None;
                // It is no progress: a server that ends every watch after it must not be asked at once again.
                self.state = Watch { expected: None, repeats: true, ..watch }.heard(now);
                return (self, ReflectorAction::Read);
            }
            Repeated::Changed => format!("it sends the known change {known} with another content"),
            Repeated::Other => {
                let found = object.resource_version();
                format!("it sends change {found} instead of the known change {known}")
            }
        };
        self.rewound(message);
        self.backoff.reset();
        self.wait(Next::List(RelistCause::Rewind), None, now)
    }

    fn watch_ended(mut self, watch: &Watch, now: Instant) -> (Self, ReflectorAction) {
        if watch.is_before_its_time(now) {
            self.doubt.cut(now);
        }
        if watch.brings_something(now) {
            return self.watch(now);
        }
        self.incomplete("watch ended before it brought anything", now);
        self.watch_again(watch, now)
    }

    /// Another watch after a pause, or a list at once where watches bring nothing while lists may.
    fn watch_again(mut self, watch: &Watch, now: Instant) -> (Self, ReflectorAction) {
        match self.is_list_due(watch, now) {
            true => self.list(RelistCause::Unwatched, now),
            false => self.wait(Next::Watch, None, now),
        }
    }

    /// Whether a list takes the place of watches, of which this was the last.
    fn is_list_due(&mut self, watch: &Watch, now: Instant) -> bool {
        if !watch.brings_something(now) {
            self.unwatched_since.get_or_insert(watch.since);
        }
        let long_ago = |listed| now.duration_since(listed) >= UNWATCHED_LIST_INTERVAL;
        self.is_unwatched_for_long(now) && self.listed.is_none_or(long_ago)
    }

    pub(super) fn is_unwatched_for_long(&self, now: Instant) -> bool {
        let long = |since| now.duration_since(since) >= UNWATCHED_LIST_INTERVAL;
        self.unwatched_since.is_some_and(long)
    }

    fn watch_is_late(mut self, watch: &Watch, now: Instant) -> (Self, ReflectorAction) {
        if self.repair.due().is_some_and(|due| now >= due) {
            return self.list(RelistCause::Unreadable, now);
        }
        if watch.opened && watch.expected.is_some() {
            self.silent("server did not repeat the newest change in time");
            return self.wait(Next::List(RelistCause::Unconfirmed), None, now);
        }
        self.silent(if !watch.opened {
            "watch was not answered in time"
        } else if now >= watch.ends {
            "watch outlived its time: the connection is dead"
        } else {
            "watch was silent, without a bookmark, for too long: the connection is dead"
        });
        self.watch_again(watch, now)
    }

    fn watch_failed(
        mut self,
        watch: &Watch,
        error: &ListWatchError,
        now: Instant,
    ) -> (Self, ReflectorAction) {
        self.failure = Some(error.clone());
        // Whatever the answer: whoever accepts the next watch may have been set back meanwhile.
        self.doubt.cut(now);
        match error {
            ListWatchError::Expired { .. } => self.watch_expired(watch, now),
            ListWatchError::TooLargeResourceVersion { .. } => {
                self.too_large += 1;
                let next = match self.too_large < TOO_LARGE_MAX {
                    true => Next::Watch,
                    false => Next::List(RelistCause::TooLargeResourceVersion),
                };
                self.wait(next, None, now)
            }
            ListWatchError::TooManyRequests { retry_after, .. } => {
                self.wait(Next::Watch, *retry_after, now)
            }
            ListWatchError::Internal { .. } if watch.opened => {
                self.wait(Next::List(RelistCause::ServerError), None, now)
            }
            // What is known stays known: the resourceVersion is still good when access comes back, or
            // the server says that it is not. The permission to list may be there.
            ListWatchError::Forbidden { .. } | ListWatchError::Unauthorized { .. } => {
                match self.is_list_due(watch, now) {
                    true => self.list(RelistCause::Unwatched, now),
                    false => self.wait_for_access(Next::Watch, None, now),
                }
            }
            ListWatchError::NotFound { .. } => match self.is_list_due(watch, now) {
                true => self.list(RelistCause::Unwatched, now),
                false => self.not_found(Next::Watch, now),
            },
            // The server is away: a list would fare no better.
            ListWatchError::Unreachable { .. } => {
                self.doubt.outage();
                self.unwatched_since = None;
                self.wait(Next::Watch, None, now)
            }
            ListWatchError::BadRequest { .. } => {
                self.wait(Next::List(RelistCause::Unwatched), None, now)
            }
            ListWatchError::Internal { .. }
            | ListWatchError::Unreadable { .. }
            | ListWatchError::Incomplete { .. }
            | ListWatchError::Silent { .. }
            | ListWatchError::Rewound { .. }
            | ListWatchError::Transient { .. } => {
                if !watch.opened {
                    self.doubt.outage();
                }
                self.watch_again(watch, now)
            }
        }
    }

    fn watch_expired(mut self, watch: &Watch, now: Instant) -> (Self, ReflectorAction) {
        if watch.expected.is_some() && !watch.after_outage {
            // The newest change is too old to be repeated, which is no reason to doubt a server that was never away. Invariant 15.
            self.failure = None;
            self.doubt = Doubt::None;
            return self.watch(now);
        }
        // An answer, not an outage: only lists in quick succession are slowed down.
        if self.listed.is_none_or(|listed| now.duration_since(listed) >= RELIST_SOON) {
            self.backoff.reset();
        }
        self.wait(Next::List(RelistCause::Expired), None, now)
    }

    /// Whether everything up to this resourceVersion was seen: a watch that begins before the newest known change repeats what came
    /// after it too, such as an object that has gone since.
    fn has_seen(&self, resource_version: &str) -> bool {
        let known = self.resource_version.as_deref().unwrap_or_default();
        let order = compare_resource_versions(resource_version, known);
        matches!(order, Some(Ordering::Less | Ordering::Equal))
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
}
