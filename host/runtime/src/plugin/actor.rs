//! The actor of one shard of a plugin, which makes all calls of the shard's guest: it takes the
//! next event, calls the guest and settles the event. A plugin has one shard by default. With more,
//! each actor has its own queues, and `together.rs` has their shared state.

mod call;
mod event_ends;
mod failures;
mod firing;
mod holding;
mod keys;
mod losses;
mod offline;
mod permitted;
mod recorded;
mod sync;
mod takeover;
mod together;
mod version;

use crate::call_error::CallError;
use crate::contract::limits::Limits;
use crate::counters::Counters;
use crate::delivery::sync_calls::SyncCalls;
use crate::event::{Event, SubscriptionId};
use crate::guest::engine::Engine;
use crate::guest::guest_state::GuestState;
use crate::guest::instance::Instance;
use crate::guest::surroundings::Surroundings;
use crate::guest::tape::Tapes;
use crate::guest_threads::give_turn;
use crate::kept::plugin_state::StateCall;
use crate::outside::leading::Leading;
use crate::pace::Pace;
use crate::plugin::admin::AdminError;
use crate::plugin::core::PluginCore;
use crate::plugin_name::PluginName;
use crate::powers::Powers;
use crate::sleep_until::{until, until_or_now};
use call::{call, to_tell};
use failures::FailedCall;
pub(crate) use holding::Hold;
use keys::{EVENTS_BETWEEN_KEYS, NextCall, becomes_keys};
pub(crate) use offline::GuestCall;
use recorded::not_told;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
pub(crate) use takeover::ShardTakeover;
pub(crate) use together::Together;
use tokio::sync::mpsc;
use tracing::warn;
pub(crate) use version::{Subscription, Version, VersionTapes};

/// Events handed over before the thread's other plugins have a turn, which costs about as much as an event; and how long they
/// may take together: a guest's own turn is no longer than a tick.
const EVENTS_AT_ONCE: usize = 64;
const TURN_MAX: Duration = Duration::from_millis(1);
/// An old version is stopped after the new one's first event, or after this when nothing happens.
const RETIREMENT_MAX: Duration = Duration::from_secs(1);

/// What others may ask of an actor.
pub(crate) enum ActorCommand {
    /// Take over with this version once all shards are ready for it; on an error of any the old one goes on.
    Swap(ShardTakeover),
    /// Take no events until further notice: the one in the guest's hands has ended. Or take events again, also those that the breaker holds
    /// back.
    Hold(Arc<Hold>),
    /// Stop the guest and end.
    Stop,
}

/// Hears of what was asked for: it is done and shown, or why it is not.
pub(crate) type Done = Box<dyn FnOnce(Result<(), AdminError>) + Send>;

/// More commands than the one task that sends them can have under way.
pub(crate) const COMMANDS_MAX: usize = 4;

pub(crate) struct Actor {
    pub(crate) name: PluginName,
    /// Which of the plugin's shards is its own. It may have more than there are now.
    pub(crate) shard: usize,
    /// What it shares with the others.
    pub(crate) together: Arc<Together>,
    pub(crate) engine: Engine,
    /// Those of the version in charge.
    pub(crate) limits: Limits,
    /// The guest is called only while this host leads; but for being told to stop.
    pub(crate) leading: Leading,
    pub(crate) pace: Pace,
    pub(crate) powers: Powers,
    pub(crate) core: Arc<PluginCore>,
    pub(crate) commands: mpsc::Receiver<ActorCommand>,
    pub(crate) running: Running,
    /// The version in charge has other shards.
    pub(crate) has_siblings: bool,
    pub(crate) syncs: SyncCalls,
    pub(crate) last_call: LastCall,
    pub(crate) paused: bool,
    /// Whom it and its guest have the time from.
    pub(crate) surroundings: Surroundings,
    /// Where everything between its instances and the host is written down; mostly nowhere.
    pub(crate) tapes: Option<Arc<dyn Tapes>>,
    /// The instance of the version before, and when it ends at the latest.
    pub(crate) retired: Option<(Box<Instance>, Instant)>,
}

/// The last call of a guest, which also decides whether an event, a key or a schedule is next.
pub(crate) struct LastCall {
    pub(crate) began: Instant,
    /// The writes of the last call for an event to the cluster.
    pub(crate) wrote: String,
    /// Events that were taken since the last key.
    pub(crate) events_since_key: u32,
    /// The call was for a schedule: an event or a key is next.
    pub(crate) was_firing: bool,
}

impl LastCall {
    /// Before the first call.
    pub(crate) fn none(now: Instant) -> Self {
        Self { began: now, wrote: String::new(), events_since_key: 0, was_firing: false }
    }
}

/// The version in charge and its instance.
pub(crate) enum Running {
    /// Nothing was started yet.
    Nothing,
    Alive {
        version: Arc<Version>,
        instance: Box<Instance>,
    },
    /// The instance ended; the next one may be made at `at`.
    Lost {
        version: Arc<Version>,
        failed_starts: u32,
        at: Instant,
    },
}

impl Running {
    /// Waits for something to do. It only waits, so that a command can interrupt it.
    async fn work(
        &mut self,
        shard: usize,
        syncs: &SyncCalls,
        (leading, not_before): (&Leading, Option<Instant>),
        core: &PluginCore,
    ) -> Wake {
        // Invariant 20.
        leading.acquired().await;
        until_or_now(not_before).await;
        let syncs = not_before.is_none().then_some(syncs);
        match self {
            Self::Nothing => std::future::pending().await,
            Self::Lost { at, .. } => {
                tokio::time::sleep_until((*at).into()).await;
                Wake::Restart
            }
            Self::Alive { version, instance, .. } => {
                let debt = instance.state().log_budget.debt(Instant::now());
                if !debt.is_zero() {
                    tokio::time::sleep(debt).await;
                }
                keys::wait_for(instance, &version.reads, (core, shard), syncs).await;
                Wake::Event
            }
        }
    }
}

enum Wake {
    Command(Option<ActorCommand>),
    Restart,
    Retire,
    Event,
    /// The breaker has closed.
    Turned,
}

impl Actor {
    /// Runs until it is told to stop. What is rare is boxed: an actor is as large as the largest of what it may be about.
    pub(crate) async fn run(mut self) {
        // Invariants 25 and 28.
        loop {
            let wake = tokio::select! {
                biased;
                command = self.commands.recv() => Wake::Command(command),
                () = until(self.retired.as_ref().map(|(_, at)| *at)) => Wake::Retire,
                () = self.together.turned(), if self.has_siblings => Wake::Turned,
                wake = self.running.work(self.shard, &self.syncs, (&self.leading, self.together.next_call()), &self.core), if !self.paused => wake,
            };
            match wake {
                Wake::Command(Some(ActorCommand::Swap(swap))) => Box::pin(self.swap(swap)).await,
                Wake::Command(Some(ActorCommand::Hold(hold))) => self.hold(&hold),
                Wake::Command(Some(ActorCommand::Stop) | None) => {
                    return Box::pin(self.stop()).await;
                }
                Wake::Restart => Box::pin(self.restart()).await,
                Wake::Retire => Box::pin(self.retire()).await,
                Wake::Event => self.deliver_some().await,
                Wake::Turned => {}
            }
        }
    }

    fn state(&self, version: &Version) -> GuestState {
        let (log_budget, reads) = (self.together.log_budget.clone(), version.reads.clone());
        let state = StateCall::new(self.core.state.clone());
        let limits = &version.settings.limits;
        let keys = version.template.exported().reconciler.then(|| self.core.keys.clone());
        let guest = GuestState::new(self.name.clone(), limits, log_budget, Some(reads));
        let guest = guest.after(version.ends.clone());
        let guest = guest.with_state(state).with_pace(self.pace.clone()).with_keys(keys);
        let guest = guest.with_metrics(self.core.metrics.clone());
        let (restriction, counters) = (&self.core.restriction, &self.core.counters);
        let powers = self.powers.of(&version.settings, restriction, counters);
        let guest = guest.of_shard(version.shard(self.shard));
        let guest = guest.charged_to(&self.core.counters.ledger);
        let guest = guest.with_leading(self.leading.clone()).with_powers(powers);
        let tapes = self.tapes.as_ref();
        let begin = || tapes?.tape(&version.tape_of(&self.name, self.shard));
        let tape = version.tapes.of(self.shard, begin);
        if let Some(weighed) = tape.as_ref().and_then(|tape| tape.weighed()) {
            self.core.counters.ledger.weighs(weighed);
        }
        guest.within(self.surroundings.clone(), tape)
    }

    /// Makes and starts an instance of the version.
    async fn instance(&self, version: &Version) -> Result<Instance, CallError> {
        let state = self.state(version);
        let mut instance = version.template.instantiate(&self.engine, state).await?;
        instance.start(&version.settings.config).await?;
        Ok(instance)
    }

    async fn stop(mut self) {
        let old = std::mem::replace(&mut self.running, Running::Nothing);
        self.retire().await;
        self.end(old).await;
    }

    async fn end(&self, running: Running) {
        if let Running::Alive { instance, .. } = running {
            self.stop_instance(instance).await;
        }
    }

    /// The last call of an instance, which may never have been in charge.
    async fn stop_instance(&self, mut instance: Box<Instance>) {
        if let Err(error) = instance.stop().await {
            warn!(plugin = self.name.as_str(), "stop failed: {error}");
        }
    }

    /// Takes events to the guest, until there is something else to do or to wait for.
    async fn deliver_some(&mut self) {
        let began = Instant::now();
        let mut now = began;
        for _ in 0..EVENTS_AT_ONCE {
            let Some(ended) = self.deliver(now).await else { return };
            if !self.commands.is_empty() {
                return;
            }
            now = ended;
            if now - began > TURN_MAX {
                break;
            }
        }
        give_turn().await;
    }

    /// Takes the next event to the guest and settles it; answers when, if the one after it may follow at once.
    async fn deliver(&mut self, now: Instant) -> Option<Instant> {
        // Invariant 20.
        if !self.leading.is_leader() || self.together.holds_back(now) {
            return None;
        }
        if let Some(subscription) = self.next_sync(now) {
            return self.tell_synced(subscription).await;
        }
        if let Some(firing) = self.next_firing(now) {
            return self.fire(firing).await;
        }
        match self.turn(now) {
            NextCall::Event => {}
            NextCall::Key(work) => return self.reconcile(&work).await,
            NextCall::Nothing => return None,
        }
        if self.together.is_look_due() {
            self.forget_reevaluated();
        }
        self.deliver_event(now).await
    }

    async fn deliver_event(&mut self, now: Instant) -> Option<Instant> {
        let began = now;
        let Running::Alive { version, instance } = &mut self.running else { return None };
        let queued = self.core.queue.pop(self.shard, now)?;
        let Some(subscription) = version.subscriptions.get(&queued.event.subscription) else {
            self.drop_event(queued, now);
            return Some(now);
        };
        let id = queued.event.subscription;
        let permissions = &subscription.permissions;
        if permitted::is_put_by(&self.core.queue, self.shard, id, permissions) {
            return Some(now);
        }
        let seen = self.together.see(&queued, subscription.asked_by, &subscription.wish);
        let tape = instance.state().tape.clone();
        let hears = (&*self.core.counters, tape.as_deref());
        let event = to_tell(subscription, &queued, seen.as_ref(), hears);
        let restriction = &self.core.restriction;
        let withheld = restriction.check_read(&version.settings, &subscription.resource).err();
        let not_told = not_told(event, seen.as_ref());
        let is_told = |event: &&Event| {
            withheld.is_some()
                || !becomes_keys(&self.core, subscription, event, tape.as_deref(), now)
        };
        let Some(event) = event.filter(is_told) else {
            let now = self.surroundings.now();
            self.pace.passed_over(now - began);
            self.together.settle(&queued.event, subscription.asked_by, seen.as_ref());
            self.pass_over(&queued, not_told, now);
            return Some(now);
        };
        self.last_call.events_since_key = EVENTS_BETWEEN_KEYS;
        let called = self.surroundings.now();
        self.last_call.began = called;
        let result = match withheld {
            Some(reason) => Err(CallError::Withheld { reason }),
            None => call(instance, subscription, &queued, event, called).await,
        };
        let finish = |changes| self.core.archive.finished(&queued.event, changes);
        let result = result.and_then(|()| instance.state().commit_state(finish));
        let now = self.surroundings.now();
        let counters = &self.core.counters;
        counters.handle_seconds.observe(now - called);
        self.pace.took(now - began, now);
        let is_hindered = instance.state().notes.is_hindered;
        self.last_call.wrote = std::mem::take(&mut instance.state().notes.wrote);
        let owes = Self::look_after(&self.name, counters, instance, now);
        match result {
            Ok(()) => {
                let asked_by = subscription.asked_by;
                self.succeeded(&queued, (asked_by, seen.as_ref()), now).await;
                (!owes).then_some(now)
            }
            Err(error) => {
                instance.state().forget_state();
                self.failed(&queued, FailedCall { error: &error, is_hindered }, now);
                None
            }
        }
    }

    /// Of subscriptions that nothing is left to be seen again of, nothing has to be remembered.
    fn forget_reevaluated(&mut self) {
        let Running::Alive { version, .. } = &self.running else { return };
        let queue = &self.core.queue;
        let is_over = |id: SubscriptionId| {
            let asked_by = version.subscriptions.get(&id).map(|subscription| subscription.asked_by);
            asked_by.is_none_or(|asked_by| queue.look(|it| it.is_past_others(id, asked_by)))
        };
        self.together.retain(|id| !is_over(id));
    }

    /// What a call has left behind. Answers whether the guest has to wait for having logged too much.
    fn look_after(
        name: &PluginName,
        counters: &Counters,
        instance: &mut Instance,
        now: Instant,
    ) -> bool {
        let host_calls = std::mem::take(&mut instance.state().notes.host_calls);
        if !host_calls.is_zero() {
            counters.host_call_nanoseconds.fetch_add(host_calls.as_nanos() as u64, Relaxed);
        }
        let (dropped, owes) = instance.state().log_budget.look(now);
        if dropped > 0 {
            counters.log_lines_dropped.fetch_add(dropped, Relaxed);
            warn!(plugin = name.as_str(), "{dropped} log lines were over the limit and dropped");
        }
        owes
    }
}
