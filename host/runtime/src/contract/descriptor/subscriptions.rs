//! What a plugin wants to hear of.

use super::durations::duration;
use super::{
    BoundedList, DescriptorError, LIST_MAX, check_name, check_pointer, enqueue, error, json, reads,
    resource,
};
use crate::contract::filter::Filter;
use crate::contract::selectors::{check_fields, field_selector, label_selector};
use crate::event::Change;
use crate::event::enqueue::EnqueueRules;
use informant_apimachinery::{
    FieldSelector, GroupVersionResource, LabelSelector, is_built_in_group,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::time::Duration;

/// Pointers of one subscription, which are looked up together in every update's bytes.
pub(crate) const POINTERS_MAX: usize = 32;
/// The keys of a subscription.
const KEYS: [&str; 13] = [
    "name",
    "resource",
    "namespaces",
    "labelSelector",
    "fieldSelector",
    "types",
    "replay",
    "delivery",
    "withOld",
    "onlyIfChanged",
    "filter",
    "resyncPeriod",
    "enqueue",
];
/// As client-go's `minimumResyncPeriod` (`tools/cache/shared_informer.go`); a shorter one is refused here.
const RESYNC_PERIOD_MIN: Duration = Duration::from_secs(1);

/// One view of one resource, whose changes the plugin wants to hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionSpec {
    /// Unique within the plugin.
    pub name: String,
    /// What is watched.
    pub resource: GroupVersionResource,
    /// Empty: all.
    pub namespaces: BTreeSet<String>,
    /// Which objects belong to the view.
    pub label_selector: LabelSelector,
    /// Which objects belong to the view.
    pub field_selector: FieldSelector,
    /// Which changes are told.
    pub types: ChangeTypes,
    /// Which objects are told again and when.
    pub replay: ReplayOption,
    /// How much of an object comes with an event.
    pub delivery: Delivery,
    /// Whether an update carries the state before.
    pub with_old: bool,
    /// JSON pointers; an update is told only if one of their values changed.
    pub only_if_changed: Vec<String>,
    /// Only events for which this is true are told.
    pub filter: Option<Filter>,
    /// Everything that the view has is told again after so long, as an update.
    pub resync_period: Option<Duration>,
    /// The keys that events become, instead of being told.
    pub enqueue: EnqueueRules,
}

impl SubscriptionSpec {
    /// Whether the same changes of the same objects are queued for both. What is decided when an event is told may differ.
    pub(crate) fn wants_the_same(&self, other: &Self) -> bool {
        let view = |spec: &Self| (spec.namespaces.clone(), spec.field_selector.clone());
        self.resource == other.resource
            && self.label_selector == other.label_selector
            && view(self) == view(other)
            && (self.types, &self.only_if_changed) == (other.types, &other.only_if_changed)
    }
}

/// Which of the three changes a subscription wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeTypes {
    /// Objects that appear.
    pub added: bool,
    /// Objects that change.
    pub updated: bool,
    /// Objects that go.
    pub deleted: bool,
}

impl ChangeTypes {
    pub(crate) fn contain(self, change: Change) -> bool {
        match change {
            Change::Added => self.added,
            Change::Updated => self.updated,
            Change::Deleted => self.deleted,
        }
    }
}

/// What a subscription wants to hear again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayOption {
    /// What is there when the plugin is first loaded.
    Initial,
    /// The same, and everything again after each reload.
    InitialAndReload,
    /// Only changes from now on.
    Never,
}

/// How much of an object comes with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// The whole object.
    Full,
    /// `apiVersion`, `kind` and `metadata`.
    Metadata,
    /// Nothing; the plugin asks through `event-data`.
    Lazy,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSubscription<'a> {
    name: Option<String>,
    resource: String,
    #[serde(default)]
    namespaces: reads::RawNamespaces,
    #[serde(default)]
    label_selector: String,
    #[serde(default)]
    field_selector: String,
    types: Option<RawTypes>,
    replay: Option<ReplayOption>,
    #[serde(default = "delivery_default")]
    delivery: Delivery,
    #[serde(default)]
    with_old: bool,
    #[serde(default)]
    only_if_changed: RawPointers,
    filter: Option<String>,
    resync_period: Option<String>,
    #[serde(borrow, default)]
    enqueue: enqueue::RawRules<'a>,
}

type RawTypes = BoundedList<RawType, LIST_MAX>;
type RawPointers = BoundedList<String, POINTERS_MAX>;

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum RawType {
    Added,
    Updated,
    Deleted,
}

/// A controller that begins anew looks at everything.
fn replay_default(enqueue: &EnqueueRules) -> ReplayOption {
    if enqueue.is_empty() { ReplayOption::Initial } else { ReplayOption::InitialAndReload }
}

fn delivery_default() -> Delivery {
    Delivery::Full
}

/// Reads one subscription.
pub(super) fn subscription(json: &RawValue, at: &str) -> Result<SubscriptionSpec, DescriptorError> {
    let raw: RawSubscription<'_> = json::object(json, at, &KEYS)?;
    let resource = resource(&raw.resource, at)?;
    let name = raw.name.unwrap_or(raw.resource);
    check_name(&format!("{at}.name"), &name)?;
    let filter = raw.filter.as_deref().map(Filter::compile).transpose();
    let filter = filter.map_err(|e| error(at, e.to_string()))?;
    let enqueue = enqueue::rules(raw.enqueue, at)?;
    let types = change_types(raw.types, at)?;
    let period = raw.resync_period.as_deref();
    let resync = |text| duration("resyncPeriod", text, RESYNC_PERIOD_MIN, at);
    let resync_period = period.map(resync).transpose()?;
    if resync_period.is_some() && !types.updated {
        let problem = "resyncPeriod tells of updates, which types leaves out: add updated to it";
        return Err(error(at, problem));
    }
    let selector = |key, problem| error(at, format!("{key}: {problem}"));
    let (labels, fields) = (&raw.label_selector, &raw.field_selector);
    let fields = field_selector(fields).map_err(|e| selector("fieldSelector", e))?;
    if is_built_in_group(&resource.group) {
        check_fields(&resource, &fields).map_err(|e| selector("fieldSelector", e))?;
    }
    Ok(SubscriptionSpec {
        name,
        resource,
        namespaces: reads::namespaces(raw.namespaces, at)?,
        label_selector: label_selector(labels).map_err(|e| selector("labelSelector", e))?,
        field_selector: fields,
        types,
        replay: raw.replay.unwrap_or_else(|| replay_default(&enqueue)),
        delivery: raw.delivery,
        with_old: raw.with_old,
        only_if_changed: pointers(raw.only_if_changed, at)?,
        filter,
        resync_period,
        enqueue,
    })
}

/// All where nothing is said.
fn change_types(types: Option<RawTypes>, at: &str) -> Result<ChangeTypes, DescriptorError> {
    let Some(types) = types else {
        return Ok(ChangeTypes { added: true, updated: true, deleted: true });
    };
    let types = types.entries(&format!("{at}.types"))?;
    Ok(ChangeTypes {
        added: types.contains(&RawType::Added),
        updated: types.contains(&RawType::Updated),
        deleted: types.contains(&RawType::Deleted),
    })
}

fn pointers(pointers: RawPointers, at: &str) -> Result<Vec<String>, DescriptorError> {
    let at = format!("{at}.onlyIfChanged");
    let pointers = pointers.entries(&at)?;
    for (index, pointer) in pointers.iter().enumerate() {
        check_pointer(&format!("{at}[{index}]"), pointer)?;
    }
    Ok(pointers)
}
