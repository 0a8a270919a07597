//! What the benches of single parts have printed, as a page: nobody copies a number by hand.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, ensure};

/// Where the page is, from the repository's root.
const PAGE: &str = "host/bench/PARTS.md";

/// What stands in tables beside the names of benches.
const WORDS: &[(&str, &str)] = &[
    ("decode/object", "one Pod of 6.7 KB, as a watch brings it, read by our reader"),
    (
        "decode/object_with_white_space",
        "the same with one space in it: our reader gives up, and serde_json reads it, borrowed",
    ),
    ("decode/serde_json_skips", "serde_json finds only where it ends"),
    ("decode/serde_json_builds_a_tree", "serde_json builds a tree of it"),
    ("parts/change_with_indexes/0", "a change in the store, without an index"),
    ("parts/change_with_indexes/1", "the same with one index by JSON pointer"),
    ("parts/change_with_indexes/4", "with four"),
    ("parts/get", "one object by its key"),
    ("parts/pack", "a Pod packed by itself, with a dictionary"),
    ("parts/unpack_alone", "the text of such a Pod"),
    ("parts/unpack", "the text of a Pod at rest, as the store keeps it"),
    ("parts/pack_siblings", "a Pod packed in a first list, most often as edits of a sibling"),
    (
        "parts/pack_next_versions",
        "its next version, most often as edits, the text before unpacked for it",
    ),
    ("parts/page_of_an_index", "a page of up to 50 of one value of an index"),
    ("parts/work_queue", "a key added to a work queue, taken and done"),
    ("queue/push", "an event into a plugin's queue"),
    ("queue/pop_and_finish", "an event taken out and settled"),
    ("queue/merge", "an event merged into the waiting one of its object, above the mark"),
];

/// One bench of divan.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Timing {
    name: String,
    fastest: String,
    median: String,
    /// Items a second by the median, where items are counted.
    rate: Option<String>,
}

/// One row of the bench of calls, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    what: String,
    informer: String,
    guests: String,
}

/// Writes the page below a directory.
pub fn write(printed: &str, machine: &str, directory: &Path) -> anyhow::Result<()> {
    let file = directory.join(PAGE);
    let parent = file.parent().context("the page is in no directory")?;
    std::fs::create_dir_all(parent).context("make the page's directory")?;
    let text = page(printed, machine)?;
    std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))
}

fn page(printed: &str, machine: &str) -> anyhow::Result<String> {
    let (timings, calls) = (timings(printed), calls(printed));
    ensure!(!timings.is_empty() && !calls.is_empty(), "no benches have printed anything");
    let mut text = format!(
        "{}\n\nMeasured on {machine}.\n\n## Timed\n\n| | | median | fastest | a second |\n| --- | --- | ---: | ---: | ---: |\n",
        include_str!("parts/begin.md").trim_end()
    );
    for Timing { name, fastest, median, rate } in timings {
        let words = WORDS.iter().find(|(known, _)| *known == name).map_or("", |(_, words)| words);
        let rate = rate.unwrap_or_else(|| "–".to_owned());
        let _ = writeln!(text, "| `{name}` | {words} | {median} | {fastest} | {rate} |");
    }
    let _ =
        writeln!(text, "\n## An event, by thread\n\n{}", include_str!("parts/call.md").trim_end());
    for Call { what, informer, guests } in calls {
        // A head names its columns.
        match informer.as_str() {
            "informer" => {
                let _ =
                    writeln!(text, "\n| {what} | {informer} | {guests} |\n| --- | ---: | ---: |");
            }
            _ => {
                let _ = writeln!(text, "| {what} | {informer} ns | {guests} ns |");
            }
        }
    }
    Ok(text)
}

/// Reads the trees that divan prints: a bench's names down to it, then fastest, slowest, median, mean, samples, iterations. Below it, where
/// items are counted, how many a second for the first four of these.
fn timings(printed: &str) -> Vec<Timing> {
    let mut timings: Vec<Timing> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for line in printed.lines() {
        let found = ["├─ ", "╰─ "].iter().find_map(|mark| Some((line.find(mark)?, mark.len())));
        let Some((at, length)) = found else {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                [name, "fastest", ..] => names = vec![name.to_owned()],
                _ => note_rate(line, timings.last_mut()),
            }
            continue;
        };
        let cells: Vec<&str> = line[at + length..].split('│').map(str::trim).collect();
        let (name, fastest) = cells[0].split_once(' ').unwrap_or((cells[0], ""));
        names.truncate(1 + line[..at].chars().count() / 3);
        names.push(name.to_owned());
        if let [_, _, median, ..] = cells[..]
            && !median.is_empty()
        {
            let (name, fastest) = (names.join("/"), fastest.trim().to_owned());
            timings.push(Timing { name, fastest, median: median.to_owned(), rate: None });
        }
    }
    timings
}

/// Takes items a second from the line below a bench.
fn note_rate(line: &str, last: Option<&mut Timing>) {
    let cells: Vec<&str> = line.split('│').map(str::trim).filter(|cell| !cell.is_empty()).collect();
    if let ([_, _, median, _], Some(last)) = (&cells[..], last)
        && median.ends_with("item/s")
    {
        last.rate = Some(median.trim_end_matches("/s").to_owned());
    }
}

/// Reads what the bench of calls prints: some words, then two columns.
fn calls(printed: &str) -> Vec<Call> {
    let call = |line: &str| {
        let (rest, guests) = line.trim_end().rsplit_once(' ')?;
        let (what, informer) = rest.trim_end().rsplit_once(' ')?;
        let is_row = [informer, guests].iter().all(|cell| cell.parse::<f64>().is_ok());
        let is_head = (informer, guests) == ("informer", "guests");
        let what = what.trim().to_owned();
        (is_row || is_head).then(|| Call {
            what,
            informer: informer.to_owned(),
            guests: guests.to_owned(),
        })
    };
    printed.lines().filter_map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
     Running benches/parts.rs (target/release/deps/parts-1)
Timer precision: 20 ns
parts                     fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ change_with_indexes                  │               │               │               │         │
│  ├─ 0                   5.9 ms        │ 7.1 ms        │ 6 ms          │ 6.1 ms        │ 20      │ 20
│  │                      169.4 Kitem/s │ 140.8 Kitem/s │ 166.6 Kitem/s │ 163.9 Kitem/s │         │
│  ╰─ 1                   9.1 ms        │ 9.9 ms        │ 9.2 ms        │ 9.3 ms        │ 20      │ 20
│                         109.4 Kitem/s │ 100.8 Kitem/s │ 108.6 Kitem/s │ 107.9 Kitem/s │         │
╰─ get                    80 ns         │ 1 µs          │ 91.5 ns       │ 90 ns         │ 100     │ 6400

ns of CPU an event, 4000 updates, least of 3 rounds
plugins, of 2 KB objects                      informer    guests
one, which does nothing                           4321       987
what one more adds, of 5 KB pods              informer    guests
not interested: namespace                           37        -2
SKIPPED counter: no such file; run `make plugins`
";

    #[test]
    fn trees_are_read_with_their_names() {
        let of = |name: &str, fastest: &str, median: &str, rate: Option<&str>| Timing {
            name: name.to_owned(),
            fastest: fastest.to_owned(),
            median: median.to_owned(),
            rate: rate.map(str::to_owned),
        };
        let expect = [
            of("parts/change_with_indexes/0", "5.9 ms", "6 ms", Some("166.6 Kitem")),
            of("parts/change_with_indexes/1", "9.1 ms", "9.2 ms", Some("108.6 Kitem")),
            of("parts/get", "80 ns", "91.5 ns", None),
        ];
        assert_eq!(timings(PRINTED), expect);
    }

    #[test]
    fn a_page_has_every_row_and_no_other() {
        let text = page(PRINTED, "some machine").expect("something was printed");
        for row in [
            "Measured on some machine.",
            "| `parts/get` | one object by its key | 91.5 ns | 80 ns | – |",
            "| plugins, of 2 KB objects | informer | guests |\n| --- | ---: | ---: |",
            "| one, which does nothing | 4321 ns | 987 ns |",
            "| not interested: namespace | 37 ns | -2 ns |",
        ] {
            assert!(text.contains(row), "{row} in {text}");
        }
        assert!(!text.contains("SKIPPED") && !text.contains("least of 3"), "{text}");
        assert!(page("Timer precision: 20 ns\n", "some machine").is_err());
    }
}
