//! The soak at its full size, with bounds on times and memory: `make soak-plugins`, or with `SOAK_MINUTES=m` for m minutes together.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use informant_e2e::soak::{self, Options, Report};
use informant_e2e::storm::percentile;

/// How late a good plugin may be while its neighbours come to their ends, for 99 of 100 events.
const LATENCY_MAX: Duration = Duration::from_millis(50);
/// How long that may take.
const TRIPPED_MAX: Duration = Duration::from_secs(30);
/// How much later than alone a good plugin may be afterwards, for 99 of 100 events.
const SLOWER_MAX: f64 = 1.5;
/// How much the host's memory may grow from the first third of the time afterwards to the last.
const GROWTH_MAX: f64 = 1.05;

/// Runs good plugins beside every plugin that misbehaves.
#[derive(Parser)]
struct Args {
    /// Minutes that all are together once every sinner has come to its end.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Seconds that the good plugins are alone.
    #[arg(long, default_value_t = 60)]
    alone: u64,
    /// Good plugins.
    #[arg(long, default_value_t = 50)]
    good: usize,
    /// Changes a second.
    #[arg(long, default_value_t = 20)]
    changes: u32,
    /// The host.
    #[arg(long, default_value = "target/release/informant")]
    program: PathBuf,
    /// Where the guests are.
    #[arg(long, default_value = "target/test-guests")]
    guests: PathBuf,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let options = Options {
        program: args.program,
        guests: args.guests,
        good: args.good,
        changes_per_second: args.changes,
        alone: Duration::from_secs(args.alone),
        together: Duration::from_secs_f64(args.minutes * 60.0),
    };
    let report = soak::run(&options).await?;
    Ok(if tell(&report) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says what came of it, and whether it is as it should be.
fn tell(report: &Report) -> bool {
    let alone = shown("alone", &report.alone);
    let until = shown("until the last sinner came to its end", &report.until_ended);
    let after = shown("afterwards", &report.after);
    say(&format!(
        "the last breaker opened after {:.1?}, the last sinner came to its end after {:.1?}",
        report.tripped_after, report.ended_after
    ));
    let memory: Vec<u64> =
        report.memory.iter().filter(|(at, _)| *at >= report.ended_at).map(|(_, it)| *it).collect();
    let third = memory.len().div_ceil(3).max(1);
    let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len().max(1) as f64;
    let (early, late) = (mean(&memory[..third]), mean(&memory[memory.len() - third..]));
    let most = report.memory.iter().map(|(_, bytes)| *bytes).max().unwrap_or_default();
    let mebibytes = |bytes: f64| bytes / f64::from(1 << 20);
    say(&format!(
        "the host's memory: {:.0} MiB in the first third of the time afterwards, {:.0} MiB in the last, {:.0} MiB at most",
        mebibytes(early),
        mebibytes(late),
        mebibytes(most as f64)
    ));
    say(&format!("{} lines were written", report.lines));
    for complaint in &report.complaints {
        say(&format!("HURT: {complaint}"));
    }
    let judged = [
        ("p99 until they ended", until <= LATENCY_MAX),
        (
            "time until they were tripped",
            report.tripped_after <= TRIPPED_MAX && !report.tripped_after.is_zero(),
        ),
        ("p99 afterwards", after <= alone.mul_f64(SLOWER_MAX)),
        ("memory", late <= early * GROWTH_MAX),
        ("everybody's story", report.complaints.is_empty()),
    ];
    let missed: Vec<&str> =
        judged.iter().filter(|(_, well)| !well).map(|(what, _)| *what).collect();
    say(&match missed.as_slice() {
        [] => "all is well".to_owned(),
        missed => format!("FAILED: {}", missed.join(", ")),
    });
    missed.is_empty()
}

/// Says how late events were, and answers with what 99 of 100 did not exceed.
fn shown(what: &str, sorted: &[Duration]) -> Duration {
    let [half, most, worst] = [50, 99, 100].map(|hundredths| percentile(sorted, hundredths));
    let count = sorted.len();
    say(&format!("{what}: p50 {half:.1?}, p99 {most:.1?}, max {worst:.1?} of {count} events"));
    most
}

#[expect(clippy::print_stdout, reason = "a program for people")]
fn say(line: &str) {
    println!("{line}");
}
