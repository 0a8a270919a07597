//! The invariants of ARCHITECTURE have addresses: the code that upholds an invariant names it, and so does a test that
//! fails without it.

use std::collections::{BTreeMap, BTreeSet};

use crate::repository::Text;

/// The page with the invariants.
const PAGE: &str = "ARCHITECTURE.md";
/// The largest number of lines between the name of an invariant and the attribute of its test.
const TEST_WITHIN: usize = 8;

/// The places that name an invariant.
#[derive(Default)]
struct Named {
    by_code: bool,
    by_test: bool,
}

/// Complaints about invariants that are not numbered in order, about those that no code or no test names, and about
/// names of missing invariants. `untested` are the invariants that no test names yet.
pub fn complaints(texts: &[Text], untested: &[u32]) -> Vec<String> {
    let Some(page) = texts.iter().find(|text| text.path == PAGE) else {
        return vec![format!("{PAGE} is gone")];
    };
    let stated: Vec<u32> = numbers_after(&page.text, "**Invariant ");
    let mut complaints = Vec::new();
    let in_turn: Vec<u32> = (1..).take(stated.len()).collect();
    if stated != in_turn {
        complaints.push(format!("{PAGE}: invariants are numbered {stated:?}"));
    }
    let mut named = BTreeMap::<u32, Named>::new();
    for text in texts.iter().filter(|text| is_looked_at(&text.path)) {
        collect(&text.text, &mut named);
    }
    let stated: BTreeSet<u32> = stated.into_iter().collect();
    for number in named.keys().filter(|number| !stated.contains(number)) {
        complaints.push(format!("invariant {number} is named, and {PAGE} has none"));
    }
    for number in &stated {
        let Named { by_code, by_test } = named.remove(number).unwrap_or_default();
        if !by_code {
            complaints.push(format!("invariant {number}: no code names it"));
        }
        match (by_test, untested.contains(number)) {
            (false, false) => complaints.push(format!("invariant {number}: no test names it")),
            (true, true) => complaints.push(format!("invariant {number} has its test now")),
            _ => {}
        }
    }
    complaints
}

fn is_looked_at(path: &str) -> bool {
    path.ends_with(".rs") && !path.ends_with("tidy/invariants.rs")
}

fn collect(text: &str, named: &mut BTreeMap<u32, Named>) {
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.contains("//")) {
        let numbers = [numbers_after(line, "Invariant "), numbers_after(line, "Invariants ")];
        let next = lines[at..].iter().take(TEST_WITHIN).map(|line| line.trim_start());
        let mut rest = next.skip_while(|line| line.starts_with("//"));
        let is_test = rest
            .next()
            .is_some_and(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
        for number in numbers.into_iter().flatten() {
            let named = named.entry(number).or_default();
            if is_test { named.by_test = true } else { named.by_code = true }
        }
    }
}

/// The numbers after each of these words: `7`, `7 and 9`, or `7, 9 and 12`.
fn numbers_after(text: &str, word: &str) -> Vec<u32> {
    let lists = text.split(word).skip(1);
    let list = |list: &str| {
        let end = list.find(|char: char| !(char.is_ascii_digit() || ", and".contains(char)));
        let words: Vec<String> = list[..end.unwrap_or(list.len())]
            .split(|char: char| !char.is_ascii_digit())
            .map(str::to_owned)
            .collect();
        words.into_iter().filter_map(|number| number.parse().ok()).collect::<Vec<u32>>()
    };
    lists.flat_map(list).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(page: &str, source: &str, untested: &[u32], expect: &[&str]) {
        let text = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let texts = [text(PAGE, page), text("host/cache/src/a.rs", source)];
        assert_eq!(complaints(&texts, untested), expect, "{source}");
    }

    #[test]
    fn each_invariant_is_named_by_code_and_by_a_test() {
        let page = "- **Invariant 1:** a\n- **Invariant 2:** b\n";
        let code = "// Invariants 1 and 2.\nlet a = 1;\n";
        let test = "/// It holds. Invariants 1 and 2.\n#[test]\nfn it_holds() {}\n";
        check(page, &format!("{code}{test}"), &[], &[]);
        let no_test = ["invariant 1: no test names it", "invariant 2: no test names it"];
        check(page, code, &[], &no_test);
        check(page, code, &[1, 2], &[]);
        check(page, &format!("{code}{test}"), &[2], &["invariant 2 has its test now"]);
        let no_code = ["invariant 1: no code names it", "invariant 2: no code names it"];
        check(page, test, &[], &no_code);
        let other = "// Invariant 7.\n";
        let unknown = ["invariant 7 is named, and ARCHITECTURE.md has none"];
        check(page, &format!("{code}{test}{other}"), &[], &unknown);
    }

    #[test]
    fn invariants_are_numbered_in_turn() {
        let source = "// Invariants 1, 2 and 3.\n\n/// Invariants 1, 2 and 3.\n#[tokio::test]\n";
        let page = "**Invariant 1:** a **Invariant 3:** b **Invariant 2:** c";
        check(page, source, &[], &["ARCHITECTURE.md: invariants are numbered [1, 3, 2]"]);
    }
}
