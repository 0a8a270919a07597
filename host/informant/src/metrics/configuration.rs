//! How the host's own configuration file is doing.

use super::{Snapshot, counters, gauges};
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

impl Snapshot {
    pub(super) fn encode_configuration(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let is_in_force = self.configuration.problem().is_none();
        gauges(
            encoder,
            "informant_configuration_in_force",
            "Whether what the host's own configuration file says now is in force, and not what it said before",
            [(vec![], f64::from(u8::from(is_in_force)))].into_iter(),
        )?;
        let results = [
            ("ok", self.configuration.taken.load(Relaxed)),
            ("failed", self.configuration.refused.load(Relaxed)),
        ];
        counters(
            encoder,
            "informant_configuration_reloads",
            "Times that the host's own configuration file said something else, by whether that could be used",
            results.into_iter().map(|(result, n)| (vec![("result", result)], n)),
        )
    }
}
