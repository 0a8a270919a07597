//! The state of an informer, for callers that wait, for metrics and for people.

mod part_states;
mod progress;

pub(crate) use progress::{PartProgress, Progress};

use crate::list_watch::ListWatchError;
use crate::relist_cause::RelistCause;
use std::time::Duration;

/// The state of an informer. It leaves every state but `Stopped` by itself. If its scope has several parts
/// (namespaces), the state is that of the worst part, and the message names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InformerState {
    /// Not started.
    Created,
    /// The first list is not complete.
    Syncing {
        /// What delays it, if the API server cannot be reached or failed.
        message: Option<String>,
    },
    /// The cache is complete and the watch follows it.
    Synced,
    /// The cache is complete, but the API server cannot be reached or asks for patience: it may be stale.
    Stale {
        /// The last failure.
        message: String,
    },
    /// The API server does not serve the resource. The informer tries again as soon as the resource's definition
    /// changes, and from time to time. If the resource existed before, its objects are removed once discovery has
    /// confirmed its absence.
    Waiting {
        /// The last failure.
        message: String,
    },
    /// The credentials may not list or watch the resource: tried again with growing pauses.
    Forbidden {
        /// The server's message.
        message: String,
    },
    /// Stopped for good.
    Stopped {
        /// The reason, if it was not requested.
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

    /// The problem, if there is one.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Created | Self::Synced => None,
            Self::Stale { message } | Self::Waiting { message } | Self::Forbidden { message } => {
                Some(message)
            }
            Self::Syncing { message } | Self::Stopped { message } => message.as_deref(),
        }
    }

    /// Whether the informer is as far as it can be for now: it has synced, or the API server has given a reason why it
    /// cannot. A server that cannot be reached has given none.
    pub const fn is_settled(&self) -> bool {
        !matches!(self, Self::Created | Self::Syncing { .. })
    }

    /// The rank of the state, the worst highest: unknown objects, then refusals of the API server, then stale ones.
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

    /// The state after a failure. A failure that says nothing about the resource gives the state of a synced informer.
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

/// The counts of an informer so far.
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
    /// Objects in lists.
    pub listed: u64,
    /// Failed lists and watches.
    pub errors: u64,
    /// Unreadable objects and events.
    pub malformed: u64,
    /// Objects on which the transform failed; they are cached unchanged.
    pub transform_failures: u64,
    /// Handlers that were added and not removed.
    pub handlers: usize,
    /// Panics of handlers.
    pub handler_panics: u64,
    /// Lists by cause, with the first one.
    pub relists: Vec<(RelistCause, u64)>,
    /// How often the API server was found to be set back (an etcd restored from a backup). ResourceVersions of
    /// different epochs cannot be compared.
    pub epoch: u64,
    /// The time since the last event, bookmark or object from the API server.
    pub last_event_age: Option<Duration>,
    /// Objects in the cache.
    pub objects: usize,
    /// Bytes of the objects in the cache, at rest.
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
        // A server without watch-lists answers so before a list in pages.
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
    fn parts_that_select_less_are_not_the_state_of_a_scope() {
        let progress = Arc::new(Progress::new(Instant::now()));
        let of = |scope: &Scope| progress.state_in(scope).as_str();
        let web = Scope::all().with_labels("app=web".parse().expect("a selector"));
        let part = Part { label_selector: "app=web".to_owned(), ..Part::all() };
        let selected = PartProgress::started(&progress, part);
        assert_eq!((of(&web), of(&Scope::all())), ("syncing", "syncing"));
        selected.synced();
        assert_eq!((of(&web), of(&Scope::all())), ("synced", "syncing"));
        assert!(progress.covers(&web.clone().in_namespace("a")));
        // Another reader wants everything, which is not there yet.
        let all = PartProgress::started(&progress, Part::all());
        assert_eq!((of(&web), of(&Scope::all())), ("synced", "syncing"));
        all.synced();
        selected.stopped();
        assert_eq!((of(&web), of(&Scope::all())), ("synced", "synced"));
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
