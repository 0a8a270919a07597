//! The failures of a plugin's calls, and the host's reaction to them.

use std::fmt::Display;
use std::time::Duration;

/// The result of the plugin's functions.
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// A failed call. Every value with a text form converts to it with `?` or [`Failure::new`]; for that reason it does
/// not implement [`std::error::Error`] itself. The text is that of `{:#}`, with which an error of anyhow contains its
/// causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    message: String,
    retry: Retry,
}

/// The time of a failed event's next delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// The wait of the plugin's rate limiter. After its last attempt the event becomes a dead letter.
    #[default]
    Backoff,
    /// After this time. The delivery counts as an attempt.
    After(Duration),
    /// Never: the event becomes a dead letter at once.
    Never,
}

impl Failure {
    /// A failure that is retried with [`Retry::Backoff`].
    pub fn new(message: impl Display) -> Self {
        Self { message: format!("{message:#}"), retry: Retry::Backoff }
    }

    /// The same failure with a retry after this time.
    #[must_use]
    pub fn retry_after(self, delay: Duration) -> Self {
        Self { retry: Retry::After(delay), ..self }
    }

    /// The same failure without a retry, for events that would fail again.
    #[must_use]
    pub fn never_retry(self) -> Self {
        Self { retry: Retry::Never, ..self }
    }

    /// The text of the failure.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The time of the next delivery.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.retry
    }
}

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

/// Sets the retry of a failed step: `fetch()?` backs off, `fetch().retry_after(..)?` waits, and
/// `parse().never_retry()?` gives up.
pub trait RetryExt<T> {
    /// See [`Failure::retry_after`].
    fn retry_after(self, delay: Duration) -> Result<T>;
    /// See [`Failure::never_retry`].
    fn never_retry(self) -> Result<T>;
}

impl<T, E: Into<Failure>> RetryExt<T> for std::result::Result<T, E> {
    fn retry_after(self, delay: Duration) -> Result<T> {
        self.map_err(|e| e.into().retry_after(delay))
    }

    fn never_retry(self) -> Result<T> {
        self.map_err(|e| e.into().never_retry())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(result: Result, message: &str, retry: Retry) {
        let failure = result.expect_err("the step failed");
        assert_eq!((failure.message(), failure.retry()), (message, retry));
    }

    fn parse(text: &str) -> std::result::Result<u8, std::num::ParseIntError> {
        text.parse()
    }

    #[test]
    fn any_error_becomes_a_failure() {
        check(
            parse("x").map_err(Failure::from).map(|_| ()),
            "invalid digit found in string",
            Retry::Backoff,
        );
        check((|| Err("no owner")?)(), "no owner", Retry::Backoff);
        check((|| Err(Failure::new("bare").never_retry())?)(), "bare", Retry::Never);
    }

    /// Formats itself like an error of anyhow.
    struct Caused;

    impl Display for Caused {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(if f.alternate() { "no answer: timed out" } else { "no answer" })
        }
    }

    #[test]
    fn an_error_that_knows_its_causes_tells_them() {
        check(Err(Caused).never_retry(), "no answer: timed out", Retry::Never);
    }

    #[test]
    fn the_step_says_when_to_try_again() {
        let minute = Duration::from_secs(60);
        check(
            parse("").never_retry().map(|_| ()),
            "cannot parse integer from empty string",
            Retry::Never,
        );
        check(Err("busy").retry_after(minute), "busy", Retry::After(minute));
        check(Err(Failure::new("busy")).never_retry(), "busy", Retry::Never);
    }
}
