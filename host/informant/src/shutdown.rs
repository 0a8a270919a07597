//! Two-stage shutdown: the first signal drains, the second ends the process at once.

use crate::logging;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// From here on SIGINT and SIGTERM no longer end the process by themselves: the first one cancels the token, the
/// second one ends the process with 128 and the signal's number, as shells expect.
///
/// They are heard on a thread of its own, which nothing that hangs can keep from it. It ends with the process.
pub(crate) fn on_signals() -> io::Result<CancellationToken> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut signals = {
        let _context = runtime.enter();
        Signals::listen()?
    };
    let stop = CancellationToken::new();
    let first = stop.clone();
    let listen = async move {
        let (name, _) = signals.next().await;
        first.cancel();
        info!("stopping after {name}; once more to stop at once");
        let (name, number) = signals.next().await;
        warn!("stopped at once after a second signal, {name}");
        logging::end();
        std::process::exit(128 + number)
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || runtime.block_on(listen))?;
    Ok(stop)
}

/// Hears the two signals that stop a process.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The next one, by name and number.
    async fn next(&mut self) -> (&'static str, i32) {
        tokio::select! {
            _ = self.interrupt.recv() => ("SIGINT", SignalKind::interrupt().as_raw_value()),
            _ = self.terminate.recv() => ("SIGTERM", SignalKind::terminate().as_raw_value()),
        }
    }
}
