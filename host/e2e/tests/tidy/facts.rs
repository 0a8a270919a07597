//! Tables that name tests must name existing tests, and must be complete: client-go's facts, the limits of plugins,
//! and attacks.

use crate::repository::{Source, Text};
use std::collections::HashSet;

/// The pages with the tables.
pub const TABLES: [&str; 3] =
    ["host/docs/designs/client-go-facts.md", "host/docs/limits.md", ATTACKS];

/// The functions of client-go's tests: a file on one line, and its functions on the next lines, each after a space.
const CLIENT_GO_TESTS: &str = "host/docs/designs/client-go-tests.txt";

/// Prefixes that the table of client-go's facts may omit from their names.
const SUBJECTS: [&str; 7] = [
    "Reflector",
    "SharedInformer",
    "RealFIFO_",
    "RealFIFOW_",
    "DeltaFIFO_",
    "DeltaFIFOW_",
    "ThreadSafeStore",
];

/// The table of attacks.
const ATTACKS: &str = "host/docs/designs/attacks.md";

/// With fewer tries, some way would be untested.
const TRIES_MIN: usize = 40;

/// A complaint about a table of attacks with too few rows.
pub fn too_few_tries(texts: &[Text]) -> Option<String> {
    let tables = texts.iter().filter(|text| text.path == ATTACKS);
    let tries = tables.flat_map(|text| text.text.lines()).filter(|line| is_row(line)).count();
    (tries < TRIES_MIN).then(|| format!("{ATTACKS} has {tries} tries, fewer than {TRIES_MIN}"))
}

/// Complaints about rows of a table without a test, and about named tests that do not exist.
pub fn missing_tests(path: &str, texts: &[Text], sources: &[Source]) -> Vec<String> {
    let Some(table) = texts.iter().find(|text| text.path == path) else {
        return vec![format!("{path} is gone")];
    };
    let known: HashSet<&str> = sources.iter().flat_map(|source| functions(&source.code)).collect();
    let mut complaints = Vec::new();
    for (number, line) in table.text.lines().enumerate().filter(|(_, line)| is_row(line)) {
        let tests = names(line);
        if tests.is_empty() {
            complaints.push(format!("{path}:{}: names no test", number + 1));
        }
        for test in tests {
            if !known.contains(test) {
                complaints.push(format!("{path}:{}: there is no `fn {test}()`", number + 1));
            }
        }
    }
    complaints
}

/// The texts between `fn ` and the next parenthesis: the names of functions.
fn functions(code: &str) -> impl Iterator<Item = &str> {
    code.split("fn ").skip(1).filter_map(|rest| rest.split_once('(')).map(|(name, _)| name)
}

/// Complaints about tests of client-go that the table of its facts does not name, neither directly nor by their file.
pub fn unnamed_tests(texts: &[Text]) -> Vec<String> {
    let text = |path: &str| texts.iter().find(|text| text.path == path).map(|it| it.text.as_str());
    let (Some(list), Some(table)) = (text(CLIENT_GO_TESTS), text(TABLES[0])) else {
        return vec![format!("{CLIENT_GO_TESTS} or {} is gone", TABLES[0])];
    };
    let named = in_brackets(table);
    let (mut complaints, mut file) = (Vec::new(), "");
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("  Test") {
            None => file = line,
            Some(test) if is_named(&named, file, test) => {}
            Some(test) => complaints.push(format!("{}: lacks {file} Test{test}", TABLES[0])),
        }
    }
    complaints
}

/// The words in parentheses.
fn in_brackets(text: &str) -> Vec<&str> {
    let brackets = text.split('(').skip(1).filter_map(|rest| rest.split_once(')'));
    brackets.flat_map(|(words, _)| words.split([',', ';', ' ', '\n'])).collect()
}

fn is_named(named: &[&str], file: &str, test: &str) -> bool {
    let file = file.rsplit_once('/').map_or(file, |(_, name)| name);
    let short = SUBJECTS.map(|subject| test.replacen(subject, "", 1));
    let is = |word: &str, name: &str| {
        let name = name.trim_start_matches('_');
        word.strip_suffix("...")
            .map_or(word == name, |begin| !begin.is_empty() && name.starts_with(begin))
    };
    let names = || short.iter().map(String::as_str).chain([test]);
    named.iter().any(|word| *word == file || names().any(|name| is(word, name)))
}

/// Whether the line is neither the head of a table nor the line below the head.
fn is_row(line: &str) -> bool {
    let first = line.strip_prefix("| ").unwrap_or("---");
    !["---", "fact |", "property |", "limit |", "try |"].iter().any(|head| first.starts_with(head))
}

/// The texts in backticks in the last column.
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
    fn a_test_of_client_go_has_its_fact() {
        let list = "# head\n\na/b_test.go\n  TestReflectorStop\n  TestStopNow\n  Test_Gone\n\nc_test.go\n  TestAny\n";
        let table = "| it stops (Stop) | `a` |\n| and more (X, c_test.go; StopN...) | `b` |\n";
        let texts = [(CLIENT_GO_TESTS, list), (TABLES[0], table)]
            .map(|(path, text)| Text { path: path.to_owned(), text: text.to_owned() });
        let expect = ["host/docs/designs/client-go-facts.md: lacks a/b_test.go Test_Gone"];
        assert_eq!(unnamed_tests(&texts), expect);
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
