//! The objects of a [`Part`], by the API server's rules.

use crate::list_watch::{Change, ListWatchError, Part, WatchEvent};
use crate::object::Object;
use informant_apimachinery::{FieldSelector, LabelSelector};
use std::time::Instant;

/// A part with parsed selectors.
pub(super) struct Selection {
    namespace: Option<Box<str>>,
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    /// Supports only the two fields that every resource has.
    pub(super) fn of(part: &Part) -> Result<Self, ListWatchError> {
        let bad = |message: String| ListWatchError::BadRequest { message };
        let labels = part.label_selector.parse();
        let labels = labels.map_err(|error| bad(format!("{error}")))?;
        let fields: FieldSelector =
            part.field_selector.parse().map_err(|error| bad(format!("{error}")))?;
        for requirement in fields.requirements() {
            if !matches!(&*requirement.field, "metadata.name" | "metadata.namespace") {
                return Err(bad(format!("field label not supported: {}", requirement.field)));
            }
        }
        Ok(Self { namespace: part.namespace.clone(), labels, fields })
    }

    pub(super) fn matches(&self, object: &Object) -> bool {
        let key = object.key();
        let field = |path: &str| match path {
            "metadata.name" => Some(key.name().to_owned()),
            "metadata.namespace" => Some(key.namespace().to_owned()),
            _ => None,
        };
        self.namespace.as_deref().is_none_or(|namespace| namespace == key.namespace())
            && self.labels.matches(|label| object.label(label))
            && self.fields.matches(field)
    }

    /// The event of a watch of this part for a change. An impossible change of a test (an addition of an existing
    /// object) is unchanged. An update that moves the object in is `ADDED`. One that moves it out is `DELETED` with
    /// the state before it and the resourceVersion of the change (`convertToWatchEvent` in apiserver's
    /// `cache_watcher.go`).
    pub(super) fn event(
        &self,
        change: Change,
        new: &Object,
        old: Option<&Object>,
        now: Instant,
    ) -> Option<WatchEvent> {
        let was = self.matches(old.unwrap_or(new));
        if change == Change::Deleted {
            return was.then(|| WatchEvent::Changed(change, new.clone(), now));
        }
        match (was, self.matches(new)) {
            (false, false) => None,
            (true, true) => Some(WatchEvent::Changed(change, new.clone(), now)),
            (false, true) => Some(WatchEvent::Changed(Change::Added, new.clone(), now)),
            (true, false) => {
                let last = at_version(old?, new.resource_version());
                Some(WatchEvent::Changed(Change::Deleted, last, now))
            }
        }
    }
}

/// The object under another resourceVersion.
fn at_version(object: &Object, resource_version: &str) -> Object {
    let json = object.json();
    let mut value: serde_json::Value = serde_json::from_slice(&json).expect("objects are JSON");
    value["metadata"]["resourceVersion"] = resource_version.into();
    Object::decode(value.to_string().as_bytes(), None).expect("it was an object before")
}
