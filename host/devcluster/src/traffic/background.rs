//! The background changes of the cluster: releases, scaling, crashes, evictions, and sometimes a lost node. They
//! affect only the objects that `apps.rs` installed, and never objects that people create.
//!
//! A failure writes a state, as a kubelet would. The controllers then react to it as always.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::apps::{self, LIVELY};
use super::conditions;
use super::edit::{self, entries};
use super::events;
use super::fleet;
use super::kubelet;
use super::operation::Operation;
use super::time;
use super::world::{Key, Kind, World, uid};

/// How long a crashing pod runs between two crashes.
const CRASH_AFTER_MS: i64 = 1_500;
/// How long a batch pod works, and how long it is kept after its end.
const BATCH_RUNS_MS: i64 = 4_000;
const BATCH_KEPT_MS: i64 = 15_000;
/// How long a node is out. It is long enough for the node to be lost for a while.
const OUTAGE_MS: i64 = 35_000;
/// The number of actions in one step, at any rate.
const ACTIONS_MAX: usize = 200;
/// The largest number of replicas that scaling sets.
const REPLICAS_MAX: i64 = 6;
/// The number of pods that crash at the same time.
const CRASHING_MAX: usize = 4;

/// The possible actions. Each has a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Relabel,
    Flag,
    Scale,
    DeletePod,
    Batch,
    Crash,
    OutOfMemory,
    Release,
    Evict,
    Outage,
}

const WEIGHTS: [(Action, u32); 10] = [
    (Action::Relabel, 30),
    (Action::Flag, 12),
    (Action::Scale, 12),
    (Action::DeletePod, 10),
    (Action::Batch, 10),
    (Action::Crash, 8),
    (Action::OutOfMemory, 4),
    (Action::Release, 8),
    (Action::Evict, 4),
    (Action::Outage, 1),
];

/// Produces the background changes.
#[derive(Debug)]
pub(crate) struct Background {
    random: fastrand::Rng,
    /// The pods that will crash again, by UID, with the number of further crashes. At most [`CRASHING_MAX`].
    crashing: BTreeMap<String, u32>,
    /// The node that is out, and the end of its outage.
    outage: Option<(String, Timestamp)>,
}

impl Background {
    pub(crate) fn new(seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self { random, crashing: BTreeMap::new(), outage: None }
    }

    /// Whether the node's kubelet is out.
    pub(crate) fn is_out(&self, node: &str) -> bool {
        self.outage.as_ref().is_some_and(|(out, _)| out == node)
    }

    /// The present actions: the consequences of earlier actions, and new actions for about `budget` changes.
    pub(crate) fn step(&mut self, world: &World, budget: f64, now: Timestamp) -> Vec<Operation> {
        if self.outage.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.outage = None;
        }
        let mut operations = self.go_on_crashing(world, now);
        operations.extend(end_batches(world, now));
        let lively = |(key, _): &(&Key, &Value)| LIVELY.contains(&key.namespace.as_str());
        let pods = world.of_kind(Kind::Pod).filter(lively);
        let pods: Vec<_> = pods.filter(|(_, pod)| conditions::holds(pod, "Ready")).collect();
        for _ in 0..ACTIONS_MAX {
            if operations.len() as f64 >= budget {
                break;
            }
            let action = self.choose();
            operations.extend(self.act(action, world, &pods, now));
        }
        operations
    }

    fn choose(&mut self) -> Action {
        let total: u32 = WEIGHTS.iter().map(|(_, weight)| weight).sum();
        let mut at = self.random.u32(..total);
        for (action, weight) in WEIGHTS {
            if at < weight {
                return action;
            }
            at -= weight;
        }
        Action::Relabel
    }

    fn act(
        &mut self,
        action: Action,
        world: &World,
        ready: &[(&Key, &Value)],
        now: Timestamp,
    ) -> Vec<Operation> {
        match action {
            Action::Flag => self.flip_flag(world),
            Action::Scale => self.scale(world),
            Action::Release => self.release(world, now),
            Action::Batch => self.start_batch(world, now),
            Action::Outage => self.lose_node(now),
            Action::Relabel
            | Action::DeletePod
            | Action::Crash
            | Action::OutOfMemory
            | Action::Evict => {
                let Some(index) = self.random.usize(..).checked_rem(ready.len()) else {
                    return Vec::new();
                };
                let (key, pod) = ready[index];
                self.act_on_pod(action, key, pod, now)
            }
        }
    }

    fn act_on_pod(
        &mut self,
        action: Action,
        key: &Key,
        pod: &Value,
        now: Timestamp,
    ) -> Vec<Operation> {
        match action {
            Action::DeletePod => {
                vec![Operation::Delete { key: key.clone(), uid: uid(pod).to_owned() }]
            }
            Action::Evict => evict(key, pod, now),
            Action::Crash if self.crashing.len() < CRASHING_MAX => {
                self.crashing.insert(uid(pod).to_owned(), self.random.u32(1..4));
                vec![crash(key, pod, "Error", 1, now)]
            }
            Action::OutOfMemory => vec![crash(key, pod, "OOMKilled", 137, now)],
            _ => vec![relabel(key, pod)],
        }
    }

    fn go_on_crashing(&mut self, world: &World, now: Timestamp) -> Vec<Operation> {
        let mut operations = Vec::new();
        self.crashing.retain(|uid, left| {
            let Some((key, pod)) = world.by_uid(uid) else { return false };
            let due = time::later(world.since(key).unwrap_or(now), CRASH_AFTER_MS);
            if !conditions::holds(pod, "Ready") || now < due {
                return true;
            }
            operations.push(crash(key, pod, "Error", 1, now));
            *left -= 1;
            *left > 0
        });
        operations
    }

    fn lively_deployment<'w>(&mut self, world: &'w World) -> Option<(&'w Key, &'w Value)> {
        let lively = |(key, _): &(&Key, &Value)| {
            LIVELY.contains(&key.namespace.as_str())
                && apps::find(&key.namespace, &key.name).is_some()
        };
        let all: Vec<_> = world.of_kind(Kind::Deployment).filter(lively).collect();
        let index = self.random.usize(..).checked_rem(all.len())?;
        Some(all[index])
    }

    fn scale(&mut self, world: &World) -> Vec<Operation> {
        let Some((key, deployment)) = self.lively_deployment(world) else { return Vec::new() };
        let replicas = edit::int32(&deployment["spec"]["replicas"]).unwrap_or(1);
        let change = if self.random.bool() { 1 } else { -1 };
        let mut object = deployment.clone();
        let target = (replicas + change).clamp(1, REPLICAS_MAX);
        if target == replicas {
            return Vec::new();
        }
        edit::put(&mut object, &["spec", "replicas"], target);
        vec![Operation::Update { key: key.clone(), object }]
    }

    fn release(&mut self, world: &World, now: Timestamp) -> Vec<Operation> {
        let Some((key, deployment)) = self.lively_deployment(world) else { return Vec::new() };
        let Some(app) = apps::find(&key.namespace, &key.name) else { return Vec::new() };
        let mut object = deployment.clone();
        let path = "/spec/template/spec/containers";
        let Some(container) = edit::entries_mut(&mut object, path).first_mut() else {
            return Vec::new();
        };
        let image = app.next_image(container["image"].as_str().unwrap_or_default());
        edit::put(container, &["image"], image);
        let annotation =
            ["spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"];
        edit::put(&mut object, &annotation, time::seconds(now));
        vec![Operation::Update { key: key.clone(), object }]
    }

    fn flip_flag(&mut self, world: &World) -> Vec<Operation> {
        let namespace = LIVELY[self.random.usize(..LIVELY.len())];
        let key = Key::new(Kind::ConfigMap, namespace, "feature-flags");
        let Some(flags) = world.get(&key) else { return Vec::new() };
        let mut object = flags.clone();
        let on = flags["data"]["new-search"] == "true";
        edit::put(&mut object, &["data", "new-search"], if on { "false" } else { "true" });
        let percent = self.random.u32(1..=10) * 10;
        edit::put(&mut object, &["data", "rollout-percent"], percent.to_string());
        vec![Operation::Update { key, object }]
    }

    fn start_batch(&mut self, world: &World, now: Timestamp) -> Vec<Operation> {
        if world.get(&Key::new(Kind::Namespace, "", "analytics")).is_none() {
            return Vec::new();
        }
        let report = ["sales", "stock", "fraud", "churn"][self.random.usize(..4)];
        let object = json!({
            "metadata": {
                "generateName": format!("{report}-report-"),
                "labels": {
                    "app.kubernetes.io/name": format!("{report}-report"),
                    "app.kubernetes.io/component": "batch",
                },
            },
            "spec": {
                "restartPolicy": "Never",
                "containers": [{
                    "name": "report",
                    "image": "ghcr.io/example/report:1.4.2",
                    "args": [format!("--until={}", time::seconds(now))],
                    "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
                }],
            },
        });
        vec![Operation::Create { kind: Kind::Pod, namespace: "analytics".to_owned(), object }]
    }

    fn lose_node(&mut self, now: Timestamp) -> Vec<Operation> {
        let workers: Vec<&str> = fleet::workers().collect();
        if self.outage.is_none() {
            let node = workers[self.random.usize(..workers.len())];
            self.outage = Some((node.to_owned(), time::later(now, OUTAGE_MS)));
        }
        Vec::new()
    }
}

/// Ends batch pods after a while, and later deletes them, whether they succeeded or failed.
fn end_batches(world: &World, now: Timestamp) -> Vec<Operation> {
    let batch = |(key, pod): &(&Key, &Value)| {
        key.namespace == "analytics"
            && pod["metadata"]["labels"]["app.kubernetes.io/component"] == "batch"
    };
    let pods = world.of_kind(Kind::Pod).filter(batch);
    pods.filter_map(|(key, pod)| {
        let over = |milliseconds| {
            let since = world.since(key).unwrap_or(now);
            time::later(since, milliseconds) <= now
        };
        let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        if ended && over(BATCH_KEPT_MS) {
            return Some(Operation::Delete { key: key.clone(), uid: uid(pod).to_owned() });
        }
        let done = conditions::holds(pod, "Ready") && over(BATCH_RUNS_MS);
        done.then(|| crash(key, pod, "Completed", 0, now))
    })
    .collect()
}

/// Ends the pod's first container.
fn crash(key: &Key, pod: &Value, reason: &str, exit_code: i64, now: Timestamp) -> Operation {
    let mut object = pod.clone();
    if let Some(status) = edit::entries_mut(&mut object, "/status/containerStatuses").first_mut() {
        let terminated = json!({
            "exitCode": exit_code,
            "reason": reason,
            "startedAt": status["state"]["running"]["startedAt"],
            "finishedAt": time::seconds(now),
            "containerID": status["containerID"],
        });
        edit::put(status, &["state"], json!({ "terminated": terminated }));
        edit::put(status, &["ready"], false);
        edit::put(status, &["started"], false);
    }
    kubelet::sum_up(&mut object, true, now);
    Operation::UpdateStatus { key: key.clone(), object }
}

fn evict(key: &Key, pod: &Value, now: Timestamp) -> Vec<Operation> {
    let container = entries(&pod["spec"]["containers"]).first();
    let name = container.and_then(|container| container["name"].as_str()).unwrap_or_default();
    let message = format!(
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 84320Ki. \
         Container {name} was using 268Mi, request is 128Mi, has larger consumption of memory."
    );
    let mut object = pod.clone();
    edit::remove(edit::at(&mut object, &["status"]), "containerStatuses");
    edit::put(&mut object, &["status", "phase"], "Failed");
    edit::put(&mut object, &["status", "reason"], "Evicted");
    edit::put(&mut object, &["status", "message"], message.as_str());
    kubelet::sum_up(&mut object, true, now);
    let event = events::about(key, pod, "kubelet", "Evicted", &message, now);
    vec![Operation::UpdateStatus { key: key.clone(), object }, event]
}

/// Makes a pod part of a canary, or removes it from the canary.
fn relabel(key: &Key, pod: &Value) -> Operation {
    let mut object = pod.clone();
    let labels = edit::at(&mut object, &["metadata", "labels"]);
    if labels["canary"] == "true" {
        edit::remove(labels, "canary");
    } else {
        edit::put(labels, &["canary"], "true");
    }
    Operation::Update { key: key.clone(), object }
}
