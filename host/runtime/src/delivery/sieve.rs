//! The subscriptions of one informer that may refuse an update without a look at their plugins, so that hundreds of plugins
//! that refuse an update cost the informer's task little more than one.
//!
//! Subscriptions with the same question are a group, and the question is asked once ([`question`]). An update that an
//! `onlyIfChanged` refuses is only counted. One that a `filter` refuses is refused here if the plugin's actors would refuse
//! it, and no event of the object waits ([`refusing`]). Then one record for all plugins notes it ([`refused_updates`]). The
//! handlers of all other subscriptions are called, and decide by themselves.
//!
//! Only subscriptions to all objects are here: namespaces and most label selectors lead past the others already.

mod question;
mod refused_updates;
mod refusing;
mod seat;

use crate::contract::descriptor::SubscriptionSpec;
use crate::delivery::plugin_queue::PluginQueue;
use crate::delivery::view::View;
use crate::event::SubscriptionId;
use crate::history::PastDelivery;
use informant_cache::{Cause, Object, ObjectKey, SharedProjection, Sieve, SievePlaces};
use parking_lot::Mutex;
use question::{Answer, QuestionGroup, UpdateQuestion};
use refused_updates::RefusedUpdates;
pub(crate) use refusing::RefusingBit;
use refusing::RefusingPlaces;
pub(crate) use seat::{Seats, SieveSeat};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time of every 64th update is taken, and counts for all of them. That visits the accounts of all plugins.
const SAMPLED: u32 = 64;

/// The subscriptions of one informer that ask about updates together.
#[derive(Default)]
pub(crate) struct SubscriptionSieve {
    state: Mutex<SieveState>,
}

#[derive(Default)]
struct SieveState {
    groups: Vec<QuestionGroup>,
    /// By place.
    members: Vec<Option<SieveMember>>,
    /// The places without a member that records still name.
    vacated: SievePlaces,
    /// The number of refused updates, by place.
    refused: Vec<u64>,
    /// The updates that filters refused.
    updates: RefusedUpdates,
    /// Updates since the last one whose time was taken.
    since_sample: u32,
    /// The places whose plugins would refuse an update now.
    refusing: RefusingPlaces,
    /// The places that the present update does not concern.
    unconcerned: SievePlaces,
    /// The places whose filter refuses the present update.
    filtered: SievePlaces,
    /// The places whose filter refuses the present update, and whose plugins have to be asked.
    asked: SievePlaces,
    /// The places that the present update passes in one group.
    passed: SievePlaces,
}

/// One subscription.
struct SieveMember {
    id: SubscriptionId,
    queue: Arc<PluginQueue>,
    /// The text of its filter, if this is only the comparison of a value with a text.
    text: Option<Arc<[u8]>>,
}

impl Sieve for SubscriptionSieve {
    fn sift(&self, update: [&Object; 2], cause: Cause, places: &mut SievePlaces) {
        let mut state = self.state.lock();
        state.since_sample += 1;
        if state.since_sample < SAMPLED {
            return state.sift(update, cause, places);
        }
        state.since_sample = 0;
        // The pass over the bytes is charged by the pointers.
        let costs: Vec<Duration> = state.groups.iter().map(|group| group.cost(update)).collect();
        let began = Instant::now();
        state.sift(update, cause, places);
        state.charge(&costs, began.elapsed());
    }
}

impl SubscriptionSieve {
    /// Adds a subscription, if its updates can be refused here. `filters`: also by its filter, if that is simple.
    pub(crate) fn join(
        self: &Arc<Self>,
        (id, spec): (SubscriptionId, &SubscriptionSpec),
        queue: &Arc<PluginQueue>,
        view: &View,
        projection: &Arc<SharedProjection>,
        filters: bool,
    ) -> Option<SieveSeat> {
        let question = view.is_everything().then(|| UpdateQuestion::of(spec, filters))??;
        let mut state = self.state.lock();
        let place = state.free_place();
        let (text, bit) = (question.text(), question.filters().then(|| state.refusing.bit(place)));
        state.members[place] = Some(SieveMember { id, queue: queue.clone(), text });
        let known = state.groups.iter().position(|group| group.asks(&question));
        let group = known.unwrap_or_else(|| {
            state.groups.push(QuestionGroup::new(&question, spec, view, projection));
            state.groups.len() - 1
        });
        state.groups[group].add(place, &question);
        drop(state);
        Some(SieveSeat::new(self.clone(), (place, bit), id, queue.clone()))
    }

    /// The number of updates that were refused for a place.
    fn refused(&self, place: usize) -> u64 {
        self.state.lock().refused.get(place).copied().unwrap_or_default()
    }

    /// The newest updates of an object that the filter in a place refused, oldest first, and the end of the newest one that
    /// is not there any more, of any object.
    fn filtered(
        &self,
        (place, id): (usize, SubscriptionId),
        key: &ObjectKey,
    ) -> (Vec<PastDelivery>, Option<Instant>) {
        self.state.lock().updates.of((place, id), Some(key))
    }

    /// Removes a subscription. Returns the number of its refused updates, and the newest records of them, with the end of
    /// the newest one that is not among these.
    fn leave(
        &self,
        (place, id): (usize, SubscriptionId),
    ) -> (u64, (Vec<PastDelivery>, Option<Instant>)) {
        let mut state = self.state.lock();
        let past = state.updates.of((place, id), None);
        let member = state.members[place].take();
        let text = member.as_ref().and_then(|member| member.text.as_deref());
        state.groups.iter_mut().for_each(|group| group.remove(place, text));
        state.groups.retain(|group| !group.is_empty());
        state.vacated.insert(place);
        let refused = std::mem::take(&mut state.refused[place]);
        if state.groups.is_empty() {
            *state = SieveState::default();
        }
        (refused, past)
    }
}

impl SieveState {
    /// A place without a member and without records. The records of all vacated places go in one walk.
    fn free_place(&mut self) -> usize {
        self.updates.forget(&self.vacated);
        self.vacated.clear();
        let free = self.members.iter().position(Option::is_none);
        free.unwrap_or_else(|| {
            self.members.push(None);
            self.refused.push(0);
            self.members.len() - 1
        })
    }

    fn sift(&mut self, update: [&Object; 2], cause: Cause, places: &mut SievePlaces) {
        let Self { groups, refusing, unconcerned, filtered, asked, passed, .. } = self;
        // `passed` has places after a panic only.
        for set in [&mut *unconcerned, &mut *filtered, &mut *asked, &mut *passed] {
            set.clear();
        }
        for group in groups {
            match group.answer(update) {
                Answer::Unknown => {}
                Answer::Unconcerned => {
                    for &(number, word) in group.words() {
                        unconcerned.add_word(number, word & places.word(number));
                    }
                }
                Answer::Refused { but } => {
                    but.iter().for_each(|place| passed.insert(*place));
                    for &(number, word) in group.words() {
                        let refuses = word & places.word(number) & !passed.word(number);
                        let [everything, free] = refusing.word(number);
                        filtered.add_word(number, refuses & everything);
                        asked.add_word(number, refuses & free);
                    }
                    but.iter().for_each(|place| passed.remove(*place));
                }
            }
        }
        self.ask_plugins(update[1]);
        for set in [&self.unconcerned, &self.filtered] {
            places.subtract(set);
            set.iter().for_each(|place| self.refused[place] += 1);
        }
        if !self.filtered.is_empty() {
            self.updates.push(update[1], cause, &self.filtered);
        }
    }

    /// Asks the plugins of the places in `asked`, each once for all its places, whether no event of the object waits.
    fn ask_plugins(&mut self, object: &Object) {
        if self.asked.is_empty() {
            return;
        }
        let Self { members, asked, filtered, .. } = self;
        let member = |place: usize| Some((members.get(place)?.as_ref()?, place));
        let mut of: Vec<(&SieveMember, usize)> = asked.iter().filter_map(member).collect();
        of.sort_by_key(|(member, _)| Arc::as_ptr(&member.queue));
        for of_plugin in of.chunk_by(|(one, _), (other, _)| Arc::ptr_eq(&one.queue, &other.queue)) {
            let subscriptions = of_plugin.iter().map(|(member, place)| (member.id, *place));
            let queue = &of_plugin[0].0.queue;
            queue.refuse_each(object, subscriptions, |place| filtered.insert(place));
        }
    }

    /// Charges a sampled update to the plugins: the cost of the pass to each by its group, and an equal part of the time.
    fn charge(&self, costs: &[Duration], took: Duration) {
        let count = self.groups.iter().map(QuestionGroup::len).sum::<usize>();
        let each = took / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        for (group, cost) in self.groups.iter().zip(costs) {
            let places = group.places();
            let members = places.filter_map(|place| self.members[place].as_ref());
            members.for_each(|it| it.queue.counters.ledger.evaluated((each + *cost) * SAMPLED));
        }
    }
}

#[cfg(test)]
mod tests;
