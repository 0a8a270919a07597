//! What plugins' threads hand to the thread that writes: as they saw it, in its order, in a queue that is bounded by bytes. Nobody waits for room; who
//! finds none is told so.

use super::format::{CalledWith, RecordedHostCall, RecordingHead};
use crate::account::Weighed;
use crate::plugin_name::PluginName;
use serde_json::Value;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;

/// Bytes that wait to be written. With an answer of some MiB a call, there are still a dozen calls.
pub(super) const WAITING_BYTES_MAX: usize = 64 << 20;
/// And those of one recording: a plugin that is quicker than the disk ends its own recording, and not those beside it.
pub(super) const WAITING_BYTES_OF_ONE_MAX: usize = WAITING_BYTES_MAX / 2;
/// What a thing that waits takes beside its texts, and each value in it, roughly: many small ones are bounded, too.
const THING_BYTES: usize = 128;
const VALUE_BYTES: usize = size_of::<Value>();

/// A recording, as both sides know it.
pub(super) struct Recorded {
    pub(super) number: u64,
    pub(super) plugin: PluginName,
    pub(super) path: PathBuf,
    /// Whether nothing is taken for it any more. Either side may end it.
    is_over: AtomicBool,
    /// Bytes of it that wait.
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

    /// Ends it; answers whether it was not over before.
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

/// Why a recording ends.
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
    /// What to do about an end that nobody has asked for.
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

/// Something to be written, as it was told: what is secret is still in it.
pub(super) enum PendingLine {
    Called {
        at: u64,
        with: CalledWith,
        /// That of the event's object.
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

/// What a value of a host function takes: few values, some of them long.
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

/// What the thread is told.
pub(super) enum Message {
    /// A recording begins; it may have so many bytes.
    Begin { of: Arc<Recorded>, file: Box<dyn Write + Send>, bytes_max: u64, head: RecordingHead },
    /// Something that takes so many bytes of the queue.
    Told(Arc<Recorded>, PendingLine, usize),
    /// A recording has ended.
    End(Arc<Recorded>, EndReason),
    /// All of them have.
    Stop,
}

/// Nothing was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    NoRoom,
    /// The thread that writes is gone.
    Gone,
}

/// The way to the thread. Clones lead to the same.
#[derive(Clone)]
pub(super) struct Sender {
    messages: mpsc::Sender<Message>,
    waiting: Arc<AtomicUsize>,
}

/// The thread's end.
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
    /// Never waits.
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

    /// For beginnings and ends, of which there are as many as recordings: they need no room.
    pub(super) fn send(&self, message: Message) -> Result<(), Refused> {
        self.messages.send(message).map_err(|_| Refused::Gone)
    }
}

impl Receiver {
    /// Something has been written, or will never be.
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

    /// A thing that takes so many bytes of the queue.
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
