//! Records live plugins: a tape for each version in each shard, a file for each tape.

use super::format::{CalledWith, NamedSubscription, RecordedHostCall, RecordingHead};
use super::queue::{EndReason, Message, PendingLine, Recorded, Refused, Sender};
use super::writer::start;
use crate::account::Weighed;
use crate::call_error::CallError;
use crate::guest::tape::{CallAnswer, Called, Tape, TapeOf, Tapes};
use crate::plugin_name::PluginName;
use crate::private_files;
use hashbrown::HashSet;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Instant;
use tracing::{error, info, warn};

/// The default bytes of one recording: an hour of a plugin that gets five objects of 4 KB a second.
pub const RECORDING_BYTES_DEFAULT: u64 = 64 << 20;
/// The most bytes of one recording.
pub const RECORDING_BYTES_MAX: u64 = 1 << 30;
/// The most recordings of one host: it may run for months, and load new versions all the time.
const RECORDINGS_MAX: u64 = 1_000;

/// The options for recordings.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// A directory of this host's own, for the files.
    pub directory: PathBuf,
    /// Only these plugins; empty: all.
    pub plugins: Vec<PluginName>,
    /// Bytes of one file, up to [`RECORDING_BYTES_MAX`].
    pub bytes_max: u64,
}

/// The recordings cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("recordings cannot be written to {}: {problem}", directory.display())]
pub struct RecordError {
    directory: PathBuf,
    problem: io::Error,
}

/// The recorder of a host. It ends with the host.
pub(crate) struct CallRecorder {
    tapes: Arc<RecordingTapes>,
    thread: JoinHandle<()>,
}

impl CallRecorder {
    /// Checks the directory and starts the writing thread.
    pub(crate) fn start(options: RecordOptions) -> Result<Self, RecordError> {
        let directory = options.directory.clone();
        let failed = |problem| RecordError { directory: directory.clone(), problem };
        let opened = private_files::open_directory(&directory).map_err(failed)?;
        let failed = |problem| RecordError { directory: directory.clone(), problem };
        let (sender, thread) = start().map_err(failed)?;
        let tapes = RecordingTapes { options, opened, sender, begun: Mutex::default() };
        Ok(Self { tapes: Arc::new(tapes), thread })
    }

    /// The tapes of the recorded plugins.
    pub(crate) fn tapes(&self) -> Arc<dyn Tapes> {
        self.tapes.clone()
    }

    /// Writes the remaining lines, after the last plugin has ended.
    pub(crate) async fn stop(self) {
        let Self { tapes, thread } = self;
        let ended = tokio::task::spawn_blocking(move || {
            let begun: Vec<_> = tapes.begun.lock().tapes.drain(..).collect();
            begun.iter().filter_map(Weak::upgrade).for_each(|tape| tape.end(EndReason::HostEnded));
            // A thread that has ended needs no message.
            let _ = tapes.sender.send(Message::Stop);
            thread.join()
        });
        if !matches!(ended.await, Ok(Ok(()))) {
            error!("the thread that writes recordings ended early");
        }
    }
}

struct RecordingTapes {
    options: RecordOptions,
    /// The directory of the options as it was at the start, also if its path leads elsewhere later.
    opened: File,
    sender: Sender,
    begun: Mutex<BegunRecording>,
}

#[derive(Default)]
struct BegunRecording {
    number: u64,
    /// Plugins that are not recorded because of their grants, and that the log has named.
    left_out: HashSet<PluginName>,
    /// The tapes of the existing versions.
    tapes: Vec<Weak<RecordingTape>>,
}

impl BegunRecording {
    /// The number of the next recording, while there may be one.
    fn next_number(&mut self) -> Option<u64> {
        let number = self.number + 1;
        (number <= RECORDINGS_MAX).then(|| {
            self.number = number;
            number
        })
    }
}

impl Tapes for RecordingTapes {
    fn tape(&self, of: &TapeOf<'_>) -> Option<Arc<dyn Tape>> {
        let plugin = of.plugin;
        let is_named = self.options.plugins.contains(plugin);
        if !(self.options.plugins.is_empty() || is_named) {
            return None;
        }
        let mut begun = self.begun.lock();
        if of.grants_secrets && !is_named {
            if begun.left_out.insert(plugin.clone()) {
                warn!(
                    plugin = plugin.as_str(),
                    "not recorded: it is granted Secrets or tokens, and what it makes of them could be in a recording; --record-plugin {plugin} records it all the same"
                );
            }
            return None;
        }
        begun.tapes.retain(|tape| tape.strong_count() > 0);
        let Some(number) = begun.next_number() else {
            warn!(
                plugin = plugin.as_str(),
                "not recorded: there are {RECORDINGS_MAX} recordings of this host"
            );
            return None;
        };
        let tape = self.begin(of, number)?;
        begun.tapes.push(Arc::downgrade(&tape));
        Some(tape)
    }
}

impl RecordingTapes {
    fn begin(&self, of: &TapeOf<'_>, number: u64) -> Option<Arc<RecordingTape>> {
        let plugin = of.plugin;
        let began = Timestamp::now();
        // A host that starts again within the second begins with the same numbers.
        let stamp = began.strftime("%Y%m%dT%H%M%S%.3fZ");
        let name = format!("{plugin}-{stamp}-{number}.rec");
        let path = self.options.directory.join(&name);
        let file = match private_files::create_in(&self.opened, &name) {
            Ok(file) => file,
            Err(problem) => {
                error!(plugin = plugin.as_str(), "not recorded: {}: {problem}", path.display());
                return None;
            }
        };
        info!(plugin = plugin.as_str(), "recorded in {}", path.display());
        let shard = [of.shard.number, of.shard.count];
        let subscriptions = subscriptions(&of.subscriptions);
        let head = RecordingHead::new(plugin.as_str(), of.version, shard, began, subscriptions);
        let recorded = Arc::new(Recorded::new(number, plugin.clone(), path));
        let (of, file, bytes_max) = (recorded.clone(), Box::new(file), self.options.bytes_max);
        if self.sender.send(Message::Begin { of, file, bytes_max, head }).is_err() {
            error!(
                plugin = plugin.as_str(),
                "not recorded: the thread that writes recordings has ended; please report this, and start the host again to record"
            );
            return None;
        }
        Some(Arc::new(RecordingTape::new(recorded, self.sender.clone())))
    }
}

fn subscriptions(of: &[(&str, &str)]) -> Vec<NamedSubscription> {
    let named = |(name, resource): &(&str, &str)| NamedSubscription {
        name: (*name).to_owned(),
        resource: (*resource).to_owned(),
    };
    of.iter().map(named).collect()
}

/// One recording in progress: passes all data unchanged to the writing thread.
struct RecordingTape {
    recorded: Arc<Recorded>,
    began: Instant,
    sender: Sender,
    /// Whether the guest gets its last call.
    is_stopping: AtomicBool,
}

impl RecordingTape {
    fn new(recorded: Arc<Recorded>, sender: Sender) -> Self {
        Self { recorded, began: Instant::now(), sender, is_stopping: AtomicBool::new(false) }
    }

    fn end(&self, why: EndReason) {
        if self.recorded.end()
            && self.sender.send(Message::End(self.recorded.clone(), why)).is_err()
        {
            let path = self.recorded.path.display();
            error!(
                plugin = self.recorded.plugin.as_str(),
                "the recording {path} ends early: the thread that writes recordings has ended; please report this, and start the host again to record"
            );
        }
    }

    fn tell(&self, told: PendingLine) {
        match self.sender.tell(&self.recorded, told) {
            Ok(()) => {}
            // Also if the thread has ended: `end` finds that.
            Err(Refused::NoRoom | Refused::Gone) => self.end(EndReason::Slow),
        }
    }
}

impl Drop for RecordingTape {
    /// A version that never started, or lost its instance, gets no stop call.
    fn drop(&mut self) {
        self.end(EndReason::Ended);
    }
}

impl Tape for RecordingTape {
    fn weighed(&self) -> Option<Weak<dyn Weighed>> {
        let recorded: Weak<Recorded> = Arc::downgrade(&self.recorded);
        Some(recorded)
    }

    fn called(&self, call: &Called<'_>) {
        if self.recorded.is_over() {
            return;
        }
        let at = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Some(with) = CalledWith::of(call) else { return };
        self.is_stopping.store(with == CalledWith::Stop, Relaxed);
        let resource = match call {
            Called::Handle(_, current) => current.resource.to_string(),
            _ => String::new(),
        };
        self.tell(PendingLine::Called { at, with, resource });
    }

    fn ended(&self, result: Result<CallAnswer, &CallError>) {
        if self.recorded.is_over() {
            return;
        }
        let result = match result {
            Ok(_) => json!({ "ok": null }),
            Err(error) => json!({ "failed": error.to_string() }),
        };
        self.tell(PendingLine::Ended { result });
        if self.is_stopping.load(Relaxed) {
            self.end(EndReason::Stopped);
        }
    }

    fn asked(&self, function: &'static str, with: Value, answer: Value) {
        if !self.recorded.is_over() {
            self.tell(PendingLine::Asked(RecordedHostCall {
                function: function.to_owned(),
                with,
                answer,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::{WAITING_BYTES_OF_ONE_MAX, queue};
    use super::*;
    use crate::account::Ledger;
    use crate::shard::Shard;
    use std::fs;

    #[test]
    fn recordings_of_one_host_are_bounded() {
        let mut begun = BegunRecording::default();
        assert!((1..=RECORDINGS_MAX).all(|number| begun.next_number() == Some(number)));
        assert_eq!(begun.next_number(), None);
    }

    /// A link to another directory that takes the place of the directory changes nothing.
    #[tokio::test]
    async fn a_recording_is_made_in_the_directory_that_was_opened() {
        let root = tempfile::tempdir().unwrap();
        let [directory, moved, elsewhere] =
            ["record", "moved", "elsewhere"].map(|name| root.path().join(name));
        fs::create_dir(&elsewhere).unwrap();
        let bytes_max = RECORDING_BYTES_DEFAULT;
        let options =
            RecordOptions { directory: directory.clone(), plugins: Vec::new(), bytes_max };
        let recorder = CallRecorder::start(options).unwrap();
        fs::rename(&directory, &moved).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &directory).unwrap();
        let plugin = "p".parse().unwrap();
        let of = TapeOf {
            plugin: &plugin,
            version: "1",
            shard: Shard::ONLY,
            grants_secrets: false,
            subscriptions: Vec::new(),
        };
        assert!(recorder.tapes().tape(&of).is_some());
        recorder.stop().await;
        let files = |directory| fs::read_dir(directory).unwrap().count();
        assert_eq!([files(&elsewhere), files(&moved)], [0, 1]);
    }

    fn tape(sender: Sender) -> RecordingTape {
        let recorded = Recorded::new(1, "p".parse().expect("a name"), "p.rec".into());
        RecordingTape::new(Arc::new(recorded), sender)
    }

    #[test]
    fn what_is_told_is_handed_on_as_it_is_and_nobody_waits_for_room() {
        let (sender, receiver) = queue();
        let tape = tape(sender);
        let long = "x".repeat(WAITING_BYTES_OF_ONE_MAX / 2);
        let ledger = Ledger::default();
        tape.weighed().into_iter().for_each(|one| ledger.weighs(one));
        tape.asked("state.get", Value::Null, "x".into());
        assert!((1..1_000).contains(&ledger.weighed_bytes("recordings")));
        let before = ledger.weighed_bytes("recordings");
        tape.weighed().into_iter().for_each(|one| ledger.weighs(one));
        assert_eq!(ledger.weighed_bytes("recordings"), before, "each counts once");
        (0..3).for_each(|_| tape.asked("state.get", Value::Null, long.as_str().into()));
        assert!(tape.recorded.is_over());
        let told = |message| match message {
            Message::Told(_, PendingLine::Asked(asked), _) => (asked.answer == *long).to_string(),
            Message::End(_, why) => why.to_string(),
            _ => "another".to_owned(),
        };
        let messages: Vec<String> = receiver.messages.try_iter().map(told).collect();
        assert_eq!(
            messages,
            ["false", "true", "it could not be written as fast as the plugin works"]
        );
    }

    #[test]
    fn a_tape_whose_writer_is_gone_is_over() {
        let (sender, receiver) = queue();
        let tape = tape(sender);
        drop(receiver);
        tape.called(&Called::Start);
        assert!(tape.recorded.is_over());
    }
}
