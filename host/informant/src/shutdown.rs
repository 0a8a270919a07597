//! Shutdown in two stages: the first signal drains the host. The second signal ends the process at once, and so does
//! the end of the time for draining.
//!
//! When a terminal closes, it sends SIGHUP, which drains the host as SIGTERM does. SIGHUP comes twice, from the
//! terminal and from its shell, so it never counts as the second signal. With `nohup`, the process ignores SIGHUP.

use crate::logging::{self, LastWords};
use anyhow::anyhow;
use std::io;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// The time until the end of a process that was asked to end, even if something blocks it. The host takes up to 27.5
/// s: its grace, a second for the remaining threads, and the last lines of the log. Kubernetes gives a Pod 30 s.
const END_MAX: Duration = Duration::from_secs(28);

/// The largest time for the last step of a process, after a second signal or at the end of the time for draining. It
/// is enough for one request to an API server that answers, and for one repetition.
pub(crate) const LAST_ATTEMPT_MAX: Duration = Duration::from_secs(1);

/// The request to end this process.
#[derive(Clone)]
pub(crate) struct Stop {
    /// Cancelled when the process is to end in order.
    pub(crate) asked: CancellationToken,
    at_once: watch::Sender<()>,
}

impl Stop {
    fn new() -> Self {
        Self { asked: CancellationToken::new(), at_once: watch::Sender::new(()) }
    }

    /// Signals that the process ends at once. The process waits until the receiver is dropped, up to
    /// [`LAST_ATTEMPT_MAX`].
    pub(crate) fn at_once(&self) -> watch::Receiver<()> {
        self.at_once.subscribe()
    }

    /// Lets the receivers do their last step.
    async fn end_at_once(&self) {
        self.at_once.send_replace(());
        let _ = tokio::time::timeout(LAST_ATTEMPT_MAX, self.at_once.closed()).await;
    }
}

/// From now on, SIGINT, SIGTERM and SIGHUP no longer end the process by themselves. The first signal cancels the
/// token. A second SIGINT or SIGTERM ends the process, after its last step, with 128 plus the signal's number, as
/// shells expect. If the process still runs 28 s after the first signal, it ends with 1.
///
/// A separate thread receives the signals. It waits for no other thread, so a blocked thread cannot delay it. It ends
/// with the process.
pub(crate) fn on_signals() -> io::Result<Stop> {
    on_signals_within(END_MAX)
}

fn on_signals_within(end_max: Duration) -> io::Result<Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _context = runtime.enter();
        Signals::listen()?
    };
    let stop = Stop::new();
    let heard = stop.clone();
    let listen = async move {
        let name = signals.first().await;
        heard.asked.cancel();
        // The log's reader may have stopped reading. That must not block the second signal, so another thread writes
        // the line. If no thread can be started, the line is lost.
        let tell = move || info!("stopping after {name}; once more to stop at once");
        let _ = std::thread::Builder::new().name("stopping".to_owned()).spawn(tell);
        let status = tokio::select! {
            (name, number) = signals.next() => {
                heard.end_at_once().await;
                let text = format!("stopped at once after a second signal, {name}");
                logging::end(LastWords::Warning(text));
                128 + number
            }
            () = tokio::time::sleep(end_max) => {
                let late = anyhow!(
                    "not everything ended within {end_max:?} of {name}: a thread of the host is held up; it was cut off; please report this"
                );
                logging::end(LastWords::Failure(late));
                1
            }
        };
        std::process::exit(status)
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || runtime.block_on(listen))?;
    Ok(stop)
}

/// Receives the signals that stop a process.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if the process ignores it.
    hangup: Option<Signal>,
    /// A write beyond the limit of a file's size (`ulimit -f`) sends it. It would end the process; with this the write fails.
    _file_size: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        // Without this file, no signal counts as ignored.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hangup = !is_ignored(SignalKind::hangup(), &status);
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: hangup.then(|| signal(SignalKind::hangup())).transpose()?,
            _file_size: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    /// The name of the first signal.
    async fn first(&mut self) -> &'static str {
        let Self { interrupt, terminate, hangup, .. } = self;
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

    /// The name and number of the next signal that was sent on purpose.
    async fn next(&mut self) -> (&'static str, i32) {
        tokio::select! {
            _ = self.interrupt.recv() => ("SIGINT", SignalKind::interrupt().as_raw_value()),
            _ = self.terminate.recv() => ("SIGTERM", SignalKind::terminate().as_raw_value()),
        }
    }
}

/// Whether the process ignored a signal at its start, from its status in the kernel's format.
fn is_ignored(signal: SignalKind, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal.as_raw_value() - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, Signal as Sent, kill_process};
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Command, Output, Stdio};
    use std::sync::mpsc;

    /// The variable is set in a child process. The child blocks, and is to end this number of milliseconds after the
    /// first signal.
    const END_MAX_VARIABLE: &str = "INFORMANT_TEST_END_MAX";
    /// The child prints these when it is blocked, and when it has received the first signal.
    const WEDGED: &str = "wedged and ready";
    const ASKED: &str = "asked to end";
    /// A child that still runs after this time has failed.
    const CHILD_MAX: Duration = Duration::from_secs(60);

    /// A process whose async runtime is blocked, like that of a host in which something holds every worker.
    fn be_wedged(end_max: Duration) {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().expect("a runtime");
        let (begins, begun) = mpsc::channel();
        let (_held, never) = mpsc::channel::<()>();
        runtime.spawn(async move {
            begins.send(()).expect("it waits");
            never.recv_timeout(CHILD_MAX).expect_err("nobody sends");
            std::process::exit(99);
        });
        begun.recv().expect("it begins");
        let stop = on_signals_within(end_max).expect("signals");
        writeln!(io::stdout(), "\n{WEDGED}").expect("it is read");
        runtime.block_on(async {
            stop.asked.cancelled().await;
            writeln!(io::stdout(), "{ASKED}").expect("it is read");
            tokio::time::sleep(CHILD_MAX).await;
        });
    }

    /// The end of a blocked child that gets this number of signals.
    fn ended(end_max: Duration, signals: u32) -> Output {
        let mut child = Command::new(std::env::current_exe().expect("this program"));
        let name =
            "shutdown::tests::a_wedged_process_ends_in_time_and_at_once_after_a_second_signal";
        child.args(["--exact", name, "--nocapture"]);
        child.env(END_MAX_VARIABLE, end_max.as_millis().to_string());
        let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut until = |text: &str| lines.any(|line| line.is_ok_and(|line| line.contains(text)));
        assert!(until(WEDGED), "it does not begin");
        let id = Pid::from_child(&child);
        for number in 0..signals {
            kill_process(id, Sent::TERM).expect("it runs");
            // Two signals at once may arrive as one.
            assert!(number > 0 || until(ASKED), "it does not hear the first signal");
        }
        child.wait_with_output().expect("it ends")
    }

    #[test]
    fn a_wedged_process_ends_in_time_and_at_once_after_a_second_signal() {
        if let Ok(milliseconds) = std::env::var(END_MAX_VARIABLE) {
            return be_wedged(Duration::from_millis(milliseconds.parse().expect("a number")));
        }
        let late = ended(Duration::from_millis(500), 1);
        let said = String::from_utf8_lossy(&late.stderr);
        assert_eq!(late.status.code(), Some(1), "{said}");
        assert!(said.contains("not everything ended within 500ms of SIGTERM"), "{said}");
        let second = ended(CHILD_MAX, 2);
        let said = String::from_utf8_lossy(&second.stderr);
        assert_eq!(second.status.code(), Some(143), "{said}");
    }

    #[tokio::test]
    async fn a_write_beyond_the_limit_of_a_files_size_does_not_end_the_process() {
        let _signals = Signals::listen().expect("signals");
        kill_process(rustix::process::getpid(), Sent::XFSZ).expect("it runs");
    }

    /// Invariant 22.
    #[tokio::test(start_paused = true)]
    async fn the_end_waits_for_what_is_done_last_and_not_for_long() {
        let stop = Stop::new();
        let start = tokio::time::Instant::now();
        stop.end_at_once().await;
        assert_eq!(start.elapsed(), Duration::ZERO, "nobody does anything");
        let mut heard = stop.at_once();
        let last = tokio::spawn(async move {
            heard.changed().await.expect("it ends");
            tokio::time::sleep(LAST_ATTEMPT_MAX / 2).await;
        });
        tokio::task::yield_now().await;
        stop.end_at_once().await;
        assert_eq!(start.elapsed(), LAST_ATTEMPT_MAX / 2);
        assert!(last.is_finished());
        let _hangs = stop.at_once();
        stop.end_at_once().await;
        assert_eq!(start.elapsed(), LAST_ATTEMPT_MAX * 3 / 2);
    }

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
