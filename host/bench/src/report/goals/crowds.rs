//! Goals of many plugins in one host.

use super::{Goal, Wanted};
use crate::contender::Contender;
use crate::report::crowds::{REFUSALS, metadata_bytes, refusal};
use crate::report::tables::shown;
use crate::results::{Metric, Results};
use crate::subject::Subject;

/// Plugins that are compared with as many handlers of client-go.
const FULL: u32 = 100;
/// Plugins of a namespace each, and plugins that are started and replaced.
const MANY: u32 = 1_000;
/// What a plugin may add to an update that it refuses, in seconds.
const REFUSAL_MAX: f64 = 60e-9;
/// What a plugin that has nothing to do may take beyond its code, in bytes.
const IDLE_BYTES_MAX: f64 = 65_536.0;
/// Until all run, in seconds.
const ALL_RUN_MAX: f64 = 20.0;
/// From a plugin's file to the first call of its code, and between two calls meanwhile, in seconds.
const REPLACED_MAX: f64 = 0.7;
const GAP_MAX: f64 = 0.05;
/// Of a pod that all plugins want as metadata alone.
const METADATA_BYTES_MAX: f64 = 250.0;

/// All of them: ratios to another number of the table, and to the bound.
pub(super) fn goals(results: &Results) -> Vec<Goal> {
    let bound = |what, own: Option<f64>, most: f64, show| Goal {
        what,
        of: own.map(|own| (own.max(0.0), most)),
        show,
        wanted: Wanted::AtMost(1.0),
    };
    let micros = |seconds: f64| format!("{:.1} µs", seconds * 1e6);
    let nanos = |seconds: f64| format!("{:.0} ns", seconds * 1e9);
    let bytes = |bytes: f64| format!("{bytes:.0} B");
    let own =
        |subject, metric| results.median_of_crowd(subject, Contender::Informant, MANY, metric);
    let full =
        |contender| results.median_of_crowd(Subject::Everything, contender, FULL, Metric::PacedCpu);
    let of_namespaces = |plugins| {
        let contender = Contender::Informant;
        results.median_of_crowd(Subject::OwnNamespaces, contender, plugins, Metric::PacedCpu)
    };
    let highest = |metric| {
        let (run, value) = results.highest(Subject::Replaced, metric)?;
        (run.handlers == MANY).then_some(value)
    };
    let idle = own(Subject::Started, Metric::IdlePlugins).map(|all| all / f64::from(MANY - 1));
    let mut goals = vec![
        Goal {
            what: "CPU per update of 100 plugins that get everything, beside client-go over protobuf",
            of: full(Contender::Informant).zip(full(Contender::ClientGoProtobuf)),
            show: micros,
            wanted: Wanted::AtMost(1.0),
        },
        Goal {
            what: "CPU per update of 1,000 plugins of a namespace each, beside one",
            of: of_namespaces(MANY).zip(of_namespaces(1)),
            show: micros,
            wanted: Wanted::AtMost(1.3),
        },
    ];
    for ((subject, _), what) in REFUSALS.into_iter().zip([
        "an update refused by a filter, each plugin",
        "an update refused by a label selector, each plugin",
        "an update refused by `onlyIfChanged`, each plugin",
    ]) {
        goals.push(bound(what, refusal(results, subject), REFUSAL_MAX, nanos));
    }
    let time = |seconds| shown(Metric::ReplacedGap, seconds);
    goals.extend([
        bound("each of 1,000 idle plugins beyond the code", idle, IDLE_BYTES_MAX, bytes),
        bound(
            "1,000 plugins running, from the program's start",
            own(Subject::Started, Metric::AllRun),
            ALL_RUN_MAX,
            |seconds| shown(Metric::AllRun, seconds),
        ),
        bound("one of 1,000 replaced", highest(Metric::ReplacedWithin), REPLACED_MAX, time),
        bound("its longest gap meanwhile", highest(Metric::ReplacedGap), GAP_MAX, time),
        bound("a pod as metadata alone", metadata_bytes(results), METADATA_BYTES_MAX, bytes),
    ]);
    goals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Run;

    #[track_caller]
    fn check(runs: &[(Subject, u32, u32, Metric, f64)], wanted: &str, row: &str) {
        let run = |(subject, handlers, pods, metric, value): &(Subject, u32, u32, Metric, f64)| {
            let metrics = [(*metric, *value)].into();
            let (subject, handlers, pods) = (*subject, *handlers, *pods);
            let contender = Contender::Informant;
            Run { contender, subject, pods, handlers, metrics, series: Vec::new() }
        };
        let results = Results { runs: runs.iter().map(run).collect(), notes: Vec::new() };
        let table = super::super::table(&results, 1, 9, 9);
        let found = table.lines().find(|line| line.contains(wanted));
        assert_eq!(found, Some(row), "{table}");
    }

    #[test]
    fn what_each_plugin_adds_is_held_against_its_bound() {
        check(
            &[
                (Subject::RefusedByNone, 1, 9, Metric::PacedCpu, 20e-6),
                (Subject::RefusedByLabels, 301, 9, Metric::PacedCpu, 35e-6),
            ],
            "label selector",
            "| an update refused by a label selector, each plugin | 50 ns | 60 ns | 0.833 | at most 1.000 | yes |",
        );
        check(
            &[(Subject::Started, 1_000, 9, Metric::IdlePlugins, 99_900_000.0)],
            "idle plugins beyond the code",
            "| each of 1,000 idle plugins beyond the code | 100000 B | 65536 B | 1.526 | at most 1.000 | **no** |",
        );
        check(
            &[
                (Subject::MetadataAlone, 10, 2_000, Metric::Settled, 1e6),
                (Subject::MetadataAlone, 10, 12_000, Metric::Settled, 3e6),
            ],
            "metadata alone",
            "| a pod as metadata alone | 200 B | 250 B | 0.800 | at most 1.000 | yes |",
        );
        check(
            &[
                (Subject::OwnNamespaces, 1, 9, Metric::PacedCpu, 20e-6),
                (Subject::OwnNamespaces, 1_000, 9, Metric::PacedCpu, 25e-6),
            ],
            "namespace each",
            "| CPU per update of 1,000 plugins of a namespace each, beside one | 25.0 µs | 20.0 µs | 1.250 | at most 1.300 | yes |",
        );
    }

    #[test]
    fn sizes_that_were_tried_in_haste_are_not_held_against_any() {
        check(
            &[(Subject::Replaced, 3, 9, Metric::ReplacedGap, 0.001)],
            "longest gap",
            "| its longest gap meanwhile | – | – | – | at most 1.000 | not measured |",
        );
    }
}
