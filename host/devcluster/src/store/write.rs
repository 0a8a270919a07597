//! Creates and changes objects. Every accepted change takes one resourceVersion. A request that changes nothing takes
//! none and wakes no watcher, as on a real server (registry/generic's `Store.Update`).

use std::sync::Arc;

use informant_apimachinery::Status;
use informant_apiserver::{ApiObject, Change, ResourceInfo, convert};
use jiff::Timestamp;
use serde_json::Value;

use super::metadata::{self, metadata_mut};
use super::{GroupResource, Store, defaults, validation};
use crate::built_in;
use crate::patch::Patch;

/// The object of a write.
#[derive(Clone, Debug)]
pub struct Target<'a> {
    /// The requested resource, in its requested version.
    pub resource: &'a Arc<ResourceInfo>,
    /// `None` for the cluster's own objects.
    pub namespace: Option<&'a str>,
    /// The object's name.
    pub name: &'a str,
    /// `status`, or `None` for the object itself. Other subresources have their own methods.
    pub subresource: Option<&'a str>,
}

/// The options of a write.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// The time of the write.
    pub now: Timestamp,
    /// Checks and answers, but changes nothing.
    pub dry_run: bool,
}

impl WriteOptions {
    /// An ordinary write.
    pub fn at(now: Timestamp) -> Self {
        Self { now, dry_run: false }
    }
}

impl Store {
    /// Creates an object.
    pub fn create(
        &mut self,
        resource: &Arc<ResourceInfo>,
        namespace: Option<&str>,
        mut object: Value,
        options: WriteOptions,
    ) -> Result<Arc<ApiObject>, Status> {
        metadata::match_path(resource, namespace, &mut object)?;
        self.check_namespace(resource, namespace, &object)?;
        self.prepare_create(resource, &mut object, options.now)?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let key = GroupResource::of(&resource.gvr);
        self.table(resource)?;
        if self.find(&key, namespace.unwrap_or_default(), &name).is_some() {
            return Err(Status::already_exists(&resource.gvr, &name));
        }
        let new = Arc::new(self.next_version(resource, object));
        if !options.dry_run {
            self.commit(&key, Change::Added(Arc::clone(&new)));
            self.after_write(resource, &new, options.now);
        }
        Ok(new)
    }

    /// Replaces an object, or its status.
    pub fn update(
        &mut self,
        target: &Target<'_>,
        mut object: Value,
        options: WriteOptions,
    ) -> Result<Arc<ApiObject>, Status> {
        metadata::match_path(target.resource, target.namespace, &mut object)?;
        check_name(target, &object)?;
        let needs_version = target.resource.custom && target.subresource.is_none();
        if needs_version && object["metadata"]["resourceVersion"].as_str().is_none_or(str::is_empty)
        {
            return Err(validation::missing_resource_version(target.resource, target.name));
        }
        let old = self.present(target)?;
        self.replace(target, &old, object, options)
    }

    /// Changes part of an object, or of its status. An apply patch creates a missing object; the second value says
    /// whether it did.
    pub fn patch(
        &mut self,
        target: &Target<'_>,
        patch: &Patch,
        options: WriteOptions,
    ) -> Result<(Arc<ApiObject>, bool), Status> {
        let old = match self.present(target) {
            Ok(old) => old,
            Err(_) if patch.creates() && target.subresource.is_none() => {
                let mut object = patch.new_object().clone();
                metadata::match_path(target.resource, target.namespace, &mut object)?;
                metadata_mut(&mut object).insert("name".to_owned(), target.name.into());
                let new = self.create(target.resource, target.namespace, object, options)?;
                return Ok((new, true));
            }
            Err(status) => return Err(status),
        };
        let mut object = old.value_as(target.resource);
        patch.apply(&mut object, target.resource, target.name)?;
        metadata::match_path(target.resource, target.namespace, &mut object)?;
        check_name(target, &object)?;
        Ok((self.replace(target, &old, object, options)?, false))
    }

    /// The present state of the target.
    pub(super) fn present(&self, target: &Target<'_>) -> Result<Arc<ApiObject>, Status> {
        let key = GroupResource::of(&target.resource.gvr);
        self.table(target.resource)?;
        let found = self.find(&key, target.namespace.unwrap_or_default(), target.name);
        found.cloned().ok_or_else(|| Status::not_found(&target.resource.gvr, target.name))
    }

    /// Replaces `old` by a new state, after checking that the client may do so.
    fn replace(
        &mut self,
        target: &Target<'_>,
        old: &Arc<ApiObject>,
        mut object: Value,
        options: WriteOptions,
    ) -> Result<Arc<ApiObject>, Status> {
        let resource = target.resource;
        let before = old.to_value();
        check_preconditions(target, old, &before, &object)?;
        keep_system_fields(target, &before, &mut object);
        if target.subresource == Some("status") {
            let status = object["status"].take();
            object = before.clone();
            if let Some(fields) = object.as_object_mut() {
                match status {
                    Value::Null => fields.shift_remove("status"),
                    status => fields.insert("status".to_owned(), status),
                };
            }
        } else {
            defaults::apply(resource, &mut object);
        }
        if target.subresource.is_none() || resource.custom {
            let causes = self.shape_custom(resource, &mut object);
            validation::check_update(resource, &before, &object, causes)?;
        }
        if built_in::has_generation(resource) && !same_specification(&before, &object) {
            let generation = before["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
            metadata_mut(&mut object).insert("generation".to_owned(), generation.into());
        }
        // An object is stored in the version in which it was created.
        convert(&mut object, before["apiVersion"].as_str().unwrap_or_default());
        let object = metadata::ordered(resource, object);
        if object == before {
            return Ok(Arc::clone(old));
        }
        let released = metadata::has_finalizers(&before) && !metadata::has_finalizers(&object);
        // A pod within its grace period stays until its kubelet removes it.
        let no_grace = object["metadata"]["deletionGracePeriodSeconds"].as_u64().unwrap_or(0) == 0;
        if released && no_grace && metadata::is_deleting(&object) {
            return Ok(self.finish_deletion(resource, old, object, options));
        }
        let new = Arc::new(self.next_version(resource, object));
        if !options.dry_run {
            let change = Change::Modified { old: Arc::clone(old), new: Arc::clone(&new) };
            self.commit(&GroupResource::of(&resource.gvr), change);
            self.after_write(resource, &new, options.now);
        }
        Ok(new)
    }

    /// The object with the resourceVersion of the next change.
    pub(super) fn next_version(&self, resource: &ResourceInfo, mut object: Value) -> ApiObject {
        let version = (self.resource_version + 1).to_string();
        metadata_mut(&mut object).insert("resourceVersion".to_owned(), version.into());
        let object = metadata::ordered(resource, object);
        ApiObject::from_value(&object, &resource.selectable_fields)
    }

    fn prepare_create(
        &mut self,
        resource: &ResourceInfo,
        object: &mut Value,
        now: Timestamp,
    ) -> Result<(), Status> {
        let uid = metadata::uid(&mut self.random);
        let fields = metadata_mut(object);
        let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
        if !text("resourceVersion").is_empty() {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Status::bad_request(message));
        }
        if text("name").is_empty() && !text("generateName").is_empty() {
            let name = metadata::generated_name(text("generateName"), &mut self.random);
            fields.insert("name".to_owned(), name.into());
        }
        for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"] {
            fields.shift_remove(key);
        }
        fields.insert("uid".to_owned(), uid.into());
        fields.insert("creationTimestamp".to_owned(), metadata::time_text(now).into());
        if built_in::has_generation(resource) {
            fields.insert("generation".to_owned(), 1.into());
        }
        // A kubelet creates its node with a status. All other objects get their status from a controller.
        let keeps_status = resource.gvr.group.is_empty() && resource.gvr.resource == "nodes";
        if resource.subresource("status").is_some() && !keeps_status {
            object.as_object_mut().map(|fields| fields.shift_remove("status"));
        }
        defaults::apply_on_create(resource, object, &mut self.random);
        defaults::apply(resource, object);
        let causes = self.shape_custom(resource, object);
        validation::check_create(resource, object, causes)
    }

    /// A new object needs a namespace that exists and is not being deleted.
    fn check_namespace(
        &self,
        resource: &ResourceInfo,
        namespace: Option<&str>,
        object: &Value,
    ) -> Result<(), Status> {
        let Some(namespace) = namespace else { return Ok(()) };
        let namespaces = super::namespaces();
        let Some(found) = self.find(&namespaces, "", namespace) else {
            let gvr = informant_apimachinery::GroupVersionResource::new("", "v1", "namespaces");
            return Err(Status::not_found(&gvr, namespace));
        };
        if found.field("status.phase") == Some("Terminating") {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            return Err(Status::forbidden(&resource.gvr, name, &why));
        }
        Ok(())
    }
}

/// Refuses a change of the name. An object without a name gets the name in the path.
fn check_name(target: &Target<'_>, object: &Value) -> Result<(), Status> {
    let written = object["metadata"]["name"].as_str().unwrap_or_default();
    let name = target.name;
    if written.is_empty() || written == name {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the name of the object ({written}) does not match the name on the URL ({name})"
    )))
}

/// Checks the resourceVersion and the UID that the client may require.
fn check_preconditions(
    target: &Target<'_>,
    old: &ApiObject,
    before: &Value,
    object: &Value,
) -> Result<(), Status> {
    let metadata = &object["metadata"];
    let gvr = &target.resource.gvr;
    if let Some(uid) = metadata["uid"].as_str()
        && !uid.is_empty()
        && before["metadata"]["uid"] != uid
    {
        let present = before["metadata"]["uid"].as_str().unwrap_or_default();
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {present}"
        );
        return Err(Status::conflict(gvr, target.name, &why));
    }
    match metadata["resourceVersion"].as_str() {
        None | Some("") => Ok(()),
        Some(version) if version == old.resource_version().to_string() => Ok(()),
        Some(_) => Err(Status::modified(gvr, target.name)),
    }
}

/// Restores the fields that no client may change: identity, and the status if it has a subresource.
fn keep_system_fields(target: &Target<'_>, before: &Value, object: &mut Value) {
    const KEPT: [&str; 8] = [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ];
    let fields = metadata_mut(object);
    for key in KEPT {
        match before["metadata"].get(key) {
            Some(value) => fields.insert(key.to_owned(), value.clone()),
            None => fields.shift_remove(key),
        };
    }
    if !fields.contains_key("managedFields")
        && let Some(managed) = before["metadata"].get("managedFields")
    {
        fields.insert("managedFields".to_owned(), managed.clone());
    }
    if target.subresource.is_none() && target.resource.subresource("status").is_some() {
        match before.get("status") {
            Some(status) => object["status"] = status.clone(),
            None => {
                object.as_object_mut().map(|fields| fields.shift_remove("status"));
            }
        }
    }
}

/// Whether nothing but metadata and status differs.
fn same_specification(before: &Value, after: &Value) -> bool {
    let all_in = |from: &Value, other: &Value| {
        let fields = from.as_object().into_iter().flatten();
        let mut fields = fields.filter(|(key, _)| !matches!(key.as_str(), "metadata" | "status"));
        fields.all(|(key, value)| other.get(key) == Some(value))
    };
    all_in(before, after) && all_in(after, before)
}
