//! The book is complete. Its summary contains each page of `host/docs` once, and each page that a page of the book
//! links to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::links::{resolved, targets};
use crate::repository::Text;

/// The order of the pages.
const SUMMARY: &str = "host/docs/SUMMARY.md";
/// All pages in this folder are pages of the book.
const FOLDER: &str = "host/docs/";

/// Complaints about pages that the summary lacks or contains twice.
pub fn complaints(texts: &[Text]) -> Vec<String> {
    let Some(summary) = texts.iter().find(|text| text.path == SUMMARY) else {
        return vec![format!("{SUMMARY} is gone")];
    };
    let mut complaints = Vec::new();
    let mut pages = BTreeSet::new();
    for page in linked(summary) {
        if !pages.insert(page.clone()) {
            complaints.push(format!("{SUMMARY}: {} is there twice", page.display()));
        }
    }
    let is_page = |text: &Text| text.path.ends_with(".md") && text.path != SUMMARY;
    for text in texts.iter().filter(|text| is_page(text)) {
        let is_in_book = pages.contains(&PathBuf::from(&text.path));
        if text.path.starts_with(FOLDER) && !is_in_book {
            complaints.push(format!("{SUMMARY}: {} is missing", text.path));
        }
        let is_outside =
            |page: &PathBuf| !pages.contains(page) && page.as_path() != Path::new(SUMMARY);
        let outside = linked(text).into_iter().filter(|page| is_in_book && is_outside(page));
        let complaint = |page: PathBuf| {
            format!("{SUMMARY}: {} is missing, and {} links to it", page.display(), text.path)
        };
        complaints.extend(outside.map(complaint));
    }
    complaints
}

/// The pages that a page links to, from the root.
fn linked(page: &Text) -> Vec<PathBuf> {
    let files = targets(&page.text).filter(|target| !target.contains("://"));
    let files = files.map(|target| target.split('#').next().unwrap_or_default());
    let pages = files.filter(|file| file.ends_with(".md"));
    pages.map(|file| resolved(&page.path, file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_repeated_pages_are_complained_of() {
        let text = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let texts = [
            text(SUMMARY, "- [A](a.md)\n- [R](../../README.md)\n- [A](a.md)"),
            text("host/docs/a.md", "[b](../../b.md#x) [c](a.md) [d](a.rs) [e](https://x/y.md)"),
            text("host/docs/designs/f.md", ""),
            text("README.md", ""),
            text("b.md", "[g](g.md)"),
        ];
        let expect = [
            "host/docs/SUMMARY.md: host/docs/a.md is there twice",
            "host/docs/SUMMARY.md: b.md is missing, and host/docs/a.md links to it",
            "host/docs/SUMMARY.md: host/docs/designs/f.md is missing",
        ];
        assert_eq!(complaints(&texts), expect);
    }
}
