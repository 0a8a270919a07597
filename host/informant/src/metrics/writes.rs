//! What plugins wrote to the cluster.

use super::{Snapshot, counters, histograms, name};
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

impl Snapshot {
    pub(super) fn encode_writes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let writes = self.plugins.iter().map(|plugin| (plugin, plugin.counters.cluster_writes()));
        let writes: Vec<_> = writes.collect();
        counters(
            encoder,
            "informant_plugin_cluster_writes",
            "Writes to the cluster that the plugin wanted to make, by verb, resource and what became of them",
            writes.iter().flat_map(|(plugin, writes)| {
                let writes = writes.iter();
                writes.map(|((verb, resource, result), n)| {
                    let resource: &str = resource;
                    let labels = vec![
                        name(plugin),
                        ("verb", *verb),
                        ("resource", resource),
                        ("result", *result),
                    ];
                    (labels, *n)
                })
            }),
        )?;
        histograms(
            encoder,
            "informant_plugin_cluster_write_seconds",
            "Time that the plugin waited for answers to them",
            self.plugins
                .iter()
                .map(|plugin| (vec![name(plugin)], &plugin.counters.cluster_write_seconds)),
        )?;
        counters(
            encoder,
            "informant_plugin_kubernetes_events",
            "Kubernetes Events that the plugin recorded, by what became of them",
            self.plugins.iter().flat_map(|plugin| {
                let counters = &plugin.counters;
                let results = [
                    ("written", counters.events_written.load(Relaxed)),
                    ("dropped", counters.events_dropped.load(Relaxed)),
                ];
                results.map(|(result, n)| (vec![name(plugin), ("result", result)], n))
            }),
        )
    }
}
