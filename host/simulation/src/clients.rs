//! The program that uses the informers: leases taken and given back, handlers that come and go, indexes,
//! readers.

use crate::controller::Controller;
use crate::handler::{Around, Manner, Mischief, Told};
use crate::reads::{INDEXES, check_indexes, check_pages, everything, index};
use informant_apimachinery::GroupVersionResource;
use informant_cache::{
    HandlerOptions, HighWaterMark, InformerLease, InformerState, Notifications, Object,
    Registration, SharedIndexInformer, SharedInformerFactory,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Handlers of one tenant; those that are added from inside others count.
const HANDLERS_MAX: usize = 6;

/// One user of one resource's informer.
pub(crate) struct Tenant {
    pub(crate) gvr: GroupVersionResource,
    lease: InformerLease,
    handlers: Arc<Mutex<Vec<Slot>>>,
    controller: Option<Controller>,
}

struct Slot {
    told: Arc<Told>,
    hold: Hold,
    /// Where its queue begins to merge.
    mark: usize,
}

/// How a handler is kept.
enum Hold {
    Called(Registration),
    /// A task that pulls, in its own time.
    Pulling(JoinHandle<()>),
}

/// All of them.
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

    /// A new user of a resource.
    pub(crate) fn lease(&mut self, gvr: &GroupVersionResource) {
        let lease = self.factory.lease(gvr);
        self.tenants.push(Tenant {
            gvr: gvr.clone(),
            lease,
            handlers: Arc::default(),
            controller: None,
        });
        self.factory.start();
        self.add_handler(self.tenants.len() - 1);
    }

    /// A user goes, with its handlers.
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
                let (informer, random) = (tenant.lease.informer(), &mut self.random);
                let controller =
                    Controller::start(number, &tenant.gvr, informer, &self.around, random);
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
        let manner = Manner {
            panics: if kind != Kind::Pulled && self.random.u32(..4) == 0 { 0.1 } else { 0.0 },
            mischief: if self.random.u32(..4) == 0 { 0.05 } else { 0.0 },
            replay: self.random.u32(..6) > 0,
            inline: kind == Kind::Inline,
            ..Manner::new(tenant.lease.informer())
        };
        let resync_period = (self.random.u32(..4) == 0)
            .then(|| Duration::from_millis(self.random.u64(500..60_000)));
        let mark = if self.random.bool() { self.random.usize(1..10) } else { 10_000 };
        let high_water_mark = HighWaterMark { notifications: mark, bytes: 32 << 20 };
        let options = HandlerOptions { resync_period, replay: manner.replay, high_water_mark };
        let mischief = mischief(tenant, self.around.clone(), self.made.clone());
        let told =
            told(tenant, &self.around, &self.made, &manner, Some(mischief), &mut self.random);
        let number = told.number;
        self.around.journal.note(format_args!(
            "handler {number} is added to {}: {kind:?}, {options:?}",
            tenant.gvr
        ));
        let informer = tenant.lease.informer();
        let hold = match kind {
            Kind::Inline => Hold::Called(informer.add_inline_handler(told.clone(), options)),
            Kind::Queued => {
                Hold::Called(informer.add_event_handler_with_options(told.clone(), options))
            }
            Kind::Pulled => {
                let notifications = informer.notifications(options);
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
        let indexer = self.tenants[tenant].lease.informer().indexer();
        let (name, function) = index(self.random.usize(..INDEXES.len()));
        if !indexer.remove_index(name) {
            let added = indexer.add_index(name, function);
            self.around.journal.check(added.is_ok(), "a free index name is taken", || {
                format!("{name}: {added:?}")
            });
        }
    }

    /// Reads in every way, and checks that the answers agree with each other and with the server's past.
    pub(crate) fn read(&mut self, tenant: usize) {
        let tenant = &self.tenants[tenant];
        let indexer = tenant.lease.informer().indexer();
        let everything = everything(&indexer);
        let journal = &self.around.journal.clone();
        self.around.server.with_history(&tenant.gvr, |history| {
            for object in &everything {
                journal.check(history.knows(object), "reads show only what the server had", || {
                    format!("{} of {}", object.key(), tenant.gvr)
                });
            }
        });
        let page = self.random.usize(1..8);
        check_pages(journal, &indexer, &everything, page);
        check_indexes(journal, &indexer, &everything);
    }

    pub(crate) fn check_quiet(&self) {
        for tenant in &self.tenants {
            for slot in tenant.handlers.lock().iter() {
                slot.told.check_quiet();
                if let Hold::Called(registration) = &slot.hold {
                    slot.told.check_depth(registration.queue_stats().depth, slot.mark);
                }
            }
        }
    }

    /// What keeps the clients from rest, if something does.
    pub(crate) fn restless(&self) -> Option<String> {
        self.tenants.iter().find_map(|tenant| {
            let informer = tenant.lease.informer();
            let state = informer.state();
            let served = self.around.server.state().serves(&tenant.gvr);
            let right = match &state {
                InformerState::Synced => served,
                InformerState::Waiting { .. } => !served,
                _ => false,
            };
            if !right {
                return Some(format!("{} is {state:?}, served: {served}", tenant.gvr));
            }
            let handlers = tenant.handlers.lock();
            if !informer.has_synced() {
                // There was nothing to sync with.
                return self.difference(&tenant.gvr, informer);
            }
            let waiting = handlers.iter().find(|slot| !slot.has_synced());
            if let Some(slot) = waiting {
                return Some(format!("handler {} has not synced", slot.told.number));
            }
            let behind = handlers.iter().find(|slot| slot.depth() > 0);
            if let Some(slot) = behind {
                return Some(format!("handler {} is behind", slot.told.number));
            }
            let controller = tenant.controller.as_ref().and_then(Controller::difference);
            self.difference(&tenant.gvr, informer).or(controller)
        })
    }

    /// Where the store differs from the server.
    fn difference(
        &self,
        gvr: &GroupVersionResource,
        informer: &SharedIndexInformer,
    ) -> Option<String> {
        let indexer = informer.indexer();
        let everything = everything(&indexer);
        self.around.server.with_history(gvr, |history| {
            let stored: BTreeMap<String, &Object> =
                everything.iter().map(|object| (object.key().to_string(), object)).collect();
            for (key, version) in history.present() {
                match stored.get(key) {
                    None => return Some(format!("{gvr} {key} is missing")),
                    Some(object) if object.json() != *version.json() => {
                        let (has, is) = (object.json(), version.json());
                        return Some(format!("{gvr} {key} differs: {has:?}, there is {is:?}"));
                    }
                    Some(_) => {}
                }
            }
            let extra = stored.keys().find(|key| !history.is_present(key));
            if let Some(key) = extra {
                return Some(format!("{gvr} {key} is gone and still stored"));
            }
            let count = (indexer.count(None), history.present_count());
            (count.0 != count.1).then(|| format!("{gvr} counts {} of {}", count.0, count.1))
        })
    }

    /// Everything that must hold once nothing goes wrong any more.
    pub(crate) fn check_at_rest(&mut self) {
        let journal = self.around.journal.clone();
        for at in 0..self.tenants.len() {
            self.read(at);
            let tenant = &self.tenants[at];
            let informer = tenant.lease.informer();
            let served = self.around.server.state().serves(&tenant.gvr);
            let synced = informer.has_synced();
            journal.check(synced || !served, "has_synced at rest", || tenant.gvr.to_string());
            for slot in tenant.handlers.lock().iter() {
                slot.told.check_at_rest(synced);
            }
            self.check_trees(tenant);
        }
    }

    /// What is stored is what the server has without `managedFields` and the last-applied annotation: found by
    /// another way than the cache's own decoder.
    fn check_trees(&self, tenant: &Tenant) {
        let indexer = tenant.lease.informer().indexer();
        let stored: BTreeMap<String, Object> = everything(&indexer)
            .into_iter()
            .map(|object| (object.key().to_string(), object))
            .collect();
        self.around.server.with_history(&tenant.gvr, |history| {
            for (key, version) in history.present() {
                let Some(object) = stored.get(key) else { continue };
                let mut expect: serde_json::Value =
                    serde_json::from_slice(version.raw()).unwrap_or_default();
                crate::writes::cut(&mut expect);
                let found: serde_json::Value =
                    serde_json::from_slice(&object.json()).unwrap_or_default();
                self.around.journal.check(found == expect, "the store equals the server", || {
                    format!("{key}: {found} instead of {expect}")
                });
            }
        });
    }

    /// Ends everything; what still runs after it is a leak.
    pub(crate) async fn shutdown(self) {
        let journal = self.around.journal.clone();
        let mut tenants = self.tenants;
        for controller in tenants.iter_mut().filter_map(|tenant| tenant.controller.take()) {
            controller.drain().await;
        }
        let ended = tokio::time::timeout(Duration::from_secs(60), self.factory.shutdown()).await;
        journal.check(ended.is_ok(), "shutdown ends", || "it took a minute".to_owned());
        for tenant in &tenants {
            let state = tenant.lease.informer().state();
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

impl Slot {
    fn remove(self) {
        match self.hold {
            Hold::Called(registration) => registration.remove(),
            Hold::Pulling(task) => task.abort(),
        }
        self.told.removed();
    }

    fn has_synced(&self) -> bool {
        match &self.hold {
            Hold::Called(registration) => registration.has_synced(),
            Hold::Pulling(_) => self.told.has_synced(),
        }
    }

    fn depth(&self) -> usize {
        match &self.hold {
            Hold::Called(registration) => registration.queue_stats().depth,
            // Its task is slow by intent; the check of its last word waits for it.
            Hold::Pulling(_) => usize::from(self.told.is_behind()),
        }
    }
}

/// How a handler is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// In the informer's task.
    Inline,
    /// In a task of the informer's, through a queue.
    Queued,
    /// It pulls from its queue when it likes.
    Pulled,
}

impl Kind {
    fn random(random: &mut fastrand::Rng) -> Self {
        [Self::Inline, Self::Queued, Self::Pulled][random.usize(..3)]
    }
}

/// Pulls, with pauses: short ones, and now and then one that lets its queue fill.
async fn pull(
    mut notifications: Notifications,
    told: Arc<Told>,
    mark: usize,
    mut random: fastrand::Rng,
) {
    while let Some(notification) = notifications.next().await {
        if told.is_removed() {
            // It is being aborted, which happens only where it waits.
            return;
        }
        told.check_depth(notifications.registration().queue_stats().depth, mark);
        told.pulled(&notification);
        let millis = if random.u32(..20) == 0 { 20_000 } else { 50 };
        if random.bool() {
            tokio::time::sleep(Duration::from_millis(random.u64(1..millis))).await;
        }
    }
}

/// Handlers and controllers are numbered as they are made.
fn next(made: &Mutex<u64>) -> u64 {
    let mut made = made.lock();
    *made += 1;
    *made
}

fn told(
    tenant: &Tenant,
    around: &Around,
    made: &Mutex<u64>,
    manner: &Manner,
    mischief: Option<Arc<Mischief>>,
    random: &mut fastrand::Rng,
) -> Arc<Told> {
    let number = next(made);
    let indexer = tenant.lease.informer().indexer();
    let gvr = tenant.gvr.clone();
    Arc::new(Told::new(number, gvr, indexer, around, manner, mischief, random.fork()))
}

/// From inside a notification: every other time the handler removes itself, else it adds another one.
fn mischief(tenant: &Tenant, around: Around, made: Arc<Mutex<u64>>) -> Arc<Mischief> {
    let handlers = Arc::downgrade(&tenant.handlers);
    let informer = tenant.lease.informer().clone();
    let gvr = tenant.gvr.clone();
    Arc::new(move |number| {
        let Some(handlers) = handlers.upgrade() else { return };
        let mut handlers = handlers.lock();
        let Some(at) = handlers.iter().position(|slot| slot.told.number == number) else { return };
        if number % 2 == 0 {
            around.journal.note(format_args!("handler {number} removes itself"));
            handlers.swap_remove(at).remove();
        } else if handlers.len() < HANDLERS_MAX {
            let new = next(&made);
            around.journal.note(format_args!("handler {number} adds handler {new}"));
            let manner = Manner::new(&informer);
            let random = fastrand::Rng::with_seed(new);
            let (gvr, indexer) = (gvr.clone(), informer.indexer());
            let told = Arc::new(Told::new(new, gvr, indexer, &around, &manner, None, random));
            let options = HandlerOptions::default();
            let hold = Hold::Called(informer.add_inline_handler(told.clone(), options));
            handlers.push(Slot { told, hold, mark: usize::MAX });
        }
    })
}
