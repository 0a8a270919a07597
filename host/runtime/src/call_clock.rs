//! How long a call may still run. Only the guest's own time counts: while its thread is with its
//! neighbours, its clock stands, so that a guest that spins costs nobody else a deadline.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The clock of one instance, armed anew for every call. A clone is the same clock.
#[derive(Clone, Debug)]
pub(crate) struct CallClock {
    until: Arc<Mutex<Instant>>,
}

impl CallClock {
    pub(crate) fn new(now: Instant) -> Self {
        Self { until: Arc::new(Mutex::new(now)) }
    }

    /// Begins a call that may run this long.
    pub(crate) fn arm(&self, now: Instant, limit: Duration) {
        *self.until.lock() = now + limit;
    }

    /// Whether the call must end. Guests are asked at every tick; a host function that can take long asks
    /// for itself, because ticks do not reach it.
    pub(crate) fn expired(&self, now: Instant) -> bool {
        now >= *self.until.lock()
    }

    /// Lets the thread's other tasks have a turn, which is not counted.
    pub(crate) fn give_way(&self) -> impl Future<Output = ()> + Send + 'static {
        let clock = self.clone();
        async move {
            let since = Instant::now();
            tokio::task::yield_now().await;
            *clock.until.lock() += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_ends_at_its_limit() {
        let start = Instant::now();
        let clock = CallClock::new(start);
        clock.arm(start, Duration::from_secs(1));
        assert!(!clock.expired(start + Duration::from_millis(999)));
        assert!(clock.expired(start + Duration::from_secs(1)));
        clock.arm(start + Duration::from_secs(1), Duration::from_secs(1));
        assert!(!clock.expired(start + Duration::from_secs(1)));
    }

    #[tokio::test]
    async fn a_neighbours_turn_does_not_count() {
        let busy = Duration::from_millis(20);
        let start = Instant::now();
        let clock = CallClock::new(start);
        clock.arm(start, Duration::ZERO);
        let neighbour = tokio::spawn(async move {
            let since = Instant::now();
            while since.elapsed() < busy {
                std::hint::spin_loop();
            }
        });
        clock.give_way().await;
        neighbour.await.expect("the neighbour only counts");
        assert!(!clock.expired(start + busy - Duration::from_nanos(1)));
    }
}
