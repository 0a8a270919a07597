//! What plugins asked over HTTP.

use super::{Snapshot, counters, gauges, histograms, name};
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

impl Snapshot {
    pub(super) fn encode_http_out(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        counters(
            encoder,
            "informant_plugin_http_requests",
            "Requests over HTTP that the plugin wanted to make, by method and what became of them",
            self.plugins.iter().flat_map(|plugin| {
                let requests = plugin.counters.http_requests().into_iter();
                requests.map(|((method, result), n)| {
                    (vec![name(plugin), ("method", method), ("result", result)], n)
                })
            }),
        )?;
        gauges(
            encoder,
            "informant_plugin_http_rules",
            "Origins and paths that the plugin's rules for requests over HTTP name",
            self.plugins
                .iter()
                .filter_map(|plugin| Some((vec![name(plugin)], plugin.http_rules()? as f64))),
        )?;
        histograms(
            encoder,
            "informant_plugin_http_request_seconds",
            "Time that the plugin waited for answers to them, turns and redirects included",
            self.plugins
                .iter()
                .map(|plugin| (vec![name(plugin)], &plugin.counters.http_request_seconds)),
        )
    }
}
