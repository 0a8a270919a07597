//! `examples/deployment/monitoring`: the Prometheus Operator's definitions accept its objects, and Prometheus can
//! parse its expressions.

use std::collections::{BTreeSet, HashMap};
use std::io::Write as _;
use std::process::Command;

use serde_json::{Value, json};

use super::manifests::{of_folder, text, yaml};
use crate::bench::{Bench, fact};
use informant_e2e::api::DEADLINE;
use informant_e2e::{paths, poll, skip};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP: &str = "monitoring.coreos.com";

/// Prometheus' format of a duration.
const DURATION: &str =
    "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$";

fn object(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn texts() -> Value {
    json!({"type": "object", "additionalProperties": {"type": "string"}})
}

/// The fields of a rule and its groups, as the operator defines them (0.76).
fn prometheus_rule() -> Value {
    let (text, duration) =
        (json!({"type": "string"}), json!({"type": "string", "pattern": DURATION}));
    let rule = json!({
        "alert": text, "record": text, "for": duration, "keep_firing_for": duration,
        "expr": {"x-kubernetes-int-or-string": true}, "labels": texts(), "annotations": texts(),
    });
    let group = json!({
        "name": {"type": "string", "minLength": 1}, "interval": duration, "limit": {"type": "integer"},
        "rules": list(object(rule, &["expr"])),
    });
    object(json!({"groups": list(object(group, &["name"]))}), &[])
}

/// The fields that the monitor here uses, as the operator defines them. The operator has many more.
fn service_monitor() -> Value {
    let text = json!({"type": "string"});
    let endpoint = json!({
        "port": text, "path": text, "scheme": text,
        "interval": {"type": "string", "pattern": DURATION},
        "scrapeTimeout": {"type": "string", "pattern": DURATION},
    });
    let selector = json!({"matchLabels": texts()});
    let spec = json!({
        "jobLabel": text, "selector": object(selector, &[]), "endpoints": list(object(endpoint, &[])),
    });
    object(spec, &["endpoints", "selector"])
}

/// Creates the definition of a kind and waits until its resource is served. Returns its path.
async fn establish(bench: &Bench, kind: &str, spec: Value) -> String {
    let singular = kind.to_lowercase();
    let plural = format!("{singular}s");
    let schema = object(json!({"spec": spec}), &["spec"]);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"plural": plural, "singular": singular, "kind": kind},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}},
            ],
        },
    });
    bench.create(DEFINITIONS, &definition).await;
    let path = format!("/apis/{GROUP}/v1/namespaces/{}/{plural}", bench.namespace);
    let served = async || (bench.api.get(&path).await.status == 200).then_some(());
    poll::until("the kind to be served", DEADLINE, served).await.unwrap();
    path
}

#[test]
fn monitoring_is_what_the_operators_definitions_allow() {
    fact(async |bench| {
        let manifests = of_folder("monitoring");
        let schemas =
            [("ServiceMonitor", service_monitor()), ("PrometheusRule", prometheus_rule())];
        assert_eq!(manifests.len(), schemas.len());
        for (kind, spec) in schemas {
            let path = establish(bench, kind, spec).await;
            let manifest = manifests.iter().find(|manifest| manifest.kind() == kind);
            let mut object =
                manifest.unwrap_or_else(|| panic!("there is no {kind}")).object.clone();
            object["metadata"]["namespace"] = bench.namespace.clone().into();
            let made = bench.api.create(&path, &object).await.expect(201);
            assert_eq!(
                made["spec"], object["spec"],
                "{kind}: fields that it does not have are dropped"
            );
        }
    });
}

fn dashboard_file() -> Value {
    serde_json::from_str(&text("monitoring", "dashboard.json")).expect("it is JSON")
}

/// The dashboard's panels, with their titles and expressions.
pub fn dashboard() -> Vec<(String, Vec<String>)> {
    let dashboard = dashboard_file();
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let expressions = |panel: &Value| {
        let targets = panel["targets"].as_array().into_iter().flatten();
        targets.map(|it| it["expr"].as_str().expect("an expression").to_owned()).collect()
    };
    panels
        .filter(|panel| panel["type"] != "row")
        .map(|panel| (panel["title"].as_str().expect("a title").to_owned(), expressions(panel)))
        .collect()
}

#[test]
fn panels_have_titles_of_their_own_and_do_not_overlap() {
    let file = dashboard_file();
    let mut taken = HashMap::new();
    let (mut titles, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for panel in file["panels"].as_array().expect("panels") {
        let title = panel["title"].as_str().expect("a title");
        assert!(titles.insert(title), "two panels are named {title}");
        assert!(ids.insert(panel["id"].as_u64().expect("a number")), "{title}: its id is taken");
        let of = |key: &str| panel["gridPos"][key].as_u64().expect("a number");
        let (x, y, width, height) = (of("x"), of("y"), of("w"), of("h"));
        assert!(x + width <= 24, "{title} is beyond the right side");
        for place in (x..x + width).flat_map(|x| (y..y + height).map(move |y| (x, y))) {
            let other = taken.insert(place, title);
            assert_eq!(other, None, "{title} is above another panel");
        }
    }
    for (title, expressions) in dashboard() {
        assert!(!expressions.is_empty(), "{title} shows nothing");
    }
}

/// The rules of the alerts, and the dashboard's expressions as recording rules.
#[test]
fn prometheus_reads_the_rules_and_the_dashboard() {
    let mut rules = yaml("monitoring", "prometheus_rule.yaml")["spec"].take();
    let in_time = |text: &str| text.replace("$__rate_interval", "5m");
    let expressions = dashboard().into_iter().flat_map(|(_, expressions)| expressions);
    let of_dashboard: Vec<Value> = expressions
        .enumerate()
        .map(|(count, text)| json!({"record": format!("panel:{count}"), "expr": in_time(&text)}))
        .collect();
    let groups = rules["groups"].as_array_mut().expect("groups");
    groups.push(json!({"name": "dashboard", "rules": of_dashboard}));
    let mut file = tempfile::NamedTempFile::with_suffix(".json").expect("a file");
    // JSON is YAML.
    file.write_all(rules.to_string().as_bytes()).expect("it is written");
    let fetched = paths::target_directory().join("e2e/promtool");
    let program = if fetched.exists() { fetched } else { "promtool".into() };
    let Ok(output) = Command::new(program).args(["check", "rules"]).arg(file.path()).output()
    else {
        return skip::say(
            "there is no promtool: expressions were not read; `make promtool` fetches it",
        );
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}{said}", String::from_utf8_lossy(&output.stdout));
}
