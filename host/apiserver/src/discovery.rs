//! Discovery documents, legacy and aggregated, written from the catalogue.

use informant_apimachinery::GroupVersionResource;
use serde_json::{Value, json};

use crate::{Catalogue, ResourceInfo};

/// `/api`.
pub fn core_versions(catalogue: &Catalogue) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": catalogue.versions(""),
        "serverAddressByClientCIDRs": [],
    })
}

/// `/apis`.
pub fn groups(catalogue: &Catalogue) -> Value {
    let named = catalogue.groups().into_iter().filter(|group| !group.is_empty());
    let groups: Vec<Value> = named.map(|group| group_entry(catalogue, group)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/{group}`; `None` if there is no such group.
pub fn group(catalogue: &Catalogue, group: &str) -> Option<Value> {
    if group.is_empty() || !catalogue.groups().contains(&group) {
        return None;
    }
    let mut document = json!({"kind": "APIGroup", "apiVersion": "v1"});
    if let (Some(document), Value::Object(entry)) =
        (document.as_object_mut(), group_entry(catalogue, group))
    {
        document.extend(entry);
    }
    Some(document)
}

fn group_entry(catalogue: &Catalogue, group: &str) -> Value {
    let entry =
        |version: &&str| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let versions: Vec<Value> = catalogue.versions(group).iter().map(entry).collect();
    let preferred = versions.first().cloned();
    json!({"name": group, "versions": versions, "preferredVersion": preferred})
}

/// `/api/v1` and `/apis/{group}/{version}`; `None` if nothing is served there.
pub fn resources(catalogue: &Catalogue, group: &str, version: &str) -> Option<Value> {
    let mut entries = Vec::new();
    for resource in catalogue.in_version(group, version) {
        entries.push(resource_entry(resource));
        entries.extend(subresource_entries(resource));
    }
    if entries.is_empty() {
        return None;
    }
    let group_version = match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": entries,
    }))
}

fn resource_entry(resource: &ResourceInfo) -> Value {
    let mut entry = json!({
        "name": resource.gvr.resource,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    entry
}

fn subresource_entries(resource: &ResourceInfo) -> impl Iterator<Item = Value> {
    resource.subresources.iter().map(|subresource| {
        let mut entry = json!({
            "name": format!("{}/{}", resource.gvr.resource, subresource.name),
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": subresource.kind,
            "verbs": subresource.verbs,
        });
        let own = (resource.gvr.group.as_str(), resource.gvr.version.as_str());
        if (subresource.group.as_str(), subresource.version.as_str()) != own {
            entry["group"] = subresource.group.clone().into();
            entry["version"] = subresource.version.clone().into();
        }
        entry
    })
}

/// `/api` (the core group) or `/apis` (the others) as one `APIGroupDiscoveryList`.
pub fn aggregated(catalogue: &Catalogue, core: bool) -> Value {
    let groups = catalogue.groups().into_iter().filter(|group| group.is_empty() == core);
    let items: Vec<Value> = groups.map(|group| aggregated_group(catalogue, group)).collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn aggregated_group(catalogue: &Catalogue, group: &str) -> Value {
    let versions = catalogue.versions(group).into_iter().map(|version| {
        let resources = catalogue.in_version(group, version).map(|r| aggregated_resource(r));
        json!({
            "version": version,
            "resources": resources.collect::<Vec<_>>(),
            "freshness": "Current",
        })
    });
    let mut metadata = json!({});
    if !group.is_empty() {
        metadata["name"] = group.into();
    }
    json!({"metadata": metadata, "versions": versions.collect::<Vec<_>>()})
}

/// Group and version are left empty where they are the resource's own.
fn response_kind(gvr: &GroupVersionResource, group: &str, version: &str, kind: &str) -> Value {
    if (group, version) == (&gvr.group, &gvr.version) {
        return json!({"group": "", "version": "", "kind": kind});
    }
    json!({"group": group, "version": version, "kind": kind})
}

fn aggregated_resource(resource: &ResourceInfo) -> Value {
    let gvr = &resource.gvr;
    let mut entry = json!({
        "resource": gvr.resource,
        "responseKind": response_kind(gvr, &gvr.group, &gvr.version, &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    let subresources = resource.subresources.iter().map(|subresource| {
        json!({
            "subresource": subresource.name,
            "responseKind":
                response_kind(gvr, &subresource.group, &subresource.version, &subresource.kind),
            "verbs": subresource.verbs,
        })
    });
    let subresources: Vec<Value> = subresources.collect();
    if !subresources.is_empty() {
        entry["subresources"] = subresources.into();
    }
    entry
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::SubresourceInfo;

    fn catalogue() -> Catalogue {
        let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let pods = ResourceInfo {
            gvr: GroupVersionResource::new("", "v1", "pods"),
            kind: "Pod".to_owned(),
            singular: "pod".to_owned(),
            list_kind: "PodList".to_owned(),
            short_names: words(&["po"]),
            categories: words(&["all"]),
            namespaced: true,
            custom: false,
            verbs: words(&["get", "list"]),
            subresources: vec![SubresourceInfo {
                name: "eviction".to_owned(),
                group: "policy".to_owned(),
                version: "v1".to_owned(),
                kind: "Eviction".to_owned(),
                verbs: words(&["create"]),
            }],
            selectable_fields: Vec::new(),
            printer_columns: Value::Null,
        };
        let beta = ResourceInfo {
            gvr: GroupVersionResource::new("x.io", "v1beta1", "pods"),
            subresources: Vec::new(),
            ..pods.clone()
        };
        let stable =
            ResourceInfo { gvr: GroupVersionResource::new("x.io", "v1", "pods"), ..beta.clone() };
        Catalogue::new([pods, beta, stable].map(Arc::new))
    }

    #[track_caller]
    fn check(document: &Value, pointer: &str, expect: Value) {
        assert_eq!(document.pointer(pointer), Some(&expect), "{pointer} in {document:#}");
    }

    #[test]
    fn legacy_documents() {
        let catalogue = catalogue();
        check(&core_versions(&catalogue), "/versions", json!(["v1"]));
        let list = groups(&catalogue);
        check(&list, "/groups/0/name", json!("x.io"));
        check(&list, "/groups/0/preferredVersion/groupVersion", json!("x.io/v1"));
        assert!(list.pointer("/groups/1").is_none(), "the core group is not among the groups");
        let core = resources(&catalogue, "", "v1").expect("served");
        check(&core, "/groupVersion", json!("v1"));
        check(&core, "/resources/1/name", json!("pods/eviction"));
        check(&core, "/resources/1/group", json!("policy"));
        assert_eq!(resources(&catalogue, "", "v2"), None);
        assert_eq!(group(&catalogue, "y.io"), None);
    }

    #[test]
    fn aggregated_documents() {
        let catalogue = catalogue();
        let core = aggregated(&catalogue, true);
        check(&core, "/items/0/metadata", json!({}));
        check(&core, "/items/0/versions/0/resources/0/scope", json!("Namespaced"));
        check(
            &core,
            "/items/0/versions/0/resources/0/subresources/0/responseKind/kind",
            json!("Eviction"),
        );
        let others = aggregated(&catalogue, false);
        check(&others, "/items/0/versions/0/version", json!("v1"));
        check(&others, "/items/0/versions/1/version", json!("v1beta1"));
    }
}
