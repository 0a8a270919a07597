//! Plugins of which each part is within its bounds and the sum is not. Also plugins that make the informer's task
//! inspect as much as allowed.

use super::descriptors::{check_hears_everything, drop_doing, runs};
use super::kept::{check_kept, measure, start_with_good};
use crate::bench::labelled_pod;
use crate::host::bench::host_fact;
use serde_json::{Value, json};

/// A subscription to all pods.
const OF_PODS: &str = r#"{"version":"1","subscriptions":[{"resource":"v1/pods"}]}"#;
/// Grows by a mebibyte with every event.
const GROWS: &str = "(drop (memory.grow (i32.const 16)))";

fn reason(plugin: &Value) -> &str {
    plugin["reason"].as_str().unwrap_or_default()
}

#[test]
fn a_plugin_that_holds_too_much_in_all_is_stopped_alone() {
    host_fact(async |bench| {
        let host = start_with_good(&bench).await;
        let promises = measure(&bench, &host).await;
        bench.limit_plugin("grows", "hostMemory: 8Mi");
        drop_doing(&bench, "grows", OF_PODS, GROWS);
        host.await_plugin("grows", "it to run", runs).await.unwrap();
        check_hears_everything(&bench, &host, 0..20).await;
        let is_stopped = |plugin: &Value| {
            let text = "at most 8 MiB are allowed (limits.hostMemory): instances";
            plugin["state"] == "stopped" && reason(plugin).contains(text)
        };
        host.await_plugin("grows", "it to be stopped", is_stopped).await.unwrap();
        let metrics = host.get("/metrics").expect("an answer").body;
        let counted = r#"informant_plugin_restarts_total{plugin="grows",cause="account"}"#;
        assert!(metrics.contains(counted), "{counted}");
        check_hears_everything(&bench, &host, 20..40).await;
        check_kept(promises).await;
        bench.limit_plugin("grows", "hostMemory: 512Mi");
        host.await_plugin("grows", "it to run again", runs).await.unwrap();
    });
}

/// Each instance is within its bound, but all instances together are not.
#[test]
fn a_version_whose_instances_are_too_much_together_is_refused() {
    host_fact(async |bench| {
        let host = start_with_good(&bench).await;
        let promises = measure(&bench, &host).await;
        bench.limit_plugin("many", "hostMemory: 4Mi");
        let descriptor = r#"{"version":"1","shards":8,"subscriptions":[{"resource":"v1/pods"}]}"#;
        drop_doing(&bench, "many", descriptor, "");
        let is_refused = |plugin: &Value| {
            plugin["state"] == "stopped" && reason(plugin).contains("(limits.hostMemory)")
        };
        host.await_plugin("many", "it to be refused", is_refused).await.unwrap();
        check_hears_everything(&bench, &host, 0..10).await;
        check_kept(promises).await;
    });
}

/// Every list and watch that a plugin may have, of resources that the cluster does not serve. They are shown in its
/// account, and count for its limit.
#[test]
fn lists_and_watches_of_absent_resources_are_charged_to_the_plugin() {
    host_fact(async |bench| {
        let host = start_with_good(&bench).await;
        let promises = measure(&bench, &host).await;
        let namespaces: Value = (0..64).map(|number| json!(format!("n{number}"))).collect();
        let views: Value = (0..8)
            .map(|number| {
                let resource = format!("absent{number}.example.com/v1/things{number}");
                json!({"name": number.to_string(), "resource": resource, "namespaces": namespaces})
            })
            .collect();
        let descriptor = json!({"version": "1", "subscriptions": views}).to_string();
        bench.limit_plugin("limited", "hostMemory: 4Mi");
        drop_doing(&bench, "limited", &descriptor, "");
        // Its watches leave no room for its start.
        let is_refused = |plugin: &Value| {
            plugin["state"] == "stopped" && reason(plugin).contains("(limits.hostMemory)")
        };
        host.await_plugin("limited", "it to be refused", is_refused).await.unwrap();
        drop_doing(&bench, "waits", &descriptor, "");
        let is_charged = |plugin: &Value| {
            let bytes = plugin["account"]["memory"]["watches"].as_u64().unwrap_or_default();
            plugin["state"] == "running" && bytes > 4 << 20
        };
        host.await_plugin("waits", "its watches to be charged", is_charged).await.unwrap();
        check_kept(promises).await;
    });
}

/// The largest number of passes over an object's bytes, each with the largest number of pointers, and objects with
/// many keys. There are fewer keys than fit: the program of the tests is not optimised, and needs longer for each key.
#[test]
fn pointers_and_indexes_over_every_key_hold_nobody_up() {
    const FAT_PODS: usize = 10;
    const KEYS: usize = 2_000;
    host_fact(async |bench| {
        let host = start_with_good(&bench).await;
        let promises = measure(&bench, &host).await;
        let pointers = |from: usize| -> Value {
            (0..32)
                .map(|number| json!(format!("/metadata/annotations/k{}", from + number)))
                .collect()
        };
        let subscriptions: Value = (0..8)
            .map(|number| {
                json!({
                    "name": number.to_string(), "resource": "v1/pods", "types": ["deleted"],
                    "fieldSelector": "spec.nodeName!=absent", "onlyIfChanged": pointers(number * 32),
                })
            })
            .collect();
        let indexes: Value = (0..16)
            .map(|number| {
                let pointer = if number == 0 {
                    "/metadata/annotations/*".to_owned()
                } else {
                    format!("/metadata/*/k{number}")
                };
                json!({"resource": "v1/pods", "name": number.to_string(), "pointer": pointer})
            })
            .collect();
        let descriptor =
            json!({"version": "1", "subscriptions": subscriptions, "indexes": indexes});
        drop_doing(&bench, "passes", &descriptor.to_string(), "");
        host.await_plugin("passes", "it to run", runs).await.unwrap();
        let annotations: Value =
            (0..KEYS).map(|number| (format!("k{number}"), json!(""))).collect();
        for number in 0..FAT_PODS {
            let mut pod = labelled_pod(&format!("fat-{number}"), &[]);
            pod["metadata"]["annotations"] = annotations.clone();
            bench.api.create(&bench.pods(), &pod).await.expect(201);
        }
        let is_charged = |plugin: &Value| {
            plugin["account"]["seconds"]["evaluation"].as_f64().unwrap_or_default() > 0.0
        };
        host.await_plugin("passes", "its evaluation to be charged", is_charged).await.unwrap();
        check_kept(promises).await;
    });
}
