//! The writing side of the store, for the informer's task. Answers to client-go's `ThreadSafeStoreTransaction`.
//!
//! A batch of writes is made to a state of its own and published at once, when it ends. Every write says what became of it,
//! so that the informer can tell exactly that. Only the end of a complete list removes what it did not show.

use super::index::{Filing, Index, IndexFunc};
use super::judge::{Verdict, Write, judge};
use super::marks::{ListMark, Lists, SeenBy, Slots};
use super::state::{Namespace, State, Stored};
use super::{IndexerError, NAMESPACE_INDEX, Shared};
use crate::object::{Object, ObjectKey, compare_resource_versions};
use crate::sync::MutexGuard;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// States that are kept after others were published, so that the writer and not the last reader frees
/// what only they had. A read is over long before as many batches are; an idle store keeps what so many
/// batches replaced.
const RETIRED_MAX: usize = 4;

/// What became of a write.
#[derive(Clone, Debug)]
pub(crate) enum Put {
    Added,
    Updated {
        old: Object,
    },
    /// The key's object was another one, with another UID.
    Replaced {
        old: Object,
    },
    /// The same version was there.
    Unchanged,
    /// A newer version was there.
    Stale,
}

/// What became of a removal.
#[derive(Clone, Debug)]
pub(crate) enum Removed {
    Gone {
        /// As it was stored.
        last: Object,
    },
    /// It was not there, or a newer object is.
    Nothing,
}

/// What belongs to the writer alone, and its next state.
#[derive(Debug, Default)]
pub(super) struct Writer {
    state: State,
    /// `state` is not what was published last.
    changed: bool,
    slots: Slots,
    lists: Lists,
    /// Those of `state.indexes`, in the same order.
    filings: Vec<Filing>,
    last_index: u64,
    retired: VecDeque<Arc<State>>,
}

/// A batch of writes. No reader sees any of it before it ends, by [`IndexerWrite::publish`] or by being dropped.
/// Other writers wait meanwhile, readers do not.
#[derive(Debug)]
pub(crate) struct IndexerWrite<'a> {
    shared: &'a Shared,
    writer: MutexGuard<'a, Writer>,
}

impl<'a> IndexerWrite<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared, writer: shared.writer.lock() }
    }

    /// The object as of this batch.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.writer.state.get(key)
    }

    /// Writes an object that all parts see.
    #[cfg(test)]
    pub(crate) fn put(&mut self, object: Object, write: Write) -> Put {
        self.writer.put(object, write, SeenBy::Everyone)
    }

    /// Writes an object that one part saw, whose list may be in progress.
    pub(crate) fn put_seen(&mut self, object: Object, write: Write, by: Option<&ListMark>) -> Put {
        self.writer.put(object, write, SeenBy::Part(by))
    }

    /// Removes what a watch reports as deleted.
    pub(crate) fn delete(&mut self, deleted: &Object) -> Removed {
        let Some(stored) = self.get(deleted.key()) else { return Removed::Nothing };
        let (new, old) = (deleted.resource_version(), stored.resource_version());
        if compare_resource_versions(new, old) == Some(Ordering::Less) {
            return Removed::Nothing;
        }
        self.remove(deleted.key())
    }

    /// Removes an object, whatever its version.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Removed {
        match self.writer.remove(key) {
            Some(last) => Removed::Gone { last },
            None => Removed::Nothing,
        }
    }

    /// A list begins. Several may be in progress, each of its part of the scope; whoever begins a part's anew
    /// drops the mark of the one that was interrupted.
    pub(crate) fn begin_list(&mut self) -> ListMark {
        self.writer.lists.begin()
    }

    /// The list is complete: removes objects of its part that neither a list nor a watch has written since
    /// it began, in the order of their keys, up to `limit`. Fewer are the last ones.
    pub(crate) fn sweep(
        &mut self,
        mark: &mut ListMark,
        part: impl Fn(&Object) -> bool,
        limit: usize,
    ) -> Vec<Object> {
        let Writer { state, lists, .. } = &*self.writer;
        let from = mark.swept.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let gone = state
            .objects
            .from(from)
            .filter(|stored| !lists.touched(mark, stored.slot) && part(&stored.object))
            .take(limit);
        let gone: Vec<_> = gone.map(|stored| stored.object.clone()).collect();
        for object in &gone {
            self.writer.remove(object.key());
        }
        mark.swept = gone.last().map(|object| object.key().clone()).or(mark.swept.take());
        gone
    }

    /// Everything up to here is written with this batch.
    pub(crate) fn set_resource_version(&mut self, resource_version: &str) {
        let state = &mut self.writer.state;
        if state.resource_version.as_deref() != Some(resource_version) {
            state.resource_version = Some(resource_version.into());
            self.writer.changed = true;
        }
    }

    /// Shows the batch to readers, all of it at once.
    pub(crate) fn publish(self) {}

    /// Adds an index that no reader sees before [`IndexerWrite::index_is_ready`]; answers its identity.
    pub(super) fn add_index(&mut self, name: &str, func: IndexFunc) -> Result<u64, IndexerError> {
        let writer = &mut *self.writer;
        match writer.state.index(name) {
            Err(at) if name != NAMESPACE_INDEX => {
                writer.last_index += 1;
                writer.changed = true;
                writer.state.indexes.insert(at, Index::new(name, func));
                writer.filings.insert(at, Filing::new(writer.last_index));
                Ok(writer.last_index)
            }
            Ok(_) | Err(_) => Err(IndexerError::IndexExists(name.to_owned())),
        }
    }

    pub(super) fn remove_index(&mut self, name: &str) -> bool {
        let writer = &mut *self.writer;
        let Ok(at) = writer.state.index(name) else { return false };
        writer.changed = true;
        writer.state.indexes.remove(at);
        writer.filings.remove(at);
        true
    }

    /// Files objects under an index that is being built, where they were not written meanwhile. Answers
    /// whether the index is still there.
    pub(super) fn file(&mut self, id: u64, filed: Vec<(Object, Option<Vec<String>>)>) -> bool {
        let writer = &mut *self.writer;
        let Some(at) = writer.filings.iter().position(|filing| filing.id == id) else {
            return false;
        };
        for (object, values) in filed {
            let Some(stored) = writer.state.objects.get(object.key()) else { continue };
            if stored.object.same_handle(&object) && !writer.filings[at].has(stored.slot) {
                let slot = stored.slot;
                writer.state.index_panics += u64::from(values.is_none());
                let (filing, index) = (&mut writer.filings[at], &mut writer.state.indexes[at]);
                filing.set(index, slot, object.key(), values.unwrap_or_default());
                writer.changed = true;
            }
        }
        true
    }

    pub(super) fn index_is_ready(&mut self, id: u64) {
        let writer = &mut *self.writer;
        if let Some(at) = writer.filings.iter().position(|filing| filing.id == id) {
            writer.state.indexes[at].ready = true;
            writer.changed = true;
        }
    }
}

impl Drop for IndexerWrite<'_> {
    fn drop(&mut self) {
        let writer = &mut *self.writer;
        if !std::mem::take(&mut writer.changed) {
            return;
        }
        let before = self.shared.published.replace(Arc::new(writer.state.clone()));
        writer.retired.push_back(before);
        // A state that nobody else has is freed here; nobody can get at it any more.
        writer.retired.retain(|state| Arc::strong_count(state) > 1);
        if writer.retired.len() > RETIRED_MAX {
            writer.retired.pop_front();
        }
    }
}

impl Writer {
    fn put(&mut self, object: Object, write: Write, seen_by: SeenBy<'_>) -> Put {
        let Some(Stored { object: old, slot }) = self.state.objects.get(object.key()).cloned()
        else {
            self.add(object, seen_by);
            return Put::Added;
        };
        self.lists.touch(slot, seen_by, false);
        match judge(&old, &object, write) {
            Verdict::Unchanged => return Put::Unchanged,
            Verdict::Stale => return Put::Stale,
            Verdict::Newer => {}
        }
        self.changed = true;
        self.state.bytes = self.state.bytes - old.size() + object.size();
        self.file(slot, &object);
        let same = old.uid() == object.uid();
        self.state.objects.insert(Stored { object, slot });
        if same { Put::Updated { old } } else { Put::Replaced { old } }
    }

    fn add(&mut self, object: Object, seen_by: SeenBy<'_>) {
        self.changed = true;
        let slot = self.slots.take();
        self.lists.touch(slot, seen_by, true);
        self.state.bytes += object.size();
        self.count(object.key().namespace(), 1);
        self.file(slot, &object);
        self.state.objects.insert(Stored { object, slot });
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Object> {
        let Stored { object, slot } = self.state.objects.remove(key)?;
        self.changed = true;
        self.slots.give_back(slot);
        self.state.bytes -= object.size();
        self.count(key.namespace(), -1);
        for (filing, index) in self.filings.iter_mut().zip(&mut self.state.indexes) {
            filing.clear(index, slot, key);
        }
        Some(object)
    }

    fn file(&mut self, slot: u32, object: &Object) {
        for (filing, index) in self.filings.iter_mut().zip(&mut self.state.indexes) {
            let values = index.function.values(object);
            self.state.index_panics += u64::from(values.is_none());
            filing.set(index, slot, object.key(), values.unwrap_or_default());
        }
    }

    /// One object more or less in a namespace.
    fn count(&mut self, namespace: &str, change: isize) {
        let name: Arc<str> = namespace.into();
        let there = self.state.namespaces.get(&name).cloned();
        let Namespace { name, count } = there.unwrap_or(Namespace { name, count: 0 });
        let count = count.checked_add_signed(change).expect("what is removed was counted");
        if count == 0 {
            self.state.namespaces.remove(&name);
        } else {
            self.state.namespaces.insert(Namespace { name, count });
        }
    }
}
