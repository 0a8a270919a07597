//! All plugins as others may look at them.

use crate::archive::{Archive, StateDirectoryStatus};
use crate::compiler::{CompileCounts, Compiler};
use crate::dead_letters::DeadLetter;
use crate::directory::Problem;
use crate::plugin_name::PluginName;
use crate::status::{PluginStatus, StatusCell};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::warn;

/// A view of all plugins for whoever shows them.
#[derive(Clone)]
pub struct Plugins {
    shared: Arc<Shared>,
    compiler: Compiler,
    archive: Option<Archive>,
}

#[derive(Default)]
struct Shared {
    plugins: Mutex<BTreeMap<PluginName, Arc<StatusCell>>>,
    problems: Mutex<Vec<Problem>>,
    scanned: AtomicBool,
}

impl Plugins {
    pub(crate) fn new(compiler: Compiler, archive: Option<Archive>) -> Self {
        Self { shared: Arc::default(), compiler, archive }
    }

    /// How the state directory is doing; none without one.
    pub fn state_directory(&self) -> Option<StateDirectoryStatus> {
        self.archive.as_ref().map(Archive::status)
    }

    /// How often plugins were compiled so far, or did not have to be.
    pub fn compiles(&self) -> CompileCounts {
        self.compiler.counts()
    }

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
        let loading = |status: &Arc<StatusCell>| status.snapshot().state.is_first_load();
        self.shared.scanned.load(Ordering::Acquire) && !plugins.values().any(loading)
    }

    /// The dead letters of a plugin, oldest first; none if there is no such plugin.
    pub fn dead_letters(&self, name: &PluginName) -> Option<Vec<DeadLetter>> {
        let plugins = self.shared.plugins.lock();
        plugins.get(name).map(|status| status.dead_letters.lock().list())
    }

    pub(crate) fn insert(&self, name: PluginName, status: Arc<StatusCell>) {
        self.shared.plugins.lock().insert(name, status);
    }

    pub(crate) fn remove(&self, name: &PluginName) {
        self.shared.plugins.lock().remove(name);
    }

    /// The directories have been looked at; says each problem once, for as long as it stays.
    pub(crate) fn scanned(&self, problems: &[Problem]) {
        let mut known = self.shared.problems.lock();
        for problem in problems.iter().filter(|problem| !known.contains(problem)) {
            warn!("{} {}", problem.path.display(), problem.text);
        }
        known.clear();
        known.extend_from_slice(problems);
    }

    /// Every plugin file of the first look is known by now.
    pub(crate) fn found_all(&self) {
        self.shared.scanned.store(true, Ordering::Release);
    }
}
