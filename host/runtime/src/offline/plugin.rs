//! A plugin file that is ready to run without a host, and its surroundings.

use super::journal::Journal;
use super::outside::{Outside, PatchObject};
use super::run::Run;
use super::script::{KindedObject, Script};
use super::transcript::Transcript;
use super::world::OfflineWorld;
use crate::contract::configuration::Configurations;
use crate::counters::Counters;
use crate::delivery::mailbox::Marks;
use crate::delivery::plugin_queue::PluginQueue;
use crate::guest::compiler::{Compiler, CompilerOptions};
use crate::guest::engine::Engine;
use crate::guest::host_functions::HostFunctions;
use crate::guest::surroundings::Surroundings;
use crate::guest_threads::GuestThreads;
use crate::offline::check::{CheckError, PluginInFile};
use crate::outside::event_recorder::EventRecorder;
use crate::outside::leading::Leading;
use crate::outside::turns::{HttpTurns, WriteTurns};
use crate::pace::Pace;
use crate::plugin::actor::{Actor, LastCall, Running, WorkTurn, command_line};
use crate::plugin::core::PluginCore;
use crate::plugin::prepare::{LoadError, Prepared, Preparer};
use crate::plugin_host::StartError;
use crate::plugin_metrics::{MetricNames, PluginMetrics};
use crate::plugin_name::PluginName;
use crate::powers::Powers;
use informant_apimachinery::GroupVersionResource;
use jiff::Timestamp;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The only shard.
const SHARD: usize = 0;

/// The options of offline runs.
pub struct OfflineOptions {
    /// The options for compiling.
    pub compiler: CompilerOptions,
    /// The host's own configuration.
    pub configurations: Configurations,
    /// The function that patches objects.
    pub patch: PatchObject,
}

/// The reason for which there is no run.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// The engine or the threads cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The file cannot be read, or is not a plugin.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The plugin would not be loaded, or lacks a grant.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// An invalid object.
    #[error("{from}: {resource}: {problem}")]
    Object {
        /// The source of the object.
        from: String,
        /// The object's resource.
        resource: GroupVersionResource,
        /// The problem.
        problem: String,
    },
    /// The threads have ended.
    #[error("the run was cut off: the thread that it was on ended")]
    CutOff,
}

/// A plugin that is ready to run, any number of times.
pub struct OfflinePlugin {
    pub(super) name: PluginName,
    pub(super) prepared: Prepared,
    pub(super) engine: Engine,
    threads: Arc<GuestThreads>,
    pub(super) patch: PatchObject,
}

impl OfflinePlugin {
    /// Prepares the plugin in a file as a host does, with the named configuration or the one beside it.
    pub async fn load(
        file: &Path,
        configuration: Option<&Path>,
        options: OfflineOptions,
    ) -> Result<Self, OfflineError> {
        let plugin = PluginInFile::read(file, configuration)?;
        let name = plugin.name.clone();
        let start = |error: StartError| OfflineError::Start(error);
        let engine = Engine::new().map_err(|error| start(error.into()))?;
        let threads = Arc::new(GuestThreads::start(1).map_err(StartError::from)?);
        let preparer = Preparer {
            functions: HostFunctions::taped(&engine).map_err(|error| start(error.into()))?,
            engine: engine.clone(),
            threads: threads.clone(),
            powers: Powers::none(),
            compiler: Compiler::new(options.compiler).map_err(|error| start(error.into()))?,
            leading: Leading::default(),
            tapes: None,
        };
        let order = plugin.order(&options.configurations).map_err(LoadError::from)?;
        let mut prepared = preparer.prepare(order).await?;
        let settings = Arc::make_mut(&mut prepared.settings);
        // Turns use the system's clock, which is not the run's.
        let limits = Arc::make_mut(&mut settings.limits);
        limits.cluster_writes_per_second = u32::MAX;
        limits.http_requests_per_second = u32::MAX;
        Ok(Self { name, prepared, engine, threads, patch: options.patch })
    }

    /// Runs the plugin through a script.
    pub async fn run(&self, script: Script) -> Result<Transcript, OfflineError> {
        let (world, begins) = (OfflineWorld::default(), script.begins());
        for KindedObject { source, resource, json } in script.objects {
            world.put(&resource, &json).map_err(|problem| OfflineError::Object {
                from: source,
                resource,
                problem,
            })?;
        }
        let run = Run::new(self, world, begins);
        let run = if script.apply_writes { run.applying_writes() } else { run };
        self.on_guest_thread(run.through(script.steps)).await
    }

    pub(super) async fn on_guest_thread<T: Send + 'static>(
        &self,
        run: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, OfflineError> {
        let (reply, answer) = oneshot::channel();
        let running = async move {
            // The caller may be gone.
            let _ = reply.send(run.await);
        };
        let task = self.threads.spawn(running, Pace::default());
        let answer = answer.await.map_err(|_| OfflineError::CutOff);
        task.ended().await.map_err(|_| OfflineError::CutOff)?;
        answer
    }
}

/// The core of a plugin's name without earlier data.
pub(super) fn core(name: &PluginName, prepared: &Prepared, now: Timestamp) -> PluginCore {
    let limits = &*prepared.settings.limits;
    let counters = Arc::<Counters>::default();
    let queue = Arc::new(PluginQueue::new(Marks::from(limits), counters.clone()));
    let metrics = PluginMetrics::new(name.clone(), limits.into(), MetricNames::default());
    let core = PluginCore::new(name.clone(), counters, queue, metrics, limits, now);
    core.set(&prepared.settings);
    core
}

pub(super) fn actor(
    plugin: &OfflinePlugin,
    core: &Arc<PluginCore>,
    surroundings: &Surroundings,
    outside: &Outside,
    journal: &Arc<Journal>,
) -> Actor {
    let limits = &plugin.prepared.settings.limits;
    let cluster = WriteTurns::new(Arc::new(outside.clone()), Leading::default());
    let (events, _) = EventRecorder::new(cluster.clone());
    let http = HttpTurns::new(Arc::new(outside.clone()), Leading::default());
    // There are no commands.
    let (_, commands) = command_line();
    Actor {
        name: plugin.name.clone(),
        shard: SHARD,
        together: Arc::default(),
        engine: plugin.engine.clone(),
        limits: limits.clone(),
        leading: Leading::default(),
        pace: Pace::default(),
        powers: Powers { cluster, http, events, guesses: Arc::default(), tracer: None },
        core: core.clone(),
        commands,
        running: Running::Nothing,
        last_call: LastCall::none(surroundings.now()),
        turn: WorkTurn::over(surroundings.now()),
        paused: false,
        surroundings: surroundings.clone(),
        tapes: Some(Arc::new(journal.clone())),
        retired: None,
    }
}
