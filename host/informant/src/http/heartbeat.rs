//! Whether the host's async runtime still runs what is due: it beats, and a thread of its own looks.
//!
//! It is not told by the clock, because a process that was stopped for a while, or a machine that slept, has done nothing wrong: a look is a second
//! in which the one who looks did run. A runtime of several threads beats for as long as one of them does.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

const EVERY: Duration = Duration::from_secs(1);
/// Looks without a beat after which the runtime is said to be stuck. Nothing that the host does on it takes a second.
const MISSED_MAX: u32 = 30;

#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    /// Looks since the last beat.
    missed: AtomicU32,
}

impl Heartbeat {
    /// Beats, on the runtime that is looked at.
    pub(super) async fn beat(&self) {
        every_second(|| self.missed.store(0, Ordering::Relaxed)).await;
    }

    /// Looks, on another one.
    pub(super) async fn look(&self) {
        every_second(|| self.miss()).await;
    }

    /// Why the host is not alive, if it is not.
    pub(super) fn check(&self) -> Result<(), String> {
        match self.missed.load(Ordering::Relaxed) {
            missed if missed < MISSED_MAX => Ok(()),
            missed => Err(format!(
                "the host's async runtime has run no timer for {missed} s: something holds all of its threads"
            )),
        }
    }

    fn miss(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }
}

async fn every_second(act: impl Fn()) {
    let mut seconds = interval_at(Instant::now() + EVERY, EVERY);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        act();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_that_misses_its_bound_of_beats_is_not_alive_until_it_beats() {
        let heartbeat = Heartbeat::default();
        for _ in 1..MISSED_MAX {
            heartbeat.miss();
        }
        assert_eq!(heartbeat.check(), Ok(()));
        heartbeat.miss();
        let problem = heartbeat.check().expect_err("it is stuck");
        assert!(problem.contains("for 30 s"), "{problem}");
        heartbeat.missed.store(0, Ordering::Relaxed);
        assert_eq!(heartbeat.check(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_alive_for_as_long_as_it_beats() {
        let heartbeat = Heartbeat::default();
        let both = async { tokio::join!(heartbeat.beat(), heartbeat.look()) };
        assert!(tokio::time::timeout(EVERY * 100, both).await.is_err());
        assert_eq!(heartbeat.check(), Ok(()));
        assert!(tokio::time::timeout(EVERY * 100, heartbeat.look()).await.is_err());
        assert!(heartbeat.check().is_err());
    }
}
