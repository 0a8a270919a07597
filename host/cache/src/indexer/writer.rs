//! The writing side of the store, for the informer's task. As client-go's `ThreadSafeStoreTransaction`.
//!
//! A batch of writes goes to a private state, which is published at once at its end. Every write returns its result,
//! so that the informer can make exact notifications. Only the end of a complete list removes the objects that it did
//! not show.

mod index_writes;

use super::IndexerShared;
use super::index::Filing;
use super::judge::{Verdict, Write, judge};
use super::marks::{ListMark, Lists, SeenBy, Slots};
use super::packer::{Holds, Packer};
use super::reached;
use super::state::{IndexerState, Namespace, Stored};
use crate::object::{Object, ObjectKey, compare_resource_versions};
use crate::scope::Scope;
use crate::sync::MutexGuard;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// The states that are kept after others were published, so that the writer and not the last reader frees them. A read
/// is over long before as many batches are. An idle store keeps the objects that so many batches replaced.
const RETIRED_MAX: usize = 4;

/// Objects of one step of packing again: a millisecond or two, in which the informer's task does nothing else.
const ANEW_OBJECTS: usize = 128;

/// What a step of deferrable work has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tidying {
    /// Whether another step has work now.
    pub(crate) has_more: bool,
    /// Whether a dictionary is to be trained.
    pub(crate) trains: bool,
}

/// The result of a write. `new` is the written object in its kept form, with its text at hand.
#[derive(Clone, Debug)]
pub(crate) enum Put {
    Added {
        new: Object,
    },
    Updated {
        old: Object,
        new: Object,
    },
    /// The key had another object, with another UID.
    Replaced {
        old: Object,
        new: Object,
    },
    /// The same version was there, as metadata alone.
    Completed {
        old: Object,
        new: Object,
    },
    /// The same version was there.
    Unchanged,
    /// A newer version was there.
    Stale,
}

/// The result of a removal.
#[derive(Clone, Debug)]
pub(crate) enum Removed {
    Gone {
        /// As it was stored.
        last: Object,
    },
    /// The object was not there, or a newer object is.
    Nothing,
}

/// The writer's own data, and its next state.
#[derive(Debug, Default)]
pub(super) struct Writer {
    state: IndexerState,
    /// Whether `state` differs from the published one.
    changed: bool,
    slots: Slots,
    lists: Lists,
    /// Those of `state.indexes`, in the same order.
    filings: Vec<Filing>,
    last_index: u64,
    packer: Packer,
    /// Bytes of the JSON of all objects, as text.
    plain: usize,
    retired: VecDeque<Arc<IndexerState>>,
}

/// A batch of writes. No reader sees its writes before its end, by [`IndexerWrite::publish`] or by a drop, or that of
/// the next batch. Other writers wait meanwhile, readers do not.
#[derive(Debug)]
pub(crate) struct IndexerWrite<'a> {
    shared: &'a IndexerShared,
    writer: MutexGuard<'a, Writer>,
    /// Whether the next batch shows this one's writes.
    unseen: bool,
}

impl<'a> IndexerWrite<'a> {
    pub(super) fn new(shared: &'a IndexerShared) -> Self {
        Self { shared, writer: shared.writer.lock(), unseen: false }
    }

    /// The object in this batch.
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

    /// Notes that a list in progress has shown an object, which another part writes.
    pub(crate) fn see(&mut self, key: &ObjectKey, by: &ListMark) {
        let Writer { state, lists, .. } = &mut *self.writer;
        if let Some(stored) = state.objects.get(key) {
            lists.touch(stored.slot(), SeenBy::Part(Some(by)), false);
        }
    }

    /// Removes an object that a watch reports as deleted.
    pub(crate) fn delete(&mut self, deleted: &Object) -> Removed {
        let Some(stored) = self.get(deleted.key()) else { return Removed::Nothing };
        let (new, old) = (deleted.resource_version(), stored.resource_version());
        if compare_resource_versions(new, old) == Some(Ordering::Less) {
            return Removed::Nothing;
        }
        self.remove(deleted.key())
    }

    /// Removes an object of any version.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Removed {
        match self.writer.remove(key) {
            Some(last) => Removed::Gone { last },
            None => Removed::Nothing,
        }
    }

    /// Keeps no more than an object's metadata.
    pub(crate) fn cut(&mut self, key: &ObjectKey) {
        let Some(stored) = self.writer.state.objects.get(key).cloned() else { return };
        if !stored.object().is_metadata_only() {
            let cut = stored.object().metadata_only();
            self.writer.write(stored.object(), stored.slot(), &cut);
        }
    }

    /// Begins a list. Several may be in progress, each of its part of the scope. A caller that begins a part's list
    /// again drops the mark of the interrupted one.
    pub(crate) fn begin_list(&mut self) -> ListMark {
        self.writer.lists.begin()
    }

    /// The list is complete: removes objects of its part that neither a list nor a watch has written since it began.
    /// Goes by key, up to `limit`; fewer than `limit` are the last ones.
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
            .filter(|stored| !lists.touched(mark, stored.slot()) && part(stored.object()))
            .take(limit);
        let gone: Vec<_> = gone.map(|stored| stored.object().clone()).collect();
        for object in &gone {
            self.writer.remove(object.key());
        }
        mark.swept = gone.last().map(|object| object.key().clone()).or(mark.swept.take());
        gone.iter().map(Object::to_be_read).collect()
    }

    /// Sets the resourceVersion up to which everything is written with this batch.
    pub(crate) fn set_resource_version(&mut self, resource_version: &str) {
        let state = &mut self.writer.state;
        if state.resource_version.as_deref() != Some(resource_version) {
            state.resource_version = Some(resource_version.into());
            self.writer.changed = true;
        }
    }

    /// Packs some objects again if necessary, and decides whether to train a dictionary.
    pub(crate) fn tidy(&mut self) -> Tidying {
        let holds = self.writer.holds();
        let trains = self.writer.packer.look(holds);
        self.writer.pack_anew(ANEW_OBJECTS);
        Tidying { has_more: self.writer.packer.anew().is_some(), trains }
    }

    /// Trains a dictionary. Takes a tenth of a second.
    pub(super) fn train(&mut self) {
        let writer = &mut *self.writer;
        let holds = writer.holds();
        let objects = writer.state.objects.iter().map(Stored::object);
        writer.packer.train(objects, holds);
    }

    #[cfg(test)]
    pub(super) fn pack_anew(&mut self, limit: usize) {
        self.writer.pack_anew(limit);
    }

    /// Sets the progress of each part of the scope with this batch: its number, its scope, its resourceVersion.
    pub(crate) fn set_reached<'p>(
        &mut self,
        parts: impl Iterator<Item = (u64, &'p Arc<Scope>, Option<&'p str>)> + Clone,
    ) {
        let writer = &mut *self.writer;
        writer.changed |= reached::set(&mut writer.state.reached, parts);
    }

    /// Whether another version of the object is stored, or its metadata alone, or none.
    pub(crate) fn is_other(&self, object: &Object) -> bool {
        self.get(object.key()).is_none_or(|stored| {
            stored.resource_version() != object.resource_version()
                || !stored.has_uid_of(object)
                || (stored.is_metadata_only() && !object.is_metadata_only())
        })
    }

    /// Shows the whole batch to readers at once.
    pub(crate) fn publish(self) {}

    /// Ends the batch without showing it: the next published batch shows it. So a long write is made in short steps
    /// and seen in one. A caller that adds or removes an index between two steps publishes the earlier writes.
    pub(crate) fn leave_unseen(mut self) {
        self.unseen = true;
    }
}

impl Drop for IndexerWrite<'_> {
    fn drop(&mut self) {
        let writer = &mut *self.writer;
        if self.unseen || !std::mem::take(&mut writer.changed) {
            return;
        }
        let before = self.shared.published.replace(Arc::new(writer.state.clone()));
        writer.retired.push_back(before);
        // A state without other owners is freed here; no reader can reach it any more.
        writer.retired.retain(|state| Arc::strong_count(state) > 1);
        if writer.retired.len() > RETIRED_MAX {
            writer.retired.pop_front();
        }
    }
}

impl Writer {
    fn put(&mut self, object: Object, write: Write, seen_by: SeenBy<'_>) -> Put {
        let Some(stored) = self.state.objects.get(object.key()).cloned() else {
            return Put::Added { new: self.add(&object, seen_by) };
        };
        let slot = stored.slot();
        self.lists.touch(slot, seen_by, false);
        let verdict = judge(stored.object(), &object, write);
        match verdict {
            Verdict::Unchanged => return Put::Unchanged,
            Verdict::Stale => return Put::Stale,
            Verdict::Newer | Verdict::Completed => {}
        }
        // The writer usually unpacks the old object, and the handlers that get it need not.
        let old = stored.object().to_be_read();
        let new = self.write(&old, slot, &object);
        match verdict {
            Verdict::Completed => Put::Completed { old, new },
            _ if old.has_uid_of(&new) => Put::Updated { old, new },
            _ => Put::Replaced { old, new },
        }
    }

    /// Writes another state of an object; returns it in its kept form.
    fn write(&mut self, old: &Object, slot: u32, object: &Object) -> Object {
        // The metadata of a whole object are not kept as edits of all of it.
        let base = Some(old).filter(|old| old.is_metadata_only() == object.is_metadata_only());
        let new = self.packer.pack(object, base, self.plain);
        self.file(slot, &new);
        self.replace(old, slot, &new);
        self.state.edit();
        new
    }

    fn add(&mut self, object: &Object, seen_by: SeenBy<'_>) -> Object {
        self.changed = true;
        let new = self.packer.pack(object, None, self.plain);
        let slot = self.slots.take();
        self.lists.touch(slot, seen_by, true);
        self.count(new.key().namespace(), 1);
        self.file(slot, &new);
        let stored = Stored::new(&new, slot);
        let object = stored.object();
        self.state.bytes += object.size();
        self.state.metadata_only += usize::from(object.is_metadata_only());
        self.plain += object.json_len();
        self.state.insert(stored);
        new
    }

    /// Replaces one object of a key by another.
    fn replace(&mut self, old: &Object, slot: u32, new: &Object) {
        self.changed = true;
        let stored = Stored::new(new, slot);
        let object = stored.object();
        self.state.bytes = self.state.bytes - old.at_rest().size() + object.size();
        self.state.metadata_only += usize::from(object.is_metadata_only());
        self.state.metadata_only -= usize::from(old.is_metadata_only());
        self.plain = self.plain - old.json_len() + object.json_len();
        self.state.objects.insert(stored);
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Object> {
        let stored = self.state.remove(key)?;
        let (object, slot) = (stored.object(), stored.slot());
        self.changed = true;
        self.slots.give_back(slot);
        self.state.bytes -= object.size();
        self.state.metadata_only -= usize::from(object.is_metadata_only());
        self.plain -= object.json_len();
        self.count(key.namespace(), -1);
        for (filing, index) in self.filings.iter_mut().zip(&mut self.state.indexes) {
            filing.clear(index, slot, key);
        }
        Some(object.to_be_read())
    }

    fn holds(&self) -> Holds {
        let listed = self.state.resource_version.is_some();
        Holds { objects: self.state.objects.len(), plain: self.plain, listed }
    }

    /// Packs up to `limit` objects again that were packed with another dictionary than the present one.
    fn pack_anew(&mut self, limit: usize) {
        let Some(after) = self.packer.anew() else { return };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let old =
            self.state.objects.from(from).filter(|stored| self.packer.is_old(stored.object()));
        let old: Vec<Stored> = old.take(limit).cloned().collect();
        let last = old.last().filter(|_| old.len() == limit);
        let last = last.map(|stored| stored.object().key().clone());
        for stored in old {
            let new = self.packer.pack_anew(stored.object(), self.plain);
            self.replace(stored.object(), stored.slot(), &new);
        }
        self.packer.packed_anew(last);
    }

    fn file(&mut self, slot: u32, object: &Object) {
        for (filing, index) in self.filings.iter_mut().zip(&mut self.state.indexes) {
            let values = index.function.values(object);
            self.state.index_panics += u64::from(values.is_none());
            filing.set(index, slot, object.key(), values.unwrap_or_default());
        }
    }

    /// Changes the number of objects in a namespace.
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
