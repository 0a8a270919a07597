//! One plugin's name with its parts: the actors of its shards, its subscriptions, its queue.

pub(crate) mod actor;
pub(crate) mod admin;
pub(crate) mod core;
pub(crate) mod lifecycle;
pub(crate) mod loads;
pub(crate) mod prepare;
pub(crate) mod status;

mod actors;
mod configured;
mod fire;
mod load_replies;
mod memory_overdraft;
mod redrive;
mod removal;
mod restored;
mod standby;
mod takeover;
mod withheld;

use crate::contract::configuration::PluginSettings;
use crate::contract::coverage;
use crate::contract::descriptor::{Descriptor, ReplayOption, SubscriptionSpec};
use crate::contract::limits::Limits;
use crate::counters::Counters;
use crate::delivery::mailbox::{Initials, Marks};
use crate::delivery::namespaces::NamespaceFollower;
use crate::delivery::plugin_queue::PluginQueue;
use crate::delivery::subscription::SubscriptionHandler;
use crate::directory::PluginFile;
use crate::event::SubscriptionId;
use crate::log_budget::LogBudget;
use crate::plugin::actor::Together;
use crate::plugin::core::{PluginCore, Replaying};
use crate::plugin::prepare::{LastCompiled, Prepared};
use crate::plugin_metrics::{MetricNames, PluginMetrics};
use crate::plugin_name::PluginName;
use crate::powers::access::VersionPermissions;
use actors::{ActorHandle, ActorRestarts};
use hashbrown::HashSet;
use informant_cache::{HandlerOptions, InformerLease, Object, Registration, SharedInformerFactory};
use jiff::Timestamp;
use load_replies::LoadReplies;
use memory_overdraft::Room;
use restored::Memory;
pub(crate) use standby::{Standby, Warm};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
pub(crate) use takeover::Takeover;
use tokio_util::sync::CancellationToken;
use withheld::Withheld;

/// One plugin's name with its parts.
pub(crate) struct Plugin {
    pub(crate) core: Arc<PluginCore>,
    /// The file to load next.
    pub(crate) next: Option<PluginFile>,
    /// The number of the current load.
    pub(crate) load: Option<u64>,
    /// The version that took over last. It continues whatever the result of later loads.
    pub(crate) current: Option<Loaded>,
    /// The code that was compiled last, whether or not it took over.
    pub(crate) compiled: LastCompiled,
    /// The latest configured settings, for the next version.
    settings: Option<Arc<PluginSettings>>,
    /// The version that is about to take over. Boxed, as are the next two: an idle plugin has none of them.
    pub(crate) starting: Option<Box<Loaded>>,
    /// The version before the current one, compiled and ready for a rollback.
    pub(crate) previous: Option<Box<Loaded>>,
    /// The version that takes over when this host leads.
    pub(crate) standby: Option<Box<Standby>>,
    /// The informers that the standby version will watch.
    pub(crate) warm: Option<Warm>,
    /// The hash of the present file, if a rollback replaced that file's version. Only a request or other content puts
    /// it in charge again.
    pub(crate) rolled_back_from: Option<String>,
    /// The number of the drain, while the file is gone and waiting events are delivered.
    pub(crate) draining: Option<u64>,
    /// The hash of the file when it was last read.
    file: Option<String>,
    /// The callers that wait for a load.
    pub(crate) asked: LoadReplies,
    /// The number of shards of the version that is about to take over.
    pub(crate) shards_ahead: usize,
    paused: bool,
    /// The memory that the latest load wanted.
    room: Room,
    memory: Memory,
    /// The shared state of the shards, once there is one.
    together: Option<Arc<Together>>,
    /// By shard. There may be more actors than the current version has shards; the others do nothing.
    actors: Vec<ActorHandle>,
    restarts: ActorRestarts,
    /// Cancelled when the plugin ends, for work that goes on without it.
    pub(crate) ended: CancellationToken,
    /// Boxed: a map reserves room for eleven entries, and most plugins have one.
    subscriptions: BTreeMap<String, Box<Active>>,
    /// Subscriptions that get no events now.
    withheld: BTreeMap<String, Withheld>,
    /// The reads that the current version may make.
    pub(crate) granted: VersionPermissions,
    subscription_ids: u32,
    /// Whether the events of its versions are recorded, also those that filters refuse.
    pub(crate) is_recorded: bool,
}

/// A version with its file: one in charge, one that was, or one that is about to be.
#[derive(Clone)]
pub(crate) struct Loaded {
    /// The hash of the file.
    pub(crate) sha256: String,
    pub(crate) prepared: Prepared,
}

/// A subscription with a running handler.
struct Active {
    id: SubscriptionId,
    /// The load since which the subscription is unchanged.
    asked_by: u64,
    spec: Arc<SubscriptionSpec>,
    handler: Arc<SubscriptionHandler>,
    /// Dropping it ends the subscription.
    registration: Registration,
    /// Dropping it lets the informer stop, if no other user needs it.
    informer: InformerLease,
    /// Follows the labels of namespaces, for a `namespaceSelector`.
    _namespaces: Option<NamespaceFollower>,
}

/// The ids and loads of a subscription that begins.
struct BegunSubscription {
    id: SubscriptionId,
    asked_by: u64,
    begun_by: u64,
}

impl Plugin {
    /// Until a version takes over, the default limits hold. Before that, no event is queued and nothing is written.
    pub(crate) fn new(name: &PluginName, names: &MetricNames) -> Self {
        Self::counted_by(name, names, Arc::default())
    }

    fn counted_by(name: &PluginName, names: &MetricNames, counters: Arc<Counters>) -> Self {
        let limits = Limits::default();
        let queue = Arc::new(PluginQueue::new(Marks::from(&limits), counters.clone()));
        let metrics = PluginMetrics::new(name.clone(), (&limits).into(), names.clone());
        let now = Timestamp::now();
        let core = PluginCore::new(name.clone(), counters, queue, metrics, &limits, now);
        Self {
            core: Arc::new(core),
            next: None,
            load: None,
            current: None,
            settings: None,
            starting: None,
            compiled: LastCompiled::default(),
            previous: None,
            rolled_back_from: None,
            file: None,
            asked: LoadReplies::default(),
            standby: None,
            warm: None,
            draining: None,
            shards_ahead: 0,
            paused: false,
            room: Room::default(),
            memory: Memory::default(),
            together: None,
            actors: Vec::new(),
            restarts: ActorRestarts::default(),
            ended: CancellationToken::new(),
            subscriptions: BTreeMap::new(),
            withheld: BTreeMap::new(),
            granted: VersionPermissions::default(),
            subscription_ids: 0,
            is_recorded: false,
        }
    }

    /// An id for each subscription of the descriptor. A subscription keeps its id while its name and resource stay.
    pub(crate) fn ids(&mut self, descriptor: &Descriptor) -> Vec<SubscriptionId> {
        let mut ids = Vec::with_capacity(descriptor.subscriptions.len());
        for spec in &descriptor.subscriptions {
            let known = self.known(&spec.name);
            let kept = known.filter(|(_, _, known)| known.resource == spec.resource);
            let kept = kept.map(|(id, _, _)| id);
            ids.push(kept.unwrap_or_else(|| {
                self.subscription_ids += 1;
                SubscriptionId(self.subscription_ids)
            }));
        }
        ids
    }

    /// The load since which each of the descriptor's subscriptions is unchanged: `load` for those that it changes.
    pub(crate) fn asked_by(&self, descriptor: &Descriptor, load: u64) -> Vec<u64> {
        let specs = descriptor.subscriptions.iter();
        specs
            .map(|spec| {
                let known = self.known(&spec.name);
                let same = known.filter(|(_, _, known)| known.wants_the_same(spec));
                same.map_or(load, |(_, asked_by, _)| asked_by)
            })
            .collect()
    }

    /// Notes that the file has this content. If a rollback replaced this content, returns the version in charge.
    pub(crate) fn in_place_of(&mut self, sha256: &str) -> Option<Loaded> {
        self.file = Some(sha256.to_owned());
        let is_rolled_back = self.rolled_back_from.as_deref() == Some(sha256);
        if !is_rolled_back {
            self.rolled_back_from = None;
        }
        self.current.clone().filter(|_| is_rolled_back)
    }

    /// The number of the version in charge.
    pub(crate) fn runs(&self) -> Option<&str> {
        self.current.as_ref().map(|loaded| loaded.prepared.descriptor.version.as_str())
    }

    /// Whether no version is on its way, and the plugin is not about to end.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.load.is_none() && self.next.is_none() && self.draining.is_none()
    }

    /// The log budget for a load with these settings. A running version's rates stay until the load takes over.
    pub(crate) fn log_budget_of_load(&self, settings: &PluginSettings) -> LogBudget {
        let budget = self.core.log_budget.clone();
        if self.current.is_none() {
            budget.set_rates(&*settings.limits, Instant::now());
        }
        budget
    }

    /// Notes the version that took over.
    pub(crate) fn took_over(&mut self, loaded: Loaded, is_rollback: bool) {
        if is_rollback {
            self.rolled_back_from = self.file.clone();
        }
        // The file's own content took over again, by a rollback or by a reload.
        self.rolled_back_from.take_if(|from| *from == loaded.sha256);
        self.all_have_a_version();
        let before = self.current.replace(loaded);
        let same =
            |before: &Loaded| self.current.as_ref().is_some_and(|it| it.sha256 == before.sha256);
        // The same content once more is no version to roll back to.
        if let Some(before) = before.filter(|before| !same(before)) {
            self.previous = Some(Box::new(before));
        }
    }

    /// Makes the running subscriptions those of the descriptor. An unchanged subscription continues without a gap. A
    /// changed one gets a replay, and deletions of the objects that its new view lacks. A version that has `restored`
    /// the snapshot needs no replay of an unchanged subscription.
    pub(crate) fn subscribe(
        &mut self,
        descriptor: &Descriptor,
        ids: &[SubscriptionId],
        (load, restored): (u64, bool),
        informers: &SharedInformerFactory,
    ) {
        let asked_by = self.asked_by(descriptor, load);
        let mut before = std::mem::take(&mut self.subscriptions);
        let keep: HashSet<SubscriptionId> = ids.iter().copied().collect();
        let dropped = self.core.queue.change(|it| it.retain(&keep));
        self.core.counters.dropped.fetch_add(dropped as u64, Relaxed);
        self.core.archive.retain(&keep);
        self.take_back(descriptor);
        let mut told_before = self.restore(descriptor, ids);
        let mut withheld = std::mem::take(&mut self.withheld);
        let specs = descriptor.subscriptions.iter().zip(ids).zip(asked_by).enumerate();
        for (number, ((spec, id), asked_by)) in specs {
            let known = before.remove(&spec.name).filter(|active| active.id == *id);
            let mut told = told_before.remove(id).unwrap_or_default();
            let withheld = withheld.remove(&spec.name).filter(|withheld| withheld.id == *id);
            told.extend(withheld.map(|withheld| withheld.told).unwrap_or_default());
            if self.is_refused(number) {
                self.withhold(Withheld { id: *id, asked_by, spec: spec.clone(), told }, known);
                continue;
            }
            self.core.release_withheld(*id);
            let begun = BegunSubscription { id: *id, asked_by, begun_by: load };
            let active = match known {
                Some(active) if active.goes_on_with(spec, restored) => active,
                known => {
                    let known = known.map(|known| *known);
                    Box::new(self.begin(begun, spec, known, told, informers))
                }
            };
            self.subscriptions.insert(spec.name.clone(), active);
        }
        self.show_replays(descriptor);
        self.show_access(descriptor);
        let in_place = |initials: &mut Initials| initials.put_in_place(load);
        self.core.queue.change(|it| {
            it.set_filters_of(load);
            it.change_initials(in_place);
        });
    }

    fn show_replays(&self, descriptor: &Descriptor) {
        let active = descriptor.subscriptions.iter().filter_map(|spec| {
            let active = self.subscriptions.get(&spec.name)?;
            let Active { id, spec, handler, informer, .. } = &**active;
            let (handler, indexer) = (handler.clone(), informer.informer().indexer());
            Some(Replaying { id: *id, subscription: spec.name.clone(), handler, indexer })
        });
        self.core.replays(active.collect());
    }

    /// Begins a subscription. It replaces the subscription before it, if there is one.
    fn begin(
        &self,
        BegunSubscription { id, asked_by, begun_by }: BegunSubscription,
        spec: &Arc<SubscriptionSpec>,
        before: Option<Active>,
        told_before: Vec<Object>,
        informers: &SharedInformerFactory,
    ) -> Active {
        let informer = coverage::lease(informers, &spec.resource, coverage::subscribed_scope(spec));
        let queue = self.core.queue.clone();
        let handler = match &before {
            Some(Active { handler, .. }) => {
                SubscriptionHandler::replacing(id, spec, queue, handler)
            }
            None => SubscriptionHandler::new(id, spec, queue),
        };
        let projection = informer.informer().projection();
        let handler =
            handler.of_loads(asked_by, begun_by).reading_with(projection, spec, !self.is_recorded);
        let room = informer.informer().room_signal();
        let (followed, payer) = (spec.namespace_selector.as_ref(), &self.core.counters.ledger);
        let followed = followed
            .map(|selector| NamespaceFollower::begin(selector, informers, room.clone(), payer));
        let (handler, _namespaces) = match followed {
            Some((followed, follower)) => (handler.following(followed), Some(follower)),
            None => (handler, None),
        };
        let handler = match told_before.is_empty() {
            true => handler,
            false => {
                let indexer = informer.informer().indexer();
                handler.knowing(told_before, Box::new(move |key| indexer.get(key)))
            }
        };
        let sieve = informer.informer().companion();
        let handler = handler.sifted_by(&sieve, projection, spec, !self.is_recorded);
        self.core.queue.change(|it| it.begin_initial(id, begun_by, room));
        let handler = Arc::new(handler);
        let replay = spec.replay != ReplayOption::Never;
        let options = HandlerOptions {
            replay,
            paced: true,
            resync_period: spec.resync_period,
            ..HandlerOptions::default()
        };
        let registration = match before {
            Some(before) => {
                let old = before.registration;
                informer.informer().replace_inline_handler(old, handler.clone(), options)
            }
            None => informer.informer().add_inline_handler(handler.clone(), options),
        };
        Active { id, asked_by, handler, spec: spec.clone(), registration, informer, _namespaces }
    }
}

impl Active {
    /// Whether the new version's subscription is the same, and needs no replay.
    fn goes_on_with(&self, spec: &SubscriptionSpec, restored: bool) -> bool {
        *self.spec == *spec && (restored || spec.replay != ReplayOption::InitialAndReload)
    }
}
