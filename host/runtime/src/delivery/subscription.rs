//! From the informer's notifications to one plugin's events: host code that runs in the informer's task,
//! evaluates the subscription on old and new, and enqueues. It never waits; where it has little to tell, the guest may be called at once after it (`guest_threads/turn.rs`).
//!
//! What was there before it comes by a replay, which goes through the store by key; what happens to an object that the replay has not come
//! to is told at once, with the object's own replay before it. So each object's events are those of a replay made in one moment.
//!
//! What the subscription asks is compiled once, and asked cheapest first: namespace, name and labels, then the type of change,
//! then everything that the bytes say, in one pass over each of the two states.

mod ahead;
mod explained;
mod known;
mod replay;

use crate::contract::descriptor::{ChangeTypes, ReplayOption, SubscriptionSpec};
use crate::counters::add_one;
use crate::delivery::mailbox::Initials;
use crate::delivery::plugin_queue::PluginQueue;
use crate::delivery::view::View;
use crate::event::EventKeys;
use crate::event::enqueue::EnqueueRules;
use crate::event::{Change, Event, Gone, Reason, SubscriptionId};
use bytes::Bytes;
use informant_cache::{Cause, FinalState, Notification, Object, Projection, ResourceEventHandler};
use known::Known;
pub(crate) use known::Present;
pub(crate) use replay::Replay as Progress;
use replay::Turn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// Listens to one informer for one subscription of one plugin.
pub(crate) struct SubscriptionHandler {
    id: SubscriptionId,
    asked_by: u64,
    /// The load that had it begin.
    begun_by: u64,
    types: ChangeTypes,
    replay: ReplayOption,
    view: View,
    /// What its events become, if they are not told.
    rules: Option<Arc<EnqueueRules>>,
    /// The view's pointers, then those of `onlyIfChanged`.
    projection: Projection,
    queue: Arc<PluginQueue>,
    /// The reason that replayed objects are told with.
    replay_reason: Reason,
    /// How far the replay has come.
    progress: Arc<Progress>,
    /// What the plugin was told of before this host was there.
    known: Option<Arc<Known>>,
    /// The objects that were there when it began are through.
    is_synced: AtomicBool,
}

/// Where in the queue an event goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Behind everything that happened before it.
    Live,
    /// Into the line of replays.
    Replay,
}

/// What is told of an object.
#[derive(Debug, Clone, Copy)]
struct Telling<'a> {
    change: Change,
    object: &'a Object,
    old: Option<&'a Object>,
    gone: Option<Gone>,
    /// Only if it is added: the plugin knows it already.
    knew: bool,
    /// A state beside these in which it was known.
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

    /// Nothing has happened to it.
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

/// What an update is to the subscription.
#[derive(Debug, Clone, Copy)]
struct Judged {
    /// Whether the view has the state before and has the one after.
    is_in: [bool; 2],
    /// Whether it changes what `onlyIfChanged` names.
    is_concerned: bool,
}

impl SubscriptionHandler {
    /// A subscription that the plugin did not have before.
    pub(crate) fn new(
        id: SubscriptionId,
        spec: &SubscriptionSpec,
        queue: Arc<PluginQueue>,
    ) -> Self {
        let view = View::from(spec);
        let concerning = spec.only_if_changed.iter().map(String::as_str);
        let projection = Projection::new(view.pointers().chain(concerning));
        let progress = match spec.replay {
            ReplayOption::Never => Progress::none(),
            ReplayOption::Initial | ReplayOption::InitialAndReload => Progress::new(),
        };
        Self {
            id,
            asked_by: 0,
            begun_by: 0,
            types: spec.types,
            replay: spec.replay,
            rules: (!spec.enqueue.is_empty()).then(|| Arc::new(spec.enqueue.clone())),
            view,
            projection,
            queue,
            replay_reason: Reason::Initial,
            progress: Arc::new(progress),
            known: None,
            is_synced: AtomicBool::new(false),
        }
    }

    /// A subscription in the place of one that asked for something else, or that wants its objects again.
    pub(crate) fn replacing(
        id: SubscriptionId,
        spec: &SubscriptionSpec,
        queue: Arc<PluginQueue>,
        before: &Self,
    ) -> Self {
        let progress = Progress::after(before.view.clone(), before.progress.clone());
        Self {
            replay_reason: Reason::Reload,
            progress: Arc::new(progress),
            // The first list may still be on its way.
            known: before.known.clone(),
            ..Self::new(id, spec, queue)
        }
    }

    /// The same, for a subscription that has been as it is since the one load, and that the other has begin.
    pub(crate) fn of_loads(self, asked_by: u64, begun_by: u64) -> Self {
        Self { asked_by, begun_by, ..self }
    }

    /// The same, for a plugin that a host before this one has told of these objects: an end of theirs that nobody saw is told as well.
    pub(crate) fn knowing(self, objects: Vec<Object>, present: Present) -> Self {
        Self { known: Some(Arc::new(Known::new(objects, present))), ..self }
    }

    /// How far its replay has come.
    pub(crate) fn progress(&self) -> Arc<Progress> {
        self.progress.clone()
    }

    fn enqueue(&self, telling: Telling<'_>, cause: Cause, line: Line) {
        let reason = match Reason::from(cause.reason) {
            Reason::Initial => self.replay_reason,
            reason => reason,
        };
        let known = self.known.as_ref().and_then(|known| known.take(telling.object));
        let telling = match &known {
            Some(known) if known.uid() == telling.object.uid() => {
                Telling { knew: true, ..telling.known_as(known) }
            }
            Some(known) => {
                // Another object of its name has come: the one that the plugin knows is gone.
                let gone = Telling::deleted(known, Gone::Unknown);
                self.push(gone, Reason::Relist, cause.received, Line::Live);
                telling
            }
            None => telling,
        };
        self.push(telling, reason, cause.received, line);
    }

    fn push(&self, telling: Telling<'_>, reason: Reason, received: Instant, line: Line) {
        let Telling { change, object, old, gone, knew, known_as } = telling;
        if !self.types.contain(change) {
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
        match line {
            Line::Live => self.queue.push_unannounced(event),
            Line::Replay => self.queue.push_replayed_unannounced(event),
        }
    }

    /// Tells of an object as it was when the subscription began, to a plugin that knows it or does not.
    fn tell_present(&self, object: &Object, known: bool, is_in: bool, cause: Cause, line: Line) {
        match (known, is_in) {
            (true, false) => {
                self.enqueue(Telling::deleted(object, Gone::LeftView), cause, line);
            }
            // It is known, and wants no replay.
            (true, true) if self.replay == ReplayOption::Never => {}
            (true, true) => self.enqueue(Telling::again(object), cause, line),
            (false, true) => self.enqueue(Telling::added(object), cause, line),
            (false, false) => {}
        }
    }

    /// Tells of an object because the resync period came round: whatever `onlyIfChanged` says, as nothing has changed, and beside what happens.
    fn tell_resynced(&self, object: &Object, cause: Cause) {
        if self.contains(object, self.types.updated) {
            self.enqueue(Telling::resynced(object), cause, Line::Replay);
        }
    }

    /// Whether the view has the object. The bytes of one that could only be filtered are not looked at.
    fn contains(&self, object: &Object, is_wanted: bool) -> bool {
        if !is_wanted {
            return self.view.may_contain(object);
        }
        self.charged(|| self.view.contains(object))
    }

    /// What is evaluated here is charged to the plugin, where it is more than a look at a namespace.
    fn charged<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        if self.projection.is_empty() && self.view.is_everything() {
            return evaluate();
        }
        let began = Instant::now();
        let evaluated = evaluate();
        self.queue.counters.ledger.evaluated(began.elapsed());
        evaluated
    }

    /// Whether what was there is new to a plugin whose view was another before.
    fn enters(&self, object: &Object) -> bool {
        self.progress.succeeds() && !self.progress.knows(object)
    }

    /// Whether the bytes decide about an update. The two arguments are what can be said without them.
    fn depends_on_bytes(&self, was_in: bool, is_in: bool) -> bool {
        let of_view = self.view.pointers().len();
        let of_both = self.projection.len() > of_view && was_in && is_in && self.types.updated;
        of_both || (of_view > 0 && (was_in || is_in))
    }

    /// What an update is to the subscription, in one pass over each state's bytes at most.
    fn judge(&self, states: [&Object; 2]) -> Judged {
        let may_be_in = states.map(|state| self.view.may_contain(state));
        let [was_in, is_in] = may_be_in;
        if !self.depends_on_bytes(was_in, is_in) {
            return Judged { is_in: may_be_in, is_concerned: true };
        }
        // A state that cannot be in the view is not looked at.
        let json = |number: usize| may_be_in[number].then(|| states[number].json());
        let texts: [Option<Bytes>; 2] = [json(0), json(1)];
        let values =
            texts.each_ref().map(|text| text.as_deref().map(|t| self.projection.values(t)));
        let is_in = values
            .each_ref()
            .map(|values| values.as_ref().is_some_and(|values| self.view.fields_match(values)));
        let of_view = self.view.pointers().len();
        let [before, after] = &values;
        let is_concerned = self.projection.len() == of_view
            || before.as_ref().map(|values| &values[of_view..])
                != after.as_ref().map(|values| &values[of_view..]);
        Judged { is_in, is_concerned }
    }

    /// Tells of an update of which the plugin knows the state before, where the view has had that.
    fn tell_update(&self, states: [&Object; 2], judged: Judged, cause: Cause) {
        let [old, new] = states;
        match judged.is_in {
            [true, true] if judged.is_concerned => {
                self.enqueue(Telling::updated(states), cause, Line::Live);
            }
            [true, true] => add_one(&self.queue.counters.filtered),
            [false, true] => self.enqueue(Telling::added(new), cause, Line::Live),
            [true, false] => {
                self.enqueue(Telling::deleted(old, Gone::LeftView), cause, Line::Live);
            }
            [false, false] => {}
        }
    }
}

impl ResourceEventHandler for SubscriptionHandler {
    fn on_add(&self, object: &Object, cause: Cause) {
        let initial = cause.reason == informant_cache::Reason::Initial;
        // What a first list shows was there before the subscription.
        if initial && self.replay == ReplayOption::Never && !self.enters(object) {
            return;
        }
        if self.contains(object, self.types.added || initial) {
            self.enqueue(Telling::added(object), cause, Line::Live);
        }
    }

    fn on_replay(&self, object: &Object, cause: Cause) {
        let Turn::Tell { known } = self.progress.come_to(object) else { return };
        let is_in = self.contains(object, true);
        self.tell_present(object, known, is_in, cause, Line::Replay);
    }

    fn on_ahead(&self, notification: &Notification) {
        self.hear_ahead(notification);
    }

    fn has_room(&self) -> bool {
        self.queue.look(|mailboxes| mailboxes.has_replay_room(self.id))
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        if cause.reason == informant_cache::Reason::Resync {
            return self.tell_resynced(new, cause);
        }
        let judged = self.charged(|| self.judge([old, new]));
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
            self.enqueue(telling, cause, Line::Live);
        }
    }

    fn on_batch_told(&self) {
        self.queue.announce();
    }

    fn on_synced(&self) {
        self.progress.end();
        let gone = self.known.as_ref().map(|known| known.gone(&self.view));
        for object in gone.into_iter().flatten() {
            let telling = Telling::deleted(&object, Gone::Unknown);
            self.push(telling, Reason::Relist, Instant::now(), Line::Live);
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
mod key_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;
