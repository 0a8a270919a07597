//! Which plots a report has.

use std::path::Path;

use super::plots::{self, Axes, Bar, Line, grouped};
use super::ticks::time;
use super::{Scale, sizes};
use crate::contender::Contender;
use crate::idle::KINDS;
use crate::measure::{LATENCY_RATES, LatencyRate, RELOAD_RATE};
use crate::results::{Metric, Results, SERIES_UPDATES};
use crate::subject::Subject;

const MIB: f64 = (1 << 20) as f64;

fn mib(bytes: f64) -> String {
    format!("{} MiB", grouped(bytes / MIB))
}

fn micros(seconds: f64) -> String {
    format!("{:.1} µs", seconds * 1e6)
}

/// Each plot with its file.
pub(super) fn draw(results: &Results, scale: &Scale, plots: &Path) -> anyhow::Result<()> {
    by_number(results, scale, plots)?;
    speed(results, scale, plots)?;
    latency(results, scale, plots)?;
    peaks(results, scale, plots)?;
    of_the_host(results, plots)
}

/// Lines of all contenders that have two points.
fn contenders_lines(numbers: &[u32], value: &dyn Fn(Contender, u32) -> Option<f64>) -> Vec<Line> {
    let points = |contender: Contender| {
        let point = |number: &u32| Some((f64::from(*number), value(contender, *number)?));
        Line { contender, points: numbers.iter().filter_map(point).collect() }
    };
    Contender::ALL.into_iter().map(points).filter(|line| line.points.len() > 1).collect()
}

/// Memory by the number of pods, processor time by the number of handlers.
fn by_number(results: &Results, scale: &Scale, plots: &Path) -> anyhow::Result<()> {
    let settled = |contender, pods| results.median(contender, pods, 1, Metric::Settled);
    let title = "Resident memory of the process by number of pods";
    let axes = Axes { title, x: "pods", y: "resident memory", unit: MIB, shown: mib };
    let lines = contenders_lines(&sizes(scale), &settled);
    plots::lines(&plots.join("memory.svg"), &axes, &lines)?;
    let fan_out = |contender, handlers| {
        results.median_of_crowd(Subject::Everything, contender, handlers, Metric::PacedCpu)
    };
    let handlers: Vec<u32> = scale.crowds.everything.iter().map(|crowd| crowd.handlers).collect();
    let title = "CPU time per update, all handlers together";
    let axes = Axes { title, x: "handlers", y: "CPU time per update", unit: 1.0, shown: time };
    let lines = contenders_lines(&handlers, &fan_out);
    plots::lines(&plots.join("fan-out.svg"), &axes, &lines)
}

fn speed(results: &Results, scale: &Scale, plots: &Path) -> anyhow::Result<()> {
    let all = |value: &dyn Fn(Contender) -> Option<f64>| -> Vec<Bar> {
        let one = |contender| Some(Bar::of(contender, "", 0, value(contender)?));
        Contender::ALL.into_iter().filter_map(one).collect()
    };
    let at = |metric: Metric| {
        move |contender: Contender| results.median(contender, scale.main, 1, metric)
    };
    let per_second = |rate: f64| format!("{rate:.0}/s");
    let sync = |contender| results.per_pod(contender, scale.few, scale.main, Metric::SyncCpu);
    let file = |name: &str| plots.join(name);
    plots::bars(&file("sync-cpu.svg"), "CPU time per synced pod", &all(&sync), micros)?;
    let update = all(&at(Metric::PacedCpu));
    plots::bars(
        &file("update-cpu.svg"),
        "CPU time per update, at 5,000 updates per second",
        &update,
        micros,
    )?;
    let sustained = all(&at(Metric::Sustained));
    plots::bars(&file("sustained.svg"), "Sustained updates per second", &sustained, per_second)
}

fn latency(results: &Results, scale: &Scale, plots: &Path) -> anyhow::Result<()> {
    let numbers: Vec<u32> = LATENCY_RATES.iter().map(|rate| rate.per_second).collect();
    for (place, name, title) in [
        (0, "latency-median.svg", "Median latency by rate of updates"),
        (2, "latency.svg", "99th percentile of latency by rate of updates"),
    ] {
        let value = |contender, per_second| {
            let is_it = |rate: &&LatencyRate| rate.per_second == per_second;
            let rate = LATENCY_RATES.iter().find(is_it)?;
            results.median(contender, scale.main, 1, rate.percentiles[place])
        };
        let axes = Axes { title, x: "updates per second", y: "latency", unit: 1.0, shown: time };
        plots::lines(&plots.join(name), &axes, &contenders_lines(&numbers, &value))?;
    }
    Ok(())
}

/// What was highest beside what settled after the first list, at the largest size.
fn peaks(results: &Results, scale: &Scale, plots: &Path) -> anyhow::Result<()> {
    let most = scale.most();
    let mut bars = Vec::new();
    for contender in Contender::ALL {
        let of = |metric| results.median(contender, most, 1, metric);
        let Some(settled) = of(Metric::Settled) else { continue };
        let metrics = [
            ("first list", Metric::SyncPeak),
            ("relist with a tenth changed", Metric::RelistChangedPeak),
        ];
        for (place, (what, metric)) in metrics.into_iter().enumerate() {
            if let Some(peak) = of(metric) {
                bars.push(Bar::of(contender, what, place, peak / settled));
            }
        }
    }
    let title =
        format!("Peak memory, as a multiple of the settled memory, {} pods", grouped(most.into()));
    plots::bars(&plots.join("peaks.svg"), &title, &bars, |ratio| format!("{ratio:.2}"))
}

/// Reloads, and plugins that have nothing to do.
fn of_the_host(results: &Results, plots: &Path) -> anyhow::Result<()> {
    if let Some((run, _)) = results.highest(Subject::Reload, Metric::ReloadWait) {
        let seconds = SERIES_UPDATES as f64 / f64::from(RELOAD_RATE);
        let points: Vec<(f64, f64)> = run
            .series
            .iter()
            .enumerate()
            .map(|(place, wait)| (place as f64 * seconds, *wait))
            .collect();
        let title = "Latency while a plugin is replaced three times, maximum of each 25 updates";
        plots::gap(&plots.join("reload.svg"), title, &points, time)?;
    }
    let mut bars = Vec::new();
    for (subject, kind) in KINDS {
        let Some(idle) = results.idle(subject) else { continue };
        let each = |bytes: f64| bytes / f64::from(idle.plugins);
        bars.push(Bar::own(&format!("{kind}: added"), 0, each(idle.bytes)));
        bars.push(Bar::own("without its code", 1, each(idle.bytes - idle.code)));
        bars.push(Bar::own("left after its removal", 2, each(idle.left)));
    }
    let title = "Memory of an idle plugin";
    plots::bars(&plots.join("idle.svg"), title, &bars, tenths_of_kib)
}

fn tenths_of_kib(bytes: f64) -> String {
    format!("{:.1} KiB", bytes / 1024.0)
}
