//! HorizontalPodAutoscalers, in both served versions.

use serde_json::Value;

use super::column::{AGE, NAME, Printer, text as column};
use super::format::{NONE, UNKNOWN, entries, int_or, name, or, plain, shortened, text};
use super::human_duration::age;

/// How many metrics a cell shows.
const METRICS_MAX: usize = 2;

pub(super) fn printer(group: &str, resource: &str) -> Option<&'static Printer> {
    (group == "autoscaling" && resource == "horizontalpodautoscalers").then_some(&AUTOSCALERS)
}

static AUTOSCALERS: Printer = Printer::new(
    &[
        NAME,
        column("Reference", "what is scaled"),
        column("Targets", "each metric's value and its target"),
        column("MinPods", "at least so many pods"),
        column("MaxPods", "at most so many pods"),
        column("Replicas", "how many pods there are"),
        AGE,
    ],
    |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let target = &spec["scaleTargetRef"];
        vec![
            name(object),
            format!("{}/{}", text(&target["kind"]), text(&target["name"])).into(),
            or(targets(spec, status), NONE).into(),
            int_or(&spec["minReplicas"], 1).to_string().into(),
            int_or(&spec["maxReplicas"], 0).into(),
            int_or(&status["currentReplicas"], 0).into(),
            age(object, now),
        ]
    },
);

fn targets(spec: &Value, status: &Value) -> String {
    // autoscaling/v1 knows the processor only.
    if let Some(target) = spec["targetCPUUtilizationPercentage"].as_i64() {
        let current = percent(&status["currentCPUUtilizationPercentage"], UNKNOWN);
        return format!("cpu: {current}/{target}%");
    }
    let metrics = entries(&spec["metrics"]).iter().enumerate();
    let texts: Vec<String> =
        metrics.map(|(index, metric)| target(metric, &status["currentMetrics"][index])).collect();
    shortened(&texts, METRICS_MAX, ", ")
}

fn target(metric: &Value, status: &Value) -> String {
    let (member, named) = match text(&metric["type"]) {
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "External" => ("external", false),
        _ => return "<unknown type>".to_owned(),
    };
    let (goal, current) = (&metric[member]["target"], &status[member]["current"]);
    let average = !goal["averageValue"].is_null();
    if named {
        let resource = text(&metric[member]["name"]);
        return if average {
            let current = or(plain(&current["averageValue"]), UNKNOWN);
            format!("{resource}: {current}/{}", plain(&goal["averageValue"]))
        } else {
            let current = percent(&current["averageUtilization"], UNKNOWN);
            format!("{resource}: {current}/{}", percent(&goal["averageUtilization"], "<auto>"))
        };
    }
    let value = if average { "averageValue" } else { "value" };
    let suffix = if average && member != "pods" { " (avg)" } else { "" };
    format!("{}/{}{suffix}", or(plain(&current[value]), UNKNOWN), plain(&goal[value]))
}

fn percent(value: &Value, otherwise: &str) -> String {
    value.as_i64().map_or(otherwise.to_owned(), |percent| format!("{percent}%"))
}
