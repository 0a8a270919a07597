//! Plugins' accounts: a series for each part that is not zero.

use super::{Snapshot, counters, gauges, name};
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

impl Snapshot {
    pub(super) fn encode_accounts(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let memory = self.plugins.iter().flat_map(|plugin| {
            let parts = plugin.account.memory.iter().filter(|(_, bytes)| *bytes > 0);
            parts.map(move |(part, bytes)| (vec![name(plugin), ("part", *part)], *bytes as f64))
        });
        gauges(
            encoder,
            "informant_plugin_account_bytes",
            "Memory that the host holds for the plugin, by part",
            memory,
        )?;
        let time = self.plugins.iter().flat_map(|plugin| {
            let parts = plugin.account.time.iter().filter(|(_, time)| !time.is_zero());
            parts.map(move |(part, time)| (vec![name(plugin), ("part", *part)], time.as_secs_f64()))
        });
        counters(
            encoder,
            "informant_plugin_account_seconds",
            "Time that the plugin took, and that the host took for it, by part",
            time,
        )?;
        counters(
            encoder,
            "informant_plugin_cpu_seconds",
            "Processor time of the plugin's calls, of the host functions in them and of its queue",
            self.plugins.iter().map(|it| (vec![name(it)], it.account.processor.as_secs_f64())),
        )?;
        let logs = self.plugins.iter().filter(|plugin| plugin.account.log_bytes > 0);
        counters(
            encoder,
            "informant_plugin_log_bytes",
            "Bytes of the plugin's lines in the log",
            logs.map(|plugin| (vec![name(plugin)], plugin.account.log_bytes)),
        )
    }
}
