//! Fixed seeds, a new one every time, and the promise that a seed says everything.

use informant_simulation::{Options, Outcome, Until, describe, hide_planned_panics, run, run_many};

/// The first of the fixed seeds.
const FIRST: u64 = 1;
/// How many. Their mix of faults is complete; a test says so.
const SEEDS: u64 = 120;

fn once(seed: u64) -> Outcome {
    hide_planned_panics();
    run(Options { seed, print: false })
}

#[track_caller]
fn check(outcome: &Outcome) {
    assert!(outcome.violation.is_none(), "{}", describe(outcome));
}

#[test]
fn fixed_seeds_hold_every_invariant_and_meet_every_fault() {
    hide_planned_panics();
    let many = run_many(FIRST, Until::Seeds(SEEDS), false, |_, _| {});
    many.broken.iter().for_each(check);
    assert_eq!(many.runs, SEEDS);
    assert_eq!(many.faults.never_met(), []);
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in [3, 21, 34] {
        let (one, two) = (once(seed), once(seed));
        assert_eq!(one.hash, two.hash, "seed {seed}");
        assert_ne!(one.hash, once(seed + 1).hash);
    }
}

/// Its seed is printed where it fails, and by `cargo test -- --nocapture`.
#[test]
#[expect(clippy::print_stdout, reason = "a failure is replayed by its seed")]
fn a_new_seed_holds_every_invariant() {
    let seed = fastrand::u64(1 << 32..1 << 48);
    println!("new seed {seed}");
    check(&once(seed));
}
