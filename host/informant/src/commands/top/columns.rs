//! The rows of `informant top`. Synchronous.

use super::rates::Between;
use crate::cli::SortKey;
use crate::commands::ask::cell;
use informant_apiserver::table::human_duration;
use jiff::SignedDuration;
use serde_json::Value;
use std::cmp::Reverse;

pub(super) const PLUGINS: [&str; 8] =
    ["NAME", "STATE", "CALLS/S", "FAILED/S", "CPU", "MEMORY", "WAITING", "LETTERS"];
/// More columns of a wide table.
pub(super) const OF_ACCOUNT: [&str; 17] = [
    "LIMIT",
    "INSTANCES",
    "STACKS",
    "CODE",
    "DOCUMENTS",
    "QUEUE",
    "WATCHES",
    "HISTORY",
    "LINES",
    "VALUES",
    "OTHER",
    "GUEST",
    "HOST",
    "INFORMERS",
    "COMPILE",
    "LOG",
    "DISK",
];
/// The parts of the memory that have their own column.
const PARTS: [&str; 9] =
    ["instances", "stacks", "code", "documents", "queue", "watches", "history", "logTail", "state"];
pub(super) const INFORMERS: [&str; 7] =
    ["RESOURCE", "STATE", "OBJECTS", "BYTES", "CHANGES/S", "LAST EVENT", "FAILURES"];
pub(super) const OF_LISTS: [&str; 2] = ["LISTS", "RESOURCEVERSION"];

pub(super) fn plugin(one: &Between<'_>, is_wide: bool) -> Vec<String> {
    let (plugin, account) = (one.now, &one.now["account"]);
    let mut cells = vec![
        cell(&plugin["name"]),
        cell(&plugin["state"]),
        rate(one.calls()),
        rate(one.failed()),
        one.processors().map_or_else(dash, |used| format!("{:.0}m", used * 1_000.0)),
        mebibytes(&account["memoryBytes"]),
        waiting(plugin).to_string(),
        cell(&plugin["deadLetters"]),
    ];
    if is_wide {
        cells.extend(of_account(account));
    }
    cells
}

fn of_account(account: &Value) -> Vec<String> {
    let memory = &account["memory"];
    let all = account["memoryBytes"].as_u64().unwrap_or_default();
    let own: u64 = PARTS.iter().filter_map(|part| memory[*part].as_u64()).sum();
    let times = ["guest", "hostFunctions", "evaluation", "compile"];
    let times = times.map(|time| seconds(&account["seconds"][time]));
    let mut cells = vec![mebibytes(&account["memoryBytesMax"])];
    cells.extend(PARTS.map(|part| binary(&memory[part])));
    cells.push(binary(&all.saturating_sub(own).into()));
    cells.extend(times);
    cells.extend([binary(&account["logBytes"]), binary(&account["diskBytes"])]);
    cells
}

pub(super) fn informer(one: &Between<'_>, is_wide: bool) -> Vec<String> {
    let informer = one.now;
    let age = informer["lastEventAgeSeconds"].as_f64();
    let age = age.and_then(|age| SignedDuration::try_from_secs_f64(age).ok());
    let mut cells = vec![
        cell(&informer["resource"]),
        cell(&informer["state"]),
        cell(&informer["objects"]),
        binary(&informer["bytes"]),
        rate(one.changes()),
        age.map_or_else(dash, human_duration),
        cell(&informer["failures"]),
    ];
    if is_wide {
        cells.extend([cell(&informer["lists"]), cell(&informer["resourceVersion"])]);
    }
    cells
}

/// Sorts plugins; equal ones keep the order of their names.
pub(super) fn sort_plugins(plugins: &mut [Between<'_>], key: SortKey) {
    plugins.sort_by_cached_key(|one| {
        let memory = one.now["account"]["memoryBytes"].as_f64();
        let number = match key {
            SortKey::Calls => one.calls(),
            SortKey::Cpu => one.processors(),
            SortKey::Waiting => Some(waiting(one.now) as f64),
            SortKey::Failures => one.failed(),
            SortKey::Memory | SortKey::Objects | SortKey::Age => memory,
            SortKey::Name => None,
        };
        largest_first(number)
    });
}

/// The same for informers.
pub(super) fn sort_informers(informers: &mut [Between<'_>], key: SortKey) {
    informers.sort_by_cached_key(|one| {
        let number = match key {
            SortKey::Calls => one.changes(),
            SortKey::Failures => one.now["failures"].as_f64(),
            SortKey::Objects => one.now["objects"].as_f64(),
            SortKey::Age => one.now["lastEventAgeSeconds"].as_f64(),
            SortKey::Cpu | SortKey::Memory | SortKey::Waiting => one.now["bytes"].as_f64(),
            SortKey::Name => None,
        };
        largest_first(number)
    });
}

/// A key that orders numbers, which are not negative, from the largest to none. Their bits are in their order.
fn largest_first(number: Option<f64>) -> Reverse<Option<u64>> {
    Reverse(number.map(|number| number.max(0.0).to_bits()))
}

/// Events, keys and firings that wait.
fn waiting(plugin: &Value) -> u64 {
    let all =
        [&plugin["queue"]["depth"], &plugin["workqueue"]["waiting"], &plugin["timers"]["waiting"]];
    all.iter().filter_map(|waiting| waiting.as_u64()).sum()
}

fn dash() -> String {
    "-".to_owned()
}

fn rate(rate: Option<f64>) -> String {
    match rate {
        None => dash(),
        Some(0.0) => "0".to_owned(),
        Some(rate) if rate < 0.1 => format!("{rate:.2}"),
        Some(rate) if rate < 10.0 => format!("{rate:.1}"),
        Some(rate) => format!("{rate:.0}"),
    }
}

fn seconds(seconds: &Value) -> String {
    seconds.as_f64().map_or_else(dash, |seconds| format!("{seconds:.1}s"))
}

/// Memory in kubectl's unit, rounded up, so that only zero bytes are shown as zero.
fn mebibytes(bytes: &Value) -> String {
    bytes.as_u64().map_or_else(dash, |bytes| format!("{}Mi", bytes.div_ceil(1 << 20)))
}

/// A size in `Ki` below 1 Mi, else in `Mi`, rounded up.
fn binary(bytes: &Value) -> String {
    match bytes.as_u64() {
        None => dash(),
        Some(0) => "0".to_owned(),
        Some(bytes) if bytes < 1 << 20 => format!("{}Ki", bytes.div_ceil(1 << 10)),
        Some(_) => mebibytes(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    fn between(before: &'static Value, now: &'static Value) -> Between<'static> {
        Between { before: Some(before), now, time: Duration::from_secs(2) }
    }

    fn leaked(value: Value) -> &'static Value {
        Box::leak(Box::new(value))
    }

    #[test]
    fn a_plugin_has_its_rates_and_the_parts_of_its_account() {
        let memory = json!({"instances": 3 << 20, "code": 1, "queue": 0, "indexes": 5 << 20});
        let seconds = json!({"guest": 1.25, "hostFunctions": 0.0, "evaluation": 0.06});
        let account = json!({
            "memoryBytes": (8 << 20) + 1, "memoryBytesMax": 1 << 30, "memory": memory,
            "seconds": seconds, "logBytes": 4_670, "diskBytes": 1 << 21, "processorSeconds": 1.5,
        });
        let plugin_at = |ok: u64, account: Value| {
            leaked(json!({
                "name": "a", "state": "running", "deadLetters": 2, "account": account,
                "queue": {"depth": 3}, "workqueue": {"waiting": 4}, "timers": {"waiting": 1},
                "counters": {"ok": ok, "retry": 1},
            }))
        };
        let one = between(plugin_at(5, json!({"processorSeconds": 1.0})), plugin_at(8, account));
        let row = plugin(&one, true);
        assert_eq!(row.len(), PLUGINS.len() + OF_ACCOUNT.len());
        assert_eq!(row[..PLUGINS.len()].join(" "), "a running 1.5 0 250m 9Mi 8 2");
        let expect = "1024Mi 3Mi - 1Ki - 0 - - - - 5Mi 1.2s 0.0s 0.1s - 5Ki 2Mi";
        assert_eq!(row[PLUGINS.len()..].join(" "), expect);
    }

    #[test]
    fn an_informer_has_its_objects_and_its_last_event() {
        let informer_at = |added: u64, age: Value| {
            leaked(json!({
                "resource": "v1/pods", "state": "synced", "objects": 7, "bytes": 2_000,
                "events": {"added": added}, "lastEventAgeSeconds": age, "failures": 1, "lists": 1,
                "resourceVersion": "77",
            }))
        };
        let one = between(informer_at(0, json!(1)), informer_at(100, json!(75.2)));
        let row = informer(&one, true);
        assert_eq!(row.len(), INFORMERS.len() + OF_LISTS.len());
        assert_eq!(row.join(" "), "v1/pods synced 7 2Ki 50 75s 1 1 77");
        let none =
            informer(&between(informer_at(0, json!(null)), informer_at(0, json!(null))), false);
        assert_eq!(none.join(" "), "v1/pods synced 7 2Ki 0 - 1");
    }

    #[track_caller]
    fn check_order(key: SortKey, expect: &str) {
        let at = |name: &str, ok: u64, memory: u64| {
            let counters = json!({"ok": ok});
            leaked(json!({"name": name, "counters": counters, "account": {"memoryBytes": memory}}))
        };
        let new = Between { before: None, ..between(at("d", 0, 0), at("d", 9, 1)) };
        let mut all = [
            between(at("a", 0, 0), at("a", 1, 5)),
            between(at("b", 0, 0), at("b", 3, 5)),
            between(at("c", 0, 0), at("c", 2, 9)),
            new,
        ];
        sort_plugins(&mut all, key);
        let names = all.iter().filter_map(|one| one.now["name"].as_str());
        assert_eq!(names.collect::<String>(), expect, "{key:?}");
    }

    #[test]
    fn the_largest_is_the_first_and_the_unknown_the_last() {
        check_order(SortKey::Calls, "bcad");
        check_order(SortKey::Memory, "cabd");
        check_order(SortKey::Name, "abcd");
    }
}
