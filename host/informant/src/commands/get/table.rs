//! Tables of the host as kubectl prints them (`k8s.io/cli-runtime/pkg/printers`). Synchronous.

use crate::commands::ask::CELL_BYTES_MAX;
use informant_runtime::one_line;
use serde_json::Value;

/// The least width of a column, and the spaces after its widest cell (`printers.GetNewTabWriter`).
const COLUMN_MIN: usize = 6;
const PADDING: usize = 3;

/// A printed table, to which a watch adds rows. The columns become no narrower.
pub(super) struct PrintedTable {
    is_wide: bool,
    with_namespace: bool,
    /// The places of the shown columns.
    shown: Vec<usize>,
    widths: Vec<usize>,
}

impl PrintedTable {
    pub(super) fn new(is_wide: bool, with_namespace: bool) -> Self {
        Self { is_wide, with_namespace, shown: Vec::new(), widths: Vec::new() }
    }

    /// The lines of a table. The heads come with the first table that has rows.
    pub(super) fn lines(&mut self, table: &Value) -> Vec<String> {
        let rows = table["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
        if rows.is_empty() {
            return Vec::new();
        }
        let mut lines = Vec::new();
        if self.shown.is_empty() {
            lines.push(self.heads(&table["columnDefinitions"]));
        }
        lines.extend(rows.iter().map(|row| self.row(row)));
        self.widen(&lines);
        lines.iter().map(|cells| self.line(cells)).collect()
    }

    /// Chooses the columns.
    fn heads(&mut self, columns: &Value) -> Vec<String> {
        let columns = columns.as_array().map(Vec::as_slice).unwrap_or_default();
        let is_shown = |column: &Value| self.is_wide || column["priority"].as_u64() == Some(0);
        let shown = columns.iter().enumerate().filter(|(_, column)| is_shown(column));
        self.shown = shown.map(|(place, _)| place).collect();
        let name = |place: &usize| columns[*place]["name"].as_str().unwrap_or_default();
        let names = self.shown.iter().map(|place| line(&name(place).to_uppercase()));
        let namespace = self.with_namespace.then(|| "NAMESPACE".to_owned());
        namespace.into_iter().chain(names).collect()
    }

    fn row(&self, row: &Value) -> Vec<String> {
        let namespace = &row["object"]["metadata"]["namespace"];
        let namespace = self.with_namespace.then(|| cell(namespace));
        namespace.into_iter().chain(self.shown.iter().map(|at| cell(&row["cells"][*at]))).collect()
    }

    fn widen(&mut self, lines: &[Vec<String>]) {
        self.widths.resize(self.shown.len() + usize::from(self.with_namespace), COLUMN_MIN);
        for cells in lines {
            for (width, cell) in self.widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.chars().count() + PADDING);
            }
        }
    }

    fn line(&self, cells: &[String]) -> String {
        let padded = cells.iter().zip(&self.widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<String>().trim_end().to_owned()
    }
}

/// A cell on one line: a text up to its first line break, or another value as it is.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => line(text),
        other => other.to_string(),
    }
}

/// A text up to its first line break.
fn line(text: &str) -> String {
    match text.split_once(['\n', '\r', '\u{c}']) {
        Some((first, _)) => format!("{}...", one_line(first, CELL_BYTES_MAX)),
        None => one_line(text, CELL_BYTES_MAX).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table(rows: &[(&str, &str, u64, &str)]) -> Value {
        let rows = rows.iter().map(|(namespace, name, restarts, ip)| {
            let object = json!({"metadata": {"namespace": namespace}});
            json!({"cells": [name, restarts, ip], "object": object})
        });
        let column = |name: &str, priority: u64| json!({"name": name, "priority": priority});
        let columns = [column("Name", 0), column("Restarts", 0), column("Pod-IP", 1)];
        json!({"columnDefinitions": columns, "rows": rows.collect::<Vec<_>>()})
    }

    #[track_caller]
    fn check(mut printed: PrintedTable, tables: &[Value], expect: &str) {
        let lines: Vec<String> = tables.iter().flat_map(|table| printed.lines(table)).collect();
        assert_eq!(lines.join("\n"), expect);
    }

    #[test]
    fn columns_are_those_of_kubectl() {
        let rows = table(&[("shop", "web-1", 0, "10.0.0.1"), ("shop", "a", 12, "")]);
        let plain = "NAME    RESTARTS\nweb-1   0\na       12";
        check(PrintedTable::new(false, false), std::slice::from_ref(&rows), plain);
        let wide = "NAMESPACE   NAME    RESTARTS   POD-IP\n\
                    shop        web-1   0          10.0.0.1\n\
                    shop        a       12";
        check(PrintedTable::new(true, true), &[rows], wide);
    }

    #[test]
    fn a_watch_adds_rows_to_the_columns() {
        let tables = [
            table(&[]),
            table(&[("", "a-long-name", 0, "")]),
            table(&[]),
            table(&[("", "b", 1, "")]),
        ];
        let lines = "NAME          RESTARTS\na-long-name   0\nb             1";
        check(PrintedTable::new(false, false), &tables, lines);
    }

    #[test]
    fn a_head_is_one_line() {
        let named = |name: &str| {
            json!({
                "columnDefinitions": [{"name": name, "priority": 0}],
                "rows": [{"cells": ["a"], "object": {}}],
            })
        };
        for (name, expect) in [
            ("a\u{1b}[2J\u{202e}", "A\\u{1b}[2J\\u{202e}\na"),
            ("\u{9b}2J\u{2028}", "\\u{9b}2J\\u{2028}\na"),
            ("a\nb", "A...\na"),
        ] {
            check(PrintedTable::new(false, false), &[named(name)], expect);
        }
    }

    #[test]
    fn a_cell_is_one_line() {
        for (value, expect) in [
            (json!("a\nb"), "a..."),
            (json!("a\u{1b}[2J"), "a\\u{1b}[2J"),
            (json!(null), ""),
            (json!(true), "true"),
        ] {
            assert_eq!(cell(&value), expect);
        }
    }
}
