//! The host of all plugins: one task that follows the directories and does every load, swap and removal.

use crate::actor::{Subscription, Version};
use crate::counters::add_one;
use crate::descriptor::Descriptor;
use crate::directory::{Debounce, DirectoryWatch, Known, PluginFile, Scan, scan};
use crate::engine::{Engine, EngineError};
use crate::event::SubscriptionId;
use crate::guest_threads::GuestThreads;
use crate::json_pointer_index::SharedIndexes;
use crate::lifecycle::Input;
use crate::limits::Limits;
use crate::plugin::Plugin;
use crate::plugin_name::PluginName;
use crate::plugins::Plugins;
use crate::prepare::{LoadError, Prepared, Preparer};
use crate::reads::Reads;
use crate::status::RunningVersion;
use hashbrown::HashMap;
use informant_cache::SharedInformerFactory;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

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

/// Runs plugins until it is told to stop.
pub struct PluginHost {
    directories: Vec<PathBuf>,
    limits: Limits,
    informers: Arc<SharedInformerFactory>,
    preparer: Preparer,
    threads: GuestThreads,
    indexes: SharedIndexes,
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
            indexes: SharedIndexes::default(),
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
        self.view.scanned(&scan.problems);
        self.find_removed(&scan).await;
        for (name, file) in scan.files {
            self.found(name, file);
        }
        self.view.found_all();
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
                self.view.insert(name.clone(), plugin.status.clone());
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
        let reads =
            Reads::new(&prepared.descriptor, &self.indexes, |gvr| self.informers.lease(gvr));
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
            plugin.start_actor(name, &self.preparer, &self.threads);
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
        plugin.stop().await;
        self.view.remove(name);
    }
}

/// Plugins get no configuration yet: the empty object.
fn config() -> Vec<u8> {
    b"{}".to_vec()
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
