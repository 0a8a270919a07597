//! A version's code, and the instances made of it.

use super::{Exports, HANDLES_MAX, Instance, arm, call_error};
use crate::account::{Held, Holding, Ledger};
use crate::call_error::CallError;
use crate::contract::component::{Exported, WasiImports};
use crate::contract::limits::Limits;
use crate::guest::bindings::exports::informant::plugin::{
    flat_handler, handler, lifecycle, reconciler, stateful, sync_aware, timer,
};
use crate::guest::call_deadline::AfterTick;
use crate::guest::compiler::{CompileError, Compiled, FileReport};
use crate::guest::engine::Engine;
use crate::guest::guest_state::GuestState;
use crate::guest::host_functions::HostFunctions;
use crate::guest_threads::thread_time;
use std::sync::Arc;
use std::time::Instant;
use wasmtime::component::InstancePre;
use wasmtime::{Store, Trap, UpdateDeadline};

/// The bound of a guest's stack in wasmtime. An instance keeps the stack from its first call on.
const STACK_BYTES: u64 = 512 << 10;

/// A compiled plugin from which instances are made in microseconds.
#[derive(Clone)]
pub(crate) struct Template {
    pre: InstancePre<GuestState>,
    exported: Exported,
    wasi: Arc<WasiImports>,
    /// The code, which other plugins may share, with the compiler process's report.
    code: Arc<Compiled>,
    /// Linear memories of one instance.
    memories: usize,
    /// The code, its types and names, in the plugin's account.
    _held: Arc<Held>,
}

impl Template {
    /// Links a compiled component with the host's functions. The code is held in the plugin's account, which may hold
    /// `most` bytes in all.
    pub(crate) fn new(
        functions: &HostFunctions,
        code: Arc<Compiled>,
        (ledger, most): (&Arc<Ledger>, u64),
    ) -> Result<Self, CompileError> {
        let Compiled { component, report, .. } = &*code;
        let failed = |error: wasmtime::Error| CompileError::Refused(format!("{error:#}"));
        let image = component.image_range();
        let code_bytes = image.end.addr() - image.start.addr();
        let held = Held::of(ledger, Holding::Code, code_bytes as u64 + report.table_bytes, most);
        let held = held.map_err(|overdraft| CompileError::Account(overdraft.to_string()))?;
        let (pre, wasi) = functions.link(component).map_err(failed)?;
        let exported = Exported {
            handler: handler::GuestIndices::new(&pre).is_ok(),
            reconciler: reconciler::GuestIndices::new(&pre).is_ok(),
            timer: timer::GuestIndices::new(&pre).is_ok(),
            stateful: stateful::GuestIndices::new(&pre).is_ok(),
        };
        // Unknown for a component with imported modules, which the host never offers.
        let required = component.resources_required();
        let memories = required.map_or(usize::MAX, |it| it.num_memories as usize);
        let (wasi, held) = (Arc::new(wasi), Arc::new(held));
        Ok(Self { pre, exported, wasi, code, memories, _held: held })
    }

    /// The compiler process's report on the file.
    pub(crate) fn report(&self) -> &FileReport {
        &self.code.report
    }

    /// The plugin's exported interfaces.
    pub(crate) fn exported(&self) -> Exported {
        self.exported
    }

    /// The plugin's imports of WASI.
    pub(crate) fn wasi(&self) -> &Arc<WasiImports> {
        &self.wasi
    }

    /// A store for one instance, with its limits and the time for its start.
    fn store(&self, mut state: GuestState) -> Result<Store<GuestState>, CallError> {
        let taken = state.limiter.take(self.report().instance_bytes);
        taken.map_err(|overdraft| CallError::AccountExceeded(overdraft.to_string()))?;
        let (hostcall_bytes, start) =
            (state.limits().hostcall_bytes_max, state.limits().start_deadline);
        let mut store = Store::new(self.pre.engine(), state);
        store.limiter_async(|state| state);
        store.epoch_deadline_callback(|context| {
            let clock = &context.data().clock;
            match clock.tick(Instant::now(), thread_time()) {
                AfterTick::Ends => Err(Trap::Interrupt.into()),
                AfterTick::GoesOn => Ok(UpdateDeadline::Continue(1)),
                // Invariant 2.
                AfterTick::GivesWay => {
                    Ok(UpdateDeadline::YieldCustom(1, Box::pin(clock.give_way())))
                }
            }
        });
        store.set_hostcall_fuel(hostcall_bytes);
        store.set_max_component_handles(HANDLES_MAX);
        arm(&mut store, Instant::now(), start, start);
        Ok(store)
    }

    /// Makes an instance around `state`.
    pub(crate) async fn instantiate(
        &self,
        engine: &Engine,
        state: GuestState,
    ) -> Result<Instance, CallError> {
        let memories = engine.memories().take(&state.plugin, self.memories);
        let memories = memories.map_err(CallError::NoRoom)?;
        let Limits { host_memory_max, start_deadline, .. } = *state.limits();
        let stack = Held::of(&state.ledger, Holding::Stacks, STACK_BYTES, host_memory_max);
        let stack = stack.map_err(|overdraft| CallError::AccountExceeded(overdraft.to_string()))?;
        let mut store = self.store(state)?;
        let made = self.pre.instantiate_async(&mut store).await;
        store.data().clock.disarm();
        let made = made.and_then(|instance| {
            let pre = &self.pre;
            // `new` fails only if the interface is not exported.
            let handler = handler::GuestIndices::new(pre).ok();
            let flat = flat_handler::GuestIndices::new(pre).ok();
            let reconciler = reconciler::GuestIndices::new(pre).ok();
            let timer = timer::GuestIndices::new(pre).ok();
            let stateful = stateful::GuestIndices::new(pre).ok();
            let sync_aware = sync_aware::GuestIndices::new(pre).ok();
            let store = &mut store;
            Ok(Exports {
                lifecycle: lifecycle::GuestIndices::new(pre)?.load(&mut *store, &instance)?,
                handler: handler.map(|it| it.load(&mut *store, &instance)).transpose()?,
                flat_handler: flat.map(|it| it.load(&mut *store, &instance)).transpose()?,
                reconciler: reconciler.map(|it| it.load(&mut *store, &instance)).transpose()?,
                timer: timer.map(|it| it.load(&mut *store, &instance)).transpose()?,
                stateful: stateful.map(|it| it.load(&mut *store, &instance)).transpose()?,
                sync_aware: sync_aware.map(|it| it.load(&mut *store, &instance)).transpose()?,
            })
        });
        match made {
            Ok(exports) => Ok(Instance { store, exports, _memories: memories, _stack: stack }),
            Err(error) => {
                store.data_mut().end_output();
                Err(call_error(&error, &store, start_deadline))
            }
        }
    }
}
