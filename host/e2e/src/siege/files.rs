//! Throws files: drops them into the plugin directory, waits for what the host says of each, lets what runs live for a moment, and replaces or removes it.

use super::documents::Documents;
use super::ground::Ground;
use super::input::{AttackKind, Input};
use super::{modules, mutants};
use crate::http;
use anyhow::Context;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const KINDS: [AttackKind; 4] =
    [AttackKind::Modules, AttackKind::Mutants, AttackKind::Descriptors, AttackKind::Settings];
/// Files at once.
const SLOTS: usize = 10;
/// Between two looks at what the host says.
const LOOK_EVERY: Duration = Duration::from_millis(150);
/// Looks that come to nothing, one after the other.
const LOOKS_FAILED_MAX: u32 = 20;
/// A file of which nothing is said by then is removed while it is looked at.
const LOOKED_AT_MAX: Duration = Duration::from_secs(25);
/// How long one that runs may run, so that it is told of some changes.
const RUN: Duration = Duration::from_millis(400);
/// A file of a corpus is no larger: most of the time would go into the largest.
const CORPUS_BYTES_MAX: u64 = 3 << 20;

/// What files are made of.
struct Workshop {
    corpus: Vec<Vec<u8>>,
    documents: Documents,
    printer: Vec<u8>,
}

/// A plugin's name and what lies there.
struct Slot {
    name: String,
    input: Input,
    since: Instant,
    /// When its last load was, before this file.
    loaded_before: Value,
    /// When the host has said what it makes of it.
    said: Option<Instant>,
}

/// The thread that throws, where any such kind is wanted.
pub(super) fn start(
    ground: &Arc<Ground>,
    directory: &Path,
    address: SocketAddr,
) -> anyhow::Result<Vec<JoinHandle<()>>> {
    let kinds: Vec<AttackKind> =
        KINDS.into_iter().filter(|kind| ground.options.kinds.contains(kind)).collect();
    if kinds.is_empty() {
        return Ok(Vec::new());
    }
    let workshop = Workshop::new(ground)?;
    let (ground, directory) = (ground.clone(), directory.to_owned());
    let mut thrower =
        Thrower { ground, directory, address, workshop, kinds, turn: 0, slots: Vec::new() };
    let throw = move || {
        if let Err(error) = thrower.run() {
            thrower.ground.complain(format!("files cannot be thrown: {error:#}"));
        }
    };
    Ok(vec![std::thread::spawn(throw)])
}

impl Workshop {
    fn new(ground: &Ground) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        for folder in [&ground.options.plugins, &ground.options.guests] {
            for entry in
                std::fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?
            {
                let entry = entry?;
                if entry.metadata()?.len() <= CORPUS_BYTES_MAX
                    && entry.path().extension().is_some_and(|it| it == "wasm")
                {
                    files.push(entry.path());
                }
            }
        }
        // The order of a directory is anybody's.
        files.sort_unstable();
        let corpus = files.iter().map(std::fs::read).collect::<Result<_, _>>()?;
        let printer = std::fs::read(ground.options.plugins.join("event-printer.wasm"))?;
        Ok(Self { corpus, documents: Documents::new()?, printer })
    }

    /// An input of one of these kinds: the plugin, and what lies beside it.
    fn make(&self, input: Input, seed: u64) -> anyhow::Result<(Vec<u8>, Option<Vec<u8>>)> {
        let mut rng = input.rng(seed);
        Ok(match input.kind {
            AttackKind::Modules => (modules::file(&mut rng), None),
            AttackKind::Mutants => (mutants::file(&self.corpus, &mut rng), None),
            AttackKind::Descriptors => (self.documents.described(&mut rng)?, None),
            _ => (self.printer.clone(), Some(self.documents.settings(&mut rng))),
        })
    }
}

struct Thrower {
    ground: Arc<Ground>,
    directory: PathBuf,
    address: SocketAddr,
    workshop: Workshop,
    kinds: Vec<AttackKind>,
    turn: usize,
    slots: Vec<Slot>,
}

impl Thrower {
    fn run(&mut self) -> anyhow::Result<()> {
        let mut failed = 0;
        while self.ground.pause(LOOK_EVERY) {
            let shown = match Shown::of(self.address) {
                Ok(shown) => shown,
                Err(error) => {
                    // Among crowds of callers from its own address it may be sent away, as they are.
                    failed += 1;
                    anyhow::ensure!(failed < LOOKS_FAILED_MAX, "{error:#}");
                    continue;
                }
            };
            failed = 0;
            let mut slots = std::mem::take(&mut self.slots);
            slots.retain_mut(|slot| self.goes_on(slot, &shown));
            self.slots = slots;
            while self.slots.len() < SLOTS {
                let Some(input) = self.next() else { break };
                let name = input.name();
                let slot = self.put(input, name, Value::Null)?;
                self.slots.push(slot);
            }
            if self.slots.is_empty() {
                return Ok(());
            }
        }
        for slot in &self.slots {
            self.remove(slot)?;
        }
        Ok(())
    }

    fn next(&mut self) -> Option<Input> {
        // Each kind in turn; one that has come to its end is left out.
        (0..self.kinds.len()).find_map(|_| {
            self.turn += 1;
            self.ground.next(self.kinds[self.turn % self.kinds.len()])
        })
    }

    fn put(&self, input: Input, name: String, loaded_before: Value) -> anyhow::Result<Slot> {
        let (plugin, beside) = self.workshop.make(input, self.ground.options.seed)?;
        self.ground.begin(input, beside.as_ref().unwrap_or(&plugin));
        if let Some(beside) = beside {
            self.write(&format!("{name}.yaml"), &beside)?;
        }
        self.write(&format!("{name}.wasm"), &plugin)?;
        Ok(Slot { name, input, since: Instant::now(), loaded_before, said: None })
    }

    fn write(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let partial = self.directory.join(format!(".{name}"));
        std::fs::write(&partial, bytes).context("write a file")?;
        std::fs::rename(&partial, self.directory.join(name)).context("rename a file into place")
    }

    /// Whether something is still to come of what lies there.
    fn goes_on(&mut self, slot: &mut Slot, shown: &Shown) -> bool {
        let entry = shown.plugin(&slot.name);
        match slot.said {
            Some(said) if said.elapsed() < RUN => return true,
            Some(_) => {}
            None => {
                let Some(outcome) = outcome(slot, entry, shown) else { return true };
                self.ground.end(slot.input, &outcome);
                slot.said = Some(Instant::now());
                return true;
            }
        }
        // Every third is replaced by the next one, as a new version of it.
        let replaced =
            slot.input.number.is_multiple_of(3) && slot.input.kind != AttackKind::Settings;
        let next = if replaced { self.next() } else { None };
        let put = match next {
            Some(input) => {
                let before = entry["lastLoad"]["at"].clone();
                self.put(input, slot.name.clone(), before).map(|next| *slot = next).map(|()| true)
            }
            None => self.remove(slot).map(|()| false),
        };
        put.unwrap_or_else(|error| {
            self.ground.complain(format!("files cannot be thrown: {error:#}"));
            false
        })
    }

    fn remove(&self, slot: &Slot) -> anyhow::Result<()> {
        let [plugin, beside] =
            ["wasm", "yaml"].map(|end| self.directory.join(format!("{}.{end}", slot.name)));
        std::fs::remove_file(plugin).context("remove a file")?;
        // Most have none.
        let _ = std::fs::remove_file(beside);
        Ok(())
    }
}

/// What the host makes of a file; none while it has not said so.
fn outcome(slot: &Slot, entry: &Value, shown: &Shown) -> Option<String> {
    let load = &entry["lastLoad"];
    if load["result"].is_string() && load["at"] != slot.loaded_before {
        let reason = load["reason"].as_str().unwrap_or_default();
        return Some(format!("{}: {reason}", load["result"].as_str().unwrap_or_default()));
    }
    if let Some(problem) = shown.problem(&slot.name) {
        return Some(problem.to_owned());
    }
    (slot.since.elapsed() > LOOKED_AT_MAX)
        .then(|| format!("no word within {LOOKED_AT_MAX:?}: {}", entry["state"]))
}

/// What the host says at one moment.
struct Shown {
    plugins: Value,
    problems: Value,
}

impl Shown {
    fn of(address: SocketAddr) -> anyhow::Result<Self> {
        let get = |path| anyhow::Ok(http::get(address, path)?.json());
        Ok(Self { plugins: get("/plugins")?, problems: get("/problems")? })
    }

    fn plugin(&self, name: &str) -> &Value {
        let mut plugins = self.plugins.as_array().into_iter().flatten();
        plugins.find(|plugin| plugin["name"] == name).unwrap_or(&Value::Null)
    }

    fn problem(&self, name: &str) -> Option<&str> {
        let mut problems = self.problems.as_array().into_iter().flatten();
        let of_it = |problem: &&Value| {
            problem["path"].as_str().is_some_and(|path| path.contains(&format!("/{name}.")))
        };
        problems.find(of_it)?["text"].as_str()
    }
}
