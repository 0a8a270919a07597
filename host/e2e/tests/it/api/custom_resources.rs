//! Custom resources: a definition is created and its resource is served; the definition is deleted, and so are its
//! objects.

use serde_json::{Value, json};

use crate::bench::{Bench, fact, names};
use informant_e2e::api::{DEADLINE, Patch, WatchEvent, resource_version};
use informant_e2e::poll;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A definition in a group that only this fact uses: definitions have no namespace.
fn definition(bench: &Bench) -> Value {
    let group = group(bench);
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("roses.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "roses", "singular": "rose", "kind": "Rose", "shortNames": ["rs"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
                "additionalPrinterColumns": [
                    {"name": "Colour", "type": "string", "jsonPath": ".spec.colour"},
                ],
            }],
        },
    })
}

fn group(bench: &Bench) -> String {
    format!("{}.example.com", bench.namespace)
}

fn roses(bench: &Bench) -> String {
    format!("/apis/{}/v1/namespaces/{}/roses", group(bench), bench.namespace)
}

fn rose(bench: &Bench, name: &str) -> Value {
    json!({
        "apiVersion": format!("{}/v1", group(bench)),
        "kind": "Rose",
        "metadata": {"name": name},
        "spec": {"colour": "red", "petals": [1, 2, 3]},
    })
}

/// Creates the definition and waits until its resource is served and its conditions say so.
///
/// kube-apiserver serves a resource as soon as its names are accepted, which is before the
/// definition is established (apiextensions-apiserver, `customresource_handler.go`,
/// `ServeHTTP`).
async fn establish(bench: &Bench) {
    let created = bench.create(DEFINITIONS, &definition(bench)).await;
    let path = format!("{DEFINITIONS}/{}", created["metadata"]["name"].as_str().expect("a name"));
    let established = async || {
        let definition = bench.api.get(&path).await.expect(200);
        let conditions = definition["status"]["conditions"].as_array()?;
        let is_true = |one: &Value| one["type"] == "Established" && one["status"] == "True";
        conditions.iter().any(is_true).then_some(())
    };
    poll::until("the definition to be established", DEADLINE, established).await.unwrap();
    let served = async || (bench.api.get(&roses(bench)).await.status == 200).then_some(());
    poll::until("the custom resource to be served", DEADLINE, served).await.unwrap();
}

async fn remove(bench: &Bench) {
    let name = format!("{DEFINITIONS}/roses.{}", group(bench));
    bench.api.delete(&name).await.expect(200);
    let gone = async || (bench.api.get(&roses(bench)).await.status == 404).then_some(());
    poll::until("the custom resource to be gone", DEADLINE, gone).await.unwrap();
}

#[test]
fn definition_is_established_and_discovered() {
    fact(async |bench| {
        assert_eq!(bench.api.get(&roses(bench)).await.status, 404);
        establish(bench).await;
        let path = format!("{DEFINITIONS}/roses.{}", group(bench));
        let definition = bench.api.get(&path).await.expect(200);
        let conditions = definition["status"]["conditions"].as_array().expect("conditions");
        for kind in ["NamesAccepted", "Established"] {
            let condition = conditions.iter().find(|one| one["type"] == kind).expect(kind);
            assert_eq!(condition["status"], "True", "{kind}");
        }
        let resources = bench.api.get(&format!("/apis/{}/v1", group(bench))).await.expect(200);
        assert_eq!(resources["resources"][0]["name"], "roses");
        assert_eq!(resources["resources"][0]["shortNames"], json!(["rs"]));
    });
}

#[test]
fn custom_object_is_created_listed_watched_and_patched() {
    fact(async |bench| {
        establish(bench).await;
        let created = bench.create(&roses(bench), &rose(bench, "one")).await;
        assert_eq!(created["metadata"]["generation"], 1);
        let list = bench.api.get(&roses(bench)).await.expect(200);
        assert_eq!((&list["kind"], names(&list)), (&json!("RoseList"), vec!["one".to_owned()]));
        assert_eq!(list["items"][0]["kind"], "Rose", "items of custom resources keep their kind");

        let from = resource_version(&created);
        let path = format!("{}?watch=true&resourceVersion={from}", roses(bench));
        let mut events = bench.api.watch(&path).await.expect("a watch");
        let one = format!("{}/one", roses(bench));
        let patch = json!({"spec": {"colour": "white"}});
        let patched = bench.api.patch(&one, Patch::Merge, &patch).await.expect(200);
        assert_eq!(patched["metadata"]["generation"], 2);
        assert_eq!(patched["spec"]["petals"], json!([1, 2, 3]));
        let event = events.event().await;
        assert_eq!((event.kind.as_str(), &event.object), ("MODIFIED", &patched));
    });
}

#[test]
fn custom_status_is_a_subresource() {
    fact(async |bench| {
        establish(bench).await;
        bench.create(&roses(bench), &rose(bench, "one")).await;
        let one = format!("{}/one", roses(bench));
        let patch = json!({"status": {"open": true}, "spec": {"colour": "white"}});
        let patched = bench.api.patch(&format!("{one}/status"), Patch::Merge, &patch).await;
        let patched = patched.expect(200);
        assert_eq!(
            (&patched["status"]["open"], &patched["spec"]["colour"]),
            (&json!(true), &json!("red"))
        );
        let plain = bench.api.patch(&one, Patch::Merge, &json!({"status": {"open": false}})).await;
        assert_eq!(plain.expect(200)["status"]["open"], json!(true));
    });
}

#[test]
fn strategic_patch_is_not_for_custom_resources() {
    fact(async |bench| {
        establish(bench).await;
        bench.create(&roses(bench), &rose(bench, "one")).await;
        let one = format!("{}/one", roses(bench));
        let reply = bench.api.patch(&one, Patch::Strategic, &json!({"spec": {}})).await;
        reply.expect_status(415, "UnsupportedMediaType");
    });
}

#[test]
fn custom_table_has_the_definitions_columns() {
    fact(async |bench| {
        establish(bench).await;
        bench.create(&roses(bench), &rose(bench, "one")).await;
        let accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
        let table = bench.api.get_as(&roses(bench), accept).await.expect(200);
        assert_eq!(table["columnDefinitions"][1]["name"], "Colour");
        assert_eq!(table["rows"][0]["cells"], json!(["one", "red"]));
    });
}

#[test]
fn removed_definition_takes_its_objects_along_and_ends_watches() {
    fact(async |bench| {
        establish(bench).await;
        bench.create(&roses(bench), &rose(bench, "one")).await;
        let path = format!("{}?watch=true", roses(bench));
        let mut events = bench.api.watch(&path).await.expect("a watch");
        assert_eq!(events.event().await.kind, "ADDED");
        remove(bench).await;
        // The real server reports the deletion of the objects or just ends the watch. It never leaves the watch open.
        let mut last = events.next().await;
        while let Some(WatchEvent { kind, .. }) = &last {
            assert_eq!(kind, "DELETED");
            last = events.next().await;
        }
        establish(bench).await;
        assert_eq!(bench.api.get(&roses(bench)).await.expect(200)["items"], json!([]));
    });
}
