//! Indexes that plugins declare. Plugins that ask for the same pointer share one, which goes when the last
//! of them does.

use crate::descriptor::IndexSpec;
use hashbrown::HashMap;
use informant_apimachinery::GroupVersionResource;
use informant_cache::{IndexFunc, Indexer};
use parking_lot::Mutex;
use std::sync::Arc;

/// How many plugin versions use each index: by resource and name in the resource's indexer. A clone is the
/// same count.
#[derive(Clone, Default)]
pub(crate) struct SharedIndexes {
    users: Arc<Mutex<HashMap<IndexId, usize>>>,
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
        *self.users.lock().entry(id.clone()).or_default() += 1;
        // It exists already if another plugin asked for it first, which is as good. The lock is not held:
        // filing many objects takes a while.
        let _ = indexer.add_index(&id.1, IndexFunc::json_pointer(index.pointer.clone()));
        IndexUse { id, indexer: indexer.clone(), indexes: self.clone() }
    }
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
        let Some(count) = users.get_mut(&self.id) else { return };
        *count -= 1;
        if *count == 0 {
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
}
