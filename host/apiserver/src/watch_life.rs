//! How long a watch goes on.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::WatchEnd;

/// The end of a watch, by its time or by the server's stop.
#[derive(Clone, Debug)]
pub struct WatchLife {
    deadline: Instant,
    stop: CancellationToken,
}

impl WatchLife {
    /// A life of this time from now on, until `stop` at most.
    pub fn new(time: Duration, stop: CancellationToken) -> Self {
        Self { deadline: Instant::now() + time, stop }
    }

    /// The end, if it has come.
    pub fn over(&self) -> Option<WatchEnd> {
        match (self.stop.is_cancelled(), Instant::now() >= self.deadline) {
            (true, _) => Some(WatchEnd::Stopped),
            (false, true) => Some(WatchEnd::TimedOut),
            (false, false) => None,
        }
    }

    /// Waits for the end.
    pub async fn ended(&self) -> WatchEnd {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => WatchEnd::Stopped,
            () = sleep_until(self.deadline) => WatchEnd::TimedOut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_life_ends_by_its_time_or_by_the_stop() {
        let stop = CancellationToken::new();
        let life = WatchLife::new(Duration::from_secs(10), stop.clone());
        assert!(life.over().is_none());
        assert!(matches!(life.ended().await, WatchEnd::TimedOut));
        assert!(matches!(life.over(), Some(WatchEnd::TimedOut)));
        stop.cancel();
        assert!(matches!(life.over(), Some(WatchEnd::Stopped)));
        assert!(matches!(life.ended().await, WatchEnd::Stopped));
    }
}
