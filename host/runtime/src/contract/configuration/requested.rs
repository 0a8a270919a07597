//! Grants of the requests in a descriptor, for plugins with an embedded cluster.

use super::http_grants::granting_http;
use super::layer::Layer;
use super::read_grants::granting;
use super::rules::GrantsOf;
use super::settings::PluginSettings;
use super::write_grants::granting_writes;
use super::{API_VERSION, ConfigurationError};
use crate::contract::descriptor::Descriptor;
use std::sync::Arc;

impl PluginSettings {
    /// The settings of a version with this descriptor. If the host grants requests, the rules that are too few have the
    /// lines that `informant plugin check` prints in their place, as lines of the host's own file.
    pub(crate) fn with_requests(
        self: &Arc<Self>,
        plugin: &str,
        descriptor: &Descriptor,
    ) -> Result<Arc<Self>, ConfigurationError> {
        if !self.grants_requests {
            return Ok(self.clone());
        }
        let (writes, http) = (&descriptor.writes, &descriptor.http);
        let lines = [
            self.grants.check(plugin, descriptor).err().map(|_| granting(descriptor)),
            self.writes.check(plugin, writes).err().map(|_| granting_writes(writes)),
            self.http.check(plugin, http).err().map(|_| granting_http(http)),
        ];
        let head = format!("apiVersion: {API_VERSION}\nkind: PluginConfiguration\n");
        let text = lines.iter().flatten().fold(head, |text, line| text + line + "\n");
        let layer = Layer::of_sidecar("the requests of the descriptor", text.as_bytes())?;
        let layers = [None, None, Some(&layer)];
        let mut with = (**self).clone();
        with.configured = Some(self.clone());
        if layer.reads.is_some() {
            with.grants = GrantsOf::new(layers, &[], |layer| layer.reads.as_ref());
        }
        if layer.writes.is_some() {
            with.writes = GrantsOf::new(layers, &[], |layer| layer.writes.as_ref());
        }
        if layer.http.is_some() {
            with.http = GrantsOf::new(layers, &[], |layer| layer.http.as_ref());
        }
        Ok(Arc::new(with))
    }

    /// Whether these are the configured settings, possibly with the requests of a descriptor in addition.
    pub(crate) fn is_configured_as(self: &Arc<Self>, configured: &Arc<Self>) -> bool {
        Arc::ptr_eq(self.configured.as_ref().unwrap_or(self), configured)
    }
}
