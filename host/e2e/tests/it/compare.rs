//! The same requests to both clusters: the embedded one must answer like the real server, except for the differences
//! listed here.
//!
//! Facts in `api` check the important properties one by one. This test finds other differences.

use http::{Method, header};
use serde_json::{Value, json};

use crate::bench::{config_map, deployment, labelled_pod};
use informant_e2e::api::Api;
use informant_e2e::cluster::{ClusterKind, EmbeddedCluster, RealCluster, User};
use informant_e2e::skip;

/// One request of the script.
struct Step {
    method: Method,
    path: String,
    content_type: &'static str,
    accept: &'static str,
    body: Value,
}

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const CORE: &str = "/api/v1/namespaces/default";
const APPS: &str = "/apis/apps/v1/namespaces/default";

fn get(path: &str) -> Step {
    request(Method::GET, path, JSON, Value::Null)
}

fn table(path: &str) -> Step {
    Step { accept: TABLE, ..get(path) }
}

fn post(path: &str, body: Value) -> Step {
    request(Method::POST, path, JSON, body)
}

fn put(path: &str, body: Value) -> Step {
    request(Method::PUT, path, JSON, body)
}

fn patch(path: &str, content_type: &'static str, body: Value) -> Step {
    request(Method::PATCH, path, content_type, body)
}

fn delete(path: &str) -> Step {
    request(Method::DELETE, path, JSON, Value::Null)
}

fn request(method: Method, path: &str, content_type: &'static str, body: Value) -> Step {
    Step { method, path: path.to_owned(), content_type, accept: JSON, body }
}

/// The answers in order, without the values that differ from run to run.
async fn answers(api: &Api, steps: &[Step]) -> Vec<String> {
    let mut answers = Vec::new();
    for step in steps {
        let headers = [(header::CONTENT_TYPE, step.content_type), (header::ACCEPT, step.accept)];
        let body =
            if step.body.is_null() { Vec::new() } else { step.body.to_string().into_bytes() };
        let reply = api.call(step.method.clone(), &step.path, &headers, body).await;
        let mut answer = reply.json();
        normalize(&mut answer);
        let status = reply.status.as_u16();
        let sorted = serde_json::to_string_pretty(&sorted(answer)).expect("JSON");
        answers.push(format!("{} {}\n{status}\n{sorted}", step.method, step.path));
    }
    answers
}

/// Fields that admission writes, which the embedded cluster does not have, or whose text differs.
const LEFT_OUT: [&str; 7] = [
    "managedFields",
    "description",
    "message",
    "preemptionPolicy",
    "priority",
    "tolerations",
    "serverAddressByClientCIDRs",
];

/// Fields with different values in every run.
const OWN: [&str; 8] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "continue",
    "lastTransitionTime",
    "clusterIP",
    "clusterIPs",
];

/// Removes the values that belong to one cluster.
fn normalize(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|key, value| {
                // A column's priority is a number beside a name. Admission sets a pod's priority.
                let column = key == "priority" && value != &json!(0);
                column || !LEFT_OUT.contains(&key.as_str())
            });
            for (key, value) in object.iter_mut() {
                let own = OWN.contains(&key.as_str()) && (value.is_string() || value.is_array());
                match own {
                    true => *value = json!("OWN"),
                    false => normalize(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(normalize),
        // An age in a table. The two clusters are not asked at the same moment.
        Value::String(text) if is_age(text) => *text = "OWN".to_owned(),
        _ => {}
    }
}

fn is_age(text: &str) -> bool {
    let seconds = text.strip_suffix('s');
    seconds
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|one| one.is_ascii_digit()))
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<(String, Value)> = object.into_iter().collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(sorted).collect()),
        other => other,
    }
}

fn check_same(steps: Vec<Step>) {
    if ClusterKind::from_env().expect("a known kind") != ClusterKind::Real {
        return skip::say("it needs both clusters; `make e2e` has them");
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let real = RealCluster::start().await.unwrap();
        let embedded = EmbeddedCluster::start().await.unwrap();
        let api = Api::from_kubeconfig(&real.kubeconfig(User::Admin)).await.unwrap();
        let expect = answers(&api, &steps).await;
        let api = Api::from_kubeconfig(&embedded.kubeconfig(User::Admin)).await.unwrap();
        let found = answers(&api, &steps).await;
        let mut differences = Vec::new();
        for (expect, found) in expect.iter().zip(&found).filter(|(expect, found)| expect != found) {
            differences.push(difference(expect, found));
        }
        assert!(differences.is_empty(), "\n{}\n", differences.join("\n"));
    });
}

/// The lines that only one of the answers has, below their request.
fn difference(expect: &str, found: &str) -> String {
    let only = |of: &str, other: &str, mark: &str| {
        let mut other: Vec<&str> = other.lines().collect();
        let mut lines = Vec::new();
        for line in of.lines() {
            match other.iter().position(|one| *one == line) {
                Some(at) => drop(other.remove(at)),
                None => lines.push(format!("{mark} {line}")),
            }
        }
        lines
    };
    let mut lines = vec![expect.lines().next().unwrap_or_default().to_owned()];
    lines.extend(only(expect, found, "  real:    "));
    lines.extend(only(found, expect, "  embedded:"));
    lines.join("\n")
}

#[test]
fn pods_are_the_same() {
    let pods = format!("{CORE}/pods");
    let pod = format!("{pods}/web");
    check_same(vec![
        post(&pods, labelled_pod("web", &[("app", "web")])),
        post(&pods, labelled_pod("web", &[])),
        get(&pod),
        get(&pods),
        table(&pods),
        get(&format!("{pods}?labelSelector=app%3D%3Dother")),
        put(&pod, labelled_pod("web", &[("app", "changed")])),
        patch(&pod, MERGE, json!({"metadata": {"labels": {"a": "b"}}})),
        patch(&pod, STRATEGIC, json!({"metadata": {"annotations": {"a": "b"}}})),
        patch(&format!("{pod}/status"), MERGE, json!({"status": {"phase": "Running"}})),
        table(&pod),
        delete(&pod),
        get(&pod),
        delete(&pod),
    ]);
}

#[test]
fn deployments_are_the_same() {
    let deployments = format!("{APPS}/deployments");
    let web = format!("{deployments}/web");
    check_same(vec![
        post(&deployments, deployment("web", 2)),
        get(&deployments),
        table(&deployments),
        patch(&web, MERGE, json!({"spec": {"replicas": 3}})),
        get(&format!("{web}/scale")),
        get(&format!("{web}/status")),
        patch(&format!("{web}/scale"), MERGE, json!({"spec": {"replicas": 0}})),
        patch(
            &web,
            STRATEGIC,
            json!({"spec": {"template": {"spec": {"containers":
            [{"name": "main", "env": [{"name": "A", "value": "1"}]}]}}}}),
        ),
        delete(&format!("{web}?propagationPolicy=Background")),
        get(&web),
    ]);
}

#[test]
fn small_objects_are_the_same() {
    let maps = format!("{CORE}/configmaps");
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"},
    });
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}});
    check_same(vec![
        post(&maps, config_map("a", &[("k", "v")])),
        put(&format!("{maps}/b"), config_map("b", &[])),
        get(&format!("{maps}?limit=1")),
        delete(&format!("{maps}/a")),
        post(&format!("{CORE}/services"), service),
        table(&format!("{CORE}/services/web")),
        post(&format!("{CORE}/secrets"), secret),
        table(&format!("{CORE}/secrets")),
        post("/api/v1/namespaces", namespace),
        table("/api/v1/namespaces/new"),
    ]);
}

#[test]
fn errors_are_the_same() {
    let maps = format!("{CORE}/configmaps");
    check_same(vec![
        get("/api/v1/namespaces/default/flowers"),
        get(&format!("{maps}/missing")),
        post(&maps, json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}})),
        post(&maps, json!({"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "x"}})),
        post(&maps, json!({"metadata": {"name": "no-kind"}})),
        post(&maps, config_map("Not_A_Name", &[])),
        post(&maps, config_map("", &[])),
        post("/api/v1/namespaces/nowhere/configmaps", config_map("x", &[])),
        put(&maps, config_map("x", &[])),
        delete("/api/v1/namespaces/default/pods/missing"),
        get(&format!("{maps}?labelSelector=a%3Db%3Dc")),
        get(&format!("{maps}?fieldSelector=a.b%3Dc")),
        get(&format!("{maps}?limit=x")),
        get(&format!("{maps}?continue=x")),
        get(&format!("{maps}?resourceVersionMatch=Exact")),
        patch(&format!("{maps}/missing"), MERGE, json!({})),
        patch(&format!("{maps}/missing"), "application/json-patch+json", json!({})),
    ]);
}

#[test]
fn discovery_is_the_same_for_what_both_serve() {
    // The groups and versions differ: the embedded cluster serves only the common ones.
    check_same(vec![get("/api"), get("/apis/apps"), get("/apis/batch")]);
}
