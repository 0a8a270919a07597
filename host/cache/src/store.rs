//! A store that its owner writes, without an informer. Answers to client-go's `NewStore` and
//! `NewIndexer` (`tools/cache/store.go`).
//!
//! Every write counts, whatever its resourceVersion, because the owner knows best. Readers have the
//! store's [`Indexer`], as they have an informer's.

use crate::indexer::{Indexer, Put, Removed, Write};
use crate::object::{Object, ObjectKey};

/// Objects by key, written by the store's owner. Cheap to clone; a clone is the same store.
///
/// ```
/// # use informant_cache::{Object, Store};
/// let store = Store::default();
/// let pod = Object::decode(br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#, None)?;
/// assert!(store.put(pod.clone()).is_none());
/// assert_eq!(store.indexer().count(None), 1);
/// assert!(store.remove(pod.key()).is_some());
/// # Ok::<(), informant_cache::DecodeError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Store {
    indexer: Indexer,
}

impl Store {
    /// The indexer, for readers and for indexes.
    pub fn indexer(&self) -> &Indexer {
        &self.indexer
    }

    /// Writes an object; returns the former one of its key.
    pub fn put(&self, object: Object) -> Option<Object> {
        let before = self.indexer.get(object.key());
        let list = Write::Listed { consistent: true };
        match self.indexer.write().put_seen(object, list, None) {
            Put::Added { .. } => None,
            Put::Updated { old, .. } | Put::Completed { old, .. } | Put::Replaced { old, .. } => {
                Some(old)
            }
            Put::Unchanged | Put::Stale => before,
        }
    }

    /// Removes an object; returns it, if it existed.
    pub fn remove(&self, key: &ObjectKey) -> Option<Object> {
        match self.indexer.write().remove(key) {
            Removed::Gone { last } => Some(last),
            Removed::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The store's objects after each step: `a7` writes version 7 of `a`, and `-a` removes it. The version that a step
    /// returns is in front of the colon.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let store = Store::default();
        let version = |object: Option<Object>| {
            object.map_or("-".to_owned(), |object| object.resource_version().to_owned())
        };
        let mut shown = Vec::new();
        for step in steps.split(' ') {
            let answer = match step.strip_prefix('-') {
                Some(name) => store.remove(&ObjectKey::new("", name)),
                None => {
                    let (name, version) = step.split_at(1);
                    let json = format!(
                        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","uid":"u","resourceVersion":"{version}"}}}}"#
                    );
                    let object = Object::decode(json.as_bytes(), None);
                    store.put(object.expect("the test's object is well formed"))
                }
            };
            let now = version(store.indexer().get(&ObjectKey::new("", "a")));
            shown.push(format!("{}:{now}", version(answer)));
        }
        assert_eq!(shown.join(" "), expect, "{steps}");
    }

    #[test]
    fn what_is_written_counts_whatever_was_there() {
        check("a1 a2 a1 a1 -a -a b1", "-:1 1:2 2:1 1:1 1:- -:- -:-");
    }
}
