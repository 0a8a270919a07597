//! The command line of the simulation: one seed with its trace, many seeds, or as many as fit into some minutes.

use clap::Parser;
use informant_simulation::{
    Many, Options, Plan, Until, describe, hide_planned_panics, run, run_many,
};
use std::process::ExitCode;
use std::time::Duration;

/// Runs the informers against a model API server that misbehaves; everything follows from the seed.
#[derive(Parser)]
#[command(name = "informant-simulation")]
struct Arguments {
    /// The first seed.
    #[arg(long)]
    seed: Option<u64>,
    /// How many seeds from there; without it one is run and its trace printed.
    #[arg(long, group = "several")]
    seeds: Option<u64>,
    /// For how long, in minutes.
    #[arg(long, group = "several")]
    minutes: Option<u64>,
    /// Go on after a broken invariant, and list all seeds that broke one.
    #[arg(long)]
    go_on: bool,
    /// Run each seed twice, and compare the traces: of several seeds.
    #[arg(long, requires = "several")]
    twice: bool,
    /// Do not demand that every fault was met.
    #[arg(long)]
    any_mix: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    hide_planned_panics();
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..1 << 48));
    let until = match (arguments.seeds, arguments.minutes) {
        (Some(seeds), _) => Until::Seeds(seeds),
        (None, Some(minutes)) => Until::Time(Duration::from_secs(minutes * 60)),
        (None, None) => return one(seed),
    };
    say(&format!("from seed {seed} on"));
    let plan = Plan { first: seed, until, go_on: arguments.go_on, twice: arguments.twice };
    let many = run_many(plan, |runs, took| {
        say(&format!("{runs} seeds, {:.0} a minute", runs as f64 / took.as_secs_f64() * 60.0));
    });
    conclude(&many, arguments.any_mix)
}

fn one(seed: u64) -> ExitCode {
    let outcome = run(Options { seed, print: true });
    say(&describe(&outcome));
    say(&format!("trace {:016x}", outcome.hash));
    if outcome.violation.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn conclude(many: &Many, any_mix: bool) -> ExitCode {
    for outcome in many.broken.iter().skip(1) {
        if let Some(violation) = &outcome.violation {
            let found: String = violation.found.chars().take(160).collect();
            say(&format!("seed {} broke: {}: {found}", outcome.seed, violation.invariant));
        }
    }
    if let Some(broken) = many.broken.first() {
        say(&describe(broken));
        say(&format!("{} of {} seeds broke an invariant", many.broken.len(), many.runs));
        return ExitCode::FAILURE;
    }
    say(&many.report());
    let never: Vec<_> = many.faults.never_met().into_iter().map(|fault| fault.as_str()).collect();
    if never.is_empty() || any_mix {
        return ExitCode::SUCCESS;
    }
    say(&format!("never met: {}; run more seeds", never.join(", ")));
    ExitCode::FAILURE
}

#[expect(clippy::print_stdout, reason = "the program's output")]
fn say(text: &str) {
    println!("{text}");
}
