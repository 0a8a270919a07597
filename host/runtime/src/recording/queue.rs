//! The queue from plugins' threads to the writing thread: unchanged data, in order, bounded by bytes. No plugin waits
//! for room; without room the push is refused.

use super::format::{CalledWith, RecordedHostCall, RecordingHead};
use crate::account::Weighed;
use crate::plugin_name::PluginName;
use serde_json::Value;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;

/// Bytes that wait to be written. With some MiB for each call, this is still a dozen calls.
pub(super) const WAITING_BYTES_MAX: usize = 64 << 20;
/// Bytes that wait of one recording: a plugin that is quicker than the disk ends its own recording, and not those of
/// others.
pub(super) const WAITING_BYTES_OF_ONE_MAX: usize = WAITING_BYTES_MAX / 2;
/// The bytes of a waiting line beside its texts, and of each value in it. An estimate, so that many small lines are
/// bounded too.
const THING_BYTES: usize = 128;
const VALUE_BYTES: usize = size_of::<Value>();

/// A recording, as both sides know it.
pub(super) struct Recorded {
    pub(super) number: u64,
    pub(super) plugin: PluginName,
    pub(super) path: PathBuf,
    /// Whether the recording takes no more lines. Either side may end it.
    is_over: AtomicBool,
    /// The bytes of its waiting lines.
    waiting: AtomicUsize,
}

impl Recorded {
    pub(super) fn new(number: u64, plugin: PluginName, path: PathBuf) -> Self {
        let (is_over, waiting) = (AtomicBool::new(false), AtomicUsize::new(0));
        Self { number, plugin, path, is_over, waiting }
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    /// Ends the recording. Returns whether it had not ended before.
    pub(super) fn end(&self) -> bool {
        !self.is_over.swap(true, Relaxed)
    }
}

impl Weighed for Recorded {
    fn part(&self) -> &'static str {
        "recordings"
    }

    fn bytes(&self) -> u64 {
        self.waiting.load(Relaxed) as u64
    }
}

/// The reason of a recording's end.
#[derive(Debug, thiserror::Error)]
pub(super) enum EndReason {
    #[error("the plugin was stopped")]
    Stopped,
    #[error("its version of the plugin ended")]
    Ended,
    #[error("the host ended")]
    HostEnded,
    #[error("it could not be written as fast as the plugin works")]
    Slow,
    #[error("it has as many bytes as it may have")]
    Large,
    #[error(transparent)]
    TooMany(#[from] super::secrets::TooMany),
    #[error("it cannot be written: {0}")]
    Unwritable(#[from] io::Error),
}

impl EndReason {
    /// The advice about an unexpected end.
    pub(super) fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Stopped | Self::Ended | Self::HostEnded => return None,
            Self::Slow => "record to a faster disk, or fewer plugins with --record-plugin",
            Self::Large => "--record-size allows more",
            Self::TooMany(_) => "let it read fewer Secrets, and start the host again",
            Self::Unwritable(_) => {
                "see that its disk has room, or record to another with --record; the plugin's next version is recorded anew"
            }
        })
    }
}

/// A line to write, unchanged: secrets are still in it.
pub(super) enum PendingLine {
    Called {
        at: u64,
        with: CalledWith,
        /// The resource of the event's object.
        resource: String,
    },
    Ended {
        result: Value,
    },
    Asked(RecordedHostCall),
}

impl PendingLine {
    fn bytes(&self) -> usize {
        let texts = match self {
            Self::Called { with: CalledWith::Handle(event), .. } => {
                event.object.len() + event.old.as_ref().map_or(0, String::len)
            }
            Self::Called { with: CalledWith::Reconcile { key, .. }, .. } => key.len(),
            Self::Called { .. } => 0,
            Self::Ended { result } => bytes_of(result),
            Self::Asked(RecordedHostCall { with, answer, .. }) => bytes_of(with) + bytes_of(answer),
        };
        THING_BYTES + texts
    }
}

/// The bytes of a host function's value: few parts, some of them long.
fn bytes_of(value: &Value) -> usize {
    VALUE_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(bytes_of).sum(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| name.len() + bytes_of(value)).sum()
            }
            _ => 0,
        }
}

/// A message to the thread.
pub(super) enum Message {
    /// A recording begins; it may have so many bytes.
    Begin { of: Arc<Recorded>, file: Box<dyn Write + Send>, bytes_max: u64, head: RecordingHead },
    /// A line that takes so many bytes of the queue.
    Told(Arc<Recorded>, PendingLine, usize),
    /// A recording has ended.
    End(Arc<Recorded>, EndReason),
    /// All recordings have ended.
    Stop,
}

/// A push was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    NoRoom,
    /// The writing thread has ended.
    Gone,
}

/// The handle to the thread. Clones share it.
#[derive(Clone)]
pub(super) struct Sender {
    messages: mpsc::Sender<Message>,
    waiting: Arc<AtomicUsize>,
}

/// The thread's end of the queue.
pub(super) struct Receiver {
    pub(super) messages: mpsc::Receiver<Message>,
    waiting: Arc<AtomicUsize>,
}

pub(super) fn queue() -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::channel();
    let waiting = Arc::default();
    (
        Sender { messages: sender, waiting: Arc::clone(&waiting) },
        Receiver { messages: receiver, waiting },
    )
}

impl Sender {
    /// Pushes a line. Never waits.
    pub(super) fn tell(&self, of: &Arc<Recorded>, told: PendingLine) -> Result<(), Refused> {
        let bytes = told.bytes();
        let of_all = self.waiting.fetch_add(bytes, Relaxed) + bytes;
        let of_one = of.waiting.fetch_add(bytes, Relaxed) + bytes;
        let sent = match of_all <= WAITING_BYTES_MAX && of_one <= WAITING_BYTES_OF_ONE_MAX {
            true => self.send(Message::Told(of.clone(), told, bytes)),
            false => Err(Refused::NoRoom),
        };
        if sent.is_err() {
            self.waiting.fetch_sub(bytes, Relaxed);
            of.waiting.fetch_sub(bytes, Relaxed);
        }
        sent
    }

    /// For beginnings and ends, as many as recordings: they need no room.
    pub(super) fn send(&self, message: Message) -> Result<(), Refused> {
        self.messages.send(message).map_err(|_| Refused::Gone)
    }
}

impl Receiver {
    /// Notes that a line was written, or never will be.
    pub(super) fn is_done(&self, of: &Recorded, bytes: usize) {
        self.waiting.fetch_sub(bytes, Relaxed);
        of.waiting.fetch_sub(bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(number: u64) -> Arc<Recorded> {
        Arc::new(Recorded::new(number, "p".parse().expect("a name"), "p.rec".into()))
    }

    /// A line that takes so many bytes of the queue.
    fn thing(bytes: usize) -> PendingLine {
        PendingLine::Ended { result: "x".repeat(bytes - THING_BYTES - VALUE_BYTES).into() }
    }

    #[test]
    fn what_waits_is_bounded_for_each_recording_and_for_all() {
        let (sender, receiver) = queue();
        let [one, other, third] = [1, 2, 3].map(recorded);
        assert_eq!(sender.tell(&one, thing(WAITING_BYTES_OF_ONE_MAX - 1_000)), Ok(()));
        assert_eq!(sender.tell(&one, thing(1_001)), Err(Refused::NoRoom), "one byte more");
        assert_eq!(
            sender.tell(&one, thing(1_000)),
            Ok(()),
            "nothing is counted for what was not taken"
        );
        assert_eq!(
            sender.tell(&other, thing(WAITING_BYTES_OF_ONE_MAX)),
            Ok(()),
            "it has its own room"
        );
        assert_eq!(sender.tell(&third, thing(1_000)), Err(Refused::NoRoom), "there is no more");
        assert_eq!(
            sender.send(Message::End(third.clone(), EndReason::Slow)),
            Ok(()),
            "an end needs none"
        );
        receiver.is_done(&one, 1_000);
        assert_eq!(sender.tell(&third, thing(1_000)), Ok(()));
        drop(receiver);
        receiver_is_gone(&sender, &one);
    }

    #[track_caller]
    fn receiver_is_gone(sender: &Sender, of: &Arc<Recorded>) {
        of.waiting.store(0, Relaxed);
        sender.waiting.store(0, Relaxed);
        assert_eq!(sender.tell(of, thing(1_000)), Err(Refused::Gone));
    }

    #[test]
    fn many_small_things_are_bounded() {
        let (sender, _receiver) = queue();
        let one = recorded(1);
        let small =
            || PendingLine::Called { at: 0, with: CalledWith::Start, resource: String::new() };
        let room = WAITING_BYTES_OF_ONE_MAX / THING_BYTES;
        assert!((0..room).all(|_| sender.tell(&one, small()).is_ok()));
        assert_eq!(sender.tell(&one, small()), Err(Refused::NoRoom));
    }

    #[test]
    fn a_value_counts_with_all_that_is_in_it() {
        let value = serde_json::json!({ "ok": { "items": ["ab", "c"], "next": null } });
        assert_eq!(bytes_of(&value), 6 * VALUE_BYTES + "okitemsabcnext".len());
    }
}
