use serde_json::json;

use super::*;

#[track_caller]
fn check(kind: &str, target: Value, patch: Value, expect: Value) {
    let mut patched = target;
    apply(&mut patched, &patch, kind).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(patched.to_string(), expect.to_string(), "order matters too");
}

#[track_caller]
fn check_error(kind: &str, target: Value, patch: Value, expect: &str) {
    let mut target = target;
    let error = apply(&mut target, &patch, kind).expect_err("the patch is refused");
    assert_eq!(error.to_string(), expect);
}

fn deployment(containers: Value) -> Value {
    json!({"spec": {"template": {"spec": {"containers": containers}}}})
}

#[test]
fn maps_merge_and_null_deletes() {
    check(
        "ConfigMap",
        json!({"data": {"a": "1", "b": "2"}, "metadata": {"name": "x"}}),
        json!({"data": {"a": null, "c": "3", "never-there": null}}),
        json!({"data": {"b": "2", "c": "3"}, "metadata": {"name": "x"}}),
    );
}

#[test]
fn nulls_do_not_survive_in_what_is_new() {
    check("Pod", json!({}), json!({"spec": {"a": null, "b": 1}}), json!({"spec": {"b": 1}}));
}

#[test]
fn containers_merge_by_name() {
    check(
        "Deployment",
        deployment(json!([{"name": "web", "image": "a:1"}, {"name": "side", "image": "s:1"}])),
        deployment(json!([{"name": "side", "image": "s:2"}])),
        deployment(json!([{"name": "web", "image": "a:1"}, {"name": "side", "image": "s:2"}])),
    );
    check(
        "Pod",
        json!({"spec": {"containers": [{"name": "web", "env": [{"name": "A", "value": "1"}],
            "ports": [{"containerPort": 80}], "args": ["x", "y"]}]}}),
        json!({"spec": {"containers": [{"name": "web", "env": [{"name": "B", "value": "2"}],
            "ports": [{"containerPort": 80, "name": "http"}], "args": ["z"]}]}}),
        json!({"spec": {"containers": [{"name": "web",
            "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}],
            "ports": [{"containerPort": 80, "name": "http"}], "args": ["z"]}]}}),
    );
}

#[test]
fn pods_inside_cron_jobs_merge_too() {
    let nest = |containers: Value| json!({"spec": {"jobTemplate": deployment(containers)}});
    check(
        "CronJob",
        nest(json!([{"name": "a"}, {"name": "b"}])),
        nest(json!([{"name": "b", "image": "i"}])),
        nest(json!([{"name": "a"}, {"name": "b", "image": "i"}])),
    );
}

#[test]
fn lists_without_a_key_are_replaced() {
    check(
        "Pod",
        json!({"spec": {"tolerations": [{"key": "a"}, {"key": "b"}]}}),
        json!({"spec": {"tolerations": [{"key": "c"}]}}),
        json!({"spec": {"tolerations": [{"key": "c"}]}}),
    );
}

#[test]
fn service_ports_merge_by_port() {
    check(
        "Service",
        json!({"spec": {"ports": [{"port": 80, "targetPort": 1}, {"port": 443}]}}),
        json!({"spec": {"ports": [{"port": 80, "targetPort": 2}]}}),
        json!({"spec": {"ports": [{"port": 80, "targetPort": 2}, {"port": 443}]}}),
    );
}

#[test]
fn conditions_merge_by_type_on_every_kind() {
    for kind in ["Pod", "Deployment", "Node", "HorizontalPodAutoscaler"] {
        check(
            kind,
            json!({"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B"}]}}),
            json!({"status": {"conditions": [{"type": "A", "status": "False"}]}}),
            json!({"status": {"conditions": [{"type": "A", "status": "False"}, {"type": "B"}]}}),
        );
    }
}

#[test]
fn finalizers_are_a_set() {
    check(
        "Pod",
        json!({"metadata": {"finalizers": ["a", "b"]}}),
        json!({"metadata": {"finalizers": ["b", "c"]}}),
        json!({"metadata": {"finalizers": ["a", "b", "c"]}}),
    );
    check(
        "Pod",
        json!({"metadata": {"finalizers": ["a", "b"]}}),
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}),
        json!({"metadata": {"finalizers": ["b"]}}),
    );
}

#[test]
fn patch_delete_takes_an_entry_out() {
    check(
        "Deployment",
        deployment(json!([{"name": "web"}, {"name": "side"}])),
        deployment(json!([{"name": "side", "$patch": "delete"}])),
        deployment(json!([{"name": "web"}])),
    );
    check(
        "Deployment",
        json!({}),
        deployment(json!([{"name": "side", "$patch": "delete"}])),
        deployment(json!([])),
    );
}

#[test]
fn patch_replace_replaces_a_list_or_a_map() {
    check(
        "Deployment",
        deployment(json!([{"name": "web"}, {"name": "side"}])),
        deployment(json!([{"$patch": "replace"}, {"name": "new"}])),
        deployment(json!([{"name": "new"}])),
    );
    check(
        "Pod",
        json!({"metadata": {"labels": {"a": "1"}}}),
        json!({"metadata": {"labels": {"b": "2", "$patch": "replace"}}}),
        json!({"metadata": {"labels": {"b": "2"}}}),
    );
    check(
        "Pod",
        json!({"metadata": {"labels": {"a": "1"}}}),
        json!({"metadata": {"labels": {"$patch": "delete"}}}),
        json!({"metadata": {"labels": {}}}),
    );
}

#[test]
fn directives_do_not_survive_in_what_is_new() {
    check(
        "Deployment",
        json!({}),
        deployment(json!([{"$patch": "replace"}, {"name": "a", "$setElementOrder/env": [],
            "env": [{"name": "gone", "$patch": "delete"}, {"name": "e"}]}])),
        deployment(json!([{"name": "a", "env": [{"name": "e"}]}])),
    );
}

#[test]
fn selectors_of_disruption_budgets_are_replaced() {
    check(
        "PodDisruptionBudget",
        json!({"spec": {"selector": {"matchLabels": {"a": "1"}}}}),
        json!({"spec": {"selector": {"matchLabels": {"b": "2"}}}}),
        json!({"spec": {"selector": {"matchLabels": {"b": "2"}}}}),
    );
}

#[test]
fn retain_keys_drops_the_union_members_not_named() {
    check(
        "Deployment",
        json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}),
        json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
        json!({"spec": {"strategy": {"type": "Recreate"}}}),
    );
    check(
        "Pod",
        json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}),
        json!({"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "configMap"],
            "configMap": {"name": "c"}}]}}),
        json!({"spec": {"volumes": [{"name": "v", "configMap": {"name": "c"}}]}}),
    );
}

#[test]
fn set_element_order_orders_and_keeps_what_only_the_server_has() {
    check(
        "Deployment",
        deployment(json!([{"name": "a"}, {"name": "injected"}, {"name": "b"}])),
        json!({"spec": {"template": {"spec": {
            "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
            "containers": [{"name": "b", "image": "i"}]}}}}),
        deployment(json!([{"name": "injected"}, {"name": "b", "image": "i"}, {"name": "a"}])),
    );
    check(
        "Pod",
        json!({"metadata": {"finalizers": ["a", "b"]}}),
        json!({"metadata": {"$setElementOrder/finalizers": ["b", "a"]}}),
        json!({"metadata": {"finalizers": ["b", "a"]}}),
    );
}

#[test]
fn a_new_entry_takes_the_place_of_a_deleted_one() {
    check(
        "Deployment",
        deployment(json!([{"name": "a"}, {"name": "b"}, {"name": "c"}])),
        json!({"spec": {"template": {"spec": {
            "$setElementOrder/containers": [{"name": "d"}],
            "containers": [{"name": "a", "$patch": "delete"}, {"name": "d"}]}}}}),
        deployment(json!([{"name": "b"}, {"name": "c"}, {"name": "d"}])),
    );
}

#[test]
fn bad_patches_are_refused_with_the_reason() {
    check_error(
        "Pod",
        json!({"spec": {"containers": [{"name": "a"}]}}),
        json!({"spec": {"containers": [{"image": "i"}]}}),
        r#"an entry of containers in the patch has no "name", the key by which this list is merged"#,
    );
    check_error(
        "Pod",
        json!({"spec": {}}),
        json!({"spec": {"$patch": "explode"}}),
        r#"unknown $patch directive "explode" at spec: use "replace", "delete" or "merge""#,
    );
    check_error(
        "Deployment",
        json!({"spec": {"strategy": {}}}),
        json!({"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}}),
        r#"the patch sets "rollingUpdate", which its $retainKeys does not name: add it there"#,
    );
    check_error(
        "Deployment",
        deployment(json!([{"name": "a"}, {"name": "b"}])),
        json!({"spec": {"template": {"spec": {
            "$setElementOrder/containers": [{"name": "a"}],
            "containers": [{"name": "b", "image": "i"}]}}}}),
        "the entries of containers in the patch do not follow the order in $setElementOrder/containers",
    );
    check_error(
        "Pod",
        json!([]),
        json!({}),
        "a strategic merge patch must be a JSON object, and so must what it patches",
    );
}

#[test]
fn a_patch_too_deep_is_refused() {
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!({ "a": deep });
    }
    let mut target = deep.clone();
    assert_eq!(apply(&mut target, &deep, "ConfigMap"), Err(StrategicPatchError::TooDeep));
    assert_eq!(apply(&mut json!({}), &deep, "ConfigMap"), Err(StrategicPatchError::TooDeep));
}
