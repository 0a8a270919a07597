//! The promises that a host keeps while it is attacked, measured before the attack and during it.
//!
//! Pods of a namespace of their own change all the time. The plugin event-printer of the host must log each change once, in order and
//! in time. `/livez` is requested all the time on each address of the host. `host/docs/designs/attacks.md` has the promises.
//!
//! A second host, which nobody attacks, logs the same changes. It shows what the machine does to any host meanwhile.
//!
//! Times are compared where [`TIMES_VARIABLE`] is set, by `make attacks`: beside other tests they are the other tests'.

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
use tempfile::TempDir;

/// Set where nothing else runs: the times of the promises are then compared with their bounds.
const TIMES_VARIABLE: &str = "INFORMANT_TIMES";
/// The fewest changes before the attack, and from its begin on, where times are compared: three of them may be later than
/// the others.
const CHANGES_MIN: usize = 300;
/// Elsewhere: the plugin logs each of them once, and in order.
const FEW_CHANGES_MIN: usize = 50;
/// The time for which callers attack where times are compared, and elsewhere.
const ATTACK_TIME: Duration = Duration::from_secs(10);
const SHORT_ATTACK_TIME: Duration = Duration::from_secs(1);
/// The latency of 99 of 100 changes during the attack may be twice that before it, or twice that of the host that is not attacked.
const LATENCY_TIMES: u32 = 2;
/// A latency of so many medians is not too long: of those before the attack or of the host that is not attacked.
const MEDIAN_TIMES: u32 = 20;
/// The median of a quiet machine. Where the machine compiles something else it is 20 ms or more, with or without an attack. The attacks that this
/// is about took seconds for each event.
const MEDIAN_MIN: Duration = Duration::from_millis(5);
/// The longest latency of a single change, as in a siege.
const LATENCY_MAX: Duration = Duration::from_secs(5);
/// The kubelet waits for a probe for so long by default.
pub const PROBE_MAX: Duration = Duration::from_secs(1);
/// The host may take so many bytes more than before, at any moment. Memories of the attacker's instances are among them.
const MORE_MEMORY_MAX: u64 = 50 << 20;
/// For changes to be made and logged on a busy machine.
const DEADLINE: Duration = Duration::from_secs(300);

/// The measurements of one host. They end with this.
pub struct Promises<'a> {
    host: &'a Host,
    control: Control,
    changes: Changes,
    probes: Probes,
    began: Instant,
    stalls: Stalls,
    before: Before,
}

/// A host with event-printer that is not attacked, and its plugin directory.
pub struct Control {
    /// Beside the same cluster.
    pub host: Host,
    /// It goes with the host.
    pub plugins: TempDir,
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
pub struct PromisesReport {
    /// Latencies of changes before the attack.
    pub before: Percentiles,
    /// Latencies of changes during the attack.
    pub during: Percentiles,
    /// Latencies of the same changes in the host that is not attacked.
    pub control: Percentiles,
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
    pub async fn begin(
        host: &'a Host,
        control: Control,
        kubeconfig: PathBuf,
    ) -> anyhow::Result<Self> {
        let changes = Changes::begin(kubeconfig);
        let probes = Probes::begin(host);
        let (began, stalls) = (Instant::now(), Stalls::begin());
        let before = Before { changes: 0, resident: 0 };
        let mut promises = Self { host, control, changes, probes, began, stalls, before };
        promises.await_changes(changes_min()).await?;
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
        for host in [self.host, &self.control.host] {
            let what = format!("event-printer to log {made} changes");
            host.await_line(&what, DEADLINE, is_last).await?;
            let logged = self.changes.logged(host)?.len();
            anyhow::ensure!(logged >= made, "event-printer logged {logged} changes of {made}");
        }
        Ok(())
    }

    /// Ends the measurements. An error names the promise that was not kept.
    pub async fn check(mut self) -> anyhow::Result<PromisesReport> {
        self.await_changes(self.before.changes + changes_min()).await?;
        self.changes.end()?;
        self.await_changes(self.changes.made()).await?;
        let (probes, stall) = (self.probes.end()?, self.stalls.since(self.began));
        let peak = process_stats::peak(self.host.id())?;
        let logged = self.changes.logged(self.host)?;
        let (before, during) = logged.split_at(self.before.changes);
        let control = self.changes.logged(&self.control.host)?.split_off(self.before.changes);
        let report = PromisesReport {
            before: percentiles(before),
            during: percentiles(during),
            control: percentiles(&control),
            probes: percentiles(&probes),
            stall,
            resident: self.before.resident,
            peak,
        };
        report.check_memory()?;
        if are_times_compared() {
            report.check_times()?;
        }
        Ok(report)
    }
}

/// Whether nothing else runs on the machine, so that times tell something about the host.
pub fn are_times_compared() -> bool {
    std::env::var_os(TIMES_VARIABLE).is_some()
}

fn changes_min() -> usize {
    if_compared(CHANGES_MIN, FEW_CHANGES_MIN)
}

/// The time for which callers send the same requests again and again. Each sends one at least.
pub fn attack_time() -> Duration {
    if_compared(ATTACK_TIME, SHORT_ATTACK_TIME)
}

/// The first where times are compared, and the second elsewhere: a measurement needs more of everything.
pub fn if_compared<T>(compared: T, otherwise: T) -> T {
    if are_times_compared() { compared } else { otherwise }
}

impl PromisesReport {
    fn check_memory(&self) -> anyhow::Result<()> {
        let more = self.peak.saturating_sub(self.resident);
        anyhow::ensure!(more <= MORE_MEMORY_MAX, "the host took {more} bytes more: {self}");
        Ok(())
    }

    fn check_times(&self) -> anyhow::Result<()> {
        let usual = self.before.most.max(self.control.most);
        let median = self.before.half.max(self.control.half).max(MEDIAN_MIN);
        let latency_max = (usual * LATENCY_TIMES).max(median * MEDIAN_TIMES);
        let Percentiles { most, worst, .. } = self.during;
        anyhow::ensure!(most <= latency_max, "changes came later than {latency_max:?}: {self}");
        anyhow::ensure!(worst <= LATENCY_MAX + self.stall, "a change came late: {self}");
        anyhow::ensure!(
            self.probes.worst <= PROBE_MAX + self.stall,
            "a probe was answered late: {self}"
        );
        Ok(())
    }
}

impl fmt::Display for PromisesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, during, control, probes, stall, resident, peak } = self;
        let mebibytes = [resident, peak].map(|bytes| bytes >> 20);
        writeln!(f, "changes before: {before}")?;
        writeln!(f, "changes during: {during}")?;
        writeln!(f, "in a host that is not attacked: {control}")?;
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

    /// The latencies of 99 of 100 changes before and during the attack, and without one; the longest of a change and of a probe, and the memory.
    #[track_caller]
    fn check(latencies: [u64; 3], worst: u64, probe: u64, more: u64, is_kept: bool) {
        check_stalled(0, (latencies, worst, probe, more), is_kept);
    }

    #[track_caller]
    fn check_stalled(
        stall: u64,
        (latencies, worst, probe, more): ([u64; 3], u64, u64, u64),
        is_kept: bool,
    ) {
        let [before, during, control] =
            latencies.map(|most| Percentiles { most: ms(most), ..percentiles(&[]) });
        let during = Percentiles { worst: ms(worst), ..during };
        let report = PromisesReport {
            before,
            during,
            control,
            probes: percentiles(&[ms(probe)]),
            stall: ms(stall),
            resident: 100 << 20,
            peak: (100 << 20) + more,
        };
        let kept = report.check_memory().and_then(|()| report.check_times());
        assert_eq!(kept.is_ok(), is_kept, "{report}");
    }

    /// Half of the changes take so long without an attack, and 99 of 100 that long during one.
    #[track_caller]
    fn check_busy(median: u64, during: u64, is_kept: bool) {
        let of = |half, most| Percentiles { half: ms(half), most: ms(most), ..percentiles(&[]) };
        for [before, control] in [[median, 0], [0, median]] {
            let report = PromisesReport {
                before: of(before, 0),
                during: of(0, during),
                control: of(control, 0),
                probes: percentiles(&[]),
                stall: Duration::ZERO,
                resident: 0,
                peak: 0,
            };
            assert_eq!(report.check_times().is_ok(), is_kept, "{report}");
        }
    }

    #[test]
    fn each_promise_has_its_bound() {
        check([5, 100, 5], 5_000, 1_000, 50 << 20, true);
        check([5, 101, 5], 0, 0, 0, false);
        check([200, 400, 5], 0, 0, 0, true);
        check([200, 401, 5], 0, 0, 0, false);
        check([5, 400, 200], 0, 0, 0, true);
        check([5, 401, 200], 0, 0, 0, false);
        check([5, 5, 5], 5_001, 0, 0, false);
        check([5, 5, 5], 0, 1_001, 0, false);
        check([5, 5, 5], 0, 0, (50 << 20) + 1, false);
        check_busy(10, 200, true);
        check_busy(10, 201, false);
        check_stalled(200, ([5, 5, 5], 5_200, 1_200, 0), true);
        check_stalled(200, ([5, 5, 5], 5_201, 0, 0), false);
        check_stalled(200, ([5, 5, 5], 0, 1_201, 0), false);
    }
}
