//! The host beside the best of the others, or beside itself, and what is wanted of it.

mod crowds;

use std::fmt::Write;

use crate::contender::Contender;
use crate::report::tables::shown;
use crate::results::{Metric, Results};
use crate::subject::Subject;

/// What a ratio is wanted to be.
#[derive(Clone, Copy)]
enum Wanted {
    AtMost(f64),
    AtLeast(f64),
}

impl Wanted {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(most) => ratio <= most,
            Self::AtLeast(least) => ratio >= least,
        }
    }

    fn shown(self) -> String {
        match self {
            Self::AtMost(most) => format!("at most {most:.3}"),
            Self::AtLeast(least) => format!("at least {least:.3}"),
        }
    }
}

/// One comparison.
struct Goal {
    what: &'static str,
    /// The host's number and the one that it is compared with, each as a number and as it is shown.
    of: Option<(f64, f64)>,
    show: fn(f64) -> String,
    wanted: Wanted,
}

const CLIENT_GO: &[Contender] = &[Contender::ClientGoProtobuf, Contender::ClientGoJson];
const KUBE_RS: &[Contender] = &[Contender::KubeRs, Contender::KubeRsPages];
const OTHERS: &[Contender] = &[
    Contender::ClientGoProtobuf,
    Contender::ClientGoJson,
    Contender::KubeRs,
    Contender::KubeRsPages,
];

/// A table of what is wanted, what is, and whether that is it.
pub(crate) fn table(results: &Results, few: u32, pods: u32, most: u32) -> String {
    let mut text = String::from(
        "| | Informant | compared with | ratio | wanted | |\n| --- | ---: | ---: | ---: | ---: | --- |\n",
    );
    for Goal { what, of, show, wanted } in goals(results, few, pods, most) {
        let Some((own, other)) = of.filter(|(_, other)| *other > 0.0) else {
            let _ = writeln!(text, "| {what} | – | – | – | {} | not measured |", wanted.shown());
            continue;
        };
        let ratio = own / other;
        let met = if wanted.is_met(ratio) { "yes" } else { "**no**" };
        let (own, other, wanted) = (show(own), show(other), wanted.shown());
        let _ = writeln!(text, "| {what} | {own} | {other} | {ratio:.3} | {wanted} | {met} |");
    }
    text
}

fn goals(results: &Results, few: u32, pods: u32, most: u32) -> Vec<Goal> {
    let mut goals = memory(results, few, pods);
    goals.extend(speed(results, few, pods));
    goals.extend(peaks(results, pods, most));
    goals.extend(idle(results));
    goals.extend(crowds::goals(results));
    goals
}

/// The host's number, and the least or the most of others'.
fn compare(
    of: &dyn Fn(Contender) -> Option<f64>,
    others: &[Contender],
    best: fn(f64, f64) -> f64,
) -> Option<(f64, f64)> {
    let others = others.iter().filter_map(|other| of(*other));
    Some((of(Contender::Informant)?, others.reduce(best)?))
}

fn memory(results: &Results, few: u32, pods: u32) -> Vec<Goal> {
    let per_pod = |metric| move |contender| results.per_pod(contender, few, pods, metric);
    let settled = per_pod(Metric::Settled);
    // The host has no garbage to collect.
    let released = |contender| match contender {
        Contender::Informant => settled(contender),
        other => results.per_pod(other, few, pods, Metric::Released),
    };
    let collected = compare(&released, CLIENT_GO, f64::min);
    let goal = |what, of, most: f64| {
        let show = |value: f64| format!("{value:.0} B");
        Goal { what, of, show, wanted: Wanted::AtMost(most) }
    };
    vec![
        goal("memory per pod, kube-rs", compare(&settled, KUBE_RS, f64::min), 1.0 / 20.0),
        goal("memory per pod, client-go", compare(&settled, CLIENT_GO, f64::min), 1.0 / 12.0),
        goal("the same after its garbage collection", collected, 1.0 / 12.0),
    ]
}

fn speed(results: &Results, few: u32, pods: u32) -> Vec<Goal> {
    let median = |metric| move |contender| results.median(contender, pods, 1, metric);
    let sync = |contender| results.per_pod(contender, few, pods, Metric::SyncCpu);
    let least = |of: &dyn Fn(Contender) -> Option<f64>| compare(of, OTHERS, f64::min);
    let goal = |what, of, most: f64| {
        let show = |value: f64| format!("{:.1} µs", value * 1e6);
        Goal { what, of, show, wanted: Wanted::AtMost(most) }
    };
    let sustained = Goal {
        what: "sustained updates",
        of: compare(&median(Metric::Sustained), OTHERS, f64::max),
        show: |rate| shown(Metric::Sustained, rate),
        wanted: Wanted::AtLeast(1.7),
    };
    vec![
        goal("CPU per synced pod", least(&sync), 0.4),
        goal("CPU per update, 5,000/s", least(&median(Metric::PacedCpu)), 0.45),
        goal("CPU per update, burst", least(&median(Metric::BurstCpu)), 0.45),
        sustained,
        goal("latency, p50", least(&median(Metric::LatencyP50)), 1.0),
        goal("latency, p99", least(&median(Metric::LatencyP99)), 1.0),
    ]
}

/// The host beside itself: what was highest beside what settled after the first list, at the size of the tables and at the largest one.
fn peaks(results: &Results, pods: u32, most: u32) -> Vec<Goal> {
    let goal = |what, pods, peak| {
        let own = |metric| results.median(Contender::Informant, pods, 1, metric);
        let show = |bytes: f64| shown(Metric::Settled, bytes);
        let of = own(peak).zip(own(Metric::Settled));
        Goal { what, of, show, wanted: Wanted::AtMost(1.2) }
    };
    let mut goals = vec![
        goal("first list, peak over settled", pods, Metric::SyncPeak),
        goal("relist, nothing changed, peak over settled", pods, Metric::RelistPeak),
        goal("relist, a tenth changed, peak over settled", pods, Metric::RelistChangedPeak),
        goal("memory after all updates, over settled", pods, Metric::AfterUpdates),
    ];
    if most > pods {
        goals.extend([
            goal("first list at the largest size, peak over settled", most, Metric::SyncPeak),
            goal(
                "relist there, a tenth changed, peak over settled",
                most,
                Metric::RelistChangedPeak,
            ),
        ]);
    }
    goals
}

/// What idle plugins may add for each of them, beyond their code: 10 MiB for a hundred.
const IDLE_BYTES_MAX: f64 = (10 << 20) as f64 / 100.0;

/// The host beside what is wanted of it.
fn idle(results: &Results) -> Vec<Goal> {
    let idle = results.idle(Subject::IdleRust);
    let beyond = idle.map(|idle| {
        let most = IDLE_BYTES_MAX * f64::from(idle.plugins);
        (idle.bytes - idle.code, most)
    });
    let left = idle.map(|idle| (idle.left.max(0.0), idle.bytes));
    let show = |bytes: f64| shown(Metric::IdlePlugins, bytes);
    vec![
        Goal {
            what: "idle plugins beyond their code",
            of: beyond,
            show,
            wanted: Wanted::AtMost(1.0),
        },
        Goal {
            what: "left of them when they are gone",
            of: left,
            show,
            wanted: Wanted::AtMost(0.2),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Run;
    use std::collections::BTreeMap;

    #[track_caller]
    fn check(own: f64, others: &[f64], row: Option<&str>) {
        let run = |contender, value| {
            let metrics = BTreeMap::from([(Metric::Sustained, value)]);
            let subject = Subject::Pods;
            Run { contender, subject, pods: 9, handlers: 1, metrics, series: Vec::new() }
        };
        let others = OTHERS.iter().zip(others).map(|(contender, value)| run(*contender, *value));
        let runs = others.chain([run(Contender::Informant, own)]).collect();
        let table = table(&Results { runs, notes: Vec::new() }, 1, 9, 9);
        let found = table.lines().find(|line| line.contains("sustained"));
        assert_eq!(found, row, "{table}");
    }

    #[test]
    fn the_host_is_compared_with_the_best_of_the_others() {
        let row = |cells: &str| format!("| sustained updates | {cells} |");
        check(34.0, &[10.0, 20.0], Some(&row("34/s | 20/s | 1.700 | at least 1.700 | yes")));
        check(33.0, &[20.0, 10.0], Some(&row("33/s | 20/s | 1.650 | at least 1.700 | **no**")));
        check(33.0, &[], Some(&row("– | – | – | at least 1.700 | not measured")));
    }
}
