//! The storm at its full size, with bounds on its times: `make storm`, or `SEED=n make storm` for the same once more; `SHARDS=n` for a plugin in
//! several instances, `KILLS=n` for hosts that are killed.

#![expect(clippy::print_stdout, reason = "a program for people")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use informant_e2e::percentiles::Percentiles;
use informant_e2e::storm::lives::LivesVerdict;
use informant_e2e::storm::{self, StormOptions, StormReport};

/// How long nobody may be served at a swap, for 99 of 100 swaps.
const GAP_MAX: Duration = Duration::from_millis(50);
/// How long the new code may take to serve once its file is whole, for 99 of 100 swaps.
const SERVING_MAX: Duration = Duration::from_millis(700);

/// Replaces a plugin's file again and again while its objects change, and looks for what was lost.
#[derive(Parser)]
struct Args {
    /// What changes and versions follow from; another one each time if it is not given.
    #[arg(long)]
    seed: Option<u64>,
    /// Names that objects come and go under.
    #[arg(long, default_value_t = 2_000)]
    objects: usize,
    /// Changes a second.
    #[arg(long, default_value_t = 2_000)]
    changes: u32,
    /// Replacements of the plugin's file.
    #[arg(long, default_value_t = 200)]
    replacements: u32,
    /// Milliseconds between two replacements, at most.
    #[arg(long, default_value_t = 400)]
    pause: u64,
    /// Instances of the plugin.
    #[arg(long, default_value_t = 1)]
    shards: usize,
    /// How often the host is killed and goes on with its state directory; times have no bounds then.
    #[arg(long, default_value_t = 0)]
    kills: u32,
    /// The host.
    #[arg(long, default_value = "target/release/informant")]
    program: PathBuf,
    /// The guest; if it is not given, the one that can run in so many instances.
    #[arg(long)]
    guest: Option<PathBuf>,
}

impl Args {
    fn guest(&self) -> PathBuf {
        let name = if self.shards > 1 { "storm-in-shards" } else { "storm" };
        let built = || PathBuf::from(format!("target/test-guests/{name}.wasm"));
        self.guest.clone().unwrap_or_else(built)
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let options = StormOptions {
        guest: args.guest(),
        program: args.program,
        seed: args.seed.unwrap_or_else(|| u64::from(fastrand::u32(..))),
        objects: args.objects,
        changes_per_second: args.changes,
        replacements: args.replacements,
        pause_max: Duration::from_millis(args.pause),
        shards: args.shards,
        kills: args.kills,
    };
    println!("seed {}", options.seed);
    let report = storm::run(&options).await?;
    let is_right = match &report.kills {
        Some(kills) => tell_kills(&report, kills, options.seed),
        None => tell(&report, options.seed),
    };
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says what came of it, and whether it is as it should be.
fn tell(report: &StormReport, seed: u64) -> bool {
    let StormReport { verdict, times, not_loaded, .. } = report;
    say_changes(report);
    let (events, repeats, replayed) = (verdict.events, verdict.repeats, verdict.replayed);
    println!("{events} events told, {replayed} of them replays and {repeats} repeats");
    println!("{} versions took over, {not_loaded} did not", verdict.versions);
    let serving = shown("file complete to new code serving", &times.serving, SERVING_MAX);
    let gap = shown("gap in delivery at a swap", &times.gaps, GAP_MAX);
    for (after, silence) in &times.silences {
        println!("nobody was told anything for {silence:.1?}, {after:.1?} after the first event");
    }
    for complaint in &verdict.complaints {
        println!("LOST: {complaint}");
    }
    let right = verdict.complaints.is_empty() && serving && gap;
    println!("{}; seed {seed}", if right { "all is well" } else { "FAILED" });
    right
}

/// The same of hosts that were killed.
fn tell_kills(report: &StormReport, kills: &LivesVerdict, seed: u64) -> bool {
    let LivesVerdict { events, owed, paid, letters, complaints } = kills;
    say_changes(report);
    println!("{events} events told");
    println!("{owed} retries were on the disk when a host was killed, {paid} came again");
    println!("{letters} dead letters were there in the end");
    for complaint in complaints {
        println!("LOST: {complaint}");
    }
    let right = complaints.is_empty() && *owed > 0;
    println!("{}; seed {seed}", if right { "all is well" } else { "FAILED" });
    right
}

fn say_changes(StormReport { changes, lasted, .. }: &StormReport) {
    let rate = *changes as f64 / lasted.as_secs_f64();
    println!("{changes} changes in {lasted:.1?}, {rate:.0} a second");
}

/// Says how long something took, and whether that is within its bound.
fn shown(what: &str, sorted: &[Duration], max: Duration) -> bool {
    let took = Percentiles::of(sorted);
    println!("{what}: {took} (p99 at most {max:?})");
    took.count > 0 && took.most <= max
}
