//! Descriptors without bounds: selectors with the largest number of requirements, and lists, levels and texts that
//! would take many times their bytes. Each is refused with a reason. The informer's task, the host's memory and the
//! host's end are not affected.

use super::kept::{check_kept, measure, start_with_good};
use crate::host::bench::{HostBench, await_told, drop_file, host_fact, pod_names, told};
use informant_apimachinery::{GroupVersionResource, selectable_fields};
use informant_e2e::described;
use informant_e2e::host::Host;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a host may take to end if nothing blocks it.
const END_DEADLINE: Duration = Duration::from_secs(15);
/// Almost the bound of what a plugin may pass to the host at once.
const HUGE_BYTES: usize = 3_900_000;
/// Almost the bound of a descriptor.
const LARGE_BYTES: usize = 900_000;
/// Less than the bound of a selector.
const SELECTOR_BYTES: usize = 4_000;

/// A descriptor, and the reason for its refusal.
struct Bomb {
    name: &'static str,
    descriptor: String,
    reason: &'static str,
}

/// The largest number of parts that fit, with a separator.
fn repeated(bytes: usize, between: &str, part: impl Fn(usize) -> String) -> String {
    let mut text = part(0);
    for number in 1.. {
        let part = part(number);
        if text.len() + between.len() + part.len() > bytes {
            break;
        }
        text.push_str(between);
        text.push_str(&part);
    }
    text
}

fn absent_labels(bytes: usize) -> String {
    repeated(bytes, ",", |number| format!("!k{number:x}"))
}

fn other_names(bytes: usize) -> String {
    repeated(bytes, ",", |number| format!("metadata.name!=n{number:x}"))
}

fn other_fields(bytes: usize) -> String {
    repeated(bytes, ",", |number| format!("spec.f{number:x}!=x"))
}

/// One subscription to pods with this key.
fn subscription(key: &str, value: &str) -> String {
    format!(r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods","{key}":{value}}}]}}"#)
}

fn selector(key: &str, selector: &str) -> String {
    subscription(key, &format!("{selector:?}"))
}

fn bombs() -> Vec<Bomb> {
    let bomb = |name, descriptor, reason| Bomb { name, descriptor, reason };
    let whole = "as a whole: has";
    let large_list = |part: &str| repeated(LARGE_BYTES, ",", |_| part.to_owned());
    let objects = repeated(HUGE_BYTES, ",", |_| r#"{"":0}"#.to_owned());
    let labels = "subscriptions[0]: labelSelector: it has";
    let fields = "subscriptions[0]: fieldSelector: it has";
    let of_namespaces = "subscriptions[0]: namespaceSelector: it has";
    vec![
        bomb("labels-huge", selector("labelSelector", &absent_labels(HUGE_BYTES)), whole),
        bomb("labels-large", selector("labelSelector", &absent_labels(LARGE_BYTES)), labels),
        bomb("labels", selector("labelSelector", &absent_labels(SELECTOR_BYTES)), labels),
        bomb(
            "namespace-labels-large",
            selector("namespaceSelector", &absent_labels(LARGE_BYTES)),
            of_namespaces,
        ),
        bomb(
            "namespace-labels",
            selector("namespaceSelector", &absent_labels(SELECTOR_BYTES)),
            of_namespaces,
        ),
        bomb("names-large", selector("fieldSelector", &other_names(LARGE_BYTES)), fields),
        bomb("names", selector("fieldSelector", &other_names(SELECTOR_BYTES)), fields),
        bomb("fields-large", selector("fieldSelector", &other_fields(LARGE_BYTES)), fields),
        bomb("fields", selector("fieldSelector", &other_fields(SELECTOR_BYTES)), fields),
        bomb(
            "of-resource",
            format!(
                r#"{{"version":"1","subscriptions":[{}]}}"#,
                (0..9)
                    .map(|number| format!(
                        r#"{{"name":"{number}","resource":"v1/pods","onlyIfChanged":["/spec"]}}"#
                    ))
                    .collect::<Vec<_>>()
                    .join(",")
            ),
            "subscriptions: has 9 to pods, at most 8 are allowed",
        ),
        bomb("objects-huge", format!(r#"{{"version":"1","subscriptions":[{objects}]}}"#), whole),
        bomb(
            "objects",
            format!(r#"{{"version":"1","subscriptions":[{}]}}"#, large_list(r#"{"":0}"#)),
            "subscriptions: has 128571 entries, at most 64 are allowed",
        ),
        bomb(
            "rules",
            subscription("enqueue", &format!("[{}]", large_list("{}"))),
            "subscriptions[0].enqueue: has 300000 entries, at most 16 are allowed",
        ),
        bomb(
            "levels",
            format!(r#"{{"version":"1","x":{}{}}}"#, "[".repeat(400_000), "]".repeat(400_000)),
            r#"as a whole: unknown key "x""#,
        ),
    ]
}

fn drop_bomb(bench: &HostBench<'_>, name: &str, descriptor: &str) {
    drop_doing(bench, name, descriptor, "");
}

/// Drops a plugin that has this descriptor and does this with every event.
pub(super) fn drop_doing(bench: &HostBench<'_>, name: &str, descriptor: &str, what: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    let plugin = described::plugin(descriptor.as_bytes(), what).expect("it is well formed");
    std::fs::write(&file, plugin).expect("a file");
    drop_file(&file, &bench.plugins.join(format!("{name}.wasm")));
}

pub(super) fn runs(plugin: &Value) -> bool {
    plugin["state"] == "running"
}

/// The good plugin gets every change of these pods, in order.
pub(super) async fn check_hears_everything(
    bench: &HostBench<'_>,
    host: &Host,
    pods: std::ops::Range<usize>,
) {
    let names = pod_names(pods.clone());
    bench.create_pods(&names).await;
    await_told(host, &bench.namespace, "added", pods.end).await;
    bench.label_pods(&names).await;
    bench.delete_pods(&names).await;
    await_told(host, &bench.namespace, "deleted", pods.end).await;
    let told = told(&host.lines_of("event-printer"), &bench.namespace);
    for name in &names {
        let mut changes = told[name].clone();
        changes.dedup();
        assert_eq!(changes, ["added", "updated", "deleted"], "{name}");
    }
}

#[test]
fn a_descriptor_without_bounds_is_refused_and_costs_nothing() {
    host_fact(async |bench| {
        let mut host = start_with_good(&bench).await;
        check_hears_everything(&bench, &host, 0..10).await;
        let promises = measure(&bench, &host).await;
        for Bomb { name, descriptor, reason } in bombs() {
            drop_bomb(&bench, name, &descriptor);
            let refused = |plugin: &Value| {
                let told = plugin["lastLoad"]["reason"].as_str().unwrap_or_default();
                plugin["state"] == "stopped" && told.contains(reason)
            };
            host.await_plugin(name, reason, refused).await.unwrap();
        }
        check_hears_everything(&bench, &host, 10..20).await;
        check_kept(promises).await;
        let status = host.terminate(END_DEADLINE).unwrap();
        assert!(status.success(), "{status}: {}", host.tail());
    });
}

/// The largest work for one event: all views of a plugin are at their bounds.
#[test]
fn selectors_at_their_bounds_hold_nobody_up() {
    host_fact(async |bench| {
        let parts = |count: usize, part: fn(usize) -> String| -> String {
            (0..count).map(part).collect::<Vec<_>>().join(",")
        };
        let labels = parts(32, |number| format!("!k{number}"));
        let known = selectable_fields(&GroupVersionResource::new("", "v1", "pods"));
        let fields = (0..32).zip(known.iter().cycle());
        let fields: Vec<String> = fields.map(|(n, field)| format!("{field}!=x{n}")).collect();
        let fields = fields.join(",");
        let subscriptions: Value = (0..8)
            .map(|number| {
                json!({
                    "name": number.to_string(), "resource": "v1/pods", "labelSelector": labels,
                    "fieldSelector": fields, "types": ["deleted"],
                })
            })
            .collect();
        let descriptor = json!({"version": "1", "subscriptions": subscriptions});
        let mut host = start_with_good(&bench).await;
        let promises = measure(&bench, &host).await;
        drop_bomb(&bench, "bounds", &descriptor.to_string());
        host.await_plugin("bounds", "it to run", runs).await.unwrap();
        check_kept(promises).await;
        let status = host.terminate(END_DEADLINE).unwrap();
        assert!(status.success(), "{status}: {}", host.tail());
    });
}
