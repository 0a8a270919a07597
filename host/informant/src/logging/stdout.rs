//! Standard output, shared by the log and by what is printed beside it.
//!
//! While the log is on, one thread writes, as much at once as there is. A plugin that floods the log runs on a thread
//! of low priority, which would otherwise hold standard output's lock through thousands of writes, with the lines of
//! every other plugin behind it. A slow reader holds up the threads that log once so many lines wait; no line is
//! dropped. Lines that wait when the process is killed are lost, as they are in a pipe.

use super::footer;
use parking_lot::Mutex;
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

/// Lines that wait for the thread: a few milliseconds' worth of what it can write.
const LINES_MAX: usize = 1_024;
/// Bytes written at once.
const WRITE_BYTES: usize = 64 << 10;
/// How long a reader that does not read holds up the end.
const END_MAX: Duration = Duration::from_millis(1_500);

/// The way to the thread, from when the log is on.
static LINES: OnceLock<NonBlocking> = OnceLock::new();
/// The thread, until it is to end.
static THREAD: Mutex<Option<WorkerGuard>> = Mutex::new(None);

/// Whose reader may be gone (`informant dev ... | head`): then lines are lost, and nothing else.
pub(crate) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // An error would have to be told on standard error, which may be gone with it.
        let _ = match LINES.get() {
            Some(lines) => lines.clone().write_all(bytes),
            None => io::stdout().write_all(bytes),
        };
        Ok(bytes.len())
    }

    /// In one piece: nothing that others write comes between its parts.
    fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        self.write_all(text.to_string().as_bytes())
    }

    /// The thread does so by itself.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// From here on a thread writes.
pub(super) fn begin() {
    let writer = BufWriter::with_capacity(WRITE_BYTES, Unbuffered);
    let builder = NonBlockingBuilder::default().lossy(false).buffered_lines_limit(LINES_MAX);
    let (lines, thread) = builder.thread_name("log").finish(writer);
    if LINES.set(lines).is_ok() {
        *THREAD.lock() = Some(thread);
    }
}

/// Logs the last words, writes the lines that wait, and nothing after them. A reader that does not read is waited
/// for up to [`END_MAX`].
pub(crate) fn end(last_words: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::sync_channel(1);
    let end = move || {
        last_words();
        drop(THREAD.lock().take());
        footer::unpin();
        let _ = done.send(());
    };
    // Where no thread can be had the lines that wait are lost, and the process ends all the same.
    let _ = std::thread::Builder::new().name("log-end".to_owned()).spawn(end);
    let _ = is_done.recv_timeout(END_MAX);
}

/// Standard output without the buffer of the standard library, which would write each line by itself.
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
