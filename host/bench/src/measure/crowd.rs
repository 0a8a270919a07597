//! What many plugins, or as many handlers of other programs, cost together.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context, ensure};
use jiff::Timestamp;

use super::{Bench, Measuring, Plan, SYNC_DEADLINE, updates_of};
use crate::contender::{Contender, Running};
use crate::crowd::Crowd;
use crate::load::Load;
use crate::load_server::Layout;
use crate::programs::Purpose;
use crate::results::{Metric, Run};
use crate::stolen::ProcessorTime;
use crate::subject::Subject;

/// Below so many updates a second they are made for twice the time: processor time is counted in large units.
const SLOW_RATE: u32 = 500;
/// After the last update, before processor time is read: all of them are handled then.
const QUIET: Duration = Duration::from_millis(500);
/// How often a plugin of many is replaced in a run.
pub(crate) const REPLACEMENTS: u16 = 8;
/// Updates are made at a rate for so long at a time, until all replacements are made.
const STRETCH: Duration = Duration::from_millis(500);
/// Between two looks at the plugin's lines.
const LOOK: Duration = Duration::from_millis(50);
/// Seconds for a compilation on a machine that does something else, too.
const LOADED_MAX: i64 = 120;
/// Linux counts processor time in hundredths of a second.
const TICK: f64 = 0.01;

impl Plan {
    /// For how long updates are made at a rate.
    fn time_at(&self, rate: u32) -> Duration {
        if rate < SLOW_RATE { self.paced * 2 } else { self.paced }
    }

    /// What a tick of the kernel's count is of an update at a rate, in seconds.
    pub fn tick_at(&self, rate: u32) -> f64 {
        TICK / updates_of(rate, self.time_at(rate)) as f64
    }
}

impl Bench {
    /// Memory of so many handlers, and processor time of an update that they are told of.
    pub async fn crowd(
        &self,
        contender: Contender,
        subject: Subject,
        crowd: Crowd,
        plan: &Plan,
    ) -> anyhow::Result<Run> {
        let begin = ProcessorTime::now()?;
        let scratch = tempfile::tempdir().context("a directory for a kubeconfig")?;
        let other = self.load_of(subject, crowd, scratch.path())?;
        let load = other.as_ref().unwrap_or(&self.load);
        let size = (crowd.pods, crowd.handlers as usize);
        let mut measuring =
            self.start_on(load, contender, Purpose::Subscribe(subject), size).await?;
        // What is free goes back to the system within some seconds.
        let settle = if crowd.rate > 0 { plan.settle } else { plan.settle * 3 };
        measuring.settled(settle, Metric::Settled).await?;
        if crowd.rate > 0 {
            measuring.warmed_up(crowd.rate, plan.time_at(crowd.rate)).await?;
            measuring.paced_in_quiet(crowd.rate, plan.time_at(crowd.rate)).await?;
        }
        if subject == Subject::Chosen {
            let cached = measuring.running.cached()?;
            measuring.note(Metric::CachedObjects, cached);
            measuring.note(Metric::SentObjects, load.report()?.objects_sent as f64);
        }
        measuring.note(Metric::Stolen, ProcessorTime::now()?.stolen_since(begin));
        Ok(run_of(contender, subject, crowd, measuring))
    }

    /// Replaces one plugin of many by other code again and again, while it is told of all updates and the others of one each.
    pub async fn replaced(&self, crowd: Crowd, plan: &Plan) -> anyhow::Result<Run> {
        let (contender, subject) = (Contender::Informant, Subject::Replaced);
        let begin = ProcessorTime::now()?;
        let scratch = tempfile::tempdir().context("a directory for a kubeconfig")?;
        let load = self.load_of(subject, crowd, scratch.path())?;
        let load = load.context("its pods are in namespaces of their own")?;
        let size = (crowd.pods, crowd.handlers as usize);
        let mut measuring =
            self.start_on(&load, contender, Purpose::Subscribe(subject), size).await?;
        measuring.settled(plan.settle, Metric::Settled).await?;
        let (before, made) = (measuring.running.handled()?, load.report()?.updates);
        let (mut calls, mut replaced) = (Vec::new(), Vec::new());
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let updates = scope.spawn(|| {
                while !stop.load(Relaxed) {
                    load.rate(crowd.rate, STRETCH)?;
                }
                anyhow::Ok(())
            });
            let running = &measuring.running;
            let done = replace(running, plan.latency / 8, &mut calls, &mut replaced);
            stop.store(true, Relaxed);
            updates.join().expect("it does not panic").and(done)
        })?;
        let updates = load.report()?.updates - made;
        let after = measuring.drained(before, updates, SYNC_DEADLINE).await?;
        calls.extend(measuring.running.marks()?);
        ensure!(after.coalesced == before.coalesced, "updates were merged");
        let replacements = replacements(&calls, &replaced)?;
        let highest = |of: fn(&Replacement) -> Duration| {
            replacements.iter().map(of).max().unwrap_or_default().as_secs_f64()
        };
        measuring.note(Metric::ReplacedWithin, highest(|one| one.within));
        measuring.note(Metric::ReplacedGap, highest(|one| one.gap));
        measuring.note(Metric::Stolen, ProcessorTime::now()?.stolen_since(begin));
        Ok(run_of(contender, subject, crowd, measuring))
    }

    /// A load server of its own where the subject needs other pods than all benchmarks share.
    fn load_of(
        &self,
        subject: Subject,
        crowd: Crowd,
        directory: &std::path::Path,
    ) -> anyhow::Result<Option<Load>> {
        let start = |layout: Layout| {
            let encoder = self.programs.client_go();
            Load::start(&self.programs.load_server(), encoder.as_deref(), layout, directory)
        };
        subject.layout(crowd.handlers as usize).map(start).transpose()
    }
}

/// Replaces the first plugin again and again: each time some time after the code of the last time was called.
fn replace(
    running: &Running,
    pause: Duration,
    calls: &mut Vec<(Timestamp, u16)>,
    replaced: &mut Vec<Timestamp>,
) -> anyhow::Result<()> {
    for mark in 1..=REPLACEMENTS {
        std::thread::sleep(pause);
        let begin = Timestamp::now();
        replaced.push(begin);
        running.replace_mark(mark)?;
        while calls.last().is_none_or(|(_, found)| *found != mark) {
            ensure!(
                begin.duration_until(Timestamp::now()).as_secs() < LOADED_MAX,
                "it is not loaded"
            );
            std::thread::sleep(LOOK);
            calls.extend(running.marks()?);
        }
    }
    std::thread::sleep(pause);
    Ok(())
}

fn run_of(contender: Contender, subject: Subject, crowd: Crowd, measuring: Measuring<'_>) -> Run {
    let Crowd { handlers, pods, .. } = crowd;
    let metrics = measuring.metrics;
    Run { contender, subject, pods, handlers, metrics, series: Vec::new() }
}

impl Measuring<'_> {
    /// As many updates as are measured after them. A handler's first ones are dearer, and a thousand handlers of one
    /// update a second have hardly any others.
    async fn warmed_up(&mut self, rate: u32, time: Duration) -> anyhow::Result<()> {
        let before = self.running.handled()?;
        self.paced_updates(rate, time, before).await.map(drop)
    }

    /// Processor time of an update at a rate, read before it is asked what was handled: a host of a thousand plugins has much to answer. If updates
    /// are handled later, it is read again after the last one.
    async fn paced_in_quiet(&mut self, rate: u32, time: Duration) -> anyhow::Result<()> {
        let before = self.running.handled()?;
        let updates = updates_of(rate, time);
        let cpu_before = super::cpu(self.running.id())?;
        self.load.rate(rate, time)?;
        tokio::time::sleep(QUIET).await;
        let mut used = super::cpu(self.running.id())? - cpu_before;
        let in_time = self.running.handled()?;
        let after = self.drained(before, updates, SYNC_DEADLINE).await?;
        if in_time.events < after.events {
            used = super::cpu(self.running.id())? - cpu_before;
        }
        if after.coalesced == before.coalesced {
            self.note(Metric::PacedCpu, used.as_secs_f64() / updates as f64);
        }
        Ok(())
    }
}

/// What one replacement was.
#[derive(Debug, PartialEq, Eq)]
struct Replacement {
    /// From the file to the first call of its code.
    within: Duration,
    /// The longest time between two calls from the file on until the next one.
    gap: Duration,
}

/// Replacements at these times, by marks that rise from 1; calls are in their order.
fn replacements(
    calls: &[(Timestamp, u16)],
    replaced: &[Timestamp],
) -> anyhow::Result<Vec<Replacement>> {
    let since = |later: Timestamp, earlier: Timestamp| {
        Duration::try_from(later.duration_since(earlier)).unwrap_or_default()
    };
    let one = |(place, at): (usize, &Timestamp)| {
        let mark = place + 1;
        let first = calls.iter().find(|(_, found)| usize::from(*found) == mark);
        let (first, _) = first.with_context(|| format!("no call has the mark {mark}"))?;
        let end = replaced.get(mark).or(calls.last().map(|(at, _)| at));
        let end = *end.context("there are no calls")?;
        let pairs = calls.windows(2).filter(|pair| pair[1].0 >= *at && pair[1].0 <= end);
        let gap = pairs.map(|pair| since(pair[1].0, pair[0].0)).max().unwrap_or_default();
        Ok(Replacement { within: since(*first, *at), gap })
    };
    replaced.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).expect("a time")
    }

    #[test]
    fn a_replacement_lasts_until_the_first_call_of_its_code_and_its_gap_is_the_longest_until_the_next()
     {
        let calls = [(0, 0), (90, 0), (110, 0), (150, 1), (160, 1), (205, 1), (230, 2), (300, 2)];
        let calls = calls.map(|(time, mark)| (at(time), mark));
        let found = replacements(&calls, &[at(100), at(200)]).expect("both came");
        let millis = Duration::from_millis;
        let one = |within, gap| Replacement { within: millis(within), gap: millis(gap) };
        assert_eq!(found, [one(50, 40), one(30, 70)]);
        assert!(replacements(&calls, &[at(100), at(200), at(250)]).is_err());
    }
}
