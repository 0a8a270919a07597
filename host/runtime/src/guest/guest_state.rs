//! The data of one instance's store.

mod growth;
mod wasi;

use crate::account::{Held, Holding, Ledger, Overdraft};
use crate::call_error::CallError;
use crate::contract::limits::Limits;
use crate::delivery::plugin_queue::PluginQueue;
use crate::event::{CurrentEvent, ShownObject};
use crate::guest::call_deadline::CallDeadline;
use crate::guest::instance_ends::InstanceEnds;
use crate::guest::reads::Reads;
use crate::guest::surroundings::Surroundings;
use crate::guest::tape::Tape;
use crate::kept::plugin_state::{StateCall, StateChanges};
use crate::log_budget::LogBudget;
use crate::log_tail::LogTail;
use crate::outside::leading::Leading;
use crate::pace::{LargeInstance, Pace};
use crate::plugin_metrics::PluginMetrics;
use crate::plugin_name::PluginName;
use crate::powers::PluginPowers;
use crate::shard::Shard;
use crate::trace::{CallTrace, TraceId};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(crate) use wasi::{OutputLine, POLLABLES_MAX, READY, Wasi};
use wasmtime::ResourceLimiter;

/// The data of a store; host functions are methods on it.
pub(crate) struct GuestState {
    pub(crate) plugin: PluginName,
    /// The number of the instance among the plugin's shards.
    pub(crate) shard: Shard,
    pub(crate) limiter: Limiter,
    /// The deadline of the current call.
    pub(crate) clock: CallDeadline,
    /// Present once the instance has much memory.
    large: Option<LargeInstance>,
    pub(crate) phase: Phase,
    /// Shared with the plugin's other instances, so that a new instance does not get a fresh budget.
    pub(crate) log_budget: LogBudget,
    /// The plugin's last lines, for readers.
    pub(crate) log_tail: LogTail,
    /// Shared with the earlier instances.
    pub(crate) ends: InstanceEnds,
    /// `None` for an instance that only describes itself.
    pub(crate) reads: Option<Arc<Reads>>,
    /// The plugin's values as the current call sees them. `None` for an instance that only describes itself.
    pub(crate) state: Option<StateCall>,
    /// The plugin's workqueue. `None` for a plugin that reconciles no keys, and during `describe`.
    pub(crate) keys: Option<Arc<PluginQueue>>,
    /// The plugin's metrics. `None` during `describe`.
    pub(crate) metrics: Option<Arc<Mutex<PluginMetrics>>>,
    /// Whether this host leads.
    pub(crate) leading: Leading,
    /// The powers for outside requests. `None` during `describe`.
    pub(crate) powers: Option<PluginPowers>,
    pub(crate) notes: CallNotes,
    /// The WASI data; `None` until the first use.
    pub(crate) wasi: Option<Box<Wasi>>,
    /// The source of time and random bytes.
    pub(crate) surroundings: Surroundings,
    /// The begin of the instance, and of its monotonic clock.
    pub(crate) began: Instant,
    /// The tape of the instance; usually none.
    pub(crate) tape: Option<Arc<dyn Tape>>,
    /// The ledger of the plugin's account.
    pub(crate) ledger: Arc<Ledger>,
    limits: Arc<Limits>,
}

/// Notes of the host functions on the call in progress, for the code that made the call.
#[derive(Default)]
pub(crate) struct CallNotes {
    /// The reason for which a key was not added.
    pub(crate) key_refused: Option<CallError>,
    /// The cluster, a grant or the lead was missing for a host function. If the call fails, its event is not at fault.
    pub(crate) is_hindered: bool,
    /// The writes to the cluster, for the history.
    pub(crate) wrote: String,
    /// The last line that was logged as an error: a panic logs its message before it traps.
    pub(crate) last_words: Option<String>,
    /// The time that calls of host functions took.
    pub(crate) host_calls: Duration,
    /// The trace of the call; `None` without traces.
    pub(crate) trace: Option<Box<CallTrace>>,
}

impl CallNotes {
    /// Forgets the notes that belong to one call. The others are taken after the call.
    pub(super) fn begin(&mut self) {
        self.last_words = None;
        self.is_hindered = false;
        self.wrote.clear();
    }
}

/// The purpose of the current call.
pub(crate) enum Phase {
    Idle,
    Describe,
    Start,
    /// A snapshot is made or restored.
    Carry,
    Stop,
    Handle(CurrentEvent),
    /// The `synced` call after initial objects.
    Synced,
    /// The guest reconciles this key, which these sampled changes added.
    Reconcile(Arc<str>, Vec<TraceId>),
    /// The guest is called for this schedule.
    Fire(Arc<str>),
}

impl Phase {
    /// The purpose of the call, in the words of a plugin's author.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Idle => "instantiation",
            Self::Describe => "describe",
            Self::Start => "start",
            Self::Carry => "snapshot or restore",
            Self::Stop => "stop",
            Self::Handle(_) => "handle",
            Self::Synced => "synced",
            Self::Reconcile(..) => "reconcile",
            Self::Fire(_) => "fire",
        }
    }

    /// Bytes of the words that each logged line of the call has: the object's, the key's or the schedule's.
    pub(crate) fn words_bytes(&self) -> usize {
        match self {
            Self::Handle(current) => {
                current.resource.len() + ShownObject::from(&current.event.object).bytes()
            }
            Self::Reconcile(key, _) => key.len(),
            Self::Fire(schedule) => schedule.len(),
            _ => 0,
        }
    }

    /// Whether the call is for an event, a `synced` call, a key or a firing. Its success differs from a failure, and
    /// no other version is in charge.
    pub(crate) fn is_work(&self) -> bool {
        match self {
            Self::Handle(_) | Self::Synced | Self::Reconcile(..) | Self::Fire(_) => true,
            Self::Idle | Self::Describe | Self::Start | Self::Carry | Self::Stop => false,
        }
    }
}

impl GuestState {
    pub(crate) fn new(
        plugin: PluginName,
        limits: &Arc<Limits>,
        log_budget: LogBudget,
        reads: Option<Arc<Reads>>,
    ) -> Self {
        let (ledger, surroundings) = (Arc::default(), Surroundings::default());
        Self {
            plugin,
            shard: Shard::ONLY,
            limiter: Limiter::new(limits, &ledger),
            clock: CallDeadline::new(Instant::now(), Pace::default()),
            large: None,
            phase: Phase::Idle,
            log_budget,
            log_tail: LogTail::default(),
            ends: InstanceEnds::default(),
            reads,
            state: None,
            keys: None,
            metrics: None,
            leading: Leading::default(),
            powers: None,
            notes: CallNotes::default(),
            wasi: None,
            began: surroundings.now(),
            surroundings,
            tape: None,
            ledger,
            limits: limits.clone(),
        }
    }

    /// The same, after instances with these ends.
    pub(crate) fn after(self, ends: InstanceEnds) -> Self {
        Self { ends, ..self }
    }

    /// The same, for a plugin with this pace.
    pub(crate) fn with_pace(self, pace: Pace) -> Self {
        Self { clock: CallDeadline::new(Instant::now(), pace), ..self }
    }

    /// The same, on a host with this lead.
    pub(crate) fn with_leading(self, leading: Leading) -> Self {
        Self { leading, ..self }
    }

    /// The same, for this shard.
    pub(crate) fn of_shard(self, shard: Shard) -> Self {
        Self { shard, ..self }
    }

    /// The same, with the plugin's last lines.
    pub(crate) fn logging_to(self, log_tail: &LogTail) -> Self {
        Self { log_tail: log_tail.clone(), ..self }
    }

    /// The same, charged to this plugin's account.
    pub(crate) fn charged_to(self, ledger: &Arc<Ledger>) -> Self {
        let limiter = Limiter::new(&self.limits, ledger);
        Self { limiter, ledger: ledger.clone(), ..self }
    }

    /// Holds so many bytes in the plugin's account during a request. On an error the request must not be sent.
    pub(crate) fn hold_request(&self, bytes: usize) -> Result<Held, String> {
        let most = self.limits.host_memory_max;
        let held = Held::of(&self.ledger, Holding::Requests, bytes as u64, most);
        held.map_err(|overdraft| overdraft.to_string())
    }

    /// The same, with the plugin's values.
    pub(crate) fn with_state(self, state: StateCall) -> Self {
        Self { state: Some(state), ..self }
    }

    /// The same, with the workqueue of a plugin that reconciles keys.
    pub(crate) fn with_keys(self, keys: Option<Arc<PluginQueue>>) -> Self {
        Self { keys, ..self }
    }

    /// The same, with the plugin's metrics.
    pub(crate) fn with_metrics(self, metrics: Arc<Mutex<PluginMetrics>>) -> Self {
        Self { metrics: Some(metrics), ..self }
    }

    /// The same, with the plugin's powers for outside requests.
    pub(crate) fn with_powers(self, powers: PluginPowers) -> Self {
        Self { powers: Some(powers), ..self }
    }

    /// The same, in these surroundings and with this tape.
    pub(crate) fn within(self, surroundings: Surroundings, tape: Option<Arc<dyn Tape>>) -> Self {
        Self { began: surroundings.now(), surroundings, tape, ..self }
    }

    /// Commits the writes of a successful call, drops those of a failed one, and ends the call's span.
    pub(crate) fn finish<T>(
        &mut self,
        result: Result<T, CallError>,
        keep: impl FnOnce(StateChanges),
    ) -> Result<T, CallError> {
        let result = result.and_then(|value| self.commit_state(keep).map(|()| value));
        if result.is_err() {
            self.forget_state();
        }
        self.end_trace(&result);
        result
    }

    /// Commits the writes of a successful call. `keep` gets them, in the order of all calls. Returns an error if a
    /// conflict with writes of other shards makes the call fail after all.
    fn commit_state(&mut self, keep: impl FnOnce(StateChanges)) -> Result<(), CallError> {
        match &mut self.state {
            Some(state) => state.commit(keep),
            None => {
                keep(StateChanges::new());
                Ok(())
            }
        }
    }

    /// Drops the writes of a failed call.
    fn forget_state(&mut self) {
        if let Some(state) = &mut self.state {
            state.forget();
        }
    }

    /// The plugin's powers for outside requests, if this call may use them.
    pub(crate) fn powers_at_work(&self) -> Option<PluginPowers> {
        self.powers.clone().filter(|_| self.phase.is_work())
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// The bytes of a function reference in a table.
const ELEMENT_BYTES: usize = 8;

/// Refuses memory above the limits, summed over the instance's parts and over the plugin's account. Remembers the
/// exceeded limit.
pub(crate) struct Limiter {
    limits: Arc<Limits>,
    memory_bytes: usize,
    table_elements: usize,
    /// The instance's part of the plugin's account.
    held: Held,
    exceeded: Option<Exceeded>,
}

/// The limit that a guest exceeded. Each ends its instance at once: a guest must not continue after a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exceeded {
    Memory,
    Tables,
    Account(Overdraft),
}

impl Limiter {
    fn new(limits: &Arc<Limits>, ledger: &Arc<Ledger>) -> Self {
        let held = Held::nothing(ledger, Holding::Instances);
        Self { limits: limits.clone(), memory_bytes: 0, table_elements: 0, held, exceeded: None }
    }

    /// Bytes of the instance's linear memories, and of its parts that have a fixed size.
    fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The limit that the guest exceeded, if there is one.
    pub(crate) fn exceeded(&self) -> Option<&Exceeded> {
        self.exceeded.as_ref()
    }

    /// Charges the instance's memory beside its linear memories, after the check of its size.
    pub(crate) fn take(&mut self, instance_bytes: u64) -> Result<(), Overdraft> {
        self.held.grow(instance_bytes, self.limits.host_memory_max)?;
        let bytes = usize::try_from(instance_bytes).unwrap_or(usize::MAX);
        self.memory_bytes = self.memory_bytes.saturating_add(bytes);
        Ok(())
    }

    /// Charges more bytes, if the plugin may hold them.
    fn hold(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.held.grow(bytes as u64, self.limits.host_memory_max).map_err(|overdraft| {
            self.exceeded = Some(Exceeded::Account(overdraft.clone()));
            wasmtime::Error::msg(overdraft.to_string())
        })
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current);
        let total = self.memory_bytes.saturating_add(more);
        if total > self.limits.memory_bytes_max {
            self.exceeded = Some(Exceeded::Memory);
            return Err(wasmtime::Error::msg("the memory limit was reached"));
        }
        self.hold(more)?;
        self.memory_bytes = total;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current);
        let total = self.table_elements.saturating_add(more);
        if total > self.limits.table_elements_max {
            self.exceeded = Some(Exceeded::Tables);
            return Err(wasmtime::Error::msg("the limit of tables' elements was reached"));
        }
        self.hold(more * ELEMENT_BYTES)?;
        self.table_elements = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        self.limits.instances_max
    }

    fn tables(&self) -> usize {
        self.limits.tables_max
    }

    fn memories(&self) -> usize {
        self.limits.memories_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_summed() {
        let limits = Arc::new(Limits { memory_bytes_max: 100, ..Limits::default() });
        let mut limiter = Limiter::new(&limits, &Arc::default());
        assert!(limiter.memory_growing(0, 60, None).is_ok());
        assert!(limiter.memory_growing(0, 40, None).is_ok(), "a second memory, up to the limit");
        assert_eq!(limiter.exceeded(), None);
        assert!(limiter.memory_growing(40, 41, None).is_err());
        assert_eq!((limiter.exceeded(), limiter.held.bytes()), (Some(&Exceeded::Memory), 100));
    }

    #[test]
    fn tables_are_summed() {
        let limits = Arc::new(Limits { table_elements_max: 100, ..Limits::default() });
        let mut limiter = Limiter::new(&limits, &Arc::default());
        assert!(limiter.table_growing(0, 60, None).is_ok());
        assert!(limiter.table_growing(0, 40, None).is_ok(), "a second table, up to the limit");
        assert_eq!(limiter.exceeded(), None);
        assert!(limiter.table_growing(40, 41, None).is_err());
        assert_eq!(limiter.exceeded(), Some(&Exceeded::Tables));
        assert!(limiter.table_growing(0, usize::MAX, None).is_err(), "a sum too large to count");
    }

    #[test]
    fn what_all_instances_of_a_plugin_have_is_summed_with_the_rest_of_its_account() {
        let limits = Arc::new(Limits { host_memory_max: 100, ..Limits::default() });
        let ledger = Arc::<Ledger>::default();
        let [mut one, mut other] = [0; 2].map(|_| Limiter::new(&limits, &ledger));
        one.take(20).expect("there is room");
        assert!(one.memory_growing(0, 40, None).is_ok());
        assert!(other.table_growing(0, 5, None).is_ok(), "the last 40");
        assert!(other.memory_growing(0, 1, None).is_err());
        assert!(matches!(other.exceeded(), Some(Exceeded::Account(_))));
        assert!(one.take(1).is_err());
        drop(one);
        assert!(other.memory_growing(0, 60, None).is_ok(), "an instance that ended gives it back");
    }
}
