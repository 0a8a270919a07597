//! The page of languages, and its tables in the SDKs' README.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use informant_e2e::paths;

use super::{LanguagesScale, Measure, Row};

/// Where the page is, from the repository's root.
const PAGE: &str = "host/bench/LANGUAGES.md";
/// Where its tables are, too.
const README: &str = "plugin-sdk/README.md";

/// Between these the two files are the same.
const BEGIN: &str = "<!-- make bench-languages writes from here -->\n";
const END: &str = "<!-- to here -->\n";

/// A share of the machine that its own host took, above which the page warns.
const STOLEN_MAX: f64 = 0.02;

/// Writes the page, and the README with its tables, below a directory. Answers where they are.
pub fn write(
    rows: &[Row],
    scale: &LanguagesScale,
    machine: &str,
    directory: &Path,
) -> anyhow::Result<[PathBuf; 2]> {
    let tables = tables(rows, scale, machine)?;
    let readme = paths::root().join(README);
    let readme = std::fs::read_to_string(&readme).context("read the SDKs' README")?;
    let begin = include_str!("begin.md").trim_end();
    let page = format!("{begin}\n\n{BEGIN}{tables}{END}");
    let readme = with_tables(&readme, &tables).context("the SDKs' README has no place for it")?;
    let files = [PAGE, README].map(|file| directory.join(file));
    for (file, text) in files.iter().zip([page, readme]) {
        let parent = file.parent().context("it is in no directory")?;
        std::fs::create_dir_all(parent).context("make a directory")?;
        std::fs::write(file, text).with_context(|| format!("write {}", file.display()))?;
    }
    Ok(files)
}

fn with_tables(text: &str, tables: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{tables}{END}{after}"))
}

fn tables(rows: &[Row], scale: &LanguagesScale, machine: &str) -> anyhow::Result<String> {
    ensure!(rows.iter().any(|row| row.skipped().is_none()), "no language has its tools here");
    let LanguagesScale { pods, singles, events, more, .. } = scale;
    let rounds = rows.iter().map(Row::rounds).max().unwrap_or_default();
    let heads: Vec<String> =
        COLUMNS.iter().map(|(head, _)| head.replace("EVENTS", &grouped(*events))).collect();
    let mut text =
        format!("| | {} |\n| --- | {} |\n", heads.join(" | "), ["---:"; COLUMNS.len()].join(" | "));
    for row in rows {
        let cells: Vec<String> = COLUMNS.iter().map(|(_, cell)| cell(row)).collect();
        let _ = writeln!(text, "| {} | {} |", row.language.title(), cells.join(" | "));
    }
    text.push_str("\n| | built with | limits of its own |\n| --- | --- | --- |\n");
    for row in rows {
        let with = match &row.toolchain {
            Ok(tools) => tools.join(", "),
            Err(why) => format!("not measured: {why}"),
        };
        let with = with.replace('|', "\\|");
        let _ = writeln!(text, "| {} | {with} | {} |", row.language.title(), row.language.limits());
    }
    let _ = writeln!(
        text,
        "\nMeasured on {machine}, rounds: {rounds}, with {pods} Pods. In each of them {more} loads with the code in the cache, {singles} single updates and {} in a row.",
        grouped(*events)
    );
    let stolen = rows.iter().filter_map(|row| row.median(Measure::Stolen)).fold(0.0, f64::max);
    if stolen > STOLEN_MAX {
        let _ = writeln!(
            text,
            "Meanwhile others had {:.0} % of the machine: these times are too long.",
            stolen * 100.0
        );
    }
    Ok(text)
}

/// A column's head, and what stands in it.
type PageColumn = (&'static str, fn(&Row) -> String);

const COLUMNS: [PageColumn; 10] = [
    ("file", |row| cell(row, Measure::FileBytes, bytes)),
    ("its code", |row| cell(row, Measure::CodeBytes, bytes)),
    ("compiling, once", |row| cell(row, Measure::CompileSeconds, compiling)),
    ("load", |row| cell(row, Measure::LoadSeconds, seconds)),
    ("an event: median, 99th percentile", |row| {
        let shown = [0.5, 0.99].map(|share| row.quantile(Measure::CallSeconds, share).map(seconds));
        match shown {
            [Some(median), Some(high)] => format!("{median}, {high}"),
            _ => NOTHING.to_owned(),
        }
    }),
    ("in a row", |row| cell(row, Measure::RowSeconds, seconds)),
    ("processor", |row| cell(row, Measure::ProcessorSeconds, seconds)),
    ("memory, idle", |row| cell(row, Measure::IdleBytes, bytes)),
    ("after EVENTS events", |row| cell(row, Measure::LaterBytes, bytes)),
    ("in the host", |row| cell(row, Measure::ResidentBytes, bytes)),
];

/// What was not measured.
const NOTHING: &str = "–";

fn cell(row: &Row, measure: Measure, show: fn(f64) -> String) -> String {
    row.median(measure).map_or_else(|| NOTHING.to_owned(), show)
}

fn bytes(value: f64) -> String {
    match value {
        // A plugin may take less than memory moves by itself.
        value if value < 1e3 => "below 1 kB".to_owned(),
        value if value < 1e4 => format!("{:.1} kB", value / 1e3),
        value if value < 1e6 => format!("{:.0} kB", value / 1e3),
        value if value < 1e7 => format!("{:.1} MB", value / 1e6),
        value => format!("{:.0} MB", value / 1e6),
    }
}

/// What is less is not told from how much one load differs from the next.
const COMPILING_SECONDS_MIN: f64 = 0.02;

fn compiling(value: f64) -> String {
    match value {
        value if value < COMPILING_SECONDS_MIN => {
            format!("below {:.0} ms", COMPILING_SECONDS_MIN * 1e3)
        }
        value => seconds(value),
    }
}

fn seconds(value: f64) -> String {
    match value {
        value if value < 1e-4 => format!("{:.1} µs", value * 1e6),
        value if value < 1e-3 => format!("{:.0} µs", value * 1e6),
        value if value < 1e-1 => format!("{:.1} ms", value * 1e3),
        value if value < 1.0 => format!("{:.0} ms", value * 1e3),
        value => format!("{value:.1} s"),
    }
}

/// With a comma between thousands.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    String::from_utf8_lossy(&groups.join(&b',')).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::Language;
    use std::collections::BTreeMap;
    use std::io::ErrorKind;
    use std::time::Duration;

    const SCALE: LanguagesScale = LanguagesScale {
        rounds: 1,
        pods: 20,
        singles: 4,
        events: 1_200,
        more: 2,
        settle: Duration::ZERO,
    };

    /// What the README says before anything was measured.
    const NOT_YET: &str = "Not measured yet.\n";

    /// What stands between the marks.
    fn between(text: &str) -> Option<&str> {
        let (_, rest) = text.split_once(BEGIN)?;
        rest.split_once(END).map(|(tables, _)| tables)
    }

    fn rows(stolen: f64) -> [Row; 2] {
        let measured = [
            (Measure::FileBytes, vec![172_000.0]),
            (Measure::CodeBytes, vec![1_620_000.0]),
            (Measure::CompileSeconds, vec![0.25]),
            (Measure::LoadSeconds, vec![0.0215, 0.0217]),
            (Measure::CallSeconds, vec![4.2e-6, 3.9e-6, 4e-6, 30e-6]),
            (Measure::RowSeconds, vec![2.5e-6]),
            (Measure::ProcessorSeconds, vec![0.000_04]),
            (Measure::IdleBytes, vec![1_179_648.0]),
            (Measure::LaterBytes, vec![1_245_184.0]),
            (Measure::ResidentBytes, vec![-4096.0]),
            (Measure::Stolen, vec![stolen]),
        ];
        [
            Row {
                language: Language::Rust,
                toolchain: Ok(vec!["rustc 1.95.0".to_owned()]),
                measured: BTreeMap::from(measured),
            },
            Row {
                language: Language::C,
                toolchain: Err("there is no C compiler".to_owned()),
                measured: BTreeMap::new(),
            },
        ]
    }

    #[test]
    fn a_page_has_a_row_for_each_language() {
        let text = tables(&rows(0.0), &SCALE, "some machine").expect("one was measured");
        let expect = [
            "| | file | its code | compiling, once | load | an event: median, 99th percentile | in a row | processor | memory, idle | after 1,200 events | in the host |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            "| Rust | 172 kB | 1.6 MB | 250 ms | 21.5 ms | 4.0 µs, 30.0 µs | 2.5 µs | 40.0 µs | 1.2 MB | 1.2 MB | below 1 kB |",
            "| C | – | – | – | – | – | – | – | – | – | – |",
            "",
            "| | built with | limits of its own |",
            "| --- | --- | --- |",
            "| Rust | rustc 1.95.0 | none of its own; no WASI is in it |",
            "| C | not measured: there is no C compiler | a trap ends the instance; no libc, no WASI; the stack has 64 KiB |",
            "",
            "Measured on some machine, rounds: 1, with 20 Pods. In each of them 2 loads with the code in the cache, 4 single updates and 1,200 in a row.",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expect);
    }

    #[test]
    fn a_machine_that_was_not_left_alone_is_told_of() {
        let text = tables(&rows(0.1), &SCALE, "some machine").expect("one was measured");
        let last = "Meanwhile others had 10 % of the machine: these times are too long.\n";
        assert!(text.ends_with(last), "{text}");
    }

    #[test]
    fn nothing_measured_is_no_page() {
        let [_, skipped] = rows(0.0);
        assert!(tables(&[skipped], &SCALE, "some machine").is_err());
    }

    #[test]
    fn numbers_are_written_with_what_is_known_of_them() {
        let shown = [999.0, 9_949.0, 172_400.0, 1.5e6, 14.2e6].map(bytes);
        assert_eq!(shown, ["below 1 kB", "9.9 kB", "172 kB", "1.5 MB", "14 MB"]);
        let shown = [4.25e-6, 289e-6, 0.0215, 0.25, 5.66].map(seconds);
        assert_eq!(shown, ["4.2 µs", "289 µs", "21.5 ms", "250 ms", "5.7 s"]);
        let shown = [-1.0, 0.019, 0.0215].map(compiling);
        assert_eq!(shown, ["below 20 ms", "below 20 ms", "21.5 ms"]);
        let shown = [0, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn tables_take_the_place_of_those_before() {
        let text = |tables: &str| format!("before\n{BEGIN}{tables}{END}after\n");
        assert_eq!(with_tables(&text("old\n"), "new\n"), Some(text("new\n")));
        assert_eq!(between(&text("new\n")), Some("new\n"));
        assert_eq!(with_tables("no marks\n", "new\n"), None);
    }

    #[test]
    fn the_readme_of_the_sdks_shows_what_was_measured() {
        let read = |file: &str| std::fs::read_to_string(paths::root().join(file));
        let readme = read(README).expect("a README");
        let shown = between(&readme).expect("the marks");
        match read(PAGE) {
            Ok(page) => assert_eq!(Some(shown), between(&page), "run make bench-languages"),
            Err(error) if error.kind() == ErrorKind::NotFound => assert_eq!(shown, NOT_YET),
            Err(error) => panic!("{PAGE}: {error}"),
        }
    }
}
