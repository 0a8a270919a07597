//! A view: which objects of a resource belong to a subscription.

use crate::descriptor::{ReadSpec, SubscriptionSpec};
use crate::json_pointer;
use informant_apimachinery::{FieldSelector, LabelSelector};
use informant_cache::Object;
use std::collections::BTreeSet;

/// Namespaces and selectors. Entering a view is `added`, leaving it is `deleted`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// Empty: all.
    pub(crate) namespaces: BTreeSet<String>,
    labels: LabelSelector,
    fields: FieldSelector,
}

impl From<&SubscriptionSpec> for View {
    fn from(subscription: &SubscriptionSpec) -> Self {
        Self {
            namespaces: subscription.namespaces.clone(),
            labels: subscription.label_selector.clone(),
            fields: subscription.field_selector.clone(),
        }
    }
}

impl From<&ReadSpec> for View {
    fn from(read: &ReadSpec) -> Self {
        Self {
            namespaces: read.namespaces.clone(),
            labels: LabelSelector::default(),
            fields: FieldSelector::default(),
        }
    }
}

impl View {
    /// Whether the object belongs.
    pub(crate) fn contains(&self, object: &Object) -> bool {
        self.covers_namespace(object.key().namespace())
            && self.labels.matches(|key| object.label(key))
            && (self.fields.is_everything() || self.fields.matches(|field| value_of(object, field)))
    }

    /// Whether every object of the resource belongs.
    pub(crate) fn is_everything(&self) -> bool {
        self.namespaces.is_empty() && self.labels.is_everything() && self.fields.is_everything()
    }

    /// Whether objects of this namespace can belong.
    pub(crate) fn covers_namespace(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.contains(namespace)
    }
}

/// A field selector's value: `status.phase` is the string at `/status/phase`, empty where nothing is.
fn value_of(object: &Object, field: &str) -> Option<String> {
    match field {
        "metadata.name" => return Some(object.key().name().to_owned()),
        "metadata.namespace" => return Some(object.key().namespace().to_owned()),
        _ => {}
    }
    let json = object.json();
    let value = json_pointer::find(&json, &format!("/{}", field.replace('.', "/")))?;
    let text = value.get();
    serde_json::from_str::<String>(text).ok().or_else(|| Some(text.to_owned()))
}
