//! A host that does not lead yet: its plugins are compiled and have described themselves, and their
//! resources are synced. None of them runs.

use super::PluginHost;
use crate::contract::coverage;
use crate::namespace_labels::{namespaces, namespaces_scope};
use crate::plugin::lifecycle::Input;
use crate::plugin::loads::Load;
use crate::plugin::prepare::{Code, Prepared};
use crate::plugin::{Standby, Warm};
use crate::plugin_name::PluginName;
use jiff::Timestamp;
use tracing::info;

impl PluginHost {
    /// The version takes over when this host leads, unless another one is ready by then.
    pub(super) fn stand_by(&mut self, load: Load, prepared: Prepared) {
        let descriptor = &prepared.descriptor;
        let lease = |gvr: &_, scope| coverage::lease(&self.informers, gvr, scope);
        let Some(plugin) = self.plugins.get_mut(&load.name) else { return };
        let subscribed = descriptor.subscriptions.iter();
        let subscribed =
            subscribed.map(|spec| lease(&spec.resource, coverage::subscribed_scope(spec)));
        let read = descriptor.reads.iter();
        let read =
            read.map(|spec| lease(&spec.resource, coverage::watched_scope(&spec.namespaces)));
        // The standby version reads nothing: its indexes are filled and its permissions reviewed when it takes over.
        let labels = descriptor.needs_namespaces() || prepared.settings.writes.need_namespaces();
        let labels = labels.then(|| lease(&namespaces(), namespaces_scope()));
        let warm = Warm { _leases: subscribed.chain(read).chain(labels).collect() };
        self.informers.start();
        plugin.core.loaded(&load.sha256, Timestamp::now());
        let (name, sha256) = (load.name.clone(), load.short_hash());
        let version = &descriptor.version;
        info!(plugin = name.as_str(), sha256, version, "ready; it runs when this host leads");
        let text = format!("version {version} ({sha256}) is ready; it runs when this host leads");
        plugin.load = None;
        plugin.asked.loaded(&Ok(text));
        plugin.warm = Some(warm);
        plugin.standby = Some(Box::new(Standby { load, prepared }));
        self.load_next(&name);
        self.show_standby(&name);
    }

    /// From here on versions run.
    pub(super) fn lead(&mut self) {
        self.leads = true;
        info!(plugins = self.plugins.len(), "this host leads: its plugins run from here on");
        self.show_standbys();
    }

    /// Updates the shown state of all plugins: another host may lead now.
    pub(super) fn show_standbys(&mut self) {
        let names: Vec<PluginName> = self.plugins.keys().cloned().collect();
        for name in names {
            self.show_standby(&name);
        }
    }

    /// Shows that the plugin's standby version waits for the lead, or starts that version once this host leads. Does
    /// nothing during a load.
    pub(super) fn show_standby(&mut self, name: &PluginName) {
        let leads = self.leads;
        let Some(plugin) = self.plugins.get_mut(name).filter(|plugin| plugin.load.is_none()) else {
            return;
        };
        if !leads {
            if let Some(standby) = &plugin.standby {
                let version = &standby.prepared.descriptor.version;
                let elsewhere = self.leading.elsewhere();
                let reason = format!("version {version} is ready and on standby: {elsewhere}");
                plugin.core.apply([Input::Standby { reason }], Timestamp::now());
            }
            return;
        }
        let Some(standby) = plugin.standby.take() else {
            plugin.warm = None;
            return;
        };
        let Standby { load, prepared } = *standby;
        plugin.load = Some(load.number);
        plugin.core.apply([Input::FileChanged], Timestamp::now());
        match plugin.is_configured_as(&prepared) {
            true => self.take_over(load, prepared),
            false => self.prepare(load, Code::Compiled(prepared.template)),
        }
    }
}
