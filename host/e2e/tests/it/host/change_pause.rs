//! The pause between changes of objects, while a plugin comes and goes.

use std::cell::Cell;
use std::time::Duration;

use informant_e2e::poll;

/// 25 changes in a second, if the machine is quick enough.
const PAUSE: Duration = Duration::from_millis(40);
const LONG_PAUSE: Duration = Duration::from_millis(400);
/// The host keeps for a minute what no plugin needs: the first part of that minute.
const KEPT: Duration = Duration::from_secs(50);

/// The pause between two changes; none after the last one.
pub struct ChangePause(Cell<Option<Duration>>);

impl ChangePause {
    pub fn new() -> Self {
        Self(Cell::new(Some(PAUSE)))
    }

    /// Waits for the time of the next change. Returns whether there is one.
    pub async fn next(&self) -> bool {
        let Some(pause) = self.0.get() else { return false };
        poll::pause(pause).await;
        true
    }

    /// Waits while the host keeps what a plugin needed that is gone. Few changes come meanwhile.
    pub async fn kept(&self) {
        self.0.set(Some(LONG_PAUSE));
        poll::pause(KEPT).await;
        self.0.set(Some(PAUSE));
    }

    /// No other change follows.
    pub fn end(&self) {
        self.0.set(None);
    }
}
