//! Names and words: the allowed places of some names, and words that must not stay behind.

use crate::repository::{Source, Text};
use crate::sizes::{is_test, without_tests};

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
            // The re-export.
            "host/cache/src/lib.rs",
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
            let mut lines = lines_that_name(&source.code, name);
            lines.dedup();
            let complaint = |line| {
                let places = places.join(", ");
                format!("{}:{line}: {name} is named in {places} only", source.path)
            };
            complaints.extend(lines.into_iter().map(complaint));
        }
    }
    complaints
}

/// Complaints about channels without a bound. Invariant 19.
pub fn unbounded_channels(sources: &[Source], allowed: &[(&str, usize)]) -> Vec<String> {
    let is_product = |path: &str| path.contains("/src/") && !is_test(path);
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| is_product(&source.path)) {
        let lines = without_tests(&source.code).lines().enumerate();
        let of_source = lines.filter(|(_, line)| makes_unbounded_channel(line));
        found.extend(of_source.map(|(number, _)| (source.path.as_str(), number + 1)));
    }
    let of = |path: &str| found.iter().filter(|(found, _)| *found == path).count();
    let is_allowed = |path: &str| allowed.contains(&(path, of(path)));
    let mut complaints = Vec::new();
    for (path, line) in found.iter().filter(|(path, _)| !is_allowed(path)) {
        complaints.push(format!("{path}:{line}: a channel without a bound"));
    }
    for (path, count) in allowed.iter().filter(|(path, count)| of(path) < *count) {
        complaints.push(format!("{path} has no {count} channels without a bound any more"));
    }
    complaints
}

/// `unbounded_channel`, `unbounded()`, and the standard library's `channel()`, which takes no bound; a `oneshot` channel needs none.
fn makes_unbounded_channel(line: &str) -> bool {
    let is_call = |name: &str, (at, _): (usize, &str)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        let arguments = match after.strip_prefix("::<") {
            Some(types) => types.rsplit_once(">(").map_or("", |(_, arguments)| arguments),
            None => after.strip_prefix('(').unwrap_or_default(),
        };
        !before.ends_with(is_word) && !before.ends_with("oneshot::") && arguments.starts_with(')')
    };
    line.contains("unbounded_channel")
        || ["channel", "unbounded"]
            .iter()
            .any(|name| line.match_indices(name).any(|found| is_call(name, found)))
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Numbers of the lines with `kube::Client`, `use kube;` or `use {kube}`, but not with `kube_core::`, `self.kube` or `mod kube`.
fn lines_that_name(code: &str, name: &str) -> Vec<usize> {
    let names_crate = |at: usize| {
        let before = &code[..at];
        let after = &code[at + name.len()..];
        let begins = !before.ends_with(is_word) && !before.ends_with(['.', ':']);
        let before = before.trim_end();
        let used = after.starts_with("::") || before.ends_with("use") || is_in_use_list(before);
        begins && used && !after.starts_with(is_word)
    };
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    code.match_indices(name).filter(|(at, _)| names_crate(*at)).map(|(at, _)| line(at)).collect()
}

/// Whether a crate's name follows: `use {` or `use {a, b::{c}, `.
fn is_in_use_list(before: &str) -> bool {
    let list = before.rsplit_once("use {").map(|(_, list)| list);
    list.is_some_and(|list| {
        let is_open = list.matches('{').count() == list.matches('}').count();
        is_open && !list.contains(';') && (list.is_empty() || list.ends_with(','))
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

/// Where `make slow-tests` and `make projects` look for ignored tests.
const IGNORED_ARE_RUN: &str = "host/e2e/tests/it/";

/// Complaints about ignored tests without a reason, and about those that no target runs.
pub fn ignored_tests(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for Source { path, code } in sources {
        let lines = code.lines().enumerate();
        for (number, line) in lines.filter(|(_, line)| line.trim_start().starts_with("#[ignore")) {
            let place = format!("{path}:{}", number + 1);
            if !line.contains('=') {
                complaints.push(format!("{place}: an ignored test without a reason"));
            }
            if !path.starts_with(IGNORED_ARE_RUN) {
                complaints.push(format!("{place}: no target runs a test that is ignored here"));
            }
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
        for list in ["pub use {bytes, kube};", "use {\n    bytes::{self},\n    kube as a,\n};"] {
            assert_eq!(heavy_uses(&[source(file, list)]).len(), 1, "{list}");
        }
        assert_eq!(heavy_uses(&[source(file, "use a::{kube};\nlet b = {kube};")]), [""; 0]);
    }

    #[test]
    fn channel_without_a_bound_is_complained_of() {
        let file = "host/a/src/b.rs";
        let count = |path: &str, text: &str| unbounded_channels(&[source(path, text)], &[]).len();
        for made in [
            "mpsc::unbounded_channel()",
            "mpsc::channel()",
            "mpsc::channel::<Vec<()>>()",
            "unbounded()",
        ] {
            assert_eq!(count(file, made), 1, "{made}");
            assert_eq!(count("host/a/src/b/tests.rs", made), 0, "{made}");
            assert_eq!(count(file, &format!("\n#[cfg(test)]\nmod tests {{ {made} }}")), 0);
        }
        for made in [
            "mpsc::channel(1)",
            "mpsc::channel::<()>(f())",
            "oneshot::channel()",
            "beyond_unbounded()",
        ] {
            assert_eq!(count(file, made), 0, "{made}");
        }
    }

    #[test]
    fn channel_without_a_bound_is_allowed_as_often_as_it_is_there() {
        let count = |text, allowed| {
            let file = "host/a/src/b.rs";
            unbounded_channels(&[source(file, text)], &[(file, allowed)]).len()
        };
        assert_eq!(count("channel()", 1), 0);
        assert_eq!(count("channel()\nchannel()", 1), 2);
        assert_eq!(count("", 1), 1);
    }

    #[test]
    fn grab_bag_is_complained_of() {
        let files =
            ["host/cache/src/utils.rs", "host/cache/src/common/a.rs", "host/cache/src/a.rs"];
        let complaints = grab_bags(&files.map(|path| source(path, "")));
        assert_eq!(complaints.len(), 2, "{complaints:?}");
    }

    #[test]
    fn ignored_test_needs_a_reason_and_a_target_that_runs_it() {
        let text =
            "#[test]\n#[ignore = \"takes a minute\"]\nfn a() {}\n#[test]\n#[ignore]\nfn b() {}";
        let check = |path: &str, expect: &[&str]| {
            assert_eq!(ignored_tests(&[source(path, text)]), expect, "{path}");
        };
        check(
            "host/e2e/tests/it/host.rs",
            &["host/e2e/tests/it/host.rs:5: an ignored test without a reason"],
        );
        check(
            "host/cache/src/a.rs",
            &[
                "host/cache/src/a.rs:2: no target runs a test that is ignored here",
                "host/cache/src/a.rs:5: an ignored test without a reason",
                "host/cache/src/a.rs:5: no target runs a test that is ignored here",
            ],
        );
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
