//! The scopes that callers request of an informer. It covers their union.
//!
//! Equal scopes count once, however many callers have them: only the first request of a scope and its end change the
//! union. Beside a request for everything no other request changes it. Scopes are compared by their hashes, because one
//! may have hundreds of namespaces and values.

use crate::list_watch::Part;
use crate::scope::{Scope, union};
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most scopes without callers that count for a while. With more, the oldest no longer counts.
const LINGERING_MAX: usize = 256;

/// The requested scopes, each until it is given back and for a while after.
#[derive(Debug)]
pub(crate) struct Demand {
    /// The time for which a scope without callers counts.
    linger: Duration,
    asked: Mutex<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    /// The scopes with callers, and their number.
    used: HashMap<Arc<Scope>, usize>,
    /// The scopes without callers, and when the last one gave it back. None of them is in `used`.
    lingering: HashMap<Arc<Scope>, Instant>,
    /// Whether the union may have changed since it was last computed.
    changed: bool,
    /// When to look for scopes that no longer count. Never later than the first such time.
    due: Option<Instant>,
    /// Whether the API server refused all namespaces at once when the union was last computed.
    is_refused_whole: bool,
}

/// What follows from a scope that was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenBack {
    /// Nothing: other callers have it.
    Used,
    /// Nobody has it.
    Unused,
    /// The same, and [`Demand::changed`] or [`Demand::due`] may have another answer.
    Changes,
}

impl Demand {
    pub(crate) fn new(linger: Duration) -> Self {
        Self { linger, asked: Mutex::default() }
    }

    /// Adds a request for a scope. Returns whether the union may have changed.
    pub(crate) fn add(&self, scope: Arc<Scope>) -> bool {
        let mut asked = self.asked.lock();
        if let Some(callers) = asked.used.get_mut(&scope) {
            *callers += 1;
            return false;
        }
        let changes = asked.lingering.remove(&scope).is_none() && !asked.has_everything();
        asked.used.insert(scope, 1);
        asked.changed |= changes;
        changes
    }

    /// A caller needs this scope no longer. After its last caller the scope counts for a while, so a caller that comes
    /// back soon finds it warm. Beside a request for everything it need not: its objects stay in any case.
    pub(crate) fn give_back(&self, scope: &Scope, now: Instant) -> GivenBack {
        let mut asked = self.asked.lock();
        match asked.used.get_mut(scope) {
            Some(callers) if *callers > 1 => {
                *callers -= 1;
                return GivenBack::Used;
            }
            _ => {}
        }
        let Some((scope, _)) = asked.used.remove_entry(scope) else { return GivenBack::Used };
        if asked.has_everything() {
            return GivenBack::Unused;
        }
        asked.lingering.insert(scope, now);
        let lets_go = asked.bound_lingering();
        asked.changed |= lets_go;
        let is_first_due = asked.due.is_none();
        asked.due = asked.due.or(now.checked_add(self.linger));
        if lets_go || is_first_due { GivenBack::Changes } else { GivenBack::Unused }
    }

    /// The parts to list and watch, if they may have changed since the last call. None in it: there
    /// is no request.
    pub(crate) fn changed(
        &self,
        now: Instant,
        is_refused_whole: bool,
    ) -> Option<Option<BTreeSet<Part>>> {
        let mut asked = self.asked.lock();
        if asked.due.is_some_and(|due| due <= now) {
            asked.expire(now, self.linger);
        }
        asked.changed |= asked.is_refused_whole != is_refused_whole;
        asked.is_refused_whole = is_refused_whole;
        if !std::mem::take(&mut asked.changed) {
            return None;
        }
        let scopes: Vec<Arc<Scope>> =
            asked.used.keys().chain(asked.lingering.keys()).cloned().collect();
        // Callers need not wait for the computation.
        drop(asked);
        // Invariant 9.
        let parts = || union::parts(scopes.iter().map(|scope| &**scope), is_refused_whole);
        Some((!scopes.is_empty()).then(parts))
    }

    /// Whether this holds for every requested scope.
    pub(crate) fn all(&self, holds: impl Fn(&Scope) -> bool) -> bool {
        let scopes: Vec<Arc<Scope>> = self.asked.lock().used.keys().cloned().collect();
        scopes.iter().all(|scope| holds(scope))
    }

    /// When to compute the union again.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.asked.lock().due
    }
}

impl Asked {
    /// Whether a caller has everything, so that no other scope changes the union. Where the API server refuses all
    /// namespaces at once, the others count too.
    fn has_everything(&self) -> bool {
        !self.is_refused_whole && self.used.contains_key(&Scope::all())
    }

    /// Removes the oldest scope without callers if there are too many. Returns whether it did.
    fn bound_lingering(&mut self) -> bool {
        if self.lingering.len() <= LINGERING_MAX {
            return false;
        }
        let oldest = self.lingering.iter().min_by_key(|(_, since)| **since);
        let Some(oldest) = oldest.map(|(scope, _)| scope.clone()) else { return false };
        self.lingering.remove(&oldest).is_some()
    }

    /// Removes the scopes that no longer count.
    fn expire(&mut self, now: Instant, linger: Duration) {
        let before = self.lingering.len();
        let end = |since: &Instant| since.checked_add(linger);
        self.lingering.retain(|_, since| end(since).is_none_or(|end| end > now));
        self.due = self.lingering.values().filter_map(end).min();
        self.changed |= self.lingering.len() < before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::union::NAMESPACES_MAX;

    const LINGER: Duration = Duration::from_secs(60);

    fn shown(wanted: Option<Option<BTreeSet<Part>>>) -> Option<String> {
        let parts = wanted?.unwrap_or_default();
        Some(parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }

    fn namespace(name: impl Into<Box<str>>) -> Arc<Scope> {
        Arc::new(Scope::namespace(name))
    }

    #[test]
    fn a_scope_that_is_given_back_again_and_again_lingers_once() {
        let (demand, start) = (Demand::new(LINGER), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let lingering = || demand.asked.lock().lingering.len();
        let scope = namespace("x");
        demand.add(scope.clone());
        for second in 0..10 {
            demand.add(namespace("x"));
            demand.give_back(&scope, at(second));
        }
        assert_eq!(lingering(), 0, "somebody asks for it still");
        demand.give_back(&scope, at(10));
        for second in 11..20 {
            demand.add(scope.clone());
            demand.give_back(&scope, at(second));
        }
        assert_eq!(lingering(), 1);
        assert!(demand.changed(at(78), false).flatten().is_some());
        assert_eq!(demand.due(), Some(at(79)), "it counts from when it was given back last");
        assert_eq!(demand.changed(at(79), false).map(|union| union.is_none()), Some(true));
    }

    #[test]
    fn a_scope_counts_until_it_was_given_back_for_a_while() {
        let (demand, start) = (Demand::new(LINGER), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let shown = |at| shown(demand.changed(at, false));
        let x = namespace("x");
        demand.add(x.clone());
        demand.add(namespace("y"));
        assert_eq!(shown(at(0)).as_deref(), Some("namespace x, namespace y"));
        assert_eq!(shown(at(0)), None);
        assert_eq!(demand.give_back(&x, at(10)), GivenBack::Changes);
        assert_eq!(shown(at(10)), None);
        assert_eq!(demand.due(), Some(at(70)));
        assert_eq!(shown(at(69)), None);
        assert_eq!(shown(at(70)).as_deref(), Some("namespace y"));
        assert_eq!(demand.due(), None);
    }

    /// Requests over HTTP ask for a scope and give it back, thousands of times a second.
    #[test]
    fn the_union_is_computed_for_the_first_request_of_a_scope_alone() {
        let (demand, now) = (Demand::new(LINGER), Instant::now());
        demand.add(namespace("x"));
        let mut unions = usize::from(demand.changed(now, false).is_some());
        let mut told = 0;
        for caller in 0..1_000 {
            let scope = Arc::new([Scope::all(), Scope::namespace("x")][caller % 2].clone());
            told += usize::from(demand.add(scope.clone()));
            unions += usize::from(demand.changed(now, false).is_some());
            let given_back = demand.give_back(&scope, now);
            told += usize::from(given_back == GivenBack::Changes);
            unions += usize::from(demand.changed(now, false).is_some());
        }
        assert_eq!((unions, told), (2, 2), "a scope is new, and another time is due");
    }

    #[test]
    fn beside_a_scope_of_everything_no_other_counts() {
        let (demand, now) = (Demand::new(LINGER), Instant::now());
        let everything = Arc::new(Scope::all());
        demand.add(everything.clone());
        assert_eq!(shown(demand.changed(now, false)).as_deref(), Some("all namespaces"));
        for number in 0..10 {
            let scope = namespace(format!("n{number}"));
            assert!(!demand.add(scope.clone()));
            assert_eq!(demand.give_back(&scope, now), GivenBack::Unused);
        }
        demand.add(namespace("x"));
        assert_eq!(demand.changed(now, false), None);
        assert!(demand.asked.lock().lingering.is_empty());
        // It counts as soon as that is refused, and when nobody has everything any more.
        let refused = shown(demand.changed(now, true));
        assert_eq!(refused.as_deref(), Some("all namespaces, namespace x"));
        assert!(demand.add(namespace("y")));
        let refused = shown(demand.changed(now, true));
        assert_eq!(refused.as_deref(), Some("all namespaces, namespace x, namespace y"));
        assert_eq!(demand.give_back(&everything, now), GivenBack::Changes);
        assert!(demand.changed(now, false).is_some());
        let then = now + LINGER;
        assert_eq!(shown(demand.changed(then, false)).as_deref(), Some("namespace x, namespace y"));
    }

    #[test]
    fn so_many_scopes_linger_and_the_oldest_goes_at_once() {
        let (demand, start) = (Demand::new(LINGER), Instant::now());
        let at = |number: usize| start + Duration::from_millis(number as u64);
        let lingering =
            |name: &str| demand.asked.lock().lingering.contains_key(&Scope::namespace(name));
        for number in 0..5_000 {
            let scope = namespace(format!("n{number}"));
            demand.add(scope.clone());
            demand.give_back(&scope, at(number));
            demand.add(namespace("n0"));
            demand.give_back(&Scope::namespace("n0"), at(number));
        }
        assert_eq!(demand.asked.lock().lingering.len(), LINGERING_MAX);
        assert!(lingering("n0") && lingering("n4999") && !lingering("n4000"));
        assert_eq!(
            demand.changed(at(5_000), false).flatten().map(|it| it.len()),
            Some(LINGERING_MAX)
        );
    }

    #[test]
    fn more_namespaces_than_are_watched_each_are_watched_at_once() {
        let (demand, now) = (Demand::new(Duration::ZERO), Instant::now());
        let count = |refused| {
            let wanted = demand.changed(now, refused).flatten();
            wanted.map(|parts| parts.len())
        };
        for number in 0..NAMESPACES_MAX {
            demand.add(namespace(format!("n{number}")));
        }
        assert_eq!(count(false), Some(NAMESPACES_MAX));
        demand.add(namespace("one-more"));
        assert_eq!(count(false), Some(1));
        assert_eq!(count(true), Some(1 + NAMESPACES_MAX));
    }

    /// Invariant 10.
    #[test]
    fn who_asks_for_less_than_what_is_refused_is_served() {
        let (demand, now) = (Demand::new(Duration::ZERO), Instant::now());
        let shown = |refused| shown(demand.changed(now, refused));
        demand.add(namespace("x"));
        demand.add(Arc::new(Scope::all()));
        assert_eq!(shown(false).as_deref(), Some("all namespaces"));
        assert_eq!(shown(true).as_deref(), Some("all namespaces, namespace x"));
        assert_eq!(shown(true), None);
        let y = namespace("y");
        demand.add(y.clone());
        assert_eq!(shown(true).as_deref(), Some("all namespaces, namespace x, namespace y"));
        demand.give_back(&y, now);
        assert_eq!(shown(false).as_deref(), Some("all namespaces"));
    }
}
