//! The host of all plugins: one task that follows the directories and does every load, swap and removal.

mod requests;

use crate::actor::{Command, Subscription, Version};
use crate::admin::{AdminError, PluginAdmin, Request};
use crate::archive::{Archive, ArchiveThread, Kept, StateDirectoryError, StateDirectoryOptions};
use crate::compiler::{CodeCacheError, Compiler, CompilerOptions};
use crate::counters::add_one;
use crate::descriptor::Descriptor;
use crate::directory::{Change, Decision, Directories, PluginFile};
use crate::engine::{Engine, EngineError};
use crate::event::SubscriptionId;
use crate::guest_threads::GuestThreads;
use crate::json_pointer_index::SharedIndexes;
use crate::lifecycle::Input;
use crate::limits::{LimitError, Limits};
use crate::loads::{Load, Loads, Outcome, TookOver};
use crate::one_line::one_line;
use crate::plugin::{Loaded, Plugin};
use crate::plugin_name::PluginName;
use crate::plugins::Plugins;
use crate::prepare::{LoadError, Prepared, Preparer};
use crate::reads::Reads;
use crate::reevaluation::Wish;
use crate::status::RunningVersion;
use hashbrown::HashMap;
use informant_cache::SharedInformerFactory;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

/// Bytes of the reason for which a file is not loaded: the longest of ours, with the names it tells of.
const REASON_BYTES_MAX: usize = 2 << 10;

/// What the host of the plugins needs.
pub struct PluginHostOptions {
    /// Where plugin files are dropped.
    pub directories: Vec<PathBuf>,
    /// The bounds of every plugin.
    pub limits: Limits,
    /// Where informers come from.
    pub informers: Arc<SharedInformerFactory>,
    /// Threads that guests run on.
    pub threads: usize,
    /// How plugins are compiled, and where the code is kept.
    pub compiler: CompilerOptions,
    /// Where what is to outlive the host is kept; none: it ends with the host.
    pub state: Option<StateDirectoryOptions>,
}

/// The host could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A limit is out of its range.
    #[error(transparent)]
    Limits(#[from] LimitError),
    /// The engine cannot run here.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Compiled code cannot be kept where it is to be kept.
    #[error(transparent)]
    CodeCache(#[from] CodeCacheError),
    /// What is to outlive the host cannot be kept where it is to be kept.
    #[error(transparent)]
    State(#[from] StateDirectoryError),
    /// The system gives no more threads.
    #[error("threads for plugins cannot be started: {0}")]
    Threads(#[from] std::io::Error),
}

/// Runs plugins until it is told to stop.
pub struct PluginHost {
    directories: Directories,
    limits: Limits,
    informers: Arc<SharedInformerFactory>,
    preparer: Preparer,
    indexes: SharedIndexes,
    plugins: BTreeMap<PluginName, Plugin>,
    loads: Loads,
    loads_begun: u64,
    state: Option<ArchiveThread>,
    view: Plugins,
    admin: PluginAdmin,
    requests: mpsc::Receiver<Request>,
}

impl PluginHost {
    /// Makes the engine and the threads. Nothing is loaded before [`run`](Self::run).
    pub fn new(options: PluginHostOptions) -> Result<Self, StartError> {
        options.limits.check()?;
        let engine = Engine::new()?;
        let compiler = Compiler::new(options.compiler)?;
        let threads = Arc::new(GuestThreads::start(options.threads.max(1))?);
        let (admin, requests) = PluginAdmin::new();
        let state = options.state.map(ArchiveThread::start).transpose()?;
        let archive = state.as_ref().map(ArchiveThread::archive);
        Ok(Self {
            directories: Directories::new(options.directories),
            preparer: Preparer::new(engine, compiler.clone(), threads, options.limits.clone()),
            limits: options.limits,
            informers: options.informers,
            indexes: SharedIndexes::default(),
            plugins: BTreeMap::new(),
            loads: Loads::default(),
            loads_begun: 0,
            admin,
            requests,
            state,
            view: Plugins::new(compiler, archive),
        })
    }

    /// What others may look at.
    pub fn plugins(&self) -> Plugins {
        self.view.clone()
    }

    /// The way to change what runs.
    pub fn admin(&self) -> PluginAdmin {
        self.admin.clone()
    }

    /// Follows the directories until `shutdown`, then stops every plugin.
    pub async fn run(mut self, shutdown: CancellationToken) {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => break,
                Some(outcome) = self.loads.next() => self.settle(outcome),
                decision = self.directories.next() => self.carry_out(decision),
                Some(request) = self.requests.recv() => self.answer(request),
            }
        }
        self.stop().await;
    }

    /// All plugins at once, each with its own deadline.
    async fn stop(mut self) {
        self.loads.shutdown().await;
        let stops = self.plugins.into_values().map(Plugin::stop);
        futures::future::join_all(stops).await;
        if let Some(state) = self.state {
            state.stop().await;
        }
    }

    fn archive(&self) -> Option<Archive> {
        self.state.as_ref().map(ArchiveThread::archive)
    }

    /// Makes what runs what the directories ask for.
    fn carry_out(&mut self, decision: Decision) {
        self.view.scanned(&decision.problems);
        for change in decision.changes {
            match change {
                Change::Load(name, file) => self.found(name, file),
                Change::Remove(name) => self.gone(&name),
            }
        }
        self.view.found_all();
        if let Some(archive) = self.archive() {
            archive.present(self.plugins.keys().cloned().collect());
        }
        self.refuse_reloads();
    }

    fn gone(&mut self, name: &PluginName) {
        let Some(mut plugin) = self.plugins.remove(name) else { return };
        plugin.asked.gone(&Err(AdminError::NoSuchPlugin(name.clone())));
        plugin.status.archive.gone(Timestamp::now());
        self.loads.spawn_stop(name.clone(), plugin.stop());
        self.view.remove(name);
        info!(plugin = name.as_str(), "removed: its file is gone");
    }

    fn found(&mut self, name: PluginName, file: PluginFile) {
        let plugin = self.plugins.entry(name.clone()).or_insert_with(|| {
            let plugin = Plugin::new(&name, &self.limits);
            self.view.insert(name.clone(), plugin.status.clone());
            plugin
        });
        let sha256 = &file.sha256[..12];
        info!(plugin = name.as_str(), sha256, "loading {}", file.path.display());
        plugin.next = Some(file);
        if !self.directories.is_to_load_again(&name) {
            plugin.asked.read();
        }
        self.load_next(&name);
    }

    /// Begins the load that waits, unless one is under way.
    fn load_next(&mut self, name: &PluginName) {
        let Some(plugin) = self.plugins.get_mut(name) else { return };
        if plugin.load.is_some() {
            return;
        }
        if let Some(archive) = self.state.as_ref().filter(|_| !plugin.remembers()) {
            // A call of the one before it that is under way still says what becomes of its event.
            if self.loads.is_stopping(name) {
                return;
            }
            let archive = archive.archive();
            let load = self.begin_load(name, String::new());
            let begun = load.clone();
            return self.loads.spawn(load, async move {
                let kept = archive.read(&begun.name).await;
                Outcome::Read(begun, kept)
            });
        }
        let Some(PluginFile { sha256, content: Some(content), .. }) = plugin.next.take() else {
            return;
        };
        plugin.asked.load();
        let load = self.begin_load(name, sha256);
        let (preparer, begun) = (self.preparer.clone(), load.clone());
        self.loads.spawn(load, async move {
            match preparer.prepare(begun.name.clone(), content, config()).await {
                Ok(prepared) => Outcome::Prepared(begun, prepared),
                Err(error) => Outcome::Refused(begun, error),
            }
        });
    }

    /// What was kept is there before anything of the plugin runs.
    fn remember(&mut self, name: &PluginName, kept: Option<Kept>) {
        let archive = self.archive();
        if let (Some(plugin), Some(archive)) = (self.plugins.get_mut(name), archive) {
            plugin.load = None;
            plugin.remember(name.as_str(), &archive, kept);
        }
        self.load_next(name);
    }

    fn begin_load(&mut self, name: &PluginName, sha256: String) -> Load {
        self.loads_begun += 1;
        let number = self.loads_begun;
        if let Some(plugin) = self.plugins.get_mut(name) {
            plugin.load = Some(number);
            plugin.status.apply([Input::FileChanged], Timestamp::now());
        }
        Load { name: name.clone(), number, sha256 }
    }

    /// Goes on with a load whose step ended, if its plugin still waits for it.
    fn settle(&mut self, outcome: Outcome) {
        let load = match &outcome {
            Outcome::Read(load, _)
            | Outcome::Prepared(load, _)
            | Outcome::Swapped(load, _)
            | Outcome::Refused(load, _) => load.clone(),
            // One of the same name may have waited for that.
            Outcome::Stopped(name) => return self.load_next(name),
        };
        let waiting = self.plugins.get(&load.name).and_then(|plugin| plugin.load);
        if waiting != Some(load.number) {
            return;
        }
        let answer = match outcome {
            Outcome::Read(_, kept) => return self.remember(&load.name, kept),
            Outcome::Prepared(_, prepared) => return self.take_over(load, prepared),
            Outcome::Swapped(_, took_over) => {
                let version = took_over.prepared.descriptor.version.clone();
                self.took_over(&load, *took_over);
                Ok(format!("version {version} ({}) took over", &load.sha256[..12]))
            }
            Outcome::Refused(_, error) => Err(AdminError::Refused(self.refused(&load, &error))),
            Outcome::Stopped(_) => return,
        };
        if let Some(plugin) = self.plugins.get_mut(&load.name) {
            plugin.load = None;
            plugin.asked.loaded(&answer);
        }
        self.load_next(&load.name);
    }

    /// Asks the plugin's actor to go on with the new version.
    fn take_over(&mut self, load: Load, prepared: Prepared) {
        let reads =
            Reads::new(&prepared.descriptor, &self.indexes, |gvr| self.informers.lease(gvr));
        self.informers.start();
        let Some(plugin) = self.plugins.get_mut(&load.name) else { return };
        let ids = plugin.ids(&prepared.descriptor);
        let version = Box::new(Version {
            load: load.number,
            number: prepared.descriptor.version.clone(),
            template: prepared.template.clone(),
            reads: Arc::new(reads),
            config: config(),
            subscriptions: subscriptions(
                &prepared.descriptor,
                &ids,
                &plugin.asked_by(&prepared.descriptor, load.number),
            ),
        });
        let commands = plugin.actor(&load.name, &self.preparer);
        let begun = load.clone();
        self.loads.spawn(load, async move {
            match swap(&commands, version).await {
                Ok(restored) => {
                    Outcome::Swapped(begun, Box::new(TookOver { prepared, ids, restored }))
                }
                Err(error) => Outcome::Refused(begun, error),
            }
        });
    }

    /// The new version has the queue; now its subscriptions follow.
    fn took_over(&mut self, load: &Load, took_over: TookOver) {
        let TookOver { prepared, ids, restored } = took_over;
        let Some(plugin) = self.plugins.get_mut(&load.name) else { return };
        let first = plugin.current.is_none();
        let descriptor = &prepared.descriptor;
        plugin.subscribe(descriptor, &ids, (load.number, restored), &self.informers);
        self.informers.start();
        if !first {
            add_one(&plugin.status.counters.reloads_ok);
        }
        plugin.status.took_over(running(descriptor, &load.sha256), Timestamp::now());
        let verb = if first { "running" } else { "reloaded: a new version took over" };
        let (sha256, version) = (&load.sha256[..12], &descriptor.version);
        info!(plugin = load.name.as_str(), sha256, version, "{verb}");
        plugin.took_over(Loaded { sha256: load.sha256.clone(), prepared });
    }

    /// Keeps what runs, and says why the new version does not.
    fn refused(&mut self, load: &Load, error: &LoadError) -> String {
        // It may name what the file is made of.
        let reason = one_line(&error.to_string(), REASON_BYTES_MAX).into_owned();
        let Some(plugin) = self.plugins.get_mut(&load.name) else { return reason };
        let input = match error {
            LoadError::NotGranted(_) => Input::NotGranted { reason: reason.clone() },
            _ => Input::LoadFailed { reason: reason.clone() },
        };
        plugin.status.refused(&load.sha256, &reason, input, Timestamp::now());
        let kept = match plugin.current.is_some() {
            true => "not loaded, the version before it goes on",
            false => "not loaded",
        };
        if plugin.current.is_some() {
            add_one(&plugin.status.counters.reloads_failed);
        }
        error!(plugin = load.name.as_str(), sha256 = &load.sha256[..12], "{kept}: {reason}");
        reason
    }
}

/// Hands a version to an actor and waits until it has started, or has not.
async fn swap(commands: &mpsc::Sender<Command>, version: Box<Version>) -> Result<bool, LoadError> {
    let ended = || LoadError::Host("the plugin's actor ended".to_owned());
    let (reply, answer) = oneshot::channel();
    commands.send(Command::Swap(version, reply)).await.map_err(|_| ended())?;
    answer.await.map_err(|_| ended())?
}

/// Plugins get no configuration yet: the empty object.
fn config() -> Vec<u8> {
    b"{}".to_vec()
}

fn subscriptions(
    descriptor: &Descriptor,
    ids: &[SubscriptionId],
    asked_by: &[u64],
) -> HashMap<SubscriptionId, Subscription> {
    let numbered = descriptor.subscriptions.iter().zip(ids).zip(asked_by).enumerate();
    numbered
        .map(|(index, ((spec, id), asked_by))| {
            let resource = spec.resource.to_string().into();
            let (index, wish) = (index as u32, Wish::from(spec));
            let (asked_by, spec) = (*asked_by, spec.clone());
            (*id, Subscription { index, asked_by, resource, wish, spec })
        })
        .collect()
}

fn running(descriptor: &Descriptor, sha256: &str) -> RunningVersion {
    let subscriptions = descriptor.subscriptions.iter();
    RunningVersion {
        version: descriptor.version.clone(),
        sha256: sha256.to_owned(),
        subscriptions: subscriptions
            .map(|spec| (spec.name.clone(), spec.resource.to_string()))
            .collect(),
    }
}
