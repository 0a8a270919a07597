//! From numbers to BENCHMARKS.md and its plots.

mod crowds;
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
use crate::crowd::Crowds;
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
    /// Many plugins.
    pub crowds: Crowds,
    /// Pods while a plugin is replaced again and again.
    pub reload_pods: u32,
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
    /// What a tick of the kernel's count of processor time is of an update at the lowest rate of many plugins, in seconds.
    pub tick_of_crowds: f64,
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
         of a second, which is {:.1} µs of an update at the lowest rate of many plugins, and less elsewhere. Memory is counted in pages.\n",
        scale.rung.as_secs_f64(),
        scale.tick_of_crowds * 1e6
    );
    let _ = writeln!(
        text,
        "Measured on {machine}, the load server on the same machine; numbers are medians of so many rounds: {rounds}, and {variants} for client-go over JSON, paged lists and a process per event; what \
         has other sizes, many plugins, many resources and idle plugins was measured {MEASURES} times, but a first list that takes more than 10 s once, and reloads {RELOAD_MEASURES} times.{}\n",
        results.notes.iter().map(|note| format!(" {note}")).collect::<String>()
    );
    wanted(&mut text, results, scale);
    let _ = writeln!(text, "## {main} pods\n");
    speed(&mut text, results, scale);
    memory(&mut text, results, scale);
    crowds::section(&mut text, results, &scale.crowds);
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
            "{} more plugins with a subscription each, each another file, beside the one that the host had. Compiled code is counted as its files. Those in text and in C have logged a line for each of {} pods before they had nothing to do. A page of memory that several mappings share counts once (`Pss` in `smaps_rollup`).\n",
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
    use crate::crowd::Crowd;
    use crate::results::Run;

    fn run(
        subject: Subject,
        contender: Contender,
        handlers: u32,
        numbers: &[(Metric, f64)],
    ) -> Run {
        let metrics = numbers.iter().copied().collect();
        Run { contender, subject, pods: 2_000, handlers, metrics, series: Vec::new() }
    }

    fn scale() -> Scale {
        let of = |handlers| Crowd { handlers, pods: 2_000, rate: 1_000 };
        Scale {
            few: 100,
            main: 2_000,
            others: vec![200],
            crowds: Crowds { everything: vec![of(1), of(101)], ..Crowds::full() },
            reload_pods: 2_000,
            idle: 3,
            resources: [(2, 2), (1, 4)],
            rounds: 3,
            rung: Duration::from_secs(3),
            settle: Duration::from_secs(3),
            tick_of_crowds: 2.5e-6,
            machine: "some machine".to_owned(),
            updates: 1_000,
        }
    }

    /// A page with all kinds of handlers.
    fn page(runs: Vec<Run>) -> String {
        text(&Results { runs, notes: vec!["It rained.".to_owned()] }, &scale())
    }

    #[track_caller]
    fn check(text: &str, words: &[&str]) {
        for words in words {
            assert!(text.contains(words), "{words:?} in {text}");
        }
    }

    fn of_handlers(processor: f64, kib: f64) -> [(Metric, f64); 2] {
        [(Metric::PacedCpu, processor * 1e-6), (Metric::Settled, kib * 1024.0)]
    }

    #[test]
    fn the_page_says_how_wrong_it_may_be() {
        let mut own = of_handlers(20.0, 1_000.0).to_vec();
        own.push((Metric::BurstCpu, 18e-6));
        let text = page(vec![run(Subject::Pods, Contender::Informant, 1, &own)]);
        check(
            &text,
            &[
                "reloads 3 times. It rained.",
                "at most 5.0 % more than what could be kept up for ever",
                "which is 2.5 µs of an update at the lowest rate of many plugins",
                "**An update costs 20.0 µs** of processor time at 5,000 a second and 18.0 µs in a burst",
                "of 1000 updates at once, of 250 for client-go over JSON",
            ],
        );
        for absent in ["## Reload", "## Idle", "## Many plugins"] {
            assert!(!text.contains(absent), "{text}");
        }
    }

    #[test]
    fn the_page_shows_handlers_beside_those_of_others() {
        let of = |contender, handlers, numbers: [(Metric, f64); 2]| {
            run(Subject::Everything, contender, handlers, &numbers)
        };
        let text = page(vec![
            of(Contender::Informant, 1, of_handlers(20.0, 1_024.0)),
            of(Contender::Informant, 101, of_handlers(720.0, 51_024.0)),
            of(Contender::ClientGoProtobuf, 1, of_handlers(80.0, 9_000.0)),
            of(Contender::ClientGoProtobuf, 101, of_handlers(180.0, 9_100.0)),
        ]);
        check(
            &text,
            &[
                "| handlers | pods | updates | Informant: CPU per update | memory | client-go, protobuf: CPU per update | memory |",
                "| 1 | 2000 | 1000/s | 20.0 µs | 1.0 MiB | 80.0 µs | 8.8 MiB |",
                "0.25 times as much with 1 handler, 4.00 times as much with 101 handlers. Up to 101 handlers, each further plugin adds 7.0 µs of processor time to an update and 500 KiB of memory",
                "handler in client-go's process 1.0 µs of processor time to an update and 1 KiB of memory.",
            ],
        );
        assert!(!text.contains("### Updates that are refused"), "{text}");
    }

    #[test]
    fn the_page_has_each_part_of_many_plugins_that_was_measured() {
        let own = |subject, handlers, numbers: &[(Metric, f64)]| {
            run(subject, Contender::Informant, handlers, numbers)
        };
        let paced = |seconds| [(Metric::PacedCpu, seconds), (Metric::Settled, 1e6)];
        let mut metadata = [
            own(Subject::MetadataAlone, 10, &[(Metric::Settled, 1e6)]),
            own(Subject::MetadataAlone, 10, &[(Metric::Settled, 3e6)]),
        ];
        metadata[1].pods = 12_000;
        let runs = vec![
            own(Subject::OwnNamespaces, 1_000, &paced(30e-6)),
            own(Subject::RefusedByNone, 1, &paced(20e-6)),
            own(Subject::RefusedByFilter, 301, &paced(32e-6)),
            own(Subject::Lazy, 100, &paced(90e-6)),
            own(
                Subject::Started,
                1_000,
                &[(Metric::AllRun, 9.0), (Metric::IdlePlugins, 51_148_800.0)],
            ),
            own(
                Subject::Replaced,
                1_000,
                &[(Metric::ReplacedWithin, 0.6), (Metric::ReplacedGap, 0.02)],
            ),
            own(
                Subject::Chosen,
                10,
                &[(Metric::CachedObjects, 1e3), (Metric::SentObjects, 1e3), (Metric::Settled, 1e6)],
            ),
        ];
        let text = page(runs.into_iter().chain(metadata).collect());
        check(
            &text,
            &[
                "| 1000 | 2000 | 1000/s | 30.0 µs | 1.0 MiB |",
                "300 plugins refuse every update",
                "| a simple `filter` each | 32.0 µs | 40 ns |",
                "| `lazy`, and nothing is read | 90.0 µs | 1.0 MiB |",
                "All of them run after 9.00 s",
                "each takes 50.0 KiB",
                "the first call of the new code was 600.0 ms, and the longest gap between two calls 20.0 ms",
                "take 200 B each",
                "Of 20000 pods the server sent 1000, and the host's cache has 1000.",
            ],
        );
    }

    #[test]
    fn variants_have_the_first_rounds() {
        let rounds = (1..=3).filter(|round| scale().variants_in(*round));
        assert_eq!(rounds.collect::<Vec<_>>(), [1, 2]);
    }
}
