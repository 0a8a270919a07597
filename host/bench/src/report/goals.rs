//! The host beside the best of the others, or beside itself, and what is wanted of it.

use std::fmt::Write;

use crate::contender::Contender;
use crate::report::tables::shown;
use crate::results::{Metric, Results};

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
pub(crate) fn table(results: &Results, few: u32, pods: u32) -> String {
    let mut text = String::from(
        "| | Informant | compared with | ratio | wanted | |\n| --- | ---: | ---: | ---: | ---: | --- |\n",
    );
    for Goal { what, of, show, wanted } in goals(results, few, pods) {
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

fn goals(results: &Results, few: u32, pods: u32) -> Vec<Goal> {
    let median =
        |metric: Metric| move |contender: Contender| results.median(contender, pods, 1, metric);
    let per_pod =
        |metric: Metric| move |contender: Contender| results.per_pod(contender, few, pods, metric);
    let own = Contender::Informant;
    let (settled, released) = (per_pod(Metric::Settled), per_pod(Metric::Released));
    let least = |of: &dyn Fn(Contender) -> Option<f64>, others: &[Contender]| {
        let others = others.iter().filter_map(|other| of(*other));
        Some((of(own)?, others.reduce(f64::min)?))
    };
    let most = |of: &dyn Fn(Contender) -> Option<f64>| {
        let others = OTHERS.iter().filter_map(|other| of(*other));
        Some((of(own)?, others.reduce(f64::max)?))
    };
    let collected = || {
        let others = CLIENT_GO.iter().filter_map(|other| released(*other));
        Some((settled(own)?, others.reduce(f64::min)?))
    };
    let itself = |peak: Metric, rest: Metric| Some((median(peak)(own)?, median(rest)(own)?));
    let bytes = |value: f64| format!("{value:.0} B");
    let micros = |value: f64| format!("{:.1} µs", value * 1e6);
    let memory = |value: f64| shown(Metric::Settled, value);
    let rate = |value: f64| shown(Metric::Sustained, value);
    let goal = |what, of, show, wanted| Goal { what, of, show, wanted };
    let (twelfth, twentieth) = (Wanted::AtMost(1.0 / 12.0), Wanted::AtMost(1.0 / 20.0));
    let update = Wanted::AtMost(0.45);
    vec![
        goal("memory per pod, kube-rs", least(&settled, KUBE_RS), bytes, twentieth),
        goal("memory per pod, client-go", least(&settled, CLIENT_GO), bytes, twelfth),
        goal("the same after its garbage collection", collected(), bytes, twelfth),
        goal(
            "CPU per synced pod",
            least(&per_pod(Metric::SyncCpu), OTHERS),
            micros,
            Wanted::AtMost(0.4),
        ),
        goal("CPU per update, 5,000/s", least(&median(Metric::PacedCpu), OTHERS), micros, update),
        goal("CPU per update, burst", least(&median(Metric::BurstCpu), OTHERS), micros, update),
        goal("sustained updates", most(&median(Metric::Sustained)), rate, Wanted::AtLeast(1.7)),
        goal(
            "latency, p50",
            least(&median(Metric::LatencyP50), OTHERS),
            micros,
            Wanted::AtMost(1.0),
        ),
        goal(
            "latency, p99",
            least(&median(Metric::LatencyP99), OTHERS),
            micros,
            Wanted::AtMost(1.0),
        ),
        goal(
            "first list, peak over settled",
            itself(Metric::SyncPeak, Metric::Settled),
            memory,
            Wanted::AtMost(1.2),
        ),
        goal(
            "relist, peak over settled",
            itself(Metric::RelistPeak, Metric::RelistSettled),
            memory,
            Wanted::AtMost(1.2),
        ),
        goal(
            "memory after all updates, over settled",
            itself(Metric::AfterUpdates, Metric::Settled),
            memory,
            Wanted::AtMost(1.2),
        ),
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
            Run { contender, pods: 9, handlers: 1, metrics }
        };
        let others = OTHERS.iter().zip(others).map(|(contender, value)| run(*contender, *value));
        let runs = others.chain([run(Contender::Informant, own)]).collect();
        let table = table(&Results { runs }, 1, 9);
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
