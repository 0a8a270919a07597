//! The deployment controller: one ReplicaSet for each pod template, rolled out step by step.
//!
//! As `k8s.io/kubernetes/pkg/controller/deployment` (`sync.go`, `rolling.go`, `recreate.go`, `progress.go`). Not
//! implemented: proportional scaling during a rollout, `minReadySeconds`, progress deadlines. A deployment still
//! converges.

use std::cmp::Ordering;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{self, Condition, Probed};
use super::edit;
use super::events;
use super::operation::{Operation, Outcome};
use super::owner;
use super::template_hash::{TEMPLATE_HASH, template_hash};
use super::time;
use super::world::{Key, Kind, World, uid};

const REVISION: &str = "deployment.kubernetes.io/revision";

/// How often a deployment that recreates its pods checks whether the old pods are gone.
const OLD_PODS_MS: i64 = 200;

/// The deployment and its ReplicaSets.
struct View<'w> {
    key: &'w Key,
    deployment: &'w Value,
    /// The ReplicaSet of the present template, if it exists.
    newest: Option<&'w Value>,
    /// The ReplicaSets of former templates, oldest first.
    old: Vec<&'w Value>,
    /// Whether pods of former templates exist, even if they are being deleted.
    old_pods: bool,
}

/// Adapts the deployment's ReplicaSets and status to its spec.
pub(crate) fn reconcile(world: &World, key: &Key, deployment: &Value, now: Timestamp) -> Outcome {
    let hash = template_hash(&deployment["spec"]["template"]);
    let view = View::of(world, key, deployment, &hash);
    let mut operations = Vec::new();
    if deployment["spec"]["paused"] != true {
        match view.newest {
            None => operations.push(view.new_replica_set(&hash)),
            Some(newest) => operations.extend(view.correct_revision(newest)),
        }
        if operations.is_empty() {
            operations = view.roll();
        }
        if operations.is_empty() {
            operations = view.forget_history();
        }
    } else if let Some(newest) = view.newest {
        operations.extend(scale(newest, view.desired()));
    }
    let told: Vec<Operation> =
        operations.iter().filter_map(|operation| view.tell(operation, now)).collect();
    operations.extend(told);
    // A change of the deployment itself leads to another call with its new state, which updates the status.
    let itself =
        |operation: &Operation| matches!(operation, Operation::Update { key: of, .. } if of == key);
    if !operations.iter().any(itself) {
        operations.extend(view.status(now));
    }
    // The end of a pod that no longer counts changes no ReplicaSet, so it would not lead to another call.
    let again = (view.recreates() && view.old_pods).then(|| time::later(now, OLD_PODS_MS));
    Outcome { operations, again }
}

impl<'w> View<'w> {
    fn of(world: &'w World, key: &'w Key, deployment: &'w Value, hash: &str) -> Self {
        let owned = world.dependents(uid(deployment));
        let owned = owned.filter(|(key, _)| key.kind == Kind::ReplicaSet).map(|(_, object)| object);
        let is_newest = |set: &&Value| set["metadata"]["labels"][TEMPLATE_HASH] == hash;
        let (newest, mut old): (Vec<&Value>, Vec<&Value>) = owned.partition(is_newest);
        old.sort_by_key(|set| revision(set));
        let pods_of = |set: &&Value| {
            let mut pods = world.dependents(uid(set)).filter(|(key, _)| key.kind == Kind::Pod);
            pods.any(|(_, pod)| {
                !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
            })
        };
        let old_pods = old.iter().any(pods_of);
        Self { key, deployment, newest: newest.first().copied(), old, old_pods }
    }

    fn desired(&self) -> i64 {
        edit::int32(&self.deployment["spec"]["replicas"]).unwrap_or(1)
    }

    fn all(&self) -> impl Iterator<Item = &'w Value> {
        self.old.iter().copied().chain(self.newest)
    }

    /// The number of pods that may exist above the desired number, and that may be missing below it.
    fn bounds(&self) -> (i64, i64) {
        let update = &self.deployment["spec"]["strategy"]["rollingUpdate"];
        let surge = share(&update["maxSurge"], self.desired(), true);
        let unavailable = share(&update["maxUnavailable"], self.desired(), false);
        // With both numbers at zero, a rollout would never progress.
        if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
    }

    fn recreates(&self) -> bool {
        self.deployment["spec"]["strategy"]["type"] == "Recreate"
    }

    fn new_replica_set(&self, hash: &str) -> Operation {
        let spec = &self.deployment["spec"];
        let mut template = spec["template"].clone();
        edit::put(&mut template, &["metadata", "labels", TEMPLATE_HASH], hash);
        let mut selector = spec["selector"].clone();
        edit::put(&mut selector, &["matchLabels", TEMPLATE_HASH], hash);
        let replicas: i64 = self.old.iter().map(|set| wanted(set)).sum();
        let first = if self.recreates() && replicas > 0 {
            0
        } else {
            (self.desired() + self.bounds().0 - replicas).clamp(0, self.desired())
        };
        let object = json!({
            "metadata": {
                "name": format!("{}-{hash}", self.key.name),
                "labels": template["metadata"]["labels"],
                "annotations": {
                    "deployment.kubernetes.io/desired-replicas": self.desired().to_string(),
                    "deployment.kubernetes.io/max-replicas":
                        (self.desired() + self.bounds().0).to_string(),
                    REVISION: self.next_revision().to_string(),
                },
                "ownerReferences": [owner::reference("apps/v1", "Deployment", self.deployment)],
            },
            "spec": {"replicas": first, "selector": selector, "template": template},
        });
        Operation::Create { kind: Kind::ReplicaSet, namespace: self.key.namespace.clone(), object }
    }

    fn next_revision(&self) -> i64 {
        self.old.iter().map(|set| revision(set)).max().unwrap_or(0).saturating_add(1)
    }

    /// A template that comes back gets a new revision. The deployment shows the newest revision.
    fn correct_revision(&self, newest: &'w Value) -> Option<Operation> {
        let wanted = revision(newest).max(self.next_revision());
        let annotate = |object: &Value| {
            let mut object = object.clone();
            edit::put(&mut object, &["metadata", "annotations", REVISION], wanted.to_string());
            object
        };
        if revision(newest) != wanted {
            return Some(Operation::Update { key: key_of(newest), object: annotate(newest) });
        }
        let shown = revision(self.deployment) == wanted;
        (!shown)
            .then(|| Operation::Update { key: self.key.clone(), object: annotate(self.deployment) })
    }

    /// One step of a rollout or of scaling. Nothing if all numbers are as desired.
    fn roll(&self) -> Vec<Operation> {
        let Some(newest) = self.newest else { return Vec::new() };
        if self.recreates() {
            let down: Vec<Operation> = self.old.iter().filter_map(|set| scale(set, 0)).collect();
            if !down.is_empty() || self.old_pods {
                return down;
            }
            return scale(newest, self.desired()).into_iter().collect();
        }
        let (surge, _) = self.bounds();
        let total: i64 = self.all().map(wanted).sum();
        let room = (self.desired() + surge - total).max(0);
        let target = self.desired().min(wanted(newest) + room);
        match scale(newest, target) {
            Some(operation) => vec![operation],
            None => self.scale_down_old(newest, total),
        }
    }

    /// Removes old pods: first the unavailable ones, and the others as new pods become available.
    fn scale_down_old(&self, newest: &Value, total: i64) -> Vec<Operation> {
        let least = self.desired() - self.bounds().1;
        let coming = wanted(newest) - count(newest, "availableReplicas");
        let mut budget = total - least - coming;
        let available: i64 = self.all().map(|set| count(set, "availableReplicas")).sum();
        let mut spare = available - least;
        let mut operations = Vec::new();
        for set in &self.old {
            let broken = (wanted(set) - count(set, "availableReplicas")).min(budget).max(0);
            budget -= broken;
            let healthy = (wanted(set) - broken).min(spare).min(budget).max(0);
            budget -= healthy;
            spare -= healthy;
            operations.extend(scale(set, wanted(set) - broken - healthy));
        }
        operations
    }

    /// The Kubernetes Event about a created or scaled ReplicaSet.
    fn tell(&self, operation: &Operation, now: Timestamp) -> Option<Operation> {
        let (set, before) = match operation {
            Operation::Create { kind: Kind::ReplicaSet, object, .. } => (object, 0),
            Operation::Update { key, object } if key.kind == Kind::ReplicaSet => {
                let is_it = |set: &&Value| uid(set) == uid(object);
                (object, self.all().find(is_it).map_or(0, wanted))
            }
            _ => return None,
        };
        let after = wanted(set);
        let direction = match after.cmp(&before) {
            Ordering::Less => "down",
            Ordering::Equal => return None,
            Ordering::Greater => "up",
        };
        let name = set["metadata"]["name"].as_str().unwrap_or_default();
        let message = format!("Scaled {direction} replica set {name} from {before} to {after}");
        let (component, reason) = ("deployment-controller", "ScalingReplicaSet");
        Some(events::about(self.key, self.deployment, component, reason, &message, now))
    }

    /// Deletes the ReplicaSets of old templates beyond the limit.
    fn forget_history(&self) -> Vec<Operation> {
        let limit = self.deployment["spec"]["revisionHistoryLimit"].as_u64().unwrap_or(10);
        let empty = |set: &&&Value| wanted(set) == 0 && count(set, "replicas") == 0;
        let empty: Vec<&Value> = self.old.iter().filter(empty).copied().collect();
        let excess = empty.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
        let delete =
            |set: &&Value| Operation::Delete { key: key_of(set), uid: uid(set).to_owned() };
        empty[..excess].iter().map(delete).collect()
    }

    fn status(&self, now: Timestamp) -> Option<Operation> {
        let sum = |member: &str| self.all().map(|set| count(set, member)).sum::<i64>();
        let (replicas, ready, available) =
            (sum("replicas"), sum("readyReplicas"), sum("availableReplicas"));
        let updated = self.newest.map_or(0, |set| count(set, "replicas"));
        let mut object = self.deployment.clone();
        let numbers = [
            ("replicas", replicas),
            ("updatedReplicas", updated),
            ("readyReplicas", ready),
            ("availableReplicas", available),
            ("unavailableReplicas", (self.desired().max(replicas) - available).max(0)),
        ];
        let generation = self.deployment["metadata"]["generation"].clone();
        edit::put(&mut object, &["status", "observedGeneration"], generation);
        for (member, number) in numbers {
            edit::count(&mut object["status"], member, number);
        }
        let enough = available >= self.desired() - self.bounds().1;
        let (status, reason, message) = if enough {
            ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        } else {
            (
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
        };
        let probed = Probed::Update;
        let kind = "Available";
        conditions::set(&mut object, Condition { kind, status, reason, message, probed }, now);
        let complete =
            updated == self.desired() && replicas == updated && available == self.desired();
        let (reason, verb) = match (self.newest, complete) {
            (None, _) => ("NewReplicaSetCreated", "is being created"),
            (Some(_), true) => ("NewReplicaSetAvailable", "has successfully progressed"),
            (Some(_), false) => ("ReplicaSetUpdated", "is progressing"),
        };
        let name = self.newest.and_then(|set| set["metadata"]["name"].as_str());
        let message = format!("ReplicaSet {:?} {verb}.", name.unwrap_or(&self.key.name));
        let (kind, status, message) = ("Progressing", "True", message.as_str());
        conditions::set(&mut object, Condition { kind, status, reason, message, probed }, now);
        (object["status"] != self.deployment["status"])
            .then(|| Operation::UpdateStatus { key: self.key.clone(), object })
    }
}

/// `maxSurge` and `maxUnavailable`: a number, or a percentage of the desired number, rounded up or down.
fn share(value: &Value, desired: i64, up: bool) -> i64 {
    let percentage = match value {
        Value::Number(_) => return edit::int32(value).unwrap_or(0).max(0),
        Value::String(text) => text.trim_end_matches('%').parse().unwrap_or(25),
        _ => 25,
    };
    let hundredths = desired.saturating_mul(percentage).max(0);
    if up { hundredths.saturating_add(99) / 100 } else { hundredths / 100 }
}

/// The desired number of pods of a ReplicaSet.
fn wanted(set: &Value) -> i64 {
    edit::int32(&set["spec"]["replicas"]).unwrap_or(1)
}

fn count(set: &Value, member: &str) -> i64 {
    edit::int32(&set["status"][member]).unwrap_or(0)
}

fn revision(object: &Value) -> i64 {
    let text = object["metadata"]["annotations"][REVISION].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn key_of(set: &Value) -> Key {
    let text = |key: &str| set["metadata"][key].as_str().unwrap_or_default();
    Key::new(Kind::ReplicaSet, text("namespace"), text("name"))
}

fn scale(set: &Value, replicas: i64) -> Option<Operation> {
    if wanted(set) == replicas {
        return None;
    }
    let mut object = set.clone();
    edit::put(&mut object, &["spec", "replicas"], replicas);
    Some(Operation::Update { key: key_of(set), object })
}
