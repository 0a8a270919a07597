//! What is shown of plugins' workqueues and schedules.

use super::{Snapshot, counters, gauges, histograms, name};
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

impl Snapshot {
    pub(super) fn encode_keys(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        counters(
            encoder,
            "informant_plugin_keys",
            "Keys by what became of them",
            self.plugins.iter().flat_map(|plugin| {
                let counters = &plugin.counters;
                let results = [
                    ("ok", counters.keys_ok.load(Relaxed)),
                    ("retry", counters.keys_retry.load(Relaxed)),
                    ("dead", counters.keys_dead.load(Relaxed)),
                    ("dropped", counters.keys_dropped.load(Relaxed)),
                ];
                results.map(|(result, n)| (vec![name(plugin), ("result", result)], n))
            }),
        )?;
        gauges(
            encoder,
            "informant_plugin_workqueue_keys",
            "Keys that wait, are delayed or have failed",
            self.plugin_gauge(|plugin| plugin.keys.keys as f64),
        )?;
        gauges(
            encoder,
            "informant_plugin_workqueue_bytes",
            "Bytes of their texts",
            self.plugin_gauge(|plugin| plugin.keys.bytes as f64),
        )?;
        gauges(
            encoder,
            "informant_plugin_workqueue_depth",
            "Keys that could be worked on now",
            self.plugin_gauge(|plugin| plugin.keys.depth as f64),
        )?;
        gauges(
            encoder,
            "informant_plugin_workqueue_age_seconds",
            "Time since the first of them was added",
            self.plugin_gauge(|plugin| {
                plugin.keys.oldest.map_or(0.0, |at| at.elapsed().as_secs_f64())
            }),
        )?;
        histograms(
            encoder,
            "informant_plugin_reconcile_seconds",
            "Time in the plugin's reconcile",
            self.plugins
                .iter()
                .map(|plugin| (vec![name(plugin)], &plugin.counters.reconcile_seconds)),
        )?;
        self.encode_schedules(encoder)
    }

    fn encode_schedules(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        counters(
            encoder,
            "informant_plugin_firings",
            "Moments of schedules by what became of them",
            self.plugins.iter().flat_map(|plugin| {
                let counters = &plugin.counters;
                let results = [
                    ("ok", counters.firings_ok.load(Relaxed)),
                    ("retry", counters.firings_retry.load(Relaxed)),
                    ("dead", counters.firings_dead.load(Relaxed)),
                ];
                results.map(|(result, n)| (vec![name(plugin), ("result", result)], n))
            }),
        )?;
        gauges(
            encoder,
            "informant_plugin_schedule_age_seconds",
            "Time since the first moment of a schedule that is still to be called for",
            self.plugin_gauge(|plugin| plugin.timers.age.as_secs_f64()),
        )?;
        histograms(
            encoder,
            "informant_plugin_fire_seconds",
            "Time in the plugin's fire",
            self.plugins.iter().map(|plugin| (vec![name(plugin)], &plugin.counters.fire_seconds)),
        )
    }
}
