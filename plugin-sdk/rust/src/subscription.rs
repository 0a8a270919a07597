//! The subscriptions of a plugin.

use crate::{Change, EnqueueRule};
use serde::{Serialize, Serializer};
use std::time::Duration;

/// The changes of one resource that a plugin gets as events: the plugin's own view of the cluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    pub(crate) name: String,
    pub(crate) resource: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    namespaces: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace_selector: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label_selector: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field_selector: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "changes")]
    types: Vec<Change>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<Replay>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery: Option<Delivery>,
    #[serde(skip_serializing_if = "is_false")]
    with_old: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    only_if_changed: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_duration")]
    resync_period: Option<Duration>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    enqueue: Vec<EnqueueRule>,
}

impl Subscription {
    /// Every change of a resource, such as `v1/pods` or `apps/v1/deployments`, in every namespace. The subscription's
    /// name is the resource.
    pub fn to(resource: impl Into<String>) -> Self {
        let resource = resource.into();
        Self {
            name: resource.clone(),
            resource,
            namespaces: Vec::new(),
            namespace_selector: None,
            label_selector: None,
            field_selector: None,
            types: Vec::new(),
            replay: None,
            delivery: None,
            with_old: false,
            only_if_changed: Vec::new(),
            filter: None,
            resync_period: None,
            enqueue: Vec::new(),
        }
    }

    /// Every change of the resource of `K`.
    #[cfg(feature = "k8s-openapi")]
    #[must_use]
    pub fn of<K: k8s_openapi::Resource>() -> Self {
        Self::to(resource_of::<K>())
    }

    /// Sets another name. It must be unique in the plugin, and should stay the same in all versions: the host keeps
    /// waiting events by this name, also over reloads.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Restricts the subscription to this namespace. Call it again for more namespaces.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespaces.push(namespace.into());
        self
    }

    /// Restricts the subscription to objects in namespaces with these labels, in kubectl's notation: `team=shop,env in
    /// (test, prod)`. Objects enter and leave the view as the labels of their namespace change.
    #[must_use]
    pub fn in_namespaces_with(self, selector: impl Into<String>) -> Self {
        Self { namespace_selector: Some(selector.into()), ..self }
    }

    /// Restricts the subscription to objects with these labels, in kubectl's notation: `app=web,tier in (front,
    /// back)`.
    #[must_use]
    pub fn labels(self, selector: impl Into<String>) -> Self {
        Self { label_selector: Some(selector.into()), ..self }
    }

    /// Restricts the subscription to objects with these fields, in kubectl's notation: `spec.nodeName=worker-1`.
    #[must_use]
    pub fn fields(self, selector: impl Into<String>) -> Self {
        Self { field_selector: Some(selector.into()), ..self }
    }

    /// Restricts the subscription to these changes. Call it once with all of them.
    #[must_use]
    pub fn only(self, types: impl IntoIterator<Item = Change>) -> Self {
        Self { types: types.into_iter().collect(), ..self }
    }

    /// Sets when existing objects are delivered.
    #[must_use]
    pub fn replay(self, replay: Replay) -> Self {
        Self { replay: Some(replay), ..self }
    }

    /// Sets the part of an object that comes with its event.
    #[must_use]
    pub fn delivery(self, delivery: Delivery) -> Self {
        Self { delivery: Some(delivery), ..self }
    }

    /// Adds the previous state to updates: [`Event::old`](crate::Event::old).
    #[must_use]
    pub fn with_old(self) -> Self {
        Self { with_old: true, ..self }
    }

    /// Drops updates that change no value at these JSON pointers. Call it again for more pointers.
    #[must_use]
    pub fn only_if_changed(mut self, pointer: impl Into<String>) -> Self {
        self.only_if_changed.push(pointer.into());
        self
    }

    /// Drops events for which this CEL expression over `object`, `old` and `change` is false: `old == null ||
    /// object.status.phase != old.status.phase`. Deletions are delivered without the filter, unless the expression
    /// names `change` (`"added"`, `"updated"`, `"deleted"`). An event for which it fails is delivered.
    #[must_use]
    pub fn filter(self, cel: impl Into<String>) -> Self {
        Self { filter: Some(cel.into()), ..self }
    }

    /// Delivers every object again after this time, from a second to 366 days, even if it has not changed: as an
    /// update with [`Reason::Resync`](crate::Reason::Resync), without the previous state. A round that is due during
    /// another round is skipped.
    #[must_use]
    pub fn resync_every(self, period: Duration) -> Self {
        Self { resync_period: Some(period), ..self }
    }

    /// Adds a key to the plugin's workqueue for every event, instead of a call of `handle`. Call it again for more
    /// rules, up to 16. The plugin must be a [`Reconciler`](crate::Reconciler). Unless [`Subscription::replay`] says
    /// otherwise, every new version works on the keys of all objects again.
    #[must_use]
    pub fn enqueue(mut self, rule: EnqueueRule) -> Self {
        self.enqueue.push(rule);
        self
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn brings_old(&self) -> bool {
        self.with_old
    }

    /// Whether it has a change of an object in its view: by its types, and of an update by `only_if_changed`.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn is_wanted(&self, change: Change, differs: impl Fn(&str) -> bool) -> bool {
        let concerns =
            self.only_if_changed.is_empty() || self.only_if_changed.iter().any(|p| differs(p));
        (self.types.is_empty() || self.types.contains(&change))
            && (change != Change::Updated || concerns)
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn is_lazy(&self) -> bool {
        self.delivery == Some(Delivery::Lazy)
    }
}

/// The time of the replay, which delivers every existing object as an `added`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replay {
    /// Once, at the first start of a plugin with this name. The default.
    Initial,
    /// Also for every new version of the plugin.
    InitialAndReload,
    /// Never: only later changes are delivered.
    Never,
}

/// The part of an object that comes with its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// The whole object. The default.
    Full,
    /// `apiVersion`, `kind` and `metadata`.
    Metadata,
    /// Nothing. The plugin requests the parts that it needs through [`event_data`](crate::event_data).
    Lazy,
}

/// The text form of a resource, from its type: `v1/pods`.
#[cfg(feature = "k8s-openapi")]
#[must_use]
pub fn resource_of<K: k8s_openapi::Resource>() -> String {
    format!("{}/{}", K::API_VERSION, K::URL_PATH_SEGMENT)
}

fn is_false(value: &bool) -> bool {
    !value
}

fn changes<S: Serializer>(types: &[Change], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(types.iter().map(ToString::to_string))
}

fn optional_duration<S: Serializer>(
    value: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        None => serializer.serialize_none(),
        Some(value) => duration(value, serializer),
    }
}

#[cfg(all(test, feature = "k8s-openapi"))]
mod tests {
    use super::*;

    #[test]
    fn a_type_knows_its_resource() {
        use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
        assert_eq!(resource_of::<Pod>(), "v1/pods");
        assert_eq!(resource_of::<Deployment>(), "apps/v1/deployments");
    }
}

/// A duration in Kubernetes' notation: `30s`, `1500ms`.
pub(crate) fn duration<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    let text = match value.subsec_millis() {
        0 => format!("{}s", value.as_secs()),
        _ => format!("{}ms", value.as_millis()),
    };
    serializer.serialize_str(&text)
}
