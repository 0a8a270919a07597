//! The part of the page on many plugins in one host.

use std::fmt::Write;

use super::plot;
use super::tables::shown;
use crate::contender::Contender;
use crate::crowd::{CHOSEN, Crowd, Crowds, JSON_HANDLERS_MAX};
use crate::measure::REPLACEMENTS;
use crate::results::{Metric, Results};
use crate::subject::Subject;

/// How plugins refuse an update.
pub(super) const REFUSALS: [(Subject, &str); 3] = [
    (Subject::RefusedByFilter, "a simple `filter` each"),
    (Subject::RefusedByLabels, "a label selector each"),
    (Subject::RefusedByPointer, "`onlyIfChanged`"),
];

/// All of it, each part where it was measured.
pub(super) fn section(text: &mut String, results: &Results, crowds: &Crowds) {
    if !results.runs.iter().any(|run| Subject::OF_CROWDS.contains(&run.subject)) {
        return;
    }
    let _ = writeln!(text, "## Many plugins in one host\n");
    let _ = writeln!(text, "{}\n", include_str!("crowds.md").trim_end());
    let parts = [everything, namespaces, refused, deliveries, started, replaced, alone, chosen];
    for part in parts {
        if let Some(part) = part(results, crowds) {
            let _ = writeln!(text, "{part}\n");
        }
    }
    plot(text, "fan-out", "CPU time by number of handlers");
}

/// Processor time and memory of each number of handlers, beside those of other contenders.
fn table(results: &Results, subject: Subject, crowds: &[Crowd]) -> Option<String> {
    let of = |contender, crowd: &Crowd, metric| {
        results.median_of_crowd(subject, contender, crowd.handlers, metric)
    };
    let has =
        |one: &Contender| crowds.iter().any(|crowd| of(*one, crowd, Metric::Settled).is_some());
    let present: Vec<Contender> = Contender::ALL.into_iter().filter(has).collect();
    let mut text = String::from("| handlers | pods | updates |");
    for contender in &present {
        let title = contender.title();
        let _ = write!(text, " {title}: CPU per update | memory |");
    }
    let _ = write!(text, "\n| ---: | ---: | ---: |{}", " ---: | ---: |".repeat(present.len()));
    for crowd in crowds {
        let _ = write!(text, "\n| {} | {} | {}/s |", crowd.handlers, crowd.pods, crowd.rate);
        for contender in &present {
            for metric in [Metric::PacedCpu, Metric::Settled] {
                let cell = of(*contender, crowd, metric).map(|value| shown(metric, value));
                let _ = write!(text, " {} |", cell.unwrap_or_else(|| "–".to_owned()));
            }
        }
    }
    (!present.is_empty()).then_some(text)
}

fn own(results: &Results, subject: Subject, crowd: Crowd, metric: Metric) -> Option<f64> {
    results.median_of_crowd(subject, Contender::Informant, crowd.handlers, metric)
}

fn everything(results: &Results, crowds: &Crowds) -> Option<String> {
    let table = table(results, Subject::Everything, &crowds.everything)?;
    let mut text = format!(
        "### Handlers that are told of everything\n\nEach handler gets old and new object in full. client-go over JSON is left out above {JSON_HANDLERS_MAX} handlers. A dash for processor time is \
         for merged events.\n\n{table}"
    );
    if let Some(sentence) = each_further(results, &crowds.everything) {
        let _ = write!(text, "\n\n{sentence}\n{}", include_str!("handlers.md").trim_end());
    }
    Some(text)
}

/// What one more handler adds, of the host and of client-go, over the rows of the first one's rate.
fn each_further(results: &Results, crowds: &[Crowd]) -> Option<String> {
    let first = *crowds.first()?;
    let last = *crowds.iter().rev().find(|crowd| crowd.rate == first.rate)?;
    let value = |contender, crowd: Crowd, metric| {
        results.median_of_crowd(Subject::Everything, contender, crowd.handlers, metric)
    };
    let more = last.handlers.checked_sub(first.handlers).filter(|more| *more > 0)?;
    let of = |contender| {
        let adds = |metric| {
            let [few, many] = [first, last].map(|crowd| value(contender, crowd, metric));
            Some((many? - few?) / f64::from(more))
        };
        let processor = adds(Metric::PacedCpu)? * 1e6;
        let memory = adds(Metric::Settled)? / 1024.0;
        Some(format!(
            "{processor:.1} µs of processor time to an update and {memory:.0} KiB of memory"
        ))
    };
    let (own, other) = (of(Contender::Informant)?, of(Contender::ClientGoProtobuf)?);
    let ratio = |crowd: &Crowd| {
        let of = |one| value(one, *crowd, Metric::PacedCpu);
        let ratio = of(Contender::Informant)? / of(Contender::ClientGoProtobuf)?;
        let (handlers, noun) =
            (crowd.handlers, if crowd.handlers == 1 { "handler" } else { "handlers" });
        Some(format!("{ratio:.2} times as much with {handlers} {noun}"))
    };
    let ratios: Vec<String> = crowds.iter().filter_map(ratio).collect();
    Some(format!(
        "An update costs, beside client-go's processor time over protobuf, {}. Up to {} handlers, each further plugin adds {own}, each further handler in client-go's process {other}.",
        ratios.join(", "),
        last.handlers
    ))
}

fn namespaces(results: &Results, crowds: &Crowds) -> Option<String> {
    let table = table(results, Subject::OwnNamespaces, &crowds.namespaces)?;
    Some(format!(
        "### Handlers of a namespace each\n\n{}\n\n{table}",
        include_str!("namespaces.md").trim_end()
    ))
}

/// What a plugin that refuses an update adds to it, in seconds.
pub(super) fn refusal(results: &Results, subject: Subject) -> Option<f64> {
    let handlers = results.runs.iter().find(|run| run.subject == subject)?.handlers;
    let of = |subject| results.median_of(subject, Metric::PacedCpu);
    let others = handlers.checked_sub(1).filter(|others| *others > 0)?;
    Some((of(subject)? - of(Subject::RefusedByNone)?) / f64::from(others))
}

fn refused(results: &Results, crowds: &Crowds) -> Option<String> {
    let alone = results.median_of(Subject::RefusedByNone, Metric::PacedCpu)?;
    let Crowd { handlers, rate, pods } = crowds.refused;
    let mut text = format!(
        "### Updates that are refused\n\n{} plugins refuse every update, beside one that gets everything; {rate} updates a second, {pods} pods. 0 ns is less than the run can show.\n\n\
         | refused by | CPU per update | each of them adds |\n| --- | ---: | ---: |\n| none: one plugin alone | {} | – |",
        handlers - 1,
        shown(Metric::PacedCpu, alone)
    );
    for (subject, how) in REFUSALS {
        let dash = || "–".to_owned();
        let processor = results.median_of(subject, Metric::PacedCpu);
        let processor = processor.map_or_else(dash, |value| shown(Metric::PacedCpu, value));
        let adds = refusal(results, subject);
        let adds = adds.map_or_else(dash, |seconds| format!("{:.0} ns", seconds.max(0.0) * 1e9));
        let _ = write!(text, "\n| {how} | {processor} | {adds} |");
    }
    Some(text)
}

fn deliveries(results: &Results, crowds: &Crowds) -> Option<String> {
    let crowd = crowds.deliveries;
    let mut text = format!(
        "### Deliveries\n\n{} plugins that are told of everything, {} updates a second, {} pods. With `metadata` in all plugins the host also asks the server for metadata alone.\n\n| delivery | CPU per update | memory |\n| --- | ---: | ---: |",
        crowd.handlers, crowd.rate, crowd.pods
    );
    let rows = [
        (Subject::Everything, "full, old and new object"),
        (Subject::Metadata, "`metadata`"),
        (Subject::Lazy, "`lazy`, and nothing is read"),
    ];
    own(results, Subject::Lazy, crowd, Metric::Settled)?;
    for (subject, delivery) in rows {
        let cell = |metric| {
            let value = own(results, subject, crowd, metric).map(|value| shown(metric, value));
            value.unwrap_or_else(|| "–".to_owned())
        };
        let (processor, memory) = (cell(Metric::PacedCpu), cell(Metric::Settled));
        let _ = write!(text, "\n| {delivery} | {processor} | {memory} |");
    }
    Some(text)
}

fn started(results: &Results, crowds: &Crowds) -> Option<String> {
    let crowd = crowds.started;
    let seconds = own(results, Subject::Started, crowd, Metric::AllRun)?;
    let bytes = own(results, Subject::Started, crowd, Metric::IdlePlugins)?;
    let each = bytes / f64::from(crowd.handlers.max(2) - 1) / 1024.0;
    Some(format!(
        "### Start\n\nA program starts with {} copies of a plugin, whose code was compiled before. All of them run after {}. When they have got the {} pods of the first list, each takes {each:.1} KiB of memory. They \
         share their code, which is not counted. A page of memory that several of them share counts once (`Pss` in `smaps_rollup`), as it does for a container's limit.",
        crowd.handlers,
        shown(Metric::AllRun, seconds),
        crowd.pods
    ))
}

fn replaced(results: &Results, crowds: &Crowds) -> Option<String> {
    let Crowd { handlers, pods, rate } = crowds.replaced;
    let of = |metric| {
        let (_, value) = results.highest(Subject::Replaced, metric)?;
        Some(shown(metric, value))
    };
    let (within, gap) = (of(Metric::ReplacedWithin)?, of(Metric::ReplacedGap)?);
    let runs = results.runs.iter().filter(|run| run.subject == Subject::Replaced).count();
    let times = usize::from(REPLACEMENTS) * runs;
    Some(format!(
        "### Replacement\n\nOne of {handlers} plugins is told of {rate} updates a second, and the others of a namespace each; {pods} pods. It was replaced by a file with other code {times} times. The longest time from \
         the file to the first call of the new code was {within}, and the longest gap between two calls {gap}. All events of all plugins were delivered, none merged.",
    ))
}

fn alone(results: &Results, crowds: &Crowds) -> Option<String> {
    let bytes = metadata_bytes(results)?;
    let [few, many] = crowds.metadata_alone;
    Some(format!(
        "### Metadata alone\n\nPods that all of {} plugins want as metadata alone take {bytes:.0} B each: the slope between {} pods and {}.",
        many.handlers, few.pods, many.pods
    ))
}

/// What a pod takes of which all plugins want metadata alone.
pub(super) fn metadata_bytes(results: &Results) -> Option<f64> {
    let runs = results.runs.iter().filter(|run| run.subject == Subject::MetadataAlone);
    let sizes = runs.map(|run| (run.handlers, run.pods));
    let (few, many) = (sizes.clone().min()?, sizes.max()?);
    let of = |size| results.median_sized(Subject::MetadataAlone, size, Metric::Settled);
    let pods = many.1.checked_sub(few.1).filter(|pods| *pods > 0)?;
    Some((of(many)? - of(few)?) / f64::from(pods))
}

fn chosen(results: &Results, crowds: &Crowds) -> Option<String> {
    let crowd = crowds.chosen;
    let of = |metric| Some(shown(metric, own(results, Subject::Chosen, crowd, metric)?));
    let (cached, sent) = (of(Metric::CachedObjects)?, of(Metric::SentObjects)?);
    let memory = of(Metric::Settled)?;
    Some(format!(
        "### A selector\n\nOne of {CHOSEN} pods has a label that all of {} plugins select. Of {} pods the server sent {sent}, and the host's cache has {cached}. The process takes {memory}.",
        crowd.handlers, crowd.pods
    ))
}
