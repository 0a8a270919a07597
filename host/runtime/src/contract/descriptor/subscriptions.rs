//! The subscriptions of a plugin.

use super::durations::duration;
use super::{
    BoundedList, DescriptorError, FILTERS_BYTES_MAX, LIST_MAX, check_name, check_pointer, enqueue,
    error, json, reads, resource,
};
use crate::contract::filter::{Condition, Filter};
use crate::contract::selectors::{check_fields, field_selector, label_selector};
use crate::event::Change;
use crate::event::enqueue::EnqueueRules;
use informant_apimachinery::{
    FieldSelector, GroupVersionResource, LabelSelector, is_built_in_group,
};
use informant_cache::Projection;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::Duration;

/// Pointers of one subscription; one pass over every update's bytes reads them all.
pub(crate) const POINTERS_MAX: usize = 32;
/// The keys of a subscription.
const KEYS: [&str; 14] = [
    "name",
    "resource",
    "namespaces",
    "namespaceSelector",
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
/// As client-go's `minimumResyncPeriod` (`tools/cache/shared_informer.go`). This host refuses a shorter one.
const RESYNC_PERIOD_MIN: Duration = Duration::from_secs(1);

/// One view of one resource, with the options of its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionSpec {
    /// Unique within the plugin.
    pub name: String,
    /// The watched resource.
    pub resource: GroupVersionResource,
    /// Empty: all namespaces.
    pub namespaces: reads::NamespaceSet,
    /// The labels of the view's namespaces. `None`: whatever their labels.
    pub namespace_selector: Option<LabelSelector>,
    /// The labels of the view's objects.
    pub label_selector: LabelSelector,
    /// The fields of the view's objects.
    pub field_selector: FieldSelector,
    /// The delivered types of changes.
    pub types: ChangeTypes,
    /// The objects that are replayed, and when.
    pub replay: ReplayOption,
    /// The part of an object that comes with an event.
    pub delivery: Delivery,
    /// Whether an update carries the state before.
    pub with_old: bool,
    /// JSON pointers; an update is delivered only if one of their values changed.
    pub only_if_changed: Vec<String>,
    /// Only events for which this is true are delivered.
    pub filter: Option<Filter>,
    /// Every object of the view is delivered again after this time, as an update.
    pub resync_period: Option<Duration>,
    /// The rules for keys, which replace deliveries.
    pub enqueue: EnqueueRules,
    /// Whether the host needs no more than the objects' metadata for all of that.
    pub metadata_only: bool,
}

impl SubscriptionSpec {
    /// Whether the same changes of the same objects are queued for both. The decisions at delivery may differ.
    pub(crate) fn wants_the_same(&self, other: &Self) -> bool {
        let labels = |spec: &Self| (spec.namespace_selector.clone(), spec.label_selector.clone());
        self.resource == other.resource
            && self.namespaces == other.namespaces
            && labels(self) == labels(other)
            && self.field_selector == other.field_selector
            && (self.types, &self.only_if_changed) == (other.types, &other.only_if_changed)
    }

    /// The bytes of its pointers' steps beside their texts: they are kept at delivery, and for the informer's task. Those
    /// of a field selector are also in the views of the handler, of the delivery and of the reads.
    pub(crate) fn projected_bytes(&self) -> usize {
        let condition = self.filter.as_ref().and_then(Filter::condition);
        let tested = condition.into_iter().flat_map(Condition::pointers);
        let pointers = self.only_if_changed.iter().chain(tested).map(String::as_str);
        let steps = |pointer: &str| pointer.matches('/').count();
        let pointers = pointers.chain(self.enqueue.pointers()).map(steps).sum::<usize>();
        let fields = self.field_selector.requirements().iter();
        let fields: usize = fields.map(|it| 1 + it.field.matches('.').count()).sum();
        Projection::STEP_BYTES * (2 * pointers + 4 * fields)
    }
}

/// The types of changes that a subscription wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeTypes {
    /// Objects that enter the view.
    pub added: bool,
    /// Objects that change.
    pub updated: bool,
    /// Objects that leave the view.
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

/// The objects that a subscription gets again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayOption {
    /// The objects that exist when the plugin is first loaded.
    Initial,
    /// The same, and all objects again after each reload.
    InitialAndReload,
    /// Only changes from now on.
    Never,
}

/// The part of an object that comes with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// The whole object.
    Full,
    /// `apiVersion`, `kind` and `metadata`, also through `event-data` and `indexer`.
    Metadata,
    /// No object; the plugin reads it through `event-data`.
    Lazy,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSubscription<'a> {
    name: Option<String>,
    resource: String,
    #[serde(default)]
    namespaces: reads::RawNamespaces,
    namespace_selector: Option<String>,
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

/// A new version of a controller looks at all objects.
fn replay_default(enqueue: &EnqueueRules) -> ReplayOption {
    if enqueue.is_empty() { ReplayOption::Initial } else { ReplayOption::InitialAndReload }
}

fn delivery_default() -> Delivery {
    Delivery::Full
}

/// Reads one subscription. `filters_bytes`: of those before, which this adds to.
pub(super) fn subscription(
    json: &RawValue,
    at: &str,
    filters_bytes: &mut usize,
) -> Result<SubscriptionSpec, DescriptorError> {
    let raw: RawSubscription<'_> = json::object(json, at, &KEYS)?;
    let resource = resource(&raw.resource, at)?;
    let name = raw.name.unwrap_or(raw.resource);
    check_name(&format!("{at}.name"), &name)?;
    *filters_bytes += raw.filter.as_ref().map_or(0, String::len);
    if *filters_bytes > FILTERS_BYTES_MAX {
        let problem = format!(
            "it and those before have filters of {filters_bytes} bytes, at most {FILTERS_BYTES_MAX} are read"
        );
        return Err(error(at, problem));
    }
    let filter = raw.filter.as_deref().map(Filter::compile).transpose();
    let filter = filter.map_err(|e| error(at, e.to_string()))?;
    let enqueue = enqueue::rules(raw.enqueue, &resource, at)?;
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
    let namespace_selector = reads::namespace_selector(raw.namespace_selector, &resource, at)?;
    Ok(SubscriptionSpec {
        name,
        resource,
        namespaces: reads::namespaces(raw.namespaces, at)?,
        namespace_selector,
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
        metadata_only: false,
    })
}

/// All types by default.
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
