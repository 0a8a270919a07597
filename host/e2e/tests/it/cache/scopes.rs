//! Informers for a part of a resource. Objects that move in are added, objects that move out are deleted, and changes
//! elsewhere are not notified.

use informant_cache::{FactoryOptions, Scope};
use serde_json::{Value, json};

use crate::bench::{Bench, labelled_pod};
use crate::cache::bench::{CacheBench, DEADLINE, Followed, cache_fact};
use crate::cache::replay::Change::{self, Added, Deleted, Updated};
use crate::cache::replay::Replay;
use informant_e2e::api::Patch;
use informant_e2e::cluster::User;

/// A pod's deletion: it is marked as being deleted before it is gone.
const GOES: [Change; 3] = [Added, Updated, Deleted];

/// Created at the end in every part. A handler that has its notification has all earlier ones.
const LAST: &str = "last";

/// The selectors of the part, in addition to the namespace.
struct Part<'a> {
    labels: &'a str,
    fields: &'a str,
}

impl Part<'_> {
    fn scope(&self, cache: &CacheBench) -> Scope {
        let scope = cache.scope().with_labels(self.labels.parse().expect("a selector"));
        scope.with_fields(self.fields.parse().expect("a selector")).expect("these can be evaluated")
    }

    /// The collection with the same selectors, on the server.
    fn collection(&self, bench: &Bench) -> String {
        let encode = |text: &str| text.replace('=', "%3D").replace(' ', "%20");
        let (labels, fields) = (encode(self.labels), encode(self.fields));
        format!("{}?labelSelector={labels}&fieldSelector={fields}", bench.core("pods"))
    }
}

/// The changes of each object, by name.
type Story = Vec<(String, Vec<Change>)>;

fn told(followed: &Followed) -> Vec<Story> {
    let of_handler = |replay: &Replay| {
        let told = replay.told_of_each().into_iter();
        let told = told.map(|(key, told)| {
            let name = key.rsplit('/').next().expect("a name").to_owned();
            (name, told.into_iter().map(|told| told.change).collect())
        });
        told.filter(|(name, _)| name != LAST).collect()
    };
    followed.replays().map(of_handler).collect()
}

/// Follows the part twice: with selectors on the server, and as a view of an informer for the whole namespace. Both
/// get the same notifications.
async fn check(
    bench: &Bench,
    cache: &CacheBench,
    part: Part<'_>,
    happen: impl AsyncFnOnce(),
    expect: &[(&str, &[Change])],
) {
    let pods = "v1/pods".parse().expect("a resource");
    let options = FactoryOptions { scope: part.scope(cache), ..FactoryOptions::default() };
    let narrow = cache.factory_for(User::Admin, options).await;
    let wide = cache.factory(User::Admin, FactoryOptions::default()).await;
    let _all = wide.for_resource(&pods);
    let view = wide.view(&pods, part.scope(cache)).expect("it is within the namespace");
    let collection = part.collection(bench);
    let ways =
        [Followed::new(narrow.for_resource(&pods), &collection), Followed::view(view, &collection)];
    for factory in [&narrow, &wide] {
        factory.start();
        factory.wait_for_cache_sync(DEADLINE).await.unwrap();
    }
    for way in &ways {
        // The handlers must have started before the changes, or they would get only the final state.
        way.await_truth(&bench.api).await;
    }
    happen().await;
    let last = labelled_pod(LAST, &[("app", "web")]);
    bench.create(&bench.core("pods"), &last).await;
    patch(bench, LAST, "/status", &json!({"status": {"phase": "Running"}})).await;
    let expect: Story =
        expect.iter().map(|(name, changes)| ((*name).to_owned(), changes.to_vec())).collect();
    for (way, name) in ways.iter().zip(["by the server", "by the view"]) {
        way.await_truth(&bench.api).await;
        for told in told(way) {
            assert_eq!(told, expect, "selected {name}");
        }
    }
    narrow.shutdown().await;
    wide.shutdown().await;
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
            // Out of the part and back again.
            patch(bench, "stays-in", "", &label("db")).await;
            patch(bench, "stays-in", "", &label("web")).await;
            create(bench, "comes-later", &[("app", "web")]).await;
            delete(bench, "comes-later").await;
            delete(bench, "stays-out").await;
        };
        let part = Part { labels: "app in (web),app!=x", fields: "" };
        let expect: [(&str, &[Change]); 4] = [
            ("comes-later", &GOES),
            ("moves-in", &[Added, Updated]),
            ("moves-out", &[Added, Updated, Deleted]),
            ("stays-in", &[Added, Updated, Deleted, Added]),
        ];
        check(bench, cache, part, happen, &expect).await;
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
        let part = Part { labels: "", fields: "status.phase=Running" };
        let expect: [(&str, &[Change]); 1] = [("runs", &[Added, Updated, Deleted])];
        check(bench, cache, part, happen, &expect).await;
    });
}

#[test]
fn both_selectors_and_the_namespace_bound_what_is_followed() {
    cache_fact(async |bench, cache| {
        let happen = async || {
            create(bench, "a", &[("app", "web")]).await;
            create(bench, "b", &[("app", "web")]).await;
            create(bench, "c", &[("app", "db")]).await;
            // The same labels in another namespace.
            let elsewhere = "/api/v1/namespaces/default/pods";
            let pod = labelled_pod(&format!("{}-a", bench.namespace), &[("app", "web")]);
            bench.create(elsewhere, &pod).await;
            delete(bench, "a").await;
            create(bench, "a", &[("app", "web")]).await;
        };
        let part = Part { labels: "app=web", fields: "metadata.name!=b" };
        let expect: [(&str, &[Change]); 1] = [("a", &[Added, Updated, Deleted, Added])];
        check(bench, cache, part, happen, &expect).await;
    });
}
