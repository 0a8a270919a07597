//! Who asks an informer for what: the union of their scopes is what it covers.

use crate::scope::Scope;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The scopes that are asked for, each until it is given back and for a while after.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    asked: Mutex<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    scopes: BTreeMap<u64, Entry>,
    last: u64,
    /// The union may have changed since it was last worked out.
    changed: bool,
    /// When the first scope that was given back counts no more.
    due: Option<Instant>,
}

#[derive(Debug)]
struct Entry {
    scope: Arc<Scope>,
    given_back: Option<Instant>,
}

impl Demand {
    /// Somebody asks; answers by which number it is given back.
    pub(crate) fn add(&self, scope: Arc<Scope>) -> u64 {
        let mut asked = self.asked.lock();
        asked.last += 1;
        let id = asked.last;
        asked.scopes.insert(id, Entry { scope, given_back: None });
        asked.changed = true;
        id
    }

    /// Nobody asks for it any more; it counts for `linger` still, so that who comes back finds it warm. Each scope lingers once: who asks and gives
    /// back all the time takes no more room than who does it once.
    pub(crate) fn give_back(&self, id: u64, now: Instant) {
        let mut asked = self.asked.lock();
        let Some(Entry { scope, .. }) = asked.scopes.remove(&id) else { return };
        asked.scopes.retain(|_, other| other.given_back.is_none() || other.scope != scope);
        if asked.scopes.values().all(|other| other.scope != scope) {
            asked.scopes.insert(id, Entry { scope, given_back: Some(now) });
        }
        asked.changed = true;
    }

    /// The union, if it may have changed since the last call. None in it: nobody asks for anything.
    pub(crate) fn changed(&self, now: Instant, linger: Duration) -> Option<Option<Scope>> {
        let mut asked = self.asked.lock();
        let due = asked.due.is_some_and(|due| due <= now);
        if !std::mem::take(&mut asked.changed) && !due {
            return None;
        }
        let ends = |entry: &Entry| entry.given_back.and_then(|since| since.checked_add(linger));
        asked.scopes.retain(|_, entry| ends(entry).is_none_or(|end| end > now));
        asked.due = asked.scopes.values().filter_map(ends).min();
        Some(Scope::union(asked.scopes.values().map(|entry| &*entry.scope)))
    }

    /// Whether this holds for every scope that somebody asks for now.
    pub(crate) fn all(&self, holds: impl Fn(&Scope) -> bool) -> bool {
        let asked = self.asked.lock();
        let now = asked.scopes.values().filter(|entry| entry.given_back.is_none());
        now.map(|entry| &entry.scope).all(|scope| holds(scope))
    }

    /// When the union has to be looked at again.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.asked.lock().due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(demand.changed(at(78), linger).flatten().is_some());
        assert_eq!(demand.due(), Some(at(79)), "it counts from when it was given back last");
        assert_eq!(demand.changed(at(79), linger).map(|union| union.is_none()), Some(true));
    }

    #[test]
    fn a_scope_counts_until_it_was_given_back_for_a_while() {
        let (demand, start) = (Demand::default(), Instant::now());
        let linger = Duration::from_secs(60);
        let at = |seconds| start + Duration::from_secs(seconds);
        let shown = |union: Option<Option<Scope>>| {
            union.map(|union| union.map(|scope| scope.to_string()).unwrap_or_default())
        };
        let x = demand.add(Arc::new(Scope::namespace("x")));
        demand.add(Arc::new(Scope::namespace("y")));
        assert_eq!(shown(demand.changed(at(0), linger)).as_deref(), Some("namespaces x, y"));
        assert_eq!(shown(demand.changed(at(0), linger)), None);
        demand.give_back(x, at(10));
        assert_eq!(shown(demand.changed(at(10), linger)).as_deref(), Some("namespaces x, y"));
        assert_eq!(demand.due(), Some(at(70)));
        assert_eq!(shown(demand.changed(at(69), linger)), None);
        assert_eq!(shown(demand.changed(at(70), linger)).as_deref(), Some("namespaces y"));
        assert_eq!(demand.due(), None);
    }
}
