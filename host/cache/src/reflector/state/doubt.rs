//! Whether the server may have been set back since it was last heard.
//!
//! To restore an etcd takes its API servers away for a while: requests are refused, fail or are not answered. A
//! connection that is only cut, as load balancers do with idle ones every few minutes, is made again at the first try. The
//! difference matters for a quiet resource: its newest change may be older than what the server remembers, so that to ask for it
//! is 410, and a cut must not lead to a list each time.

use std::time::{Duration, Instant};

/// Between the last sign of life and the first try that succeeds after a cut: the first pause of the backoff (up to
/// 1.6 s), or the pauses while the permission is missing (up to 5 s), and some slack.
pub(super) const CUT_MAX: Duration = Duration::from_secs(6);

/// What lies between the last stream and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Nothing.
    None,
    /// The stream ended before its time; the server gave a sign of life at this time.
    Cut { alive: Instant },
    /// The server could not be reached, or was silent.
    Outage,
}

impl Doubt {
    /// The stream broke, or the server answered that it does not want to go on for now.
    pub(super) fn cut(&mut self, now: Instant) {
        *self = match *self {
            Self::Cut { alive } if now.duration_since(alive) > CUT_MAX => Self::Outage,
            Self::None | Self::Cut { .. } => Self::Cut { alive: now },
            Self::Outage => Self::Outage,
        };
    }

    /// The server did not answer as one that is well.
    pub(super) fn outage(&mut self) {
        *self = Self::Outage;
    }

    /// As it is at the moment of the next try.
    pub(super) fn at(self, now: Instant) -> Self {
        match self {
            Self::Cut { alive } if now.duration_since(alive) > CUT_MAX => Self::Outage,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_an_outage_only_if_nothing_is_heard_for_longer_than_a_pause() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut doubt = Doubt::None;
        doubt.cut(begun);
        assert_eq!(doubt.at(after(6)), Doubt::Cut { alive: begun });
        assert_eq!(doubt.at(after(7)), Doubt::Outage);
        doubt.cut(after(6));
        assert_eq!(doubt.at(after(12)), Doubt::Cut { alive: after(6) });
        doubt.cut(after(13));
        assert_eq!(doubt, Doubt::Outage);
        doubt.cut(after(14));
        assert_eq!(doubt, Doubt::Outage, "until the server has shown its past");
    }
}
