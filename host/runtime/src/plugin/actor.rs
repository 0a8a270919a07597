//! The actor of one shard of a plugin. It takes the next work, calls the shard's guest and settles the work. Each
//! shard has its own mailbox; `together.rs` has the shared state of all shards.

mod call;
mod commands;
mod event_ends;
mod failures;
mod firing;
mod hands;
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
mod work_turn;

use crate::call_error::CallError;
use crate::contract::limits::Limits;
use crate::counters::Counters;
use crate::delivery::mailbox::Queued;
use crate::delivery::mailboxes::{Hands, Reconciles, Work};
use crate::event::{Event, SubscriptionId};
use crate::guest::engine::Engine;
use crate::guest::guest_state::GuestState;
use crate::guest::instance::Instance;
use crate::guest::surroundings::Surroundings;
use crate::guest::tape::Tapes;
use crate::guest_threads::give_turn;
use crate::kept::plugin_state::StateCall;
use crate::log_budget::HostLine;
use crate::outside::leading::Leading;
use crate::pace::Pace;
use crate::plugin::admin::AdminError;
use crate::plugin::core::PluginCore;
use crate::plugin_name::PluginName;
use crate::powers::Powers;
use crate::sleep_until::until;
use call::{call, to_tell};
pub(crate) use commands::{CommandSender, Commands, command_line};
use failures::FailedCall;
pub(crate) use holding::Hold;
use keys::becomes_keys;
pub(crate) use offline::GuestCall;
use recorded::not_told;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
pub(crate) use takeover::ShardTakeover;
pub(crate) use together::Together;
pub(crate) use version::{Subscription, Version, VersionTapes};
pub(crate) use work_turn::WorkTurn;

/// An old version is stopped after the new version's first event, or after this time without an event.
const RETIREMENT_MAX: Duration = Duration::from_secs(1);

/// A command to an actor.
pub(crate) enum ActorCommand {
    /// Takes over with this version once all shards are ready. If one shard fails, the old version goes on.
    Swap(ShardTakeover),
    /// Pauses deliveries after the current call, or resumes them, also those that the breaker holds.
    Hold(Arc<Hold>),
    /// Stops the guest, and ends the actor.
    Stop,
}

/// Called with success once the request is carried out and shown, or with the reason why not.
pub(crate) type Done = Box<dyn FnOnce(Result<(), AdminError>) + Send>;

pub(crate) struct Actor {
    pub(crate) name: PluginName,
    /// The actor's shard. It may exceed the current number of shards.
    pub(crate) shard: usize,
    /// The shared state of all shards.
    pub(crate) together: Arc<Together>,
    pub(crate) engine: Engine,
    /// The limits of the version in charge.
    pub(crate) limits: Arc<Limits>,
    /// The guest is called only while this host leads; a stop is called always.
    pub(crate) leading: Leading,
    pub(crate) pace: Pace,
    pub(crate) powers: Powers,
    pub(crate) core: Arc<PluginCore>,
    pub(crate) commands: Commands,
    pub(crate) running: Running,
    pub(crate) last_call: LastCall,
    pub(crate) turn: WorkTurn,
    pub(crate) paused: bool,
    /// The source of the time, for the actor and its guest.
    pub(crate) surroundings: Surroundings,
    /// The tapes that record all exchanges between the instances and the host; usually none.
    pub(crate) tapes: Option<Arc<dyn Tapes>>,
    /// The instance of the version before, and its latest end.
    pub(crate) retired: Option<(Box<Instance>, Instant)>,
}

/// The last call of a guest.
pub(crate) struct LastCall {
    pub(crate) began: Instant,
    /// The writes to the cluster that the last call for an event made.
    pub(crate) wrote: String,
}

impl LastCall {
    /// The state before the first call.
    pub(crate) fn none(now: Instant) -> Self {
        Self { began: now, wrote: String::new() }
    }
}

/// The version in charge and its instance.
pub(crate) enum Running {
    /// No instance was started yet.
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
    /// Waits for the next work and takes it, with the time of that. `None` if the abilities have changed. A command may
    /// cancel this.
    async fn work(
        &mut self,
        shard: usize,
        (leading, surroundings): (&Leading, &Surroundings),
        (core, together): (&PluginCore, &Together),
    ) -> Option<(Work, Instant)> {
        // Invariant 20.
        leading.acquired().await;
        let Some(hands) = self.hands_in_debt(shard, together, Instant::now) else {
            return pending().await;
        };
        let next = core.queue.next(shard, hands, leading, || surroundings.wall());
        match self {
            Self::Alive { version, .. } if hands.reconciles == Reconciles::Later => {
                tokio::select! {
                    () = version.reads.synced(&core.name) => None,
                    work = next => work,
                }
            }
            _ => next.await,
        }
    }
}

enum Wake {
    Command(Option<ActorCommand>),
    Retire,
    Work(Option<(Work, Instant)>),
}

impl Actor {
    /// Runs until the stop command. Rare futures are boxed: an actor is as large as its largest future. By reference: a
    /// future has an argument twice, as it came and as it is used.
    pub(crate) async fn run(&mut self) {
        // Invariants 25 and 28.
        loop {
            let wake = tokio::select! {
                biased;
                command = self.commands.next() => Wake::Command(command),
                () = until(self.retired.as_ref().map(|(_, at)| *at)) => Wake::Retire,
                work = self.running.work(self.shard, (&self.leading, &self.surroundings), (&self.core, &self.together)), if !self.paused => Wake::Work(work),
            };
            match wake {
                Wake::Command(Some(ActorCommand::Swap(swap))) => Box::pin(self.swap(swap)).await,
                Wake::Command(Some(ActorCommand::Hold(hold))) => self.hold(&hold),
                Wake::Command(Some(ActorCommand::Stop) | None) => {
                    return Box::pin(self.stop()).await;
                }
                Wake::Retire => Box::pin(self.retire()).await,
                Wake::Work(Some((mut work, now))) => self.do_some(&mut work, now).await,
                Wake::Work(None) => {}
            }
        }
    }

    fn state(&self, version: &Version) -> GuestState {
        let (log_budget, reads) = (self.core.log_budget.clone(), version.reads.clone());
        let state = StateCall::new(self.core.state.clone());
        let limits = &version.settings.limits;
        let keys = version.template.exported().reconciler.then(|| self.core.queue.clone());
        let guest = GuestState::new(self.name.clone(), limits, log_budget, Some(reads));
        let guest = guest.after(version.ends.clone());
        let guest = guest.with_state(state).with_pace(self.pace.clone()).with_keys(keys);
        let guest = guest.with_metrics(self.core.metrics.clone());
        let (restriction, counters) = (&self.core.restriction, &self.core.counters);
        let powers = self.powers.of(&version.settings, restriction, counters);
        let powers = powers.seeing(version.reads.namespaces());
        let guest = guest.of_shard(version.shard(self.shard));
        let guest = guest.charged_to(&self.core.counters.ledger).logging_to(&self.core.log);
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

    async fn stop(&mut self) {
        let old = std::mem::replace(&mut self.running, Running::Nothing);
        self.retire().await;
        self.end(old).await;
    }

    async fn end(&self, running: Running) {
        if let Running::Alive { instance, .. } = running {
            self.stop_instance(instance).await;
        }
    }

    /// Stops an instance, which may never have been in charge.
    async fn stop_instance(&self, mut instance: Box<Instance>) {
        if let Err(error) = instance.stop().await {
            self.tell(HostLine::warn(&format!("stop failed: {error}")));
        }
    }

    /// Writes a line about a call, if the plugin's log budget has its bytes.
    fn tell(&self, line: HostLine<'_>) {
        self.core.log_budget.tell(self.name.as_str(), line, self.surroundings.now());
    }

    /// Does `work`, and then the work that follows, until the turn is over, a command waits, or nothing is due.
    async fn do_some(&mut self, work: &mut Work, began: Instant) {
        self.turn = WorkTurn::begin(began);
        let mut now = began;
        loop {
            self.turn.work_begins();
            let Some(ended) = self.do_work(work, now).await else { return };
            now = ended;
            let Some(next) = self.turn.next.take().or_else(|| self.take(now)) else { break };
            *work = next;
        }
        if self.turn.is_over(now) {
            give_turn().await;
        }
    }

    /// The next work of this turn, if there is any.
    fn take(&self, now: Instant) -> Option<Work> {
        self.take_with(self.hands_for_more(now)?, now)
    }

    fn take_with(&self, hands: Hands, now: Instant) -> Option<Work> {
        self.core.queue.change(|it| it.next(self.shard, hands, now, || self.surroundings.wall()))
    }

    /// The abilities for another work of this turn; `None` if there is to be none.
    fn hands_for_more(&self, now: Instant) -> Option<Hands> {
        // Invariant 20.
        let may_go_on =
            self.commands.is_empty() && !self.turn.is_over(now) && self.leading.is_leader();
        self.running.hands(self.shard, &self.together).filter(|_| may_go_on)
    }

    /// Does a work and settles it. Returns the time if other work may follow at once.
    async fn do_work(&mut self, work: &Work, now: Instant) -> Option<Instant> {
        match work {
            Work::Start => {
                Box::pin(self.restart()).await;
                None
            }
            Work::Sync(call) => self.tell_synced(*call).await,
            Work::Fire(firing) => self.fire(firing).await,
            Work::Reconcile(work) => self.reconcile(work).await,
            Work::Deliver(queued) => {
                if self.together.is_look_due() {
                    self.forget_reevaluated();
                }
                self.deliver(queued, now).await
            }
        }
    }

    async fn deliver(&mut self, queued: &Queued, now: Instant) -> Option<Instant> {
        let began = now;
        let Running::Alive { version, instance } = &mut self.running else { return None };
        let Some(subscription) = version.subscriptions.get(&queued.event.subscription) else {
            return self.drop_event(queued, now).then_some(now);
        };
        let id = queued.event.subscription;
        let permissions = &subscription.permissions;
        if permitted::put_by_unless_allowed(&self.core.queue, self.shard, id, permissions) {
            return Some(now);
        }
        let seen = self.together.see(queued, subscription.asked_by, &subscription.wish);
        let tape = instance.state().tape.clone();
        let hears = (&*self.core.counters, tape.as_deref());
        let event = to_tell(subscription, queued, seen.as_ref(), hears);
        let restriction = &self.core.restriction;
        let withdrawn = restriction.check_read(&version.settings, &subscription.resource).err();
        let not_told = not_told(event, seen.as_ref());
        let hears = (tape.as_deref(), self.powers.tracer.as_ref());
        let is_told = |event: &&Arc<Event>| {
            withdrawn.is_some() || !becomes_keys(&self.core, subscription, event, hears, now)
        };
        let Some(event) = event.filter(is_told) else {
            let now = self.surroundings.now();
            self.pace.passed_over(now - began);
            self.together.settle(&queued.event, subscription.asked_by, seen.as_ref());
            return self.pass_over(queued, not_told, now).then_some(now);
        };
        // Without these questions no time has passed.
        let is_asked = subscription.spec.filter.is_some() || !subscription.spec.enqueue.is_empty();
        let called = if is_asked { self.surroundings.now() } else { now };
        self.last_call.began = called;
        let result = match withdrawn {
            Some(reason) => Err(CallError::Withdrawn { reason }),
            None => call(instance, subscription, queued, event, called).await,
        };
        let finish = |changes| self.core.archive.finished(&queued.event, changes);
        let result = instance.state().finish(result, finish);
        let now = self.surroundings.now();
        let counters = &self.core.counters;
        self.pace.took(now - began, now);
        let is_hindered = instance.state().notes.is_hindered;
        self.last_call.wrote = std::mem::take(&mut instance.state().notes.wrote);
        let owes = Self::look_after(&self.name, counters, instance, now);
        match result {
            Ok(()) => {
                let asked_by = subscription.asked_by;
                let goes_on = self.succeeded(queued, (asked_by, seen.as_ref()), now, owes).await;
                goes_on.then_some(now)
            }
            Err(error) => {
                self.failed(queued, FailedCall { error: &error, is_hindered }, now);
                None
            }
        }
    }

    /// Forgets reevaluated events of subscriptions that have no old event left.
    fn forget_reevaluated(&mut self) {
        let Running::Alive { version, .. } = &self.running else { return };
        let queue = &self.core.queue;
        let is_over = |id: SubscriptionId| {
            let asked_by = version.subscriptions.get(&id).map(|subscription| subscription.asked_by);
            asked_by.is_none_or(|asked_by| queue.look(|it| it.is_past_others(id, asked_by)))
        };
        self.together.retain(|id| !is_over(id));
    }

    /// Handles the effects of a call on the log. Returns whether the guest has to wait because it logged too much.
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
        instance.state().log_budget.settle(name.as_str(), now)
    }
}
