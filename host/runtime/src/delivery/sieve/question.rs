//! The questions of subscriptions about an update, and the subscriptions that share one. Synchronous.

use crate::contract::descriptor::SubscriptionSpec;
use crate::contract::filter::{Filter, TextOfValue};
use crate::delivery::subscription::Asked;
use crate::delivery::view::View;
use crate::event::Change;
use hashbrown::HashMap;
use informant_cache::{Object, SharedProjection, SharedValues, SievePlaces};
use std::sync::Arc;
use std::time::Duration;

const BITS: usize = u64::BITS as usize;

/// The question of one subscription about an update of an object that is in its view before and after.
#[derive(Debug)]
pub(super) struct UpdateQuestion {
    updated: bool,
    only_if_changed: Vec<String>,
    filter: Option<Filter>,
}

/// Subscriptions with the same question. Those that compare the same value with texts are one group, whatever the texts.
#[derive(Debug)]
pub(super) struct QuestionGroup {
    updated: bool,
    only_if_changed: Vec<String>,
    /// The filter of the first subscription.
    filter: Option<Filter>,
    asked: Asked,
    /// The number of pointers of each subscription.
    pointers: usize,
    /// The places, one bit each: the numbers of words, and the words. No word is zero.
    words: Vec<(usize, u64)>,
    /// The places by their text, if they compare a value with texts.
    by_text: HashMap<Vec<u8>, Vec<usize>>,
}

/// The answer for all places of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer<'a> {
    /// The update is wanted, or that is not certain.
    Unknown,
    /// The update is of an unwanted type, or changes no value that `onlyIfChanged` names.
    Unconcerned,
    /// The filter refuses the update for all places but these.
    Refused { but: &'a [usize] },
}

impl UpdateQuestion {
    /// `None` for a subscription that wants every update, as far as this is certain without its filter's interpreter.
    pub(super) fn of(spec: &SubscriptionSpec, filters: bool) -> Option<Self> {
        let filter = spec.filter.clone();
        let filter = filter.filter(|filter| filters && filter.condition().is_some());
        let (updated, only_if_changed) = (spec.types.updated, spec.only_if_changed.clone());
        let is_certain = updated && only_if_changed.is_empty() && filter.is_none();
        (!is_certain).then_some(Self { updated, only_if_changed, filter })
    }

    /// Whether a filter decides, too.
    pub(super) fn filters(&self) -> bool {
        self.filter.is_some()
    }

    /// The text of a filter that is only the comparison of a value with a text.
    pub(super) fn text(&self) -> Option<Arc<[u8]>> {
        equal_text(self.filter.as_ref()).map(|(_, text)| text.as_bytes().into())
    }
}

/// The pointer and the text of a filter that is only their comparison.
fn equal_text(filter: Option<&Filter>) -> Option<(&str, &str)> {
    filter?.condition()?.equal_text()
}

impl QuestionGroup {
    pub(super) fn new(
        question: &UpdateQuestion,
        spec: &SubscriptionSpec,
        view: &View,
        projection: &Arc<SharedProjection>,
    ) -> Self {
        let UpdateQuestion { updated, only_if_changed, filter } = question;
        let tested = filter.as_ref().and_then(Filter::condition);
        Self {
            updated: *updated,
            asked: Asked::new(spec, view, projection, filter.is_some()),
            pointers: only_if_changed.len() + tested.map_or(0, |it| it.pointers().len()),
            only_if_changed: only_if_changed.clone(),
            filter: filter.clone(),
            words: Vec::new(),
            by_text: HashMap::new(),
        }
    }

    /// Whether it is the group of this question.
    pub(super) fn asks(&self, question: &UpdateQuestion) -> bool {
        let of = |filter| equal_text(filter).map(|(pointer, _)| pointer);
        let (own, other) = (self.filter.as_ref(), question.filter.as_ref());
        let is_same_test = match (of(own), of(other)) {
            (None, None) => own == other,
            (own, other) => own == other,
        };
        is_same_test
            && self.updated == question.updated
            && self.only_if_changed == question.only_if_changed
    }

    pub(super) fn add(&mut self, place: usize, question: &UpdateQuestion) {
        match self.words.iter_mut().find(|(number, _)| *number == place / BITS) {
            Some((_, word)) => *word |= 1 << (place % BITS),
            None => self.words.push((place / BITS, 1 << (place % BITS))),
        }
        if let Some((_, text)) = equal_text(question.filter.as_ref()) {
            self.by_text.entry_ref(text.as_bytes()).or_default().push(place);
        }
    }

    /// Removes a place. `text`: that of its filter, if its question has one.
    pub(super) fn remove(&mut self, place: usize, text: Option<&[u8]>) {
        let mut words = self.words.iter_mut();
        let bit = 1 << (place % BITS);
        let is_here =
            |(number, word): &&mut (usize, u64)| *number == place / BITS && *word & bit != 0;
        let Some((_, word)) = words.find(is_here) else { return };
        *word &= !bit;
        self.words.retain(|(_, word)| *word != 0);
        let Some(text) = text else { return };
        if let Some(places) = self.by_text.get_mut(text) {
            places.retain(|one| *one != place);
            if places.is_empty() {
                self.by_text.remove(text);
            }
        }
    }

    /// The places, one bit each: the numbers of words, and the words.
    pub(super) fn words(&self) -> &[(usize, u64)] {
        &self.words
    }

    /// The places.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.words.iter().flat_map(|&(number, word)| SievePlaces::of_word(number, word))
    }

    /// The number of places.
    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|(_, word)| word.count_ones() as usize).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The part of the time of the passes over the bytes that the pointers of one subscription took.
    pub(super) fn cost(&self, update: [&Object; 2]) -> Duration {
        if self.pointers == 0 || !self.updated {
            return Duration::ZERO;
        }
        self.asked.read(update, |values| values.map(|it| it.cost(self.pointers)).iter().sum())
    }

    pub(super) fn answer(&self, update: [&Object; 2]) -> Answer<'_> {
        if !self.updated {
            return Answer::Unconcerned;
        }
        self.asked.read(update, |values| self.answer_of(values))
    }

    fn answer_of(&self, values: [SharedValues<'_>; 2]) -> Answer<'_> {
        if !self.asked.is_concerned(values.map(Some)) {
            return Answer::Unconcerned;
        }
        let Some(filter) = &self.filter else { return Answer::Unknown };
        if self.by_text.is_empty() {
            let [old, new] = values;
            let states = [Some(new), Some(old).filter(|_| filter.reads_old())];
            return match self.asked.verdict(Change::Updated, states) {
                Some(false) => Answer::Refused { but: &[] },
                Some(true) | None => Answer::Unknown,
            };
        }
        match TextOfValue::of(values[1].get(self.only_if_changed.len())) {
            TextOfValue::Text(text) => {
                Answer::Refused { but: self.by_text.get(text).map_or(&[], Vec::as_slice) }
            }
            TextOfValue::Null => Answer::Refused { but: &[] },
            TextOfValue::Unknown => Answer::Unknown,
        }
    }
}
