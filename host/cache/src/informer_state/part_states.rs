//! The states of an informer's parts, and the state of a scope that follows from them. Synchronous.

use super::InformerState;
use crate::list_watch::Part;
use crate::scope::{Namespaces, Scope};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of one part.
#[derive(Debug)]
pub(super) struct StateOfPart {
    pub(super) state: InformerState,
    pub(super) selection: Arc<Scope>,
    /// Whether its first list is in the store.
    pub(super) synced: bool,
    /// Whether the API server forbade it, and has not allowed it since.
    pub(super) is_refused: bool,
}

/// The worst state, of the first part with that rank, with its place.
pub(super) fn worst<'a>(
    parts: impl DoubleEndedIterator<Item = (&'a Part, &'a StateOfPart)>,
) -> Option<InformerState> {
    let (part, state) = parts.rev().max_by_key(|(_, state)| state.state.rank())?;
    let state = state.state.clone();
    Some(if part.is_all() { state } else { state.of(&part.to_string()) })
}

/// The worst state of the parts that count for a scope. None: no part does.
pub(super) fn worst_in(
    parts: &BTreeMap<Part, StateOfPart>,
    scope: &Scope,
) -> Option<InformerState> {
    let selects = |state: &StateOfPart| state.selection.selects_no_less(scope);
    let is_listed = |name: &str| {
        let mut parts = parts.iter();
        parts.any(|(part, state)| part.namespace.as_deref() == Some(name) && selects(state))
    };
    let names = match scope.covered_namespaces() {
        Namespaces::Set(names) if names.iter().all(|name| is_listed(name)) => Some(names),
        Namespaces::Set(_) | Namespaces::All => None,
    };
    let counts = |part: &Part| match (&part.namespace, names) {
        (Some(name), Some(names)) => names.contains(name),
        (None, None) => true,
        _ => false,
    };
    let synced = parts.values().filter(|state| state.synced).map(|state| &*state.selection);
    let is_covered = scope.is_covered_by(synced);
    let counted = parts
        .iter()
        .filter(|(part, state)| counts(part) && selects(state) && (state.synced || !is_covered));
    worst(counted)
}
