//! A resource that appears and disappears with its definition, while other informers continue.

use informant_apimachinery::GroupVersionResource;
use informant_cache::FactoryOptions;
use serde_json::{Value, json};

use crate::bench::{Bench, config_map};
use crate::cache::bench::{DEADLINE, Followed, cache_fact};
use crate::cache::replay::Change;
use informant_e2e::api::Api;
use informant_e2e::cluster::User;
use informant_e2e::poll;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Widgets in a group that only this fact uses.
pub fn widgets(namespace: &str) -> GroupVersionResource {
    GroupVersionResource::new(format!("{namespace}.example.com"), "v1", "widgets")
}

/// The definition of widgets. It keeps all fields in their `spec`.
pub fn definition(resource: &GroupVersionResource) -> Value {
    let open = json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{}", resource.resource, resource.group)},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {"plural": resource.resource, "singular": "widget", "kind": "Widget"},
            "versions": [{
                "name": resource.version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": open},
            }],
        },
    })
}

/// A widget.
pub fn widget(resource: &GroupVersionResource, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{}/{}", resource.group, resource.version), "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec,
    })
}

/// Defines the resource and waits until it is served.
pub async fn define(api: &Api, namespace: &str, resource: &GroupVersionResource) {
    api.create(DEFINITIONS, &definition(resource)).await.expect(201);
    let path = resource.path(Some(namespace));
    let served = async || (api.get(&path).await.status == 200).then_some(());
    poll::until("the custom resource to be served", DEADLINE, served).await.unwrap();
}

/// Deletes the definition and waits until it is gone.
pub async fn withdraw(api: &Api, resource: &GroupVersionResource) {
    let path = format!("{DEFINITIONS}/{}.{}", resource.resource, resource.group);
    api.delete(&path).await.expect(200);
    let gone = async || (api.get(&path).await.status == 404).then_some(());
    poll::until("the definition to be gone", DEADLINE, gone).await.unwrap();
}

/// Creates widgets with these names. A server that has just begun to serve them may not be ready for writes.
async fn create(bench: &Bench, resource: &GroupVersionResource, names: &[&str]) {
    let path = resource.path(Some(&bench.namespace));
    for name in names {
        let object = widget(resource, name, &json!({"size": 1}));
        let created = async || {
            let reply = bench.api.create(&path, &object).await;
            (reply.status == 201).then_some(())
        };
        poll::until(&format!("widget {name} to be created"), DEADLINE, created).await.unwrap();
    }
}

#[test]
fn custom_resource_is_followed_through_two_lives_of_its_definition() {
    cache_fact(async |bench, cache| {
        let resource = widgets(&bench.namespace);
        let factory = cache.factory(User::Admin, FactoryOptions::default()).await;
        let path = cache.collection(&resource);
        let followed = Followed::new(factory.for_resource(&resource), &path);
        let config_maps = "v1/configmaps".parse().expect("a resource");
        let other =
            Followed::new(factory.for_resource(&config_maps), cache.collection(&config_maps));
        factory.start();
        followed.await_state("waiting").await;
        other.await_state("synced").await;
        assert!(!followed.has_synced());

        define(&bench.api, &bench.namespace, &resource).await;
        create(bench, &resource, &["a", "b", "c"]).await;
        followed.await_state("synced").await;
        assert_eq!(followed.await_truth(&bench.api).await.len(), 3);

        withdraw(&bench.api, &resource).await;
        followed.await_state("waiting").await;
        let emptied = async || followed.replay().objects().is_empty().then_some(());
        poll::until("the handler to hear of the deletions", DEADLINE, emptied).await.unwrap();
        assert!(followed.cached().is_empty(), "deletions are written before they are told");
        for (key, told) in followed.replay().told_of_each() {
            let changes: Vec<Change> = told.iter().map(|told| told.change).collect();
            assert_eq!(changes, [Change::Added, Change::Deleted], "{key}");
        }
        // The other informers are not affected.
        let path = cache.collection(&config_maps);
        bench.create(&path, &config_map("meanwhile", &[])).await;
        other.await_truth(&bench.api).await;
        let errors = other.stats().errors;
        assert_eq!((other.state().as_str(), errors), ("synced", 0));

        define(&bench.api, &bench.namespace, &resource).await;
        create(bench, &resource, &["b", "d"]).await;
        followed.await_state("synced").await;
        assert_eq!(followed.await_truth(&bench.api).await.len(), 2);
        factory.shutdown().await;
    });
}
