//! House rules that a program can check. Each rule is a pure function from the repository's content to a list of
//! complaints, with tests on small samples beside it. The tests here apply the rules to the repository.

mod allowed;
mod bindings;
mod book;
mod code;
mod cycles;
mod dependencies;
mod facts;
mod guests;
mod invariants;
mod links;
mod makefile;
mod modules;
mod names;
mod pins;
mod prose;
mod repository;
mod sizes;
mod type_names;

use informant_e2e::paths;
use repository::Repository;

#[track_caller]
fn check(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn crates_depend_downwards_only() {
    check(dependencies::direction(&repository::packages()));
}

/// Invariant 33.
#[test]
fn heavy_dependencies_stay_behind_their_crate() {
    check(dependencies::heavy(&repository::packages()));
}

/// Invariant 33.
#[test]
fn heavy_dependencies_stay_behind_their_file() {
    check(names::heavy_uses(&Repository::read().sources));
}

#[test]
fn modules_use_each_other_in_one_direction() {
    let crates = modules::crates(&Repository::read().texts);
    check(cycles::complaints(&crates, allowed::CYCLES));
}

#[test]
fn files_and_functions_fit() {
    check(sizes::complaints(&Repository::read().sources, allowed::FILES, allowed::FUNCTIONS));
}

#[test]
fn type_names_are_unique_in_a_crate() {
    let crates = modules::crates(&Repository::read().texts);
    check(type_names::complaints(&crates, allowed::TYPE_NAMES));
}

/// Invariant 19.
#[test]
fn channels_have_a_bound() {
    check(names::unbounded_channels(&Repository::read().sources, allowed::CHANNELS));
}

#[test]
fn no_grab_bags() {
    check(names::grab_bags(&Repository::read().sources));
}

#[test]
fn ignored_tests_have_a_reason_and_are_run() {
    check(names::ignored_tests(&Repository::read().sources));
}

#[test]
fn no_unowned_leftovers() {
    check(names::leftovers(&Repository::read().texts));
}

#[test]
fn every_fact_of_a_table_has_its_test() {
    let Repository { texts, sources } = Repository::read();
    let complaints = |path| facts::missing_tests(path, texts, sources);
    check(facts::TABLES.into_iter().flat_map(complaints).collect());
}

#[test]
fn every_test_of_client_go_has_its_fact() {
    check(facts::unnamed_tests(&Repository::read().texts));
}

#[test]
fn invariants_have_addresses() {
    check(invariants::complaints(&Repository::read().texts, allowed::UNTESTED_INVARIANTS));
}

#[test]
fn attackers_try_enough() {
    check(facts::too_few_tries(&Repository::read().texts).into_iter().collect());
}

#[test]
fn every_test_guest_has_its_test() {
    let tests =
        concat!(include_str!("../it/host/misbehaving.rs"), include_str!("../it/host/storm.rs"));
    check(guests::without_test(&repository::test_guests(), tests));
}

#[test]
fn a_tool_has_one_version_everywhere() {
    check(pins::differing(&Repository::read().texts));
}

#[test]
fn crates_of_wasmtime_have_one_version() {
    let lock = std::fs::read_to_string(paths::root().join("Cargo.lock"));
    check(pins::not_once(&lock.expect("Cargo.lock")));
}

#[test]
fn bindings_are_of_the_contract() {
    check(bindings::stale(&Repository::read().texts).into_iter().collect());
}

#[test]
fn targets_that_compile_bring_the_toolchain() {
    check(makefile::without_toolchain(&makefile::read()));
}

#[test]
fn declared_targets_have_a_rule() {
    check(makefile::without_rule(&makefile::read()));
}

#[test]
fn links_lead_somewhere() {
    let exists = |path: &std::path::Path| paths::root().join(path).exists();
    check(links::broken(&Repository::read().texts, exists));
}

#[test]
fn the_book_has_every_page() {
    check(book::complaints(&Repository::read().texts));
}

#[test]
fn pages_name_the_noun() {
    check(prose::banned_words(&Repository::read().texts));
}

#[test]
fn pages_have_short_sentences() {
    check(prose::long_sentences(&Repository::read().texts));
}
