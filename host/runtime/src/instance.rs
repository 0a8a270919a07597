//! One running plugin instance: a store, its limits, and the calls that can be made.

use crate::backtrace::Backtrace;
use crate::bindings::exports::informant::plugin::{handler, lifecycle, stateful, sync_aware};
use crate::bindings::informant::plugin as imports;
use crate::call_error::{CallError, Retry};
use crate::compiler::CompileError;
use crate::engine::Engine;
use crate::guest_state::{Exceeded, GuestState, Phase};
use crate::limits::Limits;
use std::time::{Duration, Instant};
use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Store, Trap, UpdateDeadline, WasmBacktrace};

/// A compiled plugin from which instances are made in microseconds.
#[derive(Clone)]
pub(crate) struct Template {
    pre: InstancePre<GuestState>,
}

impl Template {
    /// Links a compiled component with the host's functions.
    pub(crate) fn new(engine: &Engine, compiled: &Component) -> Result<Self, CompileError> {
        let failed = |error: wasmtime::Error| CompileError::Refused(format!("{error:#}"));
        let mut linker = Linker::<GuestState>::new(engine.wasmtime());
        link(&mut linker).map_err(failed)?;
        let pre = linker.instantiate_pre(compiled).map_err(failed)?;
        Ok(Self { pre })
    }

    /// Makes an instance around `state`.
    pub(crate) async fn instantiate(
        &self,
        engine: &Engine,
        state: GuestState,
    ) -> Result<Instance, CallError> {
        let mut store = Store::new(engine.wasmtime(), state);
        let limits = store.data().limits().clone();
        store.limiter(|state| &mut state.limiter);
        store.epoch_deadline_callback(|context| {
            let clock = &context.data().clock;
            if clock.expired(Instant::now()) {
                return Err(Trap::Interrupt.into());
            }
            Ok(UpdateDeadline::YieldCustom(1, Box::pin(clock.give_way())))
        });
        store.set_hostcall_fuel(limits.hostcall_bytes_max);
        arm(&mut store, Instant::now(), limits.start_deadline);
        let made = self.pre.instantiate_async(&mut store).await;
        let made = made.and_then(|instance| {
            let lifecycle = lifecycle::GuestIndices::new(&self.pre)?.load(&mut store, &instance)?;
            let handler = handler::GuestIndices::new(&self.pre)?.load(&mut store, &instance)?;
            let stateful = match stateful::GuestIndices::new(&self.pre) {
                Ok(indices) => Some(indices.load(&mut store, &instance)?),
                // It is not exported.
                Err(_) => None,
            };
            let sync_aware = match sync_aware::GuestIndices::new(&self.pre) {
                Ok(indices) => Some(indices.load(&mut store, &instance)?),
                Err(_) => None,
            };
            Ok(Exports { lifecycle, handler, stateful, sync_aware })
        });
        match made {
            Ok(exports) => Ok(Instance { store, exports, limits }),
            Err(error) => Err(call_error(&error, &store, limits.start_deadline)),
        }
    }
}

fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    imports::types::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    imports::log::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    imports::indexer::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    imports::event_data::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    imports::host_info::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    imports::state::add_to_linker::<_, HasSelf<_>>(linker, |state| state)
}

/// A live instance. After an error that [ends it](CallError::ends_instance) it must be dropped.
pub(crate) struct Instance {
    store: Store<GuestState>,
    exports: Exports,
    limits: Limits,
}

/// What can be called.
struct Exports {
    lifecycle: lifecycle::Guest,
    handler: handler::Guest,
    stateful: Option<stateful::Guest>,
    sync_aware: Option<sync_aware::Guest>,
}

impl Instance {
    pub(crate) async fn describe(&mut self, config: &[u8]) -> Result<Vec<u8>, CallError> {
        self.begin(Phase::Describe, Instant::now(), self.limits.start_deadline);
        let result = self.exports.lifecycle.call_describe(&mut self.store, config).await;
        self.end(result, self.limits.start_deadline)?.map_err(guest_error)
    }

    pub(crate) async fn start(&mut self, config: &[u8]) -> Result<(), CallError> {
        self.begin(Phase::Start, Instant::now(), self.limits.start_deadline);
        let result = self.exports.lifecycle.call_start(&mut self.store, config).await;
        self.end(result, self.limits.start_deadline)?.map_err(guest_error)
    }

    pub(crate) async fn stop(&mut self) -> Result<(), CallError> {
        self.begin(Phase::Stop, Instant::now(), self.limits.stop_deadline);
        let result = self.exports.lifecycle.call_stop(&mut self.store).await;
        self.end(result, self.limits.stop_deadline)
    }

    /// What the guest wants its successor to know; none if it has nothing to say.
    pub(crate) async fn snapshot(&mut self) -> Result<Option<Vec<u8>>, CallError> {
        let Some(stateful) = self.exports.stateful.clone() else { return Ok(None) };
        self.begin(Phase::Carry, Instant::now(), self.limits.start_deadline);
        let result = stateful.call_snapshot(&mut self.store).await;
        let data = self.end(result, self.limits.start_deadline)?.map_err(guest_error)?;
        match data {
            Some(data) if data.len() > self.limits.state_bytes_max => {
                let (found, max) = (data.len(), self.limits.state_bytes_max);
                let text = format!("a snapshot of {found} bytes, at most {max} are carried over");
                Err(CallError::guest(&text, Retry::Never))
            }
            data => Ok(data),
        }
    }

    /// Hands over what the version before had to say. Answers whether the guest listens to it at all.
    pub(crate) async fn restore(
        &mut self,
        from_version: &str,
        data: &[u8],
    ) -> Result<bool, CallError> {
        let Some(stateful) = self.exports.stateful.clone() else { return Ok(false) };
        self.begin(Phase::Carry, Instant::now(), self.limits.start_deadline);
        let result = stateful.call_restore(&mut self.store, from_version, data).await;
        self.end(result, self.limits.start_deadline)?.map_err(guest_error)?;
        Ok(true)
    }

    /// Delivers one event.
    pub(crate) async fn handle(
        &mut self,
        event: handler::Event<'_>,
        current: crate::guest_state::CurrentEvent,
        now: Instant,
    ) -> Result<(), CallError> {
        self.begin(Phase::Handle(current), now, self.limits.handle_deadline);
        let result = self.exports.handler.call_handle(&mut self.store, event).await;
        self.end(result, self.limits.handle_deadline)?.map_err(failure)
    }

    /// Whether the guest wants to know when initial objects are through.
    pub(crate) fn is_sync_aware(&self) -> bool {
        self.exports.sync_aware.is_some()
    }

    /// Tells that the initial objects of the subscription with this index are through.
    pub(crate) async fn synced(&mut self, subscription: u32) -> Result<(), CallError> {
        let Some(sync_aware) = self.exports.sync_aware.clone() else { return Ok(()) };
        self.begin(Phase::Synced, Instant::now(), self.limits.handle_deadline);
        let result = sync_aware.call_synced(&mut self.store, subscription).await;
        self.end(result, self.limits.handle_deadline)?.map_err(failure)
    }

    /// The guest's state on the host's side.
    pub(crate) fn state(&mut self) -> &mut GuestState {
        self.store.data_mut()
    }

    fn begin(&mut self, phase: Phase, now: Instant, deadline: Duration) {
        self.store.data_mut().phase = phase;
        arm(&mut self.store, now, deadline);
    }

    fn end<T>(&mut self, result: wasmtime::Result<T>, deadline: Duration) -> Result<T, CallError> {
        let result = result.map_err(|error| call_error(&error, &self.store, deadline));
        self.store.data_mut().phase = Phase::Idle;
        result
    }
}

/// Every call gets its deadline anew: an engine with epochs traps a store that has none.
fn arm(store: &mut Store<GuestState>, now: Instant, deadline: Duration) {
    store.data().clock.arm(now, deadline);
    store.set_epoch_deadline(1);
}

fn guest_error(message: String) -> CallError {
    CallError::guest(&message, Retry::Backoff)
}

fn failure(failure: imports::types::Failure) -> CallError {
    let retry = match failure.retry {
        imports::types::Retry::Backoff => Retry::Backoff,
        imports::types::Retry::AfterMs(ms) => Retry::After(Duration::from_millis(ms)),
        imports::types::Retry::Never => Retry::Never,
    };
    CallError::guest(&failure.message, retry)
}

fn call_error(error: &wasmtime::Error, store: &Store<GuestState>, deadline: Duration) -> CallError {
    let backtrace = backtrace(error);
    let state = store.data();
    let place = backtrace.short();
    let ended = match (state.limiter.exceeded(), error.downcast_ref::<Trap>()) {
        (Some(Exceeded::Memory), _) => {
            CallError::MemoryExceeded { limit: state.limits().memory_bytes_max, place }
        }
        (Some(Exceeded::Tables), _) => {
            CallError::TablesExceeded { limit: state.limits().table_elements_max, place }
        }
        (None, Some(Trap::Interrupt)) => CallError::DeadlineExceeded { limit: deadline, place },
        (None, Some(trap)) => CallError::trap(&trap_text(&trap.to_string()), &backtrace),
        (None, None) => CallError::trap(&trap_text(&error.root_cause().to_string()), &backtrace),
    };
    state.tell_end(&ended, &backtrace);
    ended
}

fn backtrace(error: &wasmtime::Error) -> Backtrace {
    let frames = error.downcast_ref::<WasmBacktrace>().map_or(&[][..], WasmBacktrace::frames);
    Backtrace::new(frames.iter().map(|frame| (frame.func_name(), frame.func_index())))
}

fn trap_text(text: &str) -> String {
    let text = text.strip_prefix("wasm trap: ").unwrap_or(text);
    match text.contains("unreachable") {
        true => format!("{text} (a panic or an abort in the plugin)"),
        false => text.to_owned(),
    }
}
