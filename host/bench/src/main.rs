//! Runs the benchmark: `informant-bench` measures once and prints, `informant-bench --report .` measures everything and
//! writes BENCHMARKS.md with its plots. See `host/bench/README.md`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use informant_bench::contender::Contender;
use informant_bench::crowd::Crowds;
use informant_bench::load::Load;
use informant_bench::load_server::Layout;
use informant_bench::machine::machine;
use informant_bench::measure::{Bench, Plan};
use informant_bench::parts;
use informant_bench::programs::Programs;
use informant_bench::report::{self, Scale};
use informant_bench::results::Results;
use informant_bench::session::{Session, say};
use informant_bench::subject::Subject;

/// Measures the host beside client-go, kube-rs and a process for each event.
#[derive(Parser)]
struct Args {
    /// Only these contenders.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Contender>,
    /// Pods in the cluster.
    #[arg(long, default_value_t = 20_000)]
    pods: u32,
    /// How often everything is measured; tables have the medians.
    #[arg(long, default_value_t = 1)]
    rounds: u32,
    /// Updates of the burst; client-go over JSON gets a quarter of them.
    #[arg(long, default_value_t = 100_000)]
    updates: u64,
    /// Only the first list and memory.
    #[arg(long)]
    memory_only: bool,
    /// Seconds spent, all in all, on waiting until a virtual machine's host leaves the machine alone, and on measuring again what it disturbed.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    patience: u64,
    /// Tiny sizes: shows that everything works, measures nothing.
    #[arg(long)]
    quick: bool,
    /// Measures other sizes, several handlers and reloads, too, and writes BENCHMARKS.md and plots there.
    #[arg(long, value_name = "DIRECTORY")]
    report: Option<PathBuf>,
    /// Keeps the numbers.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measures nothing: reads what the benches of single parts have printed, and writes host/bench/PARTS.md below the directory of `--report`.
    #[arg(long, value_name = "FILE", requires = "report")]
    parts: Option<PathBuf>,
    /// Measures nothing: takes the numbers that were kept, of the same options on the same machine. Several files are put together.
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    from: Vec<PathBuf>,
    /// With `--from`: measures these anew all the same.
    #[arg(long, value_enum, value_delimiter = ',', requires = "from")]
    anew: Vec<Subject>,
    /// Measures only many plugins and as many handlers of the others; with `--from`, anew beside what was kept.
    #[arg(long, conflicts_with = "anew")]
    only_plugins: bool,
}

/// Pods of the run that others are compared with, to take off what the program itself costs.
const FEW_PODS: u32 = 100;

fn plan(args: &Args) -> Plan {
    let millis = Duration::from_millis;
    let burst = if args.memory_only { 0 } else { args.updates };
    match args.quick {
        true => Plan {
            settle: millis(200),
            latency: millis(500),
            paced: millis(300),
            burst: burst.min(2_000),
            relists: false,
            rung: millis(300),
        },
        false => Plan {
            settle: millis(3_000),
            latency: millis(6_000),
            paced: millis(4_000),
            burst,
            relists: false,
            rung: millis(3_000),
        },
    }
}

/// Sizes of everything that is measured for a report.
fn scale(args: &Args) -> Scale {
    let numbers = |quick: &[u32], full: &[u32]| if args.quick { quick } else { full }.to_vec();
    let crowds = if args.quick { Crowds::quick() } else { Crowds::full() };
    Scale {
        tick_of_crowds: plan(args).tick_at(crowds.lowest_rate()),
        few: FEW_PODS,
        main: args.pods,
        others: numbers(&[200], &[1_000, 5_000, 50_000, 100_000]),
        crowds,
        reload_pods: if args.quick { 150 } else { 2_000 },
        idle: if args.quick { 3 } else { 100 },
        resources: if args.quick { [(12, 20), (1, 240)] } else { [(100, 200), (1, 20_000)] },
        rounds: args.rounds,
        rung: plan(args).rung,
        settle: plan(args).settle,
        machine: machine(),
        updates: plan(args).burst,
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if let (Some(file), Some(directory)) = (&args.parts, &args.report) {
        let printed = std::fs::read_to_string(file);
        let printed = printed.with_context(|| format!("read {}", file.display()))?;
        return parts::write(&printed, &machine(), directory);
    }
    let scale = scale(&args);
    let results = match args.from.is_empty() && !args.only_plugins {
        true => measure(&args, &scale).await?,
        false => measure_anew(&args, &scale, kept(&args)?).await?,
    };
    if let Some(file) = &args.json {
        std::fs::write(file, serde_json::to_vec_pretty(&results)?)?;
    }
    if let Some(directory) = &args.report {
        report::write(&results, &scale, directory)?;
    }
    say(&format!("\n{}", report::summary(&results, FEW_PODS, args.pods)))
}

/// What was kept in all files, of as many rounds as are asked for.
fn kept(args: &Args) -> anyhow::Result<Results> {
    let mut all = Results::default();
    for file in &args.from {
        let kept = serde_json::from_slice::<Results>(&std::fs::read(file)?);
        let Results { runs, notes } = kept.with_context(|| format!("read {}", file.display()))?;
        all.runs.extend(runs);
        all.notes.extend(notes);
    }
    let rounds = Contender::ALL.iter().map(|one| all.rounds(*one, args.pods, 1)).max();
    let rounds = rounds.unwrap_or(0);
    ensure!(
        args.from.is_empty() || rounds == args.rounds as usize,
        "the numbers that were kept are of {rounds} rounds with {} pods, not of {}: say --pods and --rounds as they were",
        args.pods,
        args.rounds
    );
    Ok(all)
}

async fn measure(args: &Args, scale: &Scale) -> anyhow::Result<Results> {
    let scratch = tempfile::tempdir()?;
    let mut session = session(args, scratch.path(), Results::default())?;
    for round in 1..=args.rounds {
        say(&format!("round {round} of {}", args.rounds))?;
        session.main_round(args.pods, FEW_PODS, scale.variants_in(round)).await?;
    }
    if args.report.is_some() {
        session.sizes(&scale.others).await?;
        session.subjects(scale, Subject::value_variants()).await?;
    }
    Ok(session.into_results())
}

/// What is to be measured anew takes the place of what was kept of it.
async fn measure_anew(args: &Args, scale: &Scale, mut kept: Results) -> anyhow::Result<Results> {
    ensure!(
        !args.anew.contains(&Subject::Pods),
        "pods are measured anew with all else: leave out --from"
    );
    let anew = if args.only_plugins { &Subject::OF_CROWDS[..] } else { &args.anew[..] };
    if anew.is_empty() {
        return Ok(kept);
    }
    kept.runs.retain(|run| !anew.contains(&run.subject));
    if !args.from.is_empty() {
        kept.notes.push(match args.only_plugins {
            true => "Many plugins in one host were measured later than the rest.".to_owned(),
            false => format!("Measured later than the rest: {:?}.", args.anew),
        });
    }
    let scratch = tempfile::tempdir()?;
    let mut session = session(args, scratch.path(), kept)?;
    session.subjects(scale, anew).await?;
    Ok(session.into_results())
}

/// With a load server whose files go to the directory.
fn session(args: &Args, directory: &Path, results: Results) -> anyhow::Result<Session> {
    let programs = Programs::find()?;
    let encoder = programs.client_go();
    let load =
        Load::start(&programs.load_server(), encoder.as_deref(), Layout::default(), directory)?;
    let bench = Bench { load, programs };
    let contenders = contenders(args, encoder.is_some())?;
    let patience = Duration::from_secs(args.patience);
    Ok(Session::new(bench, contenders, plan(args), patience, results))
}

/// All that were asked for and can run. What cannot is said loudly.
fn contenders(args: &Args, has_go: bool) -> anyhow::Result<Vec<Contender>> {
    let mut contenders = args.only.clone();
    if contenders.is_empty() {
        contenders = Contender::ALL.to_vec();
    }
    if !has_go && contenders.iter().any(|contender| contender.is_go()) {
        writeln!(
            std::io::stderr(),
            "SKIPPED client-go: its program is not built, for there was no Go (make bench-client-go)"
        )?;
        contenders.retain(|contender| !contender.is_go());
    }
    ensure!(!contenders.is_empty(), "no contender is left to measure");
    Ok(contenders)
}
