//! The thread that writes recordings: hides secrets, writes lines, and ends a recording whose file cannot be written.
//! [`RecordingWriter`] has its logic, synchronous and with the time as a parameter.

use super::format::{CalledWith, RecordedHostCall, RecordingHead, RecordingLine};
use super::queue::{EndReason, Message, PendingLine, Receiver, Recorded, Sender, queue};
use super::recorder::RECORDING_BYTES_MAX;
use super::secrets::{Secrets, TooMany};
use crate::plugin_name::PluginName;
use hashbrown::HashMap;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// The room for the last line, which has the reason of the end.
pub(super) const LAST_LINE_BYTES: u64 = 512;
/// How long a line may wait for others: the last calls of a quiet plugin are soon in its file.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

/// Starts the thread.
pub(super) fn start() -> io::Result<(Sender, JoinHandle<()>)> {
    let (sender, receiver) = queue();
    let thread = std::thread::Builder::new().name("recordings".into());
    Ok((sender, thread.spawn(move || run(&receiver))?))
}

fn run(receiver: &Receiver) {
    let mut writer = RecordingWriter::default();
    loop {
        let wait = writer.next_flush.map(|due| due.saturating_duration_since(Instant::now()));
        let message = match wait {
            None => receiver.messages.recv().map_err(RecvTimeoutError::from),
            Some(wait) => receiver.messages.recv_timeout(wait),
        };
        match message {
            Ok(Message::Begin { of, file, bytes_max, head }) => {
                writer.begin(of, file, bytes_max, &head, Instant::now());
            }
            Ok(Message::Told(of, told, bytes)) => {
                writer.write(&of, told, Instant::now());
                receiver.is_done(&of, bytes);
            }
            Ok(Message::End(of, why)) => writer.end(&of, why),
            Err(RecvTimeoutError::Timeout) => {}
            Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => break,
        }
        writer.flush_due(Instant::now());
    }
    writer.flush_all();
}

/// All recordings in progress.
#[derive(Default)]
pub(super) struct RecordingWriter {
    open: HashMap<u64, OpenRecording>,
    /// The Secrets that each plugin has seen, in all of its versions and shards. One thread writes all recordings in
    /// the order of the events. So a value that one shard has seen is known before another shard can use it.
    secrets: HashMap<PluginName, Secrets>,
    /// When the oldest waiting line must be flushed.
    next_flush: Option<Instant>,
}

/// One recording.
struct OpenRecording {
    of: Arc<Recorded>,
    file: BufWriter<Box<dyn Write + Send>>,
    /// The remaining bytes.
    left: u64,
    /// Since when a line waits.
    unflushed: Option<Instant>,
}

impl RecordingWriter {
    pub(super) fn begin(
        &mut self,
        of: Arc<Recorded>,
        file: Box<dyn Write + Send>,
        bytes_max: u64,
        head: &RecordingHead,
        now: Instant,
    ) {
        let (file, left) = (BufWriter::new(file), bytes_max.min(RECORDING_BYTES_MAX));
        let mut open = OpenRecording { of: of.clone(), file, left, unflushed: None };
        let put = open.put(&value(head), now);
        self.open.insert(of.number, open);
        self.after(&of, put);
    }

    pub(super) fn write(&mut self, of: &Arc<Recorded>, told: PendingLine, now: Instant) {
        // A line after the end.
        let Some(open) = self.open.get_mut(&of.number) else { return };
        let secrets = self.secrets.entry(of.plugin.clone()).or_default();
        let put =
            hidden(secrets, told).map_err(EndReason::from).and_then(|line| open.put(&line, now));
        self.after(of, put);
    }

    fn after(&mut self, of: &Recorded, put: Result<Instant, EndReason>) {
        match put {
            Ok(due) => self.next_flush = Some(self.next_flush.map_or(due, |next| next.min(due))),
            Err(why) => self.end(of, why),
        }
    }

    /// Writes the last line, and logs the end.
    pub(super) fn end(&mut self, of: &Recorded, why: EndReason) {
        let Some(mut open) = self.open.remove(&of.number) else { return };
        of.end();
        let why = match why {
            EndReason::Unwritable(_) => why,
            why => open.put_last(&why).err().unwrap_or(why),
        };
        if matches!(why, EndReason::Unwritable(_)) {
            // The failed bytes are not written again when the file is closed.
            let _ = open.file.into_parts();
        }
        tell(of, &why);
    }

    /// Flushes the files with lines that have waited long enough.
    pub(super) fn flush_due(&mut self, now: Instant) {
        if self.next_flush.is_none_or(|due| now < due) {
            return;
        }
        self.flush(|since| now >= since + FLUSH_AFTER);
        let waiting = self.open.values().filter_map(|open| open.unflushed);
        self.next_flush = waiting.min().map(|since| since + FLUSH_AFTER);
    }

    pub(super) fn flush_all(&mut self) {
        self.flush(|_| true);
    }

    fn flush(&mut self, is_due: impl Fn(Instant) -> bool) {
        let mut failed = Vec::new();
        for open in self.open.values_mut().filter(|open| open.unflushed.is_some_and(&is_due)) {
            open.unflushed = None;
            if let Err(problem) = open.file.flush() {
                failed.push((open.of.clone(), problem));
            }
        }
        failed.into_iter().for_each(|(of, problem)| self.end(&of, problem.into()));
    }
}

/// Logs the end of a recording once.
fn tell(of: &Recorded, why: &EndReason) {
    let (plugin, path) = (of.plugin.as_str(), of.path.display());
    match why.advice() {
        None => info!(plugin, "the recording {path} has ended: {why}"),
        Some(advice) => warn!(plugin, "the recording {path} ends early: {why}; {advice}"),
    }
}

/// The line without secrets.
fn hidden(secrets: &mut Secrets, told: PendingLine) -> Result<Value, TooMany> {
    let line = match told {
        PendingLine::Called { at, mut with, resource } => {
            if let CalledWith::Handle(event) = &mut with {
                event.object = secrets.object(&resource, &event.object)?;
                if let Some(old) = &mut event.old {
                    *old = secrets.object(&resource, old)?;
                }
            }
            RecordingLine::Call { at, with }
        }
        PendingLine::Ended { result } => RecordingLine::Ended { result },
        PendingLine::Asked(RecordedHostCall { function, mut with, mut answer }) => {
            secrets.call(&function, &mut with, &mut answer)?;
            return Ok(value(&RecordingLine::Asked(RecordedHostCall { function, with, answer })));
        }
    };
    let mut line = value(&line);
    secrets.everywhere(&mut line)?;
    Ok(line)
}

fn value(line: &impl Serialize) -> Value {
    serde_json::to_value(line).unwrap_or_default()
}

impl OpenRecording {
    /// Adds a line. Returns the time until which it may wait for others.
    fn put(&mut self, line: &Value, now: Instant) -> Result<Instant, EndReason> {
        let line = line.to_string() + "\n";
        let bytes = line.len() as u64;
        if bytes + LAST_LINE_BYTES > self.left {
            return Err(EndReason::Large);
        }
        self.left -= bytes;
        self.file.write_all(line.as_bytes())?;
        Ok(*self.unflushed.get_or_insert(now) + FLUSH_AFTER)
    }

    fn put_last(&mut self, why: &EndReason) -> Result<(), EndReason> {
        let line = serde_json::to_string(&RecordingLine::Stopped { why: why.to_string() });
        self.file.write_all((line.unwrap_or_default() + "\n").as_bytes())?;
        Ok(self.file.flush()?)
    }
}

#[cfg(test)]
mod tests;
