//! The only module that configures wasmtime: an engine for each compiler, and the thread for their ticks.

use crate::backtrace::FRAMES_SEEN;
use crate::guest::memory_room::MemoryRoom;
use sha2::{Digest, Sha256};
use std::hash::{Hash as _, Hasher};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::{CacheStore, Config, EngineWeak, Strategy};

/// The interval of the checks of a running guest. A deadline is exact to one tick. A guest that runs longer lets its
/// thread's other plugins have a turn at every tick.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// The engine that compiles and runs every plugin. Cloning shares it.
#[derive(Clone)]
pub struct Engine {
    engine: wasmtime::Engine,
    /// Runs code of the baseline compiler.
    baseline: Option<wasmtime::Engine>,
    memories: MemoryRoom,
    _ticker: Arc<Ticker>,
}

/// The engine could not be made.
#[derive(Debug, thiserror::Error)]
#[error("wasm engine cannot start on this machine: {0}")]
pub struct EngineError(String);

impl EngineError {
    pub(crate) fn new(error: &wasmtime::Error) -> Self {
        Self(format!("{error:#}"))
    }
}

impl Engine {
    /// Makes the engine and starts its ticker thread, which ends when the last clone is dropped.
    pub fn new() -> Result<Self, EngineError> {
        Self::with(None)
    }

    /// The same, for plugins under development: it also runs code of the [baseline compiler](Self::baseline_compiler).
    pub(crate) fn for_versions() -> Result<Self, EngineError> {
        Self::with(Self::baseline_compiler())
    }

    fn with(baseline: Option<wasmtime::Engine>) -> Result<Self, EngineError> {
        let engine = Self::compiler(None)?;
        let ticked = [&engine].into_iter().chain(&baseline).map(wasmtime::Engine::weak).collect();
        let ticker = Ticker::start(ticked).map_err(|error| EngineError(error.to_string()))?;
        let (memories, ticker) = (MemoryRoom::default(), Arc::new(ticker));
        Ok(Self { engine, baseline, memories, _ticker: ticker })
    }

    /// An engine with the same settings that only compiles, without a ticker; with functions that are compiled
    /// already.
    pub(crate) fn compiler(
        functions: Option<Arc<dyn CacheStore>>,
    ) -> Result<wasmtime::Engine, EngineError> {
        let mut config = Self::config();
        if let Some(functions) = functions {
            let kept = config.enable_incremental_compilation(functions);
            kept.map_err(|error| EngineError::new(&error))?;
        }
        wasmtime::Engine::new(&config).map_err(|error| EngineError::new(&error))
    }

    /// The same with Winch. It compiles in a tenth of the time, to slower code, and refuses some files that Cranelift
    /// compiles. `None` on processors for which wasmtime's people do not fuzz Winch.
    pub(crate) fn baseline_compiler() -> Option<wasmtime::Engine> {
        let mut config = Self::config();
        config.strategy(Strategy::Winch);
        let engine = cfg!(target_arch = "x86_64").then(|| wasmtime::Engine::new(&config));
        engine.and_then(Result::ok)
    }

    fn config() -> Config {
        let mut config = Config::new();
        config.wasm_component_model(true);
        config.epoch_interruption(true);
        // The async ABI of components costs every call about 200 ns and no guest needs it here.
        config.concurrency_support(false);
        config.wasm_backtrace_max_frames(NonZeroUsize::new(FRAMES_SEEN));
        // The map would stay as long as the plugin, takes a seventh of its code, and has no reader. A guest's
        // backtrace has names of functions and no places in them. Frame pointers give the backtrace, as in profilers.
        // A panic in a host function is caught before it reaches the guest.
        config.generate_address_map(false);
        config.native_unwind_info(false);
        config
    }

    /// Equal for engines that can run each other's compiled code: version, settings, processor.
    pub(crate) fn compatibility(&self) -> [u8; 32] {
        let mut hash = Compatibility(Sha256::new());
        self.each().for_each(|engine| engine.precompile_compatibility_hash().hash(&mut hash));
        hash.0.finalize().into()
    }

    /// The linear memories of all instances.
    pub(crate) fn memories(&self) -> &MemoryRoom {
        &self.memories
    }

    pub(crate) fn wasmtime(&self) -> &wasmtime::Engine {
        &self.engine
    }

    /// The engines of all compilers.
    pub(crate) fn each(&self) -> impl Iterator<Item = &wasmtime::Engine> {
        [&self.engine].into_iter().chain(&self.baseline)
    }

    /// The engine for code of the baseline compiler, if this host runs such code.
    pub(crate) fn baseline(&self) -> Option<&wasmtime::Engine> {
        self.baseline.as_ref()
    }
}

/// A hash of all of the engine's settings. It is the same in every process and long enough to be a name.
struct Compatibility(Sha256);

impl Hasher for Compatibility {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("the whole hash is taken, never a part of it")
    }
}

/// Owns the ticker thread and joins it.
struct Ticker {
    stop: Option<std::sync::mpsc::SyncSender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Ticker {
    /// Starts a separate thread, so that ticks come when every async worker is busy.
    fn start(engines: Vec<EngineWeak>) -> std::io::Result<Self> {
        let (stop, stopped) = std::sync::mpsc::sync_channel::<()>(0);
        let tick = move || {
            use std::sync::mpsc::RecvTimeoutError::Timeout;
            while stopped.recv_timeout(TICK) == Err(Timeout) {
                for engine in &engines {
                    let Some(engine) = engine.upgrade() else { return };
                    engine.increment_epoch();
                }
            }
        };
        let thread = std::thread::Builder::new().name("epoch-ticker".into()).spawn(tick)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread only waits and counts; a panic in it does no harm here.
            let _ = thread.join();
        }
    }
}
