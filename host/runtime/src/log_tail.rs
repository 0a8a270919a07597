//! The last log lines of one plugin's name, for its readers: a ring of bounded bytes. A reader has a place in the ring
//! and no queue of its own, so slow readers cost nothing and lose the lines that the ring forgets.
//!
//! The host's own lines about the plugin are not in it.

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use tokio::sync::watch;

/// Bytes of a line beside its text: its entry in the ring, and the head of its allocation.
const ENTRY_BYTES: usize = 64;
/// Bytes of the lines that a reader takes at once, if it is more than one line.
const PIECE_BYTES_MAX: usize = 64 << 10;

/// A line as the host logs it, with the keys of the host's JSON log.
#[derive(Debug, Default, Serialize)]
pub(crate) struct LoggedLine<'a> {
    pub(crate) timestamp: Timestamp,
    pub(crate) level: &'static str,
    pub(crate) message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shard: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource_version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schedule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fields: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) span_id: Option<&'a str>,
}

/// A line of the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLine {
    /// Microseconds since 1970, made unique: ids grow from line to line, also over a restart of the host.
    pub id: u64,
    /// A JSON object.
    pub json: Arc<str>,
}

/// The ring of one plugin. Clones share it.
#[derive(Clone)]
pub(crate) struct LogTail(Arc<TailState>);

struct TailState {
    ring: Mutex<Ring>,
    /// Whether the plugin was ever granted Secrets, so that a line may have the value of one.
    may_hold_secrets: AtomicBool,
}

/// Oldest first.
struct Ring {
    lines: VecDeque<KeptLine>,
    bytes: usize,
    /// Invariant 19.
    bytes_max: usize,
    /// The id of the newest line that the ring no longer has.
    forgotten: u64,
    /// Wakes readers; `None` without any, because most plugins never have one.
    readers: Option<watch::Sender<()>>,
}

impl LogTail {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let lines = VecDeque::new();
        let ring = Mutex::new(Ring { lines, bytes: 0, bytes_max, forgotten: 0, readers: None });
        Self(Arc::new(TailState { ring, may_hold_secrets: AtomicBool::new(false) }))
    }

    /// Sets the bound in bytes; 0: no lines are kept.
    pub(crate) fn set_bytes_max(&self, bytes_max: usize) {
        let mut ring = self.0.ring.lock();
        ring.bytes_max = bytes_max;
        ring.make_room(0);
        ring.lines.shrink_to_fit();
    }

    /// The plugin may read or write Secrets from now on.
    pub(crate) fn grants_secrets(&self) {
        self.0.may_hold_secrets.store(true, Relaxed);
    }

    pub(crate) fn may_hold_secrets(&self) -> bool {
        self.0.may_hold_secrets.load(Relaxed)
    }

    /// Bytes of the lines.
    pub(crate) fn bytes(&self) -> usize {
        self.0.ring.lock().bytes
    }

    /// Keeps a line.
    pub(crate) fn push(&self, line: &LoggedLine<'_>) {
        if self.0.ring.lock().bytes_max == 0 {
            return;
        }
        let Ok(json) = serde_json::to_string(line) else { return };
        let at = u64::try_from(line.timestamp.as_microsecond()).unwrap_or_default();
        let mut ring = self.0.ring.lock();
        let last = ring.lines.back().map_or(ring.forgotten, |line| line.id);
        let id = at.max(last + 1);
        let bytes = json.len() + ENTRY_BYTES;
        ring.make_room(bytes);
        if bytes > ring.bytes_max {
            ring.forgotten = id;
        } else {
            ring.bytes += bytes;
            ring.lines.push_back(KeptLine { id, json: json.into() });
        }
        // An error: the last one is gone.
        if ring.readers.as_ref().is_some_and(|readers| readers.send(()).is_err()) {
            ring.readers = None;
        }
    }

    /// A reader of the lines after this one. None: of the last so many, or of all that are kept.
    pub(crate) fn reader(&self, after: Option<u64>, lines_max: Option<usize>) -> LogReader {
        let mut ring = self.0.ring.lock();
        let news = ring.readers.get_or_insert_with(|| watch::Sender::new(())).subscribe();
        let skipped = lines_max.map_or(0, |most| ring.lines.len().saturating_sub(most));
        let before = skipped.checked_sub(1).and_then(|last| ring.lines.get(last));
        let first = before.map_or(ring.forgotten, |line| line.id);
        LogReader { tail: Arc::downgrade(&self.0), news, seen: after.unwrap_or(first) }
    }
}

impl Default for LogTail {
    /// Keeps nothing: of an instance without a plugin.
    fn default() -> Self {
        Self::new(0)
    }
}

impl fmt::Debug for LogTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogTail").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

impl Ring {
    /// Forgets the oldest lines until there is room for so many bytes.
    fn make_room(&mut self, bytes: usize) {
        while self.bytes + bytes > self.bytes_max {
            let Some(oldest) = self.lines.pop_front() else { return };
            self.bytes -= oldest.json.len() + ENTRY_BYTES;
            self.forgotten = oldest.id;
        }
    }

    fn piece(&self, after: u64) -> LogPiece {
        let first = self.lines.partition_point(|line| line.id <= after);
        let mut bytes = 0;
        let mut is_room = |line: &&KeptLine| {
            let is_first = bytes == 0;
            bytes += line.json.len();
            is_first || bytes <= PIECE_BYTES_MAX
        };
        let lines = self.lines.range(first..).take_while(|line| is_room(line)).cloned().collect();
        LogPiece { lines, misses_lines: after < self.forgotten }
    }
}

/// Some lines of a plugin.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LogPiece {
    /// In their order.
    pub lines: Vec<KeptLine>,
    /// Whether the ring forgot lines before these that the reader did not get.
    pub misses_lines: bool,
}

/// A reader of a plugin's lines.
pub struct LogReader {
    tail: Weak<TailState>,
    news: watch::Receiver<()>,
    /// The id of the last line that the reader got, or that it does not want.
    seen: u64,
}

impl LogReader {
    /// Whether the plugin was ever granted Secrets.
    pub fn may_hold_secrets(&self) -> bool {
        self.tail.upgrade().is_some_and(|tail| tail.may_hold_secrets.load(Relaxed))
    }

    /// The id after whose line the reader continues.
    pub fn place(&self) -> u64 {
        self.seen
    }

    /// The lines that are there now and that the reader did not get. Empty: there are none.
    pub fn take(&mut self) -> LogPiece {
        let Some(tail) = self.tail.upgrade() else { return LogPiece::default() };
        self.news.mark_unchanged();
        let ring = tail.ring.lock();
        let piece = ring.piece(self.seen);
        self.seen = piece.lines.last().map_or(self.seen, |line| line.id).max(ring.forgotten);
        piece
    }

    /// Waits for lines. None: the plugin is gone.
    pub async fn next(&mut self) -> Option<LogPiece> {
        loop {
            let piece = self.take();
            if piece != LogPiece::default() {
                return Some(piece);
            }
            self.news.changed().await.ok()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a line of these tests.
    fn line_bytes() -> usize {
        let tail = LogTail::new(1 << 10);
        push(&tail, 1, "a");
        tail.bytes()
    }

    fn push(tail: &LogTail, second: i64, message: &str) {
        let timestamp = Timestamp::from_second(second).expect("a time");
        tail.push(&LoggedLine { timestamp, level: "INFO", message, ..LoggedLine::default() });
    }

    fn messages(piece: &LogPiece) -> String {
        let message = |line: &KeptLine| {
            let line: serde_json::Value = serde_json::from_str(&line.json).expect("it is JSON");
            line["message"].as_str().expect("a message").to_owned()
        };
        let lost = if piece.misses_lines { "..." } else { "" };
        format!("{lost}{}", piece.lines.iter().map(message).collect::<String>())
    }

    /// Lines of one letter in a ring for so many, and the ones that a new reader gets.
    #[track_caller]
    fn check(room: usize, logged: &str, last: Option<usize>, expect: &str) {
        let tail = LogTail::new(room * line_bytes());
        logged.chars().for_each(|letter| push(&tail, 1, &letter.to_string()));
        assert_eq!(messages(&tail.reader(None, last).take()), expect, "{logged} in {room}");
        assert!(tail.bytes() <= room * line_bytes());
    }

    #[test]
    fn the_oldest_lines_are_forgotten_above_the_bound() {
        check(3, "abc", None, "abc");
        check(3, "abcd", None, "bcd");
        check(3, "abcd", Some(2), "cd");
        check(3, "abcd", Some(0), "");
        check(3, "abcd", Some(9), "bcd");
        check(0, "abcd", None, "");
    }

    #[test]
    fn a_lower_bound_forgets_lines_at_once() {
        let tail = LogTail::new(1 << 10);
        ["a", "b", "c"].iter().for_each(|message| push(&tail, 1, message));
        tail.set_bytes_max(line_bytes());
        assert_eq!(
            (messages(&tail.reader(None, None).take()), tail.bytes()),
            ("c".into(), line_bytes())
        );
        tail.set_bytes_max(0);
        push(&tail, 1, "d");
        assert_eq!((messages(&tail.reader(None, None).take()), tail.bytes()), (String::new(), 0));
    }

    #[test]
    fn a_line_larger_than_the_ring_is_missed_and_not_kept() {
        let tail = LogTail::new(line_bytes());
        let mut reader = tail.reader(None, None);
        push(&tail, 1, &"x".repeat(1 << 10));
        assert_eq!(messages(&reader.take()), "...");
        assert_eq!(messages(&reader.take()), "");
        push(&tail, 1, "a");
        assert_eq!(messages(&reader.take()), "a");
    }

    #[test]
    fn a_slow_reader_learns_that_it_missed_lines() {
        let tail = LogTail::new(2 * line_bytes());
        let mut reader = tail.reader(None, None);
        push(&tail, 1, "a");
        assert_eq!(messages(&reader.take()), "a");
        ["b", "c", "d"].iter().for_each(|message| push(&tail, 1, message));
        assert_eq!(messages(&reader.take()), "...cd");
        assert_eq!(messages(&reader.take()), "");
    }

    #[test]
    fn ids_are_times_that_grow() {
        let tail = LogTail::new(1 << 10);
        [5, 5, 4, 7].iter().for_each(|second| push(&tail, *second, "a"));
        let ids: Vec<u64> =
            tail.reader(None, None).take().lines.iter().map(|line| line.id).collect();
        assert_eq!(ids, [5_000_000, 5_000_001, 5_000_002, 7_000_000]);
        let after = tail.reader(Some(5_000_001), None).take();
        assert_eq!(after.lines.len(), 2);
        assert!(!after.misses_lines);
    }

    #[tokio::test]
    async fn a_reader_waits_for_lines_until_the_plugin_is_gone() {
        let tail = LogTail::new(1 << 10);
        let mut reader = tail.reader(None, None);
        let waits =
            tokio::spawn(async move { (reader.next().await.map(|it| messages(&it)), reader) });
        tokio::task::yield_now().await;
        push(&tail, 1, "a");
        let (found, mut reader) = waits.await.expect("it ends");
        assert_eq!(found.as_deref(), Some("a"));
        drop(tail);
        assert_eq!(reader.next().await, None);
    }
}
