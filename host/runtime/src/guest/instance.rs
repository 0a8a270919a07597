//! One running plugin instance: a store, its limits, and its calls.

mod flat_event;
mod template;

use crate::account::Held;
use crate::backtrace::Backtrace;
use crate::call_error::{CallError, Retry};
use crate::contract::limits::Limits;
use crate::guest::bindings::exports::informant::plugin::{
    flat_handler, handler, lifecycle, reconciler, stateful, sync_aware, timer,
};
use crate::guest::bindings::informant::plugin as imports;
use crate::guest::guest_state::{Exceeded, GuestState, Phase};
use crate::guest::memory_room::MemoryShare;
use crate::guest::tape::{CallAnswer, Called};
use crate::trace::{CallOrigin, TraceId};
use flat_event::FlatNames;
use informant_cache::ObjectNames;
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(crate) use template::Template;
use wasmtime::{Store, Trap, WasmBacktrace};

/// The most handles of resources that an instance may have at once, the host's and its own. Each takes some bytes of
/// the host.
pub(crate) const HANDLES_MAX: usize = 10_000;

/// A live instance. After an error that [ends it](CallError::ends_instance) it must be dropped.
pub(crate) struct Instance {
    store: Store<GuestState>,
    exports: Exports,
    /// Given back after the store is dropped.
    _memories: MemoryShare,
    _stack: Held,
}

/// The guest's exported functions.
struct Exports {
    lifecycle: lifecycle::Guest,
    handler: Option<handler::Guest>,
    /// In place of `handler` for most events.
    flat_handler: Option<flat_handler::Guest>,
    reconciler: Option<reconciler::Guest>,
    timer: Option<timer::Guest>,
    stateful: Option<stateful::Guest>,
    sync_aware: Option<sync_aware::Guest>,
}

impl Instance {
    pub(crate) async fn describe(&mut self, config: &[u8]) -> Result<Vec<u8>, CallError> {
        let moves = self.arm(Phase::Describe, Instant::now(), self.limits().start_deadline);
        self.give_way(moves).await;
        let result = self.exports.lifecycle.call_describe(&mut self.store, config).await;
        self.end(result, self.limits().start_deadline)?.map_err(guest_error)
    }

    pub(crate) async fn start(&mut self, config: &[u8]) -> Result<(), CallError> {
        self.tell(&Called::Start);
        let moves = self.arm(Phase::Start, Instant::now(), self.limits().start_deadline);
        self.give_way(moves).await;
        let result = self.exports.lifecycle.call_start(&mut self.store, config).await;
        let result = self.end(result, self.limits().start_deadline);
        self.told(result.and_then(|answer| answer.map_err(guest_error)))
    }

    pub(crate) async fn stop(&mut self) -> Result<(), CallError> {
        self.tell(&Called::Stop);
        let moves = self.arm(Phase::Stop, Instant::now(), self.limits().stop_deadline);
        self.give_way(moves).await;
        self.store.data().clock.arm_until(Instant::now(), self.limits().stop_deadline);
        let result = self.exports.lifecycle.call_stop(&mut self.store).await;
        let result = self.end(result, self.limits().stop_deadline);
        self.told(result)
    }

    /// The guest's snapshot for its successor; `None` without one.
    pub(crate) async fn snapshot(&mut self) -> Result<Option<Vec<u8>>, CallError> {
        let Some(stateful) = self.exports.stateful.clone() else { return Ok(None) };
        self.tell(&Called::Snapshot);
        let moves = self.arm(Phase::Carry, Instant::now(), self.limits().start_deadline);
        self.give_way(moves).await;
        let result = stateful.call_snapshot(&mut self.store).await;
        let result = self.end(result, self.limits().start_deadline);
        match self.told(result.and_then(|answer| answer.map_err(guest_error)))? {
            Some(data) if data.len() > self.limits().state_bytes_max => {
                let (found, max) = (data.len(), self.limits().state_bytes_max);
                let text = format!("a snapshot of {found} bytes, at most {max} are carried over");
                Err(CallError::guest(&text, Retry::Never))
            }
            data => Ok(data),
        }
    }

    /// Passes the snapshot of the version before. Returns whether the guest accepts snapshots.
    pub(crate) async fn restore(
        &mut self,
        from_version: &str,
        data: &[u8],
    ) -> Result<bool, CallError> {
        let Some(stateful) = self.exports.stateful.clone() else { return Ok(false) };
        self.tell(&Called::Restore(from_version, data));
        let moves = self.arm(Phase::Carry, Instant::now(), self.limits().start_deadline);
        self.give_way(moves).await;
        let result = stateful.call_restore(&mut self.store, from_version, data).await;
        let result = self.end(result, self.limits().start_deadline);
        self.told(result.and_then(|answer| answer.map_err(guest_error)))?;
        Ok(true)
    }

    /// Delivers one event, about the object with these names.
    pub(crate) async fn handle(
        &mut self,
        (event, names): (&handler::Event<'_>, &ObjectNames),
        current: crate::event::CurrentEvent,
        (origin, now): (CallOrigin, Instant),
    ) -> Result<(), CallError> {
        let Some(handler) = self.exports.handler.clone() else {
            return Err(not_exported("handler"));
        };
        self.tell(&Called::Handle(event, &current));
        // `arm_work` is not async: its future would have the event twice, as it came and as it is used.
        let moves = self.arm_work(Phase::Handle(current), origin, now);
        self.give_way(moves).await;
        let flat = self.exports.flat_handler.as_ref();
        let flat = flat.and_then(|flat| Some((flat, FlatNames::of(names)?)));
        let result = match flat {
            Some((flat, names)) => names.call(flat, &mut self.store, event).await,
            None => handler.call_handle(&mut self.store, event.clone()).await,
        };
        let result = self.end_work(result);
        self.told(result)
    }

    /// Whether the guest reconciles keys.
    pub(crate) fn works_on_keys(&self) -> bool {
        self.exports.reconciler.is_some()
    }

    /// Calls the guest with a key, which these changes added. Returns the milliseconds after which the key is to come again.
    pub(crate) async fn reconcile(
        &mut self,
        (key, attempt): (&Arc<str>, u32),
        changes: &[TraceId],
        now: Instant,
    ) -> Result<Option<u64>, CallError> {
        let Some(reconciler) = self.exports.reconciler.clone() else {
            return Err(not_exported("reconciler"));
        };
        self.tell(&Called::Reconcile(key, attempt));
        let moves =
            self.arm_work(Phase::Reconcile(key.clone(), changes.into()), origin(attempt, now), now);
        self.give_way(moves).await;
        let result = reconciler.call_reconcile(&mut self.store, key, attempt).await;
        let result = self.end_work(result);
        self.told(result)
    }

    /// Calls the guest for a schedule. `unix_ms` is the scheduled time, in milliseconds since 1970.
    pub(crate) async fn fire(
        &mut self,
        schedule: &Arc<str>,
        unix_ms: u64,
        (attempt, now): (u32, Instant),
    ) -> Result<(), CallError> {
        let Some(timer) = self.exports.timer.clone() else { return Err(not_exported("timer")) };
        self.tell(&Called::Fire(schedule, unix_ms));
        let moves = self.arm_work(Phase::Fire(schedule.clone()), origin(attempt, now), now);
        self.give_way(moves).await;
        let result = timer.call_fire(&mut self.store, schedule, unix_ms).await;
        let result = self.end_work(result);
        self.told(result)
    }

    /// Whether the guest exports `synced`.
    pub(crate) fn is_sync_aware(&self) -> bool {
        self.exports.sync_aware.is_some()
    }

    /// Calls `synced` for the subscription with this index.
    pub(crate) async fn synced(
        &mut self,
        subscription: u32,
        attempt: u32,
    ) -> Result<(), CallError> {
        let Some(sync_aware) = self.exports.sync_aware.clone() else { return Ok(()) };
        self.tell(&Called::Synced(subscription));
        let now = Instant::now();
        let moves = self.arm_work(Phase::Synced, origin(attempt, now), now);
        self.give_way(moves).await;
        let result = sync_aware.call_synced(&mut self.store, subscription).await;
        let result = self.end_work(result);
        self.told(result)
    }

    /// The guest's state on the host's side.
    pub(crate) fn state(&mut self) -> &mut GuestState {
        self.store.data_mut()
    }

    fn limits(&self) -> &Limits {
        self.store.data().limits()
    }

    fn tell(&self, call: &Called<'_>) {
        if let Some(tape) = &self.store.data().tape {
            tape.called(call);
        }
    }

    fn told<T: TapeValue>(&self, result: Result<T, CallError>) -> Result<T, CallError> {
        if let Some(tape) = &self.store.data().tape {
            tape.ended(result.as_ref().map(TapeValue::answered));
        }
        result
    }

    /// Lets the plugin move to another thread before its guest runs, if it must ([`Self::arm`]).
    async fn give_way(&mut self, moves: bool) {
        if moves {
            self.store.data().clock.give_way().await;
        }
    }

    /// Sets the purpose and the deadline of a call. Returns whether the call must give way before its guest runs.
    fn arm(&mut self, phase: Phase, now: Instant, deadline: Duration) -> bool {
        // A call without outside requests may still sleep, within its deadline.
        let may_wait = if phase.is_work() { self.limits().wait_time } else { deadline };
        let state = self.store.data_mut();
        state.phase = phase;
        state.notes.begin();
        arm(&mut self.store, now, deadline, may_wait)
    }

    /// The same for a call for work, which may have a span.
    fn arm_work(&mut self, phase: Phase, origin: CallOrigin, now: Instant) -> bool {
        let moves = self.arm(phase, now, self.limits().handle_deadline);
        self.store.data_mut().begin_trace(origin, now);
        moves
    }

    fn end<T>(&mut self, result: wasmtime::Result<T>, deadline: Duration) -> Result<T, CallError> {
        self.store.data_mut().end_output();
        self.store.data().clock.disarm();
        let result = result.map_err(|error| call_error(&error, &self.store, deadline));
        self.store.data_mut().phase = Phase::Idle;
        result
    }

    /// The same for a call that may add keys: it fails if a key could not be added. Its span ends with its writes of state
    /// ([`GuestState::finish`]).
    fn end_work<T>(
        &mut self,
        result: wasmtime::Result<Result<T, imports::types::Failure>>,
    ) -> Result<T, CallError> {
        let ended = self.end(result, self.limits().handle_deadline);
        let state = self.store.data_mut();
        let refused = state.notes.key_refused.take();
        let done = ended.and_then(|answer| answer.map_err(failure));
        done.and_then(|done| refused.map_or(Ok(done), Err))
    }
}

/// The origin of a call for no event.
fn origin(attempt: u32, now: Instant) -> CallOrigin {
    CallOrigin { attempt, received: now, coalesced: 0 }
}

/// The result of a call, for a tape.
trait TapeValue {
    fn answered(&self) -> CallAnswer;
}

impl TapeValue for () {
    fn answered(&self) -> CallAnswer {
        CallAnswer::Done
    }
}

impl TapeValue for Option<u64> {
    fn answered(&self) -> CallAnswer {
        self.map_or(CallAnswer::Done, CallAnswer::Again)
    }
}

impl TapeValue for Option<Vec<u8>> {
    fn answered(&self) -> CallAnswer {
        self.as_ref().map_or(CallAnswer::Done, |data| CallAnswer::Bytes(data.len()))
    }
}

/// The error of a missing export. A version whose descriptor needs the export is not loaded.
fn not_exported(interface: &str) -> CallError {
    CallError::guest(&format!("it exports no {interface}"), Retry::Never)
}

/// Sets the deadline of a call: an engine with epochs traps a store without one. Invariant 27.
/// Returns whether the call must give way before the guest runs.
fn arm(
    store: &mut Store<GuestState>,
    now: Instant,
    deadline: Duration,
    may_wait: Duration,
) -> bool {
    store.set_epoch_deadline(1);
    store.data().clock.arm(now, deadline, may_wait)
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
        (Some(Exceeded::Account(overdraft)), _) => {
            CallError::AccountExceeded(format!("{overdraft}{place}"))
        }
        (Some(Exceeded::Tables), _) => {
            CallError::TablesExceeded { limit: state.limits().table_elements_max, place }
        }
        (None, Some(Trap::Interrupt)) => CallError::DeadlineExceeded { limit: deadline, place },
        (None, trap) => {
            let text = trap.map_or_else(|| error.root_cause().to_string(), Trap::to_string);
            CallError::trap(&trap_text(&text, state.notes.last_words.as_deref()), &backtrace)
        }
    };
    state.tell_end(&ended, &backtrace);
    ended
}

fn backtrace(error: &wasmtime::Error) -> Backtrace {
    let frames = error.downcast_ref::<WasmBacktrace>().map_or(&[][..], WasmBacktrace::frames);
    Backtrace::new(frames.iter().map(|frame| (frame.func_name(), frame.func_index())))
}

/// A panic logs its reason and then traps as unreachable code.
fn trap_text(text: &str, last_words: Option<&str>) -> String {
    let text = text.strip_prefix("wasm trap: ").unwrap_or(text);
    match (text.contains("unreachable"), last_words) {
        (true, Some(words)) => format!("{words} ({text})"),
        (true, None) => format!("{text} (a panic or an abort in the plugin)"),
        (false, _) => text.to_owned(),
    }
}
