//! From numbers to BENCHMARKS.md and its plots.

mod goals;
mod plots;
mod tables;

use std::fmt::Write;
use std::path::Path;

use anyhow::Context;

use crate::contender::Contender;
use crate::results::{Metric, Results};
use plots::{Axes, Line};

pub use tables::{main_table, shown};

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
    /// How often everything was measured.
    pub rounds: u32,
    /// The machine, in a line.
    pub machine: String,
    /// Updates of the burst.
    pub updates: u64,
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

fn draw(results: &Results, scale: &Scale, plots: &Path) -> anyhow::Result<()> {
    let mib = |bytes: f64| format!("{:.0} MiB", bytes / f64::from(1 << 20));
    let micros = |seconds: f64| format!("{:.1} µs", seconds * 1e6);
    let line = |numbers: &[u32], value: &dyn Fn(Contender, u32) -> Option<f64>| -> Vec<Line> {
        let points = |contender: Contender| {
            let point = |number: &u32| Some((f64::from(*number), value(contender, *number)?));
            Line { contender, points: numbers.iter().filter_map(point).collect() }
        };
        Contender::ALL.into_iter().map(points).filter(|line| line.points.len() > 1).collect()
    };
    let sizes = sizes(scale);
    let settled = |contender, pods| results.median(contender, pods, 1, Metric::Settled);
    let title = "Resident memory of the whole process, settled";
    let axes = Axes { title, x: "pods", y: "resident", shown: mib };
    plots::lines(&plots.join("memory.svg"), &axes, &line(&sizes, &settled))?;
    let fan_out = |contender, handlers| {
        results.median(contender, scale.fan_out_pods, handlers, Metric::PacedCpu)
    };
    let title = "Processor time an update, all handlers together";
    let axes = Axes { title, x: "handlers", y: "CPU per update", shown: micros };
    plots::lines(&plots.join("fan-out.svg"), &axes, &line(&scale.handlers, &fan_out))?;
    let all = |value: &dyn Fn(Contender) -> Option<f64>| -> Vec<(Contender, f64)> {
        let one = |contender| Some((contender, value(contender)?));
        Contender::ALL.into_iter().filter_map(one).collect()
    };
    let at = |metric: Metric| {
        move |contender: Contender| results.median(contender, scale.main, 1, metric)
    };
    let per_second = |rate: f64| format!("{rate:.0}/s");
    let sync = |contender| results.per_pod(contender, scale.few, scale.main, Metric::SyncCpu);
    let file = |name: &str| plots.join(name);
    plots::bars(&file("sync-cpu.svg"), "CPU per synced pod", &all(&sync), micros)?;
    let update = all(&at(Metric::PacedCpu));
    plots::bars(&file("update-cpu.svg"), "CPU per update, 5,000 a second", &update, micros)?;
    let sustained = all(&at(Metric::Sustained));
    plots::bars(&file("sustained.svg"), "Sustained updates a second", &sustained, per_second)?;
    let latency = all(&at(Metric::LatencyP99));
    plots::bars(&file("latency.svg"), "Latency, 99th percentile, 1,000 a second", &latency, micros)
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
    let Scale { main, rounds, machine, updates, .. } = scale;
    let _ = writeln!(
        text,
        "\nMeasured on {machine}, the load server on the same machine; medians of {rounds} rounds; what has other sizes, several handlers, reloads and idle plugins was measured once.\n"
    );
    let goals = goals::table(results, scale.few, *main);
    let _ = writeln!(text, "## What is wanted\n\n{}", include_str!("report/wanted.md").trim_end());
    let _ = writeln!(text, "\n{goals}");
    let _ = writeln!(text, "## {main} pods\n\n{}", main_table(results, scale.few, *main));
    let _ = writeln!(text, "The burst is of {updates} updates at once.\n");
    for (name, alt) in [
        ("sync-cpu", "processor time of each synced pod"),
        ("update-cpu", "processor time of each update"),
        ("sustained", "sustained updates a second"),
        ("latency", "latency"),
    ] {
        let _ = writeln!(text, "![{alt}]({PLOTS}/{name}.svg)\n");
    }
    let _ = writeln!(text, "## Memory by number of pods\n");
    let _ = writeln!(text, "{}", tables::by_size(results, &sizes(scale)));
    let _ = writeln!(text, "![memory by number of pods]({PLOTS}/memory.svg)\n");
    let _ = writeln!(text, "## Several handlers of one informer, {} pods\n", scale.fan_out_pods);
    let _ = writeln!(text, "{}", tables::fan_out(results, scale.fan_out_pods, &scale.handlers));
    let _ = writeln!(text, "![processor time by handlers]({PLOTS}/fan-out.svg)\n");
    let pods = scale.fan_out_pods;
    if let Some(wait) = results.median(Contender::Informant, pods, 1, Metric::ReloadWait) {
        let wait = shown(Metric::ReloadWait, wait);
        let _ = writeln!(text, "## Reload\n");
        let _ = writeln!(
            text,
            "A plugin that is replaced three times under 1,000 updates a second lost none; the longest wait of an \
             update was {wait}.\n"
        );
    }
    if let Some(idle) = results.idle() {
        let [bytes, code, left] =
            [idle.bytes, idle.code, idle.left].map(|bytes| shown(Metric::IdlePlugins, bytes));
        let _ = writeln!(
            text,
            "## Idle plugins\n\n{} more plugins with a subscription each, in Rust and each another file, added {bytes} to the host that had \
             one. Their compiled code takes {code} in files. When they were gone {left} was left.\n",
            idle.plugins
        );
    }
    text
}
