//! The questions of a subscription before the present state of an object is delivered, in their order, as far as the
//! answer is no.
//!
//! The view, the filter and the pointers are those of the informer's task and the plugin's actor.

use super::answer::{DeliveryWhy, SubscriptionWhy, UnmetQuestion};
use super::values::line;
use super::{Looked, Sight};
use crate::contract::coverage::subscribed_scope;
use crate::contract::descriptor::{ChangeTypes, ReplayOption, SubscriptionSpec};
use crate::contract::filter::FilterVerdict;
use crate::delivery::view::{Unmet, View};
use crate::event::{Change, Event, SubscriptionId};
use crate::namespace_labels::{namespaces, namespaces_scope};
use crate::plugin::core::{Replaying, RunningVersion};
use informant_cache::{InformerState, Object, SharedIndexInformer};
use std::time::Instant;

/// The questions, in their order.
pub(super) const QUESTIONS: [&str; 12] = [
    "serviceAccount",
    "grant",
    "informer",
    "cache",
    "namespaces",
    "namespaceSelector",
    "fieldSelector",
    "labelSelector",
    "replay",
    "types",
    "onlyIfChanged",
    "filter",
];

/// The plugin's subscriptions to the resource.
pub(super) fn subscriptions(
    sight: &Sight<'_>,
    looked: &Looked<'_>,
    deliveries: &[DeliveryWhy],
) -> Vec<SubscriptionWhy> {
    let Some(running) = &looked.running else { return Vec::new() };
    let active = looked.core.subscriptions();
    let of_resource =
        running.specs.iter().filter(|(_, spec)| spec.resource == sight.question.resource);
    of_resource
        .map(|(id, spec)| {
            let active = active.iter().find(|active| active.id == *id);
            let is_delivery = |it: &&DeliveryWhy| {
                it.subscription == spec.name
                    && !["unwanted", "dropped", "withdrawn"].contains(&&*it.end)
            };
            let last = deliveries.iter().rev().find(is_delivery);
            let asked = SubscriptionLook { sight, looked, running, id: *id, spec, active, last };
            SubscriptionWhy { name: spec.name.clone(), refusals: asked.refusals() }
        })
        .collect()
}

/// One subscription.
struct SubscriptionLook<'a> {
    sight: &'a Sight<'a>,
    looked: &'a Looked<'a>,
    running: &'a RunningVersion,
    id: SubscriptionId,
    spec: &'a SubscriptionSpec,
    /// `None` while the subscription is not delivered.
    active: Option<&'a Replaying>,
    /// The newest delivery of the object in the history.
    last: Option<&'a DeliveryWhy>,
}

fn refusal(question: &str, text: String) -> UnmetQuestion {
    UnmetQuestion { question: question.to_owned(), text: line(&text) }
}

impl SubscriptionLook<'_> {
    fn refusals(&self) -> Vec<UnmetQuestion> {
        let mut refusals = self.of_plugin();
        let view = match self.active {
            Some(active) => active.handler.view().clone(),
            None => View::from(self.spec),
        };
        // An object that is not whole yet does not exist for a subscription that needs more.
        let is_enough = |object: &&Object| subscribed_scope(self.spec).takes(object);
        let Some(object) = self.sight.object.as_ref().filter(is_enough) else {
            let key = &self.sight.question.key;
            match view.covers_namespace(key.namespace()) {
                true => refusals.push(refusal("cache", self.absent())),
                false => refusals.push(self.of_namespaces(&view)),
            }
            return refusals;
        };
        if let Some(unmet) = view.unmet(object) {
            refusals.push(self.of_view(&view, &unmet, object));
            return refusals;
        }
        refusals.extend(self.of_changes(object));
        refusals
    }

    /// The reasons that keep every object of the subscription from being delivered.
    fn of_plugin(&self) -> Vec<UnmetQuestion> {
        let (core, resource) = (self.looked.core, self.spec.resource.to_string());
        let access = core.access();
        let refused = access.iter().flat_map(|shown| &shown.refused);
        let mut refused = refused.filter(|it| it.subscription.as_ref() == Some(&self.spec.name));
        let refused = refused.next().map(|it| refusal("serviceAccount", it.why.clone()));
        let withdrawn = core.restriction.check_read(&self.running.settings, &resource).err();
        let withdrawn = withdrawn.map(|why| refusal("grant", why));
        let state = self.sight.informer.map(|it| it.state_in(&subscribed_scope(self.spec)));
        let of_namespaces = self.spec.namespace_selector.as_ref().and_then(|_| {
            let state = self.sight.namespaces.map(|it| it.state_in(&namespaces_scope()));
            lacking(&namespaces().to_string(), state)
        });
        let informer = lacking(&resource, state).or(of_namespaces);
        let informer = informer.map(|text| refusal("informer", text));
        [refused, withdrawn, informer].into_iter().flatten().collect()
    }

    fn absent(&self) -> String {
        let question = self.sight.question;
        let parts = self.sight.informer.map(SharedIndexInformer::parts).unwrap_or_default();
        let parts = parts.iter().filter(|part| question.may_be_left_out(part));
        let only: Vec<String> = parts.map(ToString::to_string).collect();
        let only = match only.is_empty() {
            true => String::new(),
            false => format!("; it has only those of {}", only.join("; ")),
        };
        let (resource, key) = (&self.spec.resource, &question.key);
        match &self.sight.object {
            Some(_) => format!("the cache has only the metadata of {resource} {key} so far"),
            None => format!("the cache has no {resource} {key}{only}"),
        }
    }

    fn of_namespaces(&self, view: &View) -> UnmetQuestion {
        let names: Vec<&str> = view.namespaces.iter().map(String::as_str).collect();
        let namespace = self.sight.question.key.namespace();
        let text = format!("namespaces {}: the object is in {namespace:?}", names.join(", "));
        refusal("namespaces", text)
    }

    fn of_view(&self, view: &View, unmet: &Unmet<'_>, object: &Object) -> UnmetQuestion {
        let shown = self.sight.shown;
        let sign = |equal: bool| if equal { "=" } else { "!=" };
        match unmet {
            Unmet::Namespaces => self.of_namespaces(view),
            Unmet::NamespaceLabels => {
                let namespace = object.key().namespace();
                let shows = self.sight.question.shows_namespace;
                refusal("namespaceSelector", view.refusal_of_namespace(namespace, shows))
            }
            Unmet::Key(test) => {
                let (field, value) = match test.is_name {
                    true => ("metadata.name", object.key().name()),
                    false => ("metadata.namespace", object.key().namespace()),
                };
                let asked = format!("{field}{}{}", sign(test.equal), test.value);
                refusal("fieldSelector", format!("fieldSelector {asked}: {field} is {value}"))
            }
            Unmet::Label(requirement) => {
                let label = format!("label {}", requirement.key);
                let value = shown.value(&label, object.label(&requirement.key));
                refusal("labelSelector", format!("labelSelector {requirement}: {value}"))
            }
            Unmet::Field(test) => {
                let field = &test.field;
                let json = object.json();
                let projection = informant_cache::Projection::new([&test.pointer]);
                let found = projection.values(&json)[0].map(String::from_utf8_lossy);
                // The API server fills in some values.
                let absent = (!test.absent.is_empty()).then_some(test.absent.into());
                let value = shown.value(field, found.or(absent).as_deref());
                let asked = format!("{field}{}{}", sign(test.equal), test.value);
                refusal("fieldSelector", format!("fieldSelector {asked}: {value}"))
            }
        }
    }

    /// The reasons that keep the present state of an object in the view from being delivered.
    fn of_changes(&self, object: &Object) -> Vec<UnmetQuestion> {
        let (spec, last) = (self.spec, self.last);
        let is_newest = last.is_some_and(|last| last.resource_version == object.resource_version());
        if is_newest && last.is_some_and(|last| last.end != "filtered") {
            return Vec::new();
        }
        let replay = match (last, self.active) {
            (None, Some(active)) if !active.handler.progress().has_come_to(object) => {
                let told = active.snapshot(&self.looked.core.queue);
                let how_far = told.map_or(String::new(), |it| {
                    format!(": {} objects are through, {} are left", it.told, it.left)
                });
                Some(format!("the replay of existing objects has not come to it{how_far}"))
            }
            (None, _) if spec.replay == ReplayOption::Never => Some(
                "replay never: an object that was there first is delivered when it changes"
                    .to_owned(),
            ),
            _ => None,
        };
        let wanted = if last.is_none() { Change::Added } else { Change::Updated };
        let types = (!spec.types.contain(wanted)).then(|| {
            let words = types(spec.types);
            format!("types {words}: {} is not among them", wanted.as_str())
        });
        let unchanged = self.unchanged(object, is_newest);
        let filter = self.filter(object, wanted, is_newest);
        let named = [
            ("replay", replay),
            ("types", types),
            ("onlyIfChanged", unchanged),
            ("filter", filter),
        ];
        named.into_iter().filter_map(|(question, text)| Some(refusal(question, text?))).collect()
    }

    /// Whether `onlyIfChanged` may have kept a change back, compared with the last delivery or with the initial state.
    fn unchanged(&self, object: &Object, is_newest: bool) -> Option<String> {
        let why = match self.last {
            _ if is_newest || self.spec.only_if_changed.is_empty() => return None,
            Some(last) => format!("no change after resourceVersion {}", last.resource_version),
            None if self.spec.replay == ReplayOption::Never => {
                "a change that leaves these values is not delivered".to_owned()
            }
            None => return None,
        };
        let values = self.active.map_or(Vec::new(), |active| active.handler.concerning(object));
        let shown = self.spec.only_if_changed.iter().zip(values);
        let shown: Vec<String> =
            shown.map(|(name, value)| self.sight.shown.value(name, value.as_deref())).collect();
        Some(format!("onlyIfChanged: {why}; {}", shown.join(", ")))
    }

    /// The filter's answer about the present object. A different earlier answer counts too: the filter may have seen
    /// an old state.
    fn filter(&self, object: &Object, change: Change, was_asked: bool) -> Option<String> {
        let filter = self.spec.filter.as_ref()?;
        let (verdict, values) = filter.explain(&self.event(object, change));
        let text = filter.text();
        match verdict {
            FilterVerdict::Filtered => {
                let shown: Vec<String> = values
                    .iter()
                    .map(|(name, value)| self.sight.shown.value(name, value.as_deref()))
                    .collect();
                Some(format!("filter {text}: {}", shown.join(", ")))
            }
            FilterVerdict::Told | FilterVerdict::Failed(_) if was_asked => {
                let last = self.last?;
                let (change, at) = (&last.change, &last.at);
                Some(format!("filter {text}: it was false for the event {change} at {at}"))
            }
            FilterVerdict::Told | FilterVerdict::Failed(_) => None,
        }
    }

    /// The event of the object's present state.
    fn event(&self, object: &Object, change: Change) -> Event {
        Event::new(self.id, change, object.clone(), Instant::now())
    }
}

/// The text about an informer that has not synced, or is missing.
fn lacking(resource: &str, state: Option<InformerState>) -> Option<String> {
    match state {
        None => Some(format!("{resource} has no informer")),
        Some(InformerState::Synced | InformerState::Stale { .. }) => None,
        Some(state) => {
            let message = state.message().map_or(String::new(), |text| format!(": {text}"));
            Some(format!("{resource} is {}{message}", state.as_str()))
        }
    }
}

fn types(types: ChangeTypes) -> String {
    let words = Change::ALL.into_iter().filter(|change| types.contain(*change));
    words.map(Change::as_str).collect::<Vec<_>>().join(", ")
}
