//! Standard output, which the log shares with printed text.
//!
//! While the log is on, one thread writes all waiting lines at once. A plugin that floods the log runs on a thread of
//! low priority. Such a thread would otherwise hold standard output's lock through thousands of writes, and the lines
//! of all other plugins would wait. A slow reader blocks the threads that log once [`LINES_MAX`] lines wait; no line
//! is dropped. If the process is killed, the waiting lines are lost, as they are in a pipe.

use super::{LastWords, footer};
use anyhow::{Context, Result};
use parking_lot::Mutex;
use std::fmt;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

/// The number of lines that may wait for the thread. It writes them in a few milliseconds.
const LINES_MAX: usize = 1_024;
/// The number of bytes in one write.
const WRITE_BYTES: usize = 64 << 10;
/// How long the process waits at its end for a reader that does not read.
const END_MAX: Duration = Duration::from_millis(1_500);

/// The channel to the thread, once the log is on.
static LINES: OnceLock<NonBlocking> = OnceLock::new();
/// The thread, until it is asked to end.
static THREAD: Mutex<Option<WorkerGuard>> = Mutex::new(None);

/// The first failed write of a command's output.
static FAILURE: Failure = Failure(Mutex::new(None));

/// Standard output. No write fails: if its reader is gone (`informant dev ... | head`), only its lines are lost. [`finish_output`]
/// returns the first failure that has another cause. A log that cannot be written ends no host.
pub(crate) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match LINES.get() {
            // The thread has ended: the process ends.
            Some(lines) => drop(lines.clone().write_all(bytes)),
            None => {
                FAILURE.keep(io::stdout().write_all(bytes));
            }
        }
        Ok(bytes.len())
    }

    /// Writes the text in one piece, so that no other text comes between its parts.
    fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        self.write_all(text.to_string().as_bytes())
    }

    /// The thread flushes by itself.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a part of a command's output at once. False: it is not written, so that more parts have no use.
pub(crate) fn put(text: &str) -> bool {
    let mut out = io::stdout().lock();
    FAILURE.keep(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes the rest of a command's output.
///
/// # Errors
/// Some of the output was not written, and its reader was not gone.
pub(crate) fn finish_output() -> Result<()> {
    FAILURE.keep(io::stdout().flush());
    FAILURE.first()
}

struct Failure(Mutex<Option<io::Error>>);

impl Failure {
    /// Keeps the error of a write, unless it is for want of a reader or not the first. False: the write failed.
    fn keep(&self, result: io::Result<()>) -> bool {
        let Err(error) = result else { return true };
        let is_reader_gone =
            matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset);
        if !is_reader_gone {
            self.0.lock().get_or_insert(error);
        }
        false
    }

    fn first(&self) -> Result<()> {
        let result = self.0.lock().take().map_or(Ok(()), Err);
        result.context("standard output cannot be written")
    }
}

/// From now on, a thread writes the lines.
pub(super) fn begin() {
    let writer = BufWriter::with_capacity(WRITE_BYTES, Unbuffered);
    let builder = NonBlockingBuilder::default().lossy(false).buffered_lines_limit(LINES_MAX);
    let (lines, thread) = builder.thread_name("log").finish(writer);
    if LINES.set(lines).is_ok() {
        *THREAD.lock() = Some(thread);
    }
}

/// Writes the waiting lines and the last words, and nothing after them. Waits up to [`END_MAX`] for a reader that
/// does not read.
pub(crate) fn end(last_words: LastWords) {
    let (done, is_done) = mpsc::sync_channel(1);
    let end = move || {
        let error = last_words.log();
        drop(THREAD.lock().take());
        footer::unpin();
        // The cursor is below the log now. Erasing the footer would erase the error.
        error.iter().for_each(super::print_error);
        let _ = done.send(());
    };
    // If no thread can be started, the waiting lines are lost, and the process still ends.
    let _ = std::thread::Builder::new().name("log-end".to_owned()).spawn(end);
    let _ = is_done.recv_timeout(END_MAX);
}

/// Standard output without the standard library's buffer, which would write each line separately.
struct Unbuffered;

impl Write for Unbuffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        footer::write_log(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn only_the_want_of_a_reader_is_no_failure() {
        let check = |result: io::Result<()>, is_written: bool, expect: Option<&str>| {
            let failure = Failure(Mutex::new(None));
            assert_eq!(failure.keep(result), is_written);
            let found = failure.first().err().map(|error| format!("{error:#}"));
            assert_eq!(found.as_deref(), expect);
        };
        check(Ok(()), true, None);
        let (reader, mut writer) = io::pipe().expect("a pipe");
        drop(reader);
        check(writer.write_all(b"text"), false, None);
        let mut full = OpenOptions::new().write(true).open("/dev/full").expect("a device");
        let expect = "standard output cannot be written: No space left on device (os error 28)";
        check(full.write_all(b"text"), false, Some(expect));
    }
}
