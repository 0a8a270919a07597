//! Standard output, which the log shares with printed text.
//!
//! While the log is on, one thread writes all waiting lines at once. A plugin that floods the log runs on a thread of
//! low priority. Such a thread would otherwise hold standard output's lock through thousands of writes, and the lines
//! of all other plugins would wait. A slow reader blocks the threads that log once [`LINES_MAX`] lines wait; no line
//! is dropped. If the process is killed, the waiting lines are lost, as they are in a pipe.

use super::{LastWords, footer};
use parking_lot::Mutex;
use std::fmt;
use std::io::{self, BufWriter, Write};
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

/// Standard output. Its reader may be gone (`informant dev ... | head`): then only its lines are lost.
pub(crate) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // An error would have to go to standard error, which may be closed too.
        let _ = match LINES.get() {
            Some(lines) => lines.clone().write_all(bytes),
            None => io::stdout().write_all(bytes),
        };
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
