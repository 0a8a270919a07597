//! Tables that name tests name such that exist: client-go's facts, the limits of plugins, and what attackers try.

use crate::repository::{Source, Text};

/// Where the tables are.
pub const TABLES: [&str; 3] =
    ["host/docs/designs/client-go-facts.md", "host/docs/limits.md", ATTACKS];

/// What attackers try.
const ATTACKS: &str = "host/docs/designs/attacks.md";

/// Fewer would leave some way untried.
const TRIES_MIN: usize = 40;

/// Complaints about a table of attacks that says too little.
pub fn too_few_tries(texts: &[Text]) -> Option<String> {
    let tables = texts.iter().filter(|text| text.path == ATTACKS);
    let tries = tables.flat_map(|text| text.text.lines()).filter(|line| is_row(line)).count();
    (tries < TRIES_MIN).then(|| format!("{ATTACKS} has {tries} tries, fewer than {TRIES_MIN}"))
}

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
    !["---", "fact |", "property |", "limit |", "try |"].iter().any(|head| first.starts_with(head))
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

    #[test]
    fn a_table_of_few_tries_is_complained_of() {
        let row = "| a | b | `c` |\n";
        let table = |rows: usize| {
            let text =
                format!("| try | what | proved by |\n| --- | --- | --- |\n{}", row.repeat(rows));
            [Text { path: ATTACKS.to_owned(), text }]
        };
        assert_eq!(too_few_tries(&table(TRIES_MIN)), None);
        assert!(too_few_tries(&table(TRIES_MIN - 1)).is_some() && too_few_tries(&[]).is_some());
    }
}
