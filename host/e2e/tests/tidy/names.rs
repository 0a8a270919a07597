//! Names and words: the allowed places of some names, and words that must not stay behind.

use crate::repository::{Source, Text};

/// A crate's name in code, and the places that may use it. Invariant 33.
const HEAVY: &[(&str, &[&str])] = &[
    ("wasmtime", &["host/runtime/"]),
    // The cache may use kube's client only here. It could use the traits of kube's core elsewhere, but does not need
    // to.
    (
        "kube",
        &[
            "host/cache/src/apiserver.rs",
            "host/cache/src/apiserver/",
            "host/cache/examples/",
            "host/simulation/",
            "host/informant/",
            "host/e2e/",
            "host/bench/comparators/kube-rs/",
            // Plugins write through the SDK's module with this name. `dependencies.rs` checks that they do not depend
            // on the client.
            "plugins/",
            "examples/",
        ],
    ),
    ("anyhow", &["host/cache/examples/", "host/informant/", "host/e2e/", "host/bench/"]),
];

/// Names of modules without a subject.
const GRAB_BAGS: &[&str] = &["utils", "util", "common", "helpers", "misc"];

/// Complaints about code that names a heavy crate outside of its place.
pub fn heavy_uses(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        for (name, places) in HEAVY {
            let allowed = places.iter().any(|place| source.path.starts_with(place));
            if allowed || source.path.contains("/tests/") {
                continue;
            }
            let named = |line: &str| names_crate(line, name);
            let lines = source.code.lines().enumerate().filter(|(_, line)| named(line));
            let complaint = |(number, _): (usize, &str)| {
                let places = places.join(", ");
                format!("{}:{}: {name} is named in {places} only", source.path, number + 1)
            };
            complaints.extend(lines.map(complaint));
        }
    }
    complaints
}

/// Complaints about channels without a bound. Invariant 19.
pub fn unbounded_channels(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    let is_product = |path: &str| path.contains("/src/") && !path.ends_with("tests.rs");
    for source in sources.iter().filter(|source| is_product(&source.path)) {
        let lines = source.code.lines().enumerate();
        for (number, _) in lines.filter(|(_, line)| line.contains("unbounded_channel")) {
            complaints.push(format!("{}:{}: a channel without a bound", source.path, number + 1));
        }
    }
    complaints
}

/// `kube::Client` and `use kube;`, but not `kube_core::`, `self.kube` or `mod kube`.
fn names_crate(line: &str, name: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(name).any(|(at, _)| {
        let before = &line[..at];
        let after = &line[at + name.len()..];
        let begins = !before.ends_with(is_word) && !before.ends_with(['.', ':']);
        let used = after.starts_with("::") || before.trim_end().ends_with("use");
        begins && used && !after.starts_with(is_word)
    })
}

/// Complaints about modules without a subject in their name.
pub fn grab_bags(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let parts = source.path.trim_end_matches(".rs").split('/');
        let in_crate = parts.skip_while(|part| *part != "src" && *part != "tests");
        for part in in_crate.filter(|part| GRAB_BAGS.contains(part)) {
            complaints.push(format!("{}: `{part}` says nothing of what is in it", source.path));
        }
    }
    complaints
}

/// Complaints about words that mean "later" without a person's name, and about paths that exist on one machine only.
pub fn leftovers(texts: &[Text]) -> Vec<String> {
    // In pieces, so that this file does not match itself.
    let later = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];
    let places = [concat!("../sha", "red"), concat!("/wo", "rk/"), concat!("/ho", "me/")];
    let mut complaints = Vec::new();
    for text in texts {
        for (number, line) in text.text.lines().enumerate() {
            let place = format!("{}:{}", text.path, number + 1);
            for word in later {
                let unowned = |(at, _): (usize, &str)| !line[at + word.len()..].starts_with('(');
                if line.match_indices(word).any(unowned) {
                    complaints.push(format!("{place}: {word} without an owner in parentheses"));
                }
            }
            for one in places.iter().filter(|one| line.contains(**one)) {
                complaints.push(format!("{place}: {one} is a place on one machine only"));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), code: crate::code::blank(text) }
    }

    #[test]
    fn heavy_crate_is_complained_of_outside_its_place() {
        let text =
            "use kube::Client;\n// kube::Client\nlet a = self.kube::<u8>();\nuse kube_core::x;";
        let file = "host/cache/src/reflector.rs";
        assert_eq!(heavy_uses(&[source("host/cache/src/apiserver.rs", text)]), [""; 0]);
        let complaints = heavy_uses(&[source(file, text)]);
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].starts_with(&format!("{file}:1: kube")), "{complaints:?}");
        let path = source("host/informant/src/main.rs", "fn f() -> ::wasmtime::Engine {}");
        assert_eq!(heavy_uses(&[path]), [""; 0], "a leading `::` is not looked at");
        assert_eq!(heavy_uses(&[source(file, "fn f(e: &wasmtime::Engine) {}")]).len(), 1);
    }

    #[test]
    fn channel_without_a_bound_is_complained_of() {
        let text = "let (a, b) = mpsc::unbounded_channel();";
        for (path, count) in [("host/a/src/b.rs", 1), ("host/a/src/b/tests.rs", 0)] {
            assert_eq!(unbounded_channels(&[source(path, text)]).len(), count, "{path}");
        }
        assert_eq!(unbounded_channels(&[source("host/a/src/b.rs", "mpsc::channel(1)")]), [""; 0]);
    }

    #[test]
    fn grab_bag_is_complained_of() {
        let files =
            ["host/cache/src/utils.rs", "host/cache/src/common/a.rs", "host/cache/src/a.rs"];
        let complaints = grab_bags(&files.map(|path| source(path, "")));
        assert_eq!(complaints.len(), 2, "{complaints:?}");
    }

    #[test]
    fn leftover_is_complained_of_unless_it_is_owned() {
        let word = concat!("TO", "DO");
        let text =
            format!("{word}: later\n{word}(ada): soon\nsee {}x.md\n", concat!("../sha", "red/"));
        let complaints = leftovers(&[Text { path: "a.md".to_owned(), text }]);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
        assert!(complaints[0].starts_with("a.md:1:") && complaints[1].starts_with("a.md:3:"));
    }
}
