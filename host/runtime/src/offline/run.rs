//! A run of one plugin without a host: the host's own actor, with given objects, answers and clock.

use super::journal::Journal;
use super::outside::Outside;
use super::plugin::{OfflinePlugin, actor, core};
use super::script::{Step, What};
use super::transcript::{END, GAVE_UP, Transcript};
use super::world::{Changed, OfflineWorld};
use crate::delivery::namespaces::FollowedNamespaces;
use crate::delivery::subscription::SubscriptionHandler;
use crate::event::SubscriptionId;
use crate::guest::instance_ends::InstanceEnds;
use crate::guest::json_pointer_index::SharedIndexes;
use crate::guest::surroundings::Surroundings;
use crate::namespace_labels::{NamespaceLabels, namespaces};
use crate::origin::Origin;
use crate::plugin::actor::{Actor, Version, VersionTapes};
use crate::plugin_host::running_version::{reads, subscriptions};
use crate::powers::access::VersionPermissions;
use informant_apimachinery::{GroupVersionResource, LabelSelector};
use informant_cache::{Cause, FinalState, Object, Reason, ResourceEventHandler as _};
use jiff::Timestamp;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The most steps of one run, calls included: a plugin that always has work ends here.
const STEPS_MAX: usize = 200_000;
/// The most changes by the plugin's own writes after a line of the events file. A controller that writes only
/// differences makes a few for each object.
const APPLIED_MAX: usize = 10_000;
/// The time for retries after the last line of the events file.
const SETTLE_TIME: Duration = Duration::from_secs(60);
/// The seed of random bytes.
const SEED: u64 = 0;
/// The only load.
pub(super) const LOAD: u64 = 1;

/// A plugin in a host, without the tasks.
pub(super) struct Run {
    actor: Actor,
    version: Arc<Version>,
    world: OfflineWorld,
    outside: Outside,
    surroundings: Surroundings,
    journal: Arc<Journal>,
    /// In the descriptor's order.
    handlers: Vec<ReplayedSubscription>,
    steps: usize,
    steps_max: usize,
    /// Changes by the plugin's writes since the last line of the events file.
    applied: usize,
    applied_max: usize,
}

/// A subscription and its resyncs.
struct ReplayedSubscription {
    resource: GroupVersionResource,
    id: SubscriptionId,
    handler: SubscriptionHandler,
    resync_period: Option<Duration>,
    resync_due: Option<Instant>,
}

impl ReplayedSubscription {
    /// Notifies the handler of all objects.
    fn tell_all(&self, world: &OfflineWorld, tell: impl Fn(&SubscriptionHandler, &Object)) {
        let all = Default::default();
        let found = world.store(&self.resource).indexer().list(None, &all, 0, None);
        for object in found.map(|page| page.items).unwrap_or_default() {
            tell(&self.handler, &object);
        }
    }

    /// Schedules the next resync, counted from now.
    fn wait_for_resync(&mut self, now: Instant) {
        self.resync_due = self.resync_period.and_then(|period| now.checked_add(period));
    }
}

/// The namespaces of the world, all of which are there from the beginning.
fn followed(selector: &LabelSelector, world: &OfflineWorld) -> Arc<FollowedNamespaces> {
    let namespaces = world.store(&namespaces()).indexer().clone();
    let followed = FollowedNamespaces::new(NamespaceLabels::new(selector, namespaces));
    followed.note_listed();
    Arc::new(followed)
}

impl Run {
    pub(super) fn new(plugin: &OfflinePlugin, world: OfflineWorld, begins: Timestamp) -> Self {
        let surroundings = Surroundings::given(begins, SEED);
        let (prepared, descriptor) = (&plugin.prepared, &plugin.prepared.descriptor);
        let names = descriptor.subscriptions.iter().map(|it| it.name.clone()).collect();
        let journal = Arc::new(Journal::new(surroundings.clone(), names));
        let outside = Outside::new(world.clone(), plugin.patch, surroundings.clone());
        let core = Arc::new(core(&plugin.name, prepared, begins));
        let ids: Vec<_> = (1..).map(SubscriptionId).take(descriptor.subscriptions.len()).collect();
        let granted = VersionPermissions::everything(descriptor);
        let stores = |resource: &GroupVersionResource, _| Origin::Store(world.store(resource));
        let charged = (&SharedIndexes::default(), &core.counters.ledger);
        let reads = reads(prepared, charged, &granted, stores);
        reads.fill_indexes(|| true);
        let version = Version {
            load: LOAD,
            number: descriptor.version.clone(),
            template: prepared.template.clone(),
            reads: Arc::new(reads),
            settings: prepared.settings.clone(),
            subscriptions: subscriptions(descriptor, &ids, &vec![LOAD; ids.len()], &granted),
            schedules: descriptor.schedules.clone(),
            shards: 1,
            tapes: VersionTapes::default(),
            ends: InstanceEnds::default(),
        };
        let handlers = descriptor.subscriptions.iter().zip(&ids).map(|(spec, id)| {
            let handler = SubscriptionHandler::new(*id, spec, core.queue.clone());
            let handler = match &spec.namespace_selector {
                Some(selector) => handler.following(followed(selector, &world)),
                None => handler,
            };
            ReplayedSubscription {
                resource: spec.resource.clone(),
                id: *id,
                handler: handler.of_loads(LOAD, LOAD),
                resync_period: spec.resync_period,
                resync_due: None,
            }
        });
        Self {
            handlers: handlers.collect(),
            actor: actor(plugin, &core, &surroundings, &outside, &journal),
            version: Arc::new(version),
            world,
            outside,
            surroundings,
            journal,
            steps: 0,
            steps_max: STEPS_MAX,
            applied: 0,
            applied_max: APPLIED_MAX,
        }
    }

    /// Writes change the objects, and the plugin gets their events.
    pub(super) fn applying_writes(self) -> Self {
        self.outside.apply_writes();
        self
    }

    /// For a caller that calls the plugin in another way.
    pub(super) fn into_parts(self) -> (Actor, Arc<Version>, Surroundings, Arc<Journal>) {
        (self.actor, self.version, self.surroundings, self.journal)
    }

    pub(super) async fn through(mut self, mut steps: Vec<Step>) -> Transcript {
        // Answers at the beginning of the file are set before the plugin starts and gets its initial objects.
        let begins = self.surroundings.wall();
        let answers = steps.iter().take_while(|step| step.is_answer_by(begins)).count();
        for step in steps.drain(..answers) {
            self.take(step).await;
        }
        let version = &self.version.number;
        self.journal
            .note("plugin", json!({ "name": self.actor.name.as_str(), "version": version }));
        if let Err(error) = self.actor.begin(self.version.clone()).await {
            self.journal.cut_off(format!("it does not run: {error}"));
            return self.journal.take();
        }
        self.tell_initial().await;
        for step in steps {
            self.take(step).await;
            if self.journal.is_cut() {
                return self.journal.take();
            }
        }
        self.come_to_rest().await;
        self.actor.stop_guest().await;
        self.tell_left();
        self.journal.take()
    }

    /// Notifies the handlers of all objects, as a first list does.
    async fn tell_initial(&mut self) {
        let queue = self.actor.core.queue.clone();
        for told in &self.handlers {
            queue.change(|it| it.change_initials(|initials| initials.begin(told.id, LOAD)));
        }
        let (cause, now) = (self.cause(Reason::Initial), self.surroundings.now());
        for told in &mut self.handlers {
            told.handler.is_ready(&mut { usize::MAX });
            told.tell_all(&self.world, |handler, object| handler.on_add(object, cause));
            told.handler.on_synced();
            told.wait_for_resync(now);
        }
        queue.change(|it| it.change_initials(|initials| initials.put_in_place(LOAD)));
        self.work_until(self.surroundings.now()).await;
    }

    async fn take(&mut self, step: Step) {
        self.applied = 0;
        if let Some(time) = step.time {
            let wait = Duration::try_from(time.duration_since(self.surroundings.wall()));
            self.work_until(self.surroundings.now() + wait.unwrap_or_default()).await;
        }
        match step.what {
            What::Nothing => {}
            What::Wait(time) => self.work_until(self.surroundings.now() + time).await,
            What::Answer(answer) => self.outside.prepare(answer),
            What::Change(change) => {
                match self.world.change(&change) {
                    Ok(changed) => self.tell(&change.resource, &changed),
                    Err(problem) => {
                        let line = step.line;
                        return self
                            .journal
                            .cut_off(format!("events file, line {line}: {problem}"));
                    }
                }
                self.work_until(self.surroundings.now()).await;
            }
        }
    }

    fn cause(&self, reason: Reason) -> Cause {
        Cause { reason, received: self.surroundings.now() }
    }

    /// Notifies the handlers of a change.
    fn tell(&self, resource: &GroupVersionResource, changed: &Changed) {
        let (change, object): (_, &Object) = match changed {
            Changed::Added(object) => ("added", object),
            Changed::Updated(_, object) => ("updated", object),
            Changed::Deleted(_, object) => ("deleted", object),
        };
        let (of, key) = (resource.to_string(), object.key().to_string());
        self.journal.note("event", json!({ "resource": of, "change": change, "key": key }));
        let cause = self.cause(Reason::Watch);
        for ReplayedSubscription { handler, .. } in
            self.handlers.iter().filter(|it| it.resource == *resource)
        {
            match changed {
                Changed::Added(object) => handler.on_add(object, cause),
                Changed::Updated(old, new) => handler.on_update(old, new, cause),
                Changed::Deleted(known, last) => {
                    handler.on_delete_known_as(known, last, FinalState::Known, cause);
                }
            }
            handler.on_batch_told();
        }
        if *resource == namespaces() {
            let followed = self.handlers.iter().filter_map(|it| it.handler.view().followed());
            followed.for_each(|it| it.note(object.key().name()));
            self.move_objects();
        }
    }

    /// Lets the objects of namespaces with other labels enter and leave views, as far as there is room.
    fn move_objects(&self) {
        for ReplayedSubscription { handler, resource, .. } in &self.handlers {
            let store = self.world.store(resource);
            while handler.walk(store.indexer(), &|_| true, usize::MAX) > 0 {}
            handler.on_batch_told();
        }
    }

    /// Does the due work up to this time.
    async fn work_until(&mut self, until: Instant) {
        loop {
            let due = self.actor.next_due(true).filter(|due| *due <= until);
            let resync = self.handlers.iter().filter_map(|told| told.resync_due).min();
            let resync = resync.filter(|at| *at <= until && due.is_none_or(|due| *at < due));
            let goes_on = match (resync, due) {
                (Some(at), _) => self.resync_at(at),
                (None, Some(due)) => self.step_at(due).await,
                (None, None) => break,
            };
            if !goes_on {
                return;
            }
        }
        self.surroundings.pass(until.saturating_duration_since(self.surroundings.now()));
    }

    /// Notifies the due resyncs. Returns whether another step is allowed.
    fn resync_at(&mut self, at: Instant) -> bool {
        if !self.may_step() {
            return false;
        }
        self.surroundings.pass(at.saturating_duration_since(self.surroundings.now()));
        let cause = self.cause(Reason::Resync);
        for told in self.handlers.iter_mut().filter(|told| told.resync_due == Some(at)) {
            let resource = told.resource.to_string();
            self.journal.note("resync", json!({ "resource": resource }));
            let again = |handler: &SubscriptionHandler, object: &Object| {
                handler.on_update(object, object, cause);
            };
            told.tell_all(&self.world, again);
            told.handler.on_batch_told();
            told.wait_for_resync(at);
        }
        true
    }

    /// Does the remaining retries, without schedules and resyncs.
    async fn come_to_rest(&mut self) {
        let until = self.surroundings.now() + SETTLE_TIME;
        while let Some(due) = self.actor.next_due(false).filter(|due| *due <= until) {
            if !self.step_at(due).await {
                return;
            }
        }
    }

    /// Counts a step. Returns whether it is allowed.
    fn may_step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > self.steps_max {
            let times = self.steps_max;
            self.journal.cut_off(format!(
                "it has had something to do {times} times, and still has: give it less to do"
            ));
        }
        !self.journal.is_cut()
    }

    /// Does the due work. Returns whether another step is allowed.
    async fn step_at(&mut self, due: Instant) -> bool {
        if !self.may_step() {
            return false;
        }
        self.surroundings.pass(due.saturating_duration_since(self.surroundings.now()));
        let before = self.given_up();
        self.actor.step().await;
        self.tell_applied();
        self.move_objects();
        if self.given_up() > before {
            self.journal.note(GAVE_UP, json!({}));
        }
        true
    }

    /// Notifies the handlers of the changes by the plugin's writes.
    fn tell_applied(&mut self) {
        for (resource, changed) in self.outside.take_applied() {
            self.tell(&resource, &changed);
            self.applied += 1;
        }
        if self.applied > self.applied_max {
            let times = self.applied_max;
            self.journal.cut_off(format!(
                "its writes have changed objects more than {times} times since the last line of the events file, and it does not come to rest: write only what differs"
            ));
        }
    }

    /// The number of calls that were given up.
    fn given_up(&self) -> u64 {
        let counters = &self.actor.core.counters;
        [&counters.dead, &counters.keys_dead, &counters.firings_dead]
            .map(|count| count.load(Relaxed))
            .iter()
            .sum()
    }

    /// Notes the unfinished work.
    fn tell_left(&self) {
        let core = &self.actor.core;
        let (events, keys) = core.queue.look(|it| (it.load().events, it.keys.count()));
        let letters = core.dead_letters.lock().len();
        let waiting =
            json!({ "waitingEvents": events, "waitingKeys": keys, "deadLetters": letters });
        self.journal.note(END, waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::configuration::Configurations;
    use crate::guest::compiler::CompilerOptions;
    use crate::offline::{OfflineOptions, Script};

    /// The transcript of the shipped text plugin, with this resync period, two objects and these events, and a bound
    /// of steps.
    async fn run(resync_period: &str, events: &str, steps_max: usize) -> Transcript {
        let text = include_str!("../../../../plugins/hello-wat/hello-wat.wat");
        let quoted = |json: &str| json.replace('"', "\\\"");
        let before =
            r#"{"version":"0.1.0","subscriptions":[{"name":"v1/pods","resource":"v1/pods"}]}"#;
        let descriptor = format!(
            r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods","resyncPeriod":"{resync_period}"}}]}}"#
        );
        let descriptor = format!("{descriptor:width$}", width = before.len());
        assert!(descriptor.len() == before.len() && text.contains(&quoted(before)));
        let text = text.replace(&quoted(before), &quoted(&descriptor));
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("hello.wasm");
        std::fs::write(&file, wat::parse_str(text).expect("it is well formed")).expect("a file");
        let (compiler, configurations) = (CompilerOptions::default(), Configurations::default());
        let options = OfflineOptions { compiler, configurations, patch: |of| Ok(of.object) };
        let plugin = OfflinePlugin::load(&file, None, options).await.expect("it is a plugin");
        let world = OfflineWorld::default();
        for name in ["a", "b"] {
            let json =
                format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}}}}"#);
            let resource = "v1/pods".parse().expect("a resource");
            world.put(&resource, json.as_bytes()).expect("it is an object");
        }
        let steps = Script::parse(events.as_bytes()).expect("events").steps;
        let run = Run { steps_max, ..Run::new(&plugin, world, Timestamp::UNIX_EPOCH) };
        plugin.on_guest_thread(run.through(steps)).await.expect("it runs")
    }

    #[tokio::test]
    async fn what_a_run_does_is_bounded() {
        assert_eq!(run("1m", "", 2).await.cut(), None);
        let why = "it has had something to do 1 times, and still has: give it less to do";
        assert_eq!(run("1m", "", 1).await.cut(), Some(why));
        // The two objects, the first resync, and the two again.
        let wait = "{\"wait\":\"24h\"}";
        let why = "it has had something to do 5 times, and still has: give it less to do";
        assert_eq!(run("1m", wait, 5).await.cut(), Some(why));
    }

    #[tokio::test]
    async fn everything_is_told_again_each_resync_period() {
        let goes =
            r#"{"resource":"v1/pods","change":"deleted","object":{"metadata":{"name":"a"}}}"#;
        let events = format!("{{\"wait\":\"70s\"}}\n{goes}\n{{\"wait\":\"60s\"}}\n");
        let shown = run("1m", &events, STEPS_MAX).await.to_text();
        let told = |line: &&str| line.contains("call handle") || line.contains("resync");
        let told: Vec<&str> = shown.lines().filter(told).collect();
        let expect = expect_test::expect![[r#"
            0.000 call handle subscription=v1/pods change=added reason=initial key=a seq=1 attempt=1
            0.000 call handle subscription=v1/pods change=added reason=initial key=b seq=2 attempt=1
            60.000 resync resource=v1/pods
            60.000 call handle subscription=v1/pods change=updated reason=resync key=a seq=3 attempt=1
            60.000 call handle subscription=v1/pods change=updated reason=resync key=b seq=4 attempt=1
            70.000 call handle subscription=v1/pods change=deleted reason=watch gone=deleted key=a seq=5 attempt=1
            120.000 resync resource=v1/pods
            120.000 call handle subscription=v1/pods change=updated reason=resync key=b seq=6 attempt=1"#]];
        expect.assert_eq(&told.join("\n"));
    }
}
