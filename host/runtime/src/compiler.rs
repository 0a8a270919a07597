//! Compiles checked components: one at a time, in a process of its own with bounds of its own, and not at all where
//! the cache has the code.
//!
//! Compiling is the one thing that a plugin file can make dear: a large one takes seconds and hundreds of MiB, which the
//! allocator keeps for long. A child gives all of it back, cannot take more than it is given, and takes nobody with it.

mod cache;
mod child;
mod code;
mod counts;
mod functions;
mod order;
mod program;

pub use cache::{CodeCacheError, CodeCacheOptions, check_code_cache};
pub use child::CompilerProgram;
pub use counts::CompileCounts;
pub use program::compile_standard_input;

use crate::contract::CheckedComponent;
use crate::engine::Engine;
use crate::load_steps::LoadSteps;
use crate::plugin_name::PluginName;
use cache::{CodeCache, CodeKey};
use code::CompiledCode;
use counts::Counts;
pub(crate) use functions::Functions;
use order::{FunctionsOf, Order};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::{JoinError, spawn_blocking};
use tracing::{debug, warn};
use wasmtime::component::Component;

/// How plugins are compiled.
#[derive(Debug, Clone, Default)]
pub struct CompilerOptions {
    /// The program that compiles; none compiles in this process, with its memory and for as long as it takes.
    pub program: Option<CompilerProgram>,
    /// Where compiled code is kept; none compiles everything anew.
    pub cache: Option<CodeCacheOptions>,
}

/// Why a checked component could not be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The compiler does not take it.
    #[error("cannot be compiled: {0}")]
    Refused(String),
    /// The compiler's bound of memory, in bytes.
    #[error(
        "compiling it needs more than the {} MiB that the compiler may use; build the plugin smaller, or raise \
         --compile-memory if there is room",
        .0 >> 20
    )]
    Memory(u64),
    /// The compiler's bound of time.
    #[error(
        "compiling it took longer than {} s; build the plugin smaller, or give the host more CPU",
        .0.as_secs()
    )]
    Deadline(Duration),
    /// Nothing is wrong with the plugin.
    #[error("the compiler could not do its work: {0}")]
    Host(String),
}

/// Compiles one component after the other. Clones share everything.
#[derive(Clone)]
pub(crate) struct Compiler {
    shared: Arc<Shared>,
}

struct Shared {
    program: Option<CompilerProgram>,
    /// The lock is who may compile: two at once would need twice the memory.
    turn: Mutex<()>,
    cache: Option<CodeCache>,
    functions: Option<KeptFunctions>,
    steps: LoadSteps,
    counts: Counts,
}

impl Compiler {
    /// Opens the cache.
    pub(crate) fn new(options: CompilerOptions) -> Result<Self, CodeCacheError> {
        let keeping = options.cache.clone().filter(|cache| cache.keeps_functions);
        let functions =
            keeping.map(|cache| KeptFunctions { cache, without: parking_lot::Mutex::default() });
        let cache = options.cache.map(CodeCache::open).transpose()?;
        let shared = Shared {
            program: options.program,
            turn: Mutex::new(()),
            cache,
            functions,
            steps: LoadSteps::default(),
            counts: Counts::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Those that loads take between waiting and compiling.
    pub(crate) fn steps(&self) -> &LoadSteps {
        &self.shared.steps
    }

    /// What was compiled so far.
    pub(crate) fn counts(&self) -> CompileCounts {
        self.shared.counts.read()
    }

    /// Waits for its turn.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.shared.turn.lock().await
    }

    /// The compiled form of a plugin's component, compiled now or before. Takes 10 ms for a Rust plugin and seconds for a Python one.
    pub(crate) async fn compile(
        &self,
        _turn: &MutexGuard<'_, ()>,
        engine: &Engine,
        plugin: &PluginName,
        component: CheckedComponent,
    ) -> Result<Component, CompileError> {
        let looked_up = match self.shared.cache {
            Some(_) => self.look_up(engine, component).await?,
            None => LookedUp { component, key: None, kept: None },
        };
        let LookedUp { component, key, kept } = looked_up;
        if let Some(kept) = kept {
            self.shared.counts.cached();
            return Ok(kept);
        }
        let compiled = self.compile_anew(engine, plugin, component, key).await;
        match &compiled {
            Ok(_) => self.shared.counts.compiled(),
            Err(_) => self.shared.counts.failed(),
        }
        compiled
    }

    /// What the cache has, and what to keep the code under if it has nothing.
    async fn look_up(
        &self,
        engine: &Engine,
        component: CheckedComponent,
    ) -> Result<LookedUp, CompileError> {
        let (shared, engine) = (self.shared.clone(), engine.clone());
        let look = move || {
            let key = CodeKey::new(&engine, &component.bytes);
            let found = shared.cache.as_ref().and_then(|cache| cache.find(&key));
            let kept = found.and_then(|code| {
                let kept = code.component(&engine);
                kept.inspect_err(|error| warn!("compiled code is not used: {error}")).ok()
            });
            LookedUp { component, key: Some(key), kept }
        };
        self.step(look).await
    }

    async fn compile_anew(
        &self,
        engine: &Engine,
        plugin: &PluginName,
        component: CheckedComponent,
        key: Option<CodeKey>,
    ) -> Result<Component, CompileError> {
        let code = match &self.shared.program {
            Some(program) => {
                let order = Order { component: component.bytes, functions: None };
                match &self.shared.functions {
                    Some(kept) => kept.compile(program, engine, plugin, order).await?,
                    None => program.compile(order).await?,
                }
            }
            None => {
                let engine = engine.clone();
                let compiled = spawn_blocking(move || compile_here(&engine, &component.bytes));
                compiled.await.map_err(host)??
            }
        };
        let (shared, engine) = (self.shared.clone(), engine.clone());
        let keep = move || {
            if let (Some(cache), Some(key)) = (&shared.cache, key) {
                cache.keep(&key, &code);
            }
            code.component(&engine)
        };
        self.step(keep).await?
    }

    /// Off the async threads.
    async fn step<T: Send + 'static>(
        &self,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CompileError> {
        self.shared.steps.run(step).await.map_err(host)
    }
}

/// What there is of a component before anything is compiled.
struct LookedUp {
    component: CheckedComponent,
    /// None without a cache.
    key: Option<CodeKey>,
    kept: Option<Component>,
}

/// Where plugins' functions are kept from one version to the next.
struct KeptFunctions {
    cache: CodeCacheOptions,
    /// Plugins that are compiled without: something went wrong with it.
    without: parking_lot::Mutex<HashSet<PluginName>>,
}

impl KeptFunctions {
    /// Compiles with what is kept. It takes memory, and what gives it back to the compiler is experimental: where that ends in anything but a refusal,
    /// it is done again without, and so is every version of the plugin from then on.
    async fn compile(
        &self,
        program: &CompilerProgram,
        engine: &Engine,
        plugin: &PluginName,
        order: Order,
    ) -> Result<CompiledCode, CompileError> {
        if self.without.lock().contains(plugin) {
            return program.compile(order).await;
        }
        let key = CodeKey::of_functions(engine, plugin.as_str());
        let functions = Some(FunctionsOf { cache: self.cache.clone(), key });
        // The component is kept for the case that it is needed again.
        match program.compile(Order { functions, ..order.clone() }).await {
            Err(error @ (CompileError::Memory(_) | CompileError::Host(_))) => {
                debug!(plugin = plugin.as_str(), "compiled without kept functions: {error}");
                self.without.lock().insert(plugin.clone());
                program.compile(order).await
            }
            compiled => compiled,
        }
    }
}

fn compile_here(engine: &Engine, component: &[u8]) -> Result<CompiledCode, CompileError> {
    let code = engine.wasmtime().precompile_component(component);
    code.map(CompiledCode::trusted).map_err(|error| CompileError::Refused(format!("{error:#}")))
}

/// A part of the work panicked, or the runtime ends.
fn host(error: JoinError) -> CompileError {
    CompileError::Host(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A shell in the compiler's place, which notes with how much it was called.
    fn program(root: &Path, script: &str) -> CompilerProgram {
        let calls = root.join("calls");
        CompilerProgram {
            program: "/bin/sh".into(),
            arguments: vec![
                "-c".into(),
                format!("calls={}; echo x >>$calls; {script}", calls.display()).into(),
            ],
            memory_bytes_max: 64 << 20,
            deadline: Duration::from_secs(20),
        }
    }

    /// Compiles two versions where each call does this: what came of each, and how many calls it took.
    async fn check(script: &str, expect: [(&str, usize); 2]) {
        let root = tempfile::tempdir().expect("a temporary directory");
        let program = program(root.path(), script);
        let directory = root.path().join("code");
        let cache = CodeCacheOptions { directory, bytes_max: 1 << 20, keeps_functions: true };
        let kept = KeptFunctions { cache, without: parking_lot::Mutex::default() };
        let (engine, plugin) = (Engine::new().expect("an engine"), "a".parse().expect("a name"));
        let mut before = 0;
        for (told, calls) in expect {
            let order = Order { component: vec![7; 100], functions: None };
            let compiled = kept.compile(&program, &engine, &plugin, order).await;
            let compiled = compiled
                .map_or_else(|error| error.to_string(), |code| format!("{:?}", code.bytes()));
            assert!(compiled.contains(told), "{script}: {compiled}");
            let all = std::fs::read_to_string(root.path().join("calls")).expect("a file");
            assert_eq!(all.len() / 2 - before, calls, "{script}");
            before = all.len() / 2;
        }
    }

    #[tokio::test]
    async fn what_goes_wrong_with_kept_functions_is_done_without_them_from_then_on() {
        let answer = r"printf '\001\0\0\0\0\0\0\0c'";
        let first_fails =
            |failure: &str| format!("[ $(wc -l <$calls) -gt 1 ] || {{ {failure}; }}; {answer}");
        check(answer, [("[99]", 1), ("[99]", 1)]).await;
        let memory = first_fails("echo memory allocation of 8 bytes failed >&2; kill -6 $$");
        check(&memory, [("[99]", 2), ("[99]", 1)]).await;
        check(&first_fails("kill -9 $$"), [("[99]", 2), ("[99]", 1)]).await;
        let refused = "echo no such instruction >&2; exit 3";
        check(refused, [("no such instruction", 1), ("no such instruction", 1)]).await;
        check("kill -9 $$", [("most likely for want of memory", 2), ("want of memory", 1)]).await;
    }
}
