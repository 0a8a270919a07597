//! Informers of a part of a resource: objects that move in are added, objects that move out are deleted, and what happens
//! elsewhere is not heard of.

use informant_cache::{FactoryOptions, Part};
use serde_json::{Value, json};

use crate::bench::{Bench, labelled_pod};
use crate::cache::bench::{CacheBench, DEADLINE, Followed, cache_fact};
use crate::cache::replay::Change::{self, Added, Deleted, Updated};
use informant_e2e::api::Patch;
use informant_e2e::cluster::User;

/// A pod's life: it is marked as being deleted before it is gone.
const GOES: [Change; 3] = [Added, Updated, Deleted];

/// Made at the end, in every part: who has heard of it has heard of all before it.
const LAST: &str = "last";

/// An informer for a part of the fact's pods, the same part to compare it with, and what it told.
async fn check(
    bench: &Bench,
    cache: &CacheBench,
    part: Part,
    query: &str,
    happen: impl AsyncFnOnce(),
    expect: &[(&str, &[Change])],
) {
    let pods = "v1/pods".parse().expect("a resource");
    let api_server = cache.api_server(User::Admin).await;
    let factory = cache.factory_for(api_server, part, FactoryOptions::default());
    let collection = format!("{}{query}", bench.core("pods"));
    let followed = Followed::new(factory.for_resource(&pods), collection);
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.unwrap();
    happen().await;
    let last = labelled_pod(LAST, &[("app", "web")]);
    bench.create(&bench.core("pods"), &last).await;
    patch(bench, LAST, "/status", &json!({"status": {"phase": "Running"}})).await;
    followed.await_truth(&bench.api).await;
    let told = followed.replay().told_of_each();
    let of_others = told.into_iter().filter(|(key, _)| !key.ends_with(LAST));
    let told = of_others.map(|(key, told)| {
        let name = key.rsplit('/').next().expect("a name").to_owned();
        (name, told.into_iter().map(|told| told.change).collect())
    });
    let told: Vec<(String, Vec<Change>)> = told.collect();
    let expect: Vec<(String, Vec<Change>)> =
        expect.iter().map(|(name, changes)| ((*name).to_owned(), changes.to_vec())).collect();
    assert_eq!(told, expect);
    factory.shutdown().await;
}

async fn create(bench: &Bench, name: &str, labels: &[(&str, &str)]) {
    bench.create(&bench.core("pods"), &labelled_pod(name, labels)).await;
}

async fn patch(bench: &Bench, name: &str, subresource: &str, patch: &Value) {
    let path = format!("{}/{name}{subresource}", bench.core("pods"));
    bench.api.patch(&path, Patch::Merge, patch).await.expect(200);
}

async fn delete(bench: &Bench, name: &str) {
    let now = json!({"gracePeriodSeconds": 0});
    bench.api.delete_with(&format!("{}/{name}", bench.core("pods")), &now).await.expect(200);
}

#[test]
fn objects_move_in_and_out_of_a_label_selector() {
    cache_fact(async |bench, cache| {
        create(bench, "stays-in", &[("app", "web")]).await;
        create(bench, "moves-in", &[("app", "db")]).await;
        create(bench, "moves-out", &[("app", "web")]).await;
        create(bench, "stays-out", &[("app", "db")]).await;
        let label = |value: &str| json!({"metadata": {"labels": {"app": value}}});
        let other = json!({"metadata": {"labels": {"other": "label"}}});
        let happen = async || {
            for name in ["stays-in", "moves-in", "moves-out", "stays-out"] {
                patch(bench, name, "", &other).await;
            }
            patch(bench, "moves-in", "", &label("web")).await;
            patch(bench, "moves-in", "", &json!({"metadata": {"labels": {"more": "x"}}})).await;
            patch(bench, "moves-out", "", &label("db")).await;
            patch(bench, "moves-out", "", &label("cache")).await;
            // There and back again.
            patch(bench, "stays-in", "", &label("db")).await;
            patch(bench, "stays-in", "", &label("web")).await;
            create(bench, "comes-later", &[("app", "web")]).await;
            delete(bench, "comes-later").await;
            delete(bench, "stays-out").await;
        };
        let part = Part {
            label_selector: "app in (web),app!=x".to_owned(),
            ..Part::namespace(bench.namespace.as_str())
        };
        let query = "?labelSelector=app%20in%20(web),app!%3Dx";
        let expect: [(&str, &[Change]); 4] = [
            ("comes-later", &GOES),
            ("moves-in", &[Added, Updated]),
            ("moves-out", &[Added, Updated, Deleted]),
            ("stays-in", &[Added, Updated, Deleted, Added]),
        ];
        check(bench, cache, part, query, happen, &expect).await;
    });
}

#[test]
fn objects_move_in_and_out_of_a_field_selector() {
    cache_fact(async |bench, cache| {
        create(bench, "runs", &[]).await;
        create(bench, "waits", &[]).await;
        let phase = |phase: &str| json!({"status": {"phase": phase}});
        let happen = async || {
            patch(bench, "runs", "/status", &phase("Running")).await;
            patch(bench, "runs", "", &json!({"metadata": {"labels": {"x": "y"}}})).await;
            patch(bench, "waits", "", &json!({"metadata": {"labels": {"x": "y"}}})).await;
            patch(bench, "runs", "/status", &phase("Succeeded")).await;
            patch(bench, "runs", "/status", &phase("Failed")).await;
        };
        let part = Part {
            field_selector: "status.phase=Running".to_owned(),
            ..Part::namespace(bench.namespace.as_str())
        };
        let query = "?fieldSelector=status.phase%3DRunning";
        let expect: [(&str, &[Change]); 1] = [("runs", &[Added, Updated, Deleted])];
        check(bench, cache, part, query, happen, &expect).await;
    });
}

#[test]
fn both_selectors_and_the_namespace_bound_what_is_followed() {
    cache_fact(async |bench, cache| {
        let happen = async || {
            create(bench, "a", &[("app", "web")]).await;
            create(bench, "b", &[("app", "web")]).await;
            create(bench, "c", &[("app", "db")]).await;
            // The same labels elsewhere.
            let elsewhere = "/api/v1/namespaces/default/pods";
            let pod = labelled_pod(&format!("{}-a", bench.namespace), &[("app", "web")]);
            bench.create(elsewhere, &pod).await;
            delete(bench, "a").await;
            create(bench, "a", &[("app", "web")]).await;
        };
        let part = Part {
            namespace: Some(bench.namespace.as_str().into()),
            label_selector: "app=web".to_owned(),
            field_selector: "metadata.name!=b".to_owned(),
        };
        let query = "?labelSelector=app%3Dweb&fieldSelector=metadata.name!%3Db";
        let expect: [(&str, &[Change]); 1] = [("a", &[Added, Updated, Deleted, Added])];
        check(bench, cache, part, query, happen, &expect).await;
    });
}
