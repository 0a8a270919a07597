//! The fuzzing engine of this repository's tests.
//!
//! A target is a test: a closure that takes bytes and panics where something that it promises does not hold.
//! `cargo test` runs it over its corpus (a text file beside the crate's sources) and over a fixed number of
//! mutations. With `FUZZ_SECONDS` it goes on with new ones for so long, guided by coverage where the crates
//! under test were compiled by way of `rustc-with-coverage`: that is `make fuzz`.
//!
//! What it does not do: it finds no memory errors (no code of ours is unsafe), and one process fuzzes one
//! target at a time, because the counters of coverage belong to the process.

mod corpus;
mod coverage;
mod failure;
mod mutation;
mod running;
mod session;

pub use mutation::Mutator;
use session::Session;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Mutations that `cargo test` tries: a second or less for each target without optimisation.
const RUNS_IN_TESTS: u64 = 3_000;

/// Longer inputs find little that shorter ones do not, and slow everything down.
const LENGTH_MAX: usize = 2048;

/// Coverage is counted by process: one target at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// One decoder, and how to feed it.
pub struct Target {
    directory: PathBuf,
    name: &'static str,
    words: &'static [&'static str],
    made: Vec<Vec<u8>>,
}

/// How much is tried.
struct Budget {
    /// Mutations; without end where there is a time.
    runs: u64,
    time: Option<Duration>,
    seed: u64,
    /// Where new inputs and failures are kept between runs; tests keep nothing.
    keep: Option<PathBuf>,
    /// Whether the corpus takes over what reached new places.
    merge: bool,
}

impl Target {
    /// The target whose corpus is `fuzz/<name>.txt` in the crate at `manifest_directory`
    /// (`env!("CARGO_MANIFEST_DIR")`).
    pub fn new(manifest_directory: &str, name: &'static str) -> Self {
        Self {
            directory: PathBuf::from(manifest_directory).join("fuzz"),
            name,
            words: &[],
            made: Vec::new(),
        }
    }

    /// Words of the format, which no chain of changed bytes would come upon.
    pub fn words(mut self, words: &'static [&'static str]) -> Self {
        self.words = words;
        self
    }

    /// Inputs beside those of the corpus, for formats that are made rather than written.
    pub fn inputs(mut self, inputs: impl IntoIterator<Item = Vec<u8>>) -> Self {
        self.made.extend(inputs);
        self
    }

    /// Runs `check` over the corpus and over mutations.
    ///
    /// # Panics
    /// Where `check` does, with the smallest input that was found and the line that keeps it; and where the
    /// corpus cannot be read.
    pub fn run(self, check: impl Fn(&[u8])) {
        let budget = Budget::from_environment(self.name);
        let _only = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        Session::new(&self, &check, budget).run();
    }

    fn corpus_path(&self) -> PathBuf {
        self.directory.join(format!("{}.txt", self.name))
    }
}

impl Budget {
    fn from_environment(name: &str) -> Self {
        let number = |variable: &str| {
            let text = std::env::var(variable).ok()?;
            Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no whole number")))
        };
        let Some(seconds) = number("FUZZ_SECONDS") else {
            return Self { runs: RUNS_IN_TESTS, time: None, seed: 0, keep: None, merge: false };
        };
        let work = std::env::var("FUZZ_DIRECTORY").expect("FUZZ_SECONDS needs FUZZ_DIRECTORY");
        Self {
            runs: u64::MAX,
            time: Some(Duration::from_secs(seconds)),
            seed: number("FUZZ_SEED").unwrap_or_else(|| fastrand::u64(..)),
            keep: Some(PathBuf::from(work).join(name)),
            merge: number("FUZZ_MERGE") == Some(1),
        }
    }
}
