//! One plugin's series for whoever writes the page: piece by piece, so that neither all of them are ever copied nor the plugin waits while they are
//! written.

use super::{MetricKind, MetricLabels, MetricValue, PluginMetrics};
use crate::plugin_name::PluginName;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;

/// Where a plugin's series are read.
#[derive(Debug)]
pub struct PluginSeries {
    plugin: PluginName,
    metrics: Arc<Mutex<PluginMetrics>>,
}

impl PluginSeries {
    /// What nobody has touched for long at `now` is gone.
    pub fn new(plugin: PluginName, metrics: Arc<Mutex<PluginMetrics>>, now: Instant) -> Self {
        metrics.lock().expire(now);
        Self { plugin, metrics }
    }

    /// Whose they are.
    pub fn plugin(&self) -> &PluginName {
        &self.plugin
    }

    /// The first name in order, or the one that comes after another; and what it is.
    pub fn name_after(&self, name: Option<&str>) -> Option<(Arc<str>, MetricKind)> {
        self.metrics.lock().name_after(name)
    }

    /// The next series of a name if it is of this kind: some of the first ones in order, or of those that come after another.
    pub fn series_after(
        &self,
        name: &str,
        kind: MetricKind,
        labels: Option<&MetricLabels>,
    ) -> Vec<(MetricLabels, MetricValue)> {
        self.metrics.lock().series_after(name, kind, labels)
    }
}
