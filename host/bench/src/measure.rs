//! One contender, measured from its start to its end.

mod crowd;
mod ladder;
mod latency;
mod relist;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use informant_e2e::poll;

use crate::contender::{Contender, Handled, Running};
use crate::load::Load;
use crate::programs::{Programs, Purpose};
use crate::results::{Metric, Run};
use crate::stolen::ProcessorTime;
use crate::subject::Subject;
pub(crate) use crowd::REPLACEMENTS;
use informant_e2e::process_stats::{cpu, peak, resident};
pub(crate) use ladder::overstated_max;
use latency::is_latency;
pub use latency::{LATENCY_RATES, LatencyRate, RELOAD_RATE, RELOADS};
pub use relist::CHANGED;

/// How often what has no rounds is measured.
pub(crate) const MEASURES: u32 = 2;
/// How often a plugin's reloads are: the longest wait of all counts.
pub(crate) const RELOAD_MEASURES: u32 = 3;
/// A hundred thousand pods in the slowest of them, on a machine that does something else, too.
const SYNC_DEADLINE: Duration = Duration::from_secs(240);
/// The steady rate at which processor time is taken, a second.
const PACED_RATE: u32 = 5_000;
/// How long after the last update of a rate the last one may be handled: small beside a rung of the ladder.
const BACKLOG_MAX: Duration = Duration::from_millis(150);
/// client-go over JSON takes its time, and gets one update in so many of a burst.
const SLOW_UPDATES_SHARE: u64 = 4;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Before memory counts as settled.
    pub settle: Duration,
    /// At 1,000 a second, with or without reloads; other rates have a share of it.
    pub latency: Duration,
    /// At 5,000 a second.
    pub paced: Duration,
    /// Updates of the burst; 0 leaves out everything that updates are needed for.
    pub burst: u64,
    /// Lists again after the first list where there is no burst.
    pub relists: bool,
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
    /// Those that are told of each update.
    handlers: u64,
    /// Updates of which a plugin that tells latencies has told.
    told: u64,
    metrics: BTreeMap<Metric, f64>,
}

impl Bench {
    /// Everything of one contender that the plan names.
    pub async fn run(&self, contender: Contender, pods: u32, plan: &Plan) -> anyhow::Result<Run> {
        let begin = ProcessorTime::now()?;
        let mut measuring = self.start(contender, Purpose::Count, pods).await?;
        measuring.settled(plan.settle, Metric::Settled).await?;
        if contender.is_go() {
            measuring.running.release()?;
            measuring.settled(Duration::from_millis(500), Metric::Released).await?;
        }
        match contender {
            _ if plan.burst == 0 => {
                if plan.relists && contender != Contender::Process {
                    measuring.relist_changed(pods, plan.settle).await?;
                }
            }
            Contender::Process => {
                measuring.latency(plan.latency / 2, false).await?;
                measuring.climb(plan.rung, 0.0).await?;
            }
            _ => measuring.updates(contender, pods, plan).await?,
        }
        let mut metrics = measuring.metrics;
        drop(measuring.running);
        if contender == Contender::Informant && plan.burst > 0 {
            let mut measuring = self.start(contender, Purpose::Latency, pods).await?;
            measuring.latency(plan.latency, true).await?;
            let of_latency = measuring.metrics.into_iter();
            metrics.extend(of_latency.filter(|(metric, _)| is_latency(*metric)));
        }
        metrics.insert(Metric::Stolen, ProcessorTime::now()?.stolen_since(begin));
        let subject = Subject::Pods;
        Ok(Run { contender, subject, pods, handlers: 1, metrics, series: Vec::new() })
    }

    /// One handler of a contender.
    async fn start(
        &self,
        contender: Contender,
        purpose: Purpose,
        pods: u32,
    ) -> anyhow::Result<Measuring<'_>> {
        self.start_on(&self.load, contender, purpose, (pods, 1)).await
    }

    /// Starts a contender and waits until every handler has seen every pod that it is told of.
    async fn start_on<'b>(
        &self,
        load: &'b Load,
        contender: Contender,
        purpose: Purpose,
        (pods, handlers): (u32, usize),
    ) -> anyhow::Result<Measuring<'b>> {
        load.pods(pods)?;
        let begin = Instant::now();
        let kubeconfig = load.kubeconfig();
        let started = Running::start(contender, purpose, handlers, kubeconfig, &self.programs);
        let running = started.await?;
        let (handlers, pods) = (handlers as u64, u64::from(pods));
        let (handlers, events) = match purpose {
            // The guest that tells latencies is called for updates only.
            Purpose::Latency => (handlers, 0),
            Purpose::Count => (handlers, handlers * pods),
            // Those that share a store are told of updates only.
            Purpose::Subscribe(subject) if contender == Contender::KubeRs => {
                (subject.told(handlers), 0)
            }
            Purpose::Subscribe(subject) => (subject.told(handlers), subject.listed(handlers, pods)),
        };
        let metrics = BTreeMap::new();
        let mut measuring = Measuring { load, running, handlers, told: 0, metrics };
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
        let found = poll::measured(what, deadline, async || {
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

    /// Everything that updates are needed for, but the host's latencies.
    async fn updates(
        &mut self,
        contender: Contender,
        pods: u32,
        plan: &Plan,
    ) -> anyhow::Result<()> {
        self.paced_at(PACED_RATE, plan.paced).await?;
        if contender != Contender::Informant {
            self.latency(plan.latency, true).await?;
        }
        let rate = self.burst(burst_of(contender, plan.burst)).await?;
        self.climb(plan.rung, rate).await?;
        self.settled(plan.settle, Metric::AfterUpdates).await?;
        self.relist(plan.settle).await?;
        self.relist_changed(pods, plan.settle).await
    }

    /// Makes updates at a rate; answers how long it took from the first one until all were handled, or merged into what was.
    async fn paced_updates(
        &mut self,
        rate: u32,
        time: Duration,
        before: Handled,
    ) -> anyhow::Result<Duration> {
        let begin = Instant::now();
        self.load.rate(rate, time)?;
        self.drained(before, updates_of(rate, time), SYNC_DEADLINE).await?;
        Ok(begin.elapsed())
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
}

/// Updates of a contender's burst.
pub(crate) fn burst_of(contender: Contender, updates: u64) -> u64 {
    match contender {
        Contender::ClientGoJson => updates / SLOW_UPDATES_SHARE,
        _ => updates,
    }
}

fn updates_of(rate: u32, time: Duration) -> u64 {
    (f64::from(rate) * time.as_secs_f64()).round() as u64
}
