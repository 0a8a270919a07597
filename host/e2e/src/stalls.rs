//! How long the machine let a thread wait that had nothing to do but to wake up: the same was done to the host meanwhile.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_millis(10);
/// Shorter ones are every machine's.
const LEAST: Duration = Duration::from_millis(50);

/// Wakes up for as long as there is this.
pub struct Stalls(Arc<StallsState>);

#[derive(Default)]
struct StallsState {
    is_over: AtomicBool,
    /// When each stall ended, and how long it was.
    stalls: Mutex<Vec<(Instant, Duration)>>,
}

impl Stalls {
    /// Looks from now on.
    pub fn begin() -> Self {
        let shared = Arc::<StallsState>::default();
        let of = shared.clone();
        std::thread::spawn(move || {
            while !of.is_over.load(Ordering::Relaxed) {
                let slept = Instant::now();
                std::thread::park_timeout(EVERY);
                of.woke(slept, Instant::now());
            }
        });
        Self(shared)
    }

    /// How long the machine has stalled in all, in stalls that have ended since then.
    pub fn since(&self, from: Instant) -> Duration {
        // One that has just ended is noted by then.
        std::thread::park_timeout(2 * EVERY);
        self.0.since(from)
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl StallsState {
    fn woke(&self, slept: Instant, now: Instant) {
        let stall = now.saturating_duration_since(slept + EVERY);
        if stall >= LEAST {
            self.stalls.lock().push((now, stall));
        }
    }

    fn since(&self, from: Instant) -> Duration {
        let stalls = self.stalls.lock();
        let later = stalls.iter().rev().take_while(|(ended, _)| *ended >= from);
        later.map(|(_, stall)| *stall).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_count_from_when_they_ended() {
        let (shared, begin) = (StallsState::default(), Instant::now());
        let at = |ms| begin + Duration::from_millis(ms);
        let check = |from, expect| {
            assert_eq!(shared.since(at(from)), Duration::from_millis(expect), "from {from}");
        };
        check(0, 0);
        for (slept, woke) in [(0, 20), (100, 1_110), (1_200, 1_500)] {
            shared.woke(at(slept), at(woke));
        }
        check(0, 1_000 + 290);
        check(1_110, 1_000 + 290);
        check(1_111, 290);
        check(1_501, 0);
    }
}
