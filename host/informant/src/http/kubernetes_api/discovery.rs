//! The cluster's discovery as a catalogue of the resources that the cache can serve.

use crate::bounded_answers::{COMMAS_MAX, has_few_entries, parsed, short};
use http::header::ACCEPT;
use informant_apimachinery::{GroupVersionResource, Status, selectable_fields};
use informant_apiserver::{Catalogue, ResourceInfo, SubresourceInfo};
use informant_cache::with_causes;
use informant_devcluster::built_in_resources;
use kube::core::discovery::v2::APIResourceDiscovery;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;

/// Both versions have the same shape. Without another type an older server refuses instead of answering with less.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// A cluster with thousands of definitions has fewer resources than that.
const RESOURCES_MAX: usize = 10_000;
/// The short names, and the categories, of one resource that are served.
const NAMES_MAX: usize = 16;
/// The API server takes no longer name of a group, a kind or a resource.
pub(super) const NAME_BYTES_MAX: usize = 253;

/// The verbs that the cache answers.
const VERBS: [&str; 3] = ["get", "list", "watch"];

/// A discovery, whose groups are read one after the other: of many megabytes, few are then in memory as trees.
#[derive(Deserialize)]
struct Groups<'a> {
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct DiscoveredGroup<'a> {
    metadata: Option<GroupName>,
    #[serde(borrow)]
    versions: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct GroupName {
    /// The core group has none.
    name: Option<String>,
}

#[derive(Deserialize)]
struct GroupVersion<'a> {
    version: Option<String>,
    #[serde(borrow)]
    resources: Option<Vec<&'a RawValue>>,
}

/// Asks the API server: two requests, with one document each.
pub(super) async fn documents(client: &kube::Client) -> Result<[String; 2], Status> {
    let (core, others) = futures::try_join!(ask(client, "/api"), ask(client, "/apis"))?;
    Ok([core, others])
}

async fn ask(client: &kube::Client, path: &str) -> Result<String, Status> {
    let request = http::Request::get(path).header(ACCEPT, AGGREGATED).body(Vec::new());
    let request = request.map_err(Status::internal_error)?;
    client.request_text(request).await.map_err(|error| unavailable(path, &error))
}

/// The API server gave no answer to a request for this path.
fn unavailable(path: &str, error: &kube::Error) -> Status {
    let error = short(&with_causes(error));
    Status::service_unavailable(format!("the API server could not be asked for {path}: {error}"))
}

/// The resources of a discovery's documents, which takes a moment.
pub(super) fn catalogue(documents: &[String]) -> Result<Catalogue, Status> {
    let built_in = built_in_resources();
    let built_in = built_in.iter().map(|info| (&*info.gvr.group, &*info.gvr.resource)).collect();
    let mut found = Vec::new();
    let added =
        documents.iter().try_for_each(|document| add_groups(document, &built_in, &mut found));
    let refused =
        |problem| Status::service_unavailable(format!("the API server's discovery {problem}"));
    added.map_err(refused)?;
    Ok(Catalogue::new(found.into_iter().map(Arc::new)))
}

fn add_groups(
    document: &str,
    built_in: &HashSet<(&str, &str)>,
    found: &mut Vec<ResourceInfo>,
) -> Result<(), String> {
    if !has_few_entries(document) {
        return Err(format!("has more than {COMMAS_MAX} entries"));
    }
    let unreadable = |error| format!("cannot be read: {error}");
    for group in parsed::<Groups<'_>>(document).map_err(unreadable)?.items.unwrap_or_default() {
        let group: DiscoveredGroup<'_> = parsed(group.get()).map_err(unreadable)?;
        let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
        for version in group.versions.unwrap_or_default() {
            add_version(&name, parsed(version.get()).map_err(unreadable)?, built_in, found)?;
        }
    }
    Ok(())
}

fn add_version(
    group: &str,
    GroupVersion { version, resources }: GroupVersion<'_>,
    built_in: &HashSet<(&str, &str)>,
    found: &mut Vec<ResourceInfo>,
) -> Result<(), String> {
    let version = version.unwrap_or_default();
    for resource in resources.unwrap_or_default() {
        // Aggregated API servers have entries without verbs, for subresources without a resource.
        let Ok(resource) = serde_json::from_str(resource.get()) else { continue };
        found.extend(served(group, &version, resource, built_in));
        if found.len() > RESOURCES_MAX {
            return Err(format!("has more than {RESOURCES_MAX} resources"));
        }
    }
    Ok(())
}

/// The resource; none for Secrets, and where it cannot be listed and watched.
fn served(
    group: &str,
    version: &str,
    resource: APIResourceDiscovery,
    built_in: &HashSet<(&str, &str)>,
) -> Option<ResourceInfo> {
    let plural = resource.resource.as_deref()?;
    let is_named = [group, version, plural].iter().all(|name| name.len() <= NAME_BYTES_MAX);
    let gvr = is_named.then(|| GroupVersionResource::new(group, version, plural))?;
    let custom = !built_in.contains(&(group, plural));
    // Invariant 41.
    (!gvr.is_secrets()).then(|| info(gvr, resource, custom))?
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
    let is_name = |name: &String| name.len() <= NAME_BYTES_MAX;
    let few = |names: Vec<String>| names.into_iter().filter(is_name).take(NAMES_MAX).collect();
    let kind = resource.response_kind?.kind.filter(is_name)?;
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
    let singular = resource.singular_resource.filter(|name| !name.is_empty() && is_name(name));
    let fields = selectable_fields(&gvr).iter().map(ToString::to_string).collect();
    Some(ResourceInfo {
        singular: singular.unwrap_or_else(|| kind.to_lowercase()),
        list_kind: format!("{kind}List"),
        kind,
        short_names: few(resource.short_names),
        categories: few(resource.categories),
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

    fn found(items: Value) -> Vec<Arc<ResourceInfo>> {
        let document = json!({ "items": items }).to_string();
        catalogue(&[document]).expect("it is small").resources().to_vec()
    }

    #[track_caller]
    fn check_refused(document: &str, expect: &str) {
        assert_eq!(catalogue(&[document.to_owned()]).expect_err("it is too large").message, expect);
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
        let found = found(json!([{"metadata": {}, "versions": [{"version": "v1", "resources": [
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
    fn a_catalogue_has_a_bounded_number_of_resources() {
        let document = |count: usize| {
            let names = (0..count).map(|number| format!("things{number}"));
            let resources: Vec<Value> =
                names.map(|name| resource(&name, "Thing", &["list", "watch"])).collect();
            let version = json!({"version": "v1", "resources": resources});
            json!({"items": [{"metadata": {"name": "example.com"}, "versions": [version]}]})
                .to_string()
        };
        let found = catalogue(&[document(RESOURCES_MAX)]).map(|found| found.resources().len());
        assert_eq!(found, Ok(RESOURCES_MAX));
        check_refused(
            &document(RESOURCES_MAX + 1),
            "the API server's discovery has more than 10000 resources",
        );
    }

    #[test]
    fn a_discovery_has_a_bounded_number_of_entries() {
        let document = |count: usize| format!(r#"{{"items":[{}{{}}]}}"#, "{},".repeat(count));
        assert_eq!(catalogue(&[document(COMMAS_MAX)]).map(|found| found.resources().len()), Ok(0));
        check_refused(
            &document(COMMAS_MAX + 1),
            "the API server's discovery has more than 500000 entries",
        );
    }

    #[test]
    fn an_entry_without_verbs_is_left_out() {
        let mut half = resource("halves", "Half", &[]);
        half["verbs"] = Value::Null;
        let things = resource("things", "Thing", &["list", "watch"]);
        let found = found(json!([{"versions": [
            {"version": "v1", "resources": [half, things]}, {"version": "v2", "resources": null},
        ]}, {"versions": null}]));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn an_error_is_as_long_as_it_may_be() {
        let document = json!({"items": [{"versions": "x".repeat(1 << 20)}]}).to_string();
        let status = catalogue(&[document]).expect_err("it is no discovery");
        assert!(status.message.len() < 2 << 10, "{} bytes", status.message.len());
    }

    #[test]
    fn a_resource_has_a_bounded_number_of_names() {
        let mut things = resource("things", "Thing", &["list", "watch"]);
        let names: Vec<String> = (0..100).map(|number| format!("t{number}")).collect();
        (things["shortNames"], things["categories"]) = (json!(names), json!(names));
        let mut long = resource("others", "Other", &["list", "watch"]);
        long["responseKind"]["kind"] = "x".repeat(NAME_BYTES_MAX + 1).into();
        let found = found(json!([{"versions": [{"version": "v1", "resources": [things, long]}]}]));
        let [things] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((things.short_names.len(), things.categories.len()), (NAMES_MAX, NAMES_MAX));
    }

    #[test]
    fn what_is_not_built_in_counts_as_custom() {
        let found = found(json!([{"metadata": {"name": "example.com"}, "versions": [
            {"version": "v1", "resources": [resource("widgets", "Widget", &["list", "watch"])]},
        ]}]));
        assert_eq!((found[0].custom, found[0].verbs.len()), (true, 2));
    }
}
