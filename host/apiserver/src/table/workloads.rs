//! Workloads: apps, batch, and what goes with them.

use jiff::Timestamp;
use serde_json::Value;

use super::column::{
    AGE, CONTAINERS, Column, IMAGES, LABELS, NAME, Printer, SELECTOR, boolean, column, containers,
    image_names, images, integer, names, selector, timed,
};
use super::format::{
    NONE, controller, entries, has_condition, int_or, is_terminating, labels, plain,
    selector as selector_text, selector_or_none, text, text_or,
};
use super::human_duration::{human_duration, since, timestamp};

const DESIRED: Column = integer("Desired", "how many pods are desired", |it| replicas(it).into());
const CURRENT: Column =
    integer("Current", "how many pods there are", |it| status(it, "replicas").into());
const PODS_READY: Column =
    integer("Ready", "how many pods are ready", |it| status(it, "readyReplicas").into());
const REPLICAS_READY: Column =
    column("Ready", "how many replicas are ready, of how many desired", |it| {
        format!("{}/{}", status(it, "readyReplicas"), replicas(it)).into()
    });

#[rustfmt::skip]
pub(super) static PRINTERS: &[Printer] = &[
    Printer::new(&[("apps", "deployments")], &[
        NAME,
        REPLICAS_READY,
        column("Up-to-date", "how many replicas have the newest template", |it| status(it, "updatedReplicas").into()),
        column("Available", "how many replicas have been ready for long enough",
            |it| status(it, "availableReplicas").into()),
        AGE,
        CONTAINERS,
        IMAGES,
        selector(|it| selector_text(&it["spec"]["selector"]).into()),
    ]),
    Printer::new(&[("apps", "replicasets")], &[
        NAME, DESIRED, CURRENT, PODS_READY, AGE, CONTAINERS, IMAGES, SELECTOR,
    ]),
    Printer::new(&[("", "replicationcontrollers")], &[
        NAME, DESIRED, CURRENT, PODS_READY, AGE, CONTAINERS, IMAGES, LABELS,
    ]),
    Printer::new(&[("apps", "statefulsets")], &[NAME, REPLICAS_READY, AGE, CONTAINERS, IMAGES]),
    Printer::new(&[("apps", "daemonsets")], &[
        NAME,
        integer("Desired", "how many nodes should run the pod", |it| status(it, "desiredNumberScheduled").into()),
        integer("Current", "how many nodes run the pod", |it| status(it, "currentNumberScheduled").into()),
        integer("Ready", "on how many nodes the pod is ready", |it| status(it, "numberReady").into()),
        integer("Up-to-date", "on how many nodes the pod has the newest template",
            |it| status(it, "updatedNumberScheduled").into()),
        integer("Available", "on how many nodes the pod has been ready for long enough",
            |it| status(it, "numberAvailable").into()),
        column("Node Selector", "the labels of the nodes that run the pod",
            |it| labels(&it["spec"]["template"]["spec"]["nodeSelector"]).into()),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ]),
    Printer::new(&[("apps", "controllerrevisions")], &[
        NAME,
        column("Controller", "the object whose history this is", |it| controller_name(it).into()),
        column("Revision", "the number of this state", |it| int_or(&it["revision"], 0).into()),
        AGE,
    ]),
    Printer::new(&[("batch", "jobs")], &[
        NAME,
        column("Status", "how far the job is", |it| job_status(it).into()),
        column("Completions", "how many pods have succeeded, of how many wanted", |it| completions(it).into()),
        timed("Duration", "how long the job took, or has taken so far", |it, now| job_duration(it, now).into()),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ]),
    Printer::new(&[("batch", "cronjobs")], &[
        NAME,
        column("Schedule", "when jobs are started, in cron's notation", |it| text(&it["spec"]["schedule"]).into()),
        column("Timezone", "the time zone of the schedule", |it| text_or(&it["spec"]["timeZone"], NONE).into()),
        boolean("Suspend", "whether no jobs are started for now",
            |it| if it["spec"]["suspend"] == true { "True" } else { "False" }.into()),
        integer("Active", "how many jobs are running", |it| entries(&it["status"]["active"]).len().into()),
        timed("Last Schedule", "how long ago a job was last started",
            |it, now| last_schedule(&it["status"]["lastScheduleTime"], now).into()),
        AGE,
        containers(|it| names(&job(it)["template"])),
        images(|it| image_names(&job(it)["template"])),
        selector(|it| selector_or_none(&job(it)["selector"]).into()),
    ]),
    Printer::new(&[("policy", "poddisruptionbudgets")], &[
        NAME,
        column("Min Available", "how many pods must stay", |it| bound(&it["spec"]["minAvailable"]).into()),
        column("Max Unavailable", "how many pods may be away", |it| bound(&it["spec"]["maxUnavailable"]).into()),
        integer("Allowed Disruptions", "how many pods may be evicted now",
            |it| status(it, "disruptionsAllowed").into()),
        AGE,
    ]),
];

/// The job that a CronJob makes.
fn job(cron_job: &Value) -> &Value {
    &cron_job["spec"]["jobTemplate"]["spec"]
}

fn last_schedule(last: &Value, now: Timestamp) -> String {
    if last.is_null() { NONE.to_owned() } else { since(last, now) }
}

fn bound(value: &Value) -> String {
    if value.is_null() { "N/A".to_owned() } else { plain(value) }
}

fn controller_name(object: &Value) -> String {
    controller(object).map_or(NONE.to_owned(), |owner| {
        let kind = text(&owner["kind"]).to_lowercase();
        let name = text(&owner["name"]);
        match text(&owner["apiVersion"]).split_once('/') {
            Some((group, _)) => format!("{kind}.{group}/{name}"),
            None => format!("{kind}/{name}"),
        }
    })
}

/// Replicas default to one where the object says nothing.
fn replicas(object: &Value) -> i64 {
    int_or(&object["spec"]["replicas"], 1)
}

fn status(object: &Value, member: &str) -> i64 {
    int_or(&object["status"][member], 0)
}

/// The first condition that holds, in the order of their weight.
fn job_status(job: &Value) -> &'static str {
    let first = |conditions: &[(&str, &'static str)]| {
        conditions.iter().find(|(kind, _)| has_condition(job, kind)).map(|(_, word)| *word)
    };
    first(&[("Complete", "Complete"), ("Failed", "Failed")])
        .or_else(|| is_terminating(job).then_some("Terminating"))
        .or_else(|| {
            first(&[
                ("Suspended", "Suspended"),
                ("FailureTarget", "FailureTarget"),
                ("SuccessCriteriaMet", "SuccessCriteriaMet"),
            ])
        })
        .unwrap_or("Running")
}

fn completions(job: &Value) -> String {
    let succeeded = status(job, "succeeded");
    match (job["spec"]["completions"].as_i64(), int_or(&job["spec"]["parallelism"], 0)) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn job_duration(job: &Value, now: Timestamp) -> String {
    let Some(start) = timestamp(&job["status"]["startTime"]) else { return String::new() };
    let end = timestamp(&job["status"]["completionTime"]).unwrap_or(now);
    human_duration(end.duration_since(start))
}
