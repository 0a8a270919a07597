//! One plugin's name and everything that belongs to it: its actor, its subscriptions, its queue.

use crate::actor::{Actor, COMMANDS_MAX, Command, Running, Version};
use crate::counters::Counters;
use crate::descriptor::{Descriptor, Replay, SubscriptionSpec};
use crate::event::{Reason, SubscriptionId};
use crate::guest_threads::GuestThreads;
use crate::limits::Limits;
use crate::log_budget::LogBudget;
use crate::plugin_name::PluginName;
use crate::plugin_queue::PluginQueue;
use crate::prepare::{LoadError, Preparer};
use crate::queue::Marks;
use crate::status::StatusCell;
use crate::subscription::SubscriptionHandler;
use hashbrown::HashSet;
use informant_cache::{InformerLease, Registration, SharedInformerFactory};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tracing::error;

/// One plugin's name and everything that belongs to it.
pub(crate) struct Plugin {
    pub(crate) status: Arc<StatusCell>,
    /// Hash of the content that was seen last.
    pub(crate) wanted: String,
    /// Content that came while another was being prepared.
    pub(crate) next: Option<Arc<[u8]>>,
    pub(crate) preparing: bool,
    pub(crate) missing_since: Option<Instant>,
    pub(crate) actor: Option<ActorHandle>,
    subscriptions: BTreeMap<String, Active>,
    subscription_ids: u32,
}

pub(crate) struct ActorHandle {
    commands: mpsc::Sender<Command>,
    task: JoinHandle<()>,
}

/// A subscription that is being told of changes.
struct Active {
    id: SubscriptionId,
    spec: SubscriptionSpec,
    /// Dropping it ends the subscription.
    _registration: Registration,
    /// Dropping it lets the informer stop, if nobody else needs it.
    _informer: InformerLease,
}

impl Plugin {
    pub(crate) fn new(name: &PluginName, limits: &Limits) -> Self {
        let counters = Arc::new(Counters::default());
        let marks = Marks { events: limits.queue_events_mark, bytes: limits.queue_bytes_mark };
        let queue = Arc::new(PluginQueue::new(marks, counters.clone()));
        let status = StatusCell::new(name.clone(), counters, queue, Timestamp::now());
        Self {
            status: Arc::new(status),
            wanted: String::new(),
            next: None,
            preparing: false,
            missing_since: None,
            actor: None,
            subscriptions: BTreeMap::new(),
            subscription_ids: 0,
        }
    }

    /// An id for each subscription of the descriptor: the one it had, if the name and the resource stay.
    pub(crate) fn ids(&mut self, descriptor: &Descriptor) -> Vec<SubscriptionId> {
        let mut ids = Vec::with_capacity(descriptor.subscriptions.len());
        for spec in &descriptor.subscriptions {
            let active = self.subscriptions.get(&spec.name);
            let kept = active.filter(|active| active.spec.resource == spec.resource);
            ids.push(kept.map_or_else(
                || {
                    self.subscription_ids += 1;
                    SubscriptionId(self.subscription_ids)
                },
                |active| active.id,
            ));
        }
        ids
    }

    pub(crate) async fn swap(&self, version: Box<Version>) -> Result<(), LoadError> {
        let ended = || LoadError::Host("the plugin's actor ended".to_owned());
        let actor = self.actor.as_ref().ok_or_else(ended)?;
        let (reply, answer) = oneshot::channel();
        actor.commands.send(Command::Swap(version, reply)).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?.map_err(LoadError::Start)
    }

    /// Starts an actor, which does nothing before its first [`swap`](Self::swap).
    pub(crate) fn start_actor(
        &mut self,
        name: &PluginName,
        preparer: &Preparer,
        threads: &GuestThreads,
    ) {
        let (commands, receiver) = mpsc::channel(COMMANDS_MAX);
        let actor = Actor {
            name: name.clone(),
            engine: preparer.engine.clone(),
            limits: preparer.limits.clone(),
            log_budget: LogBudget::new(&preparer.limits, Instant::now()),
            status: self.status.clone(),
            commands: receiver,
            running: Running::Nothing,
        };
        self.actor = Some(ActorHandle { commands, task: threads.spawn(actor.run()) });
    }

    /// Ends the subscriptions, then the actor.
    pub(crate) async fn stop(&mut self) {
        self.subscriptions.clear();
        self.stop_actor().await;
    }

    /// Stops the guest and waits until the actor has ended.
    pub(crate) async fn stop_actor(&mut self) {
        let Some(actor) = self.actor.take() else { return };
        // It cannot be told if it ended already.
        let _ = actor.commands.send(Command::Stop).await;
        if let Err(error) = actor.task.await {
            error!("a plugin's actor ended early: {error}");
        }
    }

    /// Makes the running subscriptions those of the descriptor. One that did not change goes on without
    /// a gap; one that did is told its objects again.
    pub(crate) fn subscribe(
        &mut self,
        descriptor: &Descriptor,
        ids: &[SubscriptionId],
        informers: &SharedInformerFactory,
    ) {
        let mut before = std::mem::take(&mut self.subscriptions);
        let keep: HashSet<SubscriptionId> = ids.iter().copied().collect();
        self.status.queue.retain(&keep);
        for (spec, id) in descriptor.subscriptions.iter().zip(ids) {
            let known = before.remove(&spec.name).filter(|active| active.id == *id);
            let unchanged = known.as_ref().is_some_and(|active| active.spec == *spec);
            let again = spec.replay == Replay::InitialAndReload;
            let active = match known {
                Some(active) if unchanged && !again => active,
                known => {
                    let told_before = known.is_some();
                    drop(known);
                    let reason = match (spec.replay, told_before) {
                        (Replay::Never, _) => None,
                        (_, false) => Some(Reason::Initial),
                        (_, true) => Some(Reason::Reload),
                    };
                    let queue = self.status.queue.clone();
                    let handler = SubscriptionHandler::new(*id, spec, queue, reason);
                    let informer = informers.lease(&spec.resource);
                    let registration = informer.informer().add_event_handler(Arc::new(handler));
                    Active {
                        id: *id,
                        spec: spec.clone(),
                        _registration: registration,
                        _informer: informer,
                    }
                }
            };
            self.subscriptions.insert(spec.name.clone(), active);
        }
    }
}
