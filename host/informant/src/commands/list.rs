//! Lists of a running host's plugins and dead letters, in the formats of kubectl's lists.

use super::ask::{print, table};
use super::yaml::yaml;
use crate::cli::ListOutput;
use crate::logging::escaped;
use anyhow::Result;
use serde_json::Value;

/// The columns of a list.
pub(super) struct Columns {
    pub(super) heads: &'static [&'static str],
    pub(super) row: fn(&Value) -> Vec<String>,
    /// The additional columns of a wide table. They come before the last column, whose cells have any length.
    pub(super) wide_heads: &'static [&'static str],
    pub(super) wide_row: fn(&Value) -> Vec<String>,
    /// The name that other commands accept.
    pub(super) name: fn(&Value) -> String,
}

/// Shows a list. `none` is the text for an empty list.
pub(super) fn show(
    list: &[Value],
    output: ListOutput,
    columns: &Columns,
    none: &str,
) -> Result<()> {
    let text = text(list, output, columns, none)?;
    // An empty list of names prints no line.
    if !text.is_empty() {
        print(text.trim_end());
    }
    Ok(())
}

fn text(list: &[Value], output: ListOutput, columns: &Columns, none: &str) -> Result<String> {
    Ok(match output {
        ListOutput::Json => escaped(&format!("{:#}", Value::from(list))),
        ListOutput::Yaml => yaml(&Value::from(list))?,
        ListOutput::Name => list.iter().map(columns.name).collect::<Vec<_>>().join("\n"),
        ListOutput::Text | ListOutput::Wide if list.is_empty() => none.to_owned(),
        ListOutput::Text => table(columns.heads, &list.iter().map(columns.row).collect::<Vec<_>>()),
        ListOutput::Wide => {
            let heads = widened(columns.heads.to_vec(), columns.wide_heads.to_vec());
            let row = |one| widened((columns.row)(one), (columns.wide_row)(one));
            table(&heads, &list.iter().map(row).collect::<Vec<_>>())
        }
    })
}

/// Inserts more cells before the last one.
fn widened<T>(mut cells: Vec<T>, more: Vec<T>) -> Vec<T> {
    let last = cells.pop();
    cells.into_iter().chain(more).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::super::ask::cell;
    use super::*;
    use serde_json::json;

    const COLUMNS: Columns = Columns {
        heads: &["NAME", "WHY"],
        row: |one| vec![cell(&one["name"]), cell(&one["why"])],
        wide_heads: &["AGE"],
        wide_row: |one| vec![cell(&one["age"])],
        name: |one| cell(&one["name"]),
    };

    #[track_caller]
    fn check(list: &Value, output: ListOutput, expect: &str) {
        let list = list.as_array().expect("a list");
        let found = text(list, output, &COLUMNS, "nothing is there").expect("a text");
        assert_eq!(found.trim_end(), expect);
    }

    #[test]
    fn a_list_is_shown_in_each_format() {
        let list =
            json!([{"name": "a", "why": "no", "age": 7}, {"name": "bc", "why": "", "age": 8}]);
        check(&list, ListOutput::Text, "NAME  WHY\na     no\nbc    -");
        check(&list, ListOutput::Wide, "NAME  AGE  WHY\na     7    no\nbc    8    -");
        check(&list, ListOutput::Name, "a\nbc");
        let yaml = text(list.as_array().expect("a list"), ListOutput::Yaml, &COLUMNS, "");
        let read: Value = serde_saphyr::from_str(&yaml.expect("a text")).expect("it is YAML");
        assert_eq!(read, list);
        check(&json!([1]), ListOutput::Json, "[\n  1\n]");
    }

    #[test]
    fn an_empty_list_is_a_text_for_people_and_a_list_for_programs() {
        check(&json!([]), ListOutput::Text, "nothing is there");
        check(&json!([]), ListOutput::Wide, "nothing is there");
        check(&json!([]), ListOutput::Name, "");
        check(&json!([]), ListOutput::Json, "[]");
    }
}
