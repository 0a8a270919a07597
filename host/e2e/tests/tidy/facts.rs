//! Tables that name tests name such that exist: client-go's facts, and the limits of plugins.

use crate::repository::{Source, Text};

/// Where the tables are.
pub const TABLES: [&str; 2] = ["host/docs/designs/client-go-facts.md", "host/docs/limits.md"];

/// Complaints about a table's rows without a test, and about tests that are named and not there.
pub fn missing_tests(path: &str, texts: &[Text], sources: &[Source]) -> Vec<String> {
    let Some(table) = texts.iter().find(|text| text.path == path) else {
        return vec![format!("{path} is gone")];
    };
    let mut complaints = Vec::new();
    for (number, line) in table.text.lines().enumerate().filter(|(_, line)| is_row(line)) {
        let tests = names(line);
        if tests.is_empty() {
            complaints.push(format!("{path}:{}: names no test", number + 1));
        }
        for test in tests {
            let function = format!("fn {test}(");
            if !sources.iter().any(|source| source.code.contains(&function)) {
                complaints.push(format!("{path}:{}: there is no `{function})`", number + 1));
            }
        }
    }
    complaints
}

/// Not the head of a table, nor the line below it.
fn is_row(line: &str) -> bool {
    let first = line.strip_prefix("| ").unwrap_or("---");
    !["---", "fact |", "property |", "limit |"].iter().any(|head| first.starts_with(head))
}

/// What stands in backticks in the last column.
fn names(row: &str) -> Vec<&str> {
    let last = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
    last.split('`').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_tests_that_exist() {
        let table =
            "| fact | ours |\n| --- | --- |\n| `x` | `is_there`, `is_not` |\n| y | none |\n";
        let text = Text { path: TABLES[0].to_owned(), text: table.to_owned() };
        let code = "async fn is_there() {}".to_owned();
        let source = Source { path: "host/cache/src/a.rs".to_owned(), code };
        let expect = [
            "host/docs/designs/client-go-facts.md:3: there is no `fn is_not()`",
            "host/docs/designs/client-go-facts.md:4: names no test",
        ];
        assert_eq!(missing_tests(TABLES[0], &[text], &[source]), expect);
    }
}
