//! From an informer's notifications to one plugin's events. The handler runs in the informer's task, evaluates the
//! subscription on the old and the new object, and queues events. It never waits. After few events the guest may run
//! at once (`guest_threads/turn.rs`).
//!
//! A replay delivers the objects that existed before the subscription, by key. A change ahead of the replay is queued
//! at once, after the object's own replay. So each object's events are those of a replay made in one moment.
//!
//! The subscription's questions are asked in the order of their cost: namespace, name and labels, the type of change,
//! then one pass over the bytes of each state. Most refused updates do not come here (`delivery/sieve.rs`).

mod ahead;
mod evaluation;
mod explained;
mod known;
mod moving;
mod replay;

use crate::contract::descriptor::{ChangeTypes, ReplayOption, SubscriptionSpec};
use crate::counters::add_one;
use crate::delivery::mailbox::Initials;
use crate::delivery::namespaces::FollowedNamespaces;
use crate::delivery::plugin_queue::PluginQueue;
use crate::delivery::sieve::SieveSeat;
use crate::delivery::view::View;
use crate::event::EventKeys;
use crate::event::enqueue::EnqueueRules;
use crate::event::{Change, Event, Gone, Reason, SubscriptionId};
pub(super) use evaluation::Asked;
use evaluation::Judged;
use informant_cache::{
    Cause, FinalState, Indexer, Interest, Notification, Object, ResourceEventHandler,
    SharedProjection,
};
use known::Known;
pub(crate) use known::Present;
pub(crate) use replay::Replay;
use replay::ReplayStep;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// The handler of one informer's notifications for one subscription of one plugin.
pub(crate) struct SubscriptionHandler {
    id: SubscriptionId,
    asked_by: u64,
    /// The load that began the subscription.
    begun_by: u64,
    types: ChangeTypes,
    replay: ReplayOption,
    view: View,
    /// The rules that turn events into keys, if there are any.
    rules: Option<Arc<EnqueueRules>>,
    /// The values that the view, `onlyIfChanged` and the filter ask for.
    asked: Asked,
    queue: Arc<PluginQueue>,
    /// The reason of replayed events.
    replay_reason: Reason,
    /// The progress of the replay.
    progress: Arc<Replay>,
    /// The objects that an earlier host delivered to the plugin.
    known: Option<Arc<Known>>,
    /// Whether all objects that existed at the beginning are queued.
    is_synced: AtomicBool,
    /// Its place among those of the informer that ask about updates together, if it has one.
    seat: Option<SieveSeat>,
}

/// The place of an event in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueuePlace {
    /// Behind all earlier live events.
    Live,
    /// Into the line of replays.
    Replay,
}

/// The content of an event to queue.
#[derive(Debug, Clone, Copy)]
struct Telling<'a> {
    change: Change,
    object: &'a Object,
    old: Option<&'a Object>,
    gone: Option<Gone>,
    /// Only for an added object: whether the plugin knows it already.
    knew: bool,
    /// Another state of the object that the plugin may know.
    known_as: Option<&'a Object>,
}

impl<'a> Telling<'a> {
    fn added(object: &'a Object) -> Self {
        let (old, gone, knew, known_as) = (None, None, false, None);
        Self { change: Change::Added, object, old, gone, knew, known_as }
    }

    fn again(object: &'a Object) -> Self {
        Self { knew: true, ..Self::added(object) }
    }

    /// A resync of an object without a change.
    fn resynced(object: &'a Object) -> Self {
        Self { change: Change::Updated, ..Self::added(object) }
    }

    fn updated([old, object]: [&'a Object; 2]) -> Self {
        Self { change: Change::Updated, old: Some(old), ..Self::added(object) }
    }

    fn deleted(object: &'a Object, gone: Gone) -> Self {
        Self { change: Change::Deleted, gone: Some(gone), ..Self::added(object) }
    }

    fn known_as(self, known_as: &'a Object) -> Self {
        Self { known_as: Some(known_as), ..self }
    }
}

impl SubscriptionHandler {
    /// The handler of a subscription that the plugin did not have before.
    pub(crate) fn new(
        id: SubscriptionId,
        spec: &SubscriptionSpec,
        queue: Arc<PluginQueue>,
    ) -> Self {
        let view = View::from(spec);
        let asked = Asked::new(spec, &view, &Arc::default(), false);
        let progress = match spec.replay {
            ReplayOption::Never => Replay::none(),
            ReplayOption::Initial | ReplayOption::InitialAndReload => Replay::new(),
        };
        Self {
            id,
            asked_by: 0,
            begun_by: 0,
            types: spec.types,
            replay: spec.replay,
            rules: (!spec.enqueue.is_empty()).then(|| Arc::new(spec.enqueue.clone())),
            view,
            asked,
            queue,
            replay_reason: Reason::Initial,
            progress: Arc::new(progress),
            known: None,
            is_synced: AtomicBool::new(false),
            seat: None,
        }
    }

    /// The handler of a subscription that replaces another, for changed settings or a replay of its objects.
    pub(crate) fn replacing(
        id: SubscriptionId,
        spec: &SubscriptionSpec,
        queue: Arc<PluginQueue>,
        before: &Self,
    ) -> Self {
        let progress = Replay::after(before.view.clone(), before.progress.clone());
        before.seat.iter().for_each(SieveSeat::note_replaced);
        Self {
            replay_reason: Reason::Reload,
            progress: Arc::new(progress),
            // The first list may not have come yet.
            known: before.known.clone(),
            ..Self::new(id, spec, queue)
        }
    }

    /// Reads the values of objects together with the other handlers of an informer. With `filters`, a simple filter is
    /// evaluated before an event is queued.
    pub(crate) fn reading_with(
        self,
        projection: &Arc<SharedProjection>,
        spec: &SubscriptionSpec,
        filters: bool,
    ) -> Self {
        Self { asked: Asked::new(spec, &self.view, projection, filters), ..self }
    }

    /// Evaluates the `namespaceSelector`, as the labels of namespaces change.
    pub(crate) fn following(self, followed: Arc<FollowedNamespaces>) -> Self {
        Self { view: self.view.following(followed), ..self }
    }

    /// Sets the loads: the subscription is unchanged since the load `asked_by`, and the load `begun_by` begins it.
    pub(crate) fn of_loads(self, asked_by: u64, begun_by: u64) -> Self {
        Self { asked_by, begun_by, ..self }
    }

    /// Sets the objects that an earlier host delivered. A deletion of such an object that no host saw is delivered
    /// too.
    pub(crate) fn knowing(self, objects: Vec<Object>, present: Present) -> Self {
        Self { known: Some(Arc::new(Known::new(objects, present))), ..self }
    }

    pub(crate) fn progress(&self) -> Arc<Replay> {
        self.progress.clone()
    }

    fn enqueue(&self, telling: Telling<'_>, cause: Cause, place: QueuePlace) {
        let reason = match Reason::from(cause.reason) {
            Reason::Initial => self.replay_reason,
            reason => reason,
        };
        let known = self.known.as_ref().and_then(|known| known.take(telling.object));
        let telling = match &known {
            Some(known) if known.has_uid_of(telling.object) => {
                Telling { knew: true, ..telling.known_as(known) }
            }
            Some(known) => {
                // Another object of this name has come: the object that the plugin knows is gone.
                let gone = Telling::deleted(known, Gone::Unknown);
                self.push(gone, Reason::Relist, cause.received, QueuePlace::Live);
                telling
            }
            None => telling,
        };
        self.push(telling, reason, cause.received, place);
    }

    fn push(&self, telling: Telling<'_>, reason: Reason, received: Instant, place: QueuePlace) {
        let Telling { change, object, old, gone, knew, known_as } = telling;
        if !self.types.contain(change) {
            return add_one(&self.queue.counters.filtered);
        }
        if matches!(place, QueuePlace::Live)
            && !knew
            && self.refuses(&telling)
            && self.queue.refuse(object, self.begun_by, &self.refused(&telling, reason, received))
        {
            return add_one(&self.queue.counters.filtered);
        }
        let event = Event {
            subscription: self.id,
            asked_by: self.asked_by,
            change,
            reason,
            gone,
            object: object.clone(),
            old: old.cloned(),
            coalesced: 0,
            letters: Vec::new(),
            received,
            before_sync: !self.is_synced.load(Relaxed),
            knew,
            keys: EventKeys::new(self.rules.as_ref(), known_as),
        };
        match place {
            QueuePlace::Live => self.queue.push_unannounced(event),
            QueuePlace::Replay => self.queue.push_replayed_unannounced(event),
        }
    }

    /// Queues an object's state from the beginning of the subscription, whether or not the plugin knows the object.
    fn tell_present(
        &self,
        object: &Object,
        known: bool,
        is_in: bool,
        cause: Cause,
        place: QueuePlace,
    ) {
        match (known, is_in) {
            (true, false) => {
                self.enqueue(Telling::deleted(object, Gone::LeftView), cause, place);
            }
            // The plugin knows the object, and the subscription wants no replay.
            (true, true) if self.replay == ReplayOption::Never => {}
            (true, true) => self.enqueue(Telling::again(object), cause, place),
            (false, true) => self.enqueue(Telling::added(object), cause, place),
            (false, false) => {}
        }
    }

    /// Queues a resync into the line of replays. Nothing has changed, so `onlyIfChanged` does not apply.
    fn tell_resynced(&self, object: &Object, cause: Cause) {
        if self.contains(object, self.types.updated) {
            self.enqueue(Telling::resynced(object), cause, QueuePlace::Replay);
        }
    }

    /// Whether an existing object is new to a plugin whose view changed.
    fn enters(&self, object: &Object) -> bool {
        self.progress.succeeds() && !self.progress.knows(object)
    }

    /// Queues an update. If the view had the state before, the plugin knows that state.
    fn tell_update(&self, states: [&Object; 2], judged: Judged, cause: Cause) {
        let [old, new] = states;
        match judged.is_in {
            [true, true] if judged.is_concerned => {
                self.enqueue(Telling::updated(states), cause, QueuePlace::Live);
            }
            [true, true] => add_one(&self.queue.counters.filtered),
            [false, true] => self.enqueue(Telling::added(new), cause, QueuePlace::Live),
            [true, false] => {
                self.enqueue(Telling::deleted(old, Gone::LeftView), cause, QueuePlace::Live);
            }
            [false, false] => {}
        }
    }
}

impl ResourceEventHandler for SubscriptionHandler {
    fn interest(&self) -> Interest {
        match &self.seat {
            Some(seat) => Interest::Sifted(seat.place()),
            None => self.view.interest(),
        }
    }

    fn on_add(&self, object: &Object, cause: Cause) {
        let initial = cause.reason == informant_cache::Reason::Initial;
        // The objects of a first list existed before the subscription.
        if initial && self.replay == ReplayOption::Never && !self.enters(object) {
            return;
        }
        if self.contains(object, self.types.added || initial) {
            self.enqueue(Telling::added(object), cause, QueuePlace::Live);
        }
    }

    fn on_replay(&self, object: &Object, cause: Cause) {
        let ReplayStep::Tell { known } = self.progress.come_to(object) else { return };
        let is_in = self.contains(object, true);
        self.tell_present(object, known, is_in, cause, QueuePlace::Replay);
    }

    fn on_ahead(&self, notification: &Notification) {
        self.hear_ahead(notification);
    }

    fn has_room(&self) -> bool {
        self.queue.look(|mailboxes| mailboxes.ask_for_replay_room(self.id))
    }

    fn is_ready(&self, looks_left: &mut usize) -> bool {
        self.view.followed().is_none_or(|followed| followed.begin(looks_left))
    }

    fn walk(&self, store: &Indexer, takes: &dyn Fn(&Object) -> bool, objects_max: usize) -> usize {
        self.move_objects(store, takes, objects_max)
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        if cause.reason == informant_cache::Reason::Resync {
            return self.tell_resynced(new, cause);
        }
        let judged = self.judge([old, new]);
        self.tell_update([old, new], judged, cause);
    }

    fn on_delete(&self, last: &Object, final_state: FinalState, cause: Cause) {
        self.on_delete_known_as(last, last, final_state, cause);
    }

    fn on_delete_known_as(
        &self,
        known_as: &Object,
        last: &Object,
        final_state: FinalState,
        cause: Cause,
    ) {
        if self.contains(known_as, self.types.deleted) {
            let telling = Telling::deleted(last, gone(final_state)).known_as(known_as);
            self.enqueue(telling, cause, QueuePlace::Live);
        }
    }

    fn on_batch_told(&self) -> bool {
        self.queue.announce()
    }

    fn on_synced(&self) {
        self.progress.end();
        let gone = self.known.as_ref().map(|known| known.gone(&self.view));
        for object in gone.into_iter().flatten() {
            let telling = Telling::deleted(&object, Gone::Unknown);
            self.push(telling, Reason::Relist, Instant::now(), QueuePlace::Live);
        }
        self.is_synced.store(true, Relaxed);
        let queued = |initials: &mut Initials| initials.queued(self.id, self.begun_by);
        self.queue.change(|mailboxes| mailboxes.change_initials(queued));
    }
}

fn gone(final_state: FinalState) -> Gone {
    match final_state {
        FinalState::Known => Gone::Deleted,
        FinalState::Unknown => Gone::Unknown,
        FinalState::LeftScope => Gone::LeftView,
    }
}

#[cfg(test)]
mod filter_tests;
#[cfg(test)]
mod key_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
pub(in crate::delivery) mod tests;
