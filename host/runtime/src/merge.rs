//! The merge rule: what a waiting event and a newer one of the same object become above the mark.

use crate::event::{Change, Event};

/// What is left of two events.
#[derive(Debug)]
pub(crate) enum Merged {
    /// One event stands for both.
    One(Event),
    /// Neither is worth telling: the plugin never heard of the object.
    Nothing,
    /// They cannot be one: an object went and another of its name came.
    Both(Event, Event),
}

/// Merges `newer` into `waiting`, which nobody has attempted yet.
///
/// Both are of one object name and subscription. `told` says that the plugin was called with the object
/// before `waiting` was queued, so that its end must be told as well.
pub(crate) fn merge(waiting: Event, newer: Event, told: bool) -> Merged {
    use Change::{Added, Deleted, Updated};
    let same_object = waiting.object.uid() == newer.object.uid();
    match (waiting.change, newer.change) {
        (Added, Deleted) if !told && same_object => Merged::Nothing,
        (Deleted, _) => Merged::Both(waiting, newer),
        (Added | Updated, _) if !same_object => Merged::Both(waiting, newer),
        (Added, Added | Updated) => Merged::One(Event {
            change: Added,
            reason: waiting.reason,
            old: None,
            coalesced: waiting.coalesced + newer.coalesced + 1,
            ..newer
        }),
        (Updated, Updated) => Merged::One(Event {
            old: waiting.old,
            coalesced: waiting.coalesced + newer.coalesced + 1,
            ..newer
        }),
        (Added | Updated, Deleted) | (Updated, Added) => {
            Merged::One(Event { coalesced: waiting.coalesced + newer.coalesced + 1, ..newer })
        }
    }
}
