//! Shutdown in two stages: the first signal drains the host. The second one ends the process at
//! once, and so does the end of the time for draining.
//!
//! A terminal that is closed is a reason to end in order, as SIGTERM is: SIGHUP. It comes twice, from the terminal and from the shell in it, so it is never the
//! second signal. Who started the process with `nohup` wants it to stay.

use crate::logging;
use anyhow::anyhow;
use std::io;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// A process that was asked to end is gone by then, whatever holds it. The host takes up to 27.5 s: its grace, a second for what is left then, and the
/// last lines of the log. Kubernetes gives a Pod 30 s.
const END_MAX: Duration = Duration::from_secs(28);

/// What a process does last, after a second signal or at the end of the time for draining, takes so long at most: one request to an API
/// server that answers, and its repetition.
pub(crate) const LAST_ATTEMPT_MAX: Duration = Duration::from_secs(1);

/// That this process is to end.
#[derive(Clone)]
pub(crate) struct Stop {
    /// It is to end in order.
    pub(crate) asked: CancellationToken,
    at_once: watch::Sender<()>,
}

impl Stop {
    fn new() -> Self {
        Self { asked: CancellationToken::new(), at_once: watch::Sender::new(()) }
    }

    /// Hears that this process ends at once. Until the answer is dropped, it waits for [`LAST_ATTEMPT_MAX`] at most.
    pub(crate) fn at_once(&self) -> watch::Receiver<()> {
        self.at_once.subscribe()
    }

    /// Lets those who want to hear of it do what they do last.
    async fn end_at_once(&self) {
        self.at_once.send_replace(());
        let _ = tokio::time::timeout(LAST_ATTEMPT_MAX, self.at_once.closed()).await;
    }
}

/// From here on SIGINT, SIGTERM and SIGHUP no longer end the process by themselves: the first one cancels the token, a
/// second SIGINT or SIGTERM ends the process with 128 and the signal's number, as shells expect, after what is done last. It ends with 1 where it is still there 28 s
/// after the first one.
///
/// They are heard on a thread of its own, which nothing that hangs can keep from it: it waits for no other thread. It ends with the process.
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
        // Whoever should read the log may have stopped reading it: that must not keep the second signal from being heard. Where no thread can be had
        // the line is lost.
        let tell = move || info!("stopping after {name}; once more to stop at once");
        let _ = std::thread::Builder::new().name("stopping".to_owned()).spawn(tell);
        let status = tokio::select! {
            (name, number) = signals.next() => {
                heard.end_at_once().await;
                logging::end(move || warn!("stopped at once after a second signal, {name}"));
                128 + number
            }
            () = tokio::time::sleep(end_max) => {
                let late = anyhow!(
                    "not everything ended within {end_max:?} of {name}: a thread of the host is held up; it was cut off; please report this"
                );
                logging::end(move || logging::tell_failure(&late));
                1
            }
        };
        std::process::exit(status)
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

    /// The next signal that was sent on purpose, by name and number.
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
    use rustix::process::{Pid, Signal as Sent, kill_process};
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Command, Output, Stdio};
    use std::sync::mpsc;

    /// Set in a child: it is wedged, and is to end within so many milliseconds of the first signal.
    const END_MAX_VARIABLE: &str = "INFORMANT_TEST_END_MAX";
    /// What it says when it is wedged, and when it has heard the first signal.
    const WEDGED: &str = "wedged and ready";
    const ASKED: &str = "asked to end";
    /// A child is gone by then, and has failed.
    const CHILD_MAX: Duration = Duration::from_secs(60);

    /// A process whose async runtime does nothing any more, as that of a host would be in which something holds every worker.
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

    /// The end of a wedged child, that is asked to end so often.
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
            // Two at once may be one.
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
