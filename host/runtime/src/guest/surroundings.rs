//! The clock and the random numbers of a plugin: the system's, or given ones for a run that must be
//! the same each time.

use crate::delivery::timers::Now;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use ring::rand::{SecureRandom as _, SystemRandom};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The source of time and random bytes. Clones share a given source; the default is the system.
#[derive(Clone, Default)]
pub(crate) struct Surroundings(Option<Arc<Mutex<Given>>>);

struct Given {
    now: Now,
    random: fastrand::Rng,
}

/// The system has no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system has no random numbers")]
pub(crate) struct NoRandom;

impl Surroundings {
    /// A clock that stands at this time until a caller moves it, and random bytes from the seed, which are not secret.
    pub(crate) fn given(wall: Timestamp, seed: u64) -> Self {
        let now = Now { instant: Instant::now(), wall };
        Self(Some(Arc::new(Mutex::new(Given { now, random: fastrand::Rng::with_seed(seed) }))))
    }

    /// Whether the time is given.
    pub(crate) fn are_given(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn now(&self) -> Instant {
        self.0.as_ref().map_or_else(Instant::now, |given| given.lock().now.instant)
    }

    pub(crate) fn wall(&self) -> Timestamp {
        self.0.as_ref().map_or_else(Timestamp::now, |given| given.lock().now.wall)
    }

    /// Both clocks.
    pub(crate) fn read(&self) -> Now {
        self.0.as_ref().map_or_else(Now::read, |given| given.lock().now)
    }

    /// Moves a given clock; the system's clock moves by itself.
    pub(crate) fn pass(&self, time: Duration) {
        let Some(given) = &self.0 else { return };
        let now = &mut given.lock().now;
        let later = SignedDuration::try_from(time).ok();
        let later = later.and_then(|time| now.wall.checked_add(time).ok());
        // Neither clock moves if the other cannot.
        if let (Some(instant), Some(wall)) = (now.instant.checked_add(time), later) {
            *now = Now { instant, wall };
        }
    }

    /// Fills `bytes` with random bytes.
    pub(crate) fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandom> {
        match &self.0 {
            Some(given) => given.lock().random.fill(bytes),
            None => SystemRandom::new().fill(bytes).map_err(|_| NoRandom)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_is_the_same_each_time_and_the_system_is_not() {
        let start = Timestamp::from_second(1_700_000_000).expect("a time");
        let run = |surroundings: &Surroundings| {
            let (began, mut bytes) = (surroundings.now(), [0; 32]);
            surroundings.pass(Duration::from_secs(5));
            surroundings.fill(&mut bytes).expect("there are some");
            (surroundings.now() - began, surroundings.wall(), bytes)
        };
        let [one, two] = [7, 7].map(|seed| run(&Surroundings::given(start, seed)));
        assert_eq!(one, two);
        assert_eq!(one.0, Duration::from_secs(5));
        assert_eq!(one.1.as_second(), 1_700_000_005);
        assert_ne!(run(&Surroundings::given(start, 8)).2, one.2, "another seed");
        let [one, two] = [(), ()].map(|()| run(&Surroundings::default()).2);
        assert_ne!(one, two);
    }

    #[test]
    fn time_goes_no_further_than_both_clocks_can() {
        let surroundings = Surroundings::given(Timestamp::UNIX_EPOCH, 0);
        surroundings.pass(Duration::MAX);
        assert_eq!(surroundings.wall(), Timestamp::UNIX_EPOCH);
    }
}
