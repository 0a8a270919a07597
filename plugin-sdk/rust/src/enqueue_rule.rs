//! The keys that an event adds to the plugin's workqueue.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A rule for the key that an event adds to the plugin's workqueue: prefix + [namespace/]name. It is computed for the
/// old and for the new object, and both keys are added. An empty value gives no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnqueueRule {
    source: KeySource,
    namespace: Option<KeyNamespace>,
    prefix: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum KeySource {
    Itself,
    Owner(String),
    Pointer(String),
}

/// The namespace in an [`EnqueueRule`]'s key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyNamespace {
    /// The object's own namespace.
    Object,
    /// No namespace: the key's target is cluster-scoped.
    None,
    /// The value at a JSON pointer.
    Pointer(String),
}

impl EnqueueRule {
    /// The object's own key.
    #[must_use]
    pub fn itself() -> Self {
        Self { source: KeySource::Itself, namespace: None, prefix: None }
    }

    /// The keys of the object's owners of this kind, such as `apps/v1/ReplicaSet`, in any version of the group.
    pub fn owner(kind: impl Into<String>) -> Self {
        Self { source: KeySource::Owner(kind.into()), ..Self::itself() }
    }

    /// The name is the text at this JSON pointer.
    pub fn pointer(pointer: impl Into<String>) -> Self {
        Self { source: KeySource::Pointer(pointer.into()), ..Self::itself() }
    }

    /// The source of the key's namespace.
    #[must_use]
    pub fn namespace(self, namespace: KeyNamespace) -> Self {
        Self { namespace: Some(namespace), ..self }
    }

    /// A prefix of the key, to distinguish keys of several sources.
    #[must_use]
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: Some(prefix.into()), ..self }
    }
}

impl Serialize for EnqueueRule {
    /// `"self"` for the default rule, else an object.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if *self == Self::itself() {
            return serializer.serialize_str("self");
        }
        let mut map = serializer.serialize_map(None)?;
        match &self.source {
            KeySource::Itself => map.serialize_entry("self", &true)?,
            KeySource::Owner(kind) => map.serialize_entry("owner", kind)?,
            KeySource::Pointer(pointer) => map.serialize_entry("pointer", pointer)?,
        }
        match &self.namespace {
            Option::None => {}
            Some(KeyNamespace::Object) => map.serialize_entry("namespace", "object")?,
            Some(KeyNamespace::None) => map.serialize_entry("namespace", "none")?,
            Some(KeyNamespace::Pointer(pointer)) => map.serialize_entry("namespace", pointer)?,
        }
        if let Some(prefix) = &self.prefix {
            map.serialize_entry("prefix", prefix)?;
        }
        map.end()
    }
}
