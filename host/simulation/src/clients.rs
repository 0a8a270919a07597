//! The program that uses the informers: it takes and returns leases, adds and removes handlers and indexes, and reads.

use crate::around::Around;
use crate::controller::Controller;
use crate::door::Door;
use crate::history::History;
use crate::manner::Manner;
use crate::narrow::Narrow;
use crate::reads::{INDEXES, check_indexes, check_pages, index};
use crate::slot::{HANDLERS_MAX, Hold, Kind, Slot, next, pull};
use crate::tenant::{Tenant, mischief, told};
use informant_apimachinery::GroupVersionResource;
use informant_cache::{
    HandlerOptions, HighWaterMark, InformerState, Object, ResourceEventHandler, Scope,
    SharedInformerFactory,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// All clients of a run.
pub(crate) struct Clients {
    pub(crate) factory: SharedInformerFactory,
    around: Around,
    tenants: Vec<Tenant>,
    made: Arc<Mutex<u64>>,
    random: fastrand::Rng,
}

impl Clients {
    pub(crate) fn new(
        factory: SharedInformerFactory,
        around: Around,
        random: fastrand::Rng,
    ) -> Self {
        Self { factory, around, tenants: Vec::new(), made: Arc::default(), random }
    }

    pub(crate) fn len(&self) -> usize {
        self.tenants.len()
    }

    /// Adds a user of a resource, of all of it or of a part.
    pub(crate) fn lease(&mut self, gvr: &GroupVersionResource) {
        let parts = if self.around.mostly_metadata { 7 } else { 4 };
        let scope = self.scope().filter(|_| self.random.u32(..8) < parts);
        let (door, lease) = match scope.map(|scope| self.factory.view(gvr, scope)) {
            Some(Ok(view)) => (Door::View(view), None),
            Some(Err(error)) => {
                self.around.journal.broken("a view within the factory's scope", error.to_string());
                return;
            }
            None => {
                let lease = self.factory.lease(gvr);
                (Door::Informer(lease.informer().clone()), Some(lease))
            }
        };
        self.around.journal.note(format_args!("it sees {}", door.scope()));
        let (gvr, handlers) = (gvr.clone(), Arc::default());
        self.tenants.push(Tenant { gvr, door, _lease: lease, handlers, controller: None });
        self.factory.start();
        self.add_handler(self.tenants.len() - 1);
    }

    /// A part of a resource: namespaces, labels, a name, or several of them, whole or as metadata alone.
    fn scope(&mut self) -> Option<Scope> {
        let random = &mut self.random;
        if !self.around.views {
            return None;
        }
        // Whole objects beside metadata alone come in when a first reader needs them.
        let of_eight = if self.around.mostly_metadata { 7 } else { 3 };
        let is_metadata_only = random.u32(..8) < of_eight;
        let mut scope = match random.u32(..3) {
            0 => Scope::all(),
            1 => Scope::namespace("default"),
            _ => Scope::namespaces(["kube-public", "kube-system"]),
        };
        if is_metadata_only {
            scope = scope.metadata_only();
        }
        if !self.around.selectors {
            return Some(scope);
        }
        if random.bool() {
            // The third has a requirement in common with each of the others.
            let labels = ["app=red", "app!=blue", "app!=blue,app=red"][random.usize(..3)];
            scope = scope.with_labels(labels.parse().ok()?);
        }
        if random.u32(..4) == 0 {
            scope = scope.with_fields("metadata.name!=o1".parse().ok()?).ok()?;
        }
        Some(scope)
    }

    /// Removes a user with its handlers.
    pub(crate) fn leave(&mut self, tenant: usize) {
        let tenant = self.tenants.remove(tenant);
        for slot in std::mem::take(&mut *tenant.handlers.lock()) {
            slot.remove();
        }
        if let Some(controller) = tenant.controller {
            controller.abandon();
        }
    }

    /// Starts the user's controller, or ends it.
    pub(crate) fn toggle_controller(&mut self, tenant: usize) {
        let tenant = &mut self.tenants[tenant];
        match tenant.controller.take() {
            Some(controller) => controller.abandon(),
            None => {
                let number = next(&self.made);
                self.around.journal.note(format_args!("controller {number} of {}", tenant.gvr));
                let (door, random) = (&tenant.door, &mut self.random);
                let controller = Controller::start(number, &tenant.gvr, door, &self.around, random);
                tenant.controller = Some(controller);
            }
        }
    }

    pub(crate) fn add_handler(&mut self, tenant: usize) {
        let tenant = &self.tenants[tenant];
        if tenant.handlers.lock().len() >= HANDLERS_MAX {
            return;
        }
        let kind = Kind::random(&mut self.random);
        let may_narrow = kind != Kind::Pulled && matches!(tenant.door, Door::Informer(_));
        let narrow =
            (may_narrow && self.random.u32(..3) == 0).then(|| Narrow::random(&mut self.random));
        let manner = Manner {
            narrow,
            panics: if kind != Kind::Pulled && self.random.u32(..4) == 0 { 0.1 } else { 0.0 },
            mischief: if self.random.u32(..4) == 0 { 0.05 } else { 0.0 },
            replay: self.random.u32(..6) > 0,
            inline: kind == Kind::Inline,
            ..Manner::new(&tenant.door)
        };
        let resync_period = (self.random.u32(..4) == 0)
            .then(|| Duration::from_millis(self.random.u64(500..60_000)));
        let mark = if self.random.bool() { self.random.usize(1..10) } else { 10_000 };
        let bytes =
            if self.random.u32(..4) == 0 { self.random.usize(1..9) << 10 } else { 32 << 20 };
        let mark = HighWaterMark { notifications: mark, bytes };
        let (replay, high_water_mark) = (manner.replay, mark);
        let options =
            HandlerOptions { resync_period, replay, high_water_mark, ..HandlerOptions::default() };
        let mischief = mischief(tenant, self.around.clone(), self.made.clone());
        let told =
            told(tenant, &self.around, &self.made, &manner, Some(mischief), &mut self.random);
        let number = told.number;
        self.around.journal.note(format_args!(
            "handler {number} is added to {}: {kind:?}, {options:?}",
            tenant.gvr
        ));
        let door = &tenant.door;
        let handler: Arc<dyn ResourceEventHandler> = match manner.narrow {
            Some(narrow) => narrow.handler(told.clone()),
            None => told.clone(),
        };
        let hold = match kind {
            Kind::Inline => Hold::Called(door.add_inline(handler, options)),
            Kind::Queued => Hold::Called(door.add_queued(handler, options)),
            Kind::Pulled => {
                let notifications = door.notifications(options);
                let pulling = pull(notifications, told.clone(), mark, self.random.fork());
                Hold::Pulling(tokio::spawn(pulling))
            }
        };
        tenant.handlers.lock().push(Slot { told, hold, mark });
    }

    pub(crate) fn remove_handler(&mut self, tenant: usize) {
        let mut handlers = self.tenants[tenant].handlers.lock();
        if !handlers.is_empty() {
            let at = self.random.usize(..handlers.len());
            let slot = handlers.swap_remove(at);
            drop(handlers);
            self.around.journal.note(format_args!("handler {} is removed", slot.told.number));
            slot.remove();
        }
    }

    /// Adds or removes one of the indexes.
    pub(crate) fn toggle_index(&mut self, tenant: usize) {
        let Some(indexer) = self.tenants[tenant].door.indexer() else { return };
        let (name, function) = index(self.random.usize(..INDEXES.len()));
        if !indexer.remove_index(name) {
            let added = indexer.add_index(name, function);
            self.around.journal.check(added.is_ok(), "a free index name is taken", || {
                format!("{name}: {added:?}")
            });
        }
    }

    /// Reads in every way. Checks that the answers agree with each other and with the server's history.
    pub(crate) fn read(&mut self, tenant: usize) {
        let tenant = &self.tenants[tenant];
        let everything = tenant.door.everything();
        let journal = &self.around.journal.clone();
        self.around.server.with_history(&tenant.gvr, |history| {
            for object in &everything {
                journal.check(history.knows(object), "reads show only what the server had", || {
                    format!("{} of {}", object.key(), tenant.gvr)
                });
            }
        });
        let page = self.random.usize(1..8);
        if !tenant.door.is_whole() {
            return;
        }
        check_pages(journal, &tenant.door, &everything, page);
        check_indexes(journal, &tenant.door, &everything);
    }

    pub(crate) fn check_quiet(&self) {
        for tenant in &self.tenants {
            for slot in tenant.handlers.lock().iter() {
                slot.told.check_quiet();
                if let Hold::Called(registration) = &slot.hold {
                    slot.told.check_depth(registration.queue_stats(), slot.mark);
                }
            }
        }
    }

    /// Why the clients are not at rest. `None` if they are.
    pub(crate) fn restless(&self) -> Option<String> {
        self.tenants.iter().find_map(|tenant| {
            let state = tenant.door.state();
            let server = self.around.server.state();
            let served = server.serves(&tenant.gvr);
            let withheld = server.withholds(&tenant.gvr).is_some();
            drop(server);
            let right = match &state {
                InformerState::Synced => served,
                // The state of a watch-list between two checks whether the server offers it.
                InformerState::Syncing { .. } if withheld && !served => true,
                // The state of each watch as long as lists deliver the objects.
                InformerState::Created | InformerState::Syncing { .. } => false,
                _ if served && withheld => true,
                InformerState::Waiting { .. } => !served,
                _ => false,
            };
            if !right {
                return Some(format!("{} is {state:?}, served: {served}", tenant.gvr));
            }
            let handlers = tenant.handlers.lock();
            // Handlers need not sync if the resource is not served and has not synced before.
            let syncs = served || tenant.door.has_synced();
            let waiting = handlers.iter().find(|slot| syncs && !slot.has_synced());
            if let Some(slot) = waiting {
                return Some(format!("handler {} has not synced", slot.told.number));
            }
            let waits_for = handlers.iter().find_map(Slot::waits_for);
            if waits_for.is_some() {
                return waits_for;
            }
            let controller = tenant.controller.as_ref().and_then(Controller::difference);
            self.difference(tenant).or(controller)
        })
    }

    /// The difference between the store and the server. `None` if there is none.
    fn difference(&self, tenant: &Tenant) -> Option<String> {
        let Tenant { gvr, door, .. } = tenant;
        let everything = door.everything();
        let counted = door.count(None);
        if counted != everything.len() {
            return Some(format!("{gvr} counts {counted} of {}", everything.len()));
        }
        let stored = everything.into_iter().map(|object| (object.key().to_string(), object));
        let (scope, stored) = (door.scope(), stored.collect());
        let history = |history: &History| history.difference(&scope, &stored);
        let difference = self.around.server.with_history(gvr, history);
        difference.map(|difference| format!("{gvr} in {scope}: {difference}"))
    }

    /// Checks everything that must hold once there are no more faults.
    pub(crate) fn check_at_rest(&mut self) {
        let journal = self.around.journal.clone();
        for at in 0..self.tenants.len() {
            self.read(at);
            let tenant = &self.tenants[at];
            let served = self.around.server.state().serves(&tenant.gvr);
            let synced = tenant.door.has_synced();
            journal.check(synced || !served, "has_synced at rest", || tenant.gvr.to_string());
            for slot in tenant.handlers.lock().iter() {
                slot.told.check_at_rest(synced);
            }
            self.check_trees(tenant);
        }
    }

    /// Checks that the store has the server's objects without `managedFields` and the last-applied annotation. It
    /// computes them in another way than the cache's decoder.
    fn check_trees(&self, tenant: &Tenant) {
        let stored: BTreeMap<String, Object> = tenant
            .door
            .everything()
            .into_iter()
            .map(|object| (object.key().to_string(), object))
            .collect();
        self.around.server.with_history(&tenant.gvr, |history| {
            for (key, version) in history.within(&tenant.door.scope()) {
                let Some(object) = stored.get(key) else { continue };
                let mut expect: serde_json::Value =
                    serde_json::from_slice(version.raw()).unwrap_or_default();
                crate::writes::cut(&mut expect);
                if let Some(fields) = expect.as_object_mut().filter(|_| object.is_metadata_only()) {
                    fields.retain(|name, _| ["apiVersion", "kind", "metadata"].contains(&&**name));
                }
                let found: serde_json::Value =
                    serde_json::from_slice(&object.json()).unwrap_or_default();
                self.around.journal.check(found == expect, "the store equals the server", || {
                    format!("{key}: {found} instead of {expect}")
                });
            }
        });
    }

    /// Ends all clients. A task that still runs afterwards is a leak.
    pub(crate) async fn shutdown(self) {
        let journal = self.around.journal.clone();
        let mut tenants = self.tenants;
        for controller in tenants.iter_mut().filter_map(|tenant| tenant.controller.take()) {
            controller.drain().await;
        }
        let ended = tokio::time::timeout(Duration::from_secs(60), self.factory.shutdown()).await;
        journal.check(ended.is_ok(), "shutdown ends", || "it took a minute".to_owned());
        for tenant in &tenants {
            let state = tenant.door.state();
            let stopped = matches!(state, InformerState::Stopped { message: None });
            journal.check(stopped, "shutdown stops every informer", || format!("{state:?}"));
            let slots = std::mem::take(&mut *tenant.handlers.lock());
            for slot in slots {
                let Hold::Pulling(task) = slot.hold else { continue };
                let ended = tokio::time::timeout(Duration::from_secs(60), task).await;
                journal.check(matches!(ended, Ok(Ok(()))), "who pulls hears of the end", || {
                    format!("handler {}: {ended:?}", slot.told.number)
                });
            }
        }
    }
}
