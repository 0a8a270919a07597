//! The election at its full size, with bounds on its times: `make election`, or `SEED=n make election` for the same failures once more.

#![expect(clippy::print_stdout, reason = "a program for people")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use informant_e2e::election::{self, ElectionOptions, ElectionReport, LeaseTimes};
use informant_e2e::percentiles::Percentiles;

/// How long a successor's plugin may take to start and to be told what is there.
const START_MAX: Duration = Duration::from_secs(5);

/// Lets the leader of two hosts fail again and again while a plugin writes, and looks for writes that it had no right to.
#[derive(Parser)]
struct Args {
    /// What failures and changes follow from; another one each time if it is not given.
    #[arg(long)]
    seed: Option<u64>,
    /// How often the leader fails.
    #[arg(long, default_value_t = 50)]
    failures: u32,
    /// Objects that are written to.
    #[arg(long, default_value_t = 40)]
    orders: usize,
    /// Changes a second, each of which is answered by six writes.
    #[arg(long, default_value_t = 60)]
    changes: u32,
    /// Milliseconds between two failures, at most.
    #[arg(long, default_value_t = 3_000)]
    pause: u64,
    /// The host.
    #[arg(long, default_value = "target/release/informant")]
    program: PathBuf,
    /// The guest.
    #[arg(long, default_value = "target/test-guests/answers.wasm")]
    guest: PathBuf,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let options = ElectionOptions {
        program: args.program,
        guest: args.guest,
        seed: args.seed.unwrap_or_else(|| u64::from(fastrand::u32(..))),
        failures: args.failures,
        orders: args.orders,
        changes_per_second: args.changes,
        pause_max: Duration::from_millis(args.pause),
        lease: LeaseTimes { lease_duration: 3, renew_deadline: 2, retry_period: 1 },
        start_max: START_MAX,
    };
    println!("seed {}", options.seed);
    let report = election::run(&options).await?;
    Ok(if tell(&report, &options) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says what came of it, and whether it is as it should be.
fn tell(report: &ElectionReport, options: &ElectionOptions) -> bool {
    let ElectionReport { verdict, failures, refused, changes, lasted } = report;
    let counted: Vec<String> =
        failures.iter().map(|(name, count)| format!("{name} {count} times")).collect();
    let many: u32 = failures.values().sum();
    println!("{many} failures of the leader in {lasted:.1?}: {}", counted.join(", "));
    let (writes, writers, terms) = (verdict.writes, verdict.writers, verdict.terms);
    println!("{changes} changes, {writes} writes of {writers} hosts in {terms} terms");
    println!("{refused} lines tell of a write that was refused for want of the lead");
    let takeovers = Percentiles::of(&verdict.takeovers);
    let max = options.lease.takeover_max();
    println!(
        "from a leader's last sign to its successor's first write: {takeovers} \
         (at most {max:.1?} and {START_MAX:.1?} to start)"
    );
    for complaint in &verdict.complaints {
        println!("WRONG: {complaint}");
    }
    let right = verdict.complaints.is_empty() && takeovers.count > 0;
    println!("{}; seed {}", if right { "all is well" } else { "FAILED" }, options.seed);
    right
}
