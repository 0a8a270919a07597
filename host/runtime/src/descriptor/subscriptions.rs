//! What a plugin wants to hear of.

use super::durations::duration;
use super::keys::checked;
use super::{DescriptorError, bound, check_pointer, enqueue, error, reads, resource};
use crate::enqueue::EnqueueRules;
use crate::event::Change;
use crate::filter::Filter;
use informant_apimachinery::{FieldSelector, GroupVersionResource, LabelSelector};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// Pointers of one subscription, which are looked up together in every update's bytes.
pub(crate) const POINTERS_MAX: usize = 32;
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
    pub replay: Replay,
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
pub enum Replay {
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
struct RawSubscription {
    name: Option<String>,
    resource: String,
    #[serde(default)]
    namespaces: BTreeSet<String>,
    #[serde(default)]
    label_selector: String,
    #[serde(default)]
    field_selector: String,
    types: Option<Vec<RawType>>,
    replay: Option<Replay>,
    #[serde(default = "delivery_default")]
    delivery: Delivery,
    #[serde(default)]
    with_old: bool,
    #[serde(default)]
    only_if_changed: Vec<String>,
    filter: Option<String>,
    resync_period: Option<String>,
    #[serde(default)]
    enqueue: Vec<Value>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum RawType {
    Added,
    Updated,
    Deleted,
}

/// A controller that begins anew looks at everything.
fn replay_default(enqueue: &EnqueueRules) -> Replay {
    if enqueue.is_empty() { Replay::Initial } else { Replay::InitialAndReload }
}

fn delivery_default() -> Delivery {
    Delivery::Full
}

/// Reads one subscription.
pub(super) fn subscription(value: Value, at: &str) -> Result<SubscriptionSpec, DescriptorError> {
    let known = [
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
    let raw: RawSubscription = checked(value, at, &known)?;
    bound(at, raw.only_if_changed.len(), POINTERS_MAX)?;
    for pointer in &raw.only_if_changed {
        check_pointer(at, pointer)?;
    }
    let filter = raw.filter.as_deref().map(Filter::compile).transpose();
    let filter = filter.map_err(|e| error(at, e.to_string()))?;
    let enqueue = enqueue::rules(raw.enqueue, at)?;
    let period = raw.resync_period.as_deref();
    let resync = |text| duration("resyncPeriod", text, RESYNC_PERIOD_MIN, at);
    let resync_period = period.map(resync).transpose()?;
    let wants = |wanted| raw.types.as_ref().is_none_or(|types| types.contains(&wanted));
    if resync_period.is_some() && !wants(RawType::Updated) {
        let problem = "resyncPeriod tells of updates, which types leaves out: add updated to it";
        return Err(error(at, problem));
    }
    Ok(SubscriptionSpec {
        name: raw.name.unwrap_or_else(|| raw.resource.clone()),
        resource: resource(&raw.resource, at)?,
        namespaces: reads::namespaces(raw.namespaces, at)?,
        label_selector: raw
            .label_selector
            .parse()
            .map_err(|e| error(at, format!("labelSelector: {e}")))?,
        field_selector: raw
            .field_selector
            .parse()
            .map_err(|e| error(at, format!("fieldSelector: {e}")))?,
        types: ChangeTypes {
            added: wants(RawType::Added),
            updated: wants(RawType::Updated),
            deleted: wants(RawType::Deleted),
        },
        replay: raw.replay.unwrap_or_else(|| replay_default(&enqueue)),
        delivery: raw.delivery,
        with_old: raw.with_old,
        only_if_changed: raw.only_if_changed,
        filter,
        resync_period,
        enqueue,
    })
}
