//! What all who throw something share: which input is next, which are under way, what became of them, and what is amiss.

use super::SiegeOptions;
use super::input::{AttackKind, Input};
use anyhow::Context;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Inputs that are kept after their end: what they did may show later.
const LATEST_MAX: usize = 48;
/// Different ends of inputs of one kind that are counted by themselves.
const OUTCOMES_MAX: usize = 120;
/// Of an outcome's text.
const OUTCOME_CHARACTERS: usize = 90;

/// What came of a siege.
#[derive(Debug, Default)]
pub struct SiegeReport {
    /// How long inputs were thrown.
    pub lasted: Duration,
    /// The host's resident bytes before.
    pub before: u64,
    /// And what it kept more when everything was gone.
    pub kept: u64,
    /// The host's resident bytes, those of its largest child, its threads and its open files, every half second.
    pub curve: Vec<Sample>,
    /// How long `/livez` took, on both addresses.
    pub probes: Vec<Duration>,
    /// How long the good plugin waited for its events, shortest first.
    pub delivered: Vec<Duration>,
    /// From SIGTERM to the end.
    pub end: Duration,
    /// What became of how many inputs.
    pub outcomes: BTreeMap<(AttackKind, String), u64>,
    /// What is not as it must be.
    pub complaints: Vec<String>,
    /// Inputs that are to be looked at, as files' names.
    pub kept_inputs: Vec<String>,
}

/// A look at the host's process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Resident bytes.
    pub host: u64,
    /// Resident bytes of the largest child.
    pub child: u64,
    /// Threads.
    pub threads: u64,
    /// Open files.
    pub files: u64,
}

pub(super) struct Ground {
    pub(super) options: SiegeOptions,
    next: BTreeMap<AttackKind, AtomicU64>,
    under_way: Mutex<BTreeMap<Input, Vec<u8>>>,
    latest: Mutex<VecDeque<(Input, Vec<u8>)>>,
    report: Mutex<SiegeReport>,
    stopped: Mutex<bool>,
    stops: Condvar,
    changes_end: CancellationToken,
}

impl Ground {
    pub(super) fn new(options: SiegeOptions) -> Self {
        let next = options.kinds.iter().map(|kind| (*kind, AtomicU64::new(options.from))).collect();
        Self {
            options,
            next,
            under_way: Mutex::default(),
            latest: Mutex::default(),
            report: Mutex::default(),
            stopped: Mutex::default(),
            stops: Condvar::new(),
            changes_end: CancellationToken::new(),
        }
    }

    /// The next input of this kind; none when there are no more, or everything stops.
    pub(super) fn next(&self, kind: AttackKind) -> Option<Input> {
        let number = self.next.get(&kind)?.fetch_add(1, Ordering::Relaxed);
        let is_one = number - self.options.from < self.options.inputs && !self.is_stopped();
        is_one.then_some(Input { kind, number })
    }

    /// It is thrown.
    pub(super) fn begin(&self, input: Input, bytes: &[u8]) {
        self.under_way.lock().insert(input, bytes.to_vec());
    }

    /// This became of it.
    pub(super) fn end(&self, input: Input, outcome: &str) {
        if let Some(bytes) = self.under_way.lock().remove(&input) {
            let mut latest = self.latest.lock();
            latest.push_back((input, bytes));
            if latest.len() > LATEST_MAX {
                latest.pop_front();
            }
        }
        let mut report = self.report.lock();
        let kinds = report.outcomes.keys().filter(|(kind, _)| *kind == input.kind).count();
        let mut key = (input.kind, shape(outcome));
        if kinds >= OUTCOMES_MAX && !report.outcomes.contains_key(&key) {
            key.1 = "something else".to_owned();
        }
        *report.outcomes.entry(key).or_default() += 1;
    }

    /// Bytes of the inputs that are under way, and of those before them.
    pub(super) fn bytes_of_late(&self) -> u64 {
        let under_way: usize = self.under_way.lock().values().map(Vec::len).sum();
        let latest: usize = self.latest.lock().iter().map(|(_, bytes)| bytes.len()).sum();
        (under_way + latest) as u64
    }

    /// Something is not as it must be: the siege is over.
    pub(super) fn complain(&self, complaint: String) {
        self.report.lock().complaints.push(complaint);
        self.stop();
    }

    pub(super) fn has_complaints(&self) -> bool {
        !self.report.lock().complaints.is_empty()
    }

    pub(super) fn report(&self) -> MutexGuard<'_, SiegeReport> {
        self.report.lock()
    }

    pub(super) fn take_report(&self) -> SiegeReport {
        std::mem::take(&mut *self.report.lock())
    }

    pub(super) fn stop(&self) {
        *self.stopped.lock() = true;
        self.stops.notify_all();
    }

    pub(super) fn is_stopped(&self) -> bool {
        *self.stopped.lock()
    }

    /// Lets time go by. False when everything stops.
    pub(super) fn pause(&self, time: Duration) -> bool {
        let mut stopped = self.stopped.lock();
        let until = Instant::now() + time;
        while !*stopped && !self.stops.wait_until(&mut stopped, until).timed_out() {}
        !*stopped
    }

    pub(super) fn no_more_changes(&self) -> CancellationToken {
        self.changes_end.clone()
    }

    pub(super) fn end_changes(&self) {
        self.changes_end.cancel();
    }

    /// Where something is amiss, writes what was under way, and what was before that, to files.
    pub(super) fn keep_inputs(&self) -> anyhow::Result<()> {
        if !self.has_complaints() {
            return Ok(());
        }
        let place = self.options.keep.join(format!("seed-{}", self.options.seed));
        let under_way = self.under_way.lock();
        let latest = self.latest.lock();
        let under_way = under_way.iter().map(|(input, bytes)| ("under-way", input, bytes));
        let latest = latest.iter().map(|(input, bytes)| ("before", input, bytes));
        for (when, input, bytes) in under_way.chain(latest) {
            let folder = place.join(when);
            std::fs::create_dir_all(&folder).context("make a folder for inputs")?;
            let file = folder.join(input.name());
            std::fs::write(&file, bytes).context("keep an input")?;
            if when == "under-way" {
                self.report.lock().kept_inputs.push(file.display().to_string());
            }
        }
        Ok(())
    }
}

/// A text without what differs from input to input: numbers and what is quoted.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    let mut quoted = false;
    for character in text.chars() {
        match character {
            '"' | '`' => {
                quoted = !quoted;
                if quoted {
                    shape.push('_');
                }
            }
            _ if quoted => {}
            '0'..='9' if shape.ends_with('N') => {}
            '0'..='9' => shape.push('N'),
            '\n' => shape.push(' '),
            other => shape.push(other),
        }
    }
    shape.chars().take(OUTCOME_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_counted_by_their_shape() {
        let check = |text: &str, expect: &str| assert_eq!(shape(text), expect);
        check("section 12 at 0x44", "section N at NxN");
        check("unknown key \"a1\", did you mean \"b\"?", "unknown key _, did you mean _?");
        check("a `b` c\n1.5", "a _ c N.N");
        assert_eq!(shape(&"x".repeat(500)).len(), OUTCOME_CHARACTERS);
    }
}
