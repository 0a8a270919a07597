//! What a plugin costs in each language: what `informant plugin new` makes, built by `informant plugin build`, loaded, called and kept.

mod events;
mod page;
mod project;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::contender::Programs;
use crate::load::Load;
use crate::session::say;
use crate::stolen::ProcessorTime;
pub use page::write;
use project::Project;

/// A language in which `informant plugin new` makes projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Language {
    /// With the SDK, for wasm32-unknown-unknown.
    Rust,
    /// Go's own compiler.
    Go,
    /// QuickJS.
    Js,
    /// CPython.
    Python,
    /// Two files to compile along.
    C,
}

impl Language {
    /// All, in the order of the table.
    pub const ALL: [Self; 5] = [Self::Rust, Self::Go, Self::Js, Self::Python, Self::C];

    /// What `--lang` calls it.
    fn key(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Go => "go",
            Self::Js => "js",
            Self::Python => "python",
            Self::C => "c",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::Js => "JavaScript",
            Self::Python => "Python",
            Self::C => "C",
        }
    }

    /// Commands for a shell in the project's folder; each that succeeds says one thing about what built it.
    fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["rustc --version"],
            Self::Go => &["go version || /usr/local/go/bin/go version"],
            Self::Js => &[
                r#"echo "Node.js $(node --version)""#,
                // npm puts it beside the SDK or above it.
                r#"for package in node_modules/componentize-qjs/package.json sdk/js/node_modules/componentize-qjs/package.json; do
                test -e $package && echo "componentize-qjs $(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).version' $package)" && exit; done; exit 1"#,
            ],
            Self::Python => &[".venv/bin/python --version", ".venv/bin/componentize-py --version"],
            Self::C => &[
                // In the order in which `informant plugin build` tries them.
                r#"if clang --target=wasm32 -nostdlib -Wl,--no-entry -x c /dev/null -o /dev/null; then clang --version | head -n 1
                elif version=$(zig version); then echo "Zig $version"
                else echo "Zig $(.venv/bin/python -m ziglang version || python3 -m ziglang version)"; fi"#,
            ],
        }
    }

    /// What there is not in it, or is bounded by it.
    fn limits(self) -> &'static str {
        match self {
            Self::Rust => "none of its own; no WASI is in it",
            Self::Go => {
                "one call brings at most 9 MiB; goroutines run while a call lasts; `os.Exit` and fatal errors of the runtime end the instance"
            }
            Self::Js => "nobody waits for promises; there is no `setTimeout`",
            Self::Python => "imports stand at the top; compiling wants some 470 MiB, once",
            Self::C => {
                "`lifecycle`, `handler`, `log` and `event-data` of the contract; no libc, no JSON parser"
            }
        }
    }
}

/// What is measured of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Measure {
    FileBytes,
    /// With an empty code cache.
    ColdSeconds,
    /// With the code in the cache.
    WarmSeconds,
    /// By the clock, in the plugin's `handle`.
    HandleSeconds,
    /// Of the host's processor time, everything included.
    ProcessorSeconds,
    LinearBytes,
    /// What one more instance adds to the host.
    ResidentBytes,
    /// The share of the machine that its own host took meanwhile.
    Stolen,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// How often; the page has medians.
    pub rounds: u32,
    /// Pods that each instance is told of first.
    pub pods: u32,
    /// Updates a second, and for how long.
    pub rate: (u32, Duration),
    /// Instances that are added to see what one takes.
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
    /// A value of each for each round.
    measured: BTreeMap<Measure, Vec<f64>>,
}

impl Row {
    /// The middle one of the rounds, or the higher of the two.
    fn median(&self, measure: Measure) -> Option<f64> {
        let mut values = self.measured.get(&measure)?.clone();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }
}

/// Measures these languages, one after the other in each round. One whose tools are not there has a row that says so. Projects are made below the directory.
pub async fn measure(
    languages: &[Language],
    scale: &Scale,
    programs: &Programs,
    directory: &Path,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut projects = Vec::new();
    for language in languages {
        say(&format!("{}: making and building a project", language.title()))?;
        let built = Project::build(*language, &programs.informant(), directory)?;
        let toolchain = match &built {
            Ok(project) => Ok(project.toolchain()),
            Err(why) => {
                say(&format!("SKIPPED {}: {why}", language.title()))?;
                Err(why.clone())
            }
        };
        rows.push(Row { language: *language, toolchain, measured: BTreeMap::new() });
        projects.push(built.ok());
    }
    let load = Load::start(&programs.load_server(), None, directory)?;
    for round in 1..=scale.rounds {
        for (row, project) in rows.iter_mut().zip(&projects) {
            let Some(project) = project else { continue };
            say(&format!("round {round} of {}: {}", scale.rounds, row.language.title()))?;
            let round = self::round(project, scale, programs, &load).await;
            let round = round.with_context(|| row.language.title().to_owned())?;
            for (measure, value) in round {
                row.measured.entry(measure).or_default().push(value);
            }
        }
    }
    Ok(rows)
}

/// Everything of one language, once.
async fn round(
    project: &Project,
    scale: &Scale,
    programs: &Programs,
    load: &Load,
) -> anyhow::Result<Vec<(Measure, f64)>> {
    let begin = ProcessorTime::now()?;
    let scratch = tempfile::tempdir().context("a directory for plugins and code")?;
    let code = scratch.path().join("code");
    let cold = project.load(&programs.informant(), &code)?;
    let warm = project.load(&programs.informant(), &code)?;
    let mut measured = vec![
        (Measure::FileBytes, project.bytes()?),
        (Measure::ColdSeconds, cold.as_secs_f64()),
        (Measure::WarmSeconds, warm.as_secs_f64()),
    ];
    measured.extend(events::measure(project.file(), &code, scale, programs, load).await?);
    measured.push((Measure::Stolen, ProcessorTime::now()?.stolen_since(begin)));
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        let row = |values: &[f64]| Row {
            language: Language::C,
            toolchain: Ok(Vec::new()),
            measured: BTreeMap::from([(Measure::FileBytes, values.to_vec())]),
        };
        assert_eq!(row(&[3.0, 1.0, 2.0]).median(Measure::FileBytes), Some(2.0));
        assert_eq!(row(&[4.0, 1.0]).median(Measure::FileBytes), Some(4.0));
        assert_eq!(row(&[1.0]).median(Measure::LinearBytes), None);
    }
}
