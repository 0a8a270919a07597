//! Tables in Markdown. Every number has its unit at its head; a contender that lacks a number has a dash there.

use std::fmt::Write;

use crate::contender::Contender;
use crate::results::{Metric, Results};

/// A number as it is shown, with its unit.
pub fn shown(metric: Metric, value: f64) -> String {
    match metric {
        Metric::SyncSeconds | Metric::SyncCpu => format!("{value:.2} s"),
        Metric::SyncPeak
        | Metric::Settled
        | Metric::Released
        | Metric::AfterUpdates
        | Metric::RelistPeak
        | Metric::RelistSettled
        | Metric::IdlePlugins
        | Metric::IdleCode
        | Metric::IdleLeft => format!("{:.1} MiB", value / f64::from(1 << 20)),
        Metric::PacedCpu | Metric::BurstCpu => format!("{:.1} µs", value * 1e6),
        Metric::LatencyP50 | Metric::LatencyP90 | Metric::LatencyP99 | Metric::LatencyMax => {
            format!("{:.0} µs", value * 1e6)
        }
        Metric::ReloadWait => format!("{:.1} ms", value * 1e3),
        Metric::BurstRate | Metric::Sustained => format!("{value:.0}/s"),
        Metric::BurstCoalesced | Metric::LatencyStolen | Metric::Stolen => {
            format!("{:.1} %", value * 100.0)
        }
    }
}

/// A column: its head, and the number of a contender.
type Column<'a> = (&'a str, Box<dyn Fn(Contender) -> Option<String> + 'a>);

/// The table of everything that is measured at one number of pods.
pub fn main_table(results: &Results, few: u32, pods: u32) -> String {
    let plain = |metric: Metric| {
        move |contender: Contender| {
            let value = results.median(contender, pods, 1, metric)?;
            Some(shown(metric, value))
        }
    };
    let memory = move |contender: Contender| {
        let bytes = results.per_pod(contender, few, pods, Metric::Settled)?;
        Some(format!("{bytes:.0} B"))
    };
    let sync = move |contender: Contender| {
        let seconds = results.per_pod(contender, few, pods, Metric::SyncCpu)?;
        Some(format!("{:.1} µs", seconds * 1e6))
    };
    let first: Vec<Column<'_>> = vec![
        ("memory per pod", Box::new(memory)),
        ("CPU per synced pod", Box::new(sync)),
        ("CPU per update, 5,000/s", Box::new(plain(Metric::PacedCpu))),
        ("CPU per update, burst", Box::new(plain(Metric::BurstCpu))),
        ("merged in the burst", Box::new(plain(Metric::BurstCoalesced))),
        ("burst", Box::new(plain(Metric::BurstRate))),
        ("sustained", Box::new(plain(Metric::Sustained))),
        ("stolen", Box::new(plain(Metric::Stolen))),
    ];
    let latency: Vec<Column<'_>> = vec![
        ("p50", Box::new(plain(Metric::LatencyP50))),
        ("p90", Box::new(plain(Metric::LatencyP90))),
        ("p99", Box::new(plain(Metric::LatencyP99))),
        ("max", Box::new(plain(Metric::LatencyMax))),
        ("stolen", Box::new(plain(Metric::LatencyStolen))),
    ];
    let memory: Vec<Column<'_>> = vec![
        ("first list, peak", Box::new(plain(Metric::SyncPeak))),
        ("settled", Box::new(plain(Metric::Settled))),
        ("after garbage collection", Box::new(plain(Metric::Released))),
        ("after updates", Box::new(plain(Metric::AfterUpdates))),
        ("relist, peak", Box::new(plain(Metric::RelistPeak))),
        ("after the relist", Box::new(plain(Metric::RelistSettled))),
    ];
    let present = contenders(results, pods);
    [first, latency, memory].map(|columns| table(&present, &columns)).join("\n")
}

fn contenders(results: &Results, pods: u32) -> Vec<Contender> {
    let has = |contender: &Contender| results.rounds(*contender, pods, 1) > 0;
    Contender::ALL.into_iter().filter(has).collect()
}

fn table(contenders: &[Contender], columns: &[Column<'_>]) -> String {
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let mut text = format!("| | {} |\n", heads.join(" | "));
    let _ = writeln!(text, "| --- |{}", " ---: |".repeat(columns.len()));
    for contender in contenders {
        let cells = columns.iter().map(|(_, cell)| cell(*contender).unwrap_or_else(|| "–".into()));
        let cells = cells.collect::<Vec<_>>().join(" | ");
        let _ = writeln!(text, "| {} | {cells} |", contender.title());
    }
    text
}

/// Resident memory of every contender at each number of pods.
pub(crate) fn by_size(results: &Results, sizes: &[u32]) -> String {
    let columns = sizes.iter().map(|pods| {
        let cell = move |contender: Contender| {
            let bytes = results.median(contender, *pods, 1, Metric::Settled)?;
            Some(shown(Metric::Settled, bytes))
        };
        (format!("{pods} pods"), cell)
    });
    let columns: Vec<_> = columns.collect();
    let columns: Vec<Column<'_>> =
        columns.iter().map(|(head, cell)| (head.as_str(), Box::new(cell) as _)).collect();
    let any =
        |contender: &Contender| sizes.iter().any(|pods| results.rounds(*contender, *pods, 1) > 0);
    let present: Vec<Contender> = Contender::ALL.into_iter().filter(any).collect();
    table(&present, &columns)
}

/// Processor time and memory of several handlers, and what each further one adds to memory.
pub(crate) fn fan_out(results: &Results, pods: u32, handlers: &[u32]) -> String {
    let mut columns = Vec::new();
    for number in handlers {
        for (what, metric) in [("CPU per update", Metric::PacedCpu), ("memory", Metric::Settled)] {
            let cell = move |contender: Contender| {
                let value = results.median(contender, pods, *number, metric)?;
                Some(shown(metric, value))
            };
            columns.push((format!("{number}: {what}"), cell));
        }
    }
    let columns: Vec<Column<'_>> =
        columns.iter().map(|(head, cell)| (head.as_str(), Box::new(cell) as _)).collect();
    let any = |contender: &Contender| {
        handlers.iter().any(|number| results.rounds(*contender, pods, *number) > 0)
    };
    let present: Vec<Contender> = Contender::ALL.into_iter().filter(any).collect();
    table(&present, &columns)
}
