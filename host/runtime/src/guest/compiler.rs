//! Checks plugin files and compiles them, in a separate process with its own bounds. If the cache has the code,
//! nothing is compiled.
//!
//! A file can make every step costly. A few kilobytes overflow a checker's stack, claim gigabytes or compare types for
//! hours. Compiling takes seconds and hundreds of MiB, which the allocator keeps for long. So the host itself reads
//! only a file's [envelope](crate::contract::component::check_envelope). A child process does the rest, within fixed
//! bounds. Its end frees all of its memory, and ends no other process.

mod cache;
mod child;
mod code;
mod confinement;
mod counts;
mod functions;
mod instance_size;
mod kept_functions;
mod line;
mod look;
mod order;
mod program;
mod report;
mod shared_code;
mod turn;

pub use cache::{CodeCacheError, CodeCacheOptions, check_code_cache};
pub use child::CompilerProgram;
pub use counts::CompileCounts;
pub use program::compile_standard_input;

use crate::contract::component::check_envelope;
use crate::directory::Content;
use crate::guest::engine::{Engine, EngineError};
use crate::guest::load_steps::LoadSteps;
use crate::plugin_name::PluginName;
use cache::{CodeCache, CodeKey};
pub(crate) use code::CompiledPlugin;
use counts::Counts;
use kept_functions::KeptFunctions;
use look::{FileRefusal, look_at};
pub(crate) use report::FileReport;
use shared_code::{CodePlace, SharedCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::task::{JoinError, spawn_blocking};
use tracing::warn;
use turn::{CompileTurn, CompileTurns};
use wasmtime::component::Component;

/// The options for compiling plugins.
#[derive(Debug, Clone, Default)]
pub struct CompilerOptions {
    /// The program that checks and compiles. `None` does that in this process, with its memory and without a time
    /// limit.
    pub program: Option<CompilerProgram>,
    /// The cache of compiled code; `None` compiles every file again.
    pub cache: Option<CodeCacheOptions>,
    /// Whether each file is a version under development, and is to run soon rather than fast. The program then tries
    /// the baseline compiler first. If that refuses a plugin, the cache keeps its functions: the next version compiles
    /// faster if most functions are the same. Both need a program, and reuse is experimental in the compiler.
    pub is_for_versions: bool,
}

impl CompilerOptions {
    /// The engine that runs the code of these compilers.
    pub(crate) fn engine(&self) -> Result<Engine, EngineError> {
        match self.is_for_versions {
            true => Engine::for_versions(),
            false => Engine::new(),
        }
    }
}

/// The reason for which a plugin file was not compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The file is not a plugin for this host.
    #[error("{0}")]
    NotAPlugin(String),
    /// The compiler refuses the file.
    #[error("cannot be compiled: {0}")]
    Refused(String),
    /// The bytes that an instance needs, and its limit.
    #[error(
        "an instance takes {needed} bytes for globals and functions alone, and may have {most} (limits.memory)"
    )]
    InstanceBytes {
        /// Beside linear memories and tables.
        needed: u64,
        /// The limit.
        most: u64,
    },
    /// The code exceeds the rest of the plugin's account.
    #[error("{0}")]
    Account(String),
    /// The compiler's bound of memory, in bytes.
    #[error(
        "compiling it needs more than the {} MiB that the compiler may use; build the plugin smaller, or raise \
         --compile-memory if there is room",
        .0 >> 20
    )]
    Memory(u64),
    /// The compiler's bound of stack.
    #[error("it nests too deeply to be checked; no compiler builds such a plugin")]
    Stack,
    /// The compiler's bound of time by the clock.
    #[error(
        "compiling it took longer than {} s; build the plugin smaller, or give the host more CPU",
        .0.as_secs()
    )]
    Deadline(Duration),
    /// The compiler's bound of processor time.
    #[error("compiling it took more than {} s of processor time; build the plugin smaller", .0.as_secs())]
    ProcessorTime(Duration),
    /// The host failed; the plugin is not at fault.
    #[error("the compiler could not do its work: {0}")]
    Host(String),
}

/// A file to compile.
pub(crate) struct PluginSource {
    pub(crate) name: PluginName,
    /// The hash of the content, in hexadecimal.
    pub(crate) sha256: String,
    pub(crate) content: Content,
    /// The limit of an instance's bytes beside its linear memories and tables.
    pub(crate) instance_bytes_max: u64,
}

/// A plugin's code, ready to be linked.
pub(crate) struct Compiled {
    pub(crate) component: Component,
    pub(crate) report: Arc<FileReport>,
    /// Its place among the code that other plugins may share.
    _place: Option<CodePlace<CodeKey, Self>>,
}

impl Compiled {
    fn at(self, place: CodePlace<CodeKey, Self>) -> Self {
        Self { _place: Some(place), ..self }
    }
}

/// The source of code that no version ran when the plugin asked for its turn to compile.
enum Made {
    Anew(CompiledPlugin, Option<CompileTurn>),
    /// Another plugin with the same file had its turn first.
    ForAnother(Arc<Compiled>),
}

/// Compiles plugin files. Clones share the state.
#[derive(Clone)]
pub(crate) struct Compiler {
    shared: Arc<CompilerShared>,
}

struct CompilerShared {
    program: Option<CompilerProgram>,
    turns: CompileTurns,
    cache: Option<CodeCache>,
    code: SharedCode<CodeKey, Compiled>,
    functions: Option<KeptFunctions>,
    steps: LoadSteps,
    counts: Counts,
    /// Whether the log has warned that the compiler process has more rights than it needs.
    has_warned: AtomicBool,
}

impl Compiler {
    /// Opens the cache.
    pub(crate) fn new(options: CompilerOptions) -> Result<Self, CodeCacheError> {
        let cache = options.cache.map(CodeCache::open).transpose()?;
        let shared = CompilerShared {
            program: options.program,
            turns: CompileTurns::default(),
            cache,
            code: SharedCode::default(),
            functions: options.is_for_versions.then(KeptFunctions::default),
            steps: LoadSteps::default(),
            counts: Counts::default(),
            has_warned: AtomicBool::new(false),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The counts of compilations so far.
    pub(crate) fn counts(&self) -> CompileCounts {
        self.shared.counts.read()
    }

    /// The compiled form of a plugin file, from now or before, from this plugin or another. Compiling takes 10 ms for
    /// a Rust plugin and seconds for a Python one, after the wait for a turn.
    pub(crate) async fn compile(
        &self,
        engine: &Engine,
        source: PluginSource,
    ) -> Result<Arc<Compiled>, CompileError> {
        // Invariant 32.
        let checked = check_envelope(&source.content);
        checked.map_err(|error| CompileError::NotAPlugin(error.to_string()))?;
        let key = CodeKey::new(engine, &source.sha256);
        let most = source.instance_bytes_max;
        if let Some(kept) = self.kept(engine, &key, most).await? {
            self.shared.counts.cached();
            return Ok(kept);
        }
        let made = match self.compile_anew(engine, &key, source).await {
            // The plugin with the next turn finds the code.
            Ok(Made::Anew(plugin, _turn)) => self.take_over(engine, key, plugin, most).await,
            Ok(Made::ForAnother(code)) => {
                self.shared.counts.cached();
                return code.report.check_instance(most).map(|()| code);
            }
            Err(error) => Err(error),
        };
        match &made {
            Ok(_) => self.shared.counts.compiled(),
            Err(_) => self.shared.counts.failed(),
        }
        made
    }

    /// The code that another plugin runs or the cache has. Unusable code is compiled again.
    async fn kept(
        &self,
        engine: &Engine,
        key: &CodeKey,
        most: u64,
    ) -> Result<Option<Arc<Compiled>>, CompileError> {
        if let Some(code) = self.shared.code.get(key) {
            return code.report.check_instance(most).map(|()| Some(code));
        }
        if self.shared.cache.is_none() {
            return Ok(None);
        }
        let (shared, engine, key) = (self.shared.clone(), engine.clone(), key.clone());
        let find = move || {
            // Of plugins that load the same file at once, the first one reads it.
            if let Some(code) = shared.code.get(&key) {
                return Some(code.report.check_instance(most).map(|()| code));
            }
            let kept = shared.cache.as_ref().and_then(|cache| cache.find(&key));
            let adopted = kept.map(|plugin| adopt(&engine, &plugin, most));
            adopted
                .map(|adopted| adopted.map(|code| shared.code.share(key, |place| code.at(place))))
        };
        match self.step(find).await? {
            Some(Err(error @ CompileError::InstanceBytes { .. })) => Err(error),
            Some(Err(error)) => {
                warn!("compiled code is not used: {error}");
                Ok(None)
            }
            Some(Ok(compiled)) => Ok(Some(compiled)),
            None => Ok(None),
        }
    }

    /// Tries with small bounds first; a file that needs more waits again.
    async fn compile_anew(
        &self,
        engine: &Engine,
        key: &CodeKey,
        source: PluginSource,
    ) -> Result<Made, CompileError> {
        let Some(program) = &self.shared.program else {
            let engine = engine.clone();
            let compiled = spawn_blocking(move || compile_here(&engine, source.content.to_vec()));
            return compiled.await.map_err(host)?.map(|plugin| Made::Anew(plugin, None));
        };
        let (plugin, file) = (&source.name, &source.content);
        let mut needs = CompileError::Host("there was no attempt".to_owned());
        // Invariant 32.
        for attempt in program.attempts(file.len()) {
            let turn = self.shared.turns.take(attempt.lane, plugin, file.len()).await;
            if let Some(code) = self.shared.code.get(key) {
                return Ok(Made::ForAnother(code));
            }
            let answer = match &self.shared.functions {
                Some(kept) => kept.run(program, &attempt, (plugin, file), self, engine).await,
                None => program.run(&attempt, file, None).await.map(|answer| answer.plugin),
            };
            match answer {
                Ok(answer) => {
                    let plugin = CompiledPlugin::trusted(answer)?;
                    return Ok(Made::Anew(plugin, Some(turn)));
                }
                Err(error @ (CompileError::Memory(_) | CompileError::ProcessorTime(_))) => {
                    needs = error;
                }
                Err(error) => return Err(error),
            }
        }
        Err(needs)
    }

    /// Keeps the code in the cache, and prepares it to run.
    async fn take_over(
        &self,
        engine: &Engine,
        key: CodeKey,
        plugin: CompiledPlugin,
        most: u64,
    ) -> Result<Arc<Compiled>, CompileError> {
        if let Some(why) = &plugin.report().unconfined
            && !self.shared.has_warned.swap(true, Relaxed)
        {
            warn!("the process that looks at plugin files has rights that it does not need: {why}");
        }
        let (shared, engine) = (self.shared.clone(), engine.clone());
        let keep = move || {
            if let Some(cache) = &shared.cache {
                cache.keep(&key, &plugin);
            }
            let adopted = adopt(&engine, &plugin, most);
            adopted.map(|code| shared.code.share(key, |place| code.at(place)))
        };
        self.step(keep).await?
    }

    /// Runs a step off the async threads.
    async fn step<T: Send + 'static>(
        &self,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CompileError> {
        self.shared.steps.run(step).await.map_err(host)
    }
}

/// Prepares code to run, if an instance is within the limit.
pub(crate) fn adopt(
    engine: &Engine,
    plugin: &CompiledPlugin,
    most: u64,
) -> Result<Compiled, CompileError> {
    let report = plugin.report().clone();
    report.check_instance(most)?;
    Ok(Compiled { component: plugin.component(engine)?, report, _place: None })
}

/// Checks and compiles in this process.
pub(crate) fn compile_here(engine: &Engine, file: Vec<u8>) -> Result<CompiledPlugin, CompileError> {
    let (report, code) =
        look_at(file, engine.wasmtime(), None, None).map_err(|refusal| match refusal {
            FileRefusal::NotAPlugin(text) => CompileError::NotAPlugin(text),
            FileRefusal::Refused(text) => CompileError::Refused(text),
        })?;
    CompiledPlugin::trusted(CompiledPlugin::content_of(&report, &code))
}

/// A step panicked, or the runtime ends.
fn host(error: JoinError) -> CompileError {
    CompileError::Host(error.to_string())
}
