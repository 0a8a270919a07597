//! The host of all plugins: one task that follows the directories and does every load, swap and removal.

use crate::actor::{Actor, COMMANDS_MAX, Command, Running, Subscription, Version};
use crate::counters::{Counters, add_one};
use crate::descriptor::{Descriptor, Replay, SubscriptionSpec};
use crate::directory::{Debounce, DirectoryWatch, Known, PluginFile, Problem, Scan, scan};
use crate::engine::{Engine, EngineError};
use crate::event::{Reason, SubscriptionId};
use crate::guest_threads::GuestThreads;
use crate::lifecycle::{Input, State};
use crate::limits::Limits;
use crate::plugin_name::PluginName;
use crate::plugin_queue::PluginQueue;
use crate::prepare::{LoadError, Prepared, Preparer};
use crate::queue::Marks;
use crate::reads::Reads;
use crate::status::{PluginStatus, RunningVersion, StatusCell};
use crate::subscription::SubscriptionHandler;
use hashbrown::{HashMap, HashSet};
use informant_cache::{InformerLease, InformerState, Registration, SharedInformerFactory};
use jiff::Timestamp;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// The directories are looked at this often, whatever the file events say: some file systems give none.
const RESCAN: Duration = Duration::from_secs(30);
/// A file that is missing for less than this was only being replaced, as editors do.
const REMOVAL_GRACE: Duration = Duration::from_millis(300);

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
}

/// The host could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engine cannot run here.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The system gives no more threads.
    #[error("threads for plugins cannot be started: {0}")]
    Threads(#[from] std::io::Error),
}

/// A view of all plugins for whoever shows them.
#[derive(Clone, Default)]
pub struct Plugins {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    plugins: Mutex<BTreeMap<PluginName, Arc<StatusCell>>>,
    problems: Mutex<Vec<Problem>>,
    scanned: AtomicBool,
}

impl Plugins {
    /// Every plugin, by name.
    pub fn status(&self) -> Vec<PluginStatus> {
        self.shared.plugins.lock().values().map(|status| status.snapshot()).collect()
    }

    /// What is wrong in the directories beside the plugins: path and text.
    pub fn problems(&self) -> Vec<(PathBuf, String)> {
        let problems = self.shared.problems.lock();
        problems.iter().map(|problem| (problem.path.clone(), problem.text.clone())).collect()
    }

    /// Whether the directories have been looked at and no plugin is in its first load.
    pub fn settled(&self) -> bool {
        let plugins = self.shared.plugins.lock();
        let loading = |status: &Arc<StatusCell>| status.snapshot().state == State::Loading;
        self.shared.scanned.load(Ordering::Acquire) && !plugins.values().any(loading)
    }
}

/// Runs plugins until it is told to stop.
pub struct PluginHost {
    directories: Vec<PathBuf>,
    limits: Limits,
    informers: Arc<SharedInformerFactory>,
    preparer: Preparer,
    threads: GuestThreads,
    plugins: BTreeMap<PluginName, Plugin>,
    preparing: JoinSet<Outcome>,
    debounce: Debounce,
    view: Plugins,
}

/// The end of a preparation.
struct Outcome {
    name: PluginName,
    sha256: String,
    result: Result<Prepared, LoadError>,
}

/// One plugin's name and everything that belongs to it.
struct Plugin {
    status: Arc<StatusCell>,
    /// Hash of the content that was seen last.
    wanted: String,
    /// Content that came while another was being prepared.
    next: Option<Arc<[u8]>>,
    preparing: bool,
    missing_since: Option<Instant>,
    actor: Option<ActorHandle>,
    subscriptions: BTreeMap<String, Active>,
    subscription_ids: u32,
}

struct ActorHandle {
    commands: mpsc::Sender<Command>,
    task: JoinHandle<()>,
}

/// A subscription that is being told of changes.
struct Active {
    id: SubscriptionId,
    spec: SubscriptionSpec,
    /// Dropping it ends the subscription.
    _registration: Registration,
    /// Dropping it lets the informer stop, if nobody else needs it.
    _informer: InformerLease,
}

impl PluginHost {
    /// Makes the engine and the threads. Nothing is loaded before [`run`](Self::run).
    pub fn new(options: PluginHostOptions) -> Result<Self, StartError> {
        let engine = Engine::new()?;
        Ok(Self {
            directories: options.directories,
            preparer: Preparer::new(engine, options.limits.clone()),
            limits: options.limits,
            informers: options.informers,
            threads: GuestThreads::start(options.threads.max(1))?,
            plugins: BTreeMap::new(),
            preparing: JoinSet::new(),
            debounce: Debounce::default(),
            view: Plugins::default(),
        })
    }

    /// What others may look at.
    pub fn plugins(&self) -> Plugins {
        self.view.clone()
    }

    /// Follows the directories until `shutdown`, then stops every plugin.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let mut watch = DirectoryWatch::new(&self.directories);
        let mut rescan = Instant::now();
        loop {
            let due = self.debounce.due().map_or(rescan, |due| due.min(rescan));
            tokio::select! {
                () = shutdown.cancelled() => break,
                Some(hint) = watch.hints.recv() => self.debounce.hint(hint.complete, Instant::now()),
                Some(outcome) = self.preparing.join_next() => match outcome {
                    Ok(outcome) => self.prepared(outcome).await,
                    Err(error) => error!("a preparation ended early: {error}"),
                },
                () = tokio::time::sleep_until(due.into()) => {
                    self.debounce.clear();
                    watch.arm();
                    self.look().await;
                    let now = Instant::now();
                    let grace = self.plugins.values().any(|plugin| plugin.missing_since.is_some());
                    rescan = now + if grace { REMOVAL_GRACE } else { RESCAN };
                }
            }
        }
        self.stop().await;
    }

    async fn stop(mut self) {
        self.preparing.shutdown().await;
        let names: Vec<PluginName> = self.plugins.keys().cloned().collect();
        for name in names {
            self.remove(&name).await;
        }
    }

    /// Compares the directories with what runs.
    async fn look(&mut self) {
        let directories = self.directories.clone();
        let known: Known = self
            .plugins
            .iter()
            .map(|(name, plugin)| (name.clone(), plugin.wanted.clone()))
            .collect();
        let scan = match tokio::task::spawn_blocking(move || scan(&directories, &known)).await {
            Ok(scan) => scan,
            Err(error) => return error!("looking at the plugin directories failed: {error}"),
        };
        self.report_problems(&scan);
        self.find_removed(&scan).await;
        for (name, file) in scan.files {
            self.found(name, file);
        }
        self.view.shared.scanned.store(true, Ordering::Release);
    }

    /// Says each problem once, for as long as it stays.
    fn report_problems(&self, scan: &Scan) {
        let mut problems = self.view.shared.problems.lock();
        for problem in &scan.problems {
            if !problems.contains(problem) {
                warn!("{} {}", problem.path.display(), problem.text);
            }
        }
        problems.clone_from(&scan.problems);
    }

    async fn find_removed(&mut self, scan: &Scan) {
        // While a directory cannot be read nobody knows what was removed from it.
        if !scan.unreadable.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut removed = Vec::new();
        for (name, plugin) in &mut self.plugins {
            if scan.files.contains_key(name) {
                plugin.missing_since = None;
                continue;
            }
            let since = *plugin.missing_since.get_or_insert(now);
            if now.duration_since(since) >= REMOVAL_GRACE {
                removed.push(name.clone());
            }
        }
        for name in removed {
            self.remove(&name).await;
            info!(plugin = name.as_str(), "removed: its file is gone");
        }
    }

    fn found(&mut self, name: PluginName, file: PluginFile) {
        let Some(content) = file.content else { return };
        let plugin = match self.plugins.get_mut(&name) {
            Some(plugin) => {
                plugin.status.apply(Input::FileChanged, Timestamp::now());
                plugin
            }
            None => {
                let plugin = Plugin::new(&name, &self.limits);
                self.view.shared.plugins.lock().insert(name.clone(), plugin.status.clone());
                self.plugins.entry(name.clone()).or_insert(plugin)
            }
        };
        info!(
            plugin = name.as_str(),
            sha256 = &file.sha256[..12],
            "loading {}",
            file.path.display()
        );
        plugin.wanted = file.sha256;
        match plugin.preparing {
            true => plugin.next = Some(content),
            false => self.prepare(name, content),
        }
    }

    fn prepare(&mut self, name: PluginName, content: Arc<[u8]>) {
        let Some(plugin) = self.plugins.get_mut(&name) else { return };
        plugin.preparing = true;
        let sha256 = plugin.wanted.clone();
        let preparer = self.preparer.clone();
        self.preparing.spawn(async move {
            let result = preparer.prepare(name.clone(), content, config()).await;
            Outcome { name, sha256, result }
        });
    }

    async fn prepared(&mut self, outcome: Outcome) {
        let Outcome { name, sha256, result } = outcome;
        let Some(plugin) = self.plugins.get_mut(&name) else { return };
        plugin.preparing = false;
        if let Some(content) = plugin.next.take() {
            return self.prepare(name, content);
        }
        let result = match result {
            Ok(prepared) => self.take_over(&name, &sha256, prepared).await,
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            self.refused(&name, &sha256, &error);
        }
    }

    /// Keeps what runs, and says why the new version does not.
    fn refused(&mut self, name: &PluginName, sha256: &str, error: &LoadError) {
        let Some(plugin) = self.plugins.get(name) else { return };
        let now = Timestamp::now();
        let reason = error.to_string();
        add_one(&plugin.status.counters.reloads_failed);
        plugin.status.loaded(sha256, Err(&reason), now);
        let input = match error {
            LoadError::NotGranted(_) => Input::NotGranted { reason },
            _ => Input::LoadFailed { reason },
        };
        plugin.status.apply(input, now);
        let kept = match plugin.actor {
            Some(_) => "not loaded, the version before it goes on",
            None => "not loaded",
        };
        error!(plugin = name.as_str(), sha256 = &sha256[..12], "{kept}: {error}");
    }

    /// Lets the new version take the queue over, then follows its subscriptions.
    async fn take_over(
        &mut self,
        name: &PluginName,
        sha256: &str,
        prepared: Prepared,
    ) -> Result<(), LoadError> {
        let reads = Reads::new(&prepared.descriptor, |gvr| self.informers.lease(gvr));
        let Some(plugin) = self.plugins.get_mut(name) else { return Ok(()) };
        let ids = plugin.ids(&prepared.descriptor);
        let version = Box::new(Version {
            template: prepared.template,
            reads: Arc::new(reads),
            config: config(),
            subscriptions: subscriptions(&prepared.descriptor, &ids),
        });
        let first = plugin.actor.is_none();
        if first {
            plugin.actor = Some(start_actor(name, plugin, &self.preparer, &self.threads));
        }
        let swapped = plugin.swap(version).await;
        if swapped.is_err() && first {
            plugin.stop_actor().await;
        }
        swapped?;
        self.informers.start();
        plugin.subscribe(&prepared.descriptor, &ids, &self.informers);
        let now = Timestamp::now();
        plugin.status.loaded(sha256, Ok(running(&prepared.descriptor, sha256)), now);
        plugin.status.apply(Input::Loaded, now);
        if !first {
            add_one(&plugin.status.counters.reloads_ok);
        }
        let verb = if first { "running" } else { "reloaded: a new version took over" };
        info!(
            plugin = name.as_str(),
            sha256 = &sha256[..12],
            version = prepared.descriptor.version,
            "{verb}"
        );
        Ok(())
    }

    async fn remove(&mut self, name: &PluginName) {
        let Some(mut plugin) = self.plugins.remove(name) else { return };
        plugin.subscriptions.clear();
        plugin.stop_actor().await;
        self.view.shared.plugins.lock().remove(name);
    }
}

impl Plugin {
    fn new(name: &PluginName, limits: &Limits) -> Self {
        let counters = Arc::new(Counters::default());
        let marks = Marks { events: limits.queue_events_mark, bytes: limits.queue_bytes_mark };
        let queue = Arc::new(PluginQueue::new(marks, counters.clone()));
        let status = StatusCell::new(name.clone(), counters, queue, Timestamp::now());
        Self {
            status: Arc::new(status),
            wanted: String::new(),
            next: None,
            preparing: false,
            missing_since: None,
            actor: None,
            subscriptions: BTreeMap::new(),
            subscription_ids: 0,
        }
    }

    /// An id for each subscription of the descriptor: the one it had, if the name and the resource stay.
    fn ids(&mut self, descriptor: &Descriptor) -> Vec<SubscriptionId> {
        let mut ids = Vec::with_capacity(descriptor.subscriptions.len());
        for spec in &descriptor.subscriptions {
            let active = self.subscriptions.get(&spec.name);
            let kept = active.filter(|active| active.spec.resource == spec.resource);
            ids.push(kept.map_or_else(
                || {
                    self.subscription_ids += 1;
                    SubscriptionId(self.subscription_ids)
                },
                |active| active.id,
            ));
        }
        ids
    }

    async fn swap(&self, version: Box<Version>) -> Result<(), LoadError> {
        let ended = || LoadError::Host("the plugin's actor ended".to_owned());
        let actor = self.actor.as_ref().ok_or_else(ended)?;
        let (reply, answer) = oneshot::channel();
        actor.commands.send(Command::Swap(version, reply)).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?.map_err(LoadError::Start)
    }

    async fn stop_actor(&mut self) {
        let Some(actor) = self.actor.take() else { return };
        // It cannot be told if it ended already.
        let _ = actor.commands.send(Command::Stop).await;
        if let Err(error) = actor.task.await {
            error!("a plugin's actor ended early: {error}");
        }
    }

    /// Makes the running subscriptions those of the descriptor. One that did not change goes on without
    /// a gap; one that did is told its objects again.
    fn subscribe(
        &mut self,
        descriptor: &Descriptor,
        ids: &[SubscriptionId],
        informers: &SharedInformerFactory,
    ) {
        let mut before = std::mem::take(&mut self.subscriptions);
        let keep: HashSet<SubscriptionId> = ids.iter().copied().collect();
        self.status.queue.retain(&keep);
        for (spec, id) in descriptor.subscriptions.iter().zip(ids) {
            let known = before.remove(&spec.name).filter(|active| active.id == *id);
            let unchanged = known.as_ref().is_some_and(|active| active.spec == *spec);
            let again = spec.replay == Replay::InitialAndReload;
            let active = match known {
                Some(active) if unchanged && !again => active,
                known => {
                    let told_before = known.is_some();
                    drop(known);
                    let reason = match (spec.replay, told_before) {
                        (Replay::Never, _) => None,
                        (_, false) => Some(Reason::Initial),
                        (_, true) => Some(Reason::Reload),
                    };
                    let queue = self.status.queue.clone();
                    let handler = SubscriptionHandler::new(*id, spec, queue, reason);
                    let informer = informers.lease(&spec.resource);
                    let registration = informer.informer().add_event_handler(Arc::new(handler));
                    Active {
                        id: *id,
                        spec: spec.clone(),
                        _registration: registration,
                        _informer: informer,
                    }
                }
            };
            self.subscriptions.insert(spec.name.clone(), active);
        }
    }
}

/// Plugins get no configuration yet: the empty object.
fn config() -> Vec<u8> {
    b"{}".to_vec()
}

fn start_actor(
    name: &PluginName,
    plugin: &Plugin,
    preparer: &Preparer,
    threads: &GuestThreads,
) -> ActorHandle {
    let (commands, receiver) = mpsc::channel(COMMANDS_MAX);
    let actor = Actor {
        name: name.clone(),
        engine: preparer.engine.clone(),
        limits: preparer.limits.clone(),
        status: plugin.status.clone(),
        commands: receiver,
        running: Running::Nothing,
    };
    ActorHandle { commands, task: threads.spawn(actor.run()) }
}

fn subscriptions(
    descriptor: &Descriptor,
    ids: &[SubscriptionId],
) -> HashMap<SubscriptionId, Subscription> {
    let numbered = descriptor.subscriptions.iter().zip(ids).enumerate();
    numbered
        .map(|(index, (spec, id))| {
            let resource = spec.resource.to_string().into();
            (*id, Subscription { index: index as u32, resource, spec: spec.clone() })
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

/// Whether an informer is as far as it can be: synced, or in a state that heals by itself.
pub fn informer_settled(state: &InformerState) -> bool {
    !matches!(state, InformerState::Created | InformerState::Syncing)
}
