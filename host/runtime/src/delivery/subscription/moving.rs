//! Objects that enter or leave a subscription's view because the labels of their namespace changed.
//!
//! They are those of one namespace, by key, in the steps of the informer's walks over the store. An object that the
//! replay has not reached, and that was not delivered ahead of it, is left to the replay. The events wait in the line of
//! replays, with its room: a plugin that is slow or paused stops the walk.

use super::{QueuePlace, SubscriptionHandler, Telling};
use crate::delivery::namespaces::{FollowedNamespaces, MovingNamespace};
use crate::event::Gone;
use informant_apimachinery::LabelSelector;
use informant_cache::{Cause, Indexer, Object, Reason, ResourceEventHandler};
use std::time::Instant;

impl SubscriptionHandler {
    /// Lets the next objects enter or leave. Returns the number of looks at objects and namespaces; 0: there is nothing
    /// to look at, or no room.
    pub(super) fn move_objects(
        &self,
        store: &Indexer,
        takes: &dyn Fn(&Object) -> bool,
        objects_max: usize,
    ) -> usize {
        let followed = self.view.followed().filter(|followed| followed.has_work());
        let Some(followed) = followed.filter(|_| self.has_room()) else { return 0 };
        let (looks, moving) = followed.moving();
        let Some(moving) = moving else { return looks };
        let cursor = moving.passed.as_ref().map(Indexer::cursor_after);
        let all = LabelSelector::default();
        let page = store.list(Some(&moving.namespace), &all, objects_max.max(1), cursor.as_deref());
        let (objects, has_more) =
            page.map(|page| (page.items, page.next.is_some())).unwrap_or_default();
        for object in &objects {
            self.move_object(followed, &moving, object, takes(object));
        }
        if !has_more {
            followed.end();
        }
        // The end of a namespace is a look, too.
        looks + objects.len().max(1)
    }

    fn move_object(
        &self,
        followed: &FollowedNamespaces,
        moving: &MovingNamespace,
        object: &Object,
        is_taken: bool,
    ) {
        let is_told = is_taken && self.progress.has_come_to(object);
        let cause = Cause { reason: Reason::Watch, received: Instant::now() };
        if moving.enters {
            followed.pass(object.key());
            if is_told && self.contains(object, self.types.added) {
                self.enqueue(Telling::added(object), cause, QueuePlace::Replay);
            }
        } else {
            let was_in = is_told && self.contains(object, self.types.deleted);
            followed.pass(object.key());
            if was_in {
                let telling = Telling::deleted(object, Gone::LeftView);
                self.enqueue(telling, cause, QueuePlace::Replay);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::spec;
    use super::*;
    use crate::counters::Counters;
    use crate::delivery::mailbox::{Marks, Settled};
    use crate::delivery::plugin_queue::PluginQueue;
    use crate::event::{Change, SubscriptionId};
    use crate::namespace_labels::NamespaceLabels;
    use crate::namespace_labels::tests::namespace;
    use informant_cache::Store;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    const OBJECTS: usize = 600;
    const STEP: usize = 256;

    /// A subscription to namespaces of the team `shop`, with so many pods in the namespace `a`.
    struct Bench {
        namespaces: Store,
        pods: Store,
        queue: Arc<PluginQueue>,
        followed: Arc<FollowedNamespaces>,
        handler: SubscriptionHandler,
        /// The objects that the plugin knows.
        known: BTreeSet<String>,
    }

    impl Bench {
        fn new() -> Self {
            let (namespaces, pods) = (Store::default(), Store::default());
            namespaces.put(namespace("a", ""));
            for number in 0..OBJECTS {
                let json = format!(
                    r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{number:04}","namespace":"a","uid":"{number}"}}}}"#
                );
                pods.put(Object::decode(json.as_bytes(), None).expect("an object"));
            }
            let marks = Marks { events: usize::MAX, bytes: usize::MAX };
            let queue = Arc::new(PluginQueue::new(marks, Arc::<Counters>::default()));
            let spec = spec(r#","namespaceSelector":"team=shop""#);
            let selector = spec.namespace_selector.as_ref().expect("it has one");
            let labels = NamespaceLabels::new(selector, namespaces.indexer().clone());
            let followed = Arc::new(FollowedNamespaces::new(labels));
            followed.note_listed();
            let handler = SubscriptionHandler::new(SubscriptionId(1), &spec, queue.clone());
            let handler = handler.following(followed.clone());
            assert!(handler.is_ready(&mut { STEP }));
            handler.on_synced();
            Self { namespaces, pods, queue, followed, handler, known: BTreeSet::new() }
        }

        fn label(&self, team: &str) {
            self.namespaces.put(namespace("a", &format!(r#""team":"{team}""#)));
            self.followed.note("a");
        }

        /// Lets the handler walk until it waits. Returns the number of its steps.
        fn walk(&self) -> usize {
            let step = |_: &usize| self.handler.walk(self.pods.indexer(), &|_| true, STEP) > 0;
            let steps = (0..100).take_while(step).count();
            self.queue.check_bounds();
            steps
        }

        fn waiting(&self) -> usize {
            self.queue.look(|it| it.replays_waiting(SubscriptionId(1)))
        }

        /// The plugin takes all waiting events.
        fn take(&mut self) {
            let now = Instant::now();
            while let Some(queued) = self.queue.pop(0, now) {
                let (event, name) = (&queued.event, queued.event.object.key().name().to_owned());
                let is_right = match event.change {
                    Change::Added => self.known.insert(name),
                    Change::Deleted => {
                        event.gone == Some(Gone::LeftView) && self.known.remove(&name)
                    }
                    Change::Updated => false,
                };
                assert!(is_right, "{:?} of {}", event.change, event.object.key());
                self.queue.settle_event(0, Settled::Finished, now);
            }
        }

        fn rest(&mut self) {
            while self.walk() > 0 || self.waiting() > 0 {
                self.take();
            }
        }
    }

    #[test]
    fn labels_that_flip_a_thousand_times_cost_one_walk_at_the_plugins_pace() {
        let mut bench = Bench::new();
        bench.label("shop");
        bench.walk();
        let full = bench.waiting();
        assert!((STEP..2 * STEP).contains(&full), "the walk waits for room: {full}");
        for number in 0..1_000 {
            bench.label(if number % 2 == 0 { "office" } else { "shop" });
            assert_eq!(bench.walk(), 0, "nothing is looked at without room");
        }
        assert_eq!(bench.waiting(), full);
        bench.rest();
        assert_eq!(bench.known.len(), OBJECTS, "they are in the view in the end");
        bench.label("office");
        bench.rest();
        assert!(bench.known.is_empty());
    }

    #[test]
    fn a_namespace_that_is_deleted_takes_its_objects_out() {
        let mut bench = Bench::new();
        bench.label("shop");
        bench.rest();
        bench.namespaces.remove(&informant_cache::ObjectKey::new("", "a"));
        bench.followed.note("a");
        bench.rest();
        assert!(bench.known.is_empty());
    }

    #[test]
    fn objects_that_are_not_whole_yet_do_not_move() {
        let bench = Bench::new();
        bench.label("shop");
        while bench.handler.walk(bench.pods.indexer(), &|_| false, STEP) > 0 {}
        assert_eq!(bench.waiting(), 0);
    }
}
