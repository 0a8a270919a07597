//! The promises that a host keeps while it is attacked, measured before the attack and during it.
//!
//! Pods of a namespace of their own change all the time. The plugin event-printer of the host must log each change once, in order and
//! in time. `/livez` is requested all the time on each address of the host. `host/docs/designs/attacks.md` has the promises.

mod changes;
mod probes;

use crate::host::{Host, Line};
use crate::percentiles::Percentiles;
use crate::stalls::Stalls;
use crate::{poll, process_stats};
use changes::Changes;
use probes::Probes;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Changes before the attack, and the fewest during it: three of them may be later than the others.
const CHANGES_MIN: usize = 300;
/// The latency of 99 of 100 changes during the attack may be twice that before it.
const LATENCY_TIMES: u32 = 2;
/// A latency below this is never too long. A quiet machine has 5 ms. Where the machine compiles something else, single changes take
/// 100 ms, with or without an attack. The attacks that this is about took seconds for each event.
const LATENCY_FLOOR: Duration = Duration::from_millis(100);
/// The longest latency of a single change, as in a siege.
const LATENCY_MAX: Duration = Duration::from_secs(5);
/// The kubelet waits for a probe for so long by default.
const PROBE_MAX: Duration = Duration::from_secs(1);
/// The host may take so many bytes more than before, at any moment. Memories of the attacker's instances are among them.
const MORE_MEMORY_MAX: u64 = 50 << 20;
/// For changes to be made and logged on a busy machine.
const DEADLINE: Duration = Duration::from_secs(300);

/// The measurements of one host. They end with this.
pub struct Promises<'a> {
    host: &'a Host,
    changes: Changes,
    probes: Probes,
    began: Instant,
    stalls: Stalls,
    before: Before,
}

/// The host before the attack.
struct Before {
    /// Changes that were made and logged.
    changes: usize,
    /// Resident memory, in bytes.
    resident: u64,
}

/// The measurements.
#[derive(Debug)]
pub struct Report {
    /// Latencies of changes before the attack, without the time in which the machine stalled.
    pub before: Percentiles,
    /// The same of changes during the attack.
    pub during: Percentiles,
    /// The answers of `/livez`.
    pub probes: Percentiles,
    /// For how long the machine let an idle thread of the test wait. Single answers and changes may be late by that.
    pub stall: Duration,
    /// Resident bytes before the attack.
    pub resident: u64,
    /// The most resident bytes since then.
    pub peak: u64,
}

impl<'a> Promises<'a> {
    /// Measures a host that is ready and runs event-printer. The user of the kubeconfig creates the namespace and its pods.
    pub async fn begin(host: &'a Host, kubeconfig: PathBuf) -> anyhow::Result<Self> {
        let changes = Changes::begin(kubeconfig);
        let probes = Probes::begin(host);
        let (began, stalls) = (Instant::now(), Stalls::begin());
        let before = Before { changes: 0, resident: 0 };
        let mut promises = Self { host, changes, probes, began, stalls, before };
        promises.await_changes(CHANGES_MIN).await?;
        promises.before.changes = promises.changes.made();
        promises.before.resident = process_stats::resident(host.id())?;
        process_stats::forget_peak(host.id())?;
        Ok(promises)
    }

    /// Waits until so many changes were made and logged.
    async fn await_changes(&self, count: usize) -> anyhow::Result<()> {
        let are_there = async || {
            let failed = self.changes.failure().map(Err);
            failed.or_else(|| (self.changes.made() >= count).then_some(Ok(())))
        };
        let what = format!("{count} changes of pods to be made");
        poll::until(&what, DEADLINE, are_there).await??;
        let made = self.changes.made();
        let is_last = |line: &Line| self.changes.is_logged_by(made - 1, line);
        let what = format!("event-printer to log {made} changes");
        self.host.await_line(&what, DEADLINE, is_last).await?;
        let logged = self.changes.logged(self.host)?.len();
        anyhow::ensure!(logged >= made, "event-printer logged {logged} changes of {made}");
        Ok(())
    }

    /// Ends the measurements. An error names each promise that was not kept.
    pub async fn check(mut self) -> anyhow::Result<Report> {
        self.await_changes(self.before.changes + CHANGES_MIN).await?;
        self.changes.end()?;
        self.await_changes(self.changes.made()).await?;
        let (probes, stall) = (self.probes.end()?, self.stalls.since(self.began));
        let peak = process_stats::peak(self.host.id())?;
        let logged = self.changes.logged(self.host)?;
        let latency = |&(sent, at): &(Instant, Instant)| self.stalls.without(sent, at);
        let latencies: Vec<Duration> = logged.iter().map(latency).collect();
        let (before, during) = latencies.split_at(self.before.changes);
        let report = Report {
            before: percentiles(before),
            during: percentiles(during),
            probes: percentiles(&probes),
            stall,
            resident: self.before.resident,
            peak,
        };
        report.check()?;
        Ok(report)
    }
}

impl Report {
    fn check(&self) -> anyhow::Result<()> {
        let latency_max = LATENCY_FLOOR.max(self.before.most * LATENCY_TIMES);
        let more = self.peak.saturating_sub(self.resident);
        let Percentiles { most, worst, .. } = self.during;
        anyhow::ensure!(most <= latency_max, "changes came later than {latency_max:?}: {self}");
        anyhow::ensure!(worst <= LATENCY_MAX, "a change came late: {self}");
        anyhow::ensure!(
            self.probes.worst <= PROBE_MAX + self.stall,
            "a probe was answered late: {self}"
        );
        anyhow::ensure!(more <= MORE_MEMORY_MAX, "the host took {more} bytes more: {self}");
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, during, probes, stall, resident, peak } = self;
        let mebibytes = [resident, peak].map(|bytes| bytes >> 20);
        writeln!(f, "changes before: {before}")?;
        writeln!(f, "changes during: {during}")?;
        writeln!(f, "/livez: {probes}; the machine stalled for {stall:.1?}")?;
        write!(f, "memory: {} MiB before, {} MiB at most", mebibytes[0], mebibytes[1])
    }
}

fn percentiles(times: &[Duration]) -> Percentiles {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    Percentiles::of(&sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    /// The latencies of 99 of 100 changes before and during the attack, the longest of a change and of a probe, and the memory.
    #[track_caller]
    fn check(latencies: [u64; 2], worst: u64, probe: u64, more: u64, is_kept: bool) {
        check_stalled(0, (latencies, worst, probe, more), is_kept);
    }

    #[track_caller]
    fn check_stalled(
        stall: u64,
        (latencies, worst, probe, more): ([u64; 2], u64, u64, u64),
        is_kept: bool,
    ) {
        let [before, mut during] = latencies.map(|most| percentiles(&[ms(most)]));
        during.worst = ms(worst);
        let report = Report {
            before,
            during,
            probes: percentiles(&[ms(probe)]),
            stall: ms(stall),
            resident: 100 << 20,
            peak: (100 << 20) + more,
        };
        assert_eq!(report.check().is_ok(), is_kept, "{report}");
    }

    #[test]
    fn each_promise_has_its_bound() {
        check([5, 100], 5_000, 1_000, 50 << 20, true);
        check([5, 101], 0, 0, 0, false);
        check([200, 400], 0, 0, 0, true);
        check([200, 401], 0, 0, 0, false);
        check([5, 5], 5_001, 0, 0, false);
        check([5, 5], 0, 1_001, 0, false);
        check([5, 5], 0, 0, (50 << 20) + 1, false);
        check_stalled(200, ([5, 5], 0, 1_200, 0), true);
        check_stalled(200, ([5, 5], 0, 1_201, 0), false);
    }
}
