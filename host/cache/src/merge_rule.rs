//! How events merge: the result of a waiting notification and a newer one of the same object, in a
//! queue above its mark.
//!
//! client-go has no such rule: the buffer of a slow listener grows there until the process dies
//! (`tools/cache/shared_informer.go`, `processorListener.pendingNotifications`). The rule is pure
//! and knows no queue, so all queues of notifications share it.

/// The change of an object, as a queue keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MergeKind {
    /// The handler does not know it yet.
    Added,
    /// It changed.
    Updated,
    /// It is gone.
    Deleted,
}

/// The result of the merge of a waiting notification and a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// One event of this kind stands for both, with the newer one's state; an update keeps the waiting one's old
    /// state.
    One(MergeKind),
    /// The handler never saw the object, and need not see it.
    Nothing,
    /// The two cannot be one: the object was deleted, or another one of its name came. Both are
    /// kept, in order.
    Both,
}

/// Merges `newer` into `waiting`. `same_object`: both have the same UID. `was_known`: the handler
/// knew the object before `waiting` was queued. Then its deletion must be delivered, although an
/// addition waits.
pub const fn merge(
    waiting: MergeKind,
    newer: MergeKind,
    same_object: bool,
    was_known: bool,
) -> Merge {
    use MergeKind::{Added, Deleted, Updated};
    match (waiting, newer) {
        (Added, Deleted) if !was_known && same_object => Merge::Nothing,
        (Deleted, _) => Merge::Both,
        (Added | Updated, _) if !same_object => Merge::Both,
        (Added, Added | Updated) | (Updated, Added) => Merge::One(Added),
        (Updated, Updated) => Merge::One(Updated),
        (Added | Updated, Deleted) => Merge::One(Deleted),
    }
}

#[cfg(test)]
mod tests {
    use super::MergeKind::{Added, Deleted, Updated};
    use super::*;

    /// The rule for an object that the handler does not know, for one that it knows, and for
    /// another object of the same name.
    #[track_caller]
    fn check(waiting: MergeKind, newer: MergeKind, expect: [Merge; 3]) {
        let rule = |same_object, was_known| merge(waiting, newer, same_object, was_known);
        assert_eq!([rule(true, false), rule(true, true), rule(false, false)], expect);
    }

    #[test]
    fn every_pair_has_its_rule() {
        use Merge::{Both, Nothing, One};
        check(Added, Added, [One(Added), One(Added), Both]);
        check(Added, Updated, [One(Added), One(Added), Both]);
        check(Added, Deleted, [Nothing, One(Deleted), Both]);
        check(Updated, Added, [One(Added), One(Added), Both]);
        check(Updated, Updated, [One(Updated), One(Updated), Both]);
        check(Updated, Deleted, [One(Deleted), One(Deleted), Both]);
        check(Deleted, Added, [Both, Both, Both]);
        check(Deleted, Updated, [Both, Both, Both]);
        check(Deleted, Deleted, [Both, Both, Both]);
    }
}
