//! Which objects a request is about, and what a watch with selectors says about a change.

use std::sync::Arc;

use informant_apimachinery::watch::WatchEventType;
use informant_apimachinery::{FieldSelector, LabelSelector, Status};

use crate::{ApiObject, Change, ResourceInfo};

/// Namespace and selectors of a list or watch. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only this namespace's objects.
    pub namespace: Option<String>,
    /// Only those with these labels.
    pub labels: LabelSelector,
    /// Only those with these fields.
    pub fields: FieldSelector,
}

impl Selection {
    /// Whether the object is selected.
    pub fn selects(&self, object: &ApiObject) -> bool {
        self.namespace.as_deref().is_none_or(|namespace| namespace == object.namespace())
            && self.labels.matches(|key| object.label(key))
            && self.fields.matches(|path| object.field(path).map(str::to_owned))
    }

    /// Whether nothing but the namespace narrows it.
    pub fn has_no_selectors(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// The number of requirements that are looked at for each object.
    pub fn requirements(&self) -> usize {
        self.labels.requirements().len() + self.fields.requirements().len()
    }

    /// The event of a change for a watcher: moving into the selectors is ADDED, moving out is DELETED with the
    /// old state under the new resourceVersion, as the API server does it (storage/cacher's
    /// `cacheWatcher.convertToWatchEvent`).
    pub fn event(&self, change: &Change) -> Option<(WatchEventType, Arc<ApiObject>)> {
        match change {
            Change::Added(new) => {
                self.selects(new).then(|| (WatchEventType::Added, Arc::clone(new)))
            }
            Change::Deleted { last, .. } => {
                self.selects(last).then(|| (WatchEventType::Deleted, Arc::clone(last)))
            }
            Change::Modified { old, new } => match (self.selects(old), self.selects(new)) {
                (true, true) => Some((WatchEventType::Modified, Arc::clone(new))),
                (false, true) => Some((WatchEventType::Added, Arc::clone(new))),
                (true, false) => {
                    let left = old.with_resource_version(new.resource_version());
                    Some((WatchEventType::Deleted, Arc::new(left)))
                }
                (false, false) => None,
            },
        }
    }
}

/// Refuses a field selector with a field that the resource cannot be selected by.
pub fn check_fields(resource: &ResourceInfo, selection: &Selection) -> Result<(), Status> {
    for requirement in selection.fields.requirements() {
        let field = requirement.field.as_str();
        let known = field == "metadata.name"
            || (field == "metadata.namespace" && resource.namespaced)
            || resource.selectable_fields.iter().any(|known| known == field);
        if !known {
            let (group_version, plural) = (resource.gvr.api_version(), &resource.gvr.resource);
            return Err(Status::bad_request(format!(
                "Unable to find \"{group_version}, Resource={plural}\" that match label selector \
                 \"{}\", field selector \"{}\": field label not supported: {field}",
                selection.labels, selection.fields
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(resource_version: u64, app: &str) -> Arc<ApiObject> {
        let value = json!({
            "kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": "a", "namespace": "default", "labels": {"app": app},
                         "resourceVersion": resource_version.to_string()},
        });
        Arc::new(ApiObject::from_value(&value, &[]))
    }

    #[track_caller]
    fn check(change: &Change, expect: Option<(WatchEventType, &str, u64)>) {
        let selection = Selection {
            namespace: Some("default".to_owned()),
            labels: "app=web".parse().expect("valid"),
            fields: FieldSelector::default(),
        };
        let event = selection.event(change);
        let seen = event.as_ref().map(|(event_type, object)| {
            let app = object.label("app").expect("labelled");
            let written = object.to_value()["metadata"]["resourceVersion"].clone();
            assert_eq!(written, object.resource_version().to_string(), "bytes agree");
            (*event_type, app, object.resource_version())
        });
        assert_eq!(seen, expect);
    }

    #[test]
    fn changes_inside_the_selectors_are_told_as_they_are() {
        check(&Change::Added(pod(3, "web")), Some((WatchEventType::Added, "web", 3)));
        let gone = |app| Change::Deleted { old: pod(2, app), last: pod(3, app) };
        check(&gone("web"), Some((WatchEventType::Deleted, "web", 3)));
        let change = Change::Modified { old: pod(3, "web"), new: pod(4, "web") };
        check(&change, Some((WatchEventType::Modified, "web", 4)));
    }

    #[test]
    fn changes_outside_are_not_told() {
        check(&Change::Added(pod(3, "db")), None);
        check(&Change::Deleted { old: pod(2, "db"), last: pod(3, "db") }, None);
        check(&Change::Modified { old: pod(3, "db"), new: pod(4, "db") }, None);
    }

    #[test]
    fn moving_in_is_added() {
        let change = Change::Modified { old: pod(3, "db"), new: pod(4, "web") };
        check(&change, Some((WatchEventType::Added, "web", 4)));
    }

    #[test]
    fn moving_out_is_deleted_with_the_old_state_and_the_new_version() {
        let change = Change::Modified { old: pod(3, "web"), new: pod(4, "db") };
        check(&change, Some((WatchEventType::Deleted, "web", 4)));
    }
}
