//! The resourceVersion of each part of an informer's scope, for a reader of one object.
//!
//! client-go's store has one resourceVersion. Here an informer may follow several namespaces, each at its own pace.
//! The store's resourceVersion is that of the part furthest behind. It says too little about an object in another
//! part.

use super::state::IndexerState;
use super::tree::{Keyed, Tree};
use crate::object::{Object, compare_resource_versions};
use crate::scope::Scope;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One part.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    /// Its number, which no other part of the store has.
    pub(crate) part: u64,
    /// The scope of its objects.
    pub(crate) selection: Arc<Scope>,
    /// All of them up to here are written. `None` before the end of the part's first list.
    pub(crate) resource_version: Option<Arc<str>>,
}

impl Keyed for Reached {
    type Key = u64;
    fn key(&self) -> &u64 {
        &self.part
    }
}

impl Reached {
    fn is(&self, part: u64, resource_version: Option<&str>) -> bool {
        self.part == part && self.resource_version.as_deref() == resource_version
    }
}

/// Sets the known parts. Returns whether that changed anything.
pub(super) fn set<'a>(
    known: &mut Tree<Reached>,
    parts: impl Iterator<Item = (u64, &'a Arc<Scope>, Option<&'a str>)> + Clone,
) -> bool {
    let mut changed = false;
    for (part, selection, resource_version) in parts.clone() {
        if known.get(&part).is_none_or(|one| !one.is(part, resource_version)) {
            let resource_version = resource_version.map(Into::into);
            known.insert(Reached { part, selection: selection.clone(), resource_version });
            changed = true;
        }
    }
    // Each of `parts` is known now, so further ones are gone. That is rare; this check runs at each write.
    if known.len() > parts.clone().count() {
        let wanted: BTreeSet<u64> = parts.map(|(part, _, _)| part).collect();
        let all: Vec<u64> = known.iter().map(|one| one.part).collect();
        all.iter().filter(|part| !wanted.contains(part)).for_each(|part| _ = known.remove(part));
        changed = true;
    }
    changed
}

impl IndexerState {
    /// The resourceVersion up to which everything that concerns this object is written, whether or not the object is
    /// in the store. If several parts show the object, the highest one counts: everything that any part has shown is
    /// written. Invariant 7.
    pub(super) fn resource_version_for(&self, object: &Object) -> Option<&str> {
        let shows = |one: &&Reached| one.selection.selects(object);
        let mut parts = self.reached.iter().filter(shows).peekable();
        if parts.peek().is_none() {
            return self.resource_version.as_deref();
        }
        let reached = parts.filter_map(|one| one.resource_version.as_deref());
        reached.reduce(|most, other| {
            let less = compare_resource_versions(most, other) == Some(Ordering::Less);
            if less { other } else { most }
        })
    }
}
