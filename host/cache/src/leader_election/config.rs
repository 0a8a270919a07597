//! The configuration of a process in an election. As client-go's `LeaderElectionConfig`
//! (`tools/leaderelection/leaderelection.go`), with the timings of Kubernetes' own components.

use std::time::Duration;

/// Waits between tries are stretched by up to this factor, so that candidates do not all try at once (client-go's
/// `JitterFactor`).
pub(super) const JITTER_FACTOR: f64 = 1.2;

/// The configuration of a process in an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderElectionConfig {
    /// The name of this process and of no other, not even of the same one after a restart. A process that finds its
    /// own name in the record takes itself for the leader. See [`unique_identity`].
    pub identity: String,
    /// How long others wait after a renewal before they take over; whole seconds.
    pub lease_duration: Duration,
    /// How long the leader leads without a successful renewal.
    pub renew_deadline: Duration,
    /// The time between two tries to renew; candidates wait up to 2.2 times as long.
    pub retry_period: Duration,
    /// Whether a shutdown gives the lease back, so that another process need not wait. The leader's work must have
    /// ended by then.
    pub release_on_cancel: bool,
    /// Makes the waits repeatable; random by default.
    pub seed: u64,
}

impl LeaderElectionConfig {
    /// 15 s, 10 s and 2 s, released on shutdown.
    pub fn new(identity: impl Into<String>) -> Self {
        Self {
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            release_on_cancel: true,
            seed: fastrand::u64(..),
        }
    }

    /// Checks the configuration.
    pub fn validate(&self) -> Result<(), LeaderElectionConfigError> {
        use LeaderElectionConfigError as Error;
        let second = Duration::from_secs(1);
        let Self { lease_duration, renew_deadline, retry_period, .. } = *self;
        if self.identity.is_empty() {
            return Err(Error::EmptyIdentity);
        }
        if lease_duration < second || lease_duration.subsec_nanos() != 0 {
            return Err(Error::LeaseDuration { lease_duration });
        }
        if i32::try_from(lease_duration.as_secs()).is_err() {
            return Err(Error::LeaseDuration { lease_duration });
        }
        if retry_period < second {
            return Err(Error::RetryPeriod { retry_period });
        }
        if lease_duration <= renew_deadline {
            return Err(Error::LeaseNotLonger { lease_duration, renew_deadline });
        }
        if renew_deadline <= retry_period.mul_f64(JITTER_FACTOR) {
            return Err(Error::DeadlineNotLonger { renew_deadline, retry_period });
        }
        Ok(())
    }

    /// The time for one request: half the renew deadline, as in client-go's `resourcelock.NewFromKubeconfig`, so that
    /// a request that hangs leaves time for another.
    pub(super) fn request_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }
}

/// No election can work with this configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaderElectionConfigError {
    /// The record cannot name its holder.
    #[error("identity is empty; give each process a name of its own")]
    EmptyIdentity,
    /// The record has only whole seconds.
    #[error("lease duration {lease_duration:?} is not a whole number of seconds from 1 up")]
    LeaseDuration {
        /// The given value.
        lease_duration: Duration,
    },
    /// The API server would get too many requests.
    #[error("retry period {retry_period:?} is less than a second")]
    RetryPeriod {
        /// The given value.
        retry_period: Duration,
    },
    /// Two processes could lead at once.
    #[error(
        "lease duration {lease_duration:?} is not longer than the renew deadline {renew_deadline:?}"
    )]
    LeaseNotLonger {
        /// The given value.
        lease_duration: Duration,
        /// The given value.
        renew_deadline: Duration,
    },
    /// One failed try would end the lead.
    #[error(
        "renew deadline {renew_deadline:?} is not longer than 1.2 times the retry period {retry_period:?}"
    )]
    DeadlineNotLonger {
        /// The given value.
        renew_deadline: Duration,
        /// The given value.
        retry_period: Duration,
    },
}

/// A name for this process alone: `host`, an underscore and a random number, as Kubernetes' components make it.
pub fn unique_identity(host: &str) -> String {
    format!("{host}_{:032x}", fastrand::u128(..))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Identity and durations in milliseconds, and the beginning of the error.
    #[track_caller]
    fn check(identity: &str, [lease, renew, retry]: [u64; 3], complaint: &str) {
        let config = LeaderElectionConfig {
            lease_duration: Duration::from_millis(lease),
            renew_deadline: Duration::from_millis(renew),
            retry_period: Duration::from_millis(retry),
            ..LeaderElectionConfig::new(identity)
        };
        let error = config.validate().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            error.starts_with(complaint) && error.is_empty() == complaint.is_empty(),
            "{error}"
        );
    }

    #[test]
    fn usual_timings_are_accepted() {
        assert_eq!(LeaderElectionConfig::new("baz").validate(), Ok(()));
        check("baz", [15_000, 2_000, 1_000], "");
    }

    #[test]
    fn an_identity_must_be_given() {
        check("", [15_000, 2_000, 1_000], "identity is empty");
    }

    #[test]
    fn durations_must_leave_room_for_each_other() {
        check("baz", [10_000, 10_000, 2_000], "lease duration 10s is not longer");
        check("baz", [15_000, 2_400, 2_000], "renew deadline 2.4s is not longer");
        check("baz", [15_000, 2_401, 2_000], "");
    }

    #[test]
    fn durations_must_be_writable() {
        check("baz", [15_500, 10_000, 2_000], "lease duration 15.5s is not a whole");
        check("baz", [0, 10_000, 2_000], "lease duration 0ns is not a whole");
        check("baz", [1 << 50, 10_000, 2_000], "lease duration");
        check("baz", [15_000, 10_000, 999], "retry period 999ms is less");
    }

    #[test]
    fn identities_are_unique() {
        let (one, other) = (unique_identity("web-0"), unique_identity("web-0"));
        assert!(one.starts_with("web-0_") && one != other);
    }
}
