//! The actor of one plugin: the only one that calls its guest. Takes the next event, calls, settles.

mod call;
mod endings;
mod failures;
mod firing;
mod keys;
mod losses;
mod permitted;
mod swap;
mod sync;
mod until;

use crate::access::Permissions;
use crate::admin::AdminError;
use crate::breaker::Outcome;
use crate::call_error::CallError;
use crate::configuration::PluginSettings;
use crate::counters::{Counters, add_one};
use crate::descriptor::SubscriptionSpec;
use crate::engine::Engine;
use crate::event::{Event, SubscriptionId};
use crate::guest_state::GuestState;
use crate::guest_threads::give_turn;
use crate::instance::{Instance, Template};
use crate::leading::Leading;
use crate::lifecycle::Input;
use crate::limits::Limits;
use crate::log_budget::LogBudget;
use crate::pace::Pace;
use crate::plugin_name::PluginName;
use crate::plugin_state::{StateCall, StateChanges};
use crate::powers::Powers;
use crate::prepare::LoadError;
use crate::reads::Reads;
use crate::reevaluation::{Reevaluation, Wish};
use crate::schedule::ScheduleSpec;
use crate::status::StatusCell;
use crate::sync_calls::SyncCalls;
use call::{call, to_tell};
pub(crate) use failures::{Failures, RETRY_BASE, RETRY_BURST, RETRY_INTERVAL, RETRY_MAX};
use hashbrown::HashMap;
use jiff::Timestamp;
use keys::{EVENTS_BETWEEN_KEYS, Turn, becomes_keys};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tracing::warn;
use until::{until, until_or_now};

/// Events handed over before the thread's other plugins have a turn, which costs about as much as an event; and how long they
/// may take together: a guest's own turn is no longer than a tick.
const EVENTS_AT_ONCE: usize = 64;
const TURN_MAX: Duration = Duration::from_millis(1);
/// An old version is stopped after the new one's first event, or after this when nothing happens.
const RETIREMENT_MAX: Duration = Duration::from_secs(1);

/// Everything that one version of a plugin needs to run.
pub(crate) struct Version {
    /// The load that brought it.
    pub(crate) load: u64,
    /// As its descriptor says.
    pub(crate) number: String,
    pub(crate) template: Template,
    pub(crate) reads: Arc<Reads>,
    pub(crate) settings: Arc<PluginSettings>,
    /// Which of the version's subscriptions an event's id is. Boxed, because a map has room for three at once and most plugins have one.
    pub(crate) subscriptions: HashMap<SubscriptionId, Box<Subscription>>,
    /// When it is called by the clock.
    pub(crate) schedules: Vec<ScheduleSpec>,
}

/// How events of one subscription are handed over.
pub(crate) struct Subscription {
    /// Position in the version's descriptor.
    pub(crate) index: u32,
    /// The load since which it wants to hear of the same: events that others have queued are evaluated again.
    pub(crate) asked_by: u64,
    pub(crate) wish: Wish,
    pub(crate) resource: Arc<str>,
    pub(crate) permissions: Permissions,
    pub(crate) spec: SubscriptionSpec,
}

/// What others may ask of an actor.
pub(crate) enum Command {
    /// Take over with this version; on an error the old one goes on. Answered with whether the new one listened to the old one's snapshot.
    Swap(Box<Version>, oneshot::Sender<Result<bool, LoadError>>),
    /// Take no events until further notice: the one in the guest's hands has ended. Or, with false, take events again, also those that
    /// the breaker holds back.
    Hold(bool, Done),
    /// Stop the guest and end.
    Stop,
}

/// Hears of what was asked for: it is done and shown, or why it is not.
pub(crate) type Done = Box<dyn FnOnce(Result<(), AdminError>) + Send>;

/// More commands than the one task that sends them can have under way.
pub(crate) const COMMANDS_MAX: usize = 4;

pub(crate) struct Actor {
    pub(crate) name: PluginName,
    pub(crate) engine: Engine,
    /// Those of the version in charge.
    pub(crate) limits: Limits,
    /// The guest is called only while this host leads; but for being told to stop.
    pub(crate) leading: Leading,
    pub(crate) log_budget: LogBudget,
    pub(crate) pace: Pace,
    pub(crate) powers: Powers,
    pub(crate) status: Arc<StatusCell>,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) running: Running,
    pub(crate) failures: Failures,
    pub(crate) reevaluation: Reevaluation,
    pub(crate) syncs: SyncCalls,
    /// Events that were taken since a key was, as far as that matters to whose turn it is.
    pub(crate) events_since_key: u32,
    /// Whether the last call was for a schedule: something else has the next turn.
    pub(crate) fired_last: bool,
    pub(crate) paused: bool,
    /// The instance of the version before, and when it ends at the latest.
    pub(crate) retired: Option<(Box<Instance>, Instant)>,
}

/// The version in charge and its instance.
pub(crate) enum Running {
    /// Nothing was started yet.
    Nothing,
    Alive {
        version: Box<Version>,
        instance: Box<Instance>,
        losses: u32,
    },
    /// The instance ended; the next one may be made at `at`.
    Lost {
        version: Box<Version>,
        losses: u32,
        at: Instant,
    },
}

enum Wake {
    Command(Option<Command>),
    Restart,
    Retire,
    Event,
}

impl Actor {
    /// Runs until it is told to stop. What is rare is boxed: an actor is as large as the largest of what it may be about.
    pub(crate) async fn run(mut self) {
        loop {
            let wake = tokio::select! {
                biased;
                command = self.commands.recv() => Wake::Command(command),
                () = until(self.retired.as_ref().map(|(_, at)| *at)) => Wake::Retire,
                wake = Self::work(&mut self.running, &self.syncs, (&self.leading, self.failures.open_until()), &self.status), if !self.paused => wake,
            };
            match wake {
                Wake::Command(Some(Command::Swap(version, reply))) => {
                    let result = Box::pin(self.swap(version)).await;
                    // Whoever asked may be gone at shutdown; the swap stands all the same.
                    let _ = reply.send(result);
                }
                Wake::Command(Some(Command::Hold(paused, done))) => {
                    match paused {
                        true => self.pause(),
                        false => self.resume(),
                    }
                    done(Ok(()));
                }
                Wake::Command(Some(Command::Stop) | None) => return Box::pin(self.stop()).await,
                Wake::Restart => Box::pin(self.restart()).await,
                Wake::Retire => Box::pin(self.retire()).await,
                Wake::Event => self.deliver_some().await,
            }
        }
    }

    /// Waits for something to do. It only waits, so that a command can interrupt it.
    async fn work(
        running: &mut Running,
        syncs: &SyncCalls,
        (leading, not_before): (&Leading, Option<Instant>),
        status: &StatusCell,
    ) -> Wake {
        leading.acquired().await;
        until_or_now(not_before).await;
        let syncs = not_before.is_none().then_some(syncs);
        match running {
            Running::Nothing => std::future::pending().await,
            Running::Lost { at, .. } => {
                tokio::time::sleep_until((*at).into()).await;
                Wake::Restart
            }
            Running::Alive { instance, .. } => {
                let debt = instance.state().log_budget.debt(Instant::now());
                if !debt.is_zero() {
                    tokio::time::sleep(debt).await;
                }
                keys::wait(status, instance.works_on_keys(), syncs).await;
                Wake::Event
            }
        }
    }

    fn state(&self, version: &Version) -> GuestState {
        let (log_budget, reads) = (self.log_budget.clone(), version.reads.clone());
        let state = StateCall::new(self.status.state.clone());
        let limits = &version.settings.limits;
        let keys = version.template.exported().reconciler.then(|| self.status.keys.clone());
        let guest = GuestState::new(self.name.clone(), limits, log_budget, Some(reads));
        let guest = guest.with_state(state).with_pace(self.pace.clone()).with_keys(keys);
        let guest = guest.with_metrics(self.status.metrics.clone());
        let powers = self.powers.of(&version.settings, &self.status);
        guest.with_leading(self.leading.clone()).with_powers(powers)
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
        if let Running::Alive { mut instance, .. } = running
            && let Err(error) = instance.stop().await
        {
            warn!(plugin = self.name.as_str(), "stop failed: {error}");
        }
    }

    fn pause(&mut self) {
        self.paused = true;
        self.status.apply([Input::Paused], Timestamp::now());
    }

    fn resume(&mut self) {
        self.paused = false;
        self.failures.reset();
        let mut crashed = None;
        if let Running::Lost { at, losses, .. } = &mut self.running {
            (*at, *losses) = (Instant::now(), 0);
            let reason = "its instance ended and the next one starts".to_owned();
            crashed = Some(Input::Crashed { reason });
        }
        let inputs = [Input::Resumed].into_iter().chain(crashed);
        self.status.apply(inputs, Timestamp::now());
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
        if !self.leading.is_leader() {
            return None;
        }
        if let Some(subscription) = self.next_sync(now) {
            return self.tell_synced(subscription).await;
        }
        if let Some(firing) = self.next_firing(now) {
            return self.fire(firing).await;
        }
        match self.turn(now) {
            Turn::Event => {}
            Turn::Key(work) => return self.reconcile(&work).await,
            Turn::Nothing => return None,
        }
        if self.reevaluation.is_look_due() {
            self.forget_reevaluated();
        }
        self.deliver_event(now).await
    }

    async fn deliver_event(&mut self, now: Instant) -> Option<Instant> {
        let began = now;
        let Running::Alive { version, instance, losses } = &mut self.running else { return None };
        let queued = self.status.queue.pop(now)?;
        let Some(subscription) = version.subscriptions.get(&queued.event.subscription) else {
            self.drop_event(queued, now);
            return Some(now);
        };
        let id = queued.event.subscription;
        if permitted::is_put_by(&self.status.queue, id, &subscription.permissions) {
            return Some(now);
        }
        let seen = self.reevaluation.see(&queued, subscription.asked_by, &subscription.wish);
        let event = to_tell(subscription, &queued, seen.as_ref(), &self.status.counters);
        let withheld = self.status.restriction.check_read(&subscription.resource).err();
        let is_told = |event: &&Event| {
            withheld.is_some() || !becomes_keys(&self.status, subscription, event, now)
        };
        let told = event.filter(is_told);
        let Some(event) = told else {
            let now = Instant::now();
            self.pace.passed_over(now - began);
            self.reevaluation.settle(&queued.event, subscription.asked_by, seen.as_ref());
            self.finish(&queued, StateChanges::new(), now);
            return Some(now);
        };
        self.events_since_key = EVENTS_BETWEEN_KEYS;
        let called = Instant::now();
        self.status.queue.calls(called);
        let result = match withheld {
            Some(reason) => Err(CallError::Withheld { reason }),
            None => call(instance, subscription, &queued, event, called).await,
        };
        let now = Instant::now();
        let counters = &self.status.counters;
        counters.handle_seconds.observe(now - called);
        self.pace.took(now - began);
        let owes = Self::look_after(&self.name, counters, instance, now);
        match result {
            Ok(()) => {
                *losses = 0;
                add_one(&counters.ok);
                // A retry's wait is not the host's latency.
                if queued.attempt == 1 {
                    counters.event_latency_seconds.observe(now - queued.event.received);
                }
                self.reevaluation.settle(&queued.event, subscription.asked_by, seen.as_ref());
                let state = instance.state().commit_state();
                self.finish(&queued, state, now);
                self.note(Outcome::Succeeded, queued.attempt == 1, now);
                self.retire().await;
                (!owes).then_some(now)
            }
            Err(error) => {
                instance.state().forget_state();
                self.failed(&queued, &error, now);
                None
            }
        }
    }

    /// Of subscriptions that nothing is left to be seen again of, nothing has to be remembered.
    fn forget_reevaluated(&mut self) {
        let Running::Alive { version, .. } = &self.running else { return };
        let queue = &self.status.queue;
        let is_over = |id: SubscriptionId| {
            let asked_by = version.subscriptions.get(&id).map(|subscription| subscription.asked_by);
            asked_by.is_none_or(|asked_by| queue.is_past_others(id, asked_by))
        };
        self.reevaluation.retain(|id| !is_over(id));
    }

    /// What a call has left behind. Answers whether the guest has to wait for having logged too much.
    fn look_after(
        name: &PluginName,
        counters: &Counters,
        instance: &mut Instance,
        now: Instant,
    ) -> bool {
        counters.memory_bytes.store(instance.state().limiter.memory_bytes() as u64, Relaxed);
        let host_calls = std::mem::take(&mut instance.state().host_calls).as_nanos() as u64;
        counters.host_call_nanoseconds.fetch_add(host_calls, Relaxed);
        let (dropped, owes) = instance.state().log_budget.look(now);
        if dropped > 0 {
            counters.log_lines_dropped.fetch_add(dropped, Relaxed);
            warn!(plugin = name.as_str(), "{dropped} log lines were over the limit and dropped");
        }
        owes
    }
}
