//! What the service account may not read that the plugin acts as is not told, whenever it was queued.

use crate::access::Permissions;
use crate::event::SubscriptionId;
use crate::plugin_queue::PluginQueue;

/// Whether the event that has just come out of the queue was put by: its subscription may not be told for now. Whoever follows what may be read lets the
/// subscription go on, unless that has happened already.
pub(super) fn is_put_by(
    queue: &PluginQueue,
    id: SubscriptionId,
    permissions: &Permissions,
) -> bool {
    if permissions.allow() {
        return false;
    }
    queue.put_by(id);
    // Since we looked it may have been allowed, and what was put by then been let go.
    if permissions.allow() {
        queue.release_withheld(id);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Counters;
    use crate::queue::Marks;
    use crate::queue::tests::parse;
    use std::sync::Arc;
    use std::time::Instant;

    #[test]
    fn an_event_that_may_not_be_told_waits_as_if_nobody_had_taken_it() {
        let marks = Marks { events: usize::MAX, bytes: usize::MAX };
        let queue = PluginQueue::new(marks, Arc::<Counters>::default());
        let now = Instant::now();
        let event = parse("+a1");
        let id = event.subscription;
        queue.push(event);
        queue.pop(now).expect("it waits");
        assert!(is_put_by(&queue, id, &Permissions::refused()));
        assert!(queue.pop(now).is_none(), "it is put by");
        queue.release_withheld(id);
        let again = queue.pop(now + std::time::Duration::from_secs(1)).expect("it comes again");
        assert_eq!((again.attempt, again.crashes), (1, 0));
        assert!(!is_put_by(&queue, id, &Permissions::default()));
    }
}
