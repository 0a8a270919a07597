//! What the host knows of one instance while it runs: the data of its store.

use crate::event::Event;
use crate::limits::Limits;
use crate::log_budget::LogBudget;
use crate::plugin_name::PluginName;
use crate::reads::Reads;
use informant_cache::Object;
use std::sync::Arc;
use std::time::Instant;
use wasmtime::ResourceLimiter;

/// The data of a store; host functions are methods on it.
pub(crate) struct GuestState {
    pub(crate) plugin: PluginName,
    pub(crate) limiter: Limiter,
    /// When the call in progress must be over.
    pub(crate) deadline: Instant,
    pub(crate) phase: Phase,
    pub(crate) log_budget: LogBudget,
    /// Nothing for an instance that only describes itself.
    pub(crate) reads: Option<Arc<Reads>>,
    limits: Limits,
}

/// What the guest is being called for.
pub(crate) enum Phase {
    Idle,
    Describe,
    Start,
    Stop,
    Handle(CurrentEvent),
}

/// The event in the guest's hands, for `event-data` and for the log's keys.
pub(crate) struct CurrentEvent {
    pub(crate) resource: Arc<str>,
    pub(crate) object: Object,
    /// None for a deletion, whose last state is `old`.
    pub(crate) new: Option<Object>,
    pub(crate) old: Option<Object>,
}

impl CurrentEvent {
    pub(crate) fn new(resource: Arc<str>, event: &Event) -> Self {
        let deleted = event.change == crate::event::Change::Deleted;
        let object = event.object.clone();
        let (new, old) = match deleted {
            true => (None, Some(object.clone())),
            false => (Some(object.clone()), event.old.clone()),
        };
        Self { resource, object, new, old }
    }
}

impl GuestState {
    pub(crate) fn new(plugin: PluginName, limits: &Limits, reads: Option<Arc<Reads>>) -> Self {
        let now = Instant::now();
        Self {
            plugin,
            limiter: Limiter::new(limits),
            deadline: now,
            phase: Phase::Idle,
            log_budget: LogBudget::new(
                limits.log_lines_per_second,
                limits.log_bytes_per_second,
                now,
            ),
            reads,
            limits: limits.clone(),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// Refuses memory and table growth above the limits, and remembers that it did.
pub(crate) struct Limiter {
    memory_bytes_max: usize,
    table_elements_max: usize,
    memory_bytes: usize,
    exceeded: bool,
}

impl Limiter {
    fn new(limits: &Limits) -> Self {
        Self {
            memory_bytes_max: limits.memory_bytes_max,
            table_elements_max: limits.table_elements_max,
            memory_bytes: 0,
            exceeded: false,
        }
    }

    /// The memory limit, if the guest ran into it.
    pub(crate) fn exceeded(&self) -> Option<usize> {
        self.exceeded.then_some(self.memory_bytes_max)
    }

    /// Linear memory in bytes, of all memories of the instance.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self.memory_bytes + desired.saturating_sub(current);
        if total > self.memory_bytes_max {
            self.exceeded = true;
            // An error ends the guest at once; a mere refusal would let it stumble on.
            return Err(wasmtime::Error::msg("the memory limit was reached"));
        }
        self.memory_bytes = total;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= self.table_elements_max)
    }
}
