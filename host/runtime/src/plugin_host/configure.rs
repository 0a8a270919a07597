//! The settings of plugins: the files beside theirs, and the host's own configuration.
//!
//! A lost permission ends as soon as the configuration was read. This does not wait for any load, of this plugin or of
//! another.

use super::PluginHost;
use super::latest_read::{AfterRead, LatestRead};
use crate::contract::configuration::{ConfigurationError, Configurations, PluginSettings, Sidecar};
use crate::directory::{ConfigurationFile, PluginFile};
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

    /// Whether the file beside the plugin's is being read.
    pub(super) fn is_being_read(&self, name: &PluginName) -> bool {
        self.beside.get(name).is_some_and(|beside| beside.read.is_awaited())
    }

    /// The plugin's settings with the file that was read last, or without one.
    pub(super) fn settings(
        &self,
        name: &PluginName,
    ) -> Result<Arc<PluginSettings>, ConfigurationError> {
        let sidecar = self.beside.get(name).and_then(|beside| beside.sidecar.as_deref());
        self.of_host.settings(name, sidecar).map(Arc::new)
    }
}

/// The file beside a plugin's.
#[derive(Default)]
struct Beside {
    /// The file that was read last; `None` without a file.
    sidecar: Option<Box<Sidecar>>,
    /// The plugin's loads wait for it.
    read: LatestRead<PluginFile>,
}

impl PluginHost {
    /// Sets the configuration for the plugin's next load, which follows.
    pub(super) fn configure(&mut self, name: PluginName, file: ConfigurationFile) {
        let beside = self.configuration.beside.entry(name.clone()).or_default();
        let sidecar = match file {
            ConfigurationFile::Read(file) => match beside.read.changed(file) {
                Some(file) => return self.read_configuration(name, file),
                None => return,
            },
            ConfigurationFile::Gone => None,
            ConfigurationFile::Unreadable(problem) => Some(Sidecar::unusable(&name, problem)),
        };
        beside.read.gone();
        beside.sidecar = sidecar.map(Box::new);
        self.follow_settings(&name);
        self.forget_absent(&name);
    }

    fn read_configuration(&mut self, name: PluginName, file: PluginFile) {
        let (steps, of) = (self.configuration.steps.clone(), name.clone());
        self.loads.spawn_configuration(name, async move {
            let named = of.clone();
            let read = move || Sidecar::read(&named, file.content.as_deref().unwrap_or_default());
            let read = steps.run(read).await;
            read.unwrap_or_else(|error| Sidecar::unusable(&of, &error.to_string()))
        });
    }

    /// The file beside the plugin's was read.
    pub(super) fn configured(&mut self, name: &PluginName, sidecar: Box<Sidecar>) {
        let Some(beside) = self.configuration.beside.get_mut(name) else { return };
        match beside.read.ended() {
            AfterRead::Take => beside.sidecar = Some(sidecar),
            AfterRead::Drop => return self.forget_absent(name),
            AfterRead::Read(file) => return self.read_configuration(name.clone(), file),
        }
        self.follow_settings(name);
        self.load_next(name);
    }

    /// Forgets a file that is gone, once no step reads it.
    fn forget_absent(&mut self, name: &PluginName) {
        let beside = self.configuration.beside.get(name);
        if beside.is_some_and(|beside| beside.sidecar.is_none() && beside.read.is_none()) {
            self.configuration.beside.remove(name);
        }
    }

    /// Restricts the plugin to its new settings. An unusable configuration changes nothing: the next load reports its
    /// problem. While a newer file beside the plugin's is being read, the earlier file counts: a file that changes
    /// again and again does not delay a revocation by the host's own configuration.
    pub(super) fn follow_settings(&mut self, name: &PluginName) {
        let Ok(settings) = self.configuration.settings(name) else { return };
        if let Some(plugin) = self.plugins.get_mut(name) {
            plugin.set_settings(name, settings);
        }
    }

    /// The settings for a load that begins now. While the file beside the plugin's is being read, the earlier file
    /// counts: the version is prepared again after the read.
    pub(super) fn settings_of_load(
        &mut self,
        name: &PluginName,
    ) -> Result<Arc<PluginSettings>, ConfigurationError> {
        if self.configuration.is_being_read(name) {
            let known = self.plugins.get(name).and_then(|plugin| plugin.settings());
            let problem = "it is being read; the plugin is loaded once that is done";
            let file = format!("{name}.yaml");
            let unknown = || ConfigurationError::new(&file, 0, "", problem.to_owned());
            return known.cloned().ok_or_else(unknown);
        }
        let settings = self.configuration.settings(name)?;
        if let Some(plugin) = self.plugins.get_mut(name) {
            plugin.set_settings(name, settings.clone());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Invariant 40.
    #[test]
    fn a_file_that_is_read_delays_no_revocation() {
        let of_host = Arc::new(Configurations::default());
        let (_sender, receiver) = watch::channel(of_host);
        let mut read = ReadConfigurations::new(receiver);
        let name: PluginName = "a".parse().expect("a name");
        let config = |read: &ReadConfigurations| {
            let settings = read.settings(&name).expect("it can be used");
            settings.config.to_vec()
        };
        let awaits = |sidecar| Beside { sidecar, read: LatestRead::UnderWay };
        read.beside.insert(name.clone(), awaits(None));
        assert_eq!(config(&read), b"{}", "there was no file");
        let text = b"apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\nconfig: 7\n";
        let sidecar = Box::new(Sidecar::read(&name, text));
        read.beside.insert(name.clone(), awaits(Some(sidecar)));
        assert_eq!(config(&read), b"7", "the file before counts");
        assert!(read.is_being_read(&name));
    }
}
