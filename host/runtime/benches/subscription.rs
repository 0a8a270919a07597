//! What one subscription costs the informer for an update: `cargo bench -p informant-runtime --bench subscription`.
//!
//! The subscriptions are at their bounds, so these times are the most that a plugin can have an
//! informer's task spend on one of its views, and on one of its indexes.

use divan::Bencher;
use divan::counter::ItemsCount;
use informant_cache::{JsonPointer, Object, SharedProjection};
use informant_runtime::bench_parts::{BenchSieve, BenchSubscription};
use serde_json::{Value, json};
use std::sync::Arc;

#[path = "../../cache/benches/pods/mod.rs"]
mod pods;

use pods::Pods;

fn main() {
    divan::main();
}

/// A Pod of about 5 KB before an update and after it.
fn states() -> [Object; 2] {
    let pods = Pods::new(30);
    [1, 2].map(|version| {
        let json = pods.json(0, version);
        Object::decode(json.as_bytes(), None).expect("it is a Pod")
    })
}

fn joined(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect::<Vec<_>>().join(",")
}

/// The subscriptions, by name.
const SUBSCRIPTIONS: [&str; 8] = [
    "everything",
    "one label",
    "labels",
    "label values",
    "namespaces",
    "fields",
    "deep fields",
    "all at once",
];

fn subscription(name: &str) -> Value {
    // What holds for every Pod, so that each requirement is looked at.
    let labels = || joined(64, |number| format!("!k{number}"));
    let values = || format!("app notin ({})", joined(256, |number| format!("v{number}")));
    let fields = |count| joined(count, |number| format!("spec.containers.0.f{number}!=x"));
    let pointers = |count| -> Value {
        (0..count).map(|number| format!("/spec/containers/0/g{number}")).collect()
    };
    match name {
        "everything" => json!({}),
        "one label" => json!({"labelSelector": "!k"}),
        "labels" => json!({"labelSelector": labels()}),
        "label values" => json!({"labelSelector": values()}),
        "namespaces" => {
            let names: Value = (0..255).map(|number| format!("n{number}")).collect();
            let mut subscription = json!({"namespaces": names});
            let own = states()[0].key().namespace().to_owned();
            subscription["namespaces"].as_array_mut().expect("a list").push(own.into());
            subscription
        }
        "fields" => json!({"fieldSelector": fields(32)}),
        "deep fields" => {
            let deep = |number| format!("spec.containers.0.env.{number}{}!=x", ".a".repeat(27));
            json!({"fieldSelector": joined(32, deep)})
        }
        _ => json!({
            "labelSelector": joined(63, |number| format!("!k{number}")) + &format!(",{}", values()),
            "fieldSelector": fields(32),
            "onlyIfChanged": pointers(32),
        }),
    }
}

#[divan::bench(args = SUBSCRIPTIONS)]
fn update(bencher: Bencher<'_, '_>, name: &str) {
    let mut subscription = subscription(name);
    // Any field of a custom resource may be in a selector.
    subscription["resource"] = "bench.dev/v1/pods".into();
    let descriptor = json!({"version": "1", "subscriptions": [subscription]}).to_string();
    let subscription = BenchSubscription::new(descriptor.as_bytes(), &Arc::default())
        .expect("it is within its bounds");
    // Each update is of states whose values nobody has asked for.
    bencher.with_inputs(states).bench_local_refs(|[old, object]| subscription.update(old, object));
}

/// What each of these says no to, in its own words.
const REFUSED: [&str; 6] =
    ["namespace", "label", "field", "onlyIfChanged", "filter", "filter of both states"];

const PLUGINS: usize = 300;

/// The descriptor of the plugin with this number.
fn refusing(name: &str, number: usize) -> String {
    let mut subscription = match name {
        "namespace" => json!({"namespaces": [format!("tenant-{number}")]}),
        "label" => json!({"labelSelector": format!("tenant=t{number}")}),
        "field" => json!({"fieldSelector": format!("spec.nodeName=n{number}")}),
        "onlyIfChanged" => json!({"onlyIfChanged": ["/spec/nodeName", "/spec/containers"]}),
        "filter" => json!({"filter": format!("object.spec.nodeName == 'n{number}'")}),
        "other filters" => {
            json!({"filter": format!("object.spec.nodeName.startsWith('n{number}-')")})
        }
        _ => json!({"filter": "object.spec != old.spec"}),
    };
    subscription["resource"] = "v1/pods".into();
    json!({"version": "1", "subscriptions": [subscription]}).to_string()
}

/// One update for so many plugins of one informer that ask together, of which each refuses it.
#[divan::bench(args = ["onlyIfChanged", "filter", "other filters", "filter of both states"])]
fn refused_together_by_300(bencher: Bencher<'_, '_>, name: &str) {
    let mut sieve = BenchSieve::default();
    for number in 0..PLUGINS {
        let has_place = sieve.add(refusing(name, number).as_bytes()).expect("it is valid");
        assert!(has_place, "{name}");
    }
    bencher
        .counter(ItemsCount::new(PLUGINS))
        .with_inputs(states)
        .bench_local_refs(|[old, object]| sieve.update(old, object));
    assert!(sieve.has_queued_nothing(), "{name}");
}

/// One update for so many plugins of one informer, of which each refuses it alone.
#[divan::bench(args = REFUSED)]
fn refused_by_300(bencher: Bencher<'_, '_>, name: &str) {
    let projection = Arc::new(SharedProjection::default());
    let plugins: Vec<_> = (0..PLUGINS)
        .map(|number| {
            let descriptor = refusing(name, number);
            BenchSubscription::new(descriptor.as_bytes(), &projection).expect("it is valid")
        })
        .collect();
    bencher.counter(ItemsCount::new(PLUGINS)).with_inputs(states).bench_local_refs(
        |[old, object]| {
            for plugin in &plugins {
                plugin.update(old, object);
            }
        },
    );
    assert!(plugins.iter().all(BenchSubscription::has_queued_nothing), "{name}");
}

#[divan::bench(args = ["/spec/nodeName", "/metadata/labels/*", "/*/*/*/*/*/*/*/*"])]
fn index(bencher: Bencher<'_, '_>, pointer: &str) {
    let [object, _] = states();
    let json = object.json();
    let pointer: JsonPointer = pointer.parse().expect("a pointer");
    bencher.bench_local(|| pointer.values(&json));
}
