//! Pods: the status column sums up phase, reason, containers and deletion the way `printPod` upstream does.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::column::{AGE, NAME, Printer, column, image_names, names, timed};
use super::format::{
    NONE, condition, entries, has_condition, int_or, is_terminating, labels, text, text_or,
};
use super::human_duration::{human_duration, timestamp};

#[rustfmt::skip]
pub(super) static PRINTERS: &[Printer] = &[
    Printer { conditions: Some(conditions), ..Printer::new(&[("", "pods")], &[
        NAME,
        column("Ready", "how many of the pod's containers are ready", |it| Summary::of(it).shown_ready().into()),
        column("Status", "the pod's phase, or what its containers are held up by", |it| Summary::of(it).status.into()),
        timed("Restarts", "how often containers were restarted, and when last",
            |it, now| Summary::of(it).restarts.to_cell(now)),
        AGE,
        column("IP", "the pod's address", |it| address(&it["status"]).into()).wide(),
        column("Node", "where the pod runs", |it| text_or(&it["spec"]["nodeName"], NONE).into()).wide(),
        column("Nominated Node", "where the pod is to run once others are evicted",
            |it| text_or(&it["status"]["nominatedNodeName"], NONE).into()).wide(),
        column("Readiness Gates", "how many of the pod's readiness gates are passed",
            |it| readiness_gates(it).into()).wide(),
    ]) },
    Printer::new(&[("", "podtemplates")], &[
        NAME,
        column("Containers", "the names of the containers in the template", |it| names(&it["template"])),
        column("Images", "the images of the containers in the template", |it| image_names(&it["template"])),
        column("Pod Labels", "the labels of the template", |it| labels(&it["template"]["metadata"]["labels"]).into()),
    ]),
];

fn address(status: &Value) -> &str {
    text_or(&status["podIPs"][0]["ip"], text_or(&status["podIP"], NONE))
}

/// How often containers were restarted, and when the last one ended before that.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, status: &Value) {
        self.count += int_or(&status["restartCount"], 0);
        self.last = self.last.max(timestamp(&status["lastState"]["terminated"]["finishedAt"]));
    }

    fn to_cell(self, now: Timestamp) -> Value {
        match (self.count, self.last) {
            (0, _) | (_, None) => self.count.to_string().into(),
            (count, Some(last)) => {
                format!("{count} ({} ago)", human_duration(now.duration_since(last))).into()
            }
        }
    }
}

/// What the columns say of a pod.
struct Summary {
    ready: usize,
    containers: usize,
    status: String,
    restarts: Restarts,
}

impl Summary {
    fn of(pod: &Value) -> Self {
        let phase = text(&pod["status"]["phase"]);
        let mut status = text_or(&pod["status"]["reason"], phase).to_owned();
        // The API server sets the condition as long as there are gates; not every server here does.
        let gated =
            condition(pod, "PodScheduled").is_some_and(|c| c["reason"] == "SchedulingGated");
        if gated || !entries(&pod["spec"]["schedulingGates"]).is_empty() {
            "SchedulingGated".clone_into(&mut status);
        }

        let init = InitContainers::of(pod);
        let containers = entries(&pod["spec"]["containers"]).len() + sidecar_names(pod).count();
        let (mut ready, mut restarts) = (init.ready, init.restarts);
        let initializing = init.status.is_some();
        if let Some(held_up) = init.status {
            status = held_up;
        }
        if !initializing || has_condition(pod, "Initialized") {
            restarts = init.sidecar_restarts;
            ready += main_containers(pod, &mut status, &mut restarts);
        }
        if is_terminating(pod) {
            if pod["status"]["reason"] == "NodeLost" {
                "Unknown".clone_into(&mut status);
            } else if phase != "Succeeded" && phase != "Failed" {
                "Terminating".clone_into(&mut status);
            }
        }
        Self { ready, containers, status, restarts }
    }

    fn shown_ready(&self) -> String {
        format!("{}/{}", self.ready, self.containers)
    }
}

/// Goes through the main containers, last to first, so that the first one has the last word; says how many
/// are ready.
fn main_containers(pod: &Value, status: &mut String, restarts: &mut Restarts) -> usize {
    let (mut ready, mut running) = (0, false);
    let mut error = None;
    for container in entries(&pod["status"]["containerStatuses"]).iter().rev() {
        restarts.add(container);
        let state = &container["state"];
        let waiting = text(&state["waiting"]["reason"]);
        if !waiting.is_empty() {
            waiting.clone_into(status);
        } else if state["terminated"].is_object() {
            *status = ended(&state["terminated"]);
            if int_or(&state["terminated"]["exitCode"], 0) != 0 {
                error = Some(status.clone());
            }
        } else if container["ready"] == true && state["running"].is_object() {
            running = true;
            ready += 1;
        }
    }
    // One container that completed does not make the pod complete.
    if status == "Completed" {
        match error {
            _ if running && has_condition(pod, "Ready") => "Running".clone_into(status),
            Some(error) => *status = error,
            None if running => "NotReady".clone_into(status),
            None => {}
        }
    }
    ready
}

/// Why a container ended: its reason, else its signal, else its exit code.
fn ended(terminated: &Value) -> String {
    let signal = int_or(&terminated["signal"], 0);
    match text(&terminated["reason"]) {
        "" if signal != 0 => format!("Signal:{signal}"),
        "" => format!("ExitCode:{}", int_or(&terminated["exitCode"], 0)),
        reason => reason.to_owned(),
    }
}

/// What the init containers contribute.
#[derive(Default)]
struct InitContainers {
    /// Sidecars that are ready.
    ready: usize,
    restarts: Restarts,
    sidecar_restarts: Restarts,
    /// What initialization is held up by, if it is.
    status: Option<String>,
}

impl InitContainers {
    fn of(pod: &Value) -> Self {
        let total = entries(&pod["spec"]["initContainers"]).len();
        let mut init = Self::default();
        for (index, container) in
            entries(&pod["status"]["initContainerStatuses"]).iter().enumerate()
        {
            init.restarts.add(container);
            let sidecar = sidecar_names(pod).any(|name| name == text(&container["name"]));
            if sidecar {
                init.sidecar_restarts.add(container);
            }
            let (waiting, terminated) =
                (text(&container["state"]["waiting"]["reason"]), &container["state"]["terminated"]);
            if terminated.is_object() && int_or(&terminated["exitCode"], 0) == 0 {
                continue;
            }
            if sidecar && container["started"] == true {
                init.ready += usize::from(container["ready"] == true);
                continue;
            }
            init.status = Some(if terminated.is_object() {
                format!("Init:{}", ended(terminated))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{index}/{total}")
            });
            break;
        }
        init
    }
}

/// The init containers that go on running beside the main ones.
fn sidecar_names(pod: &Value) -> impl Iterator<Item = &str> {
    let init = entries(&pod["spec"]["initContainers"]).iter();
    init.filter(|container| container["restartPolicy"] == "Always")
        .map(|container| text(&container["name"]))
}

fn readiness_gates(pod: &Value) -> String {
    let gates = entries(&pod["spec"]["readinessGates"]);
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let passed = gates.iter().filter(|gate| has_condition(pod, text(&gate["conditionType"])));
    format!("{}/{}", passed.count(), gates.len())
}

fn conditions(pod: &Value) -> Value {
    let message = match text(&pod["status"]["phase"]) {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return Value::Null,
    };
    json!([{
        "type": "Completed",
        "status": "True",
        "reason": pod["status"]["phase"],
        "message": message,
    }])
}
