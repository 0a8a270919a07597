//! Events under the cache's merge rule: what a waiting event and a newer one of the same object become above the mark.

use crate::event::EventKeys;
use crate::event::{Change, Event};
use informant_cache::{Merge, MergeKind};

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
pub(crate) fn merge(mut waiting: Event, mut newer: Event, told: bool) -> Merged {
    let same_object = waiting.object.uid() == newer.object.uid();
    let coalesced = waiting.coalesced + newer.coalesced + 1;
    let before_sync = waiting.before_sync || newer.before_sync;
    // The plugin has heard of what it gave up, and may have looked at what becomes a key.
    let has_letters = !waiting.letters.is_empty() || !newer.letters.is_empty();
    let told = told || waiting.knew || has_letters || newer.keys.are_made();
    let merged = informant_cache::merge(kind(&waiting), kind(&newer), same_object, told);
    if let Merge::One(_) = merged {
        // Whoever is told of the one is told of both.
        waiting.letters.append(&mut newer.letters);
        newer.letters = std::mem::take(&mut waiting.letters);
        newer.keys = EventKeys::merged(&waiting, &newer);
    }
    match merged {
        Merge::Nothing => Merged::Nothing,
        Merge::Both => Merged::Both(waiting, newer),
        Merge::One(MergeKind::Added) if waiting.change == Change::Added => Merged::One(Event {
            change: Change::Added,
            reason: waiting.reason,
            old: None,
            coalesced,
            before_sync,
            knew: waiting.knew,
            ..newer
        }),
        // Neither is a resync: one is left out where something of its object waits.
        Merge::One(MergeKind::Updated) => {
            Merged::One(Event { old: waiting.old, coalesced, before_sync, ..newer })
        }
        // Who heard of a change knew it.
        Merge::One(MergeKind::Added) => {
            Merged::One(Event { coalesced, before_sync, knew: true, ..newer })
        }
        Merge::One(MergeKind::Deleted) => Merged::One(Event { coalesced, before_sync, ..newer }),
    }
}

fn kind(event: &Event) -> MergeKind {
    match event.change {
        Change::Added => MergeKind::Added,
        Change::Updated => MergeKind::Updated,
        Change::Deleted => MergeKind::Deleted,
    }
}
