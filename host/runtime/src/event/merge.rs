//! The merge of a waiting event and a newer event of the same object, by the rule of the cache
//! (`merge_rule.rs` there). A queue above its mark merges events.

use crate::event::EventKeys;
use crate::event::{Change, Event};
use informant_cache::{Merge, MergeKind};

/// The result of the merge of two events.
#[derive(Debug)]
pub(crate) enum Merged {
    /// One event stands for both.
    One(Event),
    /// The plugin never got an event of the object, and needs none.
    Nothing,
    /// The two cannot be one: an object was deleted, and another one of its name came.
    Both(Event, Event),
}

/// Merges `newer` into `waiting`, which has had no attempt yet.
///
/// Both are of one object name and subscription. `was_delivered` says that the plugin was called
/// with the object before `waiting` was queued. Then its deletion must be delivered as well.
pub(crate) fn merge(mut waiting: Event, mut newer: Event, was_delivered: bool) -> Merged {
    let same_object = waiting.object.has_uid_of(&newer.object);
    let coalesced = waiting.coalesced + newer.coalesced + 1;
    let before_sync = waiting.before_sync || newer.before_sync;
    // The plugin got the events of its dead letters, and may have read an object that becomes a key.
    let has_letters = !waiting.letters.is_empty() || !newer.letters.is_empty();
    let was_known = was_delivered || waiting.knew || has_letters || newer.keys.are_made();
    let merged = informant_cache::merge(kind(&waiting), kind(&newer), same_object, was_known);
    if let Merge::One(_) = merged {
        // The one event stands for the letters of both.
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
        // Neither is a resync: a resync is left out while an event of its object waits.
        Merge::One(MergeKind::Updated) => {
            Merged::One(Event { old: waiting.old, coalesced, before_sync, ..newer })
        }
        // A plugin that got an update knows the object.
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
