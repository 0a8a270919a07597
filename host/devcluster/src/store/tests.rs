//! The store as a model: its guarantees without HTTP.

use std::collections::BTreeMap;

use informant_apiserver::{ListAt, ListQuery, Selection};
use serde_json::json;

use super::*;
use crate::patch::Patch;

fn now() -> Timestamp {
    Timestamp::from_second(1_700_000_000).expect("in range")
}

fn store() -> Store {
    Store::new(7, now())
}

fn resource(store: &Store, text: &str) -> Arc<ResourceInfo> {
    let gvr = text.parse().expect("a resource's name");
    store.catalogue().find(&gvr).cloned().expect("it is served")
}

fn create(store: &mut Store, text: &str, object: Value) -> Result<Value, u16> {
    let resource = resource(store, text);
    let namespace = resource.namespaced.then_some("default");
    let created = store.create(&resource, namespace, object, WriteOptions::at(now()));
    created.map(|object| object.to_value()).map_err(|status| status.code)
}

fn merge(store: &mut Store, text: &str, name: &str, patch: Value) -> Result<Value, u16> {
    let resource = &resource(store, text);
    let namespace = resource.namespaced.then_some("default");
    let target = Target { resource, namespace, name, subresource: None };
    let patched = store.patch(&target, &Patch::Merge(patch), WriteOptions::at(now()));
    patched.map(|(object, _)| object.to_value()).map_err(|status| status.code)
}

fn delete(store: &mut Store, text: &str, name: &str) -> Result<Deleted, u16> {
    let resource = &resource(store, text);
    let namespace = resource.namespaced.then_some("default");
    let target = Target { resource, namespace, name, subresource: None };
    let deleted = store.delete(&target, &DeleteOptions::default(), WriteOptions::at(now()));
    deleted.map_err(|status| status.code)
}

fn deployment(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    })
}

/// Checks the generation of a new deployment after this merge patch, and whether the patch takes a resourceVersion.
#[track_caller]
fn check_generation(patch: Value, generation: i64, changes: bool) {
    let mut store = store();
    create(&mut store, "apps/v1/deployments", deployment("web")).expect("valid");
    let before = store.resource_version();
    let object =
        merge(&mut store, "apps/v1/deployments", "web", patch.clone()).expect("it is there");
    assert_eq!(object["metadata"]["generation"], generation, "{patch}");
    assert_eq!(store.resource_version() > before, changes, "{patch}");
}

/// Checks the code of the answer to a creation. 201 means that the object is accepted.
#[track_caller]
fn check_create(text: &str, object: Value, code: u16) {
    let outcome = create(&mut store(), text, object.clone());
    assert_eq!(outcome.err().unwrap_or(201), code, "{object}");
}

#[test]
fn the_generation_counts_changes_of_the_specification() {
    check_generation(json!({"spec": {"replicas": 2}}), 2, true);
    check_generation(json!({"metadata": {"labels": {"a": "b"}}}), 1, true);
    check_generation(json!({"spec": {"replicas": 1}}), 1, false);
    check_generation(json!({}), 1, false);
    check_generation(json!({"status": {"replicas": 9}}), 1, false);
    check_generation(json!({"metadata": {"uid": null, "creationTimestamp": null}}), 1, false);
}

#[test]
fn new_objects_are_checked() {
    let named = |name: &str| json!({"metadata": {"name": name}});
    check_create("v1/configmaps", named("a.b-1"), 201);
    check_create("v1/configmaps", named(""), 422);
    check_create("v1/configmaps", named("A"), 422);
    check_create("v1/configmaps", named("-a"), 422);
    check_create("v1/namespaces", named("a.b"), 422);
    check_create("rbac.authorization.k8s.io/v1/clusterroles", named("system:node"), 201);
    check_create("v1/configmaps", json!({"metadata": {"name": "a", "resourceVersion": "1"}}), 400);
    check_create("v1/configmaps", json!({"metadata": {"name": "a", "namespace": "x"}}), 400);
    check_create("v1/configmaps", json!({"metadata": {"name": "a", "labels": {"a": "b c"}}}), 422);
    check_create("v1/configmaps", json!([]), 400);
    check_create("v1/configmaps", json!({"metadata": 1}), 400);
    let mut unselected = deployment("web");
    unselected["spec"]["selector"] = json!({"matchLabels": {"app": "db"}});
    check_create("apps/v1/deployments", unselected, 422);
    check_create("v1/services", json!({"metadata": {"name": "a"}, "spec": {}}), 422);
}

/// Copies of a complete object, each with one value replaced by a wrong one.
fn damaged(object: &Value) -> Vec<Value> {
    let odd =
        [json!(1), json!("x"), json!([]), json!([1]), json!({}), json!({"x": 1}), Value::Null];
    let mut results = Vec::new();
    let mut pointers = vec![String::new()];
    while let Some(pointer) = pointers.pop() {
        let at = object.pointer(&pointer).expect("it was found by walking");
        let keys: Vec<String> = match at {
            Value::Object(fields) => fields.keys().map(|key| key.replace('/', "~1")).collect(),
            Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
            _ => Vec::new(),
        };
        pointers.extend(keys.iter().map(|key| format!("{pointer}/{key}")));
        for value in &odd {
            let mut copy = object.clone();
            *copy.pointer_mut(&pointer).expect("the same") = value.clone();
            results.push(copy);
        }
    }
    results
}

#[test]
fn odd_objects_are_refused_or_kept_and_never_break_the_store() {
    let mut whole = deployment("web");
    whole["spec"]["strategy"] = json!({"type": "Recreate"});
    whole["spec"]["ports"] = json!([{"port": 80}]);
    whole["spec"]["containers"] = json!([{"name": "c", "image": "x", "ports": [{"port": 1}]}]);
    whole["spec"]["names"] = json!({"plural": "things", "kind": "Thing", "shortNames": ["t"]});
    whole["spec"]["versions"] = json!([{"name": "v1", "served": true, "storage": true}]);
    whole["spec"]["group"] = "example.com".into();
    whole["spec"]["scope"] = "Cluster".into();
    whole["metadata"] = json!({
        "name": "things.example.com", "labels": {"a": "b"}, "annotations": {"a": "b"},
        "finalizers": ["x.io/y"], "ownerReferences": [{"uid": "1"}],
    });
    whole["data"] = json!({"k": "dg=="});
    whole["stringData"] = json!({"k": "v"});
    whole["status"] = json!({"conditions": [{"type": "Ready"}]});
    let mut accepted = 0;
    // The resources for which the server has special code.
    let core =
        ["configmaps", "namespaces", "nodes", "persistentvolumes", "pods", "secrets", "services"];
    let mut resources: Vec<String> = core.iter().map(|plural| format!("v1/{plural}")).collect();
    resources.extend(["apps/v1/deployments", "batch/v1/jobs"].map(str::to_owned));
    resources.push("apiextensions.k8s.io/v1/customresourcedefinitions".to_owned());
    for text in resources {
        let mut store = store();
        for object in damaged(&whole) {
            if let Ok(made) = create(&mut store, &text, object.clone()) {
                accepted += 1;
                let name = made["metadata"]["name"].as_str().expect("everything has a name");
                let _ = merge(&mut store, &text, name, object);
                let bare = json!({"metadata": {"finalizers": null}});
                let _ = delete(&mut store, &text, name);
                let _ = merge(&mut store, &text, name, bare);
            }
        }
    }
    assert!(accepted > 100, "the objects are not so odd that nothing is tested: {accepted}");
}

#[test]
fn a_selector_cannot_be_changed() {
    let mut store = store();
    create(&mut store, "apps/v1/deployments", deployment("web")).expect("valid");
    let patch = json!({
        "spec": {
            "selector": {"matchLabels": {"x": "y"}},
            "template": {"metadata": {"labels": {"x": "y"}}},
        },
    });
    assert_eq!(merge(&mut store, "apps/v1/deployments", "web", patch), Err(422));
}

#[test]
fn a_number_outside_int32_is_no_number_of_a_workload() {
    let mut store = store();
    let with_replicas = |replicas: Value| {
        let mut object = deployment("web");
        object["spec"]["replicas"] = replicas;
        object
    };
    let (least, most) = (i64::from(i32::MIN) - 1, i64::from(i32::MAX) + 1);
    for (replicas, code) in [
        (json!(most), 400),
        (json!(i64::MAX), 400),
        (json!(u64::MAX), 400),
        (json!(1.5), 400),
        (json!(least), 400),
        (json!(-1), 422),
    ] {
        let created = create(&mut store, "apps/v1/deployments", with_replicas(replicas.clone()));
        assert_eq!(created, Err(code), "{replicas}");
    }
    let valid = with_replicas(json!(i32::MAX));
    create(&mut store, "apps/v1/deployments", valid).expect("the largest number");
    let patch = json!({"spec": {"replicas": most}});
    assert_eq!(merge(&mut store, "apps/v1/deployments", "web", patch), Err(400));
}

#[test]
fn generated_names_follow_their_prefix() {
    let mut store = store();
    let object = json!({"metadata": {"generateName": "web-"}});
    let first = create(&mut store, "v1/configmaps", object.clone()).expect("valid");
    let second = create(&mut store, "v1/configmaps", object).expect("valid");
    let name = |object: &Value| object["metadata"]["name"].as_str().map(str::to_owned);
    assert!(name(&first).is_some_and(|name| name.starts_with("web-") && name.len() == 9));
    assert_ne!(name(&first), name(&second));
    // The bound is within the last letter that is kept.
    let object = json!({"metadata": {"generateName": format!("x{}", "é".repeat(200))}});
    assert_eq!(create(&mut store, "v1/configmaps", object), Err(422));
}

#[test]
fn secrets_show_their_plain_texts_encoded() {
    let object = json!({"metadata": {"name": "a"}, "stringData": {"k": "v"}});
    let secret = create(&mut store(), "v1/secrets", object).expect("valid");
    assert_eq!(secret["data"], json!({"k": "dg=="}));
    assert_eq!((secret.get("stringData"), &secret["type"]), (None, &json!("Opaque")));
}

#[test]
fn finalizers_hold_an_object_until_the_last_is_gone() {
    let mut store = store();
    let held = json!({"metadata": {"name": "a", "finalizers": ["x.io/a", "x.io/b"]}});
    create(&mut store, "v1/configmaps", held).expect("valid");
    let first = delete(&mut store, "v1/configmaps", "a").expect("it is there");
    assert!(matches!(&first, Deleted::Waiting(_)), "{first:?}");
    assert!(first.object().to_value()["metadata"]["deletionTimestamp"].is_string());
    let version = store.resource_version();
    delete(&mut store, "v1/configmaps", "a").expect("it is still there");
    assert_eq!(store.resource_version(), version, "it is marked once");
    let one = json!({"metadata": {"finalizers": ["x.io/b"]}});
    merge(&mut store, "v1/configmaps", "a", one).expect("it is still there");
    merge(&mut store, "v1/configmaps", "a", json!({"metadata": {"finalizers": []}})).expect("held");
    assert_eq!(delete(&mut store, "v1/configmaps", "a"), Err(404));
}

/// Checks whether the deletion of a pod with this node, phase and grace period removes it at once.
#[track_caller]
fn check_grace(node: &str, phase: &str, asked: Option<u64>, gone: bool) {
    let mut store = store();
    let pod = json!({
        "metadata": {"name": "a"},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "x"}]},
    });
    create(&mut store, "v1/pods", pod).expect("valid");
    let resource = &resource(&store, "v1/pods");
    let namespace = Some("default");
    let status = Target { resource, namespace, name: "a", subresource: Some("status") };
    let patch = Patch::Merge(json!({"status": {"phase": phase}}));
    store.patch(&status, &patch, WriteOptions::at(now())).expect("it is there");
    let target = Target { subresource: None, ..status };
    let delete = DeleteOptions { grace_period_seconds: asked, ..DeleteOptions::default() };
    let deleted = store.delete(&target, &delete, WriteOptions::at(now())).expect("it is there");
    assert_eq!(matches!(deleted, Deleted::Gone(_)), gone, "{node} {phase} {asked:?}");
    let metadata = &deleted.object().to_value()["metadata"];
    let grace = if gone { 0 } else { asked.unwrap_or(30) };
    assert_eq!(metadata["deletionGracePeriodSeconds"], grace);
    assert_eq!(metadata["generation"], 2);
    if !gone {
        let now_at_once = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
        let last = store.delete(&target, &now_at_once, WriteOptions::at(now())).expect("waiting");
        assert!(matches!(&last, Deleted::Gone(_)), "a kubelet's last word");
        assert_eq!(last.object().to_value()["metadata"]["generation"], 2);
    }
}

#[test]
fn a_bound_pod_has_its_grace_period() {
    check_grace("", "Pending", None, true);
    check_grace("n1", "Running", None, false);
    check_grace("n1", "Running", Some(5), false);
    check_grace("n1", "Running", Some(0), true);
    check_grace("n1", "Succeeded", None, true);
}

#[test]
fn orphaned_dependents_stay_without_their_reference() {
    let mut store = store();
    let owner = create(&mut store, "v1/configmaps", json!({"metadata": {"name": "a"}}));
    let uid = owner.expect("valid")["metadata"]["uid"].clone();
    let reference = |uid: &Value, name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid});
    let references = json!([reference(&uid, "a"), reference(&json!("other"), "b")]);
    let dependent = json!({"metadata": {"name": "d", "ownerReferences": references}});
    create(&mut store, "v1/secrets", dependent).expect("valid");
    let resource = &resource(&store, "v1/configmaps");
    let target = Target { resource, namespace: Some("default"), name: "a", subresource: None };
    let delete = DeleteOptions { orphan: true, ..DeleteOptions::default() };
    store.delete(&target, &delete, WriteOptions::at(now())).expect("it is there");
    let kept = merge(&mut store, "v1/secrets", "d", json!({})).expect("it stays");
    assert_eq!(kept["metadata"]["ownerReferences"], json!([reference(&json!("other"), "b")]));
}

#[test]
fn preconditions_of_a_deletion_are_met_or_refused() {
    let mut store = store();
    let made =
        create(&mut store, "v1/configmaps", json!({"metadata": {"name": "a"}})).expect("valid");
    let resource = &resource(&store, "v1/configmaps");
    let target = Target { resource, namespace: Some("default"), name: "a", subresource: None };
    let mut check = |uid: Option<&Value>, version: Option<&Value>, code: Option<u16>| {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let delete = DeleteOptions {
            uid: text(uid),
            resource_version: text(version),
            ..DeleteOptions::default()
        };
        let outcome = store.delete(&target, &delete, WriteOptions::at(now()));
        assert_eq!(outcome.err().map(|status| status.code), code);
    };
    let metadata = &made["metadata"];
    check(Some(&json!("other")), None, Some(409));
    check(None, Some(&json!("1")), Some(409));
    check(Some(&metadata["uid"]), Some(&metadata["resourceVersion"]), None);
}

#[test]
fn equal_seeds_give_equal_clusters() {
    let run = |seed| {
        let mut store = Store::new(seed, now());
        create(&mut store, "v1/configmaps", json!({"metadata": {"generateName": "a-"}}))
            .expect("valid")
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// The expected content of the store: names with their resourceVersions.
type Model = BTreeMap<String, String>;

fn listed(store: &Store, at: ListAt, limit: usize) -> Result<Model, u16> {
    let mut model = Model::new();
    let mut query = ListQuery {
        resource: resource(store, "v1/configmaps"),
        selection: Selection::default(),
        limit,
        at,
        start_after: None,
    };
    loop {
        let page = store.list(&query).map_err(|status| status.code)?;
        for object in &page.items {
            let version = object.resource_version().to_string();
            let repeated = model.insert(object.name().to_owned(), version);
            assert_eq!(repeated, None, "no page repeats an object");
        }
        match page.next {
            Some(next) => query.start_after = Some(next),
            None => return Ok(model),
        }
        query.at = ListAt::Exact(page.resource_version);
    }
}

#[test]
fn every_past_state_is_listed_as_it_was_until_it_is_forgotten() {
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut store = store();
        let mut states: BTreeMap<u64, Model> = BTreeMap::new();
        for _ in 0..60 {
            let name = format!("m{}", random.u8(..8));
            let value = random.u32(..).to_string();
            let object = json!({"metadata": {"name": name}, "data": {"v": value}});
            // Some of these requests fail; failures are part of the history, too.
            let _ = match random.u8(..3) {
                0 => create(&mut store, "v1/configmaps", object).map(|_| ()),
                1 => merge(&mut store, "v1/configmaps", &name, object).map(|_| ()),
                _ => delete(&mut store, "v1/configmaps", &name).map(|_| ()),
            };
            let present = listed(&store, ListAt::MostRecent, 0).expect("always possible");
            states.insert(store.resource_version(), present);
        }
        for (version, state) in &states {
            for limit in [0, 1, 3] {
                let seen = listed(&store, ListAt::Exact(*version), limit);
                assert_eq!(seen.as_ref(), Ok(state), "seed {seed}, version {version}");
            }
        }
        store.compact();
        let (last, state) = states.pop_last().expect("there were changes");
        assert_eq!(listed(&store, ListAt::Exact(last), 2).as_ref(), Ok(&state));
        assert_eq!(listed(&store, ListAt::Exact(last - 1), 0), Err(410));
    }
}

fn definition() -> Value {
    json!({
        "metadata": {"name": "widgets.example.dev"},
        "spec": {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    })
}

#[test]
fn a_watch_from_before_a_resource_was_defined_anew_is_told_to_list() {
    let mut store = store();
    let definitions = "apiextensions.k8s.io/v1/customresourcedefinitions";
    create(&mut store, definitions, definition()).expect("it is valid");
    create(&mut store, "example.dev/v1/widgets", json!({"metadata": {"name": "a"}}))
        .expect("it is valid");
    let seen = store.resource_version();
    delete(&mut store, definitions, "widgets.example.dev").expect("it is there");
    create(&mut store, definitions, definition()).expect("it is valid again");
    let widgets = GroupResource { group: "example.dev".into(), resource: "widgets".into() };
    let later = store.changes(&widgets, store.epoch(&widgets), seen, 10);
    assert!(matches!(later, Changes::Forgotten(_)), "{later:?}");
}
