//! Workloads: apps, batch, and what goes with them.

use jiff::Timestamp;
use serde_json::Value;

use super::column::{
    AGE, CONTAINERS, IMAGES, NAME, Printer, SELECTOR, boolean, integer, text as column,
};
use super::format::{
    NONE, containers, controller, entries, has_condition, int_or, is_terminating, labels, name,
    plain, selector, selector_or_none, text, text_or,
};
use super::human_duration::{age, human_duration, since, timestamp};

pub(super) fn printer(group: &str, resource: &str) -> Option<&'static Printer> {
    match (group, resource) {
        ("apps", "deployments") => Some(&DEPLOYMENTS),
        ("apps", "replicasets") => Some(&REPLICA_SETS),
        ("", "replicationcontrollers") => Some(&REPLICATION_CONTROLLERS),
        ("apps", "statefulsets") => Some(&STATEFUL_SETS),
        ("apps", "daemonsets") => Some(&DAEMON_SETS),
        ("apps", "controllerrevisions") => Some(&CONTROLLER_REVISIONS),
        ("batch", "jobs") => Some(&JOBS),
        ("batch", "cronjobs") => Some(&CRON_JOBS),
        ("policy", "poddisruptionbudgets") => Some(&POD_DISRUPTION_BUDGETS),
        _ => None,
    }
}

/// Replicas default to one where the object says nothing.
fn replicas(object: &Value) -> i64 {
    int_or(&object["spec"]["replicas"], 1)
}

fn status(object: &Value, member: &str) -> i64 {
    int_or(&object["status"][member], 0)
}

static DEPLOYMENTS: Printer = Printer::new(
    &[
        NAME,
        column("Ready", "how many replicas are ready, of how many desired"),
        column("Up-to-date", "how many replicas have the newest template"),
        column("Available", "how many replicas have been ready for long enough"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    |object, now| {
        let [names, images] = containers(&object["spec"]["template"]["spec"]);
        vec![
            name(object),
            format!("{}/{}", status(object, "readyReplicas"), replicas(object)).into(),
            status(object, "updatedReplicas").into(),
            status(object, "availableReplicas").into(),
            age(object, now),
            names,
            images,
            selector(&object["spec"]["selector"]).into(),
        ]
    },
);

/// The columns that replica sets and replication controllers share, before the selector.
fn replicated(object: &Value, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(&object["spec"]["template"]["spec"]);
    vec![
        name(object),
        replicas(object).into(),
        status(object, "replicas").into(),
        status(object, "readyReplicas").into(),
        age(object, now),
        names,
        images,
    ]
}

static REPLICA_SETS: Printer = Printer::new(
    &[
        NAME,
        integer("Desired", "how many pods are desired"),
        integer("Current", "how many pods there are"),
        integer("Ready", "how many pods are ready"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    |object, now| {
        let mut cells = replicated(object, now);
        cells.push(selector_or_none(&object["spec"]["selector"]).into());
        cells
    },
);

static REPLICATION_CONTROLLERS: Printer = Printer::new(REPLICA_SETS.columns, |object, now| {
    let mut cells = replicated(object, now);
    cells.push(labels(&object["spec"]["selector"]).into());
    cells
});

static STATEFUL_SETS: Printer = Printer::new(
    &[
        NAME,
        column("Ready", "how many replicas are ready, of how many desired"),
        AGE,
        CONTAINERS,
        IMAGES,
    ],
    |object, now| {
        let [names, images] = containers(&object["spec"]["template"]["spec"]);
        let ready = format!("{}/{}", status(object, "readyReplicas"), replicas(object));
        vec![name(object), ready.into(), age(object, now), names, images]
    },
);

static DAEMON_SETS: Printer = Printer::new(
    &[
        NAME,
        integer("Desired", "how many nodes should run the pod"),
        integer("Current", "how many nodes run the pod"),
        integer("Ready", "on how many nodes the pod is ready"),
        integer("Up-to-date", "on how many nodes the pod has the newest template"),
        integer("Available", "on how many nodes the pod has been ready for long enough"),
        column("Node Selector", "the labels of the nodes that run the pod"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    |object, now| {
        let [names, images] = containers(&object["spec"]["template"]["spec"]);
        vec![
            name(object),
            status(object, "desiredNumberScheduled").into(),
            status(object, "currentNumberScheduled").into(),
            status(object, "numberReady").into(),
            status(object, "updatedNumberScheduled").into(),
            status(object, "numberAvailable").into(),
            labels(&object["spec"]["template"]["spec"]["nodeSelector"]).into(),
            age(object, now),
            names,
            images,
            selector_or_none(&object["spec"]["selector"]).into(),
        ]
    },
);

static CONTROLLER_REVISIONS: Printer = Printer::new(
    &[
        NAME,
        column("Controller", "the object whose history this is"),
        column("Revision", "the number of this state"),
        AGE,
    ],
    |object, now| {
        let controller = controller(object).map_or(NONE.to_owned(), |owner| {
            let kind = text(&owner["kind"]).to_lowercase();
            let name = text(&owner["name"]);
            match text(&owner["apiVersion"]).split_once('/') {
                Some((group, _)) => format!("{kind}.{group}/{name}"),
                None => format!("{kind}/{name}"),
            }
        });
        vec![
            name(object),
            controller.into(),
            int_or(&object["revision"], 0).into(),
            age(object, now),
        ]
    },
);

static JOBS: Printer = Printer::new(
    &[
        NAME,
        column("Status", "how far the job is"),
        column("Completions", "how many pods have succeeded, of how many wanted"),
        column("Duration", "how long the job took, or has taken so far"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    |object, now| {
        let [names, images] = containers(&object["spec"]["template"]["spec"]);
        vec![
            name(object),
            job_status(object).into(),
            completions(object).into(),
            job_duration(object, now).into(),
            age(object, now),
            names,
            images,
            selector_or_none(&object["spec"]["selector"]).into(),
        ]
    },
);

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

static CRON_JOBS: Printer = Printer::new(
    &[
        NAME,
        column("Schedule", "when jobs are started, in cron's notation"),
        column("Timezone", "the time zone of the schedule"),
        boolean("Suspend", "whether no jobs are started for now"),
        integer("Active", "how many jobs are running"),
        column("Last Schedule", "how long ago a job was last started"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    |object, now| {
        let job = &object["spec"]["jobTemplate"]["spec"];
        let [names, images] = containers(&job["template"]["spec"]);
        let last = &object["status"]["lastScheduleTime"];
        let last = if last.is_null() { NONE.to_owned() } else { since(last, now) };
        vec![
            name(object),
            text(&object["spec"]["schedule"]).into(),
            text_or(&object["spec"]["timeZone"], NONE).into(),
            if object["spec"]["suspend"] == true { "True" } else { "False" }.into(),
            entries(&object["status"]["active"]).len().into(),
            last.into(),
            age(object, now),
            names,
            images,
            selector_or_none(&job["selector"]).into(),
        ]
    },
);

static POD_DISRUPTION_BUDGETS: Printer = Printer::new(
    &[
        NAME,
        column("Min Available", "how many pods must stay"),
        column("Max Unavailable", "how many pods may be away"),
        integer("Allowed Disruptions", "how many pods may be evicted now"),
        AGE,
    ],
    |object, now| {
        let bound = |member: &str| match &object["spec"][member] {
            Value::Null => "N/A".to_owned(),
            value => plain(value),
        };
        vec![
            name(object),
            bound("minAvailable").into(),
            bound("maxUnavailable").into(),
            status(object, "disruptionsAllowed").into(),
            age(object, now),
        ]
    },
);
