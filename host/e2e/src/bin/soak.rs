//! The soak at its full size, with bounds on times and memory: `make soak-plugins`, or with `SOAK_MINUTES=m` for m minutes together.

#![expect(clippy::print_stdout, reason = "a program for people")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use informant_e2e::percentiles::Percentiles;
use informant_e2e::soak::{self, SoakOptions, SoakReport};

/// How late a good plugin may be while its neighbours come to their ends, for 99 of 100 events.
const LATENCY_MAX: Duration = Duration::from_millis(50);
/// How long that may take with two processors. Two plugins use four seconds of processor time each until their
/// breakers open, and five others want as much of the one thread for slow plugins meanwhile: 28 s and the others'
/// loads, if the thread's time is shared fairly.
const TRIPPED_MAX: Duration = Duration::from_secs(40);
/// How much later than beside other programs a good plugin may be afterwards, for 99 of 100 events.
const SLOWER_MAX: f64 = 1.5;
/// How much the host's least memory may grow from the first third of the time afterwards to the last. The least, because a guest that may grow up
/// to its bound does, loses its instance and begins anew: every other minute, by the changes' default rate, so that each third has to be longer.
const GROWTH_MAX: f64 = 1.05;

/// Runs good plugins beside every plugin that misbehaves.
#[derive(Parser)]
struct Args {
    /// Minutes that all are together once every sinner has come to its end.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Seconds that the good plugins run beside other programs that spin, before the misbehaving plugins come.
    #[arg(long, default_value_t = 60)]
    before: u64,
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
    let options = SoakOptions {
        program: args.program,
        guests: args.guests,
        good: args.good,
        changes_per_second: args.changes,
        before: Duration::from_secs(args.before),
        together: Duration::from_secs_f64(args.minutes * 60.0),
    };
    let report = soak::run(&options).await?;
    Ok(if tell(&report) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says what came of it, and whether it is as it should be.
fn tell(report: &SoakReport) -> bool {
    let before = shown("beside other programs", &report.before);
    let until = shown("until the last sinner came to its end", &report.until_ended);
    let after = shown("afterwards", &report.after);
    println!(
        "the last breaker opened after {:.1?}, the last sinner came to its end after {:.1?}",
        report.tripped_after, report.ended_after
    );
    let memory: Vec<u64> =
        report.memory.iter().filter(|(at, _)| *at >= report.ended_at).map(|(_, it)| *it).collect();
    let third = memory.len().div_ceil(3).max(1);
    let least = |part: &[u64]| part.iter().min().copied().unwrap_or_default() as f64;
    let (early, late) = (least(&memory[..third]), least(&memory[memory.len() - third..]));
    let most = report.memory.iter().map(|(_, bytes)| *bytes).max().unwrap_or_default();
    let mebibytes = |bytes: f64| bytes / f64::from(1 << 20);
    println!(
        "the host's memory: at least {:.0} MiB in the first third of the time afterwards and {:.0} MiB in the last, {:.0} MiB at most",
        mebibytes(early),
        mebibytes(late),
        mebibytes(most as f64)
    );
    println!("{} lines were written", report.lines);
    for complaint in &report.complaints {
        println!("HURT: {complaint}");
    }
    let judged = [
        ("p99 until they ended", until <= LATENCY_MAX),
        (
            "time until they were tripped",
            report.tripped_after <= TRIPPED_MAX && !report.tripped_after.is_zero(),
        ),
        ("p99 afterwards", after <= before.mul_f64(SLOWER_MAX)),
        ("memory", late <= early * GROWTH_MAX),
        ("everybody's story", report.complaints.is_empty()),
    ];
    let missed: Vec<&str> =
        judged.iter().filter(|(_, well)| !well).map(|(what, _)| *what).collect();
    match missed.as_slice() {
        [] => println!("all is well"),
        missed => println!("FAILED: {}", missed.join(", ")),
    }
    missed.is_empty()
}

/// Says how late events were, and answers with what 99 of 100 did not exceed.
fn shown(what: &str, sorted: &[Duration]) -> Duration {
    let late = Percentiles::of(sorted);
    println!("{what}: {late} events");
    late.most
}
