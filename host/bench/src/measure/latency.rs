//! Latencies at fixed rates, and while a plugin is replaced.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;

use super::{BACKLOG_MAX, Bench, Measuring, Plan, SYNC_DEADLINE, updates_of};
use crate::contender::Contender;
use crate::programs::Purpose;
use crate::results::{Metric, Run, SERIES_UPDATES, percentile};
use crate::stolen::ProcessorTime;
use crate::subject::Subject;

/// Latencies are taken again, so often in all, while more than this share of the machine's time was stolen: the calmest try counts.
const CALM_TRIES: usize = 5;
const STOLEN_MAX: f64 = 0.01;
/// How often a plugin is replaced in a run.
pub const RELOADS: u32 = 3;
/// The rate of updates meanwhile, a second.
pub const RELOAD_RATE: u32 = 1_000;
/// Before latencies count. The first ones find everything cold, which is nobody's latency at a steady rate.
const WARM: Duration = Duration::from_millis(500);

/// Where percentiles of one rate go.
pub struct LatencyRate {
    /// Updates a second.
    pub per_second: u32,
    /// The median, the 90th and the 99th percentile.
    pub percentiles: [Metric; 3],
    /// For what share of a plan's time latencies are taken.
    share: f64,
}

/// The rates at which latencies are taken, in this order.
pub const LATENCY_RATES: [LatencyRate; 3] = [
    LatencyRate {
        per_second: 100,
        percentiles: [Metric::SlowP50, Metric::SlowP90, Metric::SlowP99],
        share: 1.0,
    },
    LatencyRate {
        per_second: 1_000,
        percentiles: [Metric::LatencyP50, Metric::LatencyP90, Metric::LatencyP99],
        share: 1.0,
    },
    LatencyRate {
        per_second: 5_000,
        percentiles: [Metric::FastP50, Metric::FastP90, Metric::FastP99],
        share: 0.5,
    },
];

/// Whether a number is told by the host's plugin that tells latencies, and by no other.
pub(super) fn is_latency(metric: Metric) -> bool {
    let of_rates = LATENCY_RATES.iter().flat_map(|rate| rate.percentiles);
    of_rates.chain([Metric::LatencyMax, Metric::LatencyStolen]).any(|one| one == metric)
}

/// Latencies of one try.
struct Try {
    stolen: f64,
    latencies: Vec<Duration>,
    /// The last one was handled in time: none waited for ever more others.
    keeps_up: bool,
}

impl Measuring<'_> {
    /// At all rates, or at the slowest.
    pub(super) async fn latency(&mut self, time: Duration, all: bool) -> anyhow::Result<()> {
        for rate in &LATENCY_RATES[..if all { LATENCY_RATES.len() } else { 1 }] {
            self.latency_at(rate, time.mul_f64(rate.share)).await?;
        }
        Ok(())
    }

    /// Whoever does not keep up has no latency at that rate.
    async fn latency_at(&mut self, rate: &LatencyRate, time: Duration) -> anyhow::Result<()> {
        let before = self.running.handled()?;
        self.load.rate(rate.per_second, WARM)?;
        let warm = updates_of(rate.per_second, WARM);
        self.drained(before, warm, SYNC_DEADLINE).await?;
        self.told += warm;
        let mut calmest: Option<Try> = None;
        for _ in 0..CALM_TRIES {
            let tried = self.latencies(rate.per_second, time).await?;
            let stolen = tried.stolen;
            if calmest.as_ref().is_none_or(|calmest| stolen < calmest.stolen) {
                calmest = Some(tried);
            }
            if stolen <= STOLEN_MAX {
                break;
            }
        }
        let Try { stolen, mut latencies, keeps_up } = calmest.context("no latencies")?;
        if !keeps_up {
            return Ok(());
        }
        latencies.sort_unstable();
        for (metric, share) in rate.percentiles.into_iter().zip([0.5, 0.9, 0.99]) {
            let value = percentile(&latencies, share).context("no latencies")?;
            self.note(metric, value.as_secs_f64());
        }
        if rate.percentiles.contains(&Metric::LatencyP50) {
            self.note(Metric::LatencyMax, latencies.last().context("no latencies")?.as_secs_f64());
            self.note(Metric::LatencyStolen, stolen);
        }
        Ok(())
    }

    /// Takes latencies once.
    async fn latencies(&mut self, rate: u32, time: Duration) -> anyhow::Result<Try> {
        // The host tells of all updates since its start.
        let told = if self.running.is_host() { self.told } else { 0 };
        self.running.record()?;
        let begin = ProcessorTime::now()?;
        let before = self.running.handled()?;
        let updates = updates_of(rate, time);
        let took = self.paced_updates(rate, time, before).await?;
        let stolen = ProcessorTime::now()?.stolen_since(begin);
        self.told += updates;
        let latencies = self.running.latencies(updates + told).await?.split_off(told as usize);
        Ok(Try { stolen, latencies, keeps_up: took <= time + BACKLOG_MAX })
    }
}

impl Bench {
    /// What a version that replaces another does to the events meanwhile: none is lost, and the longest wait is told.
    pub async fn reload(&self, pods: u32, plan: &Plan) -> anyhow::Result<Run> {
        let contender = Contender::Informant;
        let begin = ProcessorTime::now()?;
        let mut measuring = self.start(contender, Purpose::Latency, pods).await?;
        let before = measuring.running.handled()?;
        let load = &self.load;
        let pause = plan.latency / (RELOADS + 1);
        std::thread::scope(|scope| {
            let updates = scope.spawn(|| load.rate(RELOAD_RATE, plan.latency));
            for version in 0..RELOADS {
                std::thread::sleep(pause);
                measuring.running.replace_plugin(version as u8)?;
            }
            updates.join().expect("it does not panic")
        })?;
        let updates = updates_of(RELOAD_RATE, plan.latency);
        measuring.drained(before, updates, SYNC_DEADLINE).await?;
        let latencies = measuring.running.latencies(updates).await?;
        let longest = latencies.iter().max().context("no latencies")?;
        let metrics = BTreeMap::from([
            (Metric::ReloadWait, longest.as_secs_f64()),
            (Metric::Stolen, ProcessorTime::now()?.stolen_since(begin)),
        ]);
        let longest = |some: &[Duration]| some.iter().max().map_or(0.0, Duration::as_secs_f64);
        let series = latencies.chunks(SERIES_UPDATES).map(longest).collect();
        Ok(Run { contender, subject: Subject::Reload, pods, handlers: 1, metrics, series })
    }
}
