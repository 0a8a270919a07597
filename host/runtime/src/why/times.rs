//! Both clocks at one moment: times are kept by the monotonic clock and shown by the wall clock.

use jiff::{SignedDuration, Timestamp};
use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
pub(super) struct Clocks {
    wall: Timestamp,
    instant: Instant,
}

impl Clocks {
    pub(super) fn read() -> Self {
        Self { wall: Timestamp::now(), instant: Instant::now() }
    }

    pub(super) fn now(self) -> String {
        shown(self.wall)
    }

    /// A time in UTC, to the millisecond.
    pub(super) fn at(self, moment: Instant) -> String {
        let past = self.instant.saturating_duration_since(moment);
        let ahead = moment.saturating_duration_since(self.instant);
        let signed = |time: Duration| SignedDuration::try_from(time).unwrap_or_default();
        let at = self.wall.checked_sub(signed(past)).and_then(|it| it.checked_add(signed(ahead)));
        shown(at.unwrap_or(self.wall))
    }

    /// The time from now until then; zero if it is past.
    pub(super) fn until(self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.instant)
    }
}

pub(super) fn shown(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// `12.4 s`, `350 ms`.
pub(super) fn span(time: Duration) -> String {
    match time.as_millis() {
        ..1_000 => format!("{} ms", time.as_millis()),
        1_000..100_000 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{} s", time.as_secs()),
    }
}
