//! Custom resources: each is served from the creation of its CustomResourceDefinition until the definition's deletion.

use std::sync::Arc;

use informant_apimachinery::{GroupVersionResource, StatusCause};
use informant_apiserver::{ApiObject, Catalogue, ResourceInfo, SubresourceInfo};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{GroupResource, Store, Table, WriteOptions, custom_schema, metadata};
use crate::built_in::{self, STORED_VERBS};

/// The resource of the definitions themselves.
const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

impl Store {
    pub(super) fn is_definition(&self, resource: &GroupResource) -> bool {
        (resource.group.as_str(), resource.resource.as_str()) == DEFINITIONS
    }

    /// Sets the status that a definition is served. Its users wait for that status.
    pub(super) fn establish(
        &mut self,
        resource: &Arc<ResourceInfo>,
        definition: &Arc<ApiObject>,
        now: Timestamp,
    ) {
        self.rebuild_catalogue();
        let mut object = definition.to_value();
        let status = established(&object, now);
        if object["status"]["acceptedNames"] == status["acceptedNames"]
            && object["status"]["storedVersions"] == status["storedVersions"]
        {
            return;
        }
        object["status"] = status;
        self.modify(resource, definition, object);
    }

    /// Shapes a custom object by the schema of its definition. Returns the violations of its rules.
    pub(super) fn shape_custom(
        &self,
        resource: &ResourceInfo,
        object: &mut Value,
    ) -> Vec<StatusCause> {
        if !resource.custom {
            return Vec::new();
        }
        let Some(definition) = self.definition(resource) else { return Vec::new() };
        let version = resource.gvr.version.as_str();
        let Some(schema) = custom_schema::of_version(&definition, version) else {
            return Vec::new();
        };
        custom_schema::shape(object, schema);
        custom_schema::problems(object, schema)
    }

    /// The definition of a custom resource.
    pub(super) fn definition(&self, resource: &ResourceInfo) -> Option<Value> {
        let definitions =
            GroupResource { group: DEFINITIONS.0.into(), resource: DEFINITIONS.1.into() };
        let name = format!("{}.{}", resource.gvr.resource, resource.gvr.group);
        self.find(&definitions, "", &name).map(|found| found.to_value())
    }

    /// Deletes every object of a definition before the definition, and ends the watches on these objects.
    pub(super) fn drop_custom_resource(&mut self, definition: &str, options: WriteOptions) {
        let Some((plural, group)) = definition.split_once('.') else { return };
        let key = GroupResource { group: group.to_owned(), resource: plural.to_owned() };
        let served = self.catalogue.resources().iter().find(|r| GroupResource::of(&r.gvr) == key);
        let Some(resource) = served.cloned() else { return };
        let objects: Vec<_> = self
            .tables
            .get(&key)
            .map(|table| table.objects.values().cloned().collect())
            .unwrap_or_default();
        for object in objects {
            let value = object.to_value();
            self.finish_deletion(&resource, &object, value, options);
        }
    }

    /// Serves the built-in resources and the defined custom resources.
    pub(super) fn rebuild_catalogue(&mut self) {
        let definitions =
            GroupResource { group: DEFINITIONS.0.into(), resource: DEFINITIONS.1.into() };
        let defined: Vec<Arc<ResourceInfo>> = self
            .tables
            .get(&definitions)
            .into_iter()
            .flat_map(|table| table.objects.values())
            .flat_map(|definition| served_versions(&definition.to_value()))
            .map(Arc::new)
            .collect();
        let keys: Vec<_> = defined.iter().map(|r| GroupResource::of(&r.gvr)).collect();
        let built_in = built_in::stored();
        for (key, table) in &mut self.tables {
            let is_built_in = built_in.iter().any(|r| GroupResource::of(&r.gvr) == *key);
            if !is_built_in && !table.gone && !keys.contains(key) {
                table.gone = true;
                self.touched.push(key.clone());
            }
        }
        for key in keys {
            if self.tables.get(&key).is_none_or(|table| table.gone) {
                // The history belongs to an earlier resource: an older watch must list again. On a real server, the
                // watch cache of a new definition also begins with a list.
                let table = Table::new(self.new_epoch(), self.resource_version);
                self.tables.insert(key, table);
            }
        }
        let all = built_in.into_iter().chain(built_in::reviews()).chain(defined);
        self.catalogue = Arc::new(Catalogue::new(all));
    }
}

/// The resources that a definition defines, one for each served version.
fn served_versions(definition: &Value) -> Vec<ResourceInfo> {
    let spec = &definition["spec"];
    let names = &spec["names"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let or_else = |value: &Value, other: String| match text(value) {
        text if text.is_empty() => other,
        text => text,
    };
    let words = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(text).collect()
    };
    let (group, kind) = (text(&spec["group"]), text(&names["kind"]));
    let versions = spec["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|version| version["served"] == true);
    served
        .map(|version| {
            let gvr = GroupVersionResource::new(
                group.clone(),
                text(&version["name"]),
                text(&names["plural"]),
            );
            ResourceInfo {
                kind: kind.clone(),
                singular: or_else(&names["singular"], kind.to_lowercase()),
                list_kind: or_else(&names["listKind"], format!("{kind}List")),
                short_names: words(&names["shortNames"]),
                categories: words(&names["categories"]),
                namespaced: spec["scope"] == "Namespaced",
                custom: true,
                verbs: STORED_VERBS.iter().map(|verb| (*verb).to_owned()).collect(),
                subresources: subresources(&gvr, &kind, &version["subresources"]),
                selectable_fields: version["selectableFields"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
                    .collect(),
                printer_columns: version["additionalPrinterColumns"].clone(),
                gvr,
            }
        })
        .collect()
}

fn subresources(gvr: &GroupVersionResource, kind: &str, declared: &Value) -> Vec<SubresourceInfo> {
    let verbs: Vec<String> =
        ["get", "patch", "update"].iter().map(|verb| (*verb).to_owned()).collect();
    let mut subresources = Vec::new();
    if declared["scale"].is_object() {
        subresources.push(SubresourceInfo {
            name: "scale".to_owned(),
            group: "autoscaling".to_owned(),
            version: "v1".to_owned(),
            kind: "Scale".to_owned(),
            verbs: verbs.clone(),
        });
    }
    if declared["status"].is_object() {
        subresources.push(SubresourceInfo {
            name: "status".to_owned(),
            group: gvr.group.clone(),
            version: gvr.version.clone(),
            kind: kind.to_owned(),
            verbs,
        });
    }
    subresources
}

/// The status of a served definition.
fn established(definition: &Value, now: Timestamp) -> Value {
    let names = &definition["spec"]["names"];
    let kind = names["kind"].as_str().unwrap_or_default();
    let mut accepted = names.clone();
    if accepted["singular"].as_str().is_none_or(str::is_empty) {
        accepted["singular"] = kind.to_lowercase().into();
    }
    if accepted["listKind"].as_str().is_none_or(str::is_empty) {
        accepted["listKind"] = format!("{kind}List").into();
    }
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let stored: Vec<&Value> =
        versions.filter(|version| version["storage"] == true).map(|v| &v["name"]).collect();
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({
            "type": kind,
            "status": "True",
            "lastTransitionTime": metadata::time_text(now),
            "reason": reason,
            "message": message,
        })
    };
    json!({
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "acceptedNames": accepted,
        "storedVersions": stored,
    })
}

/// The paths of the numbers for a custom resource's `scale`, from its definition.
pub(super) fn scale_paths(definition: &Value, version: &str) -> Option<ScalePaths> {
    let versions = definition["spec"]["versions"].as_array()?;
    let scale = &versions.iter().find(|v| v["name"] == version)?["subresources"]["scale"];
    let path = |key: &str| scale[key].as_str().map(|p| p.trim_start_matches('.').to_owned());
    Some(ScalePaths {
        wanted: path("specReplicasPath")?,
        running: path("statusReplicasPath")?,
        selector: path("labelSelectorPath"),
    })
}

/// The paths of the numbers for `scale`, with dots between the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScalePaths {
    /// The desired number.
    pub wanted: String,
    /// The present number.
    pub running: String,
    /// The selector as text. Built-in resources have a structure instead.
    pub selector: Option<String>,
}
