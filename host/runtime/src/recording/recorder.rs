//! Records live plugins: a tape for each version in each shard, a file for each tape.

use super::format::{Asked, CalledWith, Head, Line, Named};
use super::secrets::Secrets;
use super::writer::{Message, Sender, start};
use crate::actor::Version;
use crate::call_error::CallError;
use crate::plugin_name::PluginName;
use crate::private_files;
use crate::tape::{Answered, Called, Tape, Tapes};
use hashbrown::{HashMap, HashSet};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use tracing::{error, info, warn};

/// Bytes of one recording, if nothing else is said: an hour of a plugin that is told of five objects of 4 KB a second.
pub const RECORDING_BYTES_DEFAULT: u64 = 64 << 20;
/// And at most.
pub const RECORDING_BYTES_MAX: u64 = 1 << 30;
/// Recordings of one host: it may run for months, and load new versions all the time.
const RECORDINGS_MAX: u64 = 1_000;
/// What the line takes that says why a recording ends.
const LAST_LINE_BYTES: u64 = 512;

/// What is to be recorded.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// Directory of this host's own, where the files are put.
    pub directory: PathBuf,
    /// Only these plugins; none: all.
    pub plugins: Vec<PluginName>,
    /// Bytes of one file, up to [`RECORDING_BYTES_MAX`].
    pub bytes_max: u64,
}

/// Nothing can be recorded.
#[derive(Debug, thiserror::Error)]
#[error("recordings cannot be written to {}: {problem}", directory.display())]
pub struct RecordError {
    directory: PathBuf,
    problem: io::Error,
}

/// Who records. It ends with its host.
pub(crate) struct Recorder {
    tapes: Arc<RecordingTapes>,
    thread: JoinHandle<()>,
}

impl Recorder {
    /// Looks at the directory and starts the thread that writes.
    pub(crate) fn start(options: RecordOptions) -> Result<Self, RecordError> {
        let directory = options.directory.clone();
        let failed = |problem| RecordError { directory: directory.clone(), problem };
        private_files::make_directory(&directory).map_err(failed)?;
        let failed = |problem| RecordError { directory: directory.clone(), problem };
        let (sender, thread) = start().map_err(failed)?;
        let tapes = RecordingTapes { options, sender, begun: Mutex::default() };
        Ok(Self { tapes: Arc::new(tapes), thread })
    }

    /// For those that are to be recorded.
    pub(crate) fn tapes(&self) -> Arc<dyn Tapes> {
        self.tapes.clone()
    }

    /// Writes what was recorded, once no plugin runs any more.
    pub(crate) async fn stop(self) {
        let Self { tapes, thread } = self;
        let ended = tokio::task::spawn_blocking(move || {
            tapes.begun.lock().tapes.values().for_each(|tape| tape.stop("the host ended"));
            tapes.sender.send_in_any_case(Message::Stop);
            thread.join()
        });
        if !matches!(ended.await, Ok(Ok(()))) {
            error!("the thread that writes recordings ended early");
        }
    }
}

struct RecordingTapes {
    options: RecordOptions,
    sender: Sender,
    begun: Mutex<Begun>,
}

#[derive(Default)]
struct Begun {
    number: u64,
    /// Plugins that are not recorded for what they are granted, and that it was said of.
    left_out: HashSet<PluginName>,
    /// What each plugin was shown, whichever of its versions and shards was.
    secrets: HashMap<PluginName, Arc<Mutex<Secrets>>>,
    /// By plugin, load and shard.
    tapes: HashMap<(PluginName, u64, usize), Arc<RecordingTape>>,
}

impl Begun {
    /// That of the next recording, as long as there may be one.
    fn next_number(&mut self) -> Option<u64> {
        let number = self.number + 1;
        (number <= RECORDINGS_MAX).then(|| {
            self.number = number;
            number
        })
    }
}

impl Tapes for RecordingTapes {
    fn tape(&self, plugin: &PluginName, version: &Version, shard: usize) -> Option<Arc<dyn Tape>> {
        let is_named = self.options.plugins.contains(plugin);
        if !(self.options.plugins.is_empty() || is_named) {
            return None;
        }
        let mut begun = self.begun.lock();
        if version.settings.grants_secrets() && !is_named {
            if begun.left_out.insert(plugin.clone()) {
                warn!(
                    plugin = plugin.as_str(),
                    "not recorded: it is granted Secrets or tokens, and what it makes of them could be in a recording; --record-plugin {plugin} records it all the same"
                );
            }
            return None;
        }
        let key = (plugin.clone(), version.load, shard);
        if let Some(tape) = begun.tapes.get(&key) {
            return Some(tape.clone());
        }
        // The one before it ends when its own instance stops: this version may never be in charge.
        begun.tapes.retain(|_, tape| !tape.state.lock().is_over);
        let Some(number) = begun.next_number() else {
            warn!(
                plugin = plugin.as_str(),
                "not recorded: there are {RECORDINGS_MAX} recordings of this host"
            );
            return None;
        };
        let secrets = begun.secrets.entry(plugin.clone()).or_default().clone();
        let tape = self.begin(plugin, version, shard, (number, secrets))?;
        begun.tapes.insert(key, tape.clone());
        Some(tape)
    }
}

impl RecordingTapes {
    fn begin(
        &self,
        plugin: &PluginName,
        version: &Version,
        shard: usize,
        (number, secrets): (u64, Arc<Mutex<Secrets>>),
    ) -> Option<Arc<RecordingTape>> {
        let began = Timestamp::now();
        let stamp = began.strftime("%Y%m%dT%H%M%SZ");
        let path = self.options.directory.join(format!("{plugin}-{stamp}-{number}.rec"));
        let file = match private_files::create(&path) {
            Ok(file) => file,
            Err(problem) => {
                error!(plugin = plugin.as_str(), "not recorded: {}: {problem}", path.display());
                return None;
            }
        };
        info!(plugin = plugin.as_str(), "recorded in {}", path.display());
        if !self.sender.send(Message::Begin(number, file, path.display().to_string())) {
            error!(plugin = plugin.as_str(), "not recorded: too much waits to be written");
            return None;
        }
        let tape = RecordingTape {
            number,
            began: Instant::now(),
            sender: self.sender.clone(),
            secrets,
            state: Mutex::new(State::new(self.options.bytes_max, subscriptions(version))),
        };
        let named = tape.state.lock().subscriptions.clone();
        let shard = [shard, version.shards];
        let head = Head::new(plugin.as_str(), &version.number, shard, began, named);
        tape.put(serde_json::to_value(head).unwrap_or_default());
        Some(Arc::new(tape))
    }
}

/// In the descriptor's order.
fn subscriptions(version: &Version) -> Vec<Named> {
    let mut found: Vec<_> = version.subscriptions.values().collect();
    found.sort_by_key(|it| it.index);
    let named = |name: &str, resource: String| Named { name: name.to_owned(), resource };
    found.into_iter().map(|it| named(&it.spec.name, it.spec.resource.to_string())).collect()
}

/// One recording that is being made.
struct RecordingTape {
    number: u64,
    began: Instant,
    sender: Sender,
    secrets: Arc<Mutex<Secrets>>,
    state: Mutex<State>,
}

struct State {
    subscriptions: Vec<Named>,
    /// Bytes that may still be written.
    left: u64,
    is_over: bool,
    /// The guest hears its last call.
    is_stopping: bool,
}

impl State {
    fn new(bytes_max: u64, subscriptions: Vec<Named>) -> Self {
        let left = bytes_max.min(RECORDING_BYTES_MAX);
        Self { subscriptions, left, is_over: false, is_stopping: false }
    }

    /// Ends the recording with a line that says why.
    fn stop(&mut self, why: &str, sender: &Sender, number: u64) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let line = Line::Stopped { why: why.to_owned() };
        if let Ok(line) = serde_json::to_string(&line) {
            sender.send(Message::Line(number, line + "\n"));
        }
        sender.send(Message::End(number));
    }
}

impl RecordingTape {
    fn stop(&self, why: &str) {
        self.state.lock().stop(why, &self.sender, self.number);
    }

    fn put(&self, line: Value) {
        let mut state = self.state.lock();
        self.put_into(&mut state, line);
    }

    fn put_into(&self, state: &mut State, line: Value) {
        if state.is_over {
            return;
        }
        let line = line.to_string() + "\n";
        let bytes = line.len() as u64;
        if bytes + LAST_LINE_BYTES > state.left {
            return state.stop("it has as many bytes as it may have", &self.sender, self.number);
        }
        state.left -= bytes;
        if !self.sender.send(Message::Line(self.number, line)) {
            warn!("a recording ends: it cannot be written as fast as the plugin works");
            // There may be room for its end.
            state.stop(
                "it could not be written as fast as the plugin works",
                &self.sender,
                self.number,
            );
        }
    }

    /// Hides Secrets in what is written.
    fn put_hidden(
        &self,
        hide: impl FnOnce(&mut Secrets) -> Result<Value, super::secrets::TooMany>,
    ) {
        let mut state = self.state.lock();
        if state.is_over {
            return;
        }
        let hidden = hide(&mut self.secrets.lock());
        match hidden {
            Ok(line) => self.put_into(&mut state, line),
            Err(error) => state.stop(&error.to_string(), &self.sender, self.number),
        }
    }
}

impl Tape for RecordingTape {
    fn called(&self, call: &Called<'_>) {
        let at = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Some(mut with) = CalledWith::of(call) else { return };
        self.state.lock().is_stopping = with == CalledWith::Stop;
        let resource = match call {
            Called::Handle(_, current) => current.resource.to_string(),
            _ => String::new(),
        };
        self.put_hidden(|secrets| {
            if let CalledWith::Handle(event) = &mut with {
                event.object = secrets.object(&resource, &event.object)?;
                if let Some(old) = &mut event.old {
                    *old = secrets.object(&resource, old)?;
                }
            }
            let mut line = serde_json::to_value(Line::Call { at, with }).unwrap_or_default();
            secrets.everywhere(&mut line)?;
            Ok(line)
        });
    }

    fn ended(&self, result: Result<Answered, &CallError>) {
        let result = match result {
            Ok(_) => json!({ "ok": null }),
            Err(error) => json!({ "failed": error.to_string() }),
        };
        self.put_hidden(|secrets| {
            let mut line = serde_json::to_value(Line::Ended { result }).unwrap_or_default();
            secrets.everywhere(&mut line)?;
            Ok(line)
        });
        if self.state.lock().is_stopping {
            self.stop("the plugin was stopped");
        }
    }

    fn asked(&self, function: &'static str, mut with: Value, mut answer: Value) {
        self.put_hidden(|secrets| {
            secrets.call(function, &mut with, &mut answer)?;
            let asked = Asked { function: function.to_owned(), with, answer };
            Ok(serde_json::to_value(Line::Asked(asked)).unwrap_or_default())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::writer;
    use super::*;

    #[test]
    fn recordings_of_one_host_are_bounded() {
        let mut begun = Begun::default();
        assert!((1..=RECORDINGS_MAX).all(|number| begun.next_number() == Some(number)));
        assert_eq!(begun.next_number(), None);
    }

    /// What is written of lines of so many bytes each by a recording that may have so many, with the line that ends it.
    fn written(lines: usize, bytes: usize, bytes_max: u64) -> String {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.rec");
        let (sender, thread) = writer::start().expect("a thread");
        let file = private_files::create(&path).expect("a file");
        assert!(sender.send(Message::Begin(1, file, "a".to_owned())));
        let state = Mutex::new(State::new(bytes_max, Vec::new()));
        let (began, secrets) = (Instant::now(), Arc::default());
        let tape = RecordingTape { number: 1, began, sender, secrets, state };
        // Two quotes and the line's end.
        (0..lines).for_each(|_| tape.put("x".repeat(bytes - 3).into()));
        tape.sender.send_in_any_case(Message::Stop);
        thread.join().expect("it ends");
        std::fs::read_to_string(path).expect("it is there")
    }

    #[test]
    fn a_recording_ends_before_it_has_too_many_bytes_and_says_so() {
        let whole = written(2, 100, 200 + LAST_LINE_BYTES);
        assert_eq!(whole.lines().count(), 2);
        let cut = written(3, 100, 200 + LAST_LINE_BYTES);
        assert_eq!(cut.lines().count(), 3);
        assert!(cut.ends_with("\"why\":\"it has as many bytes as it may have\"}\n"), "{cut}");
        assert!(cut.len() as u64 <= 200 + LAST_LINE_BYTES);
    }

    #[test]
    fn a_recording_that_cannot_be_written_as_fast_ends() {
        let (sender, _receiver) = writer::queue();
        let state = Mutex::new(State::new(RECORDING_BYTES_MAX, Vec::new()));
        let (began, secrets) = (Instant::now(), Arc::default());
        let tape = RecordingTape { number: 1, began, sender, secrets, state };
        for _ in 0..writer::WAITING_LINES_MAX {
            tape.put(Value::Null);
        }
        assert!(!tape.state.lock().is_over);
        tape.put(Value::Null);
        assert!(tape.state.lock().is_over, "and nobody has waited");
    }
}
