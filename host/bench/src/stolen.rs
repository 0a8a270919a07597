//! What a virtual machine's host took of its processors' time, which is nobody's latency but its own.

use anyhow::Context;
use std::time::{Duration, Instant};

/// The processors' time since the machine started, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTime {
    all: u64,
    stolen: u64,
}

impl ProcessorTime {
    /// Now.
    pub fn now() -> anyhow::Result<Self> {
        let stat = std::fs::read_to_string("/proc/stat").context("read /proc/stat")?;
        Self::parse(&stat).context("/proc/stat has no line of all processors")
    }

    /// The first line: user, nice, system, idle, iowait, irq, softirq, steal; what follows is part of user and nice (proc_stat(5)).
    fn parse(stat: &str) -> Option<Self> {
        let times = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let times: Vec<u64> = times.take(8).map(|time| time.parse().ok()).collect::<Option<_>>()?;
        Some(Self { all: times.iter().sum(), stolen: *times.get(7)? })
    }

    /// The share of the time since then that was stolen, 0 to 1.
    pub fn stolen_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        self.stolen.saturating_sub(before.stolen) as f64 / all as f64
    }
}

/// How often it is looked whether the machine is left alone, and the share above which it is not.
const LOOK: Duration = Duration::from_secs(3);
pub(crate) const CALM_MAX: f64 = 0.01;

/// Waits while the machine's host takes more than a hundredth of its processors' time, at most until `patience` ends.
pub async fn await_calm(patience: Instant) -> anyhow::Result<()> {
    while Instant::now() < patience {
        let before = ProcessorTime::now()?;
        tokio::time::sleep(LOOK).await;
        if ProcessorTime::now()?.stolen_since(before) <= CALM_MAX {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_all_time_without_counting_guests_twice() {
        let parse = |stat| ProcessorTime::parse(stat).expect("a line of all processors");
        let before = parse("cpu  100 0 50 850 0 0 0 0 40 0\ncpu0 50 0 25 425 0 0 0 0 20 0\n");
        let after = parse("cpu  150 0 50 890 0 0 0 10 90 0\n");
        assert_eq!(after.stolen_since(before), 0.1);
        assert_eq!(before.stolen_since(before), 0.0);
        assert_eq!(ProcessorTime::parse("cpu  1 2 3\n"), None);
        assert_eq!(ProcessorTime::parse("cpu0 1 2 3 4 5 6 7 8\n"), None);
    }
}
