//! Runs the benchmark: `informant-bench` measures once and prints, `informant-bench --report .` measures everything and
//! writes BENCHMARKS.md with its plots. See `host/bench/README.md`.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Parser;
use informant_bench::contender::{Contender, Programs};
use informant_bench::idle::idle;
use informant_bench::load::Load;
use informant_bench::measure::{Bench, Plan};
use informant_bench::report::{self, Scale};
use informant_bench::results::{Results, Run, STOLEN_MAX};
use informant_bench::stolen::await_calm;

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
    /// Updates of the burst.
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
    /// Measures nothing: takes the numbers that were kept, of the same options on the same machine.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
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
            rung: millis(300),
        },
        false => Plan {
            settle: millis(3_000),
            latency: millis(8_000),
            paced: millis(4_000),
            burst,
            rung: millis(2_000),
        },
    }
}

/// Sizes of everything that is measured for a report.
fn scale(args: &Args) -> Scale {
    let numbers = |quick: &[u32], full: &[u32]| if args.quick { quick } else { full }.to_vec();
    Scale {
        few: FEW_PODS,
        main: args.pods,
        others: numbers(&[200], &[1_000, 5_000, 50_000, 100_000]),
        handlers: numbers(&[1, 2], &[1, 10, 100]),
        fan_out_pods: if args.quick { 150 } else { 2_000 },
        rounds: args.rounds,
        machine: machine(),
        updates: plan(args).burst,
    }
}

/// Processors, their name, and the kernel.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let information = read("/proc/cpuinfo");
    let name = information.lines().find_map(|line| line.strip_prefix("model name"));
    let name =
        name.map_or("an unknown processor", |name| name.trim_start_matches([' ', '\t', ':']));
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{processors} cores of {name}, Linux {}", kernel.trim())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let scale = scale(&args);
    let results = match &args.from {
        Some(file) => serde_json::from_slice::<Results>(&std::fs::read(file)?)
            .with_context(|| format!("read {}", file.display()))?,
        None => measure(&args, &scale).await?,
    };
    let rounds = Contender::ALL.iter().map(|one| results.rounds(*one, args.pods, 1)).max();
    let rounds = rounds.unwrap_or(0);
    ensure!(
        args.from.is_none() || rounds == args.rounds as usize,
        "the numbers that were kept are of {rounds} rounds with {} pods, not of {}: say --pods and --rounds as they were",
        args.pods,
        args.rounds
    );
    if let Some(file) = &args.json {
        std::fs::write(file, serde_json::to_vec_pretty(&results)?)?;
    }
    if let Some(directory) = &args.report {
        report::write(&results, &scale, directory)?;
    }
    say(&format!("\n{}", report::main_table(&results, FEW_PODS, args.pods)))
}

async fn measure(args: &Args, scale: &Scale) -> anyhow::Result<Results> {
    let programs = Programs::find()?;
    let scratch = tempfile::tempdir()?;
    let encoder = programs.client_go();
    let load = Load::start(&programs.load_server(), encoder.as_deref(), scratch.path())?;
    let bench = Bench { load, programs };
    let contenders = contenders(args, encoder.is_some())?;
    let mut session = Session {
        bench,
        contenders,
        plan: plan(args),
        idle: if args.quick { 3 } else { 100 },
        patience: Duration::from_secs(args.patience),
        results: Results::default(),
    };
    for round in 1..=args.rounds {
        say(&format!("round {round} of {}", args.rounds))?;
        session.main_round(args.pods).await?;
    }
    if args.report.is_some() {
        session.sizes(&scale.others).await?;
        session.fan_out(scale.fan_out_pods, &scale.handlers).await?;
    }
    Ok(session.results)
}

struct Session {
    bench: Bench,
    contenders: Vec<Contender>,
    plan: Plan,
    /// Plugins that have nothing to do.
    idle: u32,
    /// What is left of it.
    patience: Duration,
    results: Results,
}

impl Session {
    /// Everything at one number of pods, contender by contender.
    async fn main_round(&mut self, pods: u32) -> anyhow::Result<()> {
        for contender in self.contenders.clone() {
            self.memory(contender, FEW_PODS).await?;
            let run = self.calmly(contender, pods).await;
            self.keep(run.with_context(|| contender.title().to_owned())?)?;
        }
        Ok(())
    }

    /// One contender's run, when the machine is left alone; made again if it was not, as long as patience lasts. The calmest one counts.
    async fn calmly(&mut self, contender: Contender, pods: u32) -> anyhow::Result<Run> {
        let mut calmest: Option<Run> = None;
        loop {
            let begin = Instant::now();
            await_calm(begin + self.patience).await?;
            self.patience = self.patience.saturating_sub(begin.elapsed());
            let begin = Instant::now();
            let run = self.bench.run(contender, pods, &self.plan).await?;
            let stolen = run.stolen();
            let run = match calmest.take() {
                Some(before) if before.stolen() <= stolen => before,
                _ => run,
            };
            if run.stolen() <= STOLEN_MAX || self.patience.is_zero() {
                return Ok(run);
            }
            self.patience = self.patience.saturating_sub(begin.elapsed());
            let title = contender.title();
            say(&format!(
                "{title}: {:.1} % of the machine's time was stolen; once more",
                stolen * 100.0
            ))?;
            calmest = Some(run);
        }
    }

    /// First list and memory at other numbers of pods.
    async fn sizes(&mut self, sizes: &[u32]) -> anyhow::Result<()> {
        for pods in sizes {
            for contender in self.contenders.clone() {
                if ![Contender::KubeRsPages, Contender::Process].contains(&contender) {
                    self.memory(contender, *pods).await?;
                }
            }
        }
        Ok(())
    }

    async fn memory(&mut self, contender: Contender, pods: u32) -> anyhow::Result<()> {
        let run = self.bench.run(contender, pods, &Plan { burst: 0, ..self.plan }).await;
        self.keep(run.with_context(|| contender.title().to_owned())?)
    }

    /// Several handlers, and the host's reloads.
    async fn fan_out(&mut self, pods: u32, handlers: &[u32]) -> anyhow::Result<()> {
        for number in handlers {
            for contender in self.contenders.clone() {
                if ![Contender::KubeRsPages, Contender::Process].contains(&contender) {
                    let run = self.bench.fan_out(contender, pods, *number, &self.plan).await;
                    self.keep(run.with_context(|| contender.title().to_owned())?)?;
                }
            }
        }
        if self.contenders.contains(&Contender::Informant) {
            let run = self.bench.reload(pods, &self.plan).await.context("reloads")?;
            self.keep(run)?;
            let Bench { load, programs } = &self.bench;
            // What is free goes back to the system within some seconds.
            let settle = self.plan.settle * 5;
            let run = idle(load, programs, FEW_PODS, self.idle, settle).await;
            self.keep(run.context("idle plugins")?)?;
        }
        Ok(())
    }

    fn keep(&mut self, run: Run) -> anyhow::Result<()> {
        let (title, handlers) = (run.contender.title(), run.handlers);
        say(&format!("{title}, {} pods, {handlers} handlers", run.pods))?;
        for (metric, value) in &run.metrics {
            say(&format!("    {metric:?}: {}", report::shown(*metric, *value)))?;
        }
        self.results.runs.push(run);
        Ok(())
    }
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
    ensure!(!contenders.is_empty(), "nobody is left to measure");
    Ok(contenders)
}

fn say(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}
