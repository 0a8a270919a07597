//! How an informer is doing, for waiters, metrics and people.

use crate::list_watch::{Change, ListWatchError};
use crate::reflector::RelistCause;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What an informer is doing. It leaves every state but `Stopped` by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InformerState {
    /// Not started.
    Created,
    /// The first list is not complete.
    Syncing {
        /// What keeps it from being so, where something does: the API server cannot be reached or failed.
        message: Option<String>,
    },
    /// The cache is complete and followed.
    Synced,
    /// The cache is complete, but the API server cannot be reached or asks for patience: it may be stale.
    Stale {
        /// What happened last.
        message: String,
    },
    /// The API server says that it does not serve the resource: tried again with growing pauses.
    Waiting {
        /// What happened last.
        message: String,
    },
    /// The credentials may not list or watch the resource: tried again with growing pauses.
    Forbidden {
        /// The server's words.
        message: String,
    },
    /// For good.
    Stopped {
        /// Why, if not by request.
        message: Option<String>,
    },
}

impl InformerState {
    /// The word in metrics and `/plugins`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Syncing { .. } => "syncing",
            Self::Synced => "synced",
            Self::Stale { .. } => "stale",
            Self::Waiting { .. } => "waiting",
            Self::Forbidden { .. } => "forbidden",
            Self::Stopped { .. } => "stopped",
        }
    }

    /// What went wrong, if something did.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Created | Self::Synced => None,
            Self::Stale { message } | Self::Waiting { message } | Self::Forbidden { message } => {
                Some(message)
            }
            Self::Syncing { message } | Self::Stopped { message } => message.as_deref(),
        }
    }

    /// Whether the informer is as far as it can be for now: it has synced, or the API server has said why it
    /// cannot. A server that cannot be reached has said nothing.
    pub const fn is_settled(&self) -> bool {
        !matches!(self, Self::Created | Self::Syncing { .. })
    }

    /// The state after a failure; for one that says nothing about the resource, that of a synced informer.
    pub(crate) fn after(error: &ListWatchError) -> Self {
        let message = error.to_string();
        match error {
            ListWatchError::Forbidden { .. } | ListWatchError::Unauthorized { .. } => {
                Self::Forbidden { message }
            }
            ListWatchError::NotFound { .. } => Self::Waiting { message },
            ListWatchError::Expired { .. }
            | ListWatchError::TooLargeResourceVersion { .. }
            | ListWatchError::TooManyRequests { .. }
            | ListWatchError::BadRequest { .. }
            | ListWatchError::Internal { .. }
            | ListWatchError::Unreadable { .. }
            | ListWatchError::Incomplete { .. }
            | ListWatchError::Silent { .. }
            | ListWatchError::Rewound { .. }
            | ListWatchError::Transient { .. } => Self::Stale { message },
        }
    }
}

/// What an informer has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InformerStats {
    /// Watch events of type ADDED, after the first list and outside of lists.
    pub added: u64,
    /// MODIFIED.
    pub modified: u64,
    /// DELETED.
    pub deleted: u64,
    /// BOOKMARK.
    pub bookmarks: u64,
    /// Objects that lists showed.
    pub listed: u64,
    /// Failed lists and watches.
    pub errors: u64,
    /// Objects and events that could not be read.
    pub malformed: u64,
    /// Panics of handlers.
    pub handler_panics: u64,
    /// Lists by cause, the first one included.
    pub relists: Vec<(RelistCause, u64)>,
    /// How often the API server was found to have been set back (an etcd restored from a backup): resourceVersions from
    /// different epochs cannot be compared.
    pub epoch: u64,
    /// Since the API server sent anything: an event, a bookmark, an object.
    pub last_event_age: Option<Duration>,
    /// In the cache.
    pub objects: usize,
    /// In the cache, at rest.
    pub bytes: usize,
}

/// Where the informer's two tasks write down how it goes.
#[derive(Debug)]
pub(crate) struct Progress {
    state: watch::Sender<InformerState>,
    created: Instant,
    /// Milliseconds after `created`, plus one; 0 is never.
    heard: AtomicU64,
    changes: [AtomicU64; 3],
    bookmarks: AtomicU64,
    listed: AtomicU64,
    errors: AtomicU64,
    malformed: AtomicU64,
    handler_panics: AtomicU64,
    relists: [AtomicU64; RelistCause::ALL.len()],
    epoch: AtomicU64,
    /// 1 once the first list is in the store; never 0 again.
    synced: AtomicU64,
}

impl Progress {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            state: watch::Sender::new(InformerState::Created),
            created: now,
            heard: AtomicU64::new(0),
            changes: Default::default(),
            bookmarks: AtomicU64::new(0),
            listed: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
            handler_panics: AtomicU64::new(0),
            relists: Default::default(),
            epoch: AtomicU64::new(0),
            synced: AtomicU64::new(0),
        }
    }

    pub(crate) fn state(&self) -> InformerState {
        self.state.borrow().clone()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<InformerState> {
        self.state.subscribe()
    }

    pub(crate) fn has_synced(&self) -> bool {
        self.synced.load(Ordering::Acquire) == 1
    }

    pub(crate) fn started(&self) {
        self.set(InformerState::Syncing { message: None });
    }

    /// The first list is in the store, or a later one.
    pub(crate) fn synced(&self) {
        self.synced.store(1, Ordering::Release);
        self.set(InformerState::Synced);
    }

    /// A watch was accepted.
    pub(crate) fn watching(&self) {
        if self.has_synced() {
            self.set(InformerState::Synced);
        }
    }

    pub(crate) fn failed(&self, state: InformerState) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        self.set(match state {
            InformerState::Stale { message } if !self.has_synced() => {
                InformerState::Syncing { message: Some(message) }
            }
            state => state,
        });
    }

    pub(crate) fn stopped(&self, message: Option<String>) {
        self.set(InformerState::Stopped { message });
    }

    fn set(&self, state: InformerState) {
        self.state.send_if_modified(|current| {
            let stopped = matches!(current, InformerState::Stopped { .. });
            let changes = *current != state && !stopped;
            if changes {
                *current = state;
            }
            changes
        });
    }

    pub(crate) fn heard(&self, now: Instant) {
        let millis = now.saturating_duration_since(self.created).as_millis() as u64;
        self.heard.store(millis + 1, Ordering::Relaxed);
    }

    pub(crate) fn change(&self, change: Change) {
        self.changes[change as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn bookmark(&self) {
        self.bookmarks.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn listed(&self) {
        self.listed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn malformed(&self) {
        self.malformed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn handler_panicked(&self) {
        self.handler_panics.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn rewound(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn relist(&self, cause: RelistCause) {
        self.relists[cause as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self, objects: usize, bytes: usize, now: Instant) -> InformerStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let heard = load(&self.heard).checked_sub(1).map(Duration::from_millis);
        let age = |heard| now.saturating_duration_since(self.created + heard);
        let relists = RelistCause::ALL.into_iter().map(|c| (c, load(&self.relists[c as usize])));
        InformerStats {
            added: load(&self.changes[Change::Added as usize]),
            modified: load(&self.changes[Change::Modified as usize]),
            deleted: load(&self.changes[Change::Deleted as usize]),
            bookmarks: load(&self.bookmarks),
            listed: load(&self.listed),
            errors: load(&self.errors),
            malformed: load(&self.malformed),
            handler_panics: load(&self.handler_panics),
            relists: relists.collect(),
            epoch: load(&self.epoch),
            last_event_age: heard.map(age),
            objects,
            bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state after `error`, before or after the first list, and whether that is settled.
    #[track_caller]
    fn check(error: ListWatchError, synced: bool, expect: (&str, bool)) {
        let progress = Progress::new(Instant::now());
        progress.started();
        if synced {
            progress.synced();
        }
        progress.failed(InformerState::after(&error));
        let state = progress.state();
        assert_eq!((state.as_str(), state.is_settled()), expect, "{error:?}");
        assert_eq!(state.message(), Some(error.to_string().as_str()));
    }

    #[test]
    fn only_what_the_server_says_of_the_resource_settles_an_informer_before_its_first_list() {
        let message = || "no".to_owned();
        let patience = || ListWatchError::TooManyRequests { message: message(), retry_after: None };
        check(ListWatchError::NotFound { message: message() }, false, ("waiting", true));
        check(ListWatchError::Forbidden { message: message() }, false, ("forbidden", true));
        check(ListWatchError::Unauthorized { message: message() }, false, ("forbidden", true));
        check(ListWatchError::transient("connection refused"), false, ("syncing", false));
        check(ListWatchError::Internal { message: message() }, false, ("syncing", false));
        check(patience(), false, ("syncing", false));
        // A server that does not know watch-lists says so on the way to a list in pages.
        check(ListWatchError::BadRequest { message: message() }, false, ("syncing", false));
    }

    #[test]
    fn synced_informer_goes_stale() {
        check(ListWatchError::transient("connection refused"), true, ("stale", true));
    }
}
