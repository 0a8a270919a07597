//! The scope that the host lists and watches for plugins: the namespaces that their views name. So
//! a permission in these namespaces is enough.
//!
//! Selectors are no part of it: where a watch has a selector, the API server reports an object that
//! leaves it as deleted, and plugins must see the difference. Several plugins of one resource
//! rarely have the same selectors for long.

use informant_apimachinery::GroupVersionResource;
use informant_cache::{InformerLease, Scope, SharedInformerFactory};
use std::collections::BTreeSet;

/// The most namespaces of one view that are listed and watched individually. A view with more lists and watches all
/// namespaces at once.
pub const NAMESPACES_WATCHED_MAX: usize = 64;

/// The namespaces that are listed and watched for a view of the `named` ones; `None`: all at once.
pub fn watched_namespaces(named: &BTreeSet<String>) -> Option<&BTreeSet<String>> {
    Some(named).filter(|named| (1..=NAMESPACES_WATCHED_MAX).contains(&named.len()))
}

/// The scope of an informer for a view of these namespaces. Invariant 10.
pub fn watched_scope(named: &BTreeSet<String>) -> Scope {
    let watched = watched_namespaces(named);
    watched.map_or_else(Scope::all, |names| Scope::namespaces(names.iter().map(String::as_str)))
}

/// The informer of a resource, which covers these namespaces while the lease is kept. A factory with a narrower scope
/// gives its whole scope.
pub(crate) fn lease(
    informers: &SharedInformerFactory,
    resource: &GroupVersionResource,
    named: &BTreeSet<String>,
) -> InformerLease {
    let lease = informers.lease_of(resource, watched_scope(named));
    lease.unwrap_or_else(|_| informers.lease(resource))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_namespaces_are_watched_each_by_itself() {
        let check = |count: usize, expect: usize| {
            let named: BTreeSet<String> = (0..count).map(|number| format!("n{number}")).collect();
            assert_eq!(watched_namespaces(&named).map_or(0, BTreeSet::len), expect, "{count}");
        };
        check(0, 0);
        check(1, 1);
        check(NAMESPACES_WATCHED_MAX, NAMESPACES_WATCHED_MAX);
        check(NAMESPACES_WATCHED_MAX + 1, 0);
    }
}
