//! A plugin's reads of the cache, through the SDK's own functions.

use informant_plugin::indexer::{self, Error};
use informant_plugin::prelude::*;
use informant_plugin::testing::Host;
use informant_plugin::{Index, Read};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Debug;

const PODS: &str = "v1/pods";

struct Reader;

impl Plugin for Reader {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(Descriptor::new("1")
            .subscribe(Subscription::to(PODS))
            .read(Read::of("v1/nodes"))
            .index(Index::new(PODS, "node", "/spec/nodeName"))
            .index(Index::new(PODS, "image", "/spec/containers/*/image")))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }

    fn handle(&mut self, _: Event) -> Result {
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
struct Named {
    metadata: Metadata,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    name: String,
}

fn pod(namespace: &str, name: &str, node: &str) -> Value {
    json!({
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": name}},
        "spec": {"nodeName": node, "containers": [{"image": "web:1"}, {"image": node}]},
    })
}

/// Checks a read of a cache with three pods on two nodes.
#[track_caller]
fn check<T: Debug + PartialEq>(ask: impl Fn() -> Result<T, Error>, expected: Result<T, Error>) {
    let host = Host::new();
    host.put(PODS, pod("default", "web-1", "a"));
    host.put(PODS, pod("default", "web-2", "b"));
    host.put(PODS, pod("kube-system", "dns", "a"));
    let _reader = host.start::<Reader>(json!({})).expect("the plugin starts");
    assert_eq!(ask(), expected);
}

fn names(pods: impl Iterator<Item = Result<Named, Error>>) -> Result<Vec<String>, Error> {
    pods.map(|pod| Ok(pod?.metadata.name)).collect()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn pages_of_any_size_give_every_object_once() {
    for size in 0..=4 {
        let all = || names(indexer::list(PODS).page_size(size));
        check(all, Ok(texts(&["web-1", "web-2", "dns"])));
    }
}

#[test]
fn lists_are_narrowed_by_namespace_and_labels() {
    check(|| names(indexer::list(PODS).in_namespace("kube-system")), Ok(texts(&["dns"])));
    check(
        || names(indexer::list(PODS).labels("app in (dns, web-2)")),
        Ok(texts(&["web-2", "dns"])),
    );
    check(|| names(indexer::list(PODS).in_namespace("nowhere")), Ok(texts(&[])));
}

#[test]
fn indexes_file_objects_under_every_value() {
    check(|| names(indexer::by_index(PODS, "node", "a")), Ok(texts(&["web-1", "dns"])));
    check(|| names(indexer::by_index(PODS, "image", "web:1").page_size(1)).map(|n| n.len()), Ok(3));
    let keys =
        || indexer::index_keys(PODS, "image", "b").map(|k| k.map(|k| k.to_string())).collect();
    check(keys, Ok(texts(&["default/web-2"])));
    check(|| indexer::index_values(PODS, "node").collect(), Ok(texts(&["a", "b"])));
}

#[test]
fn single_objects_and_their_fields() {
    let key = ObjectKey::new("default", "web-2");
    let name = |pod: Named| pod.metadata.name;
    check(|| Ok(indexer::get(PODS, &key)?.map(name)), Ok(Some("web-2".to_owned())));
    check(|| indexer::get::<Value>(PODS, &ObjectKey::new("", "web-2")), Ok(None));
    let fields = || indexer::fields(PODS, &key, &["/spec/nodeName", "/spec/absent"]);
    check(fields, Ok(Some(vec![Some("\"b\"".to_owned()), None])));
    check(|| indexer::count(PODS, Some("default")), Ok(2));
    check(|| indexer::count("v1/nodes", None), Ok(0));
}

#[test]
fn what_was_not_asked_for_is_not_granted() {
    let refused = "v1/secrets is neither subscribed to nor among the descriptor's reads";
    let not_granted = || Error::NotGranted(refused.to_owned());
    check(|| indexer::count("v1/secrets", None), Err(not_granted()));
    check(|| indexer::has_synced("v1/secrets"), Err(not_granted()));
    check(|| names(indexer::list("v1/secrets")), Err(not_granted()));
}

#[test]
fn errors_say_what_was_wrong_with_the_question() {
    let unknown = Error::UnknownIndex("v1/pods has no index owner".to_owned());
    check(|| names(indexer::by_index(PODS, "owner", "x")), Err(unknown));
    let invalid = Error::Invalid("label selector \"app in web\"".to_owned());
    check(|| names(indexer::list(PODS).labels("app in web")), Err(invalid));
}

#[test]
fn an_absent_object_is_only_absent_after_the_sync() {
    let host = Host::new();
    host.put(PODS, pod("default", "web-1", "a"));
    host.set_synced(PODS, false);
    let get = |name| {
        indexer::get::<Value>(PODS, &ObjectKey::new("default", name)).map(|pod| pod.is_some())
    };
    assert_eq!(get("web-1"), Ok(true));
    assert_eq!(get("web-2"), Err(Error::NotSynced(PODS.to_owned())));
    assert_eq!(indexer::has_synced(PODS), Ok(false));
    host.set_synced(PODS, true);
    assert_eq!(get("web-2"), Ok(false));
}

#[test]
fn an_object_that_does_not_fit_ends_the_list() {
    let host = Host::new();
    for name in ["a", "b"] {
        host.put(PODS, pod("default", name, "a"));
    }
    let found: Vec<_> = indexer::list::<BTreeSet<u8>>(PODS).collect();
    assert!(matches!(found.as_slice(), [Err(Error::Decode(_))]), "{found:?}");
}
