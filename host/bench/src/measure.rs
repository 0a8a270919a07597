//! One contender, measured from its start to its end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use informant_e2e::poll;

use crate::contender::{Contender, Handled, Programs, Purpose, Running};
use crate::load::Load;
use crate::results::{Metric, Run, percentile};
use crate::stolen::ProcessorTime;
use informant_e2e::process_stats::{cpu, forget_peak, peak, resident};

/// A hundred thousand pods in the slowest of them, on a machine that does something else, too.
const SYNC_DEADLINE: Duration = Duration::from_secs(240);
/// The rate at which latencies are taken, a second.
const LATENCY_RATE: u32 = 1_000;
/// Latencies are taken again, so often in all, while more than this share of the machine's time was stolen: the calmest try counts.
const CALM_TRIES: usize = 5;
const STOLEN_MAX: f64 = 0.01;
/// The steady rate at which processor time is taken, a second.
const PACED_RATE: u32 = 5_000;
/// Rates that are tried one after the other, a second.
const LADDER: &[u32] = &[
    250, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 12_500, 15_000, 17_500,
    20_000, 25_000, 30_000, 35_000, 40_000, 45_000, 50_000, 60_000, 70_000, 80_000, 100_000,
];
/// How often a plugin is replaced in a run.
const RELOADS: u32 = 3;
/// How long after the last update of a rate the last one may be handled.
const BACKLOG_MAX: Duration = Duration::from_millis(500);

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Before memory counts as settled.
    pub settle: Duration,
    /// At 1,000 a second.
    pub latency: Duration,
    /// At 5,000 a second.
    pub paced: Duration,
    /// Updates of the burst; 0 leaves out everything after it, too.
    pub burst: u64,
    /// For each rate of the ladder.
    pub rung: Duration,
}

/// The world that contenders are measured in.
pub struct Bench {
    /// Plays the cluster.
    pub load: Load,
    /// What was built.
    pub programs: Programs,
}

struct Measuring<'b> {
    load: &'b Load,
    running: Running,
    handlers: u64,
    metrics: BTreeMap<Metric, f64>,
}

impl Bench {
    /// Everything of one contender that the plan names.
    pub async fn run(&self, contender: Contender, pods: u32, plan: &Plan) -> anyhow::Result<Run> {
        let begin = ProcessorTime::now()?;
        let mut measuring = self.start(contender, Purpose::Count, pods, 1).await?;
        measuring.settled(plan.settle, Metric::Settled).await?;
        if contender.is_go() {
            measuring.running.release()?;
            measuring.settled(Duration::from_millis(500), Metric::Released).await?;
        }
        if contender == Contender::Process && plan.burst > 0 {
            measuring.latency(plan.latency / 4, LATENCY_RATE / 10).await?;
            measuring.climb(plan.rung, 0.0).await?;
        } else if plan.burst > 0 {
            measuring.paced(plan.paced).await?;
            if contender != Contender::Informant {
                measuring.latency(plan.latency, LATENCY_RATE).await?;
            }
            let rate = measuring.burst(plan.burst).await?;
            measuring.climb(plan.rung, rate).await?;
            measuring.settled(plan.settle, Metric::AfterUpdates).await?;
            measuring.relist(plan.settle).await?;
        }
        let mut metrics = measuring.metrics;
        drop(measuring.running);
        if contender == Contender::Informant && plan.burst > 0 {
            let mut measuring = self.start(contender, Purpose::Latency, pods, 1).await?;
            measuring.latency(plan.latency, LATENCY_RATE).await?;
            let of_latency = measuring.metrics.into_iter();
            metrics.extend(of_latency.filter(|(metric, _)| is_latency(*metric)));
        }
        metrics.insert(Metric::Stolen, ProcessorTime::now()?.stolen_since(begin));
        Ok(Run { contender, pods, handlers: 1, metrics })
    }

    /// Only what several handlers of one informer cost.
    pub async fn fan_out(
        &self,
        contender: Contender,
        pods: u32,
        handlers: u32,
        plan: &Plan,
    ) -> anyhow::Result<Run> {
        let all = usize::try_from(handlers)?;
        let mut measuring = self.start(contender, Purpose::Count, pods, all).await?;
        measuring.settled(plan.settle, Metric::Settled).await?;
        measuring.paced_at(LATENCY_RATE, plan.paced).await?;
        Ok(Run { contender, pods, handlers, metrics: measuring.metrics })
    }

    /// What a version that replaces another does to the events meanwhile: none is lost, and the longest wait is told.
    pub async fn reload(&self, pods: u32, plan: &Plan) -> anyhow::Result<Run> {
        let contender = Contender::Informant;
        let mut measuring = self.start(contender, Purpose::Latency, pods, 1).await?;
        let before = measuring.running.handled()?;
        let load = &self.load;
        let pause = plan.latency / (RELOADS + 1);
        std::thread::scope(|scope| {
            let updates = scope.spawn(|| load.rate(LATENCY_RATE, plan.latency));
            for version in 0..RELOADS {
                std::thread::sleep(pause);
                measuring.running.replace_plugin(version as u8)?;
            }
            updates.join().expect("it does not panic")
        })?;
        let updates = updates_of(LATENCY_RATE, plan.latency);
        measuring.drained(before, updates, SYNC_DEADLINE).await?;
        let latencies = measuring.running.latencies(updates).await?;
        let longest = latencies.into_iter().max().context("no latencies")?;
        let metrics = BTreeMap::from([(Metric::ReloadWait, longest.as_secs_f64())]);
        Ok(Run { contender, pods, handlers: 1, metrics })
    }

    /// Starts a contender and waits until every handler has seen every pod.
    async fn start(
        &self,
        contender: Contender,
        purpose: Purpose,
        pods: u32,
        handlers: usize,
    ) -> anyhow::Result<Measuring<'_>> {
        self.load.pods(pods)?;
        let begin = Instant::now();
        let kubeconfig = self.load.kubeconfig();
        let started = Running::start(contender, purpose, handlers, kubeconfig, &self.programs);
        let running = started.await?;
        let handlers = handlers as u64;
        let mut measuring =
            Measuring { load: &self.load, running, handlers, metrics: BTreeMap::new() };
        // The guest that tells latencies is called for updates only.
        let counts = purpose == Purpose::Count && !(contender == Contender::KubeRs && handlers > 1);
        let events = if counts { handlers * u64::from(pods) } else { 0 };
        let what = format!("{} to sync {pods} pods", contender.title());
        let synced = |handled: Handled| handled.synced && handled.events >= events;
        measuring.until(&what, SYNC_DEADLINE, synced).await?;
        let process = measuring.running.id();
        measuring.note(Metric::SyncSeconds, begin.elapsed().as_secs_f64());
        measuring.note(Metric::SyncCpu, cpu(process)?.as_secs_f64());
        measuring.note(Metric::SyncPeak, peak(process)? as f64);
        Ok(measuring)
    }
}

fn is_latency(metric: Metric) -> bool {
    use Metric::{LatencyMax, LatencyP50, LatencyP90, LatencyP99, LatencyStolen};
    [LatencyP50, LatencyP90, LatencyP99, LatencyMax, LatencyStolen].contains(&metric)
}

impl Measuring<'_> {
    fn note(&mut self, metric: Metric, value: f64) {
        self.metrics.insert(metric, value);
    }

    async fn until(
        &mut self,
        what: &str,
        deadline: Duration,
        wanted: impl Fn(Handled) -> bool,
    ) -> anyhow::Result<Handled> {
        let mut last = Ok(Handled::default());
        let running = &mut self.running;
        let found = poll::until(what, deadline, async || {
            last = running.handled();
            match &last {
                Ok(handled) => wanted(*handled).then_some(*handled),
                Err(_) => None,
            }
        });
        let found = found.await;
        found.with_context(|| format!("the last that was seen: {last:?}"))
    }

    /// Waits until everything that the server has made since `before` is handled, or merged into what is.
    async fn drained(
        &mut self,
        before: Handled,
        updates: u64,
        deadline: Duration,
    ) -> anyhow::Result<Handled> {
        let expect = before.events + before.coalesced + updates * self.handlers;
        let what = format!("{updates} updates to be handled");
        self.until(&what, deadline, |now| now.events + now.coalesced >= expect).await
    }

    async fn settled(&mut self, wait: Duration, metric: Metric) -> anyhow::Result<()> {
        tokio::time::sleep(wait).await;
        let resident = resident(self.running.id())?;
        self.note(metric, resident as f64);
        Ok(())
    }

    async fn paced(&mut self, time: Duration) -> anyhow::Result<()> {
        self.paced_at(PACED_RATE, time).await
    }

    async fn paced_at(&mut self, rate: u32, time: Duration) -> anyhow::Result<()> {
        let before = self.running.handled()?;
        let cpu_before = cpu(self.running.id())?;
        let updates = updates_of(rate, time);
        self.load.rate(rate, time)?;
        let after = self.drained(before, updates, SYNC_DEADLINE).await?;
        let used = cpu(self.running.id())? - cpu_before;
        if after.coalesced == before.coalesced {
            self.note(Metric::PacedCpu, used.as_secs_f64() / updates as f64);
        }
        Ok(())
    }

    async fn latency(&mut self, time: Duration, rate: u32) -> anyhow::Result<()> {
        // The first ones find everything cold, which is nobody's latency at a steady rate.
        let before = self.running.handled()?;
        let warm = Duration::from_millis(500);
        self.load.rate(rate, warm)?;
        self.drained(before, updates_of(rate, warm), SYNC_DEADLINE).await?;
        let mut told = updates_of(rate, warm);
        let mut calmest: Option<(f64, Vec<Duration>)> = None;
        for _ in 0..CALM_TRIES {
            let begin = ProcessorTime::now()?;
            let latencies = self.latencies(rate, time, told).await?;
            let stolen = ProcessorTime::now()?.stolen_since(begin);
            told += latencies.len() as u64;
            if calmest.as_ref().is_none_or(|(least, _)| stolen < *least) {
                calmest = Some((stolen, latencies));
            }
            if stolen <= STOLEN_MAX {
                break;
            }
        }
        let (stolen, mut latencies) = calmest.context("no latencies")?;
        self.note(Metric::LatencyStolen, stolen);
        latencies.sort_unstable();
        for (metric, share) in [
            (Metric::LatencyP50, 0.5),
            (Metric::LatencyP90, 0.9),
            (Metric::LatencyP99, 0.99),
            (Metric::LatencyMax, 1.0),
        ] {
            let value = percentile(&latencies, share).context("no latencies")?;
            self.note(metric, value.as_secs_f64());
        }
        Ok(())
    }

    /// Takes latencies once; so many updates were told of before.
    async fn latencies(
        &mut self,
        rate: u32,
        time: Duration,
        told: u64,
    ) -> anyhow::Result<Vec<Duration>> {
        let told = if self.running.is_host() { told } else { 0 };
        self.running.record()?;
        let before = self.running.handled()?;
        let updates = updates_of(rate, time);
        self.load.rate(rate, time)?;
        self.drained(before, updates, SYNC_DEADLINE).await?;
        Ok(self.running.latencies(updates + told).await?.split_off(told as usize))
    }

    /// Answers how many updates a second were handled.
    async fn burst(&mut self, updates: u64) -> anyhow::Result<f64> {
        let before = self.running.handled()?;
        let cpu_before = cpu(self.running.id())?;
        let begin = Instant::now();
        self.load.burst(updates)?;
        let after = self.drained(before, updates, SYNC_DEADLINE).await?;
        let rate = updates as f64 / begin.elapsed().as_secs_f64();
        let used = cpu(self.running.id())? - cpu_before;
        let coalesced = (after.coalesced - before.coalesced) as f64 / updates as f64;
        self.note(Metric::BurstCpu, used.as_secs_f64() / updates as f64);
        self.note(Metric::BurstRate, rate);
        self.note(Metric::BurstCoalesced, coalesced);
        Ok(rate)
    }

    /// Tries rates from half of what a burst reached upwards, until one is too much.
    async fn climb(&mut self, time: Duration, burst_rate: f64) -> anyhow::Result<()> {
        let first = LADDER.iter().rposition(|rate| f64::from(*rate) <= burst_rate / 2.0);
        let mut best = None;
        for rate in &LADDER[first.unwrap_or(0)..] {
            if !self.keeps_up(*rate, time).await? {
                break;
            }
            best = Some(f64::from(*rate));
        }
        if let Some(best) = best {
            self.note(Metric::Sustained, best);
        }
        Ok(())
    }

    async fn keeps_up(&mut self, rate: u32, time: Duration) -> anyhow::Result<bool> {
        let before = self.running.handled()?;
        let begin = Instant::now();
        self.load.rate(rate, time)?;
        let after = self.drained(before, updates_of(rate, time), SYNC_DEADLINE).await?;
        let in_time = begin.elapsed() <= time + BACKLOG_MAX;
        Ok(in_time && after.coalesced == before.coalesced)
    }

    async fn relist(&mut self, settle: Duration) -> anyhow::Result<()> {
        let process = self.running.id();
        forget_peak(process)?;
        let before = self.load.report()?.initial_states;
        self.load.expire()?;
        let load = self.load;
        let listed = async || {
            let report = load.report().ok()?;
            (report.initial_states > before).then_some(())
        };
        poll::until("everything to be listed again", SYNC_DEADLINE, listed).await?;
        // An update that is handled was sent after the list, and so is the list's end.
        let before = self.running.handled()?;
        self.load.burst(1)?;
        let handled = self.drained(before, 1, SYNC_DEADLINE).await?;
        ensure!(handled.synced, "it is not synced after a relist");
        self.note(Metric::RelistPeak, peak(process)? as f64);
        self.settled(settle, Metric::RelistSettled).await
    }
}

fn updates_of(rate: u32, time: Duration) -> u64 {
    (f64::from(rate) * time.as_secs_f64()).round() as u64
}
