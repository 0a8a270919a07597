//! The cluster's discovery as a catalogue of the resources that the cache can serve.

use http::header::ACCEPT;
use informant_apimachinery::{GroupVersionResource, Status, selectable_fields};
use informant_apiserver::{Catalogue, ResourceInfo, SubresourceInfo};
use informant_devcluster::built_in_resources;
use kube::core::discovery::v2::{
    APIGroupDiscovery, APIGroupDiscoveryList, APIResourceDiscovery, APIVersionDiscovery,
};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// Both versions have the same shape. Without another type an older server refuses instead of answering with less.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// The verbs that the cache answers.
const VERBS: [&str; 3] = ["get", "list", "watch"];

/// Asks the API server: two requests.
pub(super) async fn read(client: &kube::Client) -> Result<Catalogue, Status> {
    let (core, others) = futures::try_join!(ask(client, "/api"), ask(client, "/apis"))?;
    let groups = core.items.into_iter().chain(others.items);
    Ok(Catalogue::new(groups.flat_map(resources).map(Arc::new)))
}

async fn ask(client: &kube::Client, path: &str) -> Result<APIGroupDiscoveryList, Status> {
    let request = http::Request::get(path).header(ACCEPT, AGGREGATED).body(Vec::new());
    let request = request.map_err(Status::internal_error)?;
    client.request(request).await.map_err(|error| unavailable(path, error))
}

/// The API server gave no answer to a request for this path.
fn unavailable(path: &str, error: kube::Error) -> Status {
    let error = anyhow::Error::from(error);
    Status::service_unavailable(format!("the API server could not be asked for {path}: {error:#}"))
}

fn resources(group: APIGroupDiscovery) -> impl Iterator<Item = ResourceInfo> {
    // The core group has no name.
    let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
    // Both match a table of a hundred names.
    let built_in = built_in_resources();
    let built_in: HashSet<String> = built_in
        .iter()
        .filter(|info| info.gvr.group == name)
        .map(|info| info.gvr.resource.clone())
        .collect();
    group.versions.into_iter().flat_map(
        move |APIVersionDiscovery { version, resources, .. }| {
            let version = version.unwrap_or_default();
            let of = |resource: APIResourceDiscovery| {
                let plural = resource.resource.as_deref()?;
                let gvr = GroupVersionResource::new(&*name, &*version, plural);
                let custom = !built_in.contains(plural);
                // Invariant 41.
                (!gvr.is_secrets()).then(|| info(gvr, resource, custom))?
            };
            resources.into_iter().filter_map(of).collect::<Vec<_>>()
        },
    )
}

/// The resource; none where it cannot be listed and watched.
fn info(
    gvr: GroupVersionResource,
    resource: APIResourceDiscovery,
    custom: bool,
) -> Option<ResourceInfo> {
    let has = |verb: &str| resource.verbs.iter().any(|one| one == verb);
    if !has("list") || !has("watch") {
        return None;
    }
    let kind = resource.response_kind?.kind?;
    let shown = |verb: &&str| has(verb);
    let verbs: Vec<String> =
        VERBS.iter().filter(|verb| shown(verb)).map(ToString::to_string).collect();
    // The status of an object is shown as the whole object.
    let status =
        resource.subresources.iter().any(|one| one.subresource.as_deref() == Some("status"));
    let status = status.then(|| SubresourceInfo {
        name: "status".to_owned(),
        group: gvr.group.clone(),
        version: gvr.version.clone(),
        kind: kind.clone(),
        verbs: vec!["get".to_owned()],
    });
    let singular = resource.singular_resource.filter(|singular| !singular.is_empty());
    let fields = selectable_fields(&gvr).iter().map(ToString::to_string).collect();
    Some(ResourceInfo {
        singular: singular.unwrap_or_else(|| kind.to_lowercase()),
        list_kind: format!("{kind}List"),
        kind,
        short_names: resource.short_names,
        categories: resource.categories,
        namespaced: resource.scope.as_deref() == Some("Namespaced"),
        custom,
        verbs,
        subresources: status.into_iter().collect(),
        selectable_fields: fields,
        printer_columns: Value::Null,
        gvr,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn catalogue(items: Value) -> Vec<ResourceInfo> {
        let groups = serde_json::from_value(json!({ "items": items }));
        let groups: APIGroupDiscoveryList = groups.expect("a list of groups");
        groups.items.into_iter().flat_map(resources).collect()
    }

    fn resource(name: &str, kind: &str, verbs: &[&str]) -> Value {
        json!({
            "resource": name, "responseKind": {"group": "", "version": "", "kind": kind},
            "scope": "Namespaced", "singularResource": "", "verbs": verbs,
            "subresources": [{"subresource": "status"}, {"subresource": "log"}],
        })
    }

    #[test]
    fn only_what_can_be_followed_is_served_and_no_secrets() {
        let all = ["create", "delete", "get", "list", "watch"];
        let found =
            catalogue(json!([{"metadata": {}, "versions": [{"version": "v1", "resources": [
                resource("pods", "Pod", &all),
                resource("secrets", "Secret", &all),
                resource("bindings", "Binding", &["create"]),
            ]}]}]));
        let [pods] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(pods.gvr.to_string(), "v1/pods");
        assert_eq!((pods.verbs.as_slice(), pods.custom), (&VERBS.map(str::to_owned)[..], false));
        assert_eq!((&*pods.singular, &*pods.list_kind), ("pod", "PodList"));
        let [status] = pods.subresources.as_slice() else { panic!("{pods:?}") };
        assert_eq!((&*status.name, status.verbs.as_slice()), ("status", &["get".to_owned()][..]));
        assert!(pods.selectable_fields.contains(&"spec.nodeName".to_owned()));
    }

    #[test]
    fn what_is_not_built_in_counts_as_custom() {
        let found = catalogue(json!([{"metadata": {"name": "example.com"}, "versions": [
            {"version": "v1", "resources": [resource("widgets", "Widget", &["list", "watch"])]},
        ]}]));
        assert_eq!((found[0].custom, found[0].verbs.len()), (true, 2));
    }
}
