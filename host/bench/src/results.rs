//! What was measured, and medians of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contender::Contender;
use crate::subject::Subject;

/// A run is disturbed if the machine's host took more than this share of its time.
pub const STOLEN_MAX: f64 = 0.02;

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
    /// Latencies at 100 updates a second, in seconds.
    SlowP50,
    /// The same.
    SlowP90,
    /// The same.
    SlowP99,
    /// Latencies at 5,000 updates a second, in seconds.
    FastP50,
    /// The same.
    FastP90,
    /// The same.
    FastP99,
    /// Latencies at 1,000 updates a second, in seconds.
    LatencyP50,
    /// The same.
    LatencyP90,
    /// The same.
    LatencyP99,
    /// The same.
    LatencyMax,
    /// Share of the processors' time that the machine's host took meanwhile, of 1.
    LatencyStolen,
    /// The same share over the whole run.
    Stolen,
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
    /// The most resident bytes while everything is listed again and nothing has changed, and for some seconds after that.
    RelistPeak,
    /// Resident bytes then.
    RelistSettled,
    /// As `RelistPeak` where a tenth of the pods has changed meanwhile.
    RelistChangedPeak,
    /// Resident bytes some seconds after that.
    RelistChangedSettled,
    /// Threads of the process.
    Threads,
    /// Seconds from the start of the program until all plugins run.
    AllRun,
    /// Seconds from a plugin's new file to the first call of its code, the 99th percentile.
    ReplacedWithin,
    /// The longest time between two calls of that plugin meanwhile, in seconds, the 99th percentile.
    ReplacedGap,
    /// Objects in the host's cache.
    CachedObjects,
    /// Objects of first lists that the server has sent.
    SentObjects,
    /// The longest that an update waited while the plugin was replaced, in seconds.
    ReloadWait,
    /// Resident bytes that idle plugins added, all together. Shared pages count once.
    IdlePlugins,
    /// Bytes of their compiled code, as it is kept in a file.
    IdleCode,
    /// Resident bytes that were left of them when they had gone. Shared pages count once.
    IdleLeft,
}

/// One contender's numbers of one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Who.
    pub contender: Contender,
    /// What of it.
    #[serde(default)]
    pub subject: Subject,
    /// How many pods there were.
    pub pods: u32,
    /// How many handlers followed them.
    pub handlers: u32,
    /// The numbers that were taken.
    pub metrics: BTreeMap<Metric, f64>,
    /// Of a reload: the longest latency of each [`SERIES_UPDATES`] updates, in seconds, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<f64>,
}

/// Updates that one number of a series stands for.
pub const SERIES_UPDATES: usize = 25;

impl Run {
    /// The share of the processors' time that the machine's host took meanwhile.
    pub fn stolen(&self) -> f64 {
        self.metrics.get(&Metric::Stolen).copied().unwrap_or_default()
    }
}

/// All runs of all rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// In the order in which they were made.
    pub runs: Vec<Run>,
    /// What a reader has to know of how they were made, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Results {
    /// The median of a number over the rounds, if it was taken at all.
    ///
    /// Rounds that the machine's host has disturbed do not count where one was not, or one less.
    pub fn median(
        &self,
        contender: Contender,
        pods: u32,
        handlers: u32,
        metric: Metric,
    ) -> Option<f64> {
        let same = is_of(contender, pods, handlers);
        median(self.undisturbed(same, metric).map(|(_, value)| value).collect())
    }

    /// The same of the host's run of a subject that has one size.
    pub fn median_of(&self, subject: Subject, metric: Metric) -> Option<f64> {
        let values = self.undisturbed(move |run| run.subject == subject, metric);
        median(values.map(|(_, value)| value).collect())
    }

    /// The same where the subject has several sizes.
    pub fn median_sized(
        &self,
        subject: Subject,
        (handlers, pods): (u32, u32),
        metric: Metric,
    ) -> Option<f64> {
        let wanted = (subject, handlers, pods);
        let same = move |run: &Run| (run.subject, run.handlers, run.pods) == wanted;
        median(self.undisturbed(same, metric).map(|(_, value)| value).collect())
    }

    /// The same of any contender, where the subject has several numbers of handlers.
    pub fn median_of_crowd(
        &self,
        subject: Subject,
        contender: Contender,
        handlers: u32,
        metric: Metric,
    ) -> Option<f64> {
        let wanted = (subject, contender, handlers);
        let same = move |run: &Run| (run.subject, run.contender, run.handlers) == wanted;
        median(self.undisturbed(same, metric).map(|(_, value)| value).collect())
    }

    /// The run of a subject in which a number was highest, with that number.
    pub fn highest(&self, subject: Subject, metric: Metric) -> Option<(&Run, f64)> {
        let runs = self.undisturbed(move |run| run.subject == subject, metric);
        runs.max_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// Runs and their numbers, without those that were disturbed where there is a better one.
    fn undisturbed(
        &self,
        is_wanted: impl Fn(&Run) -> bool,
        metric: Metric,
    ) -> impl Iterator<Item = (&Run, f64)> {
        let runs = self.runs.iter().filter(|run| is_wanted(run));
        let runs: Vec<_> = runs.filter_map(|run| Some((run, *run.metrics.get(&metric)?))).collect();
        let least = runs.iter().map(|(run, _)| run.stolen()).min_by(f64::total_cmp);
        let most = least.unwrap_or_default().max(STOLEN_MAX);
        runs.into_iter().filter(move |(run, _)| run.stolen() <= most)
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

    /// What idle plugins of a kind cost, where it was measured.
    pub fn idle(&self, subject: Subject) -> Option<Idle> {
        let plugins = self.runs.iter().find(|run| run.subject == subject)?.handlers;
        let of = |metric| self.median_of(subject, metric);
        Some(Idle {
            plugins,
            bytes: of(Metric::IdlePlugins)?,
            code: of(Metric::IdleCode)?,
            left: of(Metric::IdleLeft)?,
        })
    }

    /// How many runs there are of this kind.
    pub fn rounds(&self, contender: Contender, pods: u32, handlers: u32) -> usize {
        self.runs.iter().filter(|run| is_of(contender, pods, handlers)(run)).count()
    }
}

fn is_of(contender: Contender, pods: u32, handlers: u32) -> impl Fn(&Run) -> bool {
    let wanted = (contender, Subject::Pods, pods, handlers);
    move |run| (run.contender, run.subject, run.pods, run.handlers) == wanted
}

/// Plugins with nothing to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    /// How many.
    pub plugins: u32,
    /// Resident bytes that they added, all together.
    pub bytes: f64,
    /// Bytes of their compiled code.
    pub code: f64,
    /// Resident bytes that were left when they had gone.
    pub left: f64,
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
        let (contender, subject) = (Contender::KubeRs, Subject::Pods);
        Run { contender, subject, pods, handlers: 1, metrics, series: Vec::new() }
    }

    #[test]
    fn slope_is_of_the_medians() {
        let runs = vec![run(100, 1e6), run(1_100, 9e6), run(1_100, 3e6), run(1_100, 2e6)];
        let results = Results { runs, notes: Vec::new() };
        let slope = results.per_pod(Contender::KubeRs, 100, 1_100, Metric::Settled);
        assert_eq!(slope, Some(2_000.0));
        assert_eq!(results.per_pod(Contender::KubeRs, 100, 1_100, Metric::SyncCpu), None);
        assert_eq!(results.per_pod(Contender::Informant, 100, 1_100, Metric::Settled), None);
    }

    #[test]
    fn rounds_that_were_disturbed_count_only_where_there_is_no_better_one() {
        let check = |rounds: &[(f64, f64)], expect: f64| {
            let runs = rounds.iter().map(|(stolen, settled)| {
                let mut run = run(100, *settled);
                run.metrics.insert(Metric::Stolen, *stolen);
                run
            });
            let results = Results { runs: runs.collect(), notes: Vec::new() };
            let median = results.median(Contender::KubeRs, 100, 1, Metric::Settled);
            assert_eq!(median, Some(expect), "{rounds:?}");
        };
        check(&[(0.0, 1.0), (0.02, 2.0), (0.01, 4.0)], 2.0);
        check(&[(0.0, 1.0), (0.3, 9.0), (0.01, 3.0)], 2.0);
        check(&[(0.4, 7.0), (0.3, 9.0), (0.03, 3.0)], 3.0);
    }

    #[test]
    fn what_was_taken_of_another_subject_does_not_count() {
        let of = |subject, bytes, stolen| {
            let metrics =
                [(Metric::Settled, bytes), (Metric::IdlePlugins, bytes), (Metric::Stolen, stolen)];
            Run { subject, metrics: metrics.into(), ..run(100, bytes) }
        };
        let runs = vec![
            of(Subject::Pods, 1.0, 0.0),
            of(Subject::IdleRust, 8.0, 0.01),
            of(Subject::IdleRust, 6.0, 0.0),
            of(Subject::IdleRust, 99.0, 0.5),
            of(Subject::IdleC, 3.0, 0.5),
        ];
        let results = Results { runs, notes: Vec::new() };
        assert_eq!(results.median(Contender::KubeRs, 100, 1, Metric::Settled), Some(1.0));
        assert_eq!(results.median_of(Subject::IdleRust, Metric::IdlePlugins), Some(7.0));
        let highest = |subject| results.highest(subject, Metric::IdlePlugins);
        assert_eq!(highest(Subject::IdleRust).map(|(_, value)| value), Some(8.0));
        assert_eq!(highest(Subject::IdleC).map(|(_, value)| value), Some(3.0));
        assert_eq!(highest(Subject::Reload), None);
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
