//! The check before each call that the plugin's service account may still read the event's
//! resource, whenever the event was queued.

use crate::delivery::plugin_queue::PluginQueue;
use crate::event::SubscriptionId;
use crate::powers::access::Permissions;
use std::time::Instant;

/// Whether the event in flight of a shard was withheld: its subscription may not be delivered now. No event of the
/// subscription then comes out of any shard. The plugin's task releases the subscription later, unless the read is
/// allowed again here.
pub(super) fn put_by_unless_allowed(
    queue: &PluginQueue,
    shard: usize,
    id: SubscriptionId,
    permissions: &Permissions,
) -> bool {
    // Invariant 36.
    if permissions.allow() {
        return false;
    }
    queue.change(|it| it.put_by(shard, id));
    // Meanwhile the read may have been allowed, and the withheld events released.
    if permissions.allow() {
        queue.change(|it| it.release_withheld(id, Instant::now()));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Counters;
    use crate::delivery::mailbox::Marks;
    use crate::delivery::mailbox::tests::parse;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn an_event_that_may_not_be_told_waits_as_if_nobody_had_taken_it() {
        let marks = Marks { events: usize::MAX, bytes: usize::MAX };
        let queue = PluginQueue::new(marks, Arc::<Counters>::default());
        let now = Instant::now();
        let event = parse("+a1");
        let id = event.subscription;
        queue.push(event);
        queue.pop(0, now).expect("it waits");
        assert!(put_by_unless_allowed(&queue, 0, id, &Permissions::refused()));
        assert!(queue.pop(0, now).is_none(), "it is put by");
        queue.change(|it| it.release_withheld(id, now));
        let later = now + Duration::from_secs(1);
        let again = queue.pop(0, later).expect("it comes again");
        assert_eq!((again.tried.number, again.tried.crashes), (1, 0));
        assert!(!put_by_unless_allowed(&queue, 0, id, &Permissions::default()));
    }

    #[test]
    fn what_several_shards_have_taken_waits_and_comes_again_in_each() {
        let marks = Marks { events: usize::MAX, bytes: usize::MAX };
        let queue = PluginQueue::new(marks, Arc::<Counters>::default());
        let now = Instant::now();
        queue.regroup(queue.reshard(2, now).expect("another number"), now);
        // The hashes of the names differ in the last bit.
        let events = ["+a1", "+b1"].map(parse);
        let id = events[0].subscription;
        events.into_iter().for_each(|event| queue.push(event));
        for shard in [0, 1] {
            queue.pop(shard, now).expect("one waits for each");
        }
        for shard in [0, 1] {
            assert!(put_by_unless_allowed(&queue, shard, id, &Permissions::refused()));
        }
        assert!([0, 1].iter().all(|shard| queue.pop(*shard, now).is_none()));
        queue.change(|it| it.release_withheld(id, now));
        for shard in [0, 1] {
            let again = queue.pop(shard, now + Duration::from_secs(1)).expect("it comes again");
            assert_eq!((again.tried.number, again.tried.crashes), (1, 0));
        }
    }
}
