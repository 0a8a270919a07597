//! All plugins, for readers: pages, metrics and commands.

use crate::directory::Problem;
use crate::guest::compiler::{CompileCounts, Compiler};
use crate::guest::json_pointer_index::SharedIndexes;
use crate::kept::archive::{Archive, StateDirectoryStatus};
use crate::kept::dead_letters::DeadLetter;
use crate::log_tail::LogReader;
use crate::plugin::core::{PluginCore, RunningVersion};
use crate::plugin::status::PluginStatus;
use crate::plugin_metrics::PluginSeries;
use crate::plugin_name::PluginName;
use crate::powers::access::AccessCounts;
use informant_apimachinery::GroupVersionResource;
use informant_cache::Pulse;
use jiff::Timestamp;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// A view of all plugins, for readers.
#[derive(Clone)]
pub struct Plugins {
    shared: Arc<PluginsState>,
    compiler: Compiler,
    indexes: SharedIndexes,
    archive: Option<Archive>,
    access: Arc<AccessCounts>,
    threads: Arc<Vec<(String, Arc<AtomicU64>)>>,
}

#[derive(Default)]
struct PluginsState {
    plugins: Mutex<BTreeMap<PluginName, Arc<PluginCore>>>,
    /// Plugins that are gone, or were stopped, and were granted Secrets: their `state` may have values of them, and comes
    /// back under the same name. Only the host's own configuration grants Secrets, so they are few.
    had_secrets: Mutex<BTreeSet<PluginName>>,
    problems: Mutex<Vec<Problem>>,
    scanned: AtomicBool,
    /// Counts the periodic checks of the plugin host, about one a second.
    beats: AtomicU64,
}

impl PluginsState {
    fn note_secrets(&self, name: &PluginName, gone: Option<Arc<PluginCore>>) {
        if gone.is_some_and(|core| core.log.may_hold_secrets()) {
            self.had_secrets.lock().insert(name.clone());
        }
    }
}

impl Plugins {
    pub(crate) fn new(
        compiler: Compiler,
        indexes: SharedIndexes,
        archive: Option<Archive>,
        access: Arc<AccessCounts>,
        threads: Vec<(String, Arc<AtomicU64>)>,
    ) -> Self {
        let threads = Arc::new(threads);
        Self { shared: Arc::default(), compiler, indexes, archive, access, threads }
    }

    /// The progress of the plugin host, of the threads for guests and of each plugin's actors, with their names.
    pub fn pulses(&self, now: Instant) -> Vec<(String, Pulse)> {
        let beats =
            |beats: &AtomicU64| Pulse { steps: beats.load(Ordering::Relaxed), has_work: true };
        let host = Some(beats(&self.shared.beats)).filter(|pulse| pulse.steps > 0);
        let host = host.map(|pulse| ("the plugin host".to_owned(), pulse));
        let threads = self.threads.iter();
        let threads = threads.map(|(name, it)| (format!("the thread {name}"), beats(it)));
        let cells = self.cores();
        let actors = cells.iter().flat_map(|cell| {
            let pulses = cell.pulses(now).into_iter().enumerate();
            let name = cell.name.as_str();
            pulses.map(move |(shard, pulse)| (format!("shard {shard} of the plugin {name}"), pulse))
        });
        host.into_iter().chain(threads).chain(actors).collect()
    }

    /// The names of all plugins.
    pub fn names(&self) -> Vec<PluginName> {
        self.shared.plugins.lock().keys().cloned().collect()
    }

    /// The resources that the running versions subscribe to or read.
    pub fn resources(&self) -> BTreeSet<GroupVersionResource> {
        let of = |core: &Arc<PluginCore>| {
            let running = core.facts().running.clone();
            let named = running.iter().flat_map(RunningVersion::resources);
            named.filter_map(|text| text.parse().ok()).collect::<Vec<_>>()
        };
        self.cores().iter().flat_map(of).collect()
    }

    /// A reader of a plugin's last log lines: of those after an id, or of the last so many, or of all that are kept.
    /// None: there is no such plugin.
    pub fn log(
        &self,
        name: &PluginName,
        after: Option<u64>,
        lines_max: Option<usize>,
    ) -> Option<LogReader> {
        Some(self.core(name)?.log.reader(after, lines_max))
    }

    /// Whether a plugin's log may have values of Secrets: the plugin was granted some since the host started.
    pub fn log_may_hold_secrets(&self, name: &PluginName) -> bool {
        self.core(name).is_some_and(|core| core.log.may_hold_secrets())
    }

    /// The core of a plugin. The caller reads it after this function has given back the lock of all plugins, for which
    /// the host's own task would wait.
    fn core(&self, name: &PluginName) -> Option<Arc<PluginCore>> {
        self.shared.plugins.lock().get(name).cloned()
    }

    /// Every plugin's core, by name.
    pub(crate) fn cores(&self) -> Vec<Arc<PluginCore>> {
        self.shared.plugins.lock().values().cloned().collect()
    }

    /// Notes a periodic check of the plugin host.
    pub(crate) fn beat(&self) {
        self.shared.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// How often an object had more values than an index takes, by the resource and the pointer of each index.
    pub fn index_values_cut(&self) -> BTreeMap<(String, String), u64> {
        self.indexes.cut()
    }

    /// The numbers of reviews of service accounts.
    pub fn access(&self) -> Arc<AccessCounts> {
        self.access.clone()
    }

    /// The condition of the state directory; `None` without one.
    pub fn state_directory(&self) -> Option<StateDirectoryStatus> {
        self.archive.as_ref().map(Archive::status)
    }

    /// The numbers of compilations and of reused code.
    pub fn compiles(&self) -> CompileCounts {
        self.compiler.counts()
    }

    /// Every plugin, by name.
    pub fn status(&self) -> Vec<PluginStatus> {
        let problems = self.shared.problems.lock().clone();
        let of = |core: &Arc<PluginCore>| {
            let problem = problems.iter().find(|problem| problem.of.as_ref() == Some(&core.name));
            PluginStatus::of(core).with_file_problem(problem.cloned())
        };
        self.cores().iter().map(of).collect()
    }

    /// The plugin of this name, if there is one.
    pub fn status_of(&self, name: &PluginName) -> Option<PluginStatus> {
        let is_of = |problem: &&Problem| problem.of.as_ref() == Some(name);
        let problem = self.shared.problems.lock().iter().find(is_of).cloned();
        Some(PluginStatus::of(&*self.core(name)?).with_file_problem(problem))
    }

    /// Every plugin's own series, by the plugins' names, without series that had no change for an hour.
    pub fn series(&self) -> Vec<PluginSeries> {
        let now = Instant::now();
        let of = |core: &Arc<PluginCore>| {
            PluginSeries::new(core.name.clone(), core.metrics.clone(), now)
        };
        self.cores().iter().map(of).collect()
    }

    /// Problems in the plugin directories: path and text.
    pub fn problems(&self) -> Vec<(PathBuf, String)> {
        let problems = self.shared.problems.lock();
        problems.iter().map(|problem| (problem.path.clone(), problem.text.clone())).collect()
    }

    /// Files in the plugin directories that are not loaded or not used, because of their place, their name or their
    /// number.
    pub fn files_not_loaded(&self) -> usize {
        self.shared.problems.lock().iter().map(|problem| problem.files).sum()
    }

    /// Whether the directories were scanned and no plugin is in its first load. A plugin whose first load takes over a
    /// minute does not count.
    pub fn settled(&self) -> bool {
        let now = Timestamp::now();
        // This is read first: every plugin of the first scan is in the map then.
        let is_scanned = self.shared.scanned.load(Ordering::Acquire);
        is_scanned && !self.cores().iter().any(|core| core.is_awaited(now))
    }

    /// The dead letters of a plugin from this id on, at most so many, oldest first; `None` without such a plugin.
    pub fn dead_letters(
        &self,
        name: &PluginName,
        from: u64,
        max: usize,
    ) -> Option<Vec<DeadLetter>> {
        Some(self.core(name)?.dead_letters.lock().oldest(from, max))
    }

    /// The id of the newest dead letter that a plugin has had, 0 for none; `None` without such a plugin.
    pub fn last_dead_letter(&self, name: &PluginName) -> Option<u64> {
        Some(self.core(name)?.dead_letters.lock().last_id())
    }

    /// Waits until all changes of a plugin so far are in the state directory. They are written at the plugin's rate
    /// (`limits.stateWrites`). `false` if the directory cannot be written now; `true` without one.
    pub async fn written(&self, name: &PluginName) -> bool {
        let Some(archive) = &self.archive else { return true };
        archive.written(name).await
    }

    /// The kept dead letters of a plugin whose file is gone, oldest first; `None` without kept data. Waits for the
    /// disk.
    pub async fn kept_dead_letters(&self, name: &PluginName) -> Option<Vec<DeadLetter>> {
        let kept = self.archive.as_ref()?.read(name).await?;
        kept.head.map(|_| kept.letters)
    }

    pub(crate) fn insert(&self, name: PluginName, core: Arc<PluginCore>) {
        let mut plugins = self.shared.plugins.lock();
        let before = plugins.insert(name.clone(), core.clone());
        self.shared.note_secrets(&name, before);
        if self.shared.had_secrets.lock().contains(&name) {
            core.log.grants_secrets();
        }
    }

    pub(crate) fn remove(&self, name: &PluginName) {
        let gone = self.shared.plugins.lock().remove(name);
        self.shared.note_secrets(name, gone);
    }

    /// The directories were scanned, and have these problems.
    pub(crate) fn scanned(&self, problems: Vec<Problem>) {
        *self.shared.problems.lock() = problems;
    }

    /// All plugin files of the first scan are known now.
    pub(crate) fn found_all(&self) {
        self.shared.scanned.store(true, Ordering::Release);
    }
}
