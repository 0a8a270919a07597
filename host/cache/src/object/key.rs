//! The name of an object within its resource. Answers to client-go's `ObjectName` and `MetaNamespaceKeyFunc`.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use triomphe::{Arc, HeaderSlice};

/// Names an object within its resource: a namespace, empty for cluster-scoped objects, and a name.
///
/// A cheap handle: both are one text, and cloning counts a reference. Ordered by namespace, then name.
#[derive(Clone)]
pub struct ObjectKey {
    /// The bytes of the namespace, and `namespace/name`, or `/name` where there is no namespace.
    inner: Arc<HeaderSlice<u32, str>>,
}

/// Most keys are shorter, and are put together without an allocation.
const ON_STACK: usize = 128;

impl ObjectKey {
    /// `namespace` is empty for cluster-scoped objects.
    pub fn new(namespace: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        let (namespace, name) = (namespace.as_ref(), name.as_ref());
        let len = namespace.len() + 1 + name.len();
        let mut on_stack = [0; ON_STACK];
        let long;
        let text = match on_stack.get_mut(..len) {
            Some(bytes) => {
                bytes[..namespace.len()].copy_from_slice(namespace.as_bytes());
                bytes[namespace.len()] = b'/';
                bytes[namespace.len() + 1..].copy_from_slice(name.as_bytes());
                std::str::from_utf8(bytes).expect("it is made of texts")
            }
            None => {
                long = [namespace, "/", name].concat();
                &long
            }
        };
        let namespace = u32::try_from(namespace.len()).expect("no namespace has 4 GiB");
        Self { inner: Arc::from_header_and_str(namespace, text) }
    }

    /// Empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        &self.text()[..self.namespace_len()]
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        &self.text()[self.namespace_len() + 1..]
    }

    /// Bytes of the text that all clones share.
    pub(crate) fn len(&self) -> usize {
        self.text().len()
    }

    fn text(&self) -> &str {
        &self.inner.slice
    }

    fn namespace_len(&self) -> usize {
        self.inner.header as usize
    }
}

/// The text is no `namespace/name` or `name`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither `namespace/name` nor `name`")]
pub struct ParseKeyError(String);

/// What [`ObjectKey`] shows: client-go's `SplitMetaNamespaceKey`.
impl FromStr for ObjectKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let (namespace, name) = text.split_once('/').unwrap_or(("", text));
        if name.is_empty() || name.contains('/') || (namespace.is_empty() && text.contains('/')) {
            return Err(ParseKeyError(text.to_owned()));
        }
        Ok(Self::new(namespace, name))
    }
}

impl PartialEq for ObjectKey {
    fn eq(&self, other: &Self) -> bool {
        self.namespace_len() == other.namespace_len() && self.text() == other.text()
    }
}

impl Eq for ObjectKey {}

impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, another) = (self.text().as_bytes(), other.text().as_bytes());
        if self.namespace_len() == other.namespace_len() {
            // As long as each other: the texts go by them first, then by the names.
            one.cmp(another)
        } else {
            one[..self.namespace_len()].cmp(&another[..other.namespace_len()])
        }
    }
}

impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for ObjectKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().hash(state);
    }
}

/// `namespace/name`, or `name` where there is no namespace: client-go's `MetaNamespaceKeyFunc`.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.namespace_len() == 0 { self.name() } else { self.text() })
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectKey({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_go_by_namespace_then_name() {
        let keys = [("", "z"), ("a", "b"), ("a", "c"), ("a-", "a"), ("a/", "a"), ("b", "")];
        let keys = keys.map(|(namespace, name)| ObjectKey::new(namespace, name));
        assert!(keys.is_sorted());
        assert_eq!((keys[1].namespace(), keys[1].name()), ("a", "b"));
        assert_eq!([keys[0].to_string(), keys[1].to_string()], ["z", "a/b"]);
    }

    /// What a text names: namespace and name.
    #[track_caller]
    fn check(text: &str, expect: Option<(&str, &str)>) {
        let key: Result<ObjectKey, _> = text.parse();
        let found = key.as_ref().ok().map(|key| (key.namespace(), key.name()));
        assert_eq!(found, expect, "{text:?}");
        if let Ok(key) = key {
            assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn keys_are_read_as_they_are_shown() {
        check("a/b", Some(("a", "b")));
        check("b", Some(("", "b")));
        for bad in ["", "/", "a/", "/b", "a/b/c"] {
            check(bad, None);
        }
    }

    #[test]
    fn keys_of_any_length_are_what_they_were_made_of() {
        for len in ON_STACK - 3..ON_STACK + 3 {
            let name = "n".repeat(len - 2);
            let key = ObjectKey::new("a", &name);
            assert_eq!((key.len(), key.namespace(), key.name()), (len, "a", name.as_str()));
        }
    }

    #[test]
    fn a_slash_in_a_part_does_not_make_two_keys_one() {
        assert_ne!(ObjectKey::new("a/b", "c"), ObjectKey::new("a", "b/c"));
    }
}
