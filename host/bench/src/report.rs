//! From numbers to BENCHMARKS.md and its plots.

mod drawings;
mod goals;
mod plots;
mod tables;
mod ticks;

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::contender::Contender;
use crate::idle::KINDS;
use crate::measure::{MEASURES, RELOAD_MEASURES, RELOAD_RATE, RELOADS, burst_of, overstated_max};
use crate::results::{Metric, Results};
use crate::subject::Subject;
use drawings::draw;

pub use tables::{shown, summary};

/// What a report is of.
pub struct Scale {
    /// Pods of the run that others are compared with.
    pub few: u32,
    /// Pods of the main tables.
    pub main: u32,
    /// Numbers of pods at which memory was measured, without these two.
    pub others: Vec<u32>,
    /// Numbers of handlers.
    pub handlers: Vec<u32>,
    /// Pods while handlers are added.
    pub fan_out_pods: u32,
    /// Plugins that have nothing to do.
    pub idle: u32,
    /// Resources that are followed at once, and objects of each: many small ones, and as many objects of one.
    pub resources: [(u32, u32); 2],
    /// How often everything was measured, but for variants of a contender.
    pub rounds: u32,
    /// How long each step of the ladder of rates takes.
    pub rung: Duration,
    /// How long memory settles.
    pub settle: Duration,
    /// What a tick of the kernel's count of processor time is of an update where handlers are added, in seconds.
    pub tick_of_fan_out: f64,
    /// The machine, in a line.
    pub machine: String,
    /// Updates of the burst.
    pub updates: u64,
}

/// Rounds of variants.
const VARIANT_ROUNDS: u32 = 2;

impl Scale {
    /// Whether variants are measured in this round: in the first ones.
    pub fn variants_in(&self, round: u32) -> bool {
        round <= VARIANT_ROUNDS
    }

    /// The highest number of pods.
    fn most(&self) -> u32 {
        self.others.iter().copied().chain([self.main]).max().unwrap_or(self.main)
    }
}

/// Where plots are, from where the report is.
const PLOTS: &str = "host/bench/plots";

/// Writes the report and its plots below a directory.
pub fn write(results: &Results, scale: &Scale, directory: &Path) -> anyhow::Result<()> {
    let plots = directory.join(PLOTS);
    std::fs::create_dir_all(&plots).context("make the directory of the plots")?;
    draw(results, scale, &plots)?;
    let file = directory.join("BENCHMARKS.md");
    std::fs::write(&file, text(results, scale)).with_context(|| format!("write {}", file.display()))
}

fn sizes(scale: &Scale) -> Vec<u32> {
    let mut sizes = scale.others.clone();
    sizes.push(scale.main);
    sizes.sort_unstable();
    sizes
}

fn text(results: &Results, scale: &Scale) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", include_str!("report/begin.md").trim_end());
    let overstated = 100.0 * overstated_max(scale.rung);
    let Scale { main, rounds, machine, .. } = scale;
    let variants = VARIANT_ROUNDS.min(*rounds);
    let _ = writeln!(
        text,
        "\n**How wrong it may be.** What is shown as sustained is at most {overstated:.1} % more than what could be kept up for ever, because 150 ms of backlog are allowed \
         at the end of {} s; and it may be less, by the distance to the next step: at most 15 % from 7,000 a second on, more below, and a doubling below 1,000. Linux counts processor time in hundredths \
         of a second, which is {:.1} µs of an update where handlers are added, and less elsewhere. Memory is counted in pages.\n",
        scale.rung.as_secs_f64(),
        scale.tick_of_fan_out * 1e6
    );
    let _ = writeln!(
        text,
        "Measured on {machine}, the load server on the same machine; medians of {rounds} rounds, of {variants} for client-go over JSON, paged lists and a process per event; what \
         has other sizes, several handlers, many resources and idle plugins was measured {MEASURES} times, but a first list that takes more than 10 s once, and reloads {RELOAD_MEASURES} times.{}\n",
        results.notes.iter().map(|note| format!(" {note}")).collect::<String>()
    );
    wanted(&mut text, results, scale);
    let _ = writeln!(text, "## {main} pods\n");
    speed(&mut text, results, scale);
    memory(&mut text, results, scale);
    handlers(&mut text, results, scale);
    of_the_host(&mut text, results, scale);
    text
}

/// What is wanted, what is, and what an update costs beside what was hoped for.
fn wanted(text: &mut String, results: &Results, scale: &Scale) {
    let goals = goals::table(results, scale.few, scale.main, scale.most());
    let _ = writeln!(text, "## What is wanted\n\n{}", include_str!("report/wanted.md").trim_end());
    let _ = writeln!(text, "\n{goals}");
    let own = |metric| results.median(Contender::Informant, scale.main, 1, metric);
    if let Some((paced, burst)) = own(Metric::PacedCpu).zip(own(Metric::BurstCpu)) {
        let [paced, burst] = [(Metric::PacedCpu, paced), (Metric::BurstCpu, burst)]
            .map(|(one, value)| shown(one, value));
        let _ = writeln!(
            text,
            "**An update costs {paced}** of processor time at 5,000 a second and {burst} in a burst, where 15 µs were once hoped for. {}",
            include_str!("report/update.md").trim_end()
        );
        let _ = writeln!(text);
    }
}

fn speed(text: &mut String, results: &Results, scale: &Scale) {
    let _ = writeln!(text, "{}", tables::main_table(results, scale.few, scale.main));
    let burst = scale.updates;
    let slow = burst_of(Contender::ClientGoJson, burst);
    let _ = writeln!(
        text,
        "The burst is of {burst} updates at once, of {slow} for client-go over JSON.\n"
    );
    plot(text, "sync-cpu", "CPU time per synced pod");
    plot(text, "update-cpu", "CPU time per update");
    plot(text, "sustained", "sustained updates per second");
    let _ = writeln!(text, "### Latency at fixed rates\n");
    let _ = writeln!(text, "{}", tables::latencies(results, scale.main));
    let _ = writeln!(
        text,
        "A dash is for who does not keep up with that rate: the last update was handled later than 150 ms after its time, or others waited for ever more. A process per \
         event was only tried at the lowest.\n"
    );
    plot(text, "latency-median", "median latency by rate");
    plot(text, "latency", "99th percentile of latency by rate");
}

fn memory(text: &mut String, results: &Results, scale: &Scale) {
    let (main, most) = (scale.main, scale.most());
    let _ = writeln!(text, "### Memory at its highest\n");
    let _ = writeln!(text, "{}", tables::peaks(results, main));
    let _ = writeln!(
        text,
        "The relists come after all updates, which is where garbage-collected heaps have grown; each peak is the highest within {} s after the list was sent, too. Before the \
         second one a tenth of the pods changes while no watch is open.\n",
        scale.settle.as_secs_f64()
    );
    if most > main {
        let _ = writeln!(
            text,
            "With {most} pods and no updates between the first list and the relist:\n"
        );
        let _ = writeln!(text, "{}", tables::peaks(results, most));
        plot(text, "peaks", "peak memory as a multiple of the settled memory");
    }
    let _ = writeln!(text, "## Memory by number of pods\n");
    let _ = writeln!(text, "{}", tables::by_size(results, &sizes(scale)));
    plot(text, "memory", "memory by number of pods");
}

fn handlers(text: &mut String, results: &Results, scale: &Scale) {
    let pods = scale.fan_out_pods;
    let _ = writeln!(text, "## Several handlers of one informer, {pods} pods\n");
    let _ = writeln!(text, "{}", tables::fan_out(results, pods, &scale.handlers));
    if let Some(sentence) = each_further(results, scale) {
        let _ = writeln!(text, "{sentence} {}", include_str!("report/handlers.md").trim_end());
        let _ = writeln!(text);
    }
    plot(text, "fan-out", "CPU time by number of handlers");
}

/// What one more handler adds, of the host and of the best of the others.
fn each_further(results: &Results, scale: &Scale) -> Option<String> {
    let (first, last) = (*scale.handlers.first()?, *scale.handlers.last()?);
    let adds = |contender, metric| {
        let [few, many] = [first, last]
            .map(|handlers| results.median(contender, scale.fan_out_pods, handlers, metric));
        Some((many? - few?) / f64::from(last.checked_sub(first).filter(|more| *more > 0)?))
    };
    let of = |contender| {
        let processor = adds(contender, Metric::PacedCpu)? * 1e6;
        let memory = adds(contender, Metric::Settled)? / 1024.0;
        Some(format!(
            "{processor:.1} µs of processor time to an update and {memory:.0} KiB of memory"
        ))
    };
    let (own, other) = (of(Contender::Informant)?, of(Contender::ClientGoProtobuf)?);
    let ratio = |handlers: &u32| {
        let of = |one| results.median(one, scale.fan_out_pods, *handlers, Metric::PacedCpu);
        Some((*handlers, of(Contender::Informant)? / of(Contender::ClientGoProtobuf)?))
    };
    let ratios = scale.handlers.iter().filter_map(ratio);
    let times = ratios.map(|(handlers, ratio)| format!("{ratio:.2} of it with {handlers}"));
    Some(format!(
        "**Many handlers are where Informant is behind.** An update's processor time beside client-go's over protobuf is {}. Each further plugin adds {own}, each further \
         handler in client-go's process {other}.",
        times.collect::<Vec<_>>().join(", ")
    ))
}

fn of_the_host(text: &mut String, results: &Results, scale: &Scale) {
    if let Some((_, wait)) = results.highest(Subject::Reload, Metric::ReloadWait) {
        let wait = shown(Metric::ReloadWait, wait);
        let times = RELOADS * RELOAD_MEASURES;
        let _ = writeln!(text, "## Reload\n");
        let _ = writeln!(
            text,
            "A plugin that was replaced {times} times under {RELOAD_RATE} updates a second, {RELOADS} times in each run, lost none; the longest wait of an \
             update was {wait}.\n"
        );
        plot(text, "reload", "latency while a plugin is replaced");
    }
    if let Some(table) = tables::resources(results, &scale.resources) {
        let _ = writeln!(text, "## Many resources\n\n{table}");
        let _ = writeln!(text, "{}\n", include_str!("report/resources.md").trim_end());
    }
    if KINDS.iter().any(|(subject, _)| results.idle(*subject).is_some()) {
        let _ = writeln!(text, "## Idle plugins\n");
        let _ = writeln!(
            text,
            "{} more plugins with a subscription each, each another file, beside the one that the host had. Compiled code is counted as its files. Those in text and in C have logged a line for each of {} pods before they had nothing to do.\n",
            scale.idle, scale.few
        );
        let _ = writeln!(text, "{}", tables::idle(results));
        plot(text, "idle", "memory of idle plugins");
    }
    let _ = writeln!(
        text,
        "## Parts\n\nWhat decoding, packing, the store, indexes, queues, filters and calls cost by themselves: `make bench-parts` measures that and writes `host/bench/PARTS.md`."
    );
}

fn plot(text: &mut String, name: &str, what: &str) {
    let _ = writeln!(text, "![{what}]({PLOTS}/{name}.svg)\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Run;

    fn run(contender: Contender, handlers: u32, numbers: &[(Metric, f64)]) -> Run {
        let (subject, metrics) = (Subject::Pods, numbers.iter().copied().collect());
        Run { contender, subject, pods: 2_000, handlers, metrics, series: Vec::new() }
    }

    fn scale() -> Scale {
        Scale {
            few: 100,
            main: 2_000,
            others: vec![200],
            handlers: vec![1, 101],
            fan_out_pods: 2_000,
            idle: 3,
            resources: [(2, 2), (1, 4)],
            rounds: 3,
            rung: Duration::from_secs(3),
            settle: Duration::from_secs(3),
            tick_of_fan_out: 2.5e-6,
            machine: "some machine".to_owned(),
            updates: 1_000,
        }
    }

    #[test]
    fn the_page_says_what_it_is_worse_at_and_how_wrong_it_may_be() {
        let of = |processor: f64, kib: f64| {
            [(Metric::PacedCpu, processor * 1e-6), (Metric::Settled, kib * 1024.0)]
        };
        let mut own = of(20.0, 1_000.0).to_vec();
        own.push((Metric::BurstCpu, 18e-6));
        let runs = vec![
            run(Contender::Informant, 1, &own),
            run(Contender::Informant, 101, &of(720.0, 51_000.0)),
            run(Contender::ClientGoProtobuf, 1, &of(80.0, 9_000.0)),
            run(Contender::ClientGoProtobuf, 101, &of(180.0, 9_100.0)),
        ];
        let text = text(&Results { runs, notes: vec!["It rained.".to_owned()] }, &scale());
        for words in [
            "reloads 3 times. It rained.",
            "at most 5.0 % more than what could be kept up for ever",
            "**An update costs 20.0 µs** of processor time at 5,000 a second and 18.0 µs in a burst",
            "is 0.25 of it with 1, 4.00 of it with 101.",
            "adds 7.0 µs of processor time to an update and 500 KiB of memory",
            "handler in client-go's process 1.0 µs of processor time to an update and 1 KiB of memory.",
            "of 1000 updates at once, of 250 for client-go over JSON",
        ] {
            assert!(text.contains(words), "{words:?} in {text}");
        }
        assert!(!text.contains("## Reload") && !text.contains("## Idle"), "{text}");
    }

    #[test]
    fn variants_have_the_first_rounds() {
        let rounds = (1..=3).filter(|round| scale().variants_in(*round));
        assert_eq!(rounds.collect::<Vec<_>>(), [1, 2]);
    }
}
