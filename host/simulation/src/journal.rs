//! The record of one run in order: the trace, its hash, and the first broken invariant.

use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use tokio::time::Instant;

/// The number of lines that are kept of one run. The beginning of a longer trace is dropped. A usual run has some
/// thousands.
const LINES_MAX: usize = 50_000;
/// The number of steps that are shown before a broken invariant.
const TAIL_STEPS: usize = 30;

/// An invariant that did not hold.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The condition that must hold.
    pub invariant: String,
    /// The observed values.
    pub found: String,
    /// The last steps of the trace before the violation.
    pub tail: Vec<String>,
}

/// The journal of a run. All parts of the run write to it. Cheap to clone; clones share the journal.
#[derive(Clone)]
pub(crate) struct Journal {
    inner: Arc<Mutex<JournalState>>,
}

struct JournalState {
    began: Instant,
    hash: u64,
    lines: Vec<String>,
    /// The index in `lines` at which each step begins.
    steps: Vec<usize>,
    violation: Option<Violation>,
    printed: bool,
}

impl Journal {
    /// With `printed`, every line goes to standard output at once.
    pub(crate) fn new(printed: bool) -> Self {
        let (lines, steps) = (Vec::new(), vec![0]);
        let inner = JournalState {
            began: Instant::now(),
            hash: 0xcbf2_9ce4_8422_2325,
            lines,
            steps,
            violation: None,
            printed,
        };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Records the beginning of a step of the driver.
    pub(crate) fn step(&self, what: fmt::Arguments<'_>) {
        let mut inner = self.inner.lock();
        let at = inner.lines.len();
        inner.steps.push(at);
        let number = inner.steps.len() - 1;
        inner.line(format_args!("step {number}: {what}"));
    }

    /// Records an event within a step.
    pub(crate) fn note(&self, what: fmt::Arguments<'_>) {
        self.inner.lock().line(format_args!("    {what}"));
    }

    /// Records a broken invariant. Only the first one counts: later ones may be its consequences.
    pub(crate) fn broken(&self, invariant: &str, found: impl Into<String>) {
        let mut inner = self.inner.lock();
        if inner.violation.is_some() {
            return;
        }
        let found = found.into();
        inner.line(format_args!("BROKEN: {invariant}: {found}"));
        let step = inner.steps.len().saturating_sub(TAIL_STEPS);
        let from = inner.steps.get(step).copied().unwrap_or(0);
        let tail = inner.lines.get(from..).unwrap_or_default().to_vec();
        inner.violation = Some(Violation { invariant: invariant.to_owned(), found, tail });
    }

    /// Checks an invariant. `found` makes its text only if the invariant does not hold.
    pub(crate) fn check(&self, holds: bool, invariant: &str, found: impl FnOnce() -> String) {
        if !holds {
            self.broken(invariant, found());
        }
    }

    pub(crate) fn violation(&self) -> Option<Violation> {
        self.inner.lock().violation.clone()
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.inner.lock().violation.is_some()
    }

    /// The hash of the trace. Equal traces have equal hashes.
    pub(crate) fn hash(&self) -> u64 {
        self.inner.lock().hash
    }
}

impl JournalState {
    fn line(&mut self, what: fmt::Arguments<'_>) {
        let millis = self.began.elapsed().as_millis();
        let line = format!("{:>7}.{:03} {what}", millis / 1000, millis % 1000);
        // FNV-1a.
        for byte in line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.printed {
            show(&line);
        }
        if self.lines.len() >= LINES_MAX {
            self.lines.clear();
            self.steps = self.steps.iter().map(|_| 0).collect();
        }
        self.lines.push(line);
    }
}

#[expect(clippy::print_stdout, reason = "the trace that was asked for")]
fn show(line: &str) {
    println!("{line}");
}
