//! Sentences of the pages for people are short, and name the noun.

use crate::repository::Text;

/// Pages with longer sentences, and folders of such pages: records, and texts that programs assemble. The list only
/// shrinks.
const EXCEPTIONS: [&str; 6] = [
    "BENCHMARKS.md",
    "CHANGELOG.md",
    "host/bench/src/",
    "host/docs/limits.md",
    "host/runtime/src/fixed_limits/head.md",
    "plugin-sdk/reference.md",
];

/// In a longer sentence, a reader goes back to its beginning.
const WORDS_MAX: usize = 30;

/// Words that stand for a noun, from the house style. Words with another use in English are not among them.
const BANNED: [&str; 3] = ["nobody", "somebody", "told"];

/// A page with banned words beside the exceptions: a program writes it with its measurements.
const MEASURED: &str = "host/bench/LANGUAGES.md";

/// The page of `--help`. Its tables have the options.
const COMMANDS: &str = "host/docs/commands.md";

fn pages(texts: &[Text]) -> impl Iterator<Item = &Text> {
    let is_excepted = |path: &str| EXCEPTIONS.iter().any(|exception| path.starts_with(exception));
    texts.iter().filter(move |text| text.path.ends_with(".md") && !is_excepted(&text.path))
}

/// Complaints about banned words outside of code. A word in quotes is a word, and no noun.
pub fn banned_words(texts: &[Text]) -> Vec<String> {
    let complaints = pages(texts).filter(|page| page.path != MEASURED).flat_map(|page| {
        let text = without_blocks(&page.text);
        let text = without_code(&text);
        let words = text
            .split_whitespace()
            .map(|word| word.trim_end_matches(|end: char| !end.is_alphanumeric()));
        let found = words.filter(|word| BANNED.contains(&&*word.to_lowercase()));
        found.map(|word| format!("{}: the word {word}", page.path)).collect::<Vec<_>>()
    });
    complaints.collect()
}

/// A page without its blocks of code.
fn without_blocks(page: &str) -> String {
    let parts = page.split("\n```").enumerate();
    parts.map(|(place, part)| if place % 2 == 0 { part } else { "" }).collect()
}

/// Complaints about sentences with too many words, outside of code, tables and headings. On the page of commands, also
/// in tables.
pub fn long_sentences(texts: &[Text]) -> Vec<String> {
    let complaint = |page: &Text, sentence: &[String]| {
        let (words, path) = (sentence.len(), &page.path);
        format!("{path}: {words} words, more than {WORDS_MAX}: {}", sentence.join(" "))
    };
    pages(texts)
        .flat_map(|page| {
            let cells = page.text.replace(" | ", "\n\n").replace("\n|", "\n");
            let text = if page.path == COMMANDS { &cells } else { &page.text };
            let long = sentences(text).into_iter().filter(|one| one.len() > WORDS_MAX);
            long.map(|sentence| complaint(page, &sentence)).collect::<Vec<_>>()
        })
        .collect()
}

/// The sentences of a page as lists of words. Inline code is one word.
fn sentences(page: &str) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    for paragraph in paragraphs(page) {
        found.push(Vec::new());
        for word in without_code(&paragraph).split_whitespace() {
            let sentence = found.last_mut().expect("one was begun");
            if word.chars().any(char::is_alphanumeric) {
                sentence.push(word.to_owned());
            }
            if word.ends_with(['.', '!', '?', ':']) {
                found.push(Vec::new());
            }
        }
    }
    found
}

/// Paragraphs and items of lists, each on one line.
fn paragraphs(page: &str) -> Vec<String> {
    let (mut found, mut is_code) = (vec![String::new()], false);
    for line in page.lines().map(str::trim) {
        is_code ^= line.starts_with("```");
        let is_prose = !is_code && !line.starts_with(['|', '#', '`']);
        let begins = line.is_empty() || !is_prose || line.starts_with("- ") || is_numbered(line);
        if begins {
            found.push(String::new());
        }
        if is_prose {
            let paragraph = found.last_mut().expect("one was begun");
            *paragraph += line;
            paragraph.push(' ');
        }
    }
    found
}

fn is_numbered(line: &str) -> bool {
    line.split_once(". ").is_some_and(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()))
}

fn without_code(paragraph: &str) -> String {
    let parts = paragraph.split('`').enumerate();
    parts.map(|(place, part)| if place % 2 == 0 { part } else { "code" }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_at(path: &str, page: &str, complaints: usize) {
        let text = Text { path: path.to_owned(), text: page.to_owned() };
        let found = long_sentences(&[text]);
        assert_eq!(found.len(), complaints, "{page}: {found:?}");
    }

    #[track_caller]
    fn check(page: &str, complaints: usize) {
        check_at("docs/page.md", page, complaints);
    }

    #[test]
    fn pages_are_looked_at_but_for_exceptions() {
        let long = "word ".repeat(WORDS_MAX + 1);
        check_at("README.md", &long, 1);
        check_at("CHANGELOG.md", &long, 0);
        check_at("host/bench/src/parts/call.md", &long, 0);
        check_at("host/cache/src/lib.rs", &long, 0);
    }

    #[test]
    fn words_in_place_of_a_noun_are_complained_of() {
        let check = |page: &str, expect: &[&str]| {
            let text = Text { path: "docs/page.md".to_owned(), text: page.to_owned() };
            assert_eq!(banned_words(&[text]), expect, "{page}");
        };
        check("It is told.", &["docs/page.md: the word told"]);
        check("It is `told` or \"told\".\n```\ntold\n```\n", &[]);
    }

    #[test]
    fn cells_of_options_are_sentences() {
        let row = format!("| `--a` | {} | {} |", "word ".repeat(20), "word ".repeat(31));
        check_at(COMMANDS, &format!("text\n{row}\n"), 1);
        check(&row, 0);
    }

    #[test]
    fn long_sentence_is_complained_of() {
        let words = |count: usize| "word ".repeat(count);
        check(&words(WORDS_MAX), 0);
        check(&words(WORDS_MAX + 1), 1);
        check(&format!("{}. {}", words(20).trim(), words(20)), 0);
        check(&format!("- {}\n- {}\n\n1. {}", words(20), words(20), words(20)), 0);
        check(&format!("{}\n  {}", words(20), words(20)), 1);
        check(&format!("`{}` {}", words(20), words(20)), 0);
        check(&format!("```\n{}\n```\n| {} |\n# {}", words(40), words(40), words(40)), 0);
    }
}
