//! The list and watch of one resource, for a reflector. Answers to client-go's `ListerWatcher`.
//!
//! Errors are sorted by the reflector's next step, not by their origin.

mod page_trail;
mod part;

pub(crate) use page_trail::PageTrail;
pub use part::{ListTweaks, ListTweaksError, Part, QueryParameters};

use crate::object::{DecodeError, Object};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use informant_apimachinery::{GroupVersionResource, Status, reason};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Gives each resource its [`ListerWatcher`].
pub trait ListerWatcherSource: Send + Sync {
    /// The way to list and watch one part of `gvr`, which need not exist.
    fn lister_watcher(&self, gvr: &GroupVersionResource, part: &Part) -> Arc<dyn ListerWatcher>;
}

/// One lister-watcher for everything.
pub(crate) struct OneListerWatcher(pub(crate) Arc<dyn ListerWatcher>);

impl ListerWatcherSource for OneListerWatcher {
    fn lister_watcher(&self, _: &GroupVersionResource, _: &Part) -> Arc<dyn ListerWatcher> {
        self.0.clone()
    }
}

/// Lists and watches one part of one resource.
pub trait ListerWatcher: Send + Sync + 'static {
    /// Asks for one page. The objects stream in; [`ListEvent::End`] comes last or the page is not whole.
    fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>>;

    /// Opens a watch. The stream ends cleanly when the server's time is up.
    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>>;

    /// Whether the server's discovery knows the resource. Asked when a resource that was listed before answers 404: only a
    /// clear `false` empties the cache, so what cannot be asked is an error or `true`, which is the default.
    fn is_served(&self) -> BoxFuture<'_, Result<bool, ListWatchError>> {
        Box::pin(std::future::ready(Ok(true)))
    }
}

/// What a list sends.
pub type ListStream = BoxStream<'static, Result<ListEvent, ListWatchError>>;
/// What a watch sends.
pub type WatchStream = BoxStream<'static, Result<WatchEvent, ListWatchError>>;

/// What one page is asked for. The reflector asks for consistent reads only: `reflector/state.rs` says why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// None: a consistent read. Else the answer is not older than this. Left out on further pages.
    pub not_older_than: Option<Box<str>>,
    /// Objects in a page; 0 is all.
    pub limit: u32,
    /// From the page before.
    pub continue_token: Option<Box<str>>,
    /// Sent as they are, beside what the protocol needs.
    pub parameters: QueryParameters,
}

/// What a watch is asked for. Bookmarks are always wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchOptions {
    /// Where to go on; empty only for a watch-list, which then begins with a consistent read.
    pub resource_version: Box<str>,
    /// Asks for a watch-list: all objects first, then a bookmark that says so, then changes.
    pub send_initial_events: bool,
    /// When the server ends the watch.
    pub timeout: Duration,
    /// Sent as they are, beside what the protocol needs.
    pub parameters: QueryParameters,
}

/// A piece of a page.
#[derive(Clone, Debug)]
pub enum ListEvent {
    /// An object of the list, and when its bytes were read.
    Object(Object, Instant),
    /// An item that cannot be read; the others can.
    Malformed(Arc<DecodeError>),
    /// The page is whole.
    End {
        /// The list's.
        resource_version: Box<str>,
        /// There is a next page.
        continue_token: Option<Box<str>>,
    },
}

/// An event of a watch.
#[derive(Clone, Debug)]
pub enum WatchEvent {
    /// An object changed; when the bytes were read.
    Changed(Change, Object, Instant),
    /// Everything up to this resourceVersion has been sent.
    Bookmark {
        /// How far the watch has come.
        resource_version: Box<str>,
        /// The initial events of a watch-list are complete: the annotation is there and says `true`.
        initial_events_end: bool,
    },
    /// An event that cannot be read; the stream goes on.
    Malformed(Arc<DecodeError>),
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// `ADDED`
    Added,
    /// `MODIFIED`
    Modified,
    /// `DELETED`
    Deleted,
}

/// Why a list or watch failed, by what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListWatchError {
    /// 410: the resourceVersion or continue token is forgotten. List anew.
    #[error("resource version is too old: {message}")]
    Expired {
        /// The server's words.
        message: String,
    },
    /// The server has not come as far as the resourceVersion, or never will. Wait, then list without one.
    #[error("resource version is ahead of the server: {message}")]
    TooLargeResourceVersion {
        /// The server's words.
        message: String,
    },
    /// 403: wait for the permission.
    #[error("not allowed: {message}")]
    Forbidden {
        /// The server's words, which name user, verb and resource.
        message: String,
    },
    /// 401: wait for credentials that are accepted.
    #[error("credentials are not accepted: {message}")]
    Unauthorized {
        /// The server's words.
        message: String,
    },
    /// 404: the resource is not served; wait until it is.
    #[error("resource is not served: {message}")]
    NotFound {
        /// The server's words.
        message: String,
    },
    /// 429: do the same again, later.
    #[error("server asks for patience: {message}")]
    TooManyRequests {
        /// The server's words.
        message: String,
        /// At least this long.
        retry_after: Option<Duration>,
    },
    /// 400, 405, 406 or 422: the server does not understand the options, or cannot do this with the resource.
    #[error("request is not understood: {message}")]
    BadRequest {
        /// The server's words.
        message: String,
    },
    /// 500 while watching: the server lost the thread, changes may be missing. List anew.
    #[error("server failed: {message}")]
    Internal {
        /// The server's words.
        message: String,
    },
    /// The answer, or a part of it, is not what Kubernetes sends: a proxy's page, a Table, broken JSON.
    #[error("answer cannot be read: {message}")]
    Unreadable {
        /// What it is instead.
        message: String,
    },
    /// A stream ended cleanly before it was complete.
    #[error("{message}")]
    Incomplete {
        /// Which one.
        message: String,
    },
    /// Nothing came for longer than the server may be silent: the connection is taken for dead.
    #[error("{message}")]
    Silent {
        /// On what.
        message: String,
    },
    /// The server was set back, as an etcd that was restored from a backup: its resourceVersions mean other
    /// changes now. Everything is listed anew. What was built on resourceVersions elsewhere is void.
    #[error("server was set back: {message}")]
    Rewound {
        /// How that showed.
        message: String,
    },
    /// No connection can be made: the server is away. Do the same again, later.
    #[error("{message}")]
    Unreachable {
        /// What happened.
        message: String,
    },
    /// A connection that broke off, 5xx and the like: do the same again, later.
    #[error("{message}")]
    Transient {
        /// What happened.
        message: String,
    },
}

/// Bytes of a server's message that are kept. An API server's own messages are shorter; those of a proxy or an aggregated
/// server have no bound.
const MESSAGE_BYTES_MAX: usize = 1 << 10;

impl ListWatchError {
    /// Sorts a `Status` that answers a request or ends a watch.
    pub fn from_status(status: &Status, retry_after: Option<Duration>) -> Self {
        let message = match status.message.as_str() {
            "" => format!("{:.100} ({})", status.reason, status.code),
            message => cut(message),
        };
        let details = status.details.as_ref();
        let said = details.map_or(0, |details| details.retry_after_seconds);
        let retry_after = retry_after.or((said > 0).then(|| Duration::from_secs(said.into())));
        if is_too_large_resource_version(status) {
            return Self::TooLargeResourceVersion { message };
        }
        match (status.code, &*status.reason) {
            (410, _) | (_, reason::EXPIRED | reason::GONE) => Self::Expired { message },
            (403, _) => Self::Forbidden { message },
            (401, _) => Self::Unauthorized { message },
            (404, _) => Self::NotFound { message },
            (429, _) => Self::TooManyRequests { message, retry_after },
            (503, _) if retry_after.is_some() => Self::TooManyRequests { message, retry_after },
            (400 | 405 | 406 | 422, _) => Self::BadRequest { message },
            (500, _) => Self::Internal { message },
            (_, _) => Self::Transient { message },
        }
    }

    /// An answer that is not what Kubernetes sends. The text of an error may have a part of the answer, of any length.
    pub(crate) fn unreadable(message: &str) -> Self {
        Self::Unreadable { message: cut(message) }
    }

    /// A failure below the API: a broken connection, or nonsense on it.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::Transient { message: message.into() }
    }
}

/// A server's words as far as they are kept, shown and logged.
fn cut(message: &str) -> String {
    let end = message.floor_char_boundary(MESSAGE_BYTES_MAX);
    match message.len() - end {
        0 => message.to_owned(),
        more => format!("{} … ({more} bytes more)", &message[..end]),
    }
}

/// Three ways in which servers say it (client-go `tools/cache/reflector.go`, `isTooLargeResourceVersionError`).
fn is_too_large_resource_version(status: &Status) -> bool {
    let text = "Too large resource version";
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let mut causes = causes.map(|cause| (&*cause.reason, cause.message.as_str()));
    causes.any(|(word, message)| word == reason::RESOURCE_VERSION_TOO_LARGE || message == text)
        || (status.reason == reason::TIMEOUT && status.message.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: &Status, expect: &str) {
        let error = ListWatchError::from_status(status, None);
        let shown = format!("{error:?}");
        assert!(shown.starts_with(expect), "{shown} does not start with {expect}");
    }

    #[test]
    fn a_servers_words_are_kept_up_to_their_bound() {
        let status = |text: &str| Status::failure(403, reason::FORBIDDEN, text);
        let of = |text: &str| ListWatchError::from_status(&status(text), None).to_string();
        assert!(of(&"x".repeat(MESSAGE_BYTES_MAX)).ends_with("xx"));
        let long = of(&"é".repeat(MESSAGE_BYTES_MAX));
        assert!(long.ends_with("é … (1024 bytes more)"), "{long}");
        let labels = format!(r#"{{"metadata":{{"name":"a","labels":"{}"}}}}"#, "x".repeat(1 << 20));
        let error = Object::decode(labels.as_bytes(), None).expect_err("labels are no text");
        let text = ListWatchError::unreadable(&error.to_string()).to_string();
        assert!(text.len() < 2 * MESSAGE_BYTES_MAX && text.ends_with("bytes more)"), "{text}");
    }

    #[test]
    fn statuses_are_sorted_by_what_to_do_next() {
        let pods = GroupVersionResource::new("", "v1", "pods");
        check(&Status::too_old_resource_version(3, 9), "Expired");
        check(&Status::failure(410, reason::GONE, "gone"), "Expired");
        check(&Status::too_large_resource_version(9, 3), "TooLargeResourceVersion");
        check(&Status::failure(504, reason::TIMEOUT, "Too large resource version: 9"), "TooLarge");
        check(&Status::failure(504, reason::TIMEOUT, "slow"), "Transient { message: \"slow\" }");
        check(&Status::forbidden(&pods, "", "no"), "Forbidden");
        check(&Status::failure(401, reason::UNAUTHORIZED, "who"), "Unauthorized");
        check(&Status::no_such_resource(), "NotFound");
        check(&Status::bad_request("what"), "BadRequest");
        check(&Status::failure(422, reason::INVALID, "sendInitialEvents"), "BadRequest");
        check(&Status::internal_error("x"), "Internal");
        check(&Status::service_unavailable("x"), "Transient");
        check(&Status::failure(418, "", ""), "Transient { message: \" (418)\" }");
    }

    #[test]
    fn the_servers_word_on_when_to_retry_is_kept() {
        check(
            &Status::too_many_requests("slow down", 7),
            "TooManyRequests { message: \"slow down\", retry_after: Some(7s) }",
        );
    }
}
