//! The scopes that callers request of an informer. It covers their union.

use crate::list_watch::Part;
use crate::scope::{Scope, union};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The requested scopes, each until it is given back and for a while after.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    asked: Mutex<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    scopes: BTreeMap<u64, DemandEntry>,
    last: u64,
    /// Whether the union may have changed since it was last computed.
    changed: bool,
    /// When the first scope that was given back no longer counts.
    due: Option<Instant>,
    /// Whether the API server refused all namespaces at once when the union was last computed.
    is_refused_whole: bool,
}

#[derive(Debug)]
struct DemandEntry {
    scope: Arc<Scope>,
    given_back: Option<Instant>,
}

impl Demand {
    /// Adds a scope; returns the number with which to give it back.
    pub(crate) fn add(&self, scope: Arc<Scope>) -> u64 {
        let mut asked = self.asked.lock();
        asked.last += 1;
        let id = asked.last;
        asked.scopes.insert(id, DemandEntry { scope, given_back: None });
        asked.changed = true;
        id
    }

    /// The caller needs its scope no longer. The scope counts for `linger`, so a caller that comes
    /// back soon finds it warm. Each scope lingers once, however often callers request it and give
    /// it back.
    pub(crate) fn give_back(&self, id: u64, now: Instant) {
        let mut asked = self.asked.lock();
        let Some(DemandEntry { scope, .. }) = asked.scopes.remove(&id) else { return };
        asked.scopes.retain(|_, other| other.given_back.is_none() || other.scope != scope);
        if asked.scopes.values().all(|other| other.scope != scope) {
            asked.scopes.insert(id, DemandEntry { scope, given_back: Some(now) });
        }
        asked.changed = true;
    }

    /// The parts to list and watch, if they may have changed since the last call. None in it: there
    /// is no request.
    pub(crate) fn changed(
        &self,
        now: Instant,
        linger: Duration,
        is_refused_whole: bool,
    ) -> Option<Option<BTreeSet<Part>>> {
        let mut asked = self.asked.lock();
        let due = asked.due.is_some_and(|due| due <= now);
        asked.changed |= asked.is_refused_whole != is_refused_whole;
        asked.is_refused_whole = is_refused_whole;
        if !std::mem::take(&mut asked.changed) && !due {
            return None;
        }
        let ends =
            |entry: &DemandEntry| entry.given_back.and_then(|since| since.checked_add(linger));
        asked.scopes.retain(|_, entry| ends(entry).is_none_or(|end| end > now));
        asked.due = asked.scopes.values().filter_map(ends).min();
        let scopes = asked.scopes.values().map(|entry| &*entry.scope);
        // Invariant 9.
        let parts = || union::parts(scopes, is_refused_whole);
        Some((!asked.scopes.is_empty()).then(parts))
    }

    /// Whether this holds for every requested scope.
    pub(crate) fn all(&self, holds: impl Fn(&Scope) -> bool) -> bool {
        let asked = self.asked.lock();
        let now = asked.scopes.values().filter(|entry| entry.given_back.is_none());
        now.map(|entry| &entry.scope).all(|scope| holds(scope))
    }

    /// When to compute the union again.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.asked.lock().due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::union::NAMESPACES_MAX;

    fn shown(wanted: Option<Option<BTreeSet<Part>>>) -> Option<String> {
        let parts = wanted?.unwrap_or_default();
        Some(parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn a_scope_that_is_given_back_again_and_again_lingers_once() {
        let (demand, start) = (Demand::default(), Instant::now());
        let linger = Duration::from_secs(60);
        let at = |seconds| start + Duration::from_secs(seconds);
        let scope = Arc::new(Scope::namespace("x"));
        let kept = demand.add(scope.clone());
        for second in 0..10 {
            demand.give_back(demand.add(Arc::new(Scope::namespace("x"))), at(second));
        }
        assert_eq!(demand.asked.lock().scopes.len(), 1, "somebody asks for it still");
        demand.give_back(kept, at(10));
        for second in 11..20 {
            demand.give_back(demand.add(scope.clone()), at(second));
        }
        assert_eq!(demand.asked.lock().scopes.len(), 1);
        assert!(demand.changed(at(78), linger, false).flatten().is_some());
        assert_eq!(demand.due(), Some(at(79)), "it counts from when it was given back last");
        assert_eq!(demand.changed(at(79), linger, false).map(|union| union.is_none()), Some(true));
    }

    #[test]
    fn a_scope_counts_until_it_was_given_back_for_a_while() {
        let (demand, start) = (Demand::default(), Instant::now());
        let linger = Duration::from_secs(60);
        let at = |seconds| start + Duration::from_secs(seconds);
        let shown = |at| shown(demand.changed(at, linger, false));
        let x = demand.add(Arc::new(Scope::namespace("x")));
        demand.add(Arc::new(Scope::namespace("y")));
        assert_eq!(shown(at(0)).as_deref(), Some("namespace x, namespace y"));
        assert_eq!(shown(at(0)), None);
        demand.give_back(x, at(10));
        assert_eq!(shown(at(10)).as_deref(), Some("namespace x, namespace y"));
        assert_eq!(demand.due(), Some(at(70)));
        assert_eq!(shown(at(69)), None);
        assert_eq!(shown(at(70)).as_deref(), Some("namespace y"));
        assert_eq!(demand.due(), None);
    }

    #[test]
    fn more_namespaces_than_are_watched_each_are_watched_at_once() {
        let (demand, now) = (Demand::default(), Instant::now());
        let count = |refused| {
            let wanted = demand.changed(now, Duration::ZERO, refused).flatten();
            wanted.map(|parts| parts.len())
        };
        for number in 0..NAMESPACES_MAX {
            demand.add(Arc::new(Scope::namespace(format!("n{number}"))));
        }
        assert_eq!(count(false), Some(NAMESPACES_MAX));
        demand.add(Arc::new(Scope::namespace("one-more")));
        assert_eq!(count(false), Some(1));
        assert_eq!(count(true), Some(1 + NAMESPACES_MAX));
    }

    /// Invariant 10.
    #[test]
    fn who_asks_for_less_than_what_is_refused_is_served() {
        let (demand, now, linger) = (Demand::default(), Instant::now(), Duration::ZERO);
        let shown = |refused| shown(demand.changed(now, linger, refused));
        demand.add(Arc::new(Scope::namespace("x")));
        demand.add(Arc::new(Scope::all()));
        assert_eq!(shown(false).as_deref(), Some("all namespaces"));
        assert_eq!(shown(true).as_deref(), Some("all namespaces, namespace x"));
        assert_eq!(shown(true), None);
        let y = demand.add(Arc::new(Scope::namespace("y")));
        assert_eq!(shown(true).as_deref(), Some("all namespaces, namespace x, namespace y"));
        demand.give_back(y, now);
        assert_eq!(shown(false).as_deref(), Some("all namespaces"));
    }
}
