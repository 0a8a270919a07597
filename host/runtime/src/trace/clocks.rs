//! Both clocks at one moment: spans are measured by the monotonic clock and sent with the wall clock's times.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Clone, Copy)]
pub(super) struct TraceClocks {
    instant: Instant,
    /// Since 1970.
    wall: Duration,
}

impl TraceClocks {
    pub(super) fn read() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { instant: Instant::now(), wall }
    }

    /// A time in nanoseconds since 1970.
    pub(super) fn unix_nanoseconds(self, at: Instant) -> u64 {
        let past = self.instant.saturating_duration_since(at);
        let ahead = at.saturating_duration_since(self.instant);
        let wall = self.wall.saturating_sub(past).saturating_add(ahead);
        u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_on_both_sides_of_the_reading_are_converted() {
        let instant = Instant::now() + Duration::from_secs(10);
        let clocks = TraceClocks { instant, wall: Duration::from_secs(100) };
        let check = |at, seconds: u64| {
            assert_eq!(clocks.unix_nanoseconds(at), seconds * 1_000_000_000);
        };
        check(instant, 100);
        check(instant - Duration::from_secs(3), 97);
        check(instant + Duration::from_secs(3), 103);
    }
}
