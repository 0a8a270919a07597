//! `examples/deployment`: its files are complete, and the API server accepts them unchanged.

pub mod manifests;
pub mod monitoring;

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};

use crate::bench::fact;
use informant_e2e::skip;
use manifests::{FOLDERS, NAMESPACE, arguments, of_folder, patched_deployment, strings, yaml};

/// The files that a kustomization names, except itself.
fn named(folder: &str) -> BTreeSet<String> {
    let kustomization = yaml(folder, "kustomization.yaml");
    let patches = kustomization["patches"].as_array().cloned().unwrap_or_default();
    let patches = patches.iter().filter_map(|patch| patch["path"].as_str().map(str::to_owned));
    strings(&kustomization["resources"]).into_iter().chain(patches).collect()
}

#[test]
fn kustomizations_name_the_files_that_there_are() {
    for folder in FOLDERS {
        let named = named(folder);
        let (folders, files): (BTreeSet<_>, BTreeSet<_>) =
            named.into_iter().partition(|name| name.starts_with("../"));
        let mut there = manifests::files(folder);
        assert!(there.remove("kustomization.yaml"), "{folder} has a kustomization");
        assert_eq!(files, there, "{folder}");
        for other in folders {
            assert!(FOLDERS.contains(&other.trim_start_matches("../")), "{folder}: {other}");
        }
    }
}

#[test]
fn every_manifest_is_an_object_of_the_namespace() {
    for folder in FOLDERS {
        for manifest in of_folder(folder) {
            let (file, object) = (&manifest.file, &manifest.object);
            assert!(object["apiVersion"].is_string() && object["kind"].is_string(), "{file}");
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            assert!(name.starts_with(NAMESPACE), "{file}: {name}");
            let is_clusters = manifest.kind() == "Namespace" || manifest.kind().contains("Cluster");
            let expect = if is_clusters { Value::Null } else { NAMESPACE.into() };
            assert_eq!(object["metadata"]["namespace"], expect, "{file}");
        }
    }
}

#[test]
fn manifests_are_accepted() {
    fact(async |bench| {
        let all = ["base", "state", "secure"].into_iter().flat_map(of_folder);
        for manifest in all {
            // The namespace must be there for the rest to be looked at.
            let is_namespace = manifest.kind() == "Namespace";
            let object = manifest.create(&bench.api, !is_namespace).await.expect(201);
            assert_eq!(object["kind"], manifest.kind(), "{}", manifest.file);
        }
        let deployment = patched_deployment(&bench.api, "state").await;
        check_with_state(&deployment);
    });
}

/// Checks the differences from `base`.
#[track_caller]
fn check_with_state(deployment: &Value) {
    let spec = &deployment["spec"];
    assert_eq!((&spec["replicas"], &spec["strategy"]), (&json!(1), &json!({"type": "Recreate"})));
    let mut expect = arguments(&manifests::of_base("Deployment"));
    expect.push("--state-dir=/state/informant".to_owned());
    assert_eq!(arguments(deployment), expect);
    let pod = &spec["template"]["spec"];
    let volume = pod["volumes"].as_array().and_then(|volumes| volumes.last());
    let claim = &volume.expect("a volume")["persistentVolumeClaim"]["claimName"];
    assert_eq!(*claim, of_folder("state")[0].object["metadata"]["name"]);
    assert_eq!(pod["securityContext"]["fsGroup"], pod["securityContext"]["runAsGroup"]);
}

/// The output of `kubectl kustomize` for a folder. `None` without kubectl.
fn kustomized(folder: &str) -> Option<Vec<Value>> {
    let path = manifests::folder(folder);
    let output = Command::new("kubectl").arg("kustomize").arg(path).output().ok()?;
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{folder}: {error}");
    let text = String::from_utf8(output.stdout).expect("it is text");
    let objects = text.split("\n---\n").map(|text| serde_saphyr::from_str(text).expect("YAML"));
    Some(objects.collect())
}

fn kinds<'a>(objects: impl Iterator<Item = &'a Value>) -> Vec<String> {
    let mut kinds: Vec<_> = objects.map(|it| it["kind"].to_string()).collect();
    kinds.sort();
    kinds
}

#[test]
fn kustomize_builds_every_folder() {
    let of_files = |folders: &[&str]| {
        let manifests: Vec<_> = folders.iter().flat_map(|folder| of_folder(folder)).collect();
        let made = folders.iter().flat_map(|folder| {
            let makes = &yaml(folder, "kustomization.yaml")["configMapGenerator"];
            vec![json!({"kind": "ConfigMap"}); makes.as_array().map_or(0, Vec::len)]
        });
        let made: Vec<Value> = made.collect();
        kinds(manifests.iter().map(|manifest| &manifest.object).chain(&made))
    };
    let expect: [(&str, &[&str]); 4] = [
        ("base", &["base"]),
        ("state", &["base", "state"]),
        ("secure", &["base", "secure"]),
        ("monitoring", &["monitoring"]),
    ];
    for (folder, folders) in expect {
        let Some(objects) = kustomized(folder) else {
            return skip::say("there is no kubectl on PATH");
        };
        assert_eq!(kinds(objects.iter()), of_files(folders), "{folder}");
        if folder == "state" {
            let deployment = objects.iter().find(|it| it["kind"] == "Deployment");
            check_with_state(deployment.expect("a Deployment"));
        }
    }
}

#[test]
fn ports_are_those_that_the_host_listens_on() {
    let deployment = manifests::of_base("Deployment");
    let argument = |option: &str| {
        let arguments = arguments(&deployment);
        let value = arguments.iter().find_map(|it| it.strip_prefix(option)?.strip_prefix('='));
        let value = value.unwrap_or_else(|| panic!("no {option}"));
        value.parse::<std::net::SocketAddr>().expect("an address")
    };
    assert!(argument("--listen").ip().is_loopback(), "callers are not authenticated");
    let metrics = argument("--metrics-bind-address");
    assert!(metrics.ip().is_unspecified(), "others reach it");
    let pod = &deployment["spec"]["template"];
    let container = &pod["spec"]["containers"][0];
    let port = json!([{"name": "metrics", "containerPort": metrics.port(), "protocol": "TCP"}]);
    assert_eq!(container["ports"], port, "what is on loopback is no port of the Pod");
    for probe in ["livenessProbe", "readinessProbe"] {
        assert_eq!(container[probe]["httpGet"]["port"], "metrics");
    }
    let scraped = &pod["metadata"]["annotations"]["prometheus.io/port"];
    assert_eq!(*scraped, metrics.port().to_string());
    let service = &manifests::of_base("Service")["spec"];
    assert_eq!(service["ports"][0]["port"], metrics.port());
    assert_eq!(service["ports"][0]["targetPort"], "metrics");
    let ingress = &manifests::of_base("NetworkPolicy")["spec"]["ingress"];
    assert_eq!(*ingress, json!([{"ports": [{"port": "metrics", "protocol": "TCP"}]}]));
}

#[test]
fn selectors_select_the_pods() {
    let labels = &manifests::of_base("Deployment")["spec"]["template"]["metadata"]["labels"];
    let of = |kind: &str, pointer: &str| {
        assert_eq!(manifests::of_base(kind).pointer(pointer), Some(labels), "{kind}");
    };
    of("Deployment", "/spec/selector/matchLabels");
    of("PodDisruptionBudget", "/spec/selector/matchLabels");
    of("NetworkPolicy", "/spec/podSelector/matchLabels");
    of("Service", "/spec/selector");
    let monitor = &of_folder("monitoring")[0].object["spec"];
    let service = manifests::of_base("Service");
    assert_eq!(monitor["selector"]["matchLabels"], service["metadata"]["labels"]);
    assert_eq!(monitor["endpoints"][0]["port"], service["spec"]["ports"][0]["name"]);
}
