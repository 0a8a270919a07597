//! The highest rate at which a contender keeps up.

use std::time::Duration;

use super::{BACKLOG_MAX, Measuring, updates_of};
use crate::results::Metric;

/// Rates that are tried one after the other, a second: the upper ones are at most 15 % apart.
const LADDER: &[u32] = &[
    250, 500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000, 6_000, 7_000, 8_000,
    9_000, 10_000, 11_000, 12_500, 14_000, 15_000, 16_500, 18_000, 20_000, 22_500, 25_000, 27_500,
    30_000, 32_500, 35_000, 37_500, 40_000, 45_000, 50_000, 55_000, 60_000, 65_000, 70_000, 75_000,
    80_000, 90_000, 100_000, 112_500, 125_000, 140_000, 160_000,
];
/// The first one that is tried, as a share of what a burst reached.
const FIRST: f64 = 0.75;

/// The place of the highest step that is not above a rate; of the lowest where all are.
fn step_below(rate: f64) -> usize {
    LADDER.iter().rposition(|step| f64::from(*step) <= rate).unwrap_or(0)
}

/// By how much a rate at which somebody kept up may be above the one that could be kept up for ever, as a share of that: all of the backlog that is allowed is there when a
/// rung ends.
pub(crate) fn overstated_max(rung: Duration) -> f64 {
    BACKLOG_MAX.as_secs_f64() / rung.as_secs_f64()
}

impl Measuring<'_> {
    /// Tries rates from three quarters of what a burst reached: upwards until one is too much, or downwards if the first is.
    pub(super) async fn climb(&mut self, rung: Duration, burst_rate: f64) -> anyhow::Result<()> {
        let first = step_below(burst_rate * FIRST);
        let mut best = None;
        for rate in &LADDER[first..] {
            if !self.keeps_up(*rate, rung).await? {
                break;
            }
            best = Some(*rate);
        }
        if best.is_none() {
            for rate in LADDER[..first].iter().rev() {
                if self.keeps_up(*rate, rung).await? {
                    best = Some(*rate);
                    break;
                }
            }
        }
        if let Some(best) = best {
            self.note(Metric::Sustained, f64::from(best));
        }
        Ok(())
    }

    async fn keeps_up(&mut self, rate: u32, rung: Duration) -> anyhow::Result<bool> {
        let before = self.running.handled()?;
        let took = self.paced_updates(rate, rung, before).await?;
        let after = self.drained(before, updates_of(rate, rung), super::SYNC_DEADLINE).await?;
        Ok(took <= rung + BACKLOG_MAX && after.coalesced == before.coalesced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_rise_and_the_upper_ones_are_near_each_other() {
        for pair in LADDER.windows(2) {
            assert!(pair[0] < pair[1], "{pair:?}");
            let apart = f64::from(pair[1]) / f64::from(pair[0]);
            assert!(pair[0] < 4_000 || apart <= 1.2, "{pair:?}");
            assert!(pair[0] < 7_000 || apart <= 1.15, "{pair:?}");
        }
    }

    #[test]
    fn the_first_step_is_below_what_a_burst_reached() {
        let check = |burst: f64, expect: u32| assert_eq!(LADDER[step_below(burst)], expect);
        check(0.0, 250);
        check(999.0, 500);
        check(20_000.0, 20_000);
        check(1e9, 160_000);
    }

    #[test]
    fn a_rung_overstates_by_little() {
        // 6,300 updates that were made in 3 s and handled in 3.15 s: 2,100 a second are shown, and 2,000 were handled.
        let share = overstated_max(Duration::from_secs(3));
        assert!((share - 0.05).abs() < 1e-9, "{share}");
    }
}
