//! Runs many seeds, on one thread for each core. Each run has its own async runtime; runs share only the counts.

use crate::faults::{Fault, FaultCounts};
use crate::journal::Violation;
use crate::run::{Options, Outcome, run};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The condition for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this number of seeds.
    Seeds(u64),
    /// After this time.
    Time(Duration),
}

/// The seeds to run, and the options of the runs.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The first seed.
    pub first: u64,
    /// The condition for the end.
    pub until: Until,
    /// Whether further runs begin after a broken one.
    pub go_on: bool,
    /// Whether each seed is run twice. The two traces must be equal.
    pub twice: bool,
}

/// The result of many runs.
#[derive(Clone, Debug, Default)]
pub struct Many {
    /// The number of runs.
    pub runs: u64,
    /// The counts of the faults in these runs.
    pub faults: FaultCounts,
    /// A hash over all traces, independent of their order. It is equal if the same seeds gave the same traces.
    pub traces: u64,
    /// The runs that broke an invariant, by seed. Unless the plan goes on, no further runs begin after the first one.
    pub broken: Vec<Outcome>,
    /// The time of all runs.
    pub took: Duration,
}

/// Runs one seed of many.
fn run_one(seed: u64, twice: bool) -> Outcome {
    let options = Options { seed, print: false };
    let mut outcome = run(options);
    if twice && outcome.violation.is_none() {
        let again = run(options).hash;
        let found = format!("{:016x}, then {again:016x}", outcome.hash);
        let invariant = "the same seed gives the same trace".to_owned();
        outcome.violation =
            (again != outcome.hash).then_some(Violation { invariant, found, tail: Vec::new() });
    }
    outcome
}

/// Runs the seeds of a plan. Calls `progress` after every 500 runs with the number of runs.
pub fn run_many(plan: Plan, progress: impl Fn(u64, Duration) + Sync) -> Many {
    let Plan { first, until, go_on, twice } = plan;
    let began = Instant::now();
    let (next, done, broken) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let worker = || {
        let mut part = Many::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let over = match until {
                Until::Seeds(seeds) => number >= seeds,
                Until::Time(time) => began.elapsed() >= time,
            };
            if over || broken.load(Ordering::Relaxed) {
                return part;
            }
            let outcome = run_one(first.wrapping_add(number), twice);
            part.runs += 1;
            part.traces = part.traces.wrapping_add(outcome.hash);
            part.faults.add(&outcome.faults);
            let runs = done.fetch_add(1, Ordering::Relaxed) + 1;
            if runs.is_multiple_of(500) {
                progress(runs, began.elapsed());
            }
            if outcome.violation.is_some() {
                broken.store(!go_on, Ordering::Relaxed);
                part.broken.push(outcome);
            }
        }
    };
    let mut all = Many::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            let part = worker.join().expect("runs catch their panics");
            all.runs += part.runs;
            all.traces = all.traces.wrapping_add(part.traces);
            all.faults.add(&part.faults);
            all.broken.extend(part.broken);
        }
    });
    all.broken.sort_by_key(|outcome| outcome.seed);
    all.took = began.elapsed();
    all
}

/// The text for a broken run: the seed, the invariant, the last steps, the command.
pub fn describe(outcome: &Outcome) -> String {
    let Some(violation) = &outcome.violation else {
        return format!("seed {} passes", outcome.seed);
    };
    let mut text = String::new();
    for line in &violation.tail {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(text, "seed {} broke an invariant: {}", outcome.seed, violation.invariant);
    let _ = writeln!(text, "found: {}", violation.found);
    let _ = write!(text, "replay it with: make sim SEED={}", outcome.seed);
    text
}

impl Many {
    /// The speed, and the counts of the faults.
    pub fn report(&self) -> String {
        let seconds = self.took.as_secs_f64().max(0.001);
        let per_second = self.runs as f64 / seconds;
        let mut text = format!(
            "{} seeds in {seconds:.1} s: {per_second:.1} a second, {:.0} a minute; traces {:016x}\n",
            self.runs,
            per_second * 60.0,
            self.traces
        );
        for fault in Fault::ALL {
            let _ = writeln!(text, "{:>10}  {}", self.faults.of(*fault), fault.as_str());
        }
        text
    }
}
