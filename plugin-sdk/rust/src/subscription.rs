//! What a plugin wants to be told of.

use crate::{Change, EnqueueRule};
use serde::{Serialize, Serializer};
use std::time::Duration;

/// The changes of one resource that a plugin wants to be told of: a view of its own on the cluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    pub(crate) name: String,
    pub(crate) resource: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    namespaces: Vec<String>,
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
    /// Every change of a resource, written `v1/pods` or `apps/v1/deployments`, in every namespace. It is
    /// named like the resource.
    pub fn to(resource: impl Into<String>) -> Self {
        let resource = resource.into();
        Self {
            name: resource.clone(),
            resource,
            namespaces: Vec::new(),
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

    /// Every change of the resource that `K` stands for.
    #[cfg(feature = "k8s-openapi")]
    #[must_use]
    pub fn of<K: k8s_openapi::Resource>() -> Self {
        Self::to(resource_of::<K>())
    }

    /// Another name. It must be unique in the plugin and should stay the same over its versions: waiting
    /// events are filed under it, over reloads too.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Only objects of this namespace; call it again for more.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespaces.push(namespace.into());
        self
    }

    /// Only objects with these labels, as kubectl writes them: `app=web,tier in (front, back)`.
    #[must_use]
    pub fn labels(self, selector: impl Into<String>) -> Self {
        Self { label_selector: Some(selector.into()), ..self }
    }

    /// Only objects with these fields, as kubectl writes them: `spec.nodeName=worker-1`.
    #[must_use]
    pub fn fields(self, selector: impl Into<String>) -> Self {
        Self { field_selector: Some(selector.into()), ..self }
    }

    /// Only these changes; call it once with all that are wanted.
    #[must_use]
    pub fn only(self, types: impl IntoIterator<Item = Change>) -> Self {
        Self { types: types.into_iter().collect(), ..self }
    }

    /// When the objects that are there already are told.
    #[must_use]
    pub fn replay(self, replay: Replay) -> Self {
        Self { replay: Some(replay), ..self }
    }

    /// How much of an object comes with its event.
    #[must_use]
    pub fn delivery(self, delivery: Delivery) -> Self {
        Self { delivery: Some(delivery), ..self }
    }

    /// Updates bring the state before them too: [`Event::old`](crate::Event::old).
    #[must_use]
    pub fn with_old(self) -> Self {
        Self { with_old: true, ..self }
    }

    /// Only updates that change the value at one of these JSON pointers; call it again for more.
    #[must_use]
    pub fn only_if_changed(mut self, pointer: impl Into<String>) -> Self {
        self.only_if_changed.push(pointer.into());
        self
    }

    /// Only events for which this CEL expression over `object`, `old` and `change` is true:
    /// `old == null || object.status.phase != old.status.phase`. Deletions are told all the same unless it names `change`
    /// (`"added"`, `"updated"`, `"deleted"`), and so is what it fails for.
    #[must_use]
    pub fn filter(self, cel: impl Into<String>) -> Self {
        Self { filter: Some(cel.into()), ..self }
    }

    /// Tells every object again after this long, from a second to 366 days, although nothing changed: as an update with
    /// [`Reason::Resync`](crate::Reason::Resync), without a state before. Rounds that come while one is being told are left out.
    #[must_use]
    pub fn resync_every(self, period: Duration) -> Self {
        Self { resync_period: Some(period), ..self }
    }

    /// Puts a key on the plugin's workqueue for every event, instead of calling `handle`; call it again
    /// for more, up to 16. The plugin must be a [`Reconciler`](crate::Reconciler). Unless [`Subscription::replay`] says otherwise, every
    /// new version works on the keys of all objects again.
    #[must_use]
    pub fn enqueue(mut self, rule: EnqueueRule) -> Self {
        self.enqueue.push(rule);
        self
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn brings_old(&self) -> bool {
        self.with_old
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn is_lazy(&self) -> bool {
        self.delivery == Some(Delivery::Lazy)
    }
}

/// When the objects that are there already are told, each as an `added`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replay {
    /// Once, when the plugin's name is first seen. The default.
    Initial,
    /// And again to every new version of the plugin.
    InitialAndReload,
    /// Never: only changes from now on.
    Never,
}

/// How much of an object comes with its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// All of it. The default.
    Full,
    /// `apiVersion`, `kind` and `metadata`.
    Metadata,
    /// Nothing; the plugin asks through [`event_data`](crate::event_data) for what it needs.
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

/// As Kubernetes writes durations: `30s`, `1500ms`.
pub(crate) fn duration<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    let text = match value.subsec_millis() {
        0 => format!("{}s", value.as_secs()),
        _ => format!("{}ms", value.as_millis()),
    };
    serializer.serialize_str(&text)
}
