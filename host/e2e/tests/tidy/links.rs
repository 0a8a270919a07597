//! Links of Markdown pages lead to existing files and headings of the repository. Links to other machines are not
//! checked.

use std::path::{Component, Path, PathBuf};

use crate::repository::Text;

/// Parts of pages that a program or a test assembles, and templates of plugin projects. They have another place in the
/// end.
const PARTS: [&str; 3] = ["/src/", "/tests/", "/template/"];

/// Complaints about links of the pages without a target. `exists` answers for paths from the root.
pub fn broken(texts: &[Text], exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let pages = || texts.iter().filter(|text| text.path.ends_with(".md"));
    let has_heading = |path: &Path, heading: &str| {
        let page = pages().find(|page| Path::new(&page.path) == path);
        page.is_some_and(|page| headings(&page.text).any(|one| one == heading))
    };
    let mut complaints = Vec::new();
    let is_whole = |page: &&Text| !PARTS.iter().any(|part| page.path.contains(part));
    for page in pages().filter(is_whole) {
        for target in targets(&page.text).filter(|target| !target.contains("://")) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = resolved(&page.path, file);
            if !exists(&path) {
                complaints.push(format!("{}: {target} is not there", page.path));
            } else if !heading.is_empty() && !has_heading(&path, heading) {
                complaints.push(format!("{}: {target} names no heading", page.path));
            }
        }
    }
    complaints
}

/// The lines outside of fenced blocks.
fn lines(page: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The texts between `](` and `)`.
pub fn targets(page: &str) -> impl Iterator<Item = &str> {
    let ends = |rest| str::split_once(rest, ')').map(|(target, _)| target);
    lines(page).flat_map(move |line| line.split("](").skip(1).filter_map(ends))
}

/// The anchors of a page's headings, as GitHub makes them.
fn headings(page: &str) -> impl Iterator<Item = String> {
    let anchor = |line: &str| {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    lines(page).filter(|line| line.starts_with('#')).map(anchor)
}

/// A link's file, from the root. A link without a file leads to the page itself.
pub fn resolved(page: &str, file: &str) -> PathBuf {
    if file.is_empty() {
        return page.into();
    }
    let mut path = Path::new(page).parent().map(Path::to_owned).unwrap_or_default();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => _ = path.pop(),
            part => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(page: &str, expect: &[&str]) {
        let text = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let texts = [text("docs/a.md", page), text("b.md", "# One\n```\n# Two\n```\n## It's `so`")];
        let complaints =
            broken(&texts, |path| ["docs/a.md", "b.md", "docs"].map(Path::new).contains(&path));
        assert_eq!(complaints, expect);
    }

    #[test]
    fn links_to_files_and_headings_are_followed() {
        check("[b](../b.md) [c](../b.md#one) [d](https://example.com/x) ![e](../docs)", &[]);
        check("# Here\n[f](#here) [g](../b.md#its-so)\n```\n[h](nowhere)\n```", &[]);
        check(
            "[i](b.md) and [j](../c/b.md)",
            &["docs/a.md: b.md is not there", "docs/a.md: ../c/b.md is not there"],
        );
        check("[k](../b.md#two)", &["docs/a.md: ../b.md#two names no heading"]);
    }
}
