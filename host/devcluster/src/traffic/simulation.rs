//! The traffic's core: observed changes in, requests out. Pure and deterministic: equal seeds, changes and
//! times give equal requests. It is a controller manager without threads: one queue of objects, each with the
//! time at which to look at it again.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use serde_json::Value;

use super::background::Background;
use super::operation::{Operation, Outcome};
use super::world::{Key, Kind, World, controller, uid};
use super::{TrafficOptions, conditions};
use super::{apps, deployment, events, fleet, kubelet, node, owner, replica_set, scheduler, time};
use super::{daemon_set, job, stateful_set};

/// Objects looked at in one step; the others wait for the next.
const LOOKS_MAX: usize = 2_000;
/// Kubernetes Events that there may be; further ones go unsaid until old ones are dropped. Ten minutes of a
/// lively cluster make about a thousand, a few megabytes.
const EVENTS_MAX: usize = 2_000;
/// A refused request's object is looked at again after so long.
const RETRY_MS: i64 = 2_000;
/// Seconds of rate that can be saved up, and that a burst of other people's changes can cost.
const SAVED_SECONDS: f64 = 2.0;
const DEBT_SECONDS: f64 = 5.0;

/// The controllers, the kubelets, and what happens in the background.
#[derive(Debug)]
pub(crate) struct Simulation {
    options: TrafficOptions,
    world: World,
    /// What to look at when. Holds each key once, at the time in `due`.
    queue: BTreeSet<(Timestamp, Key)>,
    due: HashMap<Key, Timestamp>,
    background: Option<Background>,
    /// Changes that the background may still cause now.
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

    /// What is made before anything else: nodes, without which no pod runs, and the applications. What is there
    /// already is refused and stays as it is.
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

    /// Takes an object's new state, or that it is gone.
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

    /// Forgets all objects of a kind: they are about to be told anew. What goes unmentioned then is gone, and
    /// whatever depended on it has to be looked at.
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

    /// Everything to be done now.
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

    /// A request was refused: nothing will be observed, so its object is looked at again after a while.
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

    /// Kubernetes Events are told only as far as there is room for them, or not at all.
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

    /// Dependents follow when their owner goes, pods when their node changes sides.
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
        // Labels and taints count for daemons, too, but not every heartbeat.
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
