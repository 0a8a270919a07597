//! The book's commands work unchanged, and tests run all commands of all pages.

use informant_e2e::skip;

use crate::host::bench::host_fact;
use crate::host::commands::{NOT_RUN, Place, page, steps};

const SUMMARY: &str = "host/docs/SUMMARY.md";

/// Pages whose commands this file runs.
const HERE: [&str; 8] = [
    "host/docs/tutorial.md",
    "host/docs/controllers.md",
    "host/docs/timers.md",
    "host/docs/testing.md",
    "host/docs/grants.md",
    "host/docs/operating.md",
    "host/docs/upgrading.md",
    "host/docs/security.md",
];

/// Pages with commands that need a clone, a tool or a file of the reader, each with the test that covers them. The
/// list only shrinks.
const ELSEWHERE: [(&str, &str); 8] = [
    ("README.md", "`host::readme`; its other commands compile the repository"),
    ("host/docs/http-api.md", "`host::http`: such requests"),
    ("plugin-sdk/", "`host::projects`, and the parser of the command line"),
    ("examples/", "make test compiles and tests them"),
    ("plugins/", "`host::shipped`"),
    ("host/cache/README.md", "`cache_examples`"),
    ("CONTRIBUTING.md", "CI"),
    ("host/bench/", "CI, with tiny sizes"),
];

/// The pages of the book, from the repository's root.
fn pages() -> Vec<String> {
    let summary = page(SUMMARY);
    let links = summary.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let from_root = |link: &str| match link.strip_prefix("../../") {
        Some(path) => path.to_owned(),
        None => match link.strip_prefix("../") {
            Some(path) => format!("host/{path}"),
            None => format!("host/docs/{link}"),
        },
    };
    links.map(|(link, _)| from_root(link)).collect()
}

#[test]
fn every_page_with_commands_has_its_test() {
    let is_elsewhere = |page: &str| ELSEWHERE.iter().any(|(path, _)| page.starts_with(path));
    let pages = pages();
    assert!(HERE.iter().all(|here| pages.iter().any(|page| page == here)), "{pages:?}");
    for path in pages {
        let commands = steps(&page(&path)).into_iter().any(|step| step.is_command());
        let is_run = HERE.contains(&&*path) || is_elsewhere(&path);
        assert!(!commands || is_run, "{path} has commands that no test runs");
    }
}

/// Reasons that a host shows for a plugin, and the files below `host/` that create them.
const REASONS: [(&str, &[&str]); 11] = [
    (
        "runtime/src/plugin/status/why.rs",
        &[
            "paused until",
            "new version not loaded",
            "being retried",
            "given up",
            "dead letter",
            "behind by",
        ],
    ),
    ("runtime/src/delivery/not_now.rs", &["rateLimit", "workqueue"]),
    ("informant/src/http/plugins.rs", &["nothing is kept on the disk now"]),
    ("runtime/src/contract/configuration/rules.rs", &["which is not granted"]),
    (
        "runtime/src/contract/configuration/ineffective.rs",
        &["grants beside the plugin that are not in force"],
    ),
    (
        "runtime/src/powers/restriction.rs",
        &["its configuration has changed, and no version has taken over with it"],
    ),
    ("runtime/src/plugin_host/standby.rs", &["is ready and on standby"]),
    ("runtime/src/call_error.rs", &["trap: ", "the deadline of", "of memory were asked for"]),
    ("runtime/src/delivery/breaker.rs", &["calls failed", "instances ended one after another"]),
    (
        "runtime/src/contract/component.rs",
        &[
            "not a WebAssembly file",
            "the file is damaged or incomplete",
            "made for contract",
            "does not export",
        ],
    ),
    ("runtime/src/account/held.rs", &["of the host's memory"]),
];

#[test]
fn reasons_have_their_remedies() {
    let remedies = page("host/docs/operating.md");
    for (file, reasons) in REASONS {
        let source = page(&format!("host/{file}"));
        for reason in reasons {
            assert!(source.contains(reason), "{file} has no reason {reason} any more");
            assert!(remedies.contains(reason), "there is no remedy for {reason}");
        }
    }
}

#[test]
fn few_blocks_of_commands_are_not_run() {
    let blocks = |path: &String| page(path).matches(NOT_RUN).count();
    assert_eq!(pages().iter().map(blocks).sum::<usize>(), 1);
}

/// Checks the chapter on controllers against its example.
#[test]
fn code_of_controllers_is_that_of_the_example() {
    let (chapter, example) =
        (page("host/docs/controllers.md"), page("examples/replica-watcher/src/lib.rs"));
    let blocks: Vec<&str> = chapter.split("\n```rust\n").skip(1).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let (code, _) = block.split_once("\n```").expect("the end of a block");
        assert!(example.contains(code), "{code}");
    }
}

/// Makes a project, and has cargo fetch its dependencies.
const FETCH: &str = "informant plugin new probe --lang rust && cd probe && cargo fetch --target wasm32-unknown-unknown";

/// Runs a page's commands. `needs` is a command that fails if a tool that the page needs is missing.
#[track_caller]
fn check(path: &str, needs: Option<&str>) {
    host_fact(async |bench| {
        let place = Place::new(&bench);
        if needs.is_some_and(|needs| !place.outcome(needs).0) {
            return skip::say(&format!("{path} needs what is missing: cargo reaches no registry"));
        }
        let commands = place.carry_out(&steps(&page(path))).await;
        assert!(commands > 0, "{path}");
    });
}

#[test]
fn tutorial_runs_as_it_stands() {
    check("host/docs/tutorial.md", Some(FETCH));
}

#[test]
fn controllers_run_as_they_stand() {
    check("host/docs/controllers.md", None);
}

#[test]
fn timers_run_as_they_stand() {
    check("host/docs/timers.md", None);
}

#[test]
fn testing_runs_as_it_stands() {
    check("host/docs/testing.md", None);
}

#[test]
fn grants_run_as_they_stand() {
    check("host/docs/grants.md", None);
}

#[test]
fn operating_runs_as_it_stands() {
    check("host/docs/operating.md", None);
}

#[test]
fn upgrading_runs_as_it_stands() {
    check("host/docs/upgrading.md", None);
}

#[test]
fn security_runs_as_it_stands() {
    check("host/docs/security.md", None);
}
