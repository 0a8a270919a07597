//! The actor of one plugin: the only one that calls its guest. Takes the next event, calls, settles.

mod call;

use crate::call_error::{CallError, Retry};
use crate::counters::add_one;
use crate::descriptor::SubscriptionSpec;
use crate::engine::Engine;
use crate::event::SubscriptionId;
use crate::guest_state::GuestState;
use crate::instance::{Instance, Template};
use crate::lifecycle::Input;
use crate::limits::Limits;
use crate::log_budget::LogBudget;
use crate::plugin_name::PluginName;
use crate::queue::{Queued, Settled};
use crate::reads::Reads;
use crate::status::{RunningVersion, StatusCell};
use call::call;
use hashbrown::HashMap;
use jiff::Timestamp;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tracing::{error, info, warn};

/// First wait of a failed event, doubled with each attempt, as client-go's
/// `DefaultTypedItemBasedRateLimiter` does, with a cap that people can wait for.
const RETRY_BASE: Duration = Duration::from_millis(5);
const RETRY_MAX: Duration = Duration::from_secs(30);
/// First wait before a lost instance is replaced, doubled with each loss until an event succeeds.
const RESTART_BASE: Duration = Duration::from_millis(100);
const RESTART_MAX: Duration = Duration::from_secs(300);
/// Events handed over before the thread's other plugins have a turn, which costs about as much as an event; and how long they
/// may take together: a guest's own turn is no longer than a tick.
const EVENTS_AT_ONCE: usize = 64;
const TURN_MAX: Duration = Duration::from_millis(1);
/// An old version is stopped after the new one's first event, or after this when nothing happens.
const RETIREMENT_MAX: Duration = Duration::from_secs(1);

/// Everything that one version of a plugin needs to run.
pub(crate) struct Version {
    /// What is shown of it while it runs.
    pub(crate) shown: RunningVersion,
    pub(crate) template: Template,
    pub(crate) reads: Arc<Reads>,
    pub(crate) config: Vec<u8>,
    /// Which of the version's subscriptions an event's id is.
    pub(crate) subscriptions: HashMap<SubscriptionId, Subscription>,
}

/// How events of one subscription are handed over.
pub(crate) struct Subscription {
    /// Position in the version's descriptor.
    pub(crate) index: u32,
    pub(crate) resource: Arc<str>,
    pub(crate) spec: SubscriptionSpec,
}

/// What others may ask of an actor.
pub(crate) enum Command {
    /// Take over with this version; on an error the old one goes on.
    Swap(Box<Version>, oneshot::Sender<Result<(), CallError>>),
    /// Stop the guest and end.
    Stop,
}

/// More commands than the one task that sends them can have under way.
pub(crate) const COMMANDS_MAX: usize = 4;

pub(crate) struct Actor {
    pub(crate) name: PluginName,
    pub(crate) engine: Engine,
    pub(crate) limits: Limits,
    pub(crate) log_budget: LogBudget,
    pub(crate) status: Arc<StatusCell>,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) running: Running,
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
    /// Runs until it is told to stop.
    pub(crate) async fn run(mut self) {
        loop {
            let wake = tokio::select! {
                biased;
                command = self.commands.recv() => Wake::Command(command),
                () = until(self.retired.as_ref().map(|(_, at)| *at)) => Wake::Retire,
                wake = Self::work(&mut self.running, &self.status) => wake,
            };
            match wake {
                Wake::Command(Some(Command::Swap(version, reply))) => {
                    let result = self.swap(version).await;
                    // Whoever asked may be gone at shutdown; the swap stands all the same.
                    let _ = reply.send(result);
                }
                Wake::Command(Some(Command::Stop) | None) => return self.stop().await,
                Wake::Restart => self.restart().await,
                Wake::Retire => self.retire().await,
                Wake::Event => self.deliver_some().await,
            }
        }
    }

    /// Waits for something to do. It only waits, so that a command can interrupt it.
    async fn work(running: &mut Running, status: &StatusCell) -> Wake {
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
                status.queue.wait().await;
                Wake::Event
            }
        }
    }

    fn state(&self, version: &Version) -> GuestState {
        let (log_budget, reads) = (self.log_budget.clone(), version.reads.clone());
        GuestState::new(self.name.clone(), &self.limits, log_budget, Some(reads))
    }

    /// Makes and starts an instance of the version.
    async fn instance(&self, version: &Version) -> Result<Instance, CallError> {
        let state = self.state(version);
        let mut instance = version.template.instantiate(&self.engine, state).await?;
        instance.start(&version.config).await?;
        Ok(instance)
    }

    /// The old version is kept until the new one has started; then the queue goes on with the new one.
    async fn swap(&mut self, version: Box<Version>) -> Result<(), CallError> {
        let instance = Box::new(self.instance(&version).await?);
        self.status.took_over(version.shown.clone(), Timestamp::now());
        let running = Running::Alive { version, instance, losses: 0 };
        let old = std::mem::replace(&mut self.running, running);
        // At most one old instance waits for its end.
        self.retire().await;
        if let Running::Alive { instance, .. } = old {
            self.retired = Some((instance, Instant::now() + RETIREMENT_MAX));
        }
        Ok(())
    }

    /// Stops the instance of the version before, once the new one has proven itself by an event, or after
    /// a while.
    async fn retire(&mut self) {
        if let Some((mut instance, _)) = self.retired.take()
            && let Err(error) = instance.stop().await
        {
            warn!(plugin = self.name.as_str(), "stop of the old version failed: {error}");
        }
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

    async fn restart(&mut self) {
        let Running::Lost { version, losses, .. } =
            std::mem::replace(&mut self.running, Running::Nothing)
        else {
            return;
        };
        match self.instance(&version).await {
            Ok(instance) => {
                self.status.apply(Input::Restarted, Timestamp::now());
                info!(plugin = self.name.as_str(), "restarted");
                let instance = Box::new(instance);
                self.running = Running::Alive { version, instance, losses };
            }
            Err(error) => self.lose(version, losses, &error),
        }
    }

    /// The instance is gone; the next one waits longer each time.
    fn lose(&mut self, version: Box<Version>, losses: u32, error: &CallError) {
        let wait = doubled(RESTART_BASE, losses, RESTART_MAX);
        let now = Timestamp::now();
        self.status.counters.restart(error.cause());
        self.status.failed(&error.to_string(), now);
        self.status.apply(Input::Crashed { reason: error.to_string() }, now);
        self.running = Running::Lost { version, losses: losses + 1, at: Instant::now() + wait };
    }

    /// Takes events to the guest, until there is something else to do or to wait for.
    async fn deliver_some(&mut self) {
        let began = Instant::now();
        let mut now = began;
        for _ in 0..EVENTS_AT_ONCE {
            match self.deliver(now).await {
                Some(ended) if self.commands.is_empty() => now = ended,
                _ => return,
            }
            if now - began > TURN_MAX {
                break;
            }
        }
        tokio::task::yield_now().await;
    }

    /// Takes the next event to the guest and settles it; answers when, if the one after it may follow at once.
    async fn deliver(&mut self, now: Instant) -> Option<Instant> {
        let Running::Alive { version, instance, losses } = &mut self.running else { return None };
        let queued = self.status.queue.pop(now)?;
        let Some(subscription) = version.subscriptions.get(&queued.event.subscription) else {
            // It was queued for a subscription that this version has not.
            add_one(&self.status.counters.dropped);
            self.status.queue.settle(Settled::Finished, now);
            return Some(now);
        };
        let called = Instant::now();
        let result = call(instance, subscription, &queued, called).await;
        let now = Instant::now();
        let counters = &self.status.counters;
        counters.handle_seconds.observe(now - called);
        counters.memory_bytes.store(instance.state().limiter.memory_bytes() as u64, Relaxed);
        let (dropped, owes) = instance.state().log_budget.look(now);
        if dropped > 0 {
            counters.log_lines_dropped.fetch_add(dropped, Relaxed);
            warn!(
                plugin = self.name.as_str(),
                "{dropped} log lines were over the limit and dropped"
            );
        }
        match result {
            Ok(()) => {
                *losses = 0;
                add_one(&counters.ok);
                // A retry's wait is not the host's latency.
                if queued.attempt == 1 {
                    counters.event_latency_seconds.observe(now - queued.event.received);
                }
                self.status.queue.settle(Settled::Finished, now);
                self.retire().await;
                (!owes).then_some(now)
            }
            Err(error) => {
                self.failed(&queued, &error, now);
                None
            }
        }
    }

    fn failed(&mut self, queued: &Queued, error: &CallError, now: Instant) {
        let settled = self.verdict(queued, error, now);
        let counters = &self.status.counters;
        add_one(if settled == Settled::Finished { &counters.dead } else { &counters.retry });
        self.status.failed(&error.to_string(), Timestamp::now());
        self.report(queued, error, settled);
        self.status.queue.settle(settled, now);
        if error.ends_instance() {
            let Running::Alive { version, losses, .. } =
                std::mem::replace(&mut self.running, Running::Nothing)
            else {
                return;
            };
            self.lose(version, losses, error);
        }
    }

    /// What becomes of an event whose call failed.
    fn verdict(&self, queued: &Queued, error: &CallError, now: Instant) -> Settled {
        let at = now + doubled(RETRY_BASE, queued.attempt - 1, RETRY_MAX);
        match error {
            CallError::Guest { retry: Retry::Never, .. } => Settled::Finished,
            _ if queued.attempt >= self.limits.attempts_max => Settled::Finished,
            CallError::Guest { retry: Retry::After(wait), .. } => Settled::RetryAt(now + *wait),
            CallError::Guest { retry: Retry::Backoff, .. } => Settled::RetryAt(at),
            _ if queued.crashes + 1 >= self.limits.crashes_per_event_max => Settled::Finished,
            _ => Settled::CrashedRetryAt(at),
        }
    }

    fn report(&self, queued: &Queued, error: &CallError, settled: Settled) {
        let plugin = self.name.as_str();
        let key = queued.event.object.key();
        let (namespace, name) = (key.namespace(), key.name());
        let resource_version = queued.event.object.resource_version();
        let attempt = queued.attempt;
        match settled {
            Settled::Finished => error!(
                plugin,
                namespace,
                name,
                resource_version,
                "gave up on the event after {attempt} attempts: {error}"
            ),
            // Once for each event: the attempts that follow fail alike, and are counted.
            _ if attempt > 1 => {}
            _ => warn!(
                plugin,
                namespace,
                name,
                resource_version,
                "attempt {attempt} failed, the event comes again: {error}"
            ),
        }
    }
}

/// Never without a time.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

fn doubled(base: Duration, times: u32, max: Duration) -> Duration {
    base.saturating_mul(2u32.saturating_pow(times)).min(max)
}
