//! What plugins' calls wait for, and what they call themselves.

use super::{Snapshot, counters, gauges, name};
use informant_runtime::PluginStatus;
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

impl Snapshot {
    pub(super) fn encode_calls(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        gauges(
            encoder,
            "informant_plugin_rate_limited",
            "Whether events wait for nothing but the rate at which the plugin is to be called",
            self.plugin_gauge(|plugin| f64::from(u8::from(plugin.queue.is_rate_limited))),
        )?;
        gauges(
            encoder,
            "informant_plugin_shards",
            "Instances that the plugin runs in",
            self.plugin_gauge(|plugin| plugin.shards.len() as f64),
        )?;
        gauges(
            encoder,
            "informant_plugin_shards_lost",
            "Those that ended and are not replaced yet",
            self.plugin_gauge(|plugin| {
                plugin.shards.iter().filter(|shard| shard.is_lost).count() as f64
            }),
        )?;
        let seconds = |plugin: &PluginStatus| {
            plugin.counters.host_call_nanoseconds.load(Relaxed) as f64 / 1e9
        };
        counters(
            encoder,
            "informant_plugin_host_call_seconds",
            "Time by the clock in the host's functions that the plugin called",
            self.plugins.iter().map(|plugin| (vec![name(plugin)], seconds(plugin))),
        )
    }
}
