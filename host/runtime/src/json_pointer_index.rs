//! Indexes that plugins declare. Plugins that ask for the same pointer share one, which goes when the last
//! of them does.
//!
//! An object is filed under so many values and no more: an index costs memory for each, and lies in nobody's queue. Which objects had more is
//! counted, because a plugin that looks for one of the others does not find them.

use crate::descriptor::IndexSpec;
use hashbrown::HashMap;
use informant_apimachinery::GroupVersionResource;
use informant_cache::{IndexFunc, Indexer, Object};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Values of one object in one index: as many as an EndpointSlice has endpoints.
pub(crate) const VALUES_MAX: usize = 1_000;

/// How many plugin versions use each index: by resource and name in the resource's indexer. A clone is the
/// same count.
#[derive(Clone, Default)]
pub(crate) struct SharedIndexes {
    users: Arc<Mutex<HashMap<IndexId, Users>>>,
}

#[derive(Default)]
struct Users {
    count: usize,
    /// Versions of objects that had more values than were filed.
    cut: Arc<AtomicU64>,
}

type IndexId = (GroupVersionResource, String);

/// One plugin version's use of an index. Dropping it ends the use.
pub(crate) struct IndexUse {
    id: IndexId,
    indexer: Indexer,
    indexes: SharedIndexes,
}

impl SharedIndexes {
    /// Makes sure that the index of this pointer exists.
    pub(crate) fn declare(&self, indexer: &Indexer, index: &IndexSpec) -> IndexUse {
        let name = format!("pointer:{}", index.pointer_text);
        let id = (index.resource.clone(), name);
        let cut = {
            let mut users = self.users.lock();
            let users = users.entry(id.clone()).or_default();
            users.count += 1;
            users.cut.clone()
        };
        let pointer = index.pointer.clone();
        let values = move |object: &Object| first(pointer.values(&object.json()), &cut);
        // It exists already if another plugin asked for it first, which is as good. The lock is not held:
        // filing many objects takes a while.
        let _ = indexer.add_index(&id.1, IndexFunc::new(values));
        IndexUse { id, indexer: indexer.clone(), indexes: self.clone() }
    }

    /// How often an object had more values than were filed, by the resource and the pointer of the index.
    pub(crate) fn cut(&self) -> BTreeMap<(String, String), u64> {
        let users = self.users.lock();
        let cut = users.iter().map(|((resource, name), users)| {
            let pointer = name.trim_start_matches("pointer:").to_owned();
            ((resource.to_string(), pointer), users.cut.load(Relaxed))
        });
        cut.collect()
    }
}

/// The first of the values, which come in order and each once.
fn first(mut values: Vec<String>, cut: &AtomicU64) -> Vec<String> {
    if values.len() > VALUES_MAX {
        values.truncate(VALUES_MAX);
        cut.fetch_add(1, Relaxed);
    }
    values
}

impl IndexUse {
    /// The index's name in the shared indexer.
    pub(crate) fn name(&self) -> &str {
        &self.id.1
    }
}

impl Drop for IndexUse {
    fn drop(&mut self) {
        let mut users = self.indexes.users.lock();
        let Some(left) = users.get_mut(&self.id) else { return };
        left.count -= 1;
        if left.count == 0 {
            users.remove(&self.id);
            // Under the lock: whoever declares it next adds it after this.
            self.indexer.remove_index(&self.id.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str) -> IndexSpec {
        IndexSpec {
            resource: "v1/pods".parse().expect("a resource"),
            name: name.to_owned(),
            pointer: "/spec/nodeName".parse().expect("a pointer"),
            pointer_text: "/spec/nodeName".to_owned(),
        }
    }

    #[track_caller]
    fn check(indexer: &Indexer, exists: bool) {
        assert_eq!(indexer.index_values("pointer:/spec/nodeName", 0, None).is_ok(), exists);
    }

    #[test]
    fn an_index_lives_as_long_as_somebody_uses_it() {
        let (indexes, indexer) = (SharedIndexes::default(), Indexer::default());
        let one = indexes.declare(&indexer, &spec("node"));
        let other = indexes.declare(&indexer, &spec("by-node"));
        assert_eq!(one.name(), other.name());
        drop(one);
        check(&indexer, true);
        drop(other);
        check(&indexer, false);
        let again = indexes.declare(&indexer, &spec("node"));
        check(&indexer, true);
        drop(again);
        assert!(indexes.users.lock().is_empty());
    }

    #[test]
    fn values_of_one_object_are_bounded_and_counted() {
        let cut = AtomicU64::new(0);
        let values = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        assert_eq!(first(values(VALUES_MAX), &cut).len(), VALUES_MAX);
        assert_eq!(cut.load(Relaxed), 0);
        assert_eq!(first(values(VALUES_MAX + 1), &cut).len(), VALUES_MAX);
        assert_eq!(cut.load(Relaxed), 1);
    }
}
