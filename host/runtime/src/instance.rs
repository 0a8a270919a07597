//! One running plugin instance: a store, its limits, and the calls that can be made.

use crate::backtrace::Backtrace;
use crate::bindings::exports::informant::plugin::{
    handler, lifecycle, reconciler, stateful, sync_aware, timer,
};
use crate::bindings::informant::plugin as imports;
use crate::call_clock::thread_time;
use crate::call_error::{CallError, Retry};
use crate::compiler::{CompileError, Compiled, Report};
use crate::engine::Engine;
use crate::guest_state::{Exceeded, GuestState, Phase};
use crate::host_functions::HostFunctions;
use crate::limits::Limits;
use crate::memory_room::MemoryShare;
use crate::tape::{Answered, Called};
use crate::wasi::WasiImports;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wasmtime::component::InstancePre;
use wasmtime::{Store, Trap, UpdateDeadline, WasmBacktrace};

/// Handles of resources that an instance may have at once, of the host's and of its own. Each takes the host some bytes.
pub(crate) const HANDLES_MAX: usize = 10_000;

/// A compiled plugin from which instances are made in microseconds.
#[derive(Clone)]
pub(crate) struct Template {
    pre: InstancePre<GuestState>,
    exported: Exported,
    wasi: Arc<WasiImports>,
    /// The findings of the process that read its file.
    pub(crate) report: Arc<Report>,
    /// Linear memories of one instance.
    memories: usize,
}

/// Which of the exports are there by which a plugin hears of its work, and whether it hands over what it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exported {
    pub(crate) handler: bool,
    pub(crate) reconciler: bool,
    pub(crate) timer: bool,
    pub(crate) stateful: bool,
}

impl Template {
    /// Links a compiled component with the host's functions.
    pub(crate) fn new(functions: &HostFunctions, compiled: Compiled) -> Result<Self, CompileError> {
        let Compiled { component, report } = compiled;
        let failed = |error: wasmtime::Error| CompileError::Refused(format!("{error:#}"));
        let (pre, wasi) = functions.link(&component).map_err(failed)?;
        let exported = Exported {
            handler: handler::GuestIndices::new(&pre).is_ok(),
            reconciler: reconciler::GuestIndices::new(&pre).is_ok(),
            timer: timer::GuestIndices::new(&pre).is_ok(),
            stateful: stateful::GuestIndices::new(&pre).is_ok(),
        };
        // Unknown of a component that has modules from elsewhere, which nobody offers.
        let required = component.resources_required();
        let memories = required.map_or(usize::MAX, |it| it.num_memories as usize);
        Ok(Self { pre, exported, wasi: Arc::new(wasi), report, memories })
    }

    /// What the plugin can be called with.
    pub(crate) fn exported(&self) -> Exported {
        self.exported
    }

    /// What the plugin imports of WASI.
    pub(crate) fn wasi(&self) -> &Arc<WasiImports> {
        &self.wasi
    }

    /// Makes an instance around `state`.
    pub(crate) async fn instantiate(
        &self,
        engine: &Engine,
        state: GuestState,
    ) -> Result<Instance, CallError> {
        let memories = engine.memories().take(&state.plugin, self.memories);
        let memories = memories.map_err(CallError::NoRoom)?;
        let mut store = Store::new(engine.wasmtime(), state);
        store.data_mut().limiter.take(self.report.instance_bytes);
        let limits = store.data().limits().clone();
        store.limiter(|state| &mut state.limiter);
        store.epoch_deadline_callback(|context| {
            let clock = &context.data().clock;
            if clock.tick(Instant::now(), thread_time()) {
                return Err(Trap::Interrupt.into());
            }
            Ok(UpdateDeadline::YieldCustom(1, Box::pin(clock.give_way())))
        });
        store.set_hostcall_fuel(limits.hostcall_bytes_max);
        store.set_max_component_handles(HANDLES_MAX);
        arm(&mut store, Instant::now(), limits.start_deadline);
        store.data().clock.may_wait(limits.start_deadline);
        let made = self.pre.instantiate_async(&mut store).await;
        let made = made.and_then(|instance| {
            let pre = &self.pre;
            // An error of `new` is that it is not exported.
            let handler = handler::GuestIndices::new(pre).ok();
            let reconciler = reconciler::GuestIndices::new(pre).ok();
            let timer = timer::GuestIndices::new(pre).ok();
            let stateful = stateful::GuestIndices::new(pre).ok();
            let sync_aware = sync_aware::GuestIndices::new(pre).ok();
            let store = &mut store;
            Ok(Exports {
                lifecycle: lifecycle::GuestIndices::new(pre)?.load(&mut *store, &instance)?,
                handler: handler.map(|it| it.load(&mut *store, &instance)).transpose()?,
                reconciler: reconciler.map(|it| it.load(&mut *store, &instance)).transpose()?,
                timer: timer.map(|it| it.load(&mut *store, &instance)).transpose()?,
                stateful: stateful.map(|it| it.load(&mut *store, &instance)).transpose()?,
                sync_aware: sync_aware.map(|it| it.load(&mut *store, &instance)).transpose()?,
            })
        });
        match made {
            Ok(exports) => Ok(Instance { store, exports, limits, _memories: memories }),
            Err(error) => {
                store.data_mut().end_output();
                Err(call_error(&error, &store, limits.start_deadline))
            }
        }
    }
}

/// A live instance. After an error that [ends it](CallError::ends_instance) it must be dropped.
pub(crate) struct Instance {
    store: Store<GuestState>,
    exports: Exports,
    limits: Limits,
    /// Given back once the store is gone.
    _memories: MemoryShare,
}

/// What can be called.
struct Exports {
    lifecycle: lifecycle::Guest,
    handler: Option<handler::Guest>,
    reconciler: Option<reconciler::Guest>,
    timer: Option<timer::Guest>,
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
        self.tell(&Called::Start);
        self.begin(Phase::Start, Instant::now(), self.limits.start_deadline);
        let result = self.exports.lifecycle.call_start(&mut self.store, config).await;
        let result = self.end(result, self.limits.start_deadline);
        self.told(result.and_then(|answer| answer.map_err(guest_error)))
    }

    pub(crate) async fn stop(&mut self) -> Result<(), CallError> {
        self.tell(&Called::Stop);
        self.begin(Phase::Stop, Instant::now(), self.limits.stop_deadline);
        self.store.data().clock.arm_until(Instant::now(), self.limits.stop_deadline);
        self.store.data().clock.may_wait(self.limits.stop_deadline);
        let result = self.exports.lifecycle.call_stop(&mut self.store).await;
        let result = self.end(result, self.limits.stop_deadline);
        self.told(result)
    }

    /// What the guest wants its successor to know; none if it has nothing to say.
    pub(crate) async fn snapshot(&mut self) -> Result<Option<Vec<u8>>, CallError> {
        let Some(stateful) = self.exports.stateful.clone() else { return Ok(None) };
        self.tell(&Called::Snapshot);
        self.begin(Phase::Carry, Instant::now(), self.limits.start_deadline);
        let result = stateful.call_snapshot(&mut self.store).await;
        let result = self.end(result, self.limits.start_deadline);
        match self.told(result.and_then(|answer| answer.map_err(guest_error)))? {
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
        self.tell(&Called::Restore(from_version, data));
        self.begin(Phase::Carry, Instant::now(), self.limits.start_deadline);
        let result = stateful.call_restore(&mut self.store, from_version, data).await;
        let result = self.end(result, self.limits.start_deadline);
        self.told(result.and_then(|answer| answer.map_err(guest_error)))?;
        Ok(true)
    }

    /// Delivers one event.
    pub(crate) async fn handle(
        &mut self,
        event: handler::Event<'_>,
        current: crate::guest_state::CurrentEvent,
        now: Instant,
    ) -> Result<(), CallError> {
        self.tell(&Called::Handle(&event, &current));
        self.begin(Phase::Handle(current), now, self.limits.handle_deadline);
        let Some(handler) = &self.exports.handler else { return Err(not_exported("handler")) };
        let result = handler.call_handle(&mut self.store, event).await;
        let result = self.end_work(result);
        self.told(result)
    }

    /// Whether the guest works on keys.
    pub(crate) fn works_on_keys(&self) -> bool {
        self.exports.reconciler.is_some()
    }

    /// Has the guest work on a key; answers after how many milliseconds it wants to do so again.
    pub(crate) async fn reconcile(
        &mut self,
        key: &Arc<str>,
        attempt: u32,
        now: Instant,
    ) -> Result<Option<u64>, CallError> {
        self.tell(&Called::Reconcile(key, attempt));
        self.begin(Phase::Reconcile(key.clone()), now, self.limits.handle_deadline);
        let Some(reconciler) = &self.exports.reconciler else {
            return Err(not_exported("reconciler"));
        };
        let result = reconciler.call_reconcile(&mut self.store, key, attempt).await;
        let result = self.end_work(result);
        self.told(result)
    }

    /// Tells that the moment of a schedule has come, in milliseconds since 1970.
    pub(crate) async fn fire(
        &mut self,
        schedule: &Arc<str>,
        unix_ms: u64,
        now: Instant,
    ) -> Result<(), CallError> {
        self.tell(&Called::Fire(schedule, unix_ms));
        self.begin(Phase::Fire(schedule.clone()), now, self.limits.handle_deadline);
        let Some(timer) = &self.exports.timer else { return Err(not_exported("timer")) };
        let result = timer.call_fire(&mut self.store, schedule, unix_ms).await;
        let result = self.end_work(result);
        self.told(result)
    }

    /// Whether the guest wants to know when initial objects are through.
    pub(crate) fn is_sync_aware(&self) -> bool {
        self.exports.sync_aware.is_some()
    }

    /// Tells that the initial objects of the subscription with this index are through.
    pub(crate) async fn synced(&mut self, subscription: u32) -> Result<(), CallError> {
        let Some(sync_aware) = self.exports.sync_aware.clone() else { return Ok(()) };
        self.tell(&Called::Synced(subscription));
        self.begin(Phase::Synced, Instant::now(), self.limits.handle_deadline);
        let result = sync_aware.call_synced(&mut self.store, subscription).await;
        let result = self.end_work(result);
        self.told(result)
    }

    /// The guest's state on the host's side.
    pub(crate) fn state(&mut self) -> &mut GuestState {
        self.store.data_mut()
    }

    fn tell(&self, call: &Called<'_>) {
        if let Some(tape) = &self.store.data().tape {
            tape.called(call);
        }
    }

    fn told<T: OnTape>(&self, result: Result<T, CallError>) -> Result<T, CallError> {
        if let Some(tape) = &self.store.data().tape {
            tape.ended(result.as_ref().map(OnTape::answered));
        }
        result
    }

    fn begin(&mut self, phase: Phase, now: Instant, deadline: Duration) {
        // Where nobody outside may be asked it may still sleep, within its time.
        let may_wait = if phase.is_work() { self.limits.wait_time } else { deadline };
        let state = self.store.data_mut();
        state.phase = phase;
        state.last_words = None;
        arm(&mut self.store, now, deadline);
        self.store.data().clock.may_wait(may_wait);
    }

    fn end<T>(&mut self, result: wasmtime::Result<T>, deadline: Duration) -> Result<T, CallError> {
        self.store.data_mut().end_output();
        let result = result.map_err(|error| call_error(&error, &self.store, deadline));
        self.store.data_mut().phase = Phase::Idle;
        result
    }

    /// The same for a call that may add keys: it has not succeeded if one could not be added.
    fn end_work<T>(
        &mut self,
        result: wasmtime::Result<Result<T, imports::types::Failure>>,
    ) -> Result<T, CallError> {
        let ended = self.end(result, self.limits.handle_deadline);
        let refused = self.store.data_mut().key_refused.take();
        let done = ended?.map_err(failure)?;
        refused.map_or(Ok(done), Err)
    }
}

/// What a call can answer with, as a tape has it.
trait OnTape {
    fn answered(&self) -> Answered;
}

impl OnTape for () {
    fn answered(&self) -> Answered {
        Answered::Done
    }
}

impl OnTape for Option<u64> {
    fn answered(&self) -> Answered {
        self.map_or(Answered::Done, Answered::Again)
    }
}

impl OnTape for Option<Vec<u8>> {
    fn answered(&self) -> Answered {
        self.as_ref().map_or(Answered::Done, |data| Answered::Bytes(data.len()))
    }
}

/// A version whose descriptor asks for it is not loaded.
fn not_exported(interface: &str) -> CallError {
    CallError::guest(&format!("it exports no {interface}"), Retry::Never)
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
        (None, trap) => {
            let text = trap.map_or_else(|| error.root_cause().to_string(), Trap::to_string);
            CallError::trap(&trap_text(&text, state.last_words.as_deref()), &backtrace)
        }
    };
    state.tell_end(&ended, &backtrace);
    ended
}

fn backtrace(error: &wasmtime::Error) -> Backtrace {
    let frames = error.downcast_ref::<WasmBacktrace>().map_or(&[][..], WasmBacktrace::frames);
    Backtrace::new(frames.iter().map(|frame| (frame.func_name(), frame.func_index())))
}

/// A panic says in the log why, and then runs into what cannot be reached.
fn trap_text(text: &str, last_words: Option<&str>) -> String {
    let text = text.strip_prefix("wasm trap: ").unwrap_or(text);
    match (text.contains("unreachable"), last_words) {
        (true, Some(words)) => format!("{words} ({text})"),
        (true, None) => format!("{text} (a panic or an abort in the plugin)"),
        (false, _) => text.to_owned(),
    }
}
