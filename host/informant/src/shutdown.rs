//! Two-stage shutdown: the first signal drains, the second ends the process at once.
//!
//! A terminal that is closed is a reason to end in order, as SIGTERM is: SIGHUP. It comes twice, from the terminal and from the shell in it, so it is never the
//! second signal. Who started the process with `nohup` wants it to stay.

use crate::logging;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// From here on SIGINT, SIGTERM and SIGHUP no longer end the process by themselves: the first one cancels the token, a
/// second SIGINT or SIGTERM ends the process with 128 and the signal's number, as shells expect.
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
        let name = signals.first().await;
        // Whoever should read the log may have stopped reading it: that must not keep the second signal from being heard.
        let tell = move || info!("stopping after {name}; once more to stop at once");
        tokio::task::spawn_blocking(tell);
        first.cancel();
        let (name, number) = signals.next().await;
        logging::end(move || warn!("stopped at once after a second signal, {name}"));
        std::process::exit(128 + number)
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || runtime.block_on(listen))?;
    Ok(stop)
}

/// Hears the signals that stop a process.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// None where it is ignored.
    hangup: Option<Signal>,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        // Where there is no such file nobody is known to ignore anything.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hangup = !is_ignored(SignalKind::hangup(), &status);
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: hangup.then(|| signal(SignalKind::hangup())).transpose()?,
        })
    }

    /// The first one, by name.
    async fn first(&mut self) -> &'static str {
        let Self { interrupt, terminate, hangup } = self;
        let hung_up = async {
            match hangup {
                Some(hangup) => drop(hangup.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
            () = hung_up => "SIGHUP",
        }
    }

    /// The next one that somebody has sent on purpose, by name and number.
    async fn next(&mut self) -> (&'static str, i32) {
        tokio::select! {
            _ = self.interrupt.recv() => ("SIGINT", SignalKind::interrupt().as_raw_value()),
            _ = self.terminate.recv() => ("SIGTERM", SignalKind::terminate().as_raw_value()),
        }
    }
}

/// Whether a process with this status, as the kernel shows it, was started to ignore a signal.
fn is_ignored(signal: SignalKind, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal.as_raw_value() - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ignores_a_signal_goes_on_doing_so() {
        let check = |mask: &str, expect: [bool; 2]| {
            let status = format!("Name:\tinformant\nSigBlk:\tffffffffffffffff\nSigIgn:\t{mask}\n");
            let found =
                [SignalKind::hangup(), SignalKind::terminate()].map(|it| is_ignored(it, &status));
            assert_eq!(found, expect, "{mask}");
        };
        check("0000000000000000", [false, false]);
        check("0000000000000001", [true, false]);
        check("0000000000004000", [false, true]);
        check("0000000000001000", [false, false]);
        check("no number", [false, false]);
        assert!(!is_ignored(SignalKind::hangup(), ""));
    }
}
