//! Every plugin that misbehaves on purpose, and what `/plugins` must say of it in the end.

use anyhow::Context;
use serde_json::Value;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Sinner {
    /// The test guest's name.
    pub guest: &'static str,
    /// The plugin's: what follows `-in-` is where it sins.
    pub name: &'static str,
    /// What is to become of it.
    pub end: PluginEnd,
    /// What must stand in its entry.
    pub told: &'static str,
}

/// What becomes of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginEnd {
    /// It never runs.
    Refused,
    /// It only fails, and its breaker opens.
    Tripped,
    /// It goes on, with whatever its sin costs itself.
    Runs,
    /// It goes on after a new version of it was dropped in.
    RunsAfterReload,
}

const fn one(guest: &'static str, end: PluginEnd, told: &'static str) -> Sinner {
    Sinner { guest, name: guest, end, told }
}

const fn named(
    guest: &'static str,
    name: &'static str,
    end: PluginEnd,
    told: &'static str,
) -> Sinner {
    Sinner { guest, name, end, told }
}

/// All of them.
pub const SINNERS: [Sinner; 41] = [
    one("absent-resource", PluginEnd::Runs, "late.example.com/v1/widgets"),
    one("allocate", PluginEnd::Tripped, "more than 64 MiB of memory were asked for"),
    one("asks-for-secrets", PluginEnd::Refused, "asks to read v1/secrets, which is not granted"),
    one("asks-outside", PluginEnd::Tripped, "is not granted; to grant it, "),
    one("asks-system", PluginEnd::Runs, "wasi:sockets/tcp-create-socket"),
    one("attacker", PluginEnd::Runs, "\"restarts\":{}"),
    one("calls-for-ever", PluginEnd::Tripped, "the deadline of 1000 ms was exceeded"),
    one("describe-garbage", PluginEnd::Refused, "is not JSON"),
    one("describe-nonsense", PluginEnd::Refused, "all the pods, please"),
    one("describe-unknown-key", PluginEnd::Refused, "did you mean"),
    one("exits", PluginEnd::Tripped, "it called exit(1)"),
    one("fail", PluginEnd::Tripped, "asked to fail by"),
    one("forges", PluginEnd::Runs, "\"restarts\":{}"),
    one("grows-slowly", PluginEnd::Runs, "\"memory\":"),
    one("huge-return", PluginEnd::Tripped, "\"trap\":"),
    one("invalid-utf8", PluginEnd::Tripped, "utf-8"),
    one("log-flood", PluginEnd::Runs, "\"logLinesDropped\":"),
    one("moods", PluginEnd::Refused, "missing field `as`"),
    one("no-exports", PluginEnd::Refused, "does not export"),
    one("not-wasm", PluginEnd::Refused, "not a WebAssembly file"),
    one("re-enters", PluginEnd::Tripped, "cannot leave component instance"),
    one("restore-fails", PluginEnd::RunsAfterReload, "restore failed"),
    one("spin", PluginEnd::Tripped, "the deadline of 1000 ms was exceeded"),
    named("spin", "spin-in-describe", PluginEnd::Refused, "the deadline of 10000 ms was exceeded"),
    named(
        "spin",
        "spin-in-restore",
        PluginEnd::RunsAfterReload,
        "the deadline of 10000 ms was exceeded",
    ),
    named("spin", "spin-in-snapshot", PluginEnd::RunsAfterReload, "\"deadline\":1"),
    named("spin", "spin-in-start", PluginEnd::Refused, "the deadline of 10000 ms was exceeded"),
    named(
        "spin",
        "spin-in-stop",
        PluginEnd::RunsAfterReload,
        "the deadline of 2000 ms was exceeded",
    ),
    one("stack", PluginEnd::Tripped, "call stack exhausted"),
    one("start-fails", PluginEnd::Refused, "asked to fail at start"),
    one("tables", PluginEnd::Tripped, "tables of more than 100000 elements were asked for"),
    one("trap", PluginEnd::Tripped, "unreachable"),
    named("trap", "trap-in-describe", PluginEnd::Refused, "unreachable"),
    named("trap", "trap-in-restore", PluginEnd::RunsAfterReload, "restore failed: trap"),
    named("trap", "trap-in-snapshot", PluginEnd::RunsAfterReload, "\"trap\":1"),
    named("trap", "trap-in-stop", PluginEnd::RunsAfterReload, "unreachable"),
    one("trap-keys", PluginEnd::Tripped, "unreachable"),
    one("unknown-import", PluginEnd::Refused, "which this host does not offer"),
    one("writer", PluginEnd::Tripped, "to patch v1/pods in"),
    one("wrong-version", PluginEnd::Refused, "made for contract"),
    one("wrong-world", PluginEnd::Refused, "does not keep the contract"),
];

/// Whether its breaker has opened, or never will.
pub fn has_ended(sinner: &Sinner, plugins: &[Value]) -> bool {
    let Ok(entry) = entry(sinner.name, plugins) else { return false };
    match sinner.end {
        PluginEnd::Tripped => entry["counters"]["trips"].as_u64() > Some(0),
        PluginEnd::Refused => entry["lastLoad"]["result"] == "failed",
        PluginEnd::Runs => entry["state"] == "running",
        PluginEnd::RunsAfterReload => !entry["lastLoad"].is_null(),
    }
}

/// What is not as it must be; none if all is.
pub fn complaint(sinner: &Sinner, plugins: &[Value]) -> Option<String> {
    let entry = match entry(sinner.name, plugins) {
        Ok(entry) => entry,
        Err(error) => return Some(format!("{error:#}")),
    };
    let state = entry["state"].as_str().unwrap_or_default();
    let states: &[&str] = match sinner.end {
        PluginEnd::Refused => &["stopped", "waiting"],
        // It may be trying one event, or waiting for an instance to try it with.
        PluginEnd::Tripped => &["tripped", "backing-off", "running"],
        PluginEnd::Runs | PluginEnd::RunsAfterReload => &["running", "backing-off"],
    };
    // JSON's own quotes are escaped in a text, and those that are meant are not.
    let text = entry.to_string();
    let tells = text.contains(sinner.told) && has_ended(sinner, plugins);
    let fine = tells && states.contains(&state);
    (!fine).then(|| format!("{} should tell of {:?}: {text}", sinner.name, sinner.told))
}

/// What `/plugins` says of one.
pub fn entry<'a>(name: &str, plugins: &'a [Value]) -> anyhow::Result<&'a Value> {
    let found = plugins.iter().find(|plugin| plugin["name"] == name);
    found.with_context(|| format!("/plugins does not know {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const GOOD_GUESTS: [&str; 5] = ["witness", "storm", "storm-in-shards", "answers", "uses-heap"];

    #[test]
    fn every_test_guest_has_a_story() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/test-guests");
        let files = ["examples", "wat"].map(|directory| std::fs::read_dir(sources.join(directory)));
        let names = files.into_iter().flat_map(|files| files.expect("a directory")).map(|file| {
            let path = file.expect("an entry").path();
            path.file_stem().expect("a name").to_string_lossy().into_owned()
        });
        let has_story = |guest: &str| {
            GOOD_GUESTS.contains(&guest) || SINNERS.iter().any(|sinner| sinner.guest == guest)
        };
        let without: Vec<String> = names.filter(|name| !has_story(name)).collect();
        assert!(without.is_empty(), "add their ends to SINNERS: {without:?}");
    }
}
