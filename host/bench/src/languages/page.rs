//! The page of languages.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, ensure};

use super::{Measure, Row, Scale};

/// Where the page is, from the repository's root.
const PAGE: &str = "host/bench/LANGUAGES.md";

/// A share of the machine that its own host took, above which the page warns.
const STOLEN_MAX: f64 = 0.02;

/// Writes the page below a directory.
pub fn write(rows: &[Row], scale: &Scale, machine: &str, directory: &Path) -> anyhow::Result<()> {
    let file = directory.join(PAGE);
    let parent = file.parent().context("the page is in no directory")?;
    std::fs::create_dir_all(parent).context("make the page's directory")?;
    let text = page(rows, scale, machine)?;
    std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))
}

fn page(rows: &[Row], scale: &Scale, machine: &str) -> anyhow::Result<String> {
    ensure!(rows.iter().any(|row| row.toolchain.is_ok()), "no language has its tools here");
    let Scale { rounds, pods, rate: (rate, time), more, .. } = scale;
    let mut text = include_str!("begin.md").trim_end().to_owned();
    let _ = writeln!(
        text,
        "\n\nMeasured on {machine}; medians of {rounds} rounds with {pods} Pods, {rate} updates a second for {} s and {more} instances more.\n",
        time.as_secs_f64()
    );
    text.push_str(
        "| | file | load, compiled | load, from the cache | an event, in the plugin | an event, in all | memory, its own | memory, in the host |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in rows {
        let cells: Vec<String> = COLUMNS.iter().map(|(of, show)| cell(row, *of, *show)).collect();
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
    text.push_str(
        "\nWhat bounds every plugin, whatever it is written in: [limits](../docs/limits.md). What there is of a system: [WASI](../docs/designs/wasi.md).\n",
    );
    let stolen = rows.iter().filter_map(|row| row.median(Measure::Stolen)).fold(0.0, f64::max);
    if stolen > STOLEN_MAX {
        let _ = writeln!(
            text,
            "\nMeanwhile others had {:.0} % of the machine: these numbers are too high.",
            stolen * 100.0
        );
    }
    Ok(text)
}

/// What stands in a column, and how it is written.
type Column = (Measure, fn(f64) -> String);

/// The columns of numbers.
const COLUMNS: [Column; 7] = [
    (Measure::FileBytes, bytes),
    (Measure::ColdSeconds, seconds),
    (Measure::WarmSeconds, seconds),
    (Measure::HandleSeconds, seconds),
    (Measure::ProcessorSeconds, seconds),
    (Measure::LinearBytes, bytes),
    (Measure::ResidentBytes, bytes),
];

fn cell(row: &Row, measure: Measure, show: fn(f64) -> String) -> String {
    row.median(measure).map_or_else(|| "–".to_owned(), show)
}

fn bytes(value: f64) -> String {
    match value {
        // An instance may take less than memory moves by itself.
        value if value < 1e3 => "below 1 kB".to_owned(),
        value if value < 1e6 => format!("{:.0} kB", value / 1e3),
        value if value < 1e7 => format!("{:.1} MB", value / 1e6),
        value => format!("{:.0} MB", value / 1e6),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::Language;
    use std::collections::BTreeMap;
    use std::time::Duration;

    const SCALE: Scale = Scale {
        rounds: 1,
        pods: 20,
        rate: (50, Duration::from_millis(200)),
        more: 2,
        settle: Duration::ZERO,
    };

    fn rows(stolen: f64) -> [Row; 2] {
        let measured = [
            (Measure::FileBytes, vec![172_000.0]),
            (Measure::ColdSeconds, vec![0.25]),
            (Measure::WarmSeconds, vec![0.0215]),
            (Measure::HandleSeconds, vec![4.25e-6]),
            (Measure::ProcessorSeconds, vec![0.000_04]),
            (Measure::LinearBytes, vec![1_179_648.0]),
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
        let text = page(&rows(0.0), &SCALE, "some machine").expect("one was measured");
        for line in [
            "Measured on some machine; medians of 1 rounds with 20 Pods, 50 updates a second for 0.2 s and 2 instances more.",
            "| Rust | 172 kB | 250 ms | 21.5 ms | 4.2 µs | 40.0 µs | 1.2 MB | below 1 kB |",
            "| C | – | – | – | – | – | – | – |",
            "| Rust | rustc 1.95.0 | none of its own; no WASI is in it |",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        assert!(text.contains("| C | not measured: there is no C compiler |"), "{text}");
        assert!(!text.contains("others had"), "{text}");
    }

    #[test]
    fn a_machine_that_was_not_left_alone_is_told_of() {
        let text = page(&rows(0.1), &SCALE, "some machine").expect("one was measured");
        assert!(text.ends_with("others had 10 % of the machine: these numbers are too high.\n"));
    }

    #[test]
    fn nothing_measured_is_no_page() {
        let [_, skipped] = rows(0.0);
        assert!(page(&[skipped], &SCALE, "some machine").is_err());
    }
}
