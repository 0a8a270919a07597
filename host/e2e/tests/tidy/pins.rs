//! A version that several places name is the same in all of them, so that people install the tested version. A crate that
//! is in `Cargo.toml` for wasmtime's sake is in the version that wasmtime uses.

use crate::repository::Text;
use std::collections::BTreeMap;

/// The text before a version, and its tool.
const BEFORE: [(&str, &str); 3] =
    [("ziglang==", "Zig"), ("ZIG_VERSION := ", "Zig"), ("componentize-py==", "componentize-py")];

/// Crates that wasmtime uses, and whose features we choose: those of another version would be for nothing.
const ONCE: [&str; 1] = ["cranelift-codegen"];

/// Complaints about tools that are named with more than one version.
pub fn differing(texts: &[Text]) -> Vec<String> {
    let mut places = BTreeMap::<&str, BTreeMap<&str, &str>>::new();
    for text in texts {
        for (before, tool) in BEFORE {
            for after in text.text.split(before).skip(1) {
                let version = after.trim_start_matches('"');
                let end = version.find(|c: char| !c.is_ascii_digit() && c != '.');
                let version = version[..end.unwrap_or(version.len())].trim_end_matches('.');
                if !version.is_empty() {
                    places.entry(tool).or_default().entry(version).or_insert(&text.path);
                }
            }
        }
    }
    let several = places.into_iter().filter(|(_, versions)| versions.len() > 1);
    several.map(|(tool, versions)| format!("{tool} is named as {versions:?}")).collect()
}

/// Complaints about crates that `Cargo.lock` has in several versions, or not at all.
pub fn not_once(lock: &str) -> Vec<String> {
    let versions = |name: &str| {
        let line = format!("name = \"{name}\"");
        lock.lines().filter(|one| *one == line).count()
    };
    let complaint = |name: &str| match versions(name) {
        1 => None,
        0 => Some(format!("{name} is not in Cargo.lock: take it off the list")),
        _ => Some(format!("{name} has several versions: name wasmtime's in Cargo.toml")),
    };
    ONCE.into_iter().filter_map(complaint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[&str], complaints: usize) {
        let text = |text: &&str| Text { path: "a.md".to_owned(), text: (*text).to_owned() };
        let texts: Vec<Text> = texts.iter().map(text).collect();
        assert_eq!(differing(&texts).len(), complaints);
    }

    #[test]
    fn versions_that_differ_are_complained_of() {
        let zig = |version: &str| format!("pip install {}{version}` and", BEFORE[0].0);
        let (one, other) = (zig("1.2.3"), zig("1.2.4"));
        check(&[&one, &one], 0);
        check(&[&one, &other], 1);
        check(&[&one, &format!("{}1.3.0\n", BEFORE[1].0)], 1);
        check(&[&one, &zig("{VERSION}")], 0);
    }

    #[test]
    fn several_versions_are_complained_of() {
        let lock: String = ONCE.iter().map(|name| format!("name = \"{name}\"\n")).collect();
        assert_eq!(not_once(&lock), [""; 0]);
        let another = format!("name = \"{}\"\nversion = \"1.0.0\"\n", ONCE[0]);
        let complaints = not_once(&format!("{lock}{another}"));
        assert_eq!(
            complaints,
            [format!("{} has several versions: name wasmtime's in Cargo.toml", ONCE[0])]
        );
        assert_eq!(not_once("").len(), ONCE.len());
    }
}
