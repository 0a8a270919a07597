//! What the API server was asked of the service accounts that plugins act as, and what came of that.

use super::{Snapshot, counters, gauges};
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

impl Snapshot {
    pub(super) fn encode_access(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let results = [
            ("allowed", self.access.allowed.load(Relaxed)),
            ("denied", self.access.denied.load(Relaxed)),
            ("failed", self.access.failed.load(Relaxed)),
        ];
        counters(
            encoder,
            "informant_access_reviews",
            "Reviews of what service accounts may read, by what came of them",
            results.into_iter().map(|(result, n)| (vec![("result", result)], n)),
        )?;
        let asks = self.access.asks.load(Relaxed) as f64;
        gauges(
            encoder,
            "informant_access_permissions",
            "Resources in a namespace, or in all, that are reviewed for a service account again and again",
            [(vec![], asks)].into_iter(),
        )?;
        gauges(
            encoder,
            "informant_plugin_refused_reads",
            "Subscriptions and reads of the plugin that its service account may not list and watch, or is still asked about",
            self.plugin_gauge(|plugin| plugin.refused_reads() as f64),
        )
    }
}
