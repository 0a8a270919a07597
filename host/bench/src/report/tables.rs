//! Tables in Markdown. Every number has its unit at its head; a contender that lacks a number has a dash there.

use std::fmt::Write;

use crate::contender::Contender;
use crate::idle::KINDS;
use crate::measure::LATENCY_RATES;
use crate::results::{Metric, Results};
use crate::subject::Subject;

/// A number as it is shown, with its unit.
pub fn shown(metric: Metric, value: f64) -> String {
    match metric {
        Metric::SyncSeconds | Metric::SyncCpu | Metric::AllRun => format!("{value:.2} s"),
        Metric::SyncPeak
        | Metric::Settled
        | Metric::Released
        | Metric::AfterUpdates
        | Metric::RelistPeak
        | Metric::RelistSettled
        | Metric::RelistChangedPeak
        | Metric::RelistChangedSettled
        | Metric::IdlePlugins
        | Metric::IdleCode
        | Metric::IdleLeft => format!("{:.1} MiB", value / f64::from(1 << 20)),
        Metric::PacedCpu | Metric::BurstCpu => format!("{:.1} µs", value * 1e6),
        Metric::SlowP50
        | Metric::SlowP90
        | Metric::SlowP99
        | Metric::FastP50
        | Metric::FastP90
        | Metric::FastP99
        | Metric::LatencyP50
        | Metric::LatencyP90
        | Metric::LatencyP99
        | Metric::LatencyMax => format!("{:.0} µs", value * 1e6),
        Metric::Threads | Metric::CachedObjects | Metric::SentObjects => format!("{value:.0}"),
        Metric::ReloadWait | Metric::ReplacedWithin | Metric::ReplacedGap => {
            format!("{:.1} ms", value * 1e3)
        }
        Metric::BurstRate | Metric::Sustained => format!("{value:.0}/s"),
        Metric::BurstCoalesced | Metric::LatencyStolen | Metric::Stolen => {
            format!("{:.1} %", value * 100.0)
        }
    }
}

/// A column: its head, and the number of a contender.
type Column<'a> = (&'a str, Box<dyn Fn(Contender) -> Option<String> + 'a>);

/// How a number at one number of pods is shown.
fn plain(
    results: &Results,
    pods: u32,
    metric: Metric,
) -> Box<dyn Fn(Contender) -> Option<String> + '_> {
    Box::new(move |contender| Some(shown(metric, results.median(contender, pods, 1, metric)?)))
}

/// The table of what is measured at one number of pods, but for latencies and memory.
pub(crate) fn main_table(results: &Results, few: u32, pods: u32) -> String {
    let plain = |metric| plain(results, pods, metric);
    let memory = move |contender: Contender| {
        let bytes = results.per_pod(contender, few, pods, Metric::Settled)?;
        Some(format!("{bytes:.0} B"))
    };
    let sync = move |contender: Contender| {
        let seconds = results.per_pod(contender, few, pods, Metric::SyncCpu)?;
        Some(format!("{:.1} µs", seconds * 1e6))
    };
    let columns: Vec<Column<'_>> = vec![
        ("memory per pod", Box::new(memory)),
        ("CPU per synced pod", Box::new(sync)),
        ("CPU per update, 5,000/s", plain(Metric::PacedCpu)),
        ("CPU per update, burst", plain(Metric::BurstCpu)),
        ("merged in the burst", plain(Metric::BurstCoalesced)),
        ("burst", plain(Metric::BurstRate)),
        ("sustained", plain(Metric::Sustained)),
        ("stolen", plain(Metric::Stolen)),
    ];
    table(&contenders(results, pods), &columns)
}

/// All tables of one number of pods.
pub fn summary(results: &Results, few: u32, pods: u32) -> String {
    [main_table(results, few, pods), latencies(results, pods), peaks(results, pods)].join("\n")
}

/// Percentiles of latencies at each rate, and the longest at one of them.
pub(crate) fn latencies(results: &Results, pods: u32) -> String {
    let mut columns = Vec::new();
    for rate in &LATENCY_RATES {
        for (metric, percentile) in rate.percentiles.into_iter().zip(["p50", "p90", "p99"]) {
            let head = format!("{}/s, {percentile}", rate.per_second);
            columns.push((head, plain(results, pods, metric)));
        }
        if rate.percentiles.contains(&Metric::LatencyP50) {
            let head = format!("{}/s, longest", rate.per_second);
            columns.push((head, plain(results, pods, Metric::LatencyMax)));
        }
    }
    columns.push(("stolen".to_owned(), plain(results, pods, Metric::LatencyStolen)));
    let columns: Vec<Column<'_>> =
        columns.iter().map(|(head, cell)| (head.as_str(), Box::new(cell) as _)).collect();
    table(&contenders(results, pods), &columns)
}

/// Memory at the first list and later, at one number of pods.
pub(crate) fn peaks(results: &Results, pods: u32) -> String {
    let columns = [
        ("first list, peak", Metric::SyncPeak),
        ("settled", Metric::Settled),
        ("after garbage collection", Metric::Released),
        ("after updates", Metric::AfterUpdates),
        ("relist, nothing changed, peak", Metric::RelistPeak),
        ("after it", Metric::RelistSettled),
        ("relist, a tenth changed, peak", Metric::RelistChangedPeak),
        ("after it", Metric::RelistChangedSettled),
    ];
    let present = contenders(results, pods);
    let taken =
        |metric: Metric| present.iter().any(|one| results.median(*one, pods, 1, metric).is_some());
    let columns = columns.into_iter().filter(|(_, metric)| taken(*metric));
    let columns: Vec<Column<'_>> =
        columns.map(|(head, metric)| (head, plain(results, pods, metric))).collect();
    table(&present, &columns)
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

/// Idle plugins of each kind that was measured.
pub(crate) fn idle(results: &Results) -> String {
    let mut text = String::from(
        "| | added | in each measure | their code, in files | beyond their code | left when they were gone |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (subject, kind) in KINDS {
        let cells = match results.idle(subject) {
            Some(idle) => {
                let beyond = idle.bytes - idle.code;
                let [bytes, code, beyond, left] = [idle.bytes, idle.code, beyond, idle.left]
                    .map(|bytes| shown(Metric::IdlePlugins, bytes));
                let each = results.runs.iter().filter(|run| run.subject == subject);
                let each = each.filter_map(|run| run.metrics.get(&Metric::IdlePlugins));
                let each: Vec<String> =
                    each.map(|bytes| format!("{:.1}", bytes / f64::from(1 << 20))).collect();
                format!("{bytes} | {} | {code} | {beyond} | {left}", each.join(", "))
            }
            None => "not built | – | – | – | –".to_owned(),
        };
        let _ = writeln!(text, "| {kind} | {cells} |");
    }
    text
}

/// The host with many resources, and with as many objects of one; none where that was not measured.
pub(crate) fn resources(results: &Results, sizes: &[(u32, u32)]) -> Option<String> {
    let mut text = String::from(
        "| | memory | highest while it listed | threads | processor time of the lists, start included |\n| --- | ---: | ---: | ---: | ---: |\n",
    );
    let metrics = [Metric::Settled, Metric::SyncPeak, Metric::Threads, Metric::SyncCpu];
    for (resources, objects) in sizes {
        let cell = |metric| {
            let value = results.median_sized(Subject::Resources, (*resources, *objects), metric)?;
            Some(shown(metric, value))
        };
        let cells = metrics.map(cell).into_iter().collect::<Option<Vec<_>>>()?.join(" | ");
        let plural = if *resources == 1 { "" } else { "s" };
        let _ =
            writeln!(text, "| {resources} resource{plural}, {objects} objects each | {cells} |");
    }
    Some(text)
}
