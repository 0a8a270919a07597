//! A siege at its full size: `make siege`, or with `SIEGE_MINUTES=m SEED=n ONLY=modules,requests`.

#![expect(clippy::print_stdout, reason = "a program for people")]

use clap::Parser;
use informant_e2e::percentiles::Percentiles;
use informant_e2e::siege::input::AttackKind;
use informant_e2e::siege::{self, SiegeOptions, SiegeReport};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Reasons that are shown of each kind, the most frequent ones.
const SHOWN: usize = 25;
/// Points of the curve that are shown.
const POINTS: usize = 20;

/// Throws generated files, requests, state and recordings at a host, and looks whether it holds.
#[derive(Parser)]
struct Args {
    /// Length of the siege in minutes.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Seed that decides every input. Without it a new one is taken and printed.
    #[arg(long)]
    seed: Option<u64>,
    /// Kinds of input, separated by commas; `files` stands for `modules,mutants,descriptors,settings`. Without it, all kinds.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The number of each kind's first input.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Number of inputs of each kind.
    #[arg(long, default_value_t = u64::MAX)]
    inputs: u64,
    /// Path of the host's program.
    #[arg(long, default_value = "target/release/informant")]
    program: PathBuf,
    /// Directory of the test guests.
    #[arg(long, default_value = "target/test-guests")]
    guests: PathBuf,
    /// Directory of the shipped plugins.
    #[arg(long, default_value = "target/plugins")]
    plugins: PathBuf,
    /// Directory for the inputs of a failure.
    #[arg(long, default_value = "target/siege")]
    keep: PathBuf,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let kinds = kinds(&args.only)?;
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    println!("seed {seed}: {}", names.join(", "));
    let options = SiegeOptions {
        program: args.program,
        guests: args.guests,
        plugins: args.plugins,
        seed,
        time: Duration::from_secs_f64(args.minutes * 60.0),
        kinds,
        from: args.from,
        inputs: args.inputs,
        keep: args.keep,
    };
    let report = siege::run(&options).await?;
    tell(&report);
    Ok(judge(&report, seed))
}

fn kinds(only: &[String]) -> anyhow::Result<Vec<AttackKind>> {
    let files =
        [AttackKind::Modules, AttackKind::Mutants, AttackKind::Descriptors, AttackKind::Settings];
    let mut kinds = Vec::new();
    for name in only {
        match AttackKind::ALL.into_iter().find(|kind| kind.name() == name) {
            Some(kind) => kinds.push(kind),
            None if name == "files" => kinds.extend(files),
            None => {
                let known = AttackKind::ALL.map(AttackKind::name).join(", ");
                anyhow::bail!("--only {name}: no such kind of input; known are files, {known}")
            }
        }
    }
    Ok(if kinds.is_empty() { AttackKind::ALL.to_vec() } else { kinds })
}

fn tell(report: &SiegeReport) {
    let mut by_kind: BTreeMap<AttackKind, Vec<(u64, &str)>> = BTreeMap::new();
    for ((kind, outcome), count) in &report.outcomes {
        by_kind.entry(*kind).or_default().push((*count, outcome));
    }
    for (kind, mut outcomes) in by_kind {
        outcomes.sort_unstable_by(|one, other| other.cmp(one));
        let all: u64 = outcomes.iter().map(|(count, _)| count).sum();
        println!("{}: {all} in {:.0?}", kind.name(), report.lasted);
        for (count, outcome) in outcomes.iter().take(SHOWN) {
            println!("{count:8}  {outcome}");
        }
        if outcomes.len() > SHOWN {
            println!("          and {} other outcomes", outcomes.len() - SHOWN);
        }
    }
    let mut probes = report.probes.clone();
    probes.sort_unstable();
    println!("/livez: {} probes", Percentiles::of(&probes));
    println!("the good plugin: {} events", Percentiles::of(&report.delivered));
    let mebibytes = |bytes: u64| bytes >> 20;
    let most =
        |of: fn(&siege::Sample) -> u64| report.curve.iter().map(of).max().unwrap_or_default();
    println!(
        "the host's memory: {} MiB before, {} MiB at most, {} MiB more than before in the end; the largest child: {} MiB",
        mebibytes(report.before),
        mebibytes(most(|it| it.host)),
        mebibytes(report.kept),
        mebibytes(most(|it| it.child)),
    );
    let every = report.curve.len().div_ceil(POINTS).max(1);
    let curve: Vec<String> =
        report.curve.iter().step_by(every).map(|it| mebibytes(it.host).to_string()).collect();
    println!("its curve in MiB: {}", curve.join(" "));
    println!(
        "threads: {} at most; open files: {} at most",
        most(|it| it.threads),
        most(|it| it.files)
    );
    println!("from SIGTERM to its end: {:.1?}", report.end);
}

fn judge(report: &SiegeReport, seed: u64) -> ExitCode {
    if report.complaints.is_empty() {
        println!("seed {seed}: it held");
        return ExitCode::SUCCESS;
    }
    for complaint in &report.complaints {
        println!("HURT: {complaint}");
    }
    println!("inputs that were under way; those before them are beside:");
    for file in &report.kept_inputs {
        let (kind, number) =
            file.rsplit('/').next().and_then(|name| name.split_once('-')).unwrap_or_default();
        println!("  {file}\n    again: make siege SEED={seed} ONLY={kind} FROM={number} INPUTS=1");
    }
    ExitCode::FAILURE
}
