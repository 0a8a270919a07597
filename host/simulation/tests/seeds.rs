//! Fixed seeds, a new seed in every run, and the check that a seed determines its run.

use informant_simulation::{
    Many, Options, Outcome, Plan, Until, describe, hide_planned_panics, run, run_many,
};

/// The first of the fixed seeds.
const FIRST: u64 = 1;
/// The number of fixed seeds. A test checks that they meet every fault.
const SEEDS: u64 = 120;
/// The number of seeds that are run twice. They meet only some of the faults.
const SEEDS_TWICE: u64 = 12;
/// Other seeds that have found a mistake, in the core or in the simulation.
const FOUND: [u64; 7] = [1_164, 23_046, 23_172, 23_443, 28_372, 101_012, 202_623];

fn once(seed: u64) -> Outcome {
    hide_planned_panics();
    run(Options { seed, print: false })
}

#[track_caller]
fn check(outcome: &Outcome) {
    assert!(outcome.violation.is_none(), "{}", describe(outcome));
}

fn run_seeds(seeds: u64, twice: bool) -> Many {
    hide_planned_panics();
    let until = Until::Seeds(seeds);
    let many = run_many(Plan { first: FIRST, until, go_on: false, twice }, |_, _| {});
    many.broken.iter().for_each(check);
    assert_eq!(many.runs, seeds);
    many
}

#[test]
fn fixed_seeds_hold_every_invariant_meet_every_fault_and_say_everything() {
    let many = run_seeds(SEEDS, false);
    assert_eq!(many.faults.never_met(), []);
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    run_seeds(SEEDS_TWICE, true);
}

#[test]
fn seeds_that_have_found_a_mistake_hold_every_invariant() {
    FOUND.into_iter().for_each(|seed| check(&once(seed)));
}

#[test]
fn another_seed_gives_another_trace() {
    assert_ne!(once(3).hash, once(4).hash);
}

/// A failure prints its seed, and so does `cargo test -- --nocapture`.
#[test]
#[expect(clippy::print_stdout, reason = "a failure is replayed by its seed")]
fn a_new_seed_holds_every_invariant() {
    let seed = fastrand::u64(1 << 32..1 << 48);
    println!("new seed {seed}");
    check(&once(seed));
}
