//! What a storm's host wrote, read: the guest's line of each event, and the host's own of versions that took over or did not.

use anyhow::Context;
use jiff::Timestamp;

use crate::host::Line;
use crate::storm::history::{Uid, uid};

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// `added`
    Added,
    /// `updated`
    Updated,
    /// `deleted` because it is gone.
    Deleted,
    /// `deleted` because it left the view.
    Left,
    /// `deleted`, and nobody saw how: a host was not there when it happened.
    Lost,
}

/// Why it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was there before the subscription.
    Initial,
    /// The API server said so.
    Watch,
    /// A new version asked for its objects again.
    Reload,
    /// A list has shown it: a host was not there when it happened.
    Relist,
}

/// What becomes of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// The guest takes the event.
    Takes,
    /// It traps over it.
    Traps,
    /// It fails, and the event comes again.
    Fails,
    /// It wants it no more.
    GivesUp,
}

impl CallEnd {
    /// Whether the event comes again.
    pub fn is_owed(self) -> bool {
        matches!(self, Self::Traps | Self::Fails)
    }
}

/// An event as the guest was handed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The version that was called.
    pub by: u32,
    /// The subscription's name, as that version has it.
    pub subscription: Box<str>,
    /// The object.
    pub uid: Uid,
    /// Its resourceVersion.
    pub version: u64,
    /// What happened.
    pub change: Change,
    /// Why it is told.
    pub reason: Reason,
    /// 1 at first.
    pub attempt: u32,
    /// Older events that it stands for.
    pub coalesced: u32,
    /// What becomes of it.
    pub end: CallEnd,
}

/// One line that matters.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// When the host wrote it.
    pub at: Timestamp,
    /// What it says.
    pub what: LogKind,
}

/// What a line says.
#[derive(Clone, Debug)]
pub enum LogKind {
    /// The guest was called.
    Event(Event),
    /// A version is in charge.
    InCharge(u32),
    /// A file was not loaded.
    NotLoaded,
    /// The host, or the guest, tells of something else.
    Other,
}

/// Reads a line of the plugin's; an event that cannot be read is an error.
pub fn entry(line: &Line) -> anyhow::Result<LogEntry> {
    let at = line.field("timestamp").and_then(|text| text.parse().ok());
    let at = at.with_context(|| format!("a line without its time: {}", line.text))?;
    let message = line.message();
    let what = if let Some(event) = message.strip_prefix("event ") {
        let read = event_of(event);
        LogKind::Event(read.with_context(|| format!("an event that cannot be read: {message}"))?)
    } else if message == "running" || message.starts_with("reloaded ") {
        let version = line.field("version").and_then(|version| version.parse().ok());
        LogKind::InCharge(version.with_context(|| format!("no version in {}", line.text))?)
    } else if message.starts_with("not loaded") {
        LogKind::NotLoaded
    } else {
        LogKind::Other
    };
    Ok(LogEntry { at, what })
}

pub(super) fn event_of(text: &str) -> Option<Event> {
    let mut words = text.split(' ');
    let mut word = || words.next();
    let (by, subscription, uid, version) =
        (word()?.parse().ok()?, word()?.into(), uid(word()?)?, word()?.parse().ok()?);
    let (change, reason, gone) = (word()?, word()?, word()?);
    let change = match (change, gone) {
        ("added", "-") => Change::Added,
        ("updated", "-") => Change::Updated,
        ("deleted", "deleted") => Change::Deleted,
        ("deleted", "left-view") => Change::Left,
        ("deleted", "unknown") => Change::Lost,
        _ => return None,
    };
    let reason = match reason {
        "initial" => Reason::Initial,
        "watch" => Reason::Watch,
        "reload" => Reason::Reload,
        "relist" => Reason::Relist,
        _ => return None,
    };
    let (attempt, coalesced) = (word()?.parse().ok()?, word()?.parse().ok()?);
    let end = match word()? {
        "-" => CallEnd::Takes,
        "traps" => CallEnd::Traps,
        "fails" => CallEnd::Fails,
        "gives-up" => CallEnd::GivesUp,
        _ => return None,
    };
    Some(Event { by, subscription, uid, version, change, reason, attempt, coalesced, end })
}
