//! HorizontalPodAutoscalers, in both served versions.

use serde_json::Value;

use super::column::{AGE, NAME, Printer, column};
use super::format::{NONE, UNKNOWN, entries, int_or, or, plain, shortened, text};

/// How many metrics a cell shows.
const METRICS_MAX: usize = 2;

#[rustfmt::skip]
pub(super) static PRINTERS: &[Printer] = &[Printer::new(&[("autoscaling", "horizontalpodautoscalers")], &[
    NAME,
    column("Reference", "what is scaled", |it| reference(&it["spec"]["scaleTargetRef"]).into()),
    column("Targets", "each metric's value and its target", |it| or(targets(&it["spec"], &it["status"]), NONE).into()),
    column("MinPods", "at least so many pods", |it| int_or(&it["spec"]["minReplicas"], 1).to_string().into()),
    column("MaxPods", "at most so many pods", |it| int_or(&it["spec"]["maxReplicas"], 0).into()),
    column("Replicas", "how many pods there are", |it| int_or(&it["status"]["currentReplicas"], 0).into()),
    AGE,
])];

fn reference(target: &Value) -> String {
    format!("{}/{}", text(&target["kind"]), text(&target["name"]))
}

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
