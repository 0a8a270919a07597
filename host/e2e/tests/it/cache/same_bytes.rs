//! The cache contains the same bytes of an object, however the object came: by watch-list, pages, single reads or
//! changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use informant_apimachinery::GroupVersionResource;
use informant_cache::{
    ApiServer, FactoryOptions, ListEvent, ListOptions, ListStream, ListTweaks, ListWatchError,
    ListerWatcher, ListerWatcherSource, Object, ObjectKey, Part, SharedInformerFactory,
    WatchOptions, WatchStream,
};
use serde_json::{Value, json};

use crate::bench::{Bench, config_map, deployment, labelled_pod};
use crate::cache::bench::{CacheBench, DEADLINE, Followed, cache_fact};
use crate::cache::custom_resources::{define, widget, widgets};
use informant_e2e::api::{Api, Patch};
use informant_e2e::cluster::User;

/// A source that lists by reading each object separately. Its watches are ordinary.
struct SingleReads {
    api: Api,
    path: String,
    watches: Arc<dyn ListerWatcher>,
}

impl ListerWatcher for SingleReads {
    fn list(&self, _: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
        Box::pin(async move {
            let list = self.api.get(&self.path).await.expect(200);
            let resource_version = list["metadata"]["resourceVersion"].as_str().expect("a version");
            let end =
                ListEvent::End { resource_version: resource_version.into(), continue_token: None };
            let mut events = Vec::new();
            for name in crate::bench::names(&list) {
                let body = self.api.get(&format!("{}/{name}", self.path)).await.body;
                let object = Object::decode(&body, None).expect("the server's object");
                events.push(Ok(ListEvent::Object(object, Instant::now())));
            }
            events.push(Ok(end));
            Ok(stream::iter(events).boxed())
        })
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
        self.watches.watch(options)
    }
}

/// Gives [`SingleReads`] to every resource.
struct SingleReadsOf {
    api: Api,
    source: ApiServer,
}

impl ListerWatcherSource for SingleReadsOf {
    fn lister_watcher(&self, gvr: &GroupVersionResource, part: &Part) -> Arc<dyn ListerWatcher> {
        let watches = self.source.lister_watcher(gvr, part);
        let path = gvr.path(part.namespace.as_deref());
        Arc::new(SingleReads { api: self.api.clone(), path, watches })
    }
}

/// Texts that some encoders escape and others do not.
fn odd_texts() -> Vec<(&'static str, &'static str)> {
    vec![
        ("angle", "<a href=\"x\">&amp;</a> \\ / \u{7f}"),
        ("control", "\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f}"),
        ("separators", "\u{2028}\u{2029}\u{feff}\u{85}\u{a0}"),
        ("planes", "é ☃ 😀 \u{10ffff} \u{ffff} \u{fffd}"),
        ("json", "{\"metadata\":{\"managedFields\":[],\"name\":\"x\"},\"items\":[]}"),
        ("empty", ""),
    ]
}

async fn create_some_of_each(bench: &Bench, resources: &[GroupVersionResource]) {
    let [pods, deployments, config_maps, widgets] = resources else { panic!("four resources") };
    let path = |resource: &GroupVersionResource| resource.path(Some(&bench.namespace));
    for number in 0..4 {
        let labels = [("app", "same"), ("tier", "a_b-c.d")];
        bench.create(&path(pods), &labelled_pod(&format!("pod-{number}"), &labels)).await;
        bench.create(&path(deployments), &deployment(&format!("app-{number}"), number)).await;
        let mut config = config_map(&format!("odd-{number}"), &odd_texts());
        config["metadata"]["annotations"] = json!({"example.com/odd": "<&>\u{2028}\"\\"});
        config["binaryData"] = json!({"bytes": "AP8Q"});
        bench.create(&path(config_maps), &config).await;
        let spec = json!({
            "z": 1, "a": {"nested": [1, -2, 0.5, 1e21, 123_456_789_012_345_678_u64, null, true]},
            "text": "<&>\u{2028}😀\u{1}", "": "empty key", "empty": {}, "none": [],
        });
        bench.create(&path(widgets), &widget(widgets, &format!("widget-{number}"), &spec)).await;
    }
}

/// Changes each object once, so that each watch delivers its last state.
async fn change_each(bench: &Bench, resources: &[GroupVersionResource]) {
    let patch = json!({"metadata": {"labels": {"changed": "yes"}}});
    for resource in resources {
        let path = resource.path(Some(&bench.namespace));
        for name in crate::bench::names(&bench.api.get(&path).await.expect(200)) {
            bench.api.patch(&format!("{path}/{name}"), Patch::Merge, &patch).await.expect(200);
        }
    }
}

async fn follow_all(
    factory: &SharedInformerFactory,
    cache: &CacheBench,
    resources: &[GroupVersionResource],
) -> Vec<Followed> {
    let follow =
        |resource| Followed::new(factory.for_resource(resource), cache.collection(resource));
    let followed = resources.iter().map(follow).collect();
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.unwrap();
    followed
}

fn bytes(followed: &Followed) -> BTreeMap<ObjectKey, String> {
    let text = |object: Object| String::from_utf8_lossy(&object.json()).into_owned();
    followed.cached().into_iter().map(|(key, object)| (key, text(object))).collect()
}

#[test]
fn every_way_leaves_the_same_bytes_in_the_cache() {
    cache_fact(async |bench, cache| {
        let widgets = widgets(&bench.namespace);
        define(&bench.api, &bench.namespace, &widgets).await;
        let mut resources: Vec<GroupVersionResource> =
            ["v1/pods", "apps/v1/deployments", "v1/configmaps"]
                .map(|name| name.parse().expect("a resource"))
                .into();
        resources.push(widgets);
        let tweaked = |tweaks| FactoryOptions { tweaks, ..FactoryOptions::default() };
        let pages = || ListTweaks::default().watch_list(false).page_size(3);
        let source = cache.api_server(User::Admin).await;
        let single = Arc::new(SingleReadsOf { api: bench.api.clone(), source });
        let of_namespace = FactoryOptions { scope: cache.scope(), ..tweaked(pages()) };
        let factories = [
            ("changes", cache.factory(User::Admin, FactoryOptions::default()).await),
            ("watch-list", cache.factory(User::Admin, FactoryOptions::default()).await),
            ("pages", cache.factory(User::Admin, tweaked(pages())).await),
            ("single reads", SharedInformerFactory::new(single, of_namespace)),
        ];
        // The first informers see every change as it happens; the others start after the changes.
        let mut followed = vec![follow_all(&factories[0].1, cache, &resources).await];
        create_some_of_each(bench, &resources).await;
        change_each(bench, &resources).await;
        for (_, factory) in &factories[1..] {
            followed.push(follow_all(factory, cache, &resources).await);
        }
        for (number, resource) in resources.iter().enumerate() {
            let truth = followed[0][number].await_truth(&bench.api).await;
            assert!(truth.len() >= 4, "{resource}: {} objects", truth.len());
            let expect = bytes(&followed[0][number]);
            for ((way, _), followed) in factories.iter().zip(&followed).skip(1) {
                followed[number].await_truth(&bench.api).await;
                for (key, bytes) in bytes(&followed[number]) {
                    assert_eq!(bytes, expect[&key], "{resource} by {way}: {key}");
                }
            }
            check_odd_texts(&truth);
        }
        for (_, factory) in &factories {
            factory.shutdown().await;
        }
    });
}

/// Checks the texts against the written ones. An encoder that changed a text would do so in every way.
fn check_odd_texts(truth: &BTreeMap<String, Value>) {
    for (key, object) in truth.iter().filter(|(key, _)| key.contains("/odd-")) {
        for (name, text) in odd_texts() {
            assert_eq!(object["data"][name], text, "{key}: {name}");
        }
    }
}
