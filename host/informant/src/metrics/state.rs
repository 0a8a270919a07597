//! What outlives the host: plugins' own state, what is kept of each plugin, and how the state directory is doing.

use super::{Snapshot, counters, gauges, name};
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

impl Snapshot {
    pub(super) fn encode_state(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        gauges(
            encoder,
            "informant_plugin_state_bytes",
            "Keys and values that the plugin keeps in its state",
            self.plugin_gauge(|plugin| plugin.state_size.1 as f64),
        )?;
        gauges(
            encoder,
            "informant_plugin_state_keys",
            "Keys that the plugin keeps in its state",
            self.plugin_gauge(|plugin| plugin.state_size.0 as f64),
        )?;
        match &self.state_directory {
            Some(_) => self.encode_state_directory(encoder),
            None => Ok(()),
        }
    }

    fn encode_state_directory(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let kept = || self.plugins.iter().filter_map(|plugin| Some((plugin, plugin.kept?)));
        gauges(
            encoder,
            "informant_plugin_kept_retries",
            "Waiting retries on the disk, which outlive a host that is killed",
            kept().map(|(plugin, kept)| (vec![name(plugin)], kept.retries as f64)),
        )?;
        gauges(
            encoder,
            "informant_plugin_kept_dead_letters",
            "Dead letters on the disk, which outlive a host that is killed",
            kept().map(|(plugin, kept)| (vec![name(plugin)], kept.dead_letters as f64)),
        )?;
        gauges(
            encoder,
            "informant_plugin_kept_retry_bytes",
            "Bytes of the waiting retries that outlive the host",
            kept().map(|(plugin, kept)| (vec![name(plugin)], kept.retries_bytes as f64)),
        )?;
        counters(
            encoder,
            "informant_plugin_retries_not_kept",
            "Failed attempts whose retry does not outlive the host, because too much is kept already",
            kept().map(|(plugin, kept)| (vec![name(plugin)], kept.unkept)),
        )?;
        let Some(status) = &self.state_directory else { return Ok(()) };
        let results =
            [("ok", status.written), ("failed", status.failed), ("refused", status.refused)];
        counters(
            encoder,
            "informant_state_directory_writes",
            "Transactions written, and failed, which are tried again; changes refused because nothing is written any more",
            results.into_iter().map(|(result, n)| (vec![("result", result)], n)),
        )?;
        gauges(
            encoder,
            "informant_state_directory_waiting_bytes",
            "Bytes of what waits to be written",
            [(vec![], status.waiting_bytes as f64)].into_iter(),
        )
    }
}
