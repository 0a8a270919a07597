//! The merge rule: what a waiting notification and a newer one of the same object become above a mark.
//!
//! client-go has no such rule: a slow listener's buffer there grows until the process dies
//! (`tools/cache/shared_informer.go`, `processorListener.pendingNotifications`). The rule is pure and knows no
//! queue, so that every queue of notifications uses the same one.

/// What happened to an object, as a queue keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MergeKind {
    /// It is new to whoever is told.
    Added,
    /// It changed.
    Updated,
    /// It is gone.
    Deleted,
}

/// What is left of a waiting notification and a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// One of this kind stands for both, with the newer one's state; an update keeps the waiting one's old state.
    One(MergeKind),
    /// Neither is worth telling: nobody ever heard of the object.
    Nothing,
    /// They cannot be one: the object went, or another of its name came. Both are kept, in order.
    Both,
}

/// Merges `newer` into `waiting`. `same_object`: both have the same UID. `told`: whoever is told knew of the object before
/// `waiting` was queued, so that its end has to be told although it waits as an addition.
pub const fn merge(waiting: MergeKind, newer: MergeKind, same_object: bool, told: bool) -> Merge {
    use MergeKind::{Added, Deleted, Updated};
    match (waiting, newer) {
        (Added, Deleted) if !told && same_object => Merge::Nothing,
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

    /// The rule for one object never told of, for one told of before, and for another object of the same name.
    #[track_caller]
    fn check(waiting: MergeKind, newer: MergeKind, expect: [Merge; 3]) {
        let rule = |same_object, told| merge(waiting, newer, same_object, told);
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
