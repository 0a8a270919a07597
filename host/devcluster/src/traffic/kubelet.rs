//! The kubelet: takes a bound pod from ContainerCreating to Running and Ready, restarts ended containers, and backs
//! off from containers that keep ending. No container runs; images are never pulled.
//!
//! All decisions follow from the pod's present state. So a written state of a container (a failure from the
//! background, or a person with `kubectl edit --subresource=status`) is where the kubelet continues.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{self, Condition, Probed};
use super::edit::{self, entries, fnv1a};
use super::events;
use super::given;
use super::operation::{Operation, Outcome};
use super::time;
use super::world::{Key, Kind, World, uid};

/// The least and the largest time of a start.
const START_MS: (u64, u64) = (200, 700);
/// The time from a container's start until it is ready.
const READY_MS: (u64, u64) = (50, 300);
/// The time from the deletion of a pod until its end.
const STOP_MS: (u64, u64) = (200, 600);
/// The time until a container that ended for the first time starts again.
const RESTART_MS: i64 = 400;
/// The first back-off. It doubles with each restart. A real back-off begins at 10 s and ends at 300 s; it is shorter
/// here, so that people see it.
const BACK_OFF_FIRST_MS: i64 = 2_000;
const BACK_OFF_MAX_MS: i64 = 60_000;

/// How long the containers of a job work before they succeed.
const JOB_MS: i64 = 2_000;

/// How long an ended pod with a controller is kept.
const ENDED_KEPT_MS: i64 = 120_000;

/// The phase of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Creating,
    BackingOff,
    Ended,
    Starting,
    Ready,
}

/// Carries out the next step of a bound pod. `since` is the time of the pod's last change.
pub(crate) fn reconcile(
    world: &World,
    key: &Key,
    pod: &Value,
    since: Timestamp,
    now: Timestamp,
) -> Outcome {
    let node_name = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    let Some(node) = world.get(&Key::new(Kind::Node, "", node_name)) else {
        // For nodes that no longer exist, the pod garbage collector does this.
        return remove(key, pod);
    };
    if matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
        return ended(key, pod, since, now);
    }
    let node_ready = conditions::holds(node, "Ready");
    if !node_ready {
        let mut object = pod.clone();
        sum_up(&mut object, false, now);
        return if_changed(key, pod, object, None);
    }
    if entries(&pod["status"]["containerStatuses"]).is_empty() {
        return Outcome::act(vec![Operation::UpdateStatus {
            key: key.clone(),
            object: creating(pod, node, now),
        }]);
    }
    advance(world, key, pod, since, now)
}

/// Ends the containers of a deleted pod, which takes a moment, and then removes the pod. A node that is not ready does
/// this, too, although a real one could not.
pub(crate) fn leave(key: &Key, pod: &Value, since: Timestamp, now: Timestamp) -> Outcome {
    let (least, most) = STOP_MS;
    let takes = least + fnv1a(uid(pod).as_bytes()) % (most - least);
    let end = time::later(since, takes as i64);
    if now < end { Outcome::at(end) } else { remove(key, pod) }
}

fn remove(key: &Key, pod: &Value) -> Outcome {
    Outcome::act(vec![Operation::Remove { key: key.clone(), uid: uid(pod).to_owned() }])
}

fn delete(key: &Key, pod: &Value) -> Outcome {
    Outcome::act(vec![Operation::Delete { key: key.clone(), uid: uid(pod).to_owned() }])
}

fn ended(key: &Key, pod: &Value, since: Timestamp, now: Timestamp) -> Outcome {
    // A job counts its ended pods and keeps them.
    if super::world::controller(pod).is_none() || works_for_a_job(pod) {
        return Outcome::done();
    }
    let end = time::later(since, ENDED_KEPT_MS);
    if now < end { Outcome::at(end) } else { delete(key, pod) }
}

/// The pod's state after the node has accepted it, while its containers are prepared.
fn creating(pod: &Value, node: &Value, now: Timestamp) -> Value {
    let mut object = pod.clone();
    let address = entries(&node["status"]["addresses"])
        .iter()
        .find(|address| address["type"] == "InternalIP")
        .map_or(Value::Null, |address| address["address"].clone());
    let status = |container: &Value| {
        json!({
            "name": container["name"],
            "state": {"waiting": {"reason": "ContainerCreating"}},
            "lastState": {},
            "ready": false,
            "restartCount": 0,
            "image": container["image"],
            "imageID": "",
            "started": false,
        })
    };
    let statuses: Vec<Value> = entries(&pod["spec"]["containers"]).iter().map(status).collect();
    edit::put(&mut object, &["status", "phase"], "Pending");
    edit::put(&mut object, &["status", "hostIP"], address.clone());
    edit::put(&mut object, &["status", "hostIPs"], vec![json!({"ip": address})]);
    edit::put(&mut object, &["status", "startTime"], time::seconds(now));
    let init: Vec<Value> = entries(&pod["spec"]["initContainers"]).iter().map(status).collect();
    if !init.is_empty() {
        edit::put(&mut object, &["status", "initContainerStatuses"], init);
    }
    edit::put(&mut object, &["status", "containerStatuses"], statuses);
    condition(&mut object, "PodReadyToStartContainers", "False", ("", ""), now);
    condition(&mut object, "Initialized", "True", ("", ""), now);
    sum_up(&mut object, true, now);
    condition(&mut object, "PodScheduled", "True", ("", ""), now);
    object
}

/// The pod as it will be when it runs. It shows in advance which fields the kubelet sets.
pub(crate) fn started(pod: &Value, now: Timestamp) -> Value {
    let mut object = creating(pod, &Value::Null, now);
    start_all(&mut object, now);
    for status in edit::entries_mut(&mut object, "/status/containerStatuses") {
        edit::put(status, &["ready"], true);
    }
    sum_up(&mut object, true, now);
    object
}

/// Carries out the next step of each container for which it is due.
fn advance(world: &World, key: &Key, pod: &Value, since: Timestamp, now: Timestamp) -> Outcome {
    let mut object = pod.clone();
    let mut told = Vec::new();
    let mut again: Option<Timestamp> = None;
    let seed = fnv1a(uid(pod).as_bytes());
    for (index, status) in entries(&pod["status"]["containerStatuses"]).iter().enumerate() {
        let phase = phase(status);
        let Some(due) = due(pod, status, phase, since, seed) else { continue };
        if now < due {
            again = Some(again.map_or(due, |again| again.min(due)));
            continue;
        }
        let new = &mut edit::entries_mut(&mut object, "/status/containerStatuses")[index];
        match phase {
            Phase::Creating | Phase::BackingOff => {
                run(new, seed, index, now);
                told.push(phase);
            }
            Phase::Ended if needs_back_off(pod, status) => {
                back_off(pod, new, key);
                told.push(Phase::Ended);
            }
            Phase::Ended => run(new, seed, index, now),
            Phase::Starting => edit::put(new, &["ready"], true),
            Phase::Ready => complete(new, now),
        }
    }
    if told.contains(&Phase::Creating) {
        become_running(&mut object, given::address(world, pod, seed), now);
    }
    finish(&mut object, now);
    sum_up(&mut object, true, now);
    let mut outcome = if_changed(key, pod, object, again);
    outcome.operations.extend(tell(key, pod, &told, now));
    outcome
}

fn phase(status: &Value) -> Phase {
    let state = &status["state"];
    if state["terminated"].is_object() {
        Phase::Ended
    } else if state["waiting"]["reason"] == "CrashLoopBackOff" {
        Phase::BackingOff
    } else if !state["running"].is_object() {
        Phase::Creating
    } else if status["ready"] == true {
        Phase::Ready
    } else {
        Phase::Starting
    }
}

/// The time of the container's next step. `None` if it has none.
fn due(
    pod: &Value,
    status: &Value,
    phase: Phase,
    since: Timestamp,
    seed: u64,
) -> Option<Timestamp> {
    let within = |(least, most): (u64, u64)| (least + seed % (most - least)) as i64;
    match phase {
        Phase::Creating => Some(time::later(since, within(START_MS))),
        Phase::Starting => Some(time::later(since, within(READY_MS))),
        Phase::Ready if works_for_a_job(pod) => Some(time::later(since, JOB_MS)),
        Phase::Ready => None,
        Phase::Ended if !restarts(pod, &status["state"]["terminated"]) => None,
        Phase::Ended => Some(time::later(since, RESTART_MS)),
        Phase::BackingOff => {
            let count = status["restartCount"].as_u64().unwrap_or(0);
            let doublings = u32::try_from(count.saturating_sub(1)).unwrap_or(u32::MAX).min(5);
            let wait = (BACK_OFF_FIRST_MS << doublings).min(BACK_OFF_MAX_MS);
            let ended = time::parse(&status["lastState"]["terminated"]["finishedAt"]);
            Some(time::later(ended.unwrap_or(since), wait))
        }
    }
}

fn restarts(pod: &Value, terminated: &Value) -> bool {
    match pod["spec"]["restartPolicy"].as_str() {
        Some("Never") => false,
        Some("OnFailure") => terminated["exitCode"].as_i64().unwrap_or(0) != 0,
        _ => true,
    }
}

/// Whether a restart must wait: the first restart is immediate, later restarts back off.
fn needs_back_off(pod: &Value, status: &Value) -> bool {
    let count = status["restartCount"].as_u64().unwrap_or(0);
    count > 0 && restarts(pod, &status["state"]["terminated"])
}

fn back_off(pod: &Value, status: &mut Value, key: &Key) {
    let message = format!(
        "back-off restarting failed container={} pod={}_{}({})",
        status["name"].as_str().unwrap_or_default(),
        key.name,
        key.namespace,
        uid(pod)
    );
    let ended = status["state"].clone();
    edit::put(status, &["lastState"], ended);
    let waiting = json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}});
    edit::put(status, &["state"], waiting);
    edit::put(status, &["ready"], false);
    edit::put(status, &["started"], false);
}

/// Starts a container, for the first time or again.
fn run(status: &mut Value, seed: u64, index: usize, now: Timestamp) {
    let ended = status["state"]["terminated"].is_object();
    let again = ended || status["lastState"]["terminated"].is_object();
    if ended {
        let state = status["state"].clone();
        edit::put(status, &["lastState"], state);
    }
    if again {
        let count = edit::int32(&status["restartCount"]).unwrap_or(0) + 1;
        edit::put(status, &["restartCount"], count);
    }
    let image = status["image"].as_str().unwrap_or_default().to_owned();
    let count = status["restartCount"].as_u64().unwrap_or(0);
    let image_id = given::image_id(&image);
    let container = given::container_id(seed, index, count);
    edit::put(status, &["imageID"], image_id);
    edit::put(status, &["containerID"], container);
    edit::put(status, &["state"], json!({"running": {"startedAt": time::seconds(now)}}));
    edit::put(status, &["ready"], false);
    edit::put(status, &["started"], true);
}

/// Ends the container's work with success.
fn complete(status: &mut Value, now: Timestamp) {
    let terminated = json!({
        "exitCode": 0,
        "reason": "Completed",
        "startedAt": status["state"]["running"]["startedAt"],
        "finishedAt": time::seconds(now),
        "containerID": status["containerID"],
    });
    edit::put(status, &["state"], json!({ "terminated": terminated }));
    edit::put(status, &["ready"], false);
    edit::put(status, &["started"], false);
}

fn works_for_a_job(pod: &Value) -> bool {
    super::world::controller(pod).is_some_and(|owner| owner["kind"] == "Job")
}

fn start_all(object: &mut Value, now: Timestamp) {
    let seed = fnv1a(uid(object).as_bytes());
    let statuses = edit::entries_mut(object, "/status/containerStatuses");
    for (index, status) in statuses.iter_mut().enumerate() {
        run(status, seed, index, now);
    }
    become_running(object, "10.0.0.1".to_owned(), now);
}

/// Makes the pod run: it has an address, and its init containers have ended.
fn become_running(object: &mut Value, address: String, now: Timestamp) {
    edit::put(object, &["status", "phase"], "Running");
    edit::put(object, &["status", "podIP"], address.as_str());
    edit::put(object, &["status", "podIPs"], vec![json!({"ip": address})]);
    for status in edit::entries_mut(object, "/status/initContainerStatuses") {
        let at = time::seconds(now);
        let through = json!({"terminated": {
            "exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at,
        }});
        edit::put(status, &["state"], through);
        edit::put(status, &["ready"], true);
    }
    condition(object, "PodReadyToStartContainers", "True", ("", ""), now);
}

/// Ends a pod whose containers have all ended for good.
fn finish(object: &mut Value, now: Timestamp) {
    let statuses = entries(&object["status"]["containerStatuses"]);
    let over = |status: &Value| {
        let terminated = &status["state"]["terminated"];
        terminated.is_object() && !restarts(object, terminated)
    };
    if statuses.is_empty() || !statuses.iter().all(over) {
        return;
    }
    let failed = statuses
        .iter()
        .any(|status| status["state"]["terminated"]["exitCode"].as_i64().unwrap_or(0) != 0);
    edit::put(object, &["status", "phase"], if failed { "Failed" } else { "Succeeded" });
    condition(object, "Initialized", "True", ("PodCompleted", ""), now);
}

/// Sets `ContainersReady` and `Ready` from the containers and the node.
pub(crate) fn sum_up(object: &mut Value, node_ready: bool, now: Timestamp) {
    let statuses = entries(&object["status"]["containerStatuses"]);
    let unready: Vec<&str> = statuses
        .iter()
        .filter(|status| status["ready"] != true)
        .map(|status| status["name"].as_str().unwrap_or_default())
        .collect();
    let message = format!("containers with unready status: [{}]", unready.join(" "));
    let all_ready = unready.is_empty() && !statuses.is_empty();
    let ended = object["status"]["phase"] == "Succeeded";
    let why = match (ended, all_ready) {
        (true, _) => ("PodCompleted", ""),
        (false, true) => ("", ""),
        (false, false) => ("ContainersNotReady", message.as_str()),
    };
    let word = |ready: bool| if ready { "True" } else { "False" };
    let containers = word(all_ready && !ended);
    condition(object, "ContainersReady", containers, why, now);
    let ready = word(all_ready && !ended && node_ready);
    let why = if node_ready || !all_ready { why } else { ("NodeNotReady", "") };
    condition(object, "Ready", ready, why, now);
}

fn condition(object: &mut Value, kind: &str, status: &str, why: (&str, &str), now: Timestamp) {
    let (reason, message) = why;
    let probed = Probed::Null;
    conditions::set(object, Condition { kind, status, reason, message, probed }, now);
}

fn if_changed(key: &Key, pod: &Value, object: Value, again: Option<Timestamp>) -> Outcome {
    if object["status"] == pod["status"] {
        return Outcome { operations: Vec::new(), again };
    }
    Outcome { operations: vec![Operation::UpdateStatus { key: key.clone(), object }], again }
}

/// The Kubernetes Events about these steps.
fn tell(key: &Key, pod: &Value, told: &[Phase], now: Timestamp) -> Vec<Operation> {
    let container = &pod["spec"]["containers"][0];
    let (name, image) =
        (container["name"].as_str().unwrap_or_default(), container["image"].as_str());
    let event = |reason, message: String| events::about(key, pod, "kubelet", reason, &message, now);
    if told.contains(&Phase::Ended) {
        let message = format!("Back-off restarting failed container {name} in pod {}", key.name);
        return vec![event("BackOff", message)];
    }
    if told.is_empty() {
        return Vec::new();
    }
    let image = image.unwrap_or_default();
    let pulled = format!("Container image {image:?} already present on machine");
    vec![
        event("Pulled", pulled),
        event("Created", format!("Created container: {name}")),
        event("Started", format!("Started container {name}")),
    ]
}
