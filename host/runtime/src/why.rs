//! The answer to one question: why was a plugin called for an object, or why was it not?
//!
//! Only the [history](crate::history) of deliveries is kept for this. The rest is computed for each question. The
//! subscription's own view, filter and pointers are evaluated for the object in the cache. The queue has the place of
//! the object's events, and the plugin has its state.

mod answer;
mod deliveries;
mod keys;
mod question;
mod refusals;
mod times;
mod values;
mod verdict;
mod waiting;

pub use answer::{
    CachedObject, DeliveryWhy, KeyWhy, LetterWhy, PluginWhy, SubscriptionWhy, UnmetQuestion,
    WaitingWhy, Why,
};
pub use question::WhyQuestion;

use crate::delivery::mailbox::WaitingEvent;
use crate::event::SubscriptionId;
use crate::history::{History, PastDelivery};
use crate::namespace_labels::namespaces;
use crate::plugin::core::{PluginCore, RunningVersion};
use crate::plugin::status::PluginStatus;
use crate::plugins::Plugins;
use informant_apimachinery::{LabelSelector, nearest};
use informant_cache::{Object, SharedIndexInformer, SharedInformerFactory};
use std::sync::Arc;
use std::time::Instant;
use times::Clocks;
use values::{ShownValues, line};

/// The most names that a misspelt name is compared with.
const NAMES_MAX: usize = 1_000;

/// The data for the answer about one object.
struct Sight<'a> {
    question: &'a WhyQuestion,
    /// The informer of the question's resource.
    informer: Option<&'a SharedIndexInformer>,
    /// The informer of the namespaces.
    namespaces: Option<&'a SharedIndexInformer>,
    /// The object in the cache, or one that the informer leaves out.
    object: Option<Object>,
    is_left_out: bool,
    clocks: Clocks,
    shown: ShownValues,
}

/// One plugin at one moment.
struct Looked<'a> {
    core: &'a PluginCore,
    status: PluginStatus,
    /// The version in charge.
    running: Option<RunningVersion>,
    history: History,
    /// Deliveries of the object that the history does not have: those that ended for many plugins at once. And the end of
    /// the newest such delivery that is not there any more.
    refused: (Vec<PastDelivery>, Option<Instant>),
    /// Waiting events of the object, at the moment of the history.
    events: Vec<WaitingEvent>,
}

impl Plugins {
    /// Answers the question with the present data. Changes nothing. `left_out` is the object of
    /// [`WhyQuestion::left_out`].
    pub fn why(
        &self,
        question: &WhyQuestion,
        informers: &SharedInformerFactory,
        left_out: Option<Object>,
    ) -> Why {
        let informers = informers.informers();
        let sight = Sight::new(question, &informers, left_out);
        let is_asked = |core: &&Arc<PluginCore>| {
            question.plugin.as_ref().is_none_or(|plugin| *plugin == core.name)
        };
        let cores = self.cores();
        let plugins: Vec<PluginWhy> =
            cores.iter().filter(is_asked).map(|core| sight.of(core)).collect();
        Why {
            resource: question.resource.to_string(),
            namespace: question.key.namespace().to_owned(),
            name: question.key.name().to_owned(),
            at: sight.clocks.now(),
            cache: sight.cached(&plugins),
            plugins,
        }
    }
}

impl<'a> Sight<'a> {
    fn new(
        question: &'a WhyQuestion,
        informers: &'a [SharedIndexInformer],
        left_out: Option<Object>,
    ) -> Self {
        let of = |resource| informers.iter().find(|it| *it.resource() == resource);
        let informer = of(question.resource.clone());
        let cached = informer.and_then(|informer| informer.indexer().get(&question.key));
        Self {
            question,
            informer,
            namespaces: of(namespaces()),
            is_left_out: cached.is_none() && left_out.is_some(),
            object: cached.or(left_out),
            clocks: Clocks::read(),
            shown: ShownValues::of(&question.resource),
        }
    }

    fn cached(&self, plugins: &[PluginWhy]) -> CachedObject {
        let state = self.informer.map(SharedIndexInformer::state);
        let place = match (self.informer, &self.object) {
            (None, _) => "not-cached",
            (Some(_), Some(_)) if self.is_left_out => "left-out",
            (Some(_), Some(_)) => "present",
            (Some(_), None) => "absent",
        };
        CachedObject {
            state: place.to_owned(),
            resource_version: self.object.as_ref().map(|it| it.resource_version().to_owned()),
            uid: self.object.as_ref().map(|it| it.uid().to_string()),
            informer: state.as_ref().map(|state| state.as_str().to_owned()),
            message: state.and_then(|state| state.message().map(line)),
            nearest: self.nearest_name(plugins),
        }
    }

    /// The nearest name in the cache to an absent name. An object with deliveries existed, so its name is right. The
    /// names of Secrets are never shown.
    fn nearest_name(&self, plugins: &[PluginWhy]) -> Option<String> {
        let key = &self.question.key;
        if self.object.is_some() || self.question.resource.is_secrets() {
            return None;
        }
        if plugins.iter().any(|it| !it.deliveries.is_empty() || !it.waiting.is_empty()) {
            return None;
        }
        let all = LabelSelector::default();
        let indexer = self.informer?.indexer();
        let page = indexer.list(Some(key.namespace()), &all, NAMES_MAX, None).ok()?;
        let names: Vec<&str> = page.items.iter().map(|object| object.key().name()).collect();
        nearest(key.name(), &names).map(line)
    }

    fn of(&self, core: &PluginCore) -> PluginWhy {
        let status = PluginStatus::of(core);
        let running = core.facts().running.clone();
        // Both under one lock: an event that ends between two locks would be in neither.
        let (history, events) =
            core.queue.look(|it| (it.history.clone(), it.waiting_of(&self.question.key)));
        let refused = match history.is_kept() {
            true => core.queue.refused_updates(&self.question.key),
            false => Default::default(),
        };
        let looked = Looked { core, status, running, history, refused, events };
        let deliveries = deliveries::deliveries(self, &looked);
        let subscriptions = refusals::subscriptions(self, &looked, &deliveries);
        let (waiting, waiting_more) = waiting::waiting(self, &looked, &deliveries);
        let dead_letters = deliveries::letters(self, &looked);
        let keys = keys::keys(self, &looked);
        let found = verdict::PluginFindings {
            subscriptions: &subscriptions,
            waiting: &waiting,
            deliveries: &deliveries,
            letters: &dead_letters,
            keys: &keys,
        };
        let (answer, because) = verdict::verdict(self, &looked, &found);
        PluginWhy {
            name: core.name.as_str().to_owned(),
            state: looked.status.state.name().to_owned(),
            answer: answer.to_owned(),
            because: line(&because),
            subscriptions,
            waiting,
            waiting_more,
            deliveries,
            history_since: looked.history_since(self),
            dead_letters,
            keys,
        }
    }
}

impl Looked<'_> {
    /// The name of one of the plugin's subscriptions to the question's resource.
    fn name_of(&self, sight: &Sight<'_>, id: SubscriptionId) -> Option<&str> {
        let specs = self.running.as_ref()?.specs.iter();
        let mut specs = specs.filter(|(_, spec)| spec.resource == sight.question.resource);
        specs.find(|(of, _)| *of == id).map(|(_, spec)| spec.name.as_str())
    }

    /// The time since which the history is complete; `None` if it has forgotten no delivery.
    fn history_since(&self, sight: &Sight<'_>) -> Option<String> {
        let forgotten = self.history.forgotten().max(self.refused.1);
        forgotten.map(|forgotten| sight.clocks.at(forgotten))
    }
}

#[cfg(test)]
mod tests;
