//! The core of the traffic: observed changes in, requests out. It is synchronous and deterministic: equal seeds,
//! changes and times give equal requests. It is a controller manager without threads. Its one queue contains objects,
//! each with the time of its next check.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use serde_json::Value;

use super::background::Background;
use super::operation::{Operation, Outcome};
use super::world::{Key, Kind, World, controller, uid};
use super::{TrafficOptions, conditions};
use super::{apps, deployment, events, fleet, kubelet, node, owner, replica_set, scheduler, time};
use super::{daemon_set, job, stateful_set};

/// The number of objects that are checked in one step. Other objects wait for the next step.
const LOOKS_MAX: usize = 2_000;
/// The number of Kubernetes Events that may exist. Further ones are not written until old ones are deleted. Ten
/// minutes of an active cluster produce about a thousand, a few megabytes.
const EVENTS_MAX: usize = 2_000;
/// The time until the next check of an object whose request was refused.
const RETRY_MS: i64 = 2_000;
/// The bounds of the budget, in seconds of the rate: what can be saved, and the debt that other clients' changes can
/// cause.
const SAVED_SECONDS: f64 = 2.0;
const DEBT_SECONDS: f64 = 5.0;

/// The controllers, the kubelets and the background changes.
#[derive(Debug)]
pub(crate) struct Simulation {
    options: TrafficOptions,
    world: World,
    /// The next checks by time. It contains each key once, at the time in `due`.
    queue: BTreeSet<(Timestamp, Key)>,
    due: HashMap<Key, Timestamp>,
    background: Option<Background>,
    /// The number of changes that the background may cause now.
    tokens: f64,
    last_step: Option<Timestamp>,
}

impl Simulation {
    pub(crate) fn new(options: TrafficOptions) -> Self {
        Self {
            world: World::default(),
            queue: BTreeSet::new(),
            due: HashMap::new(),
            background: options.background.then(|| Background::new(options.seed)),
            tokens: 0.0,
            last_step: None,
            options,
        }
    }

    /// The first objects: nodes, without which no pod runs, and the applications. The request for an object that
    /// exists is refused, and the object stays.
    pub(crate) fn install(&self, now: Timestamp) -> Vec<Operation> {
        let mut operations = Vec::new();
        if self.options.controllers {
            operations.extend(fleet::register(now));
        }
        if self.options.background {
            operations.extend(apps::install(now));
        }
        operations
    }

    /// Takes an object's new state, or its deletion.
    pub(crate) fn observe(&mut self, key: Key, object: Option<Value>, now: Timestamp) {
        if matches!(key.kind, Kind::Deployment | Kind::ReplicaSet | Kind::Pod | Kind::ConfigMap) {
            self.tokens -= 1.0;
        }
        let before = self.world.remove(&key);
        for state in before.iter().chain(&object) {
            self.look_at_owner(state, now);
        }
        self.look_at_what_depends(&key, before.as_ref(), object.as_ref(), now);
        match object {
            Some(object) => {
                self.world.set(key.clone(), object, now);
                self.look_at(key, now);
            }
            None => self.forget(&key),
        }
    }

    /// Forgets all objects of a kind before they are observed again. An object that is then missing is gone, and its
    /// dependents must be checked.
    pub(crate) fn forget_kind(&mut self, kind: Kind, now: Timestamp) {
        let keys: Vec<Key> = self.world.of_kind(kind).map(|(key, _)| key.clone()).collect();
        for key in keys {
            let uid = self.world.remove(&key).map_or_else(String::new, |o| uid(&o).to_owned());
            self.forget(&key);
            let dependents: Vec<Key> =
                self.world.dependents(&uid).map(|(key, _)| key.clone()).collect();
            let pods = (kind == Kind::Node).then(|| self.world.pods_on(&key.name).cloned());
            for key in dependents.into_iter().chain(pods.into_iter().flatten().collect::<Vec<_>>())
            {
                self.look_at(key, now);
            }
        }
    }

    /// The requests that are due now.
    pub(crate) fn step(&mut self, now: Timestamp) -> Vec<Operation> {
        let mut operations = Vec::new();
        if self.options.controllers {
            for _ in 0..LOOKS_MAX {
                let Some(key) = self.next_due(now) else { break };
                let outcome = self.reconcile(&key, now);
                operations.extend(outcome.operations);
                if let Some(again) = outcome.again {
                    self.look_at(key, again);
                }
            }
        }
        self.earn(now);
        if let Some(background) = &mut self.background {
            operations.extend(background.step(&self.world, self.tokens, now));
        }
        self.drop_excess_events(&mut operations);
        operations
    }

    /// Plans another check of the object of a refused request, because no change will be observed.
    pub(crate) fn refused(&mut self, operation: &Operation, now: Timestamp) {
        let retry = time::later(now, RETRY_MS);
        match operation {
            Operation::Update { key, .. }
            | Operation::UpdateStatus { key, .. }
            | Operation::Delete { key, .. }
            | Operation::Remove { key, .. } => self.look_at(key.clone(), retry),
            Operation::Create { object, .. } => self.look_at_owner(object, retry),
        }
    }

    fn reconcile(&self, key: &Key, now: Timestamp) -> Outcome {
        let Some(object) = self.world.get(key) else { return Outcome::done() };
        if object["metadata"]["deletionTimestamp"].is_string() {
            let since = self.world.since(key).unwrap_or(now);
            return match key.kind {
                Kind::Pod => kubelet::leave(key, object, since, now),
                _ => Outcome::done(),
            };
        }
        if let Some(collect) = owner::collect(&self.world, key, object) {
            return Outcome::act(vec![collect]);
        }
        let since = self.world.since(key).unwrap_or(now);
        match key.kind {
            Kind::Deployment => deployment::reconcile(&self.world, key, object, now),
            Kind::ReplicaSet => replica_set::reconcile(&self.world, key, object, now),
            Kind::StatefulSet => stateful_set::reconcile(&self.world, key, object, now),
            Kind::DaemonSet => daemon_set::reconcile(&self.world, key, object, now),
            Kind::Job => job::reconcile(&self.world, key, object, now),
            Kind::Pod if object["spec"]["nodeName"].as_str().is_none_or(str::is_empty) => {
                scheduler::reconcile(&self.world, key, object, now)
            }
            Kind::Pod => kubelet::reconcile(&self.world, key, object, since, now),
            Kind::Node => {
                let out = self.background.as_ref().is_some_and(|known| known.is_out(&key.name));
                node::reconcile(&self.world, key, object, out, now)
            }
            Kind::Event => events::reconcile(key, object, now),
            Kind::Namespace | Kind::Lease | Kind::ConfigMap | Kind::Service => Outcome::done(),
        }
    }

    /// Drops Kubernetes Events for which there is no room, or all of them.
    fn drop_excess_events(&self, operations: &mut Vec<Operation>) {
        let room = EVENTS_MAX.saturating_sub(self.world.count(Kind::Event));
        let mut room = if self.options.kubernetes_events { room } else { 0 };
        operations.retain(|operation| {
            let is_event = matches!(operation, Operation::Create { kind: Kind::Event, .. });
            if is_event && room == 0 {
                return false;
            }
            room -= usize::from(is_event);
            true
        });
    }

    fn earn(&mut self, now: Timestamp) {
        let rate = self.options.events_per_second.clamp(0.0, TrafficOptions::RATE_MAX);
        let passed = self.last_step.map_or(0.0, |last| now.duration_since(last).as_secs_f64());
        self.last_step = Some(now);
        let earned = self.tokens + passed * rate;
        self.tokens = earned.clamp(-DEBT_SECONDS * rate, (SAVED_SECONDS * rate).max(1.0));
    }

    fn look_at(&mut self, key: Key, at: Timestamp) {
        match self.due.get(&key) {
            Some(due) if *due <= at => return,
            Some(due) => {
                self.queue.remove(&(*due, key.clone()));
            }
            None => {}
        }
        self.due.insert(key.clone(), at);
        self.queue.insert((at, key));
    }

    fn forget(&mut self, key: &Key) {
        if let Some(due) = self.due.remove(key) {
            self.queue.remove(&(due, key.clone()));
        }
    }

    fn next_due(&mut self, now: Timestamp) -> Option<Key> {
        if self.queue.first()?.0 > now {
            return None;
        }
        let (_, key) = self.queue.pop_first()?;
        self.due.remove(&key);
        Some(key)
    }

    fn look_at_owner(&mut self, object: &Value, at: Timestamp) {
        let owner = controller(object).and_then(|owner| owner["uid"].as_str());
        if let Some((key, _)) = owner.and_then(|owner| self.world.by_uid(owner)) {
            let key = key.clone();
            self.look_at(key, at);
        }
    }

    /// Plans checks of an owner's dependents when the owner is gone, and of a node's pods when the node becomes ready
    /// or not ready.
    fn look_at_what_depends(
        &mut self,
        key: &Key,
        before: Option<&Value>,
        after: Option<&Value>,
        now: Timestamp,
    ) {
        let mut keys: Vec<Key> = Vec::new();
        let former = before.map_or("", uid);
        if former != after.map_or("", uid) {
            keys.extend(self.world.dependents(former).map(|(key, _)| key.clone()));
        }
        let ready =
            |node: Option<&Value>| node.is_some_and(|node| conditions::holds(node, "Ready"));
        if key.kind == Kind::Node && ready(before) != ready(after) {
            keys.extend(self.world.pods_on(&key.name).cloned());
        }
        // A node's labels and taints concern daemons, too. Heartbeats do not.
        let placed = |node: Option<&Value>| {
            node.map(|node| (node["spec"].clone(), node["metadata"]["labels"].clone()))
        };
        if key.kind == Kind::Node && placed(before) != placed(after) {
            keys.extend(self.world.of_kind(Kind::DaemonSet).map(|(key, _)| key.clone()));
        }
        for key in keys {
            self.look_at(key, now);
        }
    }

    #[cfg(test)]
    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    #[cfg(test)]
    pub(crate) fn check_invariants(&self) {
        self.world.check_invariants();
        assert_eq!(self.queue.len(), self.due.len(), "each key is queued once");
        for (at, key) in &self.queue {
            assert_eq!(self.due.get(key), Some(at));
        }
    }
}
