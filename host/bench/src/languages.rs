//! What a plugin costs in each language: one that does the same in each, in a project of `informant plugin new`, built by `informant plugin build`, loaded, called and kept.

mod language;
mod page;
mod project;
mod round;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::load::Load;
use crate::load_server::Layout;
use crate::programs::Programs;
use crate::session::say;
use crate::stolen::ProcessorTime;
pub use language::Language;
pub use page::write;
use project::Project;

/// No round begins that would not end by then, as long as the longest before it: one command, ten minutes, with some left for making the projects.
const ROUNDS_TIME_MAX: Duration = Duration::from_secs(9 * 60);

/// What is measured of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Measure {
    FileBytes,
    /// Of the compiled code, as the cache keeps it.
    CodeBytes,
    /// What a load takes longer where the cache has no code.
    CompileSeconds,
    /// From the file in its place to the line that says that it runs, with the code in the cache.
    LoadSeconds,
    /// By the clock, in the plugin's `handle`, of single updates.
    CallSeconds,
    /// The same, of many in a row: their mean.
    RowSeconds,
    /// The host's processor time for each of many in a row, everything included.
    ProcessorSeconds,
    /// Linear memory, before the first event.
    IdleBytes,
    /// Linear memory after many events.
    LaterBytes,
    /// What one more idle plugin adds to the host.
    ResidentBytes,
    /// The share of the machine that its own host took meanwhile.
    Stolen,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LanguagesScale {
    /// How often everything is, as far as there is time.
    pub rounds: u32,
    /// Pods that there are.
    pub pods: u32,
    /// Updates that are awaited one by one.
    pub singles: u32,
    /// Updates in a row after those.
    pub events: u32,
    /// Plugins that are added to see what one takes.
    pub more: u32,
    /// Before memory counts as settled.
    pub settle: Duration,
}

/// What came of one language.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    language: Language,
    /// What its tools say that they are; or why there is nothing.
    toolchain: Result<Vec<String>, String>,
    /// What was found in all rounds.
    measured: BTreeMap<Measure, Vec<f64>>,
}

impl Row {
    /// The smallest value that such a share of all does not exceed.
    fn quantile(&self, measure: Measure, share: f64) -> Option<f64> {
        let mut values = self.measured.get(&measure)?.clone();
        values.sort_by(f64::total_cmp);
        let rank = (values.len() as f64 * share).ceil() as usize;
        values.get(rank.saturating_sub(1)).copied()
    }

    fn median(&self, measure: Measure) -> Option<f64> {
        self.quantile(measure, 0.5)
    }

    /// Rounds that there were: in each there is one file.
    fn rounds(&self) -> usize {
        self.measured.get(&Measure::FileBytes).map_or(0, Vec::len)
    }

    /// Why nothing was measured.
    fn skipped(&self) -> Option<&str> {
        self.toolchain.as_ref().err().map(String::as_str)
    }
}

/// Measures these languages, one after the other in each round. One whose tools are not there has a row that says so. Projects are made below the directory.
pub async fn measure(
    languages: &[Language],
    scale: &LanguagesScale,
    programs: &Programs,
    directory: &Path,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut projects = Vec::new();
    for language in languages {
        say(&format!("{}: making and building a project", language.title()))?;
        let built = Project::build(*language, &programs.informant(), directory)?;
        let toolchain = built.as_ref().map(Project::toolchain).map_err(Clone::clone);
        rows.push(Row { language: *language, toolchain, measured: BTreeMap::new() });
        projects.push(built.ok());
    }
    say_skipped(&rows)?;
    let load = Load::start(&programs.load_server(), None, Layout::default(), directory)?;
    let (begin, mut longest) = (Instant::now(), Duration::ZERO);
    for round in 1..=scale.rounds {
        if !has_time(begin.elapsed(), longest) {
            say(&format!("no time for round {round}: the page says how many there were"))?;
            break;
        }
        let round_begin = Instant::now();
        for (row, project) in rows.iter_mut().zip(&projects) {
            let Some(project) = project else { continue };
            say(&format!("round {round} of {}: {}", scale.rounds, row.language.title()))?;
            let round = self::round(project, scale, programs, &load).await;
            let round = round.with_context(|| row.language.title().to_owned())?;
            for (measure, value) in round {
                row.measured.entry(measure).or_default().push(value);
            }
        }
        longest = longest.max(round_begin.elapsed());
    }
    say_skipped(&rows)?;
    Ok(rows)
}

/// Whether another round may begin; the first one always may.
fn has_time(elapsed: Duration, longest: Duration) -> bool {
    elapsed + longest <= ROUNDS_TIME_MAX
}

/// Before anything is measured, so that it need not be waited for, and at the end, where it is seen.
fn say_skipped(rows: &[Row]) -> anyhow::Result<()> {
    for row in rows {
        if let Some(why) = row.skipped() {
            say(&format!("SKIPPED {}: {why}", row.language.title()))?;
        }
    }
    Ok(())
}

/// Everything of one language, once.
async fn round(
    project: &Project,
    scale: &LanguagesScale,
    programs: &Programs,
    load: &Load,
) -> anyhow::Result<Vec<(Measure, f64)>> {
    let begin = ProcessorTime::now()?;
    let mut measured = round::measure(project.file(), scale, programs, load).await?;
    measured.push((Measure::Stolen, ProcessorTime::now()?.stolen_since(begin)));
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_round_begins_that_would_not_end_in_time() {
        let minutes = |number: u64| Duration::from_secs(number * 60);
        assert!(has_time(Duration::ZERO, Duration::ZERO));
        assert!(has_time(minutes(6), minutes(3)));
        assert!(!has_time(minutes(6), minutes(3) + Duration::from_nanos(1)));
    }

    #[test]
    fn a_quantile_is_a_value_that_was_measured() {
        let check = |values: &[f64], share: f64, expect: Option<f64>| {
            let row = Row {
                language: Language::C,
                toolchain: Ok(Vec::new()),
                measured: BTreeMap::from([(Measure::FileBytes, values.to_vec())]),
            };
            assert_eq!(row.quantile(Measure::FileBytes, share), expect, "{share} of {values:?}");
        };
        check(&[3.0, 1.0, 2.0], 0.5, Some(2.0));
        check(&[4.0, 1.0], 0.5, Some(1.0));
        check(&[4.0, 1.0], 0.99, Some(4.0));
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        check(&hundred, 0.99, Some(99.0));
        check(&hundred, 0.0, Some(1.0));
        check(&[], 0.5, None);
    }
}
