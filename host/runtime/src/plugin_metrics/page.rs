//! One plugin's series for the page's writer, in pieces. So the series are never copied all at once, and the plugin
//! does not wait during the write.

use super::{MetricKind, MetricLabels, MetricValue, PluginMetrics};
use crate::plugin_name::PluginName;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;

/// The reader of a plugin's series.
#[derive(Debug)]
pub struct PluginSeries {
    plugin: PluginName,
    metrics: Arc<Mutex<PluginMetrics>>,
}

impl PluginSeries {
    /// A reader. Drops the series without a recent change at `now`.
    pub fn new(plugin: PluginName, metrics: Arc<Mutex<PluginMetrics>>, now: Instant) -> Self {
        metrics.lock().expire(now);
        Self { plugin, metrics }
    }

    /// The plugin of the series.
    pub fn plugin(&self) -> &PluginName {
        &self.plugin
    }

    /// The first name in order, or the next after another, with its kind.
    pub fn name_after(&self, name: Option<&str>) -> Option<(Arc<str>, MetricKind)> {
        self.metrics.lock().name_after(name)
    }

    /// The next series of a name of this kind: the first ones in order, or those after another.
    pub fn series_after(
        &self,
        name: &str,
        kind: MetricKind,
        labels: Option<&MetricLabels>,
    ) -> Vec<(MetricLabels, MetricValue)> {
        self.metrics.lock().series_after(name, kind, labels)
    }
}
