//! From the informer's notifications to one plugin's events: host code that runs in the informer's task,
//! evaluates the subscription on old and new, and enqueues. It never calls a guest and never waits.
//!
//! What the subscription asks is compiled once, and asked cheapest first: namespace, name and labels, then the type of change,
//! then everything that the bytes say, in one pass over each of the two states.

mod known;
mod succession;

use crate::descriptor::{ChangeTypes, Replay, SubscriptionSpec};
use crate::event::{Change, Event, Gone, Reason, SubscriptionId};
use crate::plugin_queue::PluginQueue;
use crate::view::View;
use bytes::Bytes;
use informant_cache::{Cause, FinalState, Object, Projection, ResourceEventHandler};
use known::Known;
pub(crate) use known::Present;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;
use succession::Succession;

/// Listens to one informer for one subscription of one plugin.
pub(crate) struct SubscriptionHandler {
    id: SubscriptionId,
    asked_by: u64,
    /// The load that had it begin.
    begun_by: u64,
    types: ChangeTypes,
    replay: Replay,
    view: View,
    /// The view's pointers, then those of `onlyIfChanged`.
    projection: Projection,
    queue: Arc<PluginQueue>,
    /// The reason that replayed objects are told with.
    replay_reason: Reason,
    /// In the place of another: what the plugin knows from that one, until the replay is through.
    succession: Option<Arc<Succession>>,
    /// What the plugin was told of before this host was there.
    known: Option<Arc<Known>>,
    /// The objects that were there when it began are through.
    is_synced: AtomicBool,
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
        Self {
            id,
            asked_by: 0,
            begun_by: 0,
            types: spec.types,
            replay: spec.replay,
            view,
            projection,
            queue,
            replay_reason: Reason::Initial,
            succession: None,
            known: None,
            is_synced: AtomicBool::new(false),
        }
    }

    /// A subscription in the place of one that asked for something else, or that wants its objects again.
    pub(crate) fn replacing(
        id: SubscriptionId,
        spec: &SubscriptionSpec,
        queue: Arc<PluginQueue>,
        (spec_before, before): (&SubscriptionSpec, &Self),
    ) -> Self {
        let succession = Succession::of(View::from(spec_before), before.succession.clone());
        Self {
            replay_reason: Reason::Reload,
            succession: Some(Arc::new(succession)),
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

    /// Whether the plugin was told of this state of the object by the handler before; none where the view says what it knows.
    fn was_told(&self, object: &Object) -> Option<bool> {
        self.succession.as_ref()?.was_told(object)
    }

    /// From now on the view says what the plugin knows of the object.
    fn hear(&self, object: &Object) {
        if let Some(succession) = &self.succession {
            succession.hear(object);
        }
    }

    fn enqueue(
        &self,
        change: Change,
        object: &Object,
        old: Option<&Object>,
        gone: Option<Gone>,
        cause: Cause,
    ) {
        let reason = match Reason::from(cause.reason) {
            Reason::Initial => self.replay_reason,
            reason => reason,
        };
        // Another object of its name has come: the one that the plugin knows is gone.
        let known = self.known.as_ref().and_then(|known| known.replaced_by(object));
        if let Some(gone) = known {
            self.push(Change::Deleted, Reason::Relist, &gone, None, Some(Gone::Unknown), cause);
        }
        self.push(change, reason, object, old, gone, cause);
    }

    fn push(
        &self,
        change: Change,
        reason: Reason,
        object: &Object,
        old: Option<&Object>,
        gone: Option<Gone>,
        cause: Cause,
    ) {
        if !self.types.contain(change) {
            return self.queue.count_filtered();
        }
        self.queue.push_unannounced(Event {
            subscription: self.id,
            asked_by: self.asked_by,
            change,
            reason,
            gone,
            object: object.clone(),
            old: old.cloned(),
            coalesced: 0,
            letters: Vec::new(),
            received: cause.received,
            before_sync: !self.is_synced.load(Relaxed),
        });
    }

    /// Whether nothing that was there before the subscription is told. One in the place of another tells what its view has gained.
    fn is_silent(&self, replayed: bool) -> bool {
        replayed && self.succession.is_none() && self.replay == Replay::Never
    }

    /// Whether the view has the object. The bytes of one that could only be filtered are not looked at.
    fn contains(&self, object: &Object, is_wanted: bool) -> bool {
        if is_wanted { self.view.contains(object) } else { self.view.may_contain(object) }
    }

    /// Whether the bytes decide about an update. The two arguments are what can be said without them.
    fn depends_on_bytes(&self, was_in: bool, is_in: bool) -> bool {
        let of_view = self.view.pointers().len();
        let of_both = self.projection.len() > of_view && was_in && is_in && self.types.updated;
        of_both || (of_view > 0 && (was_in || is_in))
    }

    /// Whether an update changes what `onlyIfChanged` names.
    fn is_concerned(&self, states: [&Object; 2]) -> bool {
        let of_view = self.view.pointers().len();
        if self.projection.len() == of_view {
            return true;
        }
        let [old, new] = states.map(Object::json);
        self.projection.values(&old)[of_view..] != self.projection.values(&new)[of_view..]
    }

    /// What becomes of an update of which the view has had the one state and has the other.
    fn update(&self, states: [&Object; 2], is_in: [bool; 2], is_concerned: bool, cause: Cause) {
        let [old, new] = states;
        match is_in {
            [true, true] if is_concerned => {
                self.enqueue(Change::Updated, new, Some(old), None, cause);
            }
            [true, true] => self.queue.count_filtered(),
            [false, true] => self.enqueue(Change::Added, new, None, None, cause),
            [true, false] => self.enqueue(Change::Deleted, old, None, Some(Gone::LeftView), cause),
            [false, false] => {}
        }
    }
}

impl ResourceEventHandler for SubscriptionHandler {
    fn on_add(&self, object: &Object, cause: Cause) {
        let replayed = cause.reason == informant_cache::Reason::Initial;
        let is_in = self.contains(object, self.types.added || replayed);
        let succeeds = replayed && self.succession.is_some();
        // What was heard of since is known as the view has it.
        let was_told = succeeds && self.was_told(object).unwrap_or(is_in);
        self.hear(object);
        match (was_told, is_in) {
            (true, false) => {
                self.enqueue(Change::Deleted, object, None, Some(Gone::LeftView), cause);
            }
            // It is known, or wants no replay: an informer's first list and the walk through its store show what was there before.
            (true, true) if self.replay == Replay::Never => {}
            (false, true) if self.is_silent(replayed) => {}
            (_, true) => self.enqueue(Change::Added, object, None, None, cause),
            (false, false) => {}
        }
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        let states = [old, new];
        if let Some(was_told) = self.was_told(old) {
            self.hear(new);
            let is_concerned = self.is_concerned(states);
            return self.update(states, [was_told, self.view.contains(new)], is_concerned, cause);
        }
        let may_be_in = states.map(|state| self.view.may_contain(state));
        let [was_in, is_in] = may_be_in;
        if !self.depends_on_bytes(was_in, is_in) {
            return self.update(states, may_be_in, true, cause);
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
        self.update(states, is_in, is_concerned, cause);
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
        let was_told = self.was_told(known_as);
        if !was_told.unwrap_or_else(|| self.contains(known_as, self.types.deleted)) {
            return;
        }
        let gone = match final_state {
            FinalState::Known => Gone::Deleted,
            FinalState::Unknown => Gone::Unknown,
            FinalState::LeftScope => Gone::LeftView,
        };
        self.enqueue(Change::Deleted, last, None, Some(gone), cause);
    }

    fn on_batch_told(&self) {
        self.queue.announce();
    }

    fn on_synced(&self) {
        if let Some(succession) = &self.succession {
            succession.end();
        }
        let cause = Cause { reason: informant_cache::Reason::Relist, received: Instant::now() };
        let gone = self.known.as_ref().map(|known| known.gone(&self.view));
        for object in gone.into_iter().flatten() {
            self.push(Change::Deleted, Reason::Relist, &object, None, Some(Gone::Unknown), cause);
        }
        self.is_synced.store(true, Relaxed);
        self.queue.initial_queued(self.id, self.begun_by);
    }
}

#[cfg(test)]
mod tests;
