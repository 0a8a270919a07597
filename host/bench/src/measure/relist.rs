//! What listing everything again costs in memory.

use std::time::Duration;

use anyhow::ensure;
use informant_e2e::poll;
use informant_e2e::process_stats::{forget_peak, peak};

use super::{Measuring, SYNC_DEADLINE};
use crate::results::Metric;

/// The share of the pods that change unseen before one of the relists: one in so many.
pub const CHANGED: u64 = 10;

impl Measuring<'_> {
    /// Nothing has changed.
    pub(super) async fn relist(&mut self, settle: Duration) -> anyhow::Result<()> {
        self.relist_with(0, settle, [Metric::RelistPeak, Metric::RelistSettled]).await
    }

    /// A tenth of the pods has changed.
    pub(super) async fn relist_changed(
        &mut self,
        pods: u32,
        settle: Duration,
    ) -> anyhow::Result<()> {
        let numbers = [Metric::RelistChangedPeak, Metric::RelistChangedSettled];
        self.relist_with(u64::from(pods) / CHANGED, settle, numbers).await
    }

    async fn relist_with(
        &mut self,
        changed: u64,
        settle: Duration,
        [peaks, settled]: [Metric; 2],
    ) -> anyhow::Result<()> {
        let process = self.running.id();
        forget_peak(process)?;
        let states = self.load.report()?.initial_states;
        let before = self.running.handled()?;
        self.load.expire(changed)?;
        let load = self.load;
        let listed = async || {
            let report = load.report().ok()?;
            (report.initial_states > states).then_some(())
        };
        poll::measured("everything to be listed again", SYNC_DEADLINE, listed).await?;
        // An update that is handled was sent after the list, and so is the list's end. Others than the host tell handlers of all pods.
        self.load.burst(1)?;
        let handled = self.drained(before, changed + 1, SYNC_DEADLINE).await?;
        ensure!(handled.synced, "it is not synced after a relist");
        // Whoever is still busy with what was sent has its peak only now.
        self.settled(settle, settled).await?;
        self.note(peaks, peak(process)? as f64);
        Ok(())
    }
}
