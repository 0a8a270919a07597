//! The plugin in the SDK's test host.

use super::EventPrinter;
use informant_plugin::testing::{Host, TestEvent, added, deleted, updated};
use informant_plugin::{Config, Plugin as _, Reason, Result};
use serde_json::{Value, json};

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": "default", "name": name, "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "web:1"}]},
        "status": {"phase": "Pending"},
    })
}

/// The pod with another value at this path.
fn with(mut pod: Value, path: &[&str], value: Value) -> Value {
    let mut place = &mut pod;
    for step in path {
        place = &mut place[*step];
    }
    *place = value;
    pod
}

#[track_caller]
fn check(config: Value, events: impl IntoIterator<Item = TestEvent>, expected: &[&str]) {
    let host = Host::new();
    let mut printer = host.start::<EventPrinter>(config).expect("the plugin starts");
    let handled: Result = events.into_iter().try_for_each(|event| printer.handle(event));
    handled.expect("the plugin handles the events");
    assert_eq!(host.messages(), expected);
}

#[track_caller]
fn check_update(new: Value, expected: &str) {
    check(
        json!({}),
        [updated(pod("web-1"), new)],
        &[&format!("updated pod default/web-1: {expected}")],
    );
}

#[test]
fn every_change_is_one_line() {
    let running = with(pod("web-1"), &["status", "phase"], json!("Running"));
    check(
        json!({}),
        [added(pod("web-1")), updated(pod("web-1"), running.clone()), deleted(running)],
        &[
            "added pod default/web-1: Pending",
            "updated pod default/web-1: Running",
            "deleted pod default/web-1",
        ],
    );
}

#[test]
fn an_update_says_what_changed() {
    let base = || pod("web-1");
    check_update(with(base(), &["spec", "nodeName"], json!("worker-1")), "on worker-1");
    check_update(with(base(), &["status", "podIP"], json!("10.0.0.7")), "address 10.0.0.7");
    let statuses = json!([{"ready": true, "restartCount": 2, "state": {"running": {}}}]);
    check_update(with(base(), &["status", "containerStatuses"], statuses), "ready 1/1, restarts 2");
    let crashing = json!([{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
    let crashing = with(base(), &["status", "containerStatuses"], crashing);
    check_update(crashing.clone(), "CrashLoopBackOff");
    check(
        json!({}),
        [updated(crashing.clone(), base())],
        &["updated pod default/web-1: no longer CrashLoopBackOff"],
    );
    let running = with(base(), &["status", "phase"], json!("Running"));
    check(json!({}), [updated(crashing, running)], &["updated pod default/web-1: Running"]);
    check_update(
        with(base(), &["metadata", "labels"], json!({"app": "db", "tier": "back"})),
        "labels app=db +tier=back",
    );
    check_update(with(base(), &["metadata", "labels"], json!({})), "labels -app");
    check_update(
        with(base(), &["metadata", "deletionTimestamp"], json!("2026-01-01T00:00:00Z")),
        "being deleted",
    );
    let images = json!([{"name": "main", "image": "web:2"}]);
    check_update(with(base(), &["spec", "containers"], images), "image web:2");
    check_update(with(base(), &["spec", "priority"], json!(5)), "other fields changed");
}

#[test]
fn a_line_names_a_reason_other_than_the_watch() {
    let initial = added(pod("web-1")).reason(Reason::Initial);
    check(json!({}), [initial], &["added pod default/web-1: Pending (initial)"]);
    let running = with(pod("web-1"), &["status", "phase"], json!("Running"));
    let check_running = |reason, expect: &str| {
        check(json!({}), [added(running.clone()).reason(reason)], &[expect]);
    };
    check_running(Reason::Initial, "added pod default/web-1 (initial)");
    check_running(Reason::Relist, "added pod default/web-1: Running (relist)");
}

#[track_caller]
fn check_list(config: Value, pods: &[&str], expected: &[&str]) {
    let host = Host::new();
    host.set_synced("v1/pods", true);
    pods.iter().for_each(|name| host.put("v1/pods", pod(name)));
    let mut printer = host.start::<EventPrinter>(config).expect("the plugin starts");
    printer.synced(0).expect("the cache is listed");
    assert_eq!(host.messages(), expected);
}

#[test]
fn the_list_follows_the_sync_without_an_event() {
    let lines = ["namespace: default, name: web-0", "namespace: default, name: web-1"];
    check_list(json!({"list": true}), &["web-0", "web-1"], &lines);
    check_list(json!({"list": true}), &[], &["there are no pods"]);
    check_list(json!({}), &["web-0"], &[]);
}

#[test]
fn its_pods_are_those_of_the_namespaces_that_are_named() {
    let subscribed = |config: Value| {
        let descriptor =
            EventPrinter::describe(&Config::from_json(config.to_string())).expect("it is one");
        let json: Value = serde_json::from_slice(&descriptor.to_json()).expect("JSON");
        json["subscriptions"][0]["namespaces"].clone()
    };
    assert_eq!(subscribed(json!({})), Value::Null);
    assert_eq!(subscribed(json!({"namespaces": ["shop", "web"]})), json!(["shop", "web"]));
}

#[test]
fn a_misspelt_option_keeps_it_from_starting() {
    let failure = Host::new().start::<EventPrinter>(json!({"lists": true})).expect_err("refused");
    assert!(failure.message().contains("lists"), "{}", failure.message());
}
