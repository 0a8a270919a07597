//! What was measured, and medians of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contender::Contender;

/// One number of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Seconds from the start until every pod was handled.
    SyncSeconds,
    /// Processor seconds by then, start of the program included.
    SyncCpu,
    /// The most resident bytes by then.
    SyncPeak,
    /// Resident bytes some seconds later.
    Settled,
    /// The same after the garbage collector was told to give everything back; only where there is one.
    Released,
    /// Processor seconds an update at a steady rate.
    PacedCpu,
    /// Latencies at 1,000 updates a second, in seconds.
    LatencyP50,
    /// The same.
    LatencyP90,
    /// The same.
    LatencyP99,
    /// The same.
    LatencyMax,
    /// Processor seconds an update in a burst.
    BurstCpu,
    /// Updates handled a second in a burst.
    BurstRate,
    /// Share of the burst's updates that were merged into others, of 1.
    BurstCoalesced,
    /// The highest rate of a ladder at which every update is delivered and none waits longer than a moment.
    Sustained,
    /// Resident bytes after all those updates.
    AfterUpdates,
    /// The most resident bytes while everything is listed again.
    RelistPeak,
    /// Resident bytes some seconds after that.
    RelistSettled,
    /// The longest that an update waited while the plugin was replaced, in seconds.
    ReloadWait,
}

/// One contender's numbers of one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Who.
    pub contender: Contender,
    /// How many pods there were.
    pub pods: u32,
    /// How many handlers followed them.
    pub handlers: u32,
    /// The numbers that were taken.
    pub metrics: BTreeMap<Metric, f64>,
}

/// All runs of all rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// In the order in which they were made.
    pub runs: Vec<Run>,
}

impl Results {
    /// The median of a number over the rounds, if it was taken at all.
    pub fn median(
        &self,
        contender: Contender,
        pods: u32,
        handlers: u32,
        metric: Metric,
    ) -> Option<f64> {
        let same =
            |run: &&Run| (run.contender, run.pods, run.handlers) == (contender, pods, handlers);
        let values = self.runs.iter().filter(same);
        median(values.filter_map(|run| run.metrics.get(&metric).copied()).collect())
    }

    /// What each pod adds to a number: the slope between a run with few pods and one with many.
    pub fn per_pod(
        &self,
        contender: Contender,
        few: u32,
        many: u32,
        metric: Metric,
    ) -> Option<f64> {
        let [at_few, at_many] = [few, many].map(|pods| self.median(contender, pods, 1, metric));
        let pods = many.checked_sub(few).filter(|pods| *pods > 0)?;
        Some((at_many? - at_few?) / f64::from(pods))
    }

    /// How many runs there are of this kind.
    pub fn rounds(&self, contender: Contender, pods: u32, handlers: u32) -> usize {
        let same =
            |run: &&Run| (run.contender, run.pods, run.handlers) == (contender, pods, handlers);
        self.runs.iter().filter(same).count()
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// The value below which this share of the sorted values lies.
pub fn percentile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(pods: u32, settled: f64) -> Run {
        let metrics = BTreeMap::from([(Metric::Settled, settled)]);
        Run { contender: Contender::KubeRs, pods, handlers: 1, metrics }
    }

    #[test]
    fn slope_is_of_the_medians() {
        let runs = vec![run(100, 1e6), run(1_100, 9e6), run(1_100, 3e6), run(1_100, 2e6)];
        let results = Results { runs };
        let slope = results.per_pod(Contender::KubeRs, 100, 1_100, Metric::Settled);
        assert_eq!(slope, Some(2_000.0));
        assert_eq!(results.per_pod(Contender::KubeRs, 100, 1_100, Metric::SyncCpu), None);
        assert_eq!(results.per_pod(Contender::Informant, 100, 1_100, Metric::Settled), None);
    }

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let check = |share: f64, expect: Option<u32>| {
            let values: Vec<u32> = (1..=100).collect();
            assert_eq!(percentile(&values, share), expect, "{share}");
        };
        check(0.5, Some(50));
        check(0.99, Some(99));
        check(1.0, Some(100));
        check(0.0, Some(1));
        assert_eq!(percentile::<u32>(&[], 0.5), None);
    }
}
