//! What the indexer holds, for the one writer. Answers to client-go's `ThreadSafeStore`.
//!
//! Every write says what became of it, so that the informer can tell exactly that. Each object carries the
//! mark of the last list that showed it, or of the last list before a change did; sweeping a complete list removes the
//! others. An incomplete list sweeps nothing.

use super::index::{Index, IndexFunc};
use super::{Indexer, after_bound};
use crate::object::{Object, ObjectKey, compare_resource_versions};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

#[derive(Debug, Default)]
pub(super) struct Store {
    /// By namespace, then name: a namespace is a range.
    objects: BTreeMap<ObjectKey, Stored>,
    /// Objects in each namespace; none has zero.
    namespaces: HashMap<Box<str>, usize>,
    pub(super) indexes: HashMap<String, Index>,
    /// Those of `indexes`.
    functions: Functions,
    last_index: u64,
    pub(super) resource_version: Option<Box<str>>,
    /// The list in progress, or the last one.
    mark: u64,
    /// The sum over `objects`.
    bytes: usize,
}

#[derive(Debug)]
struct Stored {
    object: Object,
    mark: u64,
}

/// Why an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// A list shows it.
    Listed {
        /// The list is a consistent read: it is right even where its resourceVersion is lower or equal.
        consistent: bool,
    },
    /// A watch reports it.
    Watched,
}

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

impl Store {
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.objects.get(key).map(|stored| &stored.object)
    }

    pub(super) fn range(
        &self,
        namespace: Option<&str>,
        after: Option<&ObjectKey>,
    ) -> impl Iterator<Item = &Object> {
        // No name is empty: the bound comes before every object of the namespace.
        let first = namespace.map(|namespace| ObjectKey::new(namespace, ""));
        let from = match (after, &first) {
            (Some(after), Some(first)) if after < first => Bound::Excluded(first),
            (Some(_), _) => after_bound(after),
            (None, Some(first)) => Bound::Excluded(first),
            (None, None) => Bound::Unbounded,
        };
        let range = self.objects.range((from.cloned(), Bound::Unbounded));
        let namespace: Option<Box<str>> = namespace.map(Into::into);
        range
            .take_while(move |(key, _)| namespace.as_ref().is_none_or(|n| *n == key.namespace))
            .map(|(_, stored)| &stored.object)
    }

    pub(super) fn count(&self, namespace: Option<&str>) -> usize {
        match namespace {
            None => self.objects.len(),
            Some(namespace) => self.namespaces.get(namespace).copied().unwrap_or(0),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Files an object under an index that is being built, unless it was written meanwhile.
    pub(super) fn file_if_current(
        &mut self,
        (name, id): (&str, u64),
        object: &Object,
        values: Vec<String>,
    ) {
        let current = self.objects.get(object.key());
        if current.is_some_and(|stored| stored.object.same_handle(object))
            && let Some(index) = self.indexes.get_mut(name).filter(|index| index.id == id)
        {
            index.file(object.key(), values);
        }
    }

    fn put(&mut self, object: Object, write: Write, filing: Filing) -> Put {
        let mark = self.mark;
        let put = match self.objects.get_mut(object.key()) {
            None => Put::Added,
            Some(stored) => {
                stored.mark = mark;
                match judge(&stored.object, &object, write) {
                    Verdict::Unchanged => return Put::Unchanged,
                    Verdict::Stale => return Put::Stale,
                    Verdict::Newer => {
                        let old = std::mem::replace(&mut stored.object, object.clone());
                        self.bytes -= old.size();
                        if old.uid() == object.uid() {
                            Put::Updated { old }
                        } else {
                            Put::Replaced { old }
                        }
                    }
                }
            }
        };
        self.bytes += object.size();
        self.refile(object.key(), filing);
        if matches!(put, Put::Added) {
            let key = object.key().clone();
            *self.namespaces.entry(key.namespace.clone()).or_default() += 1;
            self.objects.insert(key, Stored { object, mark });
        }
        put
    }

    fn remove(&mut self, key: &ObjectKey, filing: Filing) -> Option<Object> {
        let stored = self.objects.remove(key)?;
        self.bytes -= stored.object.size();
        if let Some(count) = self.namespaces.get_mut(&key.namespace) {
            *count -= 1;
            if *count == 0 {
                self.namespaces.remove(&key.namespace);
            }
        }
        self.refile(key, filing);
        Some(stored.object)
    }

    fn refile(&mut self, key: &ObjectKey, filing: Filing) {
        for (name, (old, new)) in filing.names.iter().zip(filing.values) {
            if let Some(index) = self.indexes.get_mut(&**name) {
                index.unfile(key, &old);
                index.file(key, new);
            }
        }
    }

    /// Adds an index that no reader sees before it is `ready`; answers its identity.
    pub(super) fn insert_index(&mut self, name: &str, function: IndexFunc) -> u64 {
        self.last_index += 1;
        self.indexes.insert(name.to_owned(), Index::new(self.last_index, function));
        self.indexes_changed();
        self.last_index
    }

    pub(super) fn remove_index(&mut self, name: &str) -> bool {
        let removed = self.indexes.remove(name).is_some();
        self.indexes_changed();
        removed
    }

    fn indexes_changed(&mut self) {
        let function =
            |(name, index): (&String, &Index)| (name.as_str().into(), index.function.clone());
        self.functions = self.indexes.iter().map(function).collect();
    }
}

/// The functions of all indexes; another allocation after every change of the set.
type Functions = Arc<[(Arc<str>, IndexFunc)]>;

/// For each index, the values to leave and those to take; worked out before the lock.
struct Filing {
    names: Vec<Arc<str>>,
    values: Vec<(Vec<String>, Vec<String>)>,
}

impl Filing {
    fn new(functions: &Functions, old: Option<&Object>, new: Option<&Object>) -> Self {
        let values = |function: &IndexFunc, object: Option<&Object>| {
            object.map(|object| function.values(object)).unwrap_or_default()
        };
        Self {
            names: functions.iter().map(|(name, _)| name.clone()).collect(),
            values: functions.iter().map(|(_, f)| (values(f, old), values(f, new))).collect(),
        }
    }
}

enum Verdict {
    Newer,
    Unchanged,
    Stale,
}

/// Whether `new` replaces `old`. An older resourceVersion never overwrites a newer one, but for a consistent
/// list: after the server was set back, its numbers are handed out again and mean other bytes.
fn judge(old: &Object, new: &Object, write: Write) -> Verdict {
    let order = compare_resource_versions(new.resource_version(), old.resource_version());
    let set_back = write == Write::Listed { consistent: true };
    let known = !new.resource_version().is_empty();
    match order {
        Some(Ordering::Less) if known && !set_back => Verdict::Stale,
        Some(Ordering::Equal) if known && !set_back && old.uid() == new.uid() => Verdict::Unchanged,
        Some(Ordering::Equal) if old.uid() == new.uid() && old.json() == new.json() => {
            Verdict::Unchanged
        }
        _ => Verdict::Newer,
    }
}

/// The writing side, for the informer's task alone.
impl Indexer {
    /// A list begins: what it does not show will be gone.
    pub(crate) fn begin_list(&self) {
        self.store.write().mark += 1;
    }

    /// Writes an object.
    pub(crate) fn put(&self, object: Object, write: Write) -> Put {
        loop {
            let (functions, old) = self.before_write(object.key());
            let filing = Filing::new(&functions, old.as_ref(), Some(&object));
            let mut store = self.store.write();
            if Arc::ptr_eq(&store.functions, &functions) {
                return store.put(object, write, filing);
            }
        }
    }

    /// Removes what a watch reports as deleted.
    pub(crate) fn delete(&self, deleted: &Object) -> Removed {
        let Some(stored) = self.get(deleted.key()) else { return Removed::Nothing };
        let (new, old) = (deleted.resource_version(), stored.resource_version());
        if compare_resource_versions(new, old) == Some(Ordering::Less) {
            return Removed::Nothing;
        }
        self.remove(deleted.key())
    }

    /// Keys that the list in progress has not shown, after a key, up to `limit`.
    pub(crate) fn not_listed(&self, after: Option<&ObjectKey>, limit: usize) -> Vec<ObjectKey> {
        let store = self.store.read();
        let range = store.objects.range((after_bound(after).cloned(), Bound::Unbounded));
        let gone = range.filter(|(_, stored)| stored.mark != store.mark);
        gone.take(limit).map(|(key, _)| key.clone()).collect()
    }

    /// Removes an object, whatever its version.
    pub(crate) fn remove(&self, key: &ObjectKey) -> Removed {
        loop {
            let (functions, old) = self.before_write(key);
            let filing = Filing::new(&functions, old.as_ref(), None);
            let mut store = self.store.write();
            if Arc::ptr_eq(&store.functions, &functions) {
                return match store.remove(key, filing) {
                    Some(last) => Removed::Gone { last },
                    None => Removed::Nothing,
                };
            }
        }
    }

    /// Everything up to here has been written.
    pub(crate) fn set_resource_version(&self, resource_version: Box<str>) {
        self.store.write().resource_version = Some(resource_version);
    }

    /// What is needed to work out the filing outside of the lock. There is one writer: only the set of
    /// indexes can change before the write, and then it is worked out again.
    fn before_write(&self, key: &ObjectKey) -> (Functions, Option<Object>) {
        let store = self.store.read();
        let functions = store.functions.clone();
        let old = if functions.is_empty() { None } else { store.get(key).cloned() };
        (functions, old)
    }
}
