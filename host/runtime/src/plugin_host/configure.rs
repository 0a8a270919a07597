//! The settings of plugins: the files beside theirs, and the host's own configuration.
//!
//! A lost permission ends as soon as the configuration was read. This does not wait for any load, of this plugin or of
//! another.

use super::PluginHost;
use crate::contract::configuration::{ConfigurationError, Configurations, PluginSettings, Sidecar};
use crate::directory::ConfigurationFile;
use crate::guest::load_steps::LoadSteps;
use crate::plugin_name::PluginName;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;
use tracing::info;

/// The configurations that were read, of the host and of plugins.
pub(super) struct ReadConfigurations {
    /// Receives newer configurations of the host.
    pub(super) receiver: watch::Receiver<Arc<Configurations>>,
    /// The host's own configuration in force.
    pub(super) of_host: Arc<Configurations>,
    /// The files beside plugins' files.
    beside: BTreeMap<PluginName, Beside>,
    /// Reads these files, one after the other.
    steps: LoadSteps,
}

impl ReadConfigurations {
    pub(super) fn new(receiver: watch::Receiver<Arc<Configurations>>) -> Self {
        let of_host = receiver.borrow().clone();
        Self { receiver, of_host, beside: BTreeMap::new(), steps: LoadSteps::default() }
    }
}

/// The file beside a plugin's.
enum Beside {
    /// The step of this number reads the file. The plugin's loads wait for it.
    Reading(u64),
    /// A file that was read.
    Read(Box<Sidecar>),
}

impl PluginHost {
    /// Sets the configuration for the plugin's next load, which follows.
    pub(super) fn configure(&mut self, name: PluginName, file: ConfigurationFile) {
        let file = match file {
            ConfigurationFile::Read(file) => file,
            ConfigurationFile::Gone => {
                self.configuration.beside.remove(&name);
                return self.follow_settings(&name);
            }
            ConfigurationFile::Unreadable(problem) => {
                let sidecar = Sidecar::unusable(&name, problem);
                self.configuration.beside.insert(name.clone(), Beside::Read(Box::new(sidecar)));
                return self.follow_settings(&name);
            }
        };
        self.loads_begun += 1;
        let number = self.loads_begun;
        self.configuration.beside.insert(name.clone(), Beside::Reading(number));
        let (steps, of) = (self.configuration.steps.clone(), name.clone());
        self.loads.spawn_configuration((name, number), async move {
            let named = of.clone();
            let read = move || Sidecar::read(&named, file.content.as_deref().unwrap_or_default());
            let read = steps.run(read).await;
            read.unwrap_or_else(|error| Sidecar::unusable(&of, &error.to_string()))
        });
    }

    /// The file beside the plugin's was read.
    pub(super) fn configured(&mut self, name: &PluginName, number: u64, sidecar: Box<Sidecar>) {
        let Some(beside) = self.configuration.beside.get_mut(name) else { return };
        if !matches!(beside, Beside::Reading(awaited) if *awaited == number) {
            return;
        }
        *beside = Beside::Read(sidecar);
        self.follow_settings(name);
        self.load_next(name);
    }

    /// Whether the file beside the plugin's is being read.
    pub(super) fn is_being_configured(&self, name: &PluginName) -> bool {
        matches!(self.configuration.beside.get(name), Some(Beside::Reading(_)))
    }

    /// The plugin's settings from now on. `None` while the file beside its own is being read.
    fn settings(
        &self,
        name: &PluginName,
    ) -> Option<Result<Arc<PluginSettings>, ConfigurationError>> {
        let sidecar = match self.configuration.beside.get(name) {
            Some(Beside::Reading(_)) => return None,
            Some(Beside::Read(sidecar)) => Some(&**sidecar),
            None => None,
        };
        Some(self.configuration.of_host.settings(name, sidecar).map(Arc::new))
    }

    /// Restricts the plugin to its new settings. An unusable configuration changes nothing: the next load reports its
    /// problem.
    pub(super) fn follow_settings(&mut self, name: &PluginName) {
        let Some(Ok(settings)) = self.settings(name) else { return };
        if let Some(plugin) = self.plugins.get_mut(name) {
            plugin.is_to_have(name, settings);
        }
    }

    /// The settings for a load that begins now. While the file beside the plugin's is being read, the earlier file
    /// counts: the version is prepared again after the read.
    pub(super) fn settings_of_load(
        &mut self,
        name: &PluginName,
    ) -> Result<Arc<PluginSettings>, ConfigurationError> {
        let Some(settings) = self.settings(name) else {
            let known = self.plugins.get(name).and_then(|plugin| plugin.settings());
            let problem = "it is being read; the plugin is loaded once that is done";
            let file = format!("{name}.yaml");
            let unknown = || ConfigurationError::new(&file, 0, "", problem.to_owned());
            return known.cloned().ok_or_else(unknown);
        };
        let settings = settings?;
        if let Some(plugin) = self.plugins.get_mut(name) {
            plugin.is_to_have(name, settings.clone());
        }
        Ok(settings)
    }

    /// Applies a new configuration of the host: plugins with changed settings are loaded again, as after a change of
    /// the file beside theirs.
    pub(super) fn reconfigure(&mut self) {
        let said = self.configuration.receiver.borrow_and_update().clone();
        let before = std::mem::replace(&mut self.configuration.of_host, said);
        let mut concerned = Vec::new();
        for (name, plugin) in &self.plugins {
            if self.configuration.of_host.says_the_same_of(name, &before) {
                let said = &self.configuration.of_host;
                plugin.core.says_of_settings(|settings| said.placed(name, settings));
                continue;
            }
            concerned.push(name.clone());
        }
        for name in &concerned {
            self.follow_settings(name);
            self.directories.configured(name);
        }
        self.tell_problems();
        info!(
            plugins = concerned.len(),
            "the host's own configuration says something else; plugins that it concerns are loaded again"
        );
    }
}
