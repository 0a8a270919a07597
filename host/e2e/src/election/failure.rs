//! What befalls a leader, drawn from a seed.

use std::time::Duration;

/// One failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// SIGSTOP, and SIGCONT after this long: it goes on as if no time had passed.
    Stopped(Duration),
    /// SIGKILL.
    Killed,
    /// Its connections break, and no new ones come about for this long.
    CutOff(Duration),
    /// Its connections stay, and nothing comes through for this long; then they break.
    Silenced(Duration),
    /// SIGTERM: it gives the Lease back.
    Ended,
}

impl Failure {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stopped(_) => "stopped",
            Self::Killed => "killed",
            Self::CutOff(_) => "cut off",
            Self::Silenced(_) => "silenced",
            Self::Ended => "ended",
        }
    }
}

/// A failure that lasts so long, where it lasts.
type Lasting = fn(Duration) -> Failure;

/// One half of a round, and the other: each has a stop, which is where a host may think that it still leads.
const HALVES: [[Lasting; 3]; 2] = [
    [Failure::Stopped, |_| Failure::Killed, Failure::CutOff],
    [Failure::Stopped, Failure::Silenced, |_| Failure::Ended],
];

/// Failures without end. Each six have all kinds.
pub struct LeaderFailures {
    random: fastrand::Rng,
    lease: Duration,
    takeover: Duration,
    /// Of this half, the last comes first.
    left: Vec<Lasting>,
    is_second_half: bool,
}

impl LeaderFailures {
    /// Half of them last for up to a lease, which the leader may outlive. The others last for as much longer than it takes until another leads:
    /// whoever goes on then must find that out before it writes.
    pub fn new(random: fastrand::Rng, lease: Duration, takeover: Duration) -> Self {
        Self { random, lease, takeover, left: Vec::new(), is_second_half: false }
    }
}

impl Iterator for LeaderFailures {
    type Item = Failure;

    fn next(&mut self) -> Option<Failure> {
        if self.left.is_empty() {
            self.left = HALVES[usize::from(self.is_second_half)].to_vec();
            self.random.shuffle(&mut self.left);
            self.is_second_half = !self.is_second_half;
        }
        let least = if self.random.bool() { self.takeover } else { Duration::ZERO };
        let time = least + self.lease.mul_f64(self.random.f64());
        self.left.pop().map(|failure| failure(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u64, count: usize) -> Vec<Failure> {
        let random = fastrand::Rng::with_seed(seed);
        LeaderFailures::new(random, Duration::from_secs(3), Duration::from_secs(7))
            .take(count)
            .collect()
    }

    #[test]
    fn each_six_have_all_kinds_and_two_stops() {
        for seed in 0..20 {
            let mut names: Vec<_> = drawn(seed, 6).into_iter().map(Failure::name).collect();
            names[..3].sort_unstable();
            names[3..].sort_unstable();
            assert_eq!(names, ["cut off", "killed", "stopped", "ended", "silenced", "stopped"]);
        }
    }

    #[test]
    fn stops_are_short_or_outlast_a_takeover() {
        let seconds = |failure: Failure| match failure {
            Failure::Stopped(time) => Some(time.as_secs_f64()),
            _ => None,
        };
        let stops: Vec<f64> = drawn(1, 60).into_iter().filter_map(seconds).collect();
        let (long, short): (Vec<f64>, Vec<f64>) = stops.into_iter().partition(|time| *time >= 7.0);
        assert!(long.len() > 5 && short.len() > 5, "{long:?} {short:?}");
        assert!(short.iter().all(|time| *time < 3.0) && long.iter().all(|time| *time < 10.0));
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(drawn(7, 50), drawn(7, 50));
        assert_ne!(drawn(7, 50), drawn(8, 50));
    }
}
