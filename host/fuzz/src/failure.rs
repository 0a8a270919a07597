//! What is done with an input on which a check fails: made small, kept, told.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;

use crate::corpus;

/// Attempts at making a failing input smaller.
const MINIMISING_RUNS_MAX: usize = 4_000;

/// Where and why a check panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// File and line; empty where the panic had none.
    place: String,
    message: String,
}

thread_local! {
    /// Whether panics of this thread are caught and told by the engine.
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Runs the check; a panic is a failure, of which nothing is printed.
pub(crate) fn attempt(check: &dyn Fn(&[u8]), input: &[u8]) -> Result<(), Failure> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |info| if CATCHING.get() { note(info) } else { others(info) }));
    });
    CATCHING.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(|| check(input)));
    CATCHING.set(false);
    outcome.map_err(|panic| Failure {
        place: PLACE.take().unwrap_or_default(),
        message: message(&*panic),
    })
}

fn note(info: &PanicHookInfo<'_>) {
    PLACE.set(info.location().map(|place| format!("{}:{}", place.file(), place.line())));
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a text").to_owned()
}

/// The smallest input found that fails at the same place.
pub(crate) fn minimise(check: &dyn Fn(&[u8]), input: &[u8], failure: &Failure) -> Vec<u8> {
    let mut best = input.to_vec();
    let mut size = best.len().div_ceil(2);
    let mut runs = 0;
    while size > 0 {
        let mut start = 0;
        let before = best.len();
        while start < best.len() && runs < MINIMISING_RUNS_MAX {
            runs += 1;
            let end = (start + size).min(best.len());
            let smaller = [&best[..start], &best[end..]].concat();
            match attempt(check, &smaller) {
                Err(other) if other.place == failure.place => best = smaller,
                _ => start = end,
            }
        }
        // Once more with single bytes for as long as that helps.
        size = if size == 1 && best.len() < before { 1 } else { size / 2 };
    }
    best
}

impl Failure {
    /// What the developer is told.
    pub(crate) fn report(&self, name: &str, input: &[u8], corpus: &Path) -> String {
        let Self { place, message } = self;
        let corpus = corpus.display();
        format!(
            "fuzz target {name} fails at {place}:\n{message}\n\
             mend it, and keep the input as a line of {corpus}:\n{}\n",
            corpus::escape(input)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_both(input: &[u8]) {
        let text = String::from_utf8_lossy(input);
        assert!(!(text.contains("ab") && text.contains('z')), "both in {} bytes", input.len());
    }

    #[test]
    fn a_failing_input_is_made_small_and_told_as_a_line() {
        let input = b"some text with ab in it\nand more up to the z at its end, then more";
        let failure = attempt(&has_both, input).expect_err("it fails");
        let small = minimise(&has_both, input, &failure);
        assert_eq!(small, b"abz");
        let failure = attempt(&has_both, &small).expect_err("it still fails");
        let report = failure.report("words", b"ab\n", Path::new("fuzz/words.txt"));
        assert!(report.contains("failure.rs") && report.contains("both in 3 bytes"), "{report}");
        assert!(report.ends_with("fuzz/words.txt:\nab\\n\n"), "{report}");
    }

    #[test]
    fn what_fails_elsewhere_is_another_failure() {
        let check = |input: &[u8]| {
            assert!(!input.is_empty(), "empty");
            assert!(input.len() < 3, "long");
        };
        let failure = attempt(&check, b"abcdef").expect_err("it fails");
        assert_eq!(minimise(&check, b"abcdef", &failure).len(), 3);
    }
}
