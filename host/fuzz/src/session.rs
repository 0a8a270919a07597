//! One target from its corpus to the end of its budget.

use fastrand::Rng;
use std::path::PathBuf;
use std::time::Instant;

use crate::coverage::Coverage;
use crate::failure::{Failure, attempt, minimise};
use crate::mutation::Mutator;
use crate::running::Running;
use crate::{Budget, LENGTH_MAX, Target, corpus};

/// What a merge adds to the corpus file at most: it is read by people.
const MERGED_BYTES_MAX: usize = 16 << 10;
/// Longer inputs are not taken over.
const MERGED_LENGTH_MAX: usize = 300;

pub(crate) struct Session<'a> {
    target: &'a Target,
    check: &'a dyn Fn(&[u8]),
    budget: Budget,
    rng: Rng,
    coverage: Coverage,
    /// Inputs worth changing: those of the corpus, and those that came through new places.
    inputs: Vec<Vec<u8>>,
    running: Running,
    runs: u64,
}

/// An input on which the check fails.
type Found = (Vec<u8>, Failure);

impl<'a> Session<'a> {
    pub(crate) fn new(target: &'a Target, check: &'a dyn Fn(&[u8]), budget: Budget) -> Self {
        if let Some(keep) = &budget.keep {
            std::fs::create_dir_all(keep).expect("the fuzzing directory can be made");
        }
        let file = budget.keep.as_ref().map(|keep| keep.with_extension("running"));
        Self {
            rng: Rng::with_seed(budget.seed),
            running: Running::new(target.name, file),
            target,
            check,
            budget,
            coverage: Coverage::new(),
            inputs: Vec::new(),
            runs: 0,
        }
    }

    /// # Panics
    /// With the report, if the check fails.
    pub(crate) fn run(mut self) {
        let begun = Instant::now();
        let outcome = self.replay().and_then(|()| self.explore(begun));
        let Err((input, failure)) = outcome else {
            self.tell(begun);
            return self.merge();
        };
        let small = minimise(self.check, &input, &failure);
        let failure = attempt(self.check, &small).err().unwrap_or(failure);
        panic!("{}", failure.report(self.target.name, &small, &self.target.corpus_path()));
    }

    /// The corpus, and what earlier sessions kept.
    fn replay(&mut self) -> Result<(), Found> {
        let path = self.target.corpus_path();
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()));
        let left_behind = self.running.left_behind();
        let inputs = left_behind.into_iter().chain(corpus::parse(&text));
        for input in inputs.chain(self.target.made.clone()).chain(self.kept()) {
            self.try_input(&input)?;
            self.inputs.push(input);
        }
        assert!(!self.inputs.is_empty(), "{} has no inputs", path.display());
        Ok(())
    }

    /// In the order of their names, so that a seed means the same thing twice.
    fn kept(&self) -> Vec<Vec<u8>> {
        let Some(keep) = &self.budget.keep else { return Vec::new() };
        let entries = std::fs::read_dir(keep).expect("the fuzzing directory can be read");
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort_unstable();
        paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
    }

    fn explore(&mut self, begun: Instant) -> Result<(), Found> {
        let mutator = Mutator { words: self.target.words, length_max: LENGTH_MAX };
        let end = self.runs.saturating_add(self.budget.runs);
        let has_time = |time| begun.elapsed() < time;
        while self.runs < end && self.budget.time.is_none_or(has_time) {
            let (one, other) = (self.choose(), self.rng.usize(..self.inputs.len()));
            let new = mutator.mutate(&self.inputs[one], &self.inputs[other], &mut self.rng);
            if self.try_input(&new)? {
                self.keep(&new);
                self.inputs.push(new);
            }
        }
        Ok(())
    }

    /// Any input, or as often one of the last found, which lead to the next ones.
    fn choose(&mut self) -> usize {
        let count = self.inputs.len();
        let recent = count.div_ceil(10);
        if self.rng.bool() { self.rng.usize(..count) } else { count - 1 - self.rng.usize(..recent) }
    }

    /// Whether the input came through a new place.
    fn try_input(&mut self, input: &[u8]) -> Result<bool, Found> {
        self.running.begin(input);
        self.runs += 1;
        self.coverage.clear();
        let outcome = attempt(self.check, input);
        let new = self.coverage.learn();
        outcome.map(|()| new).map_err(|failure| (input.to_vec(), failure))
    }

    fn keep(&self, input: &[u8]) {
        let Some(keep) = &self.budget.keep else { return };
        let path = keep.join(format!("{:08}", self.inputs.len()));
        std::fs::write(path, input).expect("the fuzzing directory can be written");
    }

    #[expect(clippy::print_stderr, reason = "whoever fuzzes wants to see what was done")]
    fn tell(&self, begun: Instant) {
        if self.budget.time.is_none() {
            return;
        }
        let (seed, runs, inputs) = (self.budget.seed, self.runs, self.inputs.len());
        let (passed, counters) = (self.coverage.passed(), self.coverage.counters());
        assert!(counters > 0, "built without coverage: call it as `make fuzz`");
        let seconds = begun.elapsed().as_secs_f64();
        let rate = runs as f64 / seconds;
        eprintln!(
            "{}: {runs} runs in {seconds:.0} s ({rate:.0}/s), {passed} of {counters} places, \
             {inputs} inputs, seed {seed}",
            self.target.name
        );
    }

    /// Adds to the corpus file what came through places that its own inputs do not reach, the short ones first.
    fn merge(&mut self) {
        if !self.budget.merge {
            return;
        }
        let path = self.target.corpus_path();
        let mut text = std::fs::read_to_string(&path).expect("it was read before");
        let own = [corpus::parse(&text), self.target.made.clone()].concat();
        self.coverage = Coverage::new();
        for input in &own {
            let _ = self.try_input(input);
        }
        let mut others = std::mem::take(&mut self.inputs);
        others.retain(|input| input.len() <= MERGED_LENGTH_MAX && !own.contains(input));
        others.sort_by_key(Vec::len);
        let end = text.len() + MERGED_BYTES_MAX;
        for input in others {
            let line = corpus::escape(&input);
            let is_new = matches!(self.try_input(&input), Ok(true));
            if is_new && text.len() + line.len() < end {
                text.push_str(&line);
                text.push('\n');
            }
        }
        std::fs::write(&path, text).expect("the corpus can be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    fn directory(name: &str, corpus: &str) -> String {
        let root =
            std::env::temp_dir().join(format!("informant-fuzz-{}-{name}", std::process::id()));
        std::fs::create_dir_all(root.join("fuzz")).expect("a temporary directory");
        std::fs::write(root.join("fuzz/target.txt"), corpus).expect("a temporary file");
        root.display().to_string()
    }

    fn budget() -> Budget {
        Budget { runs: 500, time: None, seed: 7, keep: None, merge: false }
    }

    fn inputs_of_a_session(name: &str) -> Vec<Vec<u8>> {
        let target = Target::new(&directory(name, "# two\n{\"a\":1}\nabc\n"), "target");
        let seen = RefCell::new(Vec::new());
        let check = |input: &[u8]| seen.borrow_mut().push(input.to_vec());
        Session::new(&target, &check, budget()).run();
        seen.into_inner()
    }

    #[test]
    fn a_session_runs_its_corpus_and_then_the_same_mutations_every_time() {
        let inputs = inputs_of_a_session("same");
        assert_eq!(inputs[..2], [&b"{\"a\":1}"[..], b"abc"]);
        assert_eq!(inputs.len(), 502);
        assert_eq!(inputs, inputs_of_a_session("same-again"));
        assert!(inputs.iter().collect::<BTreeSet<_>>().len() > 300, "most are new");
    }

    #[test]
    fn a_failing_check_ends_the_session_with_its_report() {
        let target = Target::new(&directory("fails", "{\"key\":\"value\"}\n"), "target");
        let check = |input: &[u8]| assert!(!input.ends_with(b"}"), "ends with a brace");
        let session = Session::new(&target, &check, budget());
        let failure = attempt(&|_| panic!("x"), b"").expect_err("it panics");
        let (input, _) = { session }.replay().expect_err("the corpus fails");
        assert_eq!(minimise(&check, &input, &failure), input, "it fails elsewhere");
        let session = Session::new(&target, &check, budget());
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| session.run()));
        let report = outcome.expect_err("it fails");
        let report = report.downcast_ref::<String>().expect("a text");
        assert!(report.ends_with("target.txt:\n}\n"), "{report}");
        assert!(report.contains("ends with a brace"), "{report}");
    }
}
