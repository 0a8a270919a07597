//! Two-stage shutdown: the first signal drains, the second ends the process at once.

use std::convert::Infallible;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

/// 128 + SIGINT, as shells expect of a process that was interrupted.
const EXIT_INTERRUPTED: i32 = 130;

/// Hears the two signals that stop a process.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From here on the signals no longer end the process by themselves.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The first one: time to drain.
    pub(crate) async fn first(&mut self) {
        let name = self.next().await;
        info!("stopping after {name}; once more to stop at once");
    }

    /// The second one ends the process.
    pub(crate) async fn second(&mut self) -> Infallible {
        let name = self.next().await;
        warn!("stopped at once after a second signal, {name}");
        std::process::exit(EXIT_INTERRUPTED)
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }
}
