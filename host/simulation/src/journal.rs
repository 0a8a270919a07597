//! What happens in one run, written down in order: the trace, its hash, and the first broken invariant.

use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use tokio::time::Instant;

/// Lines kept of one run; a run that goes beyond is cut at its beginning. A usual run has some thousands.
const LINES_MAX: usize = 50_000;
/// Steps shown before a broken invariant.
const TAIL_STEPS: usize = 30;

/// An invariant that did not hold.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What should hold.
    pub invariant: String,
    /// What was found instead.
    pub found: String,
    /// The last steps before it, as the trace has them.
    pub tail: Vec<String>,
}

/// Written to by everybody in a run. Cheap to clone; a clone is the same journal.
#[derive(Clone)]
pub(crate) struct Journal {
    inner: Arc<Mutex<JournalState>>,
}

struct JournalState {
    began: Instant,
    hash: u64,
    lines: Vec<String>,
    /// Where in `lines` each step begins.
    steps: Vec<usize>,
    violation: Option<Violation>,
    printed: bool,
}

impl Journal {
    /// With `printed`, every line goes to the standard output at once.
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

    /// A step of the driver begins.
    pub(crate) fn step(&self, what: fmt::Arguments<'_>) {
        let mut inner = self.inner.lock();
        let at = inner.lines.len();
        inner.steps.push(at);
        let number = inner.steps.len() - 1;
        inner.line(format_args!("step {number}: {what}"));
    }

    /// Something happened within a step.
    pub(crate) fn note(&self, what: fmt::Arguments<'_>) {
        self.inner.lock().line(format_args!("    {what}"));
    }

    /// An invariant does not hold. Only the first one counts: what follows may be its consequence.
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

    /// Checks an invariant; the text is made only where it does not hold.
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

    /// Equal for equal traces.
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
