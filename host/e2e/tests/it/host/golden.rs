//! Golden plugins (`plugins/golden`): files that were built for a version of the contract at its release. This host
//! runs them unchanged. Their transcripts are equal line by line, in every language.

use std::path::{Path, PathBuf};

use informant_e2e::{host, paths, skip};

/// The name of each language's plugins, with their transcript. Plugins with an SDK use the whole contract; the one in
/// text uses what can be written by hand.
const LANGUAGES: [(&str, &str); 8] = [
    ("rust", EVERYTHING),
    ("go", EVERYTHING),
    ("js", EVERYTHING),
    ("python", EVERYTHING),
    ("c", EVERYTHING),
    ("zig", EVERYTHING),
    ("assemblyscript", EVERYTHING),
    ("wat", BY_HAND),
];
const EVERYTHING: &str = "everything.golden";
const BY_HAND: &str = "by-hand.golden";

/// More than any plugin file has after unpacking. A larger file is damaged.
const FILE_BYTES_MAX: usize = 64 << 20;

/// Requests that transcripts are written again, as for all snapshots.
const UPDATE_VARIABLE: &str = "UPDATE_EXPECT";

/// A folder for each version of the contract that was released, or will be next.
fn versions() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(paths::root().join("plugins/golden")).expect("a folder");
    let folders = entries.map(|entry| entry.expect("an entry").path());
    let is_version = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        path.is_dir() && name.starts_with(|first: char| first.is_ascii_digit())
    };
    folders.filter(is_version).collect()
}

pub fn unpacked(file: &Path) -> Vec<u8> {
    let packed = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut bytes = Vec::with_capacity(FILE_BYTES_MAX);
    let unpacked = zstd_safe::decompress(&mut bytes, &packed);
    unpacked
        .unwrap_or_else(|code| panic!("{}: {}", file.display(), zstd_safe::get_error_name(code)));
    bytes
}

/// The program's output for this plugin as `golden`. `None` if the program is not built.
fn said(plugin: &[u8], command: &[&str], more: &[String]) -> Option<(bool, String)> {
    let Some(program) = host::program().expect("the program that is named exists") else {
        skip::say("target/debug/informant is not built; `cargo build -p informant` builds it");
        return None;
    };
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("golden.wasm");
    std::fs::write(&file, plugin).expect("a file");
    let file = file.display().to_string();
    let more = more.iter().map(String::as_str);
    let arguments: Vec<&str> = command.iter().copied().chain([file.as_str()]).chain(more).collect();
    let output = host::run_to_end(&program, &arguments).expect("it runs to its end");
    let text = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8(text).expect("it is text")))
}

/// Checks the transcripts of the plugins in this language, of all versions that have one.
#[track_caller]
fn check(language: &str) {
    let (_, transcript) =
        LANGUAGES.into_iter().find(|(name, _)| *name == language).expect("it is known");
    for version in versions() {
        let file = version.join(format!("{language}.wasm.zst"));
        let shown = |name: &str| version.join(name).display().to_string();
        let mut more = vec!["--objects".to_owned(), shown("cluster")];
        more.extend(["--events".to_owned(), shown("events.jsonl")]);
        more.extend(["--config".to_owned(), shown("host.yaml")]);
        more.extend(["--golden".to_owned(), shown(transcript)]);
        if std::env::var_os(UPDATE_VARIABLE).is_some() {
            more.push("--update".to_owned());
        }
        let Some((success, text)) = said(&unpacked(&file), &["plugin", "test"], &more) else {
            return;
        };
        assert!(success, "{}: {text}", file.display());
    }
}

#[test]
fn plugins_in_rust_do_what_they_did() {
    check("rust");
}

#[test]
fn plugins_in_go_do_what_they_did() {
    check("go");
}

#[test]
fn plugins_in_js_do_what_they_did() {
    check("js");
}

#[test]
#[ignore = "takes half a minute to compile: `make slow-tests`"]
fn plugins_in_python_do_what_they_did() {
    check("python");
}

#[test]
fn plugins_in_c_do_what_they_did() {
    check("c");
}

#[test]
fn plugins_in_zig_do_what_they_did() {
    check("zig");
}

#[test]
fn plugins_in_assemblyscript_do_what_they_did() {
    check("assemblyscript");
}

#[test]
fn plugins_in_text_do_what_they_did() {
    check("wat");
}

/// The contract of this host has its plugins. Every version has all languages, and no file that no test runs.
#[test]
fn every_version_has_a_plugin_in_each_language() {
    let contract = std::fs::read_to_string(paths::root().join("plugin-sdk/wit/plugin.wit"));
    let contract = contract.expect("the contract");
    let version = contract.split("package informant:plugin@").nth(1).expect("its version");
    let version = version.split(';').next().expect("its version");
    let versions = versions();
    assert!(
        versions.iter().any(|path| path.ends_with(version)),
        "{version} is not in {versions:?}"
    );
    let mut expect: Vec<String> =
        LANGUAGES.iter().map(|(language, _)| format!("{language}.wasm.zst")).collect();
    expect.sort();
    for path in versions {
        let entries = std::fs::read_dir(&path).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        let mut found: Vec<String> = names.filter(|name| name.ends_with(".zst")).collect();
        found.sort();
        assert_eq!(found, expect, "{}", path.display());
    }
}

/// The plugin with one of its interfaces in another version, whose name has the same length.
fn with_version(plugin: &[u8], interface: &str, version: &str) -> Vec<u8> {
    let name = |version: &str| format!("informant:plugin/{interface}@{version}").into_bytes();
    let (own, other) = (name("0.1.0"), name(version));
    assert_eq!(own.len(), other.len());
    let mut changed = plugin.to_vec();
    let mut at = 0;
    while let Some(found) = changed[at..].windows(own.len()).position(|it| it == own) {
        changed[at + found..][..own.len()].copy_from_slice(&other);
        at += found + own.len();
    }
    assert_ne!(at, 0, "it has no {interface}");
    changed
}

/// A core module and a component, each with a newer export and a newer import: by a breaking step and by a patch.
#[test]
fn a_plugin_for_a_newer_contract_is_told_what_would_run_it() {
    let folder = paths::root().join("plugins/golden/0.1.0");
    for (language, interface, version, by) in [
        ("wat", "handler", "0.2.0", "it exports handler"),
        ("wat", "event-data", "0.1.7", "it imports event-data"),
        ("js", "indexer", "0.2.0", "it imports indexer"),
        ("js", "lifecycle", "0.1.7", "it exports lifecycle"),
    ] {
        let plugin = unpacked(&folder.join(format!("{language}.wasm.zst")));
        let plugin = with_version(&plugin, interface, version);
        let Some((success, text)) = said(&plugin, &["plugin", "check"], &[]) else { return };
        let expect = format!(
            "not a plugin of this host: made for contract informant:plugin@{version} ({by}), but this host speaks informant:plugin@0.1.0; rebuild the plugin with an SDK for 0.1.0, or use a host that speaks informant:plugin@{version}"
        );
        assert!(!success && text.contains(&expect), "{language}: {text}");
    }
}
