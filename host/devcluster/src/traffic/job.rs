//! The job controller: runs the desired number of pods in parallel until enough of them have succeeded.
//!
//! As `k8s.io/kubernetes/pkg/controller/job`. Not implemented: indexed completion, deadlines, pod failure policies,
//! deletion after a time to live.

use jiff::Timestamp;
use serde_json::Value;

use super::conditions::{self, Condition, Probed};
use super::edit;
use super::events;
use super::operation::{Operation, Outcome};
use super::owner;
use super::pods::{self, Name, is_active, is_ready};
use super::time;
use super::world::{Key, Kind, World, uid};

/// The number of pods that are created at once.
const BURST_MAX: i64 = 100;

/// The progress of a job.
struct Progress {
    active: i64,
    ready: i64,
    succeeded: i64,
    failed: i64,
}

/// Adapts the job's pods and status to its spec.
pub(crate) fn reconcile(world: &World, key: &Key, job: &Value, now: Timestamp) -> Outcome {
    let spec = &job["spec"];
    if conditions::holds(job, "Complete") || conditions::holds(job, "Failed") {
        return Outcome::done();
    }
    let owned = pods::owned(world, uid(job));
    let count = |which: &dyn Fn(&Value) -> bool| -> i64 {
        i64::try_from(owned.iter().filter(|(_, pod)| which(pod)).count()).unwrap_or(i64::MAX)
    };
    let progress = Progress {
        active: count(&is_active),
        ready: count(&|pod| is_active(pod) && is_ready(pod)),
        succeeded: count(&|pod| pod["status"]["phase"] == "Succeeded"),
        failed: count(&|pod| pod["status"]["phase"] == "Failed"),
    };
    let parallelism = edit::int32(&spec["parallelism"]).unwrap_or(1);
    let completions = edit::int32(&spec["completions"]).unwrap_or(1);
    let complete = progress.succeeded >= completions;
    let failed = progress.failed > spec["backoffLimit"].as_i64().unwrap_or(6);
    let wanted = if complete || failed || spec["suspend"] == true {
        0
    } else {
        parallelism.min(completions - progress.succeeded)
    };
    let mut operations = Vec::new();
    for _ in 0..(wanted - progress.active).clamp(0, BURST_MAX) {
        operations.push(new_pod(key, job, now));
    }
    let excess = usize::try_from(progress.active - wanted).unwrap_or(0);
    let active = owned.iter().filter(|(_, pod)| is_active(pod));
    operations.extend(active.take(excess).map(|(key, pod)| pods::delete(key, pod)));
    operations.extend(status(key, job, &progress, complete, failed, now));
    Outcome::act(operations)
}

fn new_pod(key: &Key, job: &Value, now: Timestamp) -> Operation {
    let mut template = job["spec"]["template"].clone();
    for label in ["batch.kubernetes.io/job-name", "job-name"] {
        edit::put(&mut template, &["metadata", "labels", label], key.name.as_str());
    }
    let owner = owner::reference("batch/v1", "Job", job);
    let object = pods::from_template(&template, &Name::Generate(&key.name), owner, now);
    Operation::Create { kind: Kind::Pod, namespace: key.namespace.clone(), object }
}

fn status(
    key: &Key,
    job: &Value,
    progress: &Progress,
    complete: bool,
    failed: bool,
    now: Timestamp,
) -> Vec<Operation> {
    let mut object = job.clone();
    let numbers = [
        ("active", progress.active),
        ("ready", progress.ready),
        ("succeeded", progress.succeeded),
        ("failed", progress.failed),
    ];
    let status = edit::at(&mut object, &["status"]);
    for (member, number) in numbers {
        edit::count(status, member, number);
    }
    if status["startTime"].is_null() && job["spec"]["suspend"] != true {
        edit::put(status, &["startTime"], time::seconds(now));
    }
    let (kind, reason, message) = match (complete, failed) {
        (true, _) => {
            ("Complete", "CompletionsReached", "Reached expected number of succeeded pods")
        }
        (false, true) => {
            ("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        }
        (false, false) => ("", "", ""),
    };
    let mut operations = Vec::new();
    if !kind.is_empty() {
        let (status, probed) = ("True", Probed::Null);
        conditions::set(&mut object, Condition { kind, status, reason, message, probed }, now);
        let told = if complete { ("Completed", "Job completed") } else { (reason, message) };
        operations.push(events::about(key, job, "job-controller", told.0, told.1, now));
    }
    if complete {
        edit::put(&mut object, &["status", "completionTime"], time::seconds(now));
    }
    if object["status"] != job["status"] {
        operations.push(Operation::UpdateStatus { key: key.clone(), object });
    }
    operations
}
