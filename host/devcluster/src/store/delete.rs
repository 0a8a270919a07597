//! Deletes objects at once, or marks them while finalizers hold them. A namespace is deleted with all of its objects.

use std::sync::Arc;

use informant_apimachinery::Status;
use informant_apiserver::{ApiObject, Change, ListAt, ListQuery, ResourceInfo, Selection};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::metadata::{self, metadata_mut};
use super::{GroupResource, Store, Target, WriteOptions, namespaces};

/// The options of a client's deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Delete only the object with this UID.
    pub uid: Option<String>,
    /// Delete only the object with this resourceVersion.
    pub resource_version: Option<String>,
    /// The seconds that a pod may take to stop. `None`: the seconds of its specification. Other objects have no grace
    /// period.
    pub grace_period_seconds: Option<u64>,
    /// Whether dependents are kept, without their reference to this owner. Otherwise a garbage collector may delete
    /// them; the store has none.
    pub orphan: bool,
}

/// The result of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// The object is gone. This is its last state.
    Gone(Arc<ApiObject>),
    /// Finalizers hold the object, or it is a pod that its kubelet must stop. It now has a `deletionTimestamp`.
    Waiting(Arc<ApiObject>),
}

impl Deleted {
    /// The last state, or the marked state.
    pub fn object(&self) -> &Arc<ApiObject> {
        match self {
            Self::Gone(object) | Self::Waiting(object) => object,
        }
    }
}

impl Store {
    /// Deletes an object.
    pub fn delete(
        &mut self,
        target: &Target<'_>,
        delete: &DeleteOptions,
        options: WriteOptions,
    ) -> Result<Deleted, Status> {
        let old = self.present(target)?;
        let before = old.to_value();
        check_preconditions(target, &old, &before, delete)?;
        if options.dry_run {
            return Ok(Deleted::Gone(old));
        }
        if delete.orphan {
            self.orphan_dependents(old.namespace(), &before["metadata"]["uid"]);
        }
        Ok(self.delete_present(target.resource, &old, delete.grace_period_seconds, options))
    }

    /// Removes an owner's references from the objects of its namespace, before any watcher sees the owner's deletion.
    fn orphan_dependents(&mut self, namespace: &str, owner: &Value) {
        for (resource, object) in self.contents(namespace) {
            let mut value = object.to_value();
            let Some(references) = metadata_mut(&mut value).get_mut("ownerReferences") else {
                continue;
            };
            let Some(references) = references.as_array_mut() else { continue };
            let before = references.len();
            references.retain(|reference| reference["uid"] != *owner);
            if references.len() < before {
                self.modify(&resource, &object, value);
            }
        }
    }

    /// Deletes all selected objects. Returns their last states.
    pub fn delete_collection(
        &mut self,
        resource: &Arc<ResourceInfo>,
        selection: Selection,
        delete: &DeleteOptions,
        options: WriteOptions,
    ) -> Result<Vec<Arc<ApiObject>>, Status> {
        let query = ListQuery {
            resource: Arc::clone(resource),
            selection,
            limit: 0,
            at: ListAt::MostRecent,
            start_after: None,
        };
        let objects = self.list(&query)?.items;
        if !options.dry_run {
            for object in &objects {
                self.delete_present(resource, object, delete.grace_period_seconds, options);
            }
        }
        Ok(objects)
    }

    fn delete_present(
        &mut self,
        resource: &Arc<ResourceInfo>,
        old: &Arc<ApiObject>,
        grace: Option<u64>,
        options: WriteOptions,
    ) -> Deleted {
        let key = GroupResource::of(&resource.gvr);
        let before = old.to_value();
        if key == namespaces() {
            return self.delete_namespace(resource, old, before, options);
        }
        let is_pod = key.group.is_empty() && key.resource == "pods";
        let grace = if is_pod { pod_grace(&before, grace) } else { 0 };
        if grace > 0 {
            return Deleted::Waiting(self.mark_present(resource, old, before, grace, options));
        }
        let crd = self.is_definition(&key).then(|| old.name().to_owned());
        if metadata::has_finalizers(&before) {
            return Deleted::Waiting(self.mark_present(resource, old, before, 0, options));
        }
        if let Some(definition) = crd {
            self.drop_custom_resource(&definition, options);
        }
        if is_pod && !metadata::is_deleting(&before) {
            // Pods are deleted gracefully: watchers first see the mark, even if the pod is then removed at once.
            let marked = self.mark_present(resource, old, before, 0, options);
            let last = marked.to_value();
            return Deleted::Gone(self.finish_deletion(resource, &marked, last, options));
        }
        Deleted::Gone(self.finish_deletion(resource, old, before, options))
    }

    /// Gives the object a `deletionTimestamp`, once.
    fn mark_present(
        &mut self,
        resource: &Arc<ResourceInfo>,
        old: &Arc<ApiObject>,
        mut object: Value,
        grace: u64,
        options: WriteOptions,
    ) -> Arc<ApiObject> {
        if metadata::is_deleting(&object) {
            return Arc::clone(old);
        }
        mark(&mut object, grace, options.now);
        self.modify(resource, old, object)
    }

    /// Removes an object. `object` is its last state, which the same request may have changed.
    pub(super) fn finish_deletion(
        &mut self,
        resource: &Arc<ResourceInfo>,
        old: &Arc<ApiObject>,
        object: Value,
        options: WriteOptions,
    ) -> Arc<ApiObject> {
        let last = Arc::new(self.next_version(resource, object));
        if options.dry_run {
            return last;
        }
        let key = GroupResource::of(&resource.gvr);
        let change = Change::Deleted { old: Arc::clone(old), last: Arc::clone(&last) };
        self.commit(&key, change);
        if self.is_definition(&key) {
            self.rebuild_catalogue();
        }
        self.finish_namespace(old.namespace(), options);
        last
    }

    /// A namespace is `Terminating` until its last object is gone. In a real cluster the namespace controller does
    /// this. Without it, a deleted namespace would never go.
    fn delete_namespace(
        &mut self,
        resource: &Arc<ResourceInfo>,
        old: &Arc<ApiObject>,
        mut object: Value,
        options: WriteOptions,
    ) -> Deleted {
        let name = old.name().to_owned();
        if metadata::is_deleting(&object) {
            return Deleted::Waiting(Arc::clone(old));
        }
        let fields = metadata_mut(&mut object);
        fields.insert("deletionTimestamp".to_owned(), metadata::time_text(options.now).into());
        object["status"] = json!({"phase": "Terminating"});
        let marked = self.modify(resource, old, object);
        for (resource, contained) in self.contents(&name) {
            self.delete_present(&resource, &contained, None, options);
        }
        self.finish_namespace(&name, options);
        Deleted::Waiting(marked)
    }

    /// Removes a terminating namespace that is empty and has no finalizer but the system's.
    pub(super) fn finish_namespace(&mut self, name: &str, options: WriteOptions) {
        let key = namespaces();
        let Some(namespace) = self.find(&key, "", name).cloned() else { return };
        if namespace.field("status.phase") != Some("Terminating") {
            return;
        }
        let mut object = namespace.to_value();
        if metadata::has_finalizers(&object) || !self.contents(name).is_empty() {
            return;
        }
        object["spec"] = json!({});
        let Some(resource) = self.catalogue.find(&namespaces_gvr()).cloned() else { return };
        self.finish_deletion(&resource, &namespace, object, options);
    }

    /// All objects in a namespace, each with one resource to write it through, in a fixed order.
    fn contents(&self, namespace: &str) -> Vec<(Arc<ResourceInfo>, Arc<ApiObject>)> {
        let mut seen = Vec::new();
        let mut contents = Vec::new();
        for resource in self.catalogue.resources().iter().filter(|r| r.namespaced) {
            let key = GroupResource::of(&resource.gvr);
            let Some(table) = self.tables.get(&key).filter(|_| !seen.contains(&key)) else {
                continue;
            };
            let start = (namespace.to_owned(), String::new());
            let inside = table.objects.range(start..).take_while(|(key, _)| key.0 == namespace);
            contents.extend(inside.map(|(_, object)| (Arc::clone(resource), Arc::clone(object))));
            seen.push(key);
        }
        contents
    }

    /// Commits a state that the server itself has made.
    pub(super) fn modify(
        &mut self,
        resource: &Arc<ResourceInfo>,
        old: &Arc<ApiObject>,
        object: Value,
    ) -> Arc<ApiObject> {
        let new = Arc::new(self.next_version(resource, object));
        let change = Change::Modified { old: Arc::clone(old), new: Arc::clone(&new) };
        self.commit(&GroupResource::of(&resource.gvr), change);
        new
    }

    /// Carries out the consequences of a committed write.
    pub(super) fn after_write(
        &mut self,
        resource: &Arc<ResourceInfo>,
        new: &Arc<ApiObject>,
        now: Timestamp,
    ) {
        if self.is_definition(&GroupResource::of(&resource.gvr)) {
            self.establish(resource, new, now);
        }
    }
}

/// The grace period of a pod. It is zero if no kubelet has the pod, or if none of its containers runs any more
/// (registry/core/pod's `CheckGracefulDelete`).
fn pod_grace(pod: &Value, asked: Option<u64>) -> u64 {
    let bound = pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if !bound || over {
        return 0;
    }
    asked.unwrap_or_else(|| pod["spec"]["terminationGracePeriodSeconds"].as_u64().unwrap_or(30))
}

/// Writes the deletion into the object's metadata (apiserver's `rest.BeforeDelete`). The first mark counts as a change
/// of the specification.
fn mark(object: &mut Value, grace_seconds: u64, now: Timestamp) {
    let marked = metadata::is_deleting(object);
    let fields = metadata_mut(object);
    let grace = i64::try_from(grace_seconds).unwrap_or(i64::MAX);
    let end = now.checked_add(jiff::SignedDuration::from_secs(grace)).unwrap_or(now);
    fields.insert("deletionTimestamp".to_owned(), metadata::time_text(end).into());
    fields.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
    let generation = fields.get("generation").and_then(Value::as_i64).filter(|_| !marked);
    if let Some(generation) = generation {
        fields.insert("generation".to_owned(), (generation + 1).into());
    }
}

fn namespaces_gvr() -> informant_apimachinery::GroupVersionResource {
    informant_apimachinery::GroupVersionResource::new("", "v1", "namespaces")
}

fn check_preconditions(
    target: &Target<'_>,
    old: &ApiObject,
    before: &Value,
    delete: &DeleteOptions,
) -> Result<(), Status> {
    let gvr = &target.resource.gvr;
    let present = before["metadata"]["uid"].as_str().unwrap_or_default();
    if let Some(uid) = &delete.uid
        && uid != present
    {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {present}"
        );
        return Err(Status::conflict(gvr, target.name, &why));
    }
    let version = old.resource_version().to_string();
    if let Some(wanted) = &delete.resource_version
        && *wanted != version
    {
        let why = format!(
            "Precondition failed: ResourceVersion in precondition: {wanted}, \
             ResourceVersion in object meta: {version}"
        );
        return Err(Status::conflict(gvr, target.name, &why));
    }
    Ok(())
}
