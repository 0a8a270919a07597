//! The scope of one list or watch, in the API server's form, and its tuning. As client-go's `TweakListOptionsFunc` and
//! the namespace of its factories. An informer's scope consists of parts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The scope of one list or watch: all namespaces or one, the objects that both selectors select, and how much of each
/// object. The default is everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Part {
    /// `None`: all namespaces, and the only choice for a resource without namespaces.
    pub namespace: Option<Box<str>>,
    /// `app=web,tier!=db`, as Kubernetes writes it; empty selects everything.
    pub label_selector: String,
    /// `metadata.name=web`, as Kubernetes writes it; empty selects everything. The supported fields depend on the
    /// resource; the server refuses others.
    pub field_selector: String,
    /// Whether only the objects' metadata are wanted, as `PartialObjectMetadata` of `meta.k8s.io/v1` (client-go's
    /// `metadatainformer`). The informer cuts whole objects of a source without that form.
    pub metadata_only: bool,
}

impl Part {
    /// Everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// Everything in one namespace.
    pub fn namespace(namespace: impl Into<Box<str>>) -> Self {
        Self { namespace: Some(namespace.into()), ..Self::default() }
    }

    /// Whether its namespace is a valid name (an RFC 1123 label): it becomes a part of a path.
    pub fn has_valid_namespace(&self) -> bool {
        self.namespace.as_deref().is_none_or(|name| {
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            let ends = [name.as_bytes().first(), name.as_bytes().last()];
            (1..=63).contains(&name.len())
                && ends.into_iter().flatten().all(|byte| plain(*byte))
                && name.bytes().all(|byte| plain(byte) || byte == b'-')
        })
    }

    /// Whether every object of the resource belongs to it.
    pub fn is_all(&self) -> bool {
        self.namespace.is_none() && self.label_selector.is_empty() && self.field_selector.is_empty()
    }
}

/// As text for people: `all namespaces`, `namespace kube-system, labels app=web`.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            None => f.write_str("all namespaces")?,
            Some(namespace) => write!(f, "namespace {namespace}")?,
        }
        if !self.label_selector.is_empty() {
            write!(f, ", labels {}", self.label_selector)?;
        }
        if !self.field_selector.is_empty() {
            write!(f, ", fields {}", self.field_selector)?;
        }
        if self.metadata_only {
            f.write_str(", metadata only")?;
        }
        Ok(())
    }
}

/// The options of lists and watches. The default suits every known server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListTweaks {
    page_size: u32,
    watch_list: bool,
    min_watch_timeout: Duration,
    parameters: QueryParameters,
}

/// Parameters that are sent with every list and watch, beside those of the protocol.
pub type QueryParameters = Arc<[(Box<str>, Box<str>)]>;

/// An invalid tweak.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListTweaksError {
    /// The reflector sets this parameter itself, or it comes from the [`Part`].
    #[error("query parameter {0:?} is not for the caller to set")]
    Reserved(Box<str>),
    /// The name is empty or has other characters than letters, digits, `.`, `-` and `_`.
    #[error(
        "query parameter {0:?} has a name that cannot be sent: use letters, digits, '.', '-' and '_'"
    )]
    Name(Box<str>),
    /// The parameters exceed the length that every request line can carry.
    #[error("query parameters have {bytes} bytes, more than {max}")]
    TooLong {
        /// The bytes of names and values together.
        bytes: usize,
        /// The bound.
        max: usize,
    },
}

/// The parameters that the reflector sets.
const RESERVED: [&str; 11] = [
    "watch",
    "allowWatchBookmarks",
    "timeoutSeconds",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "limit",
    "continue",
    "labelSelector",
    "fieldSelector",
    "pretty",
];

impl Default for ListTweaks {
    fn default() -> Self {
        Self {
            page_size: 500,
            watch_list: true,
            min_watch_timeout: Self::MIN_WATCH_TIMEOUT,
            parameters: Arc::default(),
        }
    }
}

impl ListTweaks {
    /// The most objects in a page: the API server's own bound is about here, and it holds a whole page in memory.
    pub const PAGE_SIZE_MAX: u32 = 10_000;
    /// client-go's `minWatchTimeout`: the shortest requested lifetime.
    pub const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(300);
    /// No known server ends a longer watch; at most twice this is requested.
    pub const MIN_WATCH_TIMEOUT_MAX: Duration = Duration::from_secs(86_400);
    /// The most bytes of names and values of extra parameters: a request line of 8 KiB passes every proxy, and
    /// selectors need room as well.
    pub const PARAMETER_BYTES_MAX: usize = 2048;

    /// The objects in a page, 500 by default; limited to between 1 and [`ListTweaks::PAGE_SIZE_MAX`].
    #[must_use]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.page_size = objects.clamp(1, Self::PAGE_SIZE_MAX);
        self
    }

    /// Whether watch-lists are tried; they are by default. Without them objects are listed in pages.
    #[must_use]
    pub fn watch_list(mut self, on: bool) -> Self {
        self.watch_list = on;
        self
    }

    /// The server is asked to end a watch between this and twice this. Limited to between
    /// [`ListTweaks::MIN_WATCH_TIMEOUT`], as in client-go, and [`ListTweaks::MIN_WATCH_TIMEOUT_MAX`]. If the server
    /// sends no bookmarks, it is also the longest time before a dead connection is noticed. The client that makes the
    /// connections may keep them alive.
    #[must_use]
    pub fn min_watch_timeout(mut self, timeout: Duration) -> Self {
        self.min_watch_timeout =
            timeout.clamp(Self::MIN_WATCH_TIMEOUT, Self::MIN_WATCH_TIMEOUT_MAX);
        self
    }

    /// Adds a parameter to every list and watch, for example `shardSelector`.
    pub fn parameter(mut self, name: &str, value: &str) -> Result<Self, ListTweaksError> {
        if RESERVED.contains(&name) {
            return Err(ListTweaksError::Reserved(name.into()));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if name.is_empty() || !name.bytes().all(plain) {
            return Err(ListTweaksError::Name(name.into()));
        }
        let before = self.parameters.iter().map(|(name, value)| name.len() + value.len());
        let bytes = before.sum::<usize>() + name.len() + value.len();
        if bytes > Self::PARAMETER_BYTES_MAX {
            return Err(ListTweaksError::TooLong { bytes, max: Self::PARAMETER_BYTES_MAX });
        }
        let mut parameters = self.parameters.to_vec();
        parameters.push((name.into(), value.into()));
        self.parameters = parameters.into();
        Ok(self)
    }

    /// Objects in a page.
    pub(crate) fn page_objects(&self) -> u32 {
        self.page_size
    }

    /// Whether watch-lists are tried.
    pub(crate) fn tries_watch_lists(&self) -> bool {
        self.watch_list
    }

    /// The range in which the server is asked to end a watch.
    pub(crate) fn watch_timeout(&self) -> (Duration, Duration) {
        (self.min_watch_timeout, self.min_watch_timeout * 2)
    }

    /// The parameters beside the protocol's own.
    pub(crate) fn parameters(&self) -> QueryParameters {
        self.parameters.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_say_what_they_cover() {
        let part = Part { label_selector: "app=web".to_owned(), ..Part::namespace("n") };
        assert_eq!(part.to_string(), "namespace n, labels app=web");
        let part = Part { metadata_only: true, ..part };
        assert_eq!(part.to_string(), "namespace n, labels app=web, metadata only");
        assert_eq!(Part::all().to_string(), "all namespaces");
        assert!(Part::all().is_all() && !part.is_all());
    }

    #[test]
    fn namespaces_that_would_lead_elsewhere_in_a_path_are_none() {
        let valid = |name: &str| Part::namespace(name).has_valid_namespace();
        assert!(Part::all().has_valid_namespace());
        assert!(["n", "kube-system", "1", &"x".repeat(63)].into_iter().all(valid));
        let bad = ["", "..", "a/b", "a?b", "a%2fb", "-a", "a-", "A", "a.b", &"x".repeat(64)];
        assert!(!bad.into_iter().any(valid));
    }

    #[test]
    fn tweaks_are_held_within_their_bounds() {
        let tweaks = ListTweaks::default().page_size(0).min_watch_timeout(Duration::ZERO);
        assert_eq!(tweaks.page_objects(), 1);
        assert_eq!(tweaks.watch_timeout().0, ListTweaks::MIN_WATCH_TIMEOUT);
        let tweaks = tweaks.page_size(u32::MAX).min_watch_timeout(Duration::MAX);
        assert_eq!(tweaks.page_objects(), ListTweaks::PAGE_SIZE_MAX);
        assert_eq!(tweaks.watch_timeout().1, 2 * ListTweaks::MIN_WATCH_TIMEOUT_MAX);
    }

    #[test]
    fn parameters_that_are_not_the_callers_are_refused() {
        let refused = |name: &str, value: &str| {
            ListTweaks::default().parameter(name, value).expect_err("refused")
        };
        assert_eq!(refused("limit", "1"), ListTweaksError::Reserved("limit".into()));
        assert_eq!(refused("a b", "1"), ListTweaksError::Name("a b".into()));
        assert_eq!(refused("", "1"), ListTweaksError::Name("".into()));
        let long = "x".repeat(ListTweaks::PARAMETER_BYTES_MAX);
        assert_eq!(refused("a", &long), ListTweaksError::TooLong { bytes: 2049, max: 2048 });
        let tweaks = ListTweaks::default().parameter("shardSelector", "a,b").expect("accepted");
        assert_eq!(*tweaks.parameters(), [("shardSelector".into(), "a,b".into())]);
    }
}
