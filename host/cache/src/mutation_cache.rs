//! Reads that contain the caller's own writes before the informer does. Answers to client-go's
//! `MutationCache` (`tools/cache/mutation_cache.go`).
//!
//! A controller's writes are laid over the cache until the informer has seen them. client-go's cache
//! needs the informer's events to tell an object that is not there yet from one that is gone. Here
//! the store's resourceVersion of the object's namespace decides. Nothing is written to the store.

use crate::indexer::{Indexer, IndexerError, Snapshot};
use crate::object::{Object, ObjectKey, compare_resource_versions};
use informant_apimachinery::LabelSelector;
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The most own writes that are kept: those of one busy controller between two updates of its informer. client-go
/// keeps 100.
pub const MUTATIONS_MAX: usize = 1000;
/// The longest time for which an own write is shown, as client-go's callers set it. An informer that is so far behind
/// will not confirm it.
pub const MUTATION_TTL: Duration = Duration::from_mins(5);

/// An [`Indexer`] for a caller that also writes to the cluster.
///
/// Call [`MutationCache::mutated`] with the API server's answer to a create, update or patch, and
/// [`MutationCache::deleted`] after a delete. Each write is shown until the informer's cache has reached its
/// resourceVersion; then only the cache counts. Beyond `mutations_max` the oldest is forgotten: reads may then be as
/// old as the cache. ResourceVersions that are not numbers cannot be compared: then the cache counts.
#[derive(Debug)]
pub struct MutationCache {
    indexer: Indexer,
    ttl: Duration,
    mutations_max: usize,
    mutations: Mutex<Mutations>,
}

#[derive(Debug, Default)]
struct Mutations {
    by_key: BTreeMap<ObjectKey, Mutation>,
    /// The keys of `by_key`, in the order of the writes.
    by_age: BTreeMap<u64, ObjectKey>,
    last: u64,
}

#[derive(Clone, Debug)]
struct Mutation {
    object: Object,
    /// A tombstone: `object` is the deleted object.
    deleted: bool,
    /// `None`: never, because the time to live exceeds the clock's range.
    expires: Option<Instant>,
    /// Its place in `by_age`.
    age: u64,
}

/// The result of a read of a key.
enum Seen {
    /// The object in the store.
    Store,
    /// The own write.
    Own(Object),
    /// None: it was deleted.
    Nothing,
}

impl MutationCache {
    /// A cache with [`MUTATION_TTL`] and [`MUTATIONS_MAX`].
    pub fn new(indexer: Indexer) -> Self {
        Self::with_bounds(indexer, MUTATION_TTL, MUTATIONS_MAX)
    }

    /// `mutations_max` is at least one.
    pub fn with_bounds(indexer: Indexer, ttl: Duration, mutations_max: usize) -> Self {
        let mutations_max = mutations_max.max(1);
        Self { indexer, ttl, mutations_max, mutations: Mutex::default() }
    }

    /// Notes the API server's answer to an own write. An older answer never hides a newer one.
    pub fn mutated(&self, object: Object, now: Instant) {
        self.note(object, false, now);
    }

    /// Notes an own deletion of `object`: its last known version, or the API server's answer. A later version is
    /// shown: the object still exists, because of finalizers or a grace period.
    pub fn deleted(&self, object: Object, now: Instant) {
        self.note(object, true, now);
    }

    /// The number of kept own writes. Confirmed ones are dropped at the next write or read of their key.
    pub fn len(&self) -> usize {
        self.mutations.lock().by_key.len()
    }

    /// Whether no own write is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The object from the informer or the last own write, whichever is newer.
    pub fn get(&self, key: &ObjectKey, now: Instant) -> Option<Object> {
        // The own writes first: then the snapshot contains the changes that confirmed them.
        let mut mutations = self.mutations.lock();
        let snapshot = self.indexer.snapshot();
        match mutations.see(key, &snapshot, now) {
            Seen::Store => snapshot.get(key).cloned(),
            Seen::Own(object) => Some(object),
            Seen::Nothing => None,
        }
    }

    /// Objects of one namespace or of all that the selector matches, by key.
    pub fn list(
        &self,
        namespace: Option<&str>,
        selector: &LabelSelector,
        now: Instant,
    ) -> Vec<Object> {
        let (own, snapshot) = self.own(now);
        let found = snapshot.objects(namespace);
        let found = found.filter(|object| selector.matches(|key| object.label(key))).cloned();
        lay_over(found.collect(), &own, |object| {
            namespace.is_none_or(|namespace| namespace == object.key().namespace())
                && selector.matches(|key| object.label(key))
        })
    }

    /// Objects that the index files under `value`, by key; its function is called for own writes.
    pub fn by_index(
        &self,
        index: &str,
        value: &str,
        now: Instant,
    ) -> Result<Vec<Object>, IndexerError> {
        let (own, snapshot) = self.own(now);
        let found = snapshot.by_index(index, value, 0, None)?.items;
        Ok(lay_over(found, &own, |object| snapshot.is_filed_under(index, value, object)))
    }

    /// The own writes that count, and the state that they are compared with. Other callers wait only for this.
    fn own(&self, now: Instant) -> (OwnWrites, Snapshot) {
        let mut mutations = self.mutations.lock();
        let snapshot = self.indexer.snapshot();
        (mutations.own(&snapshot, now), snapshot)
    }

    fn note(&self, object: Object, deleted: bool, now: Instant) {
        let mut mutations = self.mutations.lock();
        mutations.expire(now);
        let before = mutations.by_key.get(object.key()).map(|mutation| &mutation.object);
        let order = |before: &Object| {
            compare_resource_versions(object.resource_version(), before.resource_version())
        };
        let object = match before {
            Some(before) if order(before) == Some(Ordering::Less) => {
                if !deleted || !before.has_uid_of(&object) {
                    return;
                }
                // Its last version is the written one, whatever its deleter knew.
                before.clone()
            }
            _ => object,
        };
        mutations.forget(object.key());
        if mutations.by_key.len() >= self.mutations_max
            && let Some((_, oldest)) = mutations.by_age.pop_first()
        {
            mutations.by_key.remove(&oldest);
        }
        mutations.last += 1;
        let age = mutations.last;
        mutations.by_age.insert(age, object.key().clone());
        let mutation = Mutation { deleted, expires: now.checked_add(self.ttl), age, object };
        mutations.by_key.insert(mutation.object.key().clone(), mutation);
    }
}

/// `None`: deleted.
type OwnWrites = BTreeMap<ObjectKey, Option<Object>>;

impl Mutations {
    fn forget(&mut self, key: &ObjectKey) {
        if let Some(mutation) = self.by_key.remove(key) {
            self.by_age.remove(&mutation.age);
        }
    }

    /// All have the same time to live, so the oldest are dropped first.
    fn expire(&mut self, now: Instant) {
        while let Some((_, key)) = self.by_age.first_key_value()
            && self.by_key.get(key).is_none_or(|mutation| mutation.has_expired(now))
        {
            let key = key.clone();
            self.forget(&key);
        }
    }

    /// The result for a key; drops an own write that no longer counts.
    fn see(&mut self, key: &ObjectKey, snapshot: &Snapshot, now: Instant) -> Seen {
        self.expire(now);
        let Some(mutation) = self.by_key.get(key) else { return Seen::Store };
        if !mutation.counts(snapshot) {
            self.forget(key);
            return Seen::Store;
        }
        if mutation.deleted { Seen::Nothing } else { Seen::Own(mutation.object.clone()) }
    }

    fn own(&mut self, snapshot: &Snapshot, now: Instant) -> OwnWrites {
        let keys: Vec<_> = self.by_key.keys().cloned().collect();
        let mut own = OwnWrites::new();
        for key in keys {
            match self.see(&key, snapshot, now) {
                Seen::Store => {}
                Seen::Own(object) => drop(own.insert(key, Some(object))),
                Seen::Nothing => drop(own.insert(key, None)),
            }
        }
        own
    }
}

/// The found objects of the store, with the `wanted` own writes laid over them.
fn lay_over(found: Vec<Object>, own: &OwnWrites, wanted: impl Fn(&Object) -> bool) -> Vec<Object> {
    if own.is_empty() {
        return found;
    }
    let found = found.into_iter().filter(|object| !own.contains_key(object.key()));
    let mut all: Vec<Object> = found.collect();
    all.extend(own.values().flatten().filter(|object| wanted(object)).cloned());
    all.sort_by(|left, right| left.key().cmp(right.key()));
    all
}

impl Mutation {
    fn has_expired(&self, now: Instant) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Whether the informer has not reached this write.
    fn counts(&self, snapshot: &Snapshot) -> bool {
        let written = self.object.resource_version();
        match snapshot.get(self.object.key()) {
            Some(stored) => {
                let order = compare_resource_versions(stored.resource_version(), written);
                let same = stored.has_uid_of(&self.object);
                // A deletion may be of exactly the stored version.
                order == Some(Ordering::Less)
                    || (self.deleted && same && order == Some(Ordering::Equal))
            }
            // Not there yet, or gone again.
            None => snapshot.resource_version_for(&self.object).is_none_or(|seen| {
                compare_resource_versions(seen, written) == Some(Ordering::Less)
            }),
        }
    }
}

#[cfg(test)]
mod informer_tests;
#[cfg(test)]
mod tests;
