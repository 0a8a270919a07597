//! Every metric on one page: `host/docs/metrics.md`, generated from the answer of a host without plugins.

use super::{Registry, Snapshot, StateDirectoryStatus, encode};
use expect_test::expect_file;
use std::collections::BTreeMap;

/// A host that has done nothing, with a state directory.
fn idle() -> Snapshot {
    Snapshot {
        candidate: None,
        configuration: Default::default(),
        refused: Default::default(),
        watches: Default::default(),
        otlp: Default::default(),
        plugins: Vec::new(),
        of_plugins: Vec::new(),
        compiles: Default::default(),
        access: Default::default(),
        index_values_cut: BTreeMap::new(),
        state_directory: Some(StateDirectoryStatus::default()),
        files_not_loaded: 0,
        informers: Vec::new(),
    }
}

/// A line of a table for each family, from Prometheus' lines `HELP` and `TYPE`.
fn rows(page: &str) -> String {
    let after = |prefix: &str| {
        let lines = page.lines().filter_map(move |line| line.strip_prefix(prefix)?.split_once(' '));
        lines.collect::<Vec<_>>()
    };
    let types: BTreeMap<&str, &str> = after("# TYPE ").into_iter().collect();
    let row = |(name, help): (&str, &str)| {
        let kind = types[name];
        let total = if kind == "counter" { "_total" } else { "" };
        format!("| `{name}{total}` | {kind} | {} |", help.trim_end_matches('.'))
    };
    after("# HELP ").into_iter().map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_page_has_every_metric() {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(idle()));
    let mut answer = String::new();
    encode(&mut answer, &registry).expect("text");
    let page = include_str!("page.md").replace("{METRICS}", &rows(&answer));
    expect_file!["../../../docs/metrics.md"].assert_eq(&page);
}
