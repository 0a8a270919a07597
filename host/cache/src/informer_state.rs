//! The state of an informer, for callers that wait, for metrics and for people.

mod progress;

pub(crate) use progress::{PartProgress, Progress};

use crate::list_watch::ListWatchError;
use crate::relist_cause::RelistCause;
use std::time::Duration;

/// What an informer is doing. It leaves every state but `Stopped` by itself. Where its scope has several parts (namespaces), it is the
/// state of the part that is worst off, and the message says which.
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
    /// The API server says that it does not serve the resource: tried again as soon as its definition changes, and now and
    /// then. If the resource was there before, its objects are gone once discovery has confirmed it.
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

    /// How badly off: what is not known yet, then what the API server refuses, then what may be old.
    fn rank(&self) -> u8 {
        match self {
            Self::Stopped { .. } => 7,
            Self::Syncing { message: Some(_) } => 6,
            Self::Created => 5,
            Self::Syncing { message: None } => 4,
            Self::Forbidden { .. } => 3,
            Self::Waiting { .. } => 2,
            Self::Stale { .. } => 1,
            Self::Synced => 0,
        }
    }

    /// The same, with the place in its message.
    fn of(self, place: &str) -> Self {
        let at = |message: String| format!("{place}: {message}");
        match self {
            Self::Syncing { message } => Self::Syncing { message: message.map(at) },
            Self::Stale { message } => Self::Stale { message: at(message) },
            Self::Waiting { message } => Self::Waiting { message: at(message) },
            Self::Forbidden { message } => Self::Forbidden { message: at(message) },
            Self::Created | Self::Synced | Self::Stopped { .. } => self,
        }
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
            | ListWatchError::Unreachable { .. }
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
    /// Objects that the transform failed on; they are cached as they came.
    pub transform_failures: u64,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list_watch::Part;
    use crate::scope::Scope;
    use std::sync::Arc;
    use std::time::Instant;

    /// The state after `error`, before or after the first list, and whether that is settled.
    #[track_caller]
    fn check(error: ListWatchError, synced: bool, expect: (&str, bool)) {
        let progress = Arc::new(Progress::new(Instant::now()));
        let part = PartProgress::started(&progress, Part::all());
        if synced {
            part.synced();
        }
        part.failed(&error);
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

    #[test]
    fn the_part_that_is_worst_off_speaks_for_all_and_says_where() {
        let progress = Arc::new(Progress::new(Instant::now()));
        let part = |name: &str| PartProgress::started(&progress, Part::namespace(name));
        let (a, b) = (part("a"), part("b"));
        a.synced();
        assert_eq!(progress.state(), InformerState::Syncing { message: None });
        let forbidden = ListWatchError::Forbidden { message: "no".to_owned() };
        b.failed(&forbidden);
        let message = "namespace b: not allowed: no".to_owned();
        assert_eq!(progress.state(), InformerState::Forbidden { message });
        a.failed(&ListWatchError::transient("reset"));
        assert_eq!(progress.state().as_str(), "forbidden", "worse than stale");
        b.stopped();
        assert_eq!(progress.state().message(), Some("namespace a: reset"));
    }

    #[test]
    fn who_asks_for_a_namespace_is_shown_how_that_one_is() {
        let progress = Arc::new(Progress::new(Instant::now()));
        let all = PartProgress::started(&progress, Part::all());
        let of = |scope: Scope| progress.state_in(&scope).as_str();
        let forbidden = ListWatchError::Forbidden { message: "no".to_owned() };
        all.failed(&forbidden);
        assert_eq!(of(Scope::namespace("a")), "forbidden");
        let a = PartProgress::started(&progress, Part::namespace("a"));
        assert_eq!(of(Scope::namespace("a")), "syncing");
        a.synced();
        assert_eq!(of(Scope::namespace("a")), "synced");
        assert_eq!(of(Scope::namespaces(["a", "b"])), "forbidden");
        all.stopped();
        assert_eq!(of(Scope::all()), "syncing", "it is asked for, and not listed yet");
        assert_eq!(of(Scope::namespace("b")), "syncing");
        let all = PartProgress::started(&progress, Part::all());
        all.failed(&forbidden);
        assert_eq!(of(Scope::all()), "forbidden");
        progress.stopped(None);
        assert_eq!(of(Scope::namespace("a")), "stopped");
    }

    #[test]
    fn a_scope_is_covered_by_the_parts_that_have_synced() {
        let progress = Arc::new(Progress::new(Instant::now()));
        let a = PartProgress::started(&progress, Part::namespace("a"));
        let _b = PartProgress::started(&progress, Part::namespace("b"));
        a.synced();
        assert!(progress.covers(&Scope::namespace("a")));
        assert!(!progress.covers(&Scope::namespaces(["a", "b"])));
        a.stopped();
        assert!(!progress.covers(&Scope::namespace("a")));
    }
}
