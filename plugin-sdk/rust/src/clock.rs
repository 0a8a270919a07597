//! A clock that only goes forward: it measures how long something takes. `std::time::Instant` panics in a plugin.
//!
//! The clock is WASI's. A plugin that uses this module imports `wasi:clocks/monotonic-clock`; other plugins import no
//! WASI.

use crate::imports::clock as host;
use std::time::Duration;

/// A moment of the instance's own clock. It has no meaning in another instance.
///
/// ```
/// use informant_plugin::clock::Instant;
///
/// let begun = Instant::now();
/// assert!(begun.elapsed() >= std::time::Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant {
    nanoseconds: u64,
}

impl Instant {
    /// The present moment.
    #[must_use]
    pub fn now() -> Self {
        Self { nanoseconds: host::now() }
    }

    /// The time that has passed since this moment.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(host::now().saturating_sub(self.nanoseconds))
    }
}
