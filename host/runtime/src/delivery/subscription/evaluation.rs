//! The questions of a subscription about an object: the view, `onlyIfChanged`, and a simple `filter`.
//!
//! All subscriptions of an informer read the values of an object in one pass ([`SharedProjection`]). A filter that is
//! [simple](Condition) and says no drops the event here, if the actor would refuse the same event, and no event of the object
//! waits for the subscription. Otherwise the event is queued: it may be merged with another, or be for another version.

use super::{SubscriptionHandler, Telling};
use crate::contract::descriptor::SubscriptionSpec;
use crate::contract::filter::{Condition, Filter, TestedStates};
use crate::counters::Counters;
use crate::delivery::sieve::SubscriptionSieve;
use crate::delivery::view::View;
use crate::event::{Change, Reason};
use crate::history::{DeliveryEnd, EndedDelivery};
use informant_cache::{Object, SharedProjection, SharedReader, SharedValues};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The time of every sixteenth evaluation is taken, and counts for all sixteen.
const SAMPLED: u32 = 16;

/// The values that a subscription asks for.
#[derive(Debug)]
pub(in crate::delivery) struct Asked {
    reader: SharedReader,
    /// The values of the view come first, then these of `onlyIfChanged`, then those of the filter.
    concerning: Range<usize>,
    filter: Option<Filter>,
    evaluations: AtomicU32,
}

/// The meaning of an update for the subscription.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged {
    /// Whether the view contains the state before, and the state after.
    pub(super) is_in: [bool; 2],
    /// Whether the update changes a value that `onlyIfChanged` names.
    pub(super) is_concerned: bool,
}

impl Asked {
    /// With `filters`, the subscription's filter is evaluated here, if it is simple.
    pub(in crate::delivery) fn new(
        spec: &SubscriptionSpec,
        view: &View,
        projection: &Arc<SharedProjection>,
        filters: bool,
    ) -> Self {
        let filter = spec.filter.as_ref().filter(|filter| filters && filter.condition().is_some());
        let tested = filter.and_then(Filter::condition).map_or(&[][..], Condition::pointers);
        let of_view = view.pointers().len();
        let concerning = of_view..of_view + spec.only_if_changed.len();
        let pointers = view.pointers().chain(spec.only_if_changed.iter().map(String::as_str));
        let reader = projection.reader(pointers.chain(tested.iter().map(String::as_str)));
        let (filter, evaluations) = (filter.cloned(), AtomicU32::new(0));
        Self { reader, concerning, filter, evaluations }
    }

    /// The values that `onlyIfChanged` names, in its order.
    pub(super) fn concern<T>(&self, object: &Object, of: impl Fn(Option<&[u8]>) -> T) -> Vec<T> {
        object.read_shared(&self.reader, |values| {
            self.concerning.clone().map(|number| of(values.get(number))).collect()
        })
    }

    /// Evaluates, and charges a sample of the evaluations to the plugin.
    fn sampled<T>(&self, counters: &Counters, evaluate: impl FnOnce() -> T) -> T {
        if !self.evaluations.fetch_add(1, Relaxed).is_multiple_of(SAMPLED) {
            return evaluate();
        }
        let began = Instant::now();
        let evaluated = evaluate();
        counters.ledger.evaluated(began.elapsed() * SAMPLED);
        evaluated
    }

    /// Reads the values of two states.
    pub(in crate::delivery) fn read<T>(
        &self,
        [one, other]: [&Object; 2],
        read: impl FnOnce([SharedValues<'_>; 2]) -> T,
    ) -> T {
        one.read_shared(&self.reader, |one| {
            other.read_shared(&self.reader, |other| read([one, other]))
        })
    }

    /// Whether an update changes a value that `onlyIfChanged` names, if it names any.
    pub(in crate::delivery) fn is_concerned(&self, states: [Option<SharedValues<'_>>; 2]) -> bool {
        let differs = |number: usize| {
            let [before, after] = states.map(|values| values.map(|it| it.get(number)));
            before != after
        };
        self.concerning.is_empty() || self.concerning.clone().any(differs)
    }

    /// The verdict of the filter on an event, if that is certain. The states are the object and the one before.
    pub(in crate::delivery) fn verdict(
        &self,
        change: Change,
        values: [Option<SharedValues<'_>>; 2],
    ) -> Option<bool> {
        let condition = self.filter.as_ref()?.condition()?;
        let begin = self.concerning.end;
        let [object, old] = values
            .map(|values| values.map(|values| move |number: usize| values.get(begin + number)));
        let states = TestedStates {
            change,
            object: object.as_ref().map(|state| state as _),
            old: old.as_ref().map(|state| state as _),
        };
        condition.verdict(&states)
    }
}

impl SubscriptionHandler {
    /// Asks about updates together with the other handlers of an informer, where that is possible. The last step before
    /// the handler begins.
    pub(crate) fn sifted_by(
        mut self,
        sieve: &Arc<SubscriptionSieve>,
        projection: &Arc<SharedProjection>,
        spec: &SubscriptionSpec,
        filters: bool,
    ) -> Self {
        let (view, queue) = (&self.view, &self.queue);
        self.seat = sieve.join((self.id, spec), queue, view, projection, filters);
        self
    }

    /// Reads the values of an object, and charges the plugin's part of the pass over the bytes.
    fn read<T>(
        &self,
        object: &Object,
        pointers: usize,
        read: impl FnOnce(SharedValues<'_>) -> T,
    ) -> T {
        object.read_shared(&self.asked.reader, |values| {
            self.queue.counters.ledger.evaluated(values.cost(pointers));
            read(values)
        })
    }

    /// Reads the values of the states that are given.
    fn read_states<T>(
        &self,
        states: [Option<&Object>; 2],
        pointers: usize,
        read: impl FnOnce([Option<SharedValues<'_>>; 2]) -> T,
    ) -> T {
        match states {
            [Some(one), Some(other)] => self.read(one, pointers, |one| {
                self.read(other, pointers, |other| read([Some(one), Some(other)]))
            }),
            [Some(one), None] => self.read(one, pointers, |one| read([Some(one), None])),
            [None, Some(other)] => self.read(other, pointers, |other| read([None, Some(other)])),
            [None, None] => read([None, None]),
        }
    }

    fn sampled<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        self.asked.sampled(&self.queue.counters, evaluate)
    }

    /// Whether the view may contain the object, without the bytes. The check of the namespace alone is not charged.
    fn may_contain(&self, object: &Object) -> bool {
        match self.view.is_everything() {
            true => true,
            false => self.sampled(|| self.view.may_contain(object)),
        }
    }

    /// Whether the view contains the object. If the event would only be filtered, the bytes are not read.
    pub(super) fn contains(&self, object: &Object, is_wanted: bool) -> bool {
        let of_view = self.view.pointers().len();
        if !self.may_contain(object) {
            return false;
        }
        match of_view == 0 || !is_wanted {
            true => true,
            // No other subscription reads these bytes.
            false if object.is_at_rest() => self.sampled(|| self.view.contains(object)),
            false => self.read(object, of_view, |values| {
                self.sampled(|| self.view.fields_match(|number| values.get(number)))
            }),
        }
    }

    /// Whether the bytes decide about an update. The arguments are the answers without the bytes.
    fn depends_on_bytes(&self, [was_in, is_in]: [bool; 2]) -> bool {
        let is_both = was_in && is_in && self.types.updated;
        let of_both = is_both && !self.asked.concerning.is_empty();
        of_both || (self.asked.concerning.start > 0 && (was_in || is_in))
    }

    /// The meaning of an update for the subscription.
    pub(super) fn judge(&self, states: [&Object; 2]) -> Judged {
        let may_be_in = states.map(|state| self.may_contain(state));
        if !self.depends_on_bytes(may_be_in) {
            return Judged { is_in: may_be_in, is_concerned: true };
        }
        // A state that cannot be in the view is not read.
        let [old, new] = states;
        let read = [may_be_in[0].then_some(old), may_be_in[1].then_some(new)];
        self.read_states(read, self.asked.concerning.end, |values| self.judge_values(values))
    }

    fn judge_values(&self, states: [Option<SharedValues<'_>>; 2]) -> Judged {
        self.sampled(|| {
            let is_in = states.map(|values| {
                values.is_some_and(|it| self.view.fields_match(|number| it.get(number)))
            });
            Judged { is_in, is_concerned: self.asked.is_concerned(states) }
        })
    }

    /// Whether the filter refuses an event. `false` if that is not certain.
    pub(super) fn refuses(&self, telling: &Telling<'_>) -> bool {
        let Telling { change, object, old, .. } = *telling;
        let Some(filter) = &self.asked.filter else { return false };
        if change == Change::Deleted && !filter.names_change() {
            return false;
        }
        let pointers = filter.condition().map_or(0, |condition| condition.pointers().len());
        let states = match change {
            Change::Deleted => [None, Some(object)],
            Change::Added | Change::Updated => [Some(object), old.filter(|_| filter.reads_old())],
        };
        let verdict = self.read_states(states, pointers, |values| {
            self.sampled(|| self.asked.verdict(change, values))
        });
        verdict == Some(false)
    }

    /// The end of an event that the filter refuses.
    pub(super) fn refused<'a>(
        &self,
        telling: &Telling<'a>,
        reason: Reason,
        received: Instant,
    ) -> EndedDelivery<'a> {
        let (object, now) = (telling.object, Instant::now());
        EndedDelivery {
            subscription: self.id,
            change: telling.change,
            reason,
            gone: telling.gone,
            object: object.key().into(),
            resource_version: object.resource_version(),
            attempt: 1,
            waited: now.saturating_duration_since(received),
            took: Duration::ZERO,
            ended: now,
            end: DeliveryEnd::Filtered,
            error: "",
            wrote: "",
        }
    }
}
