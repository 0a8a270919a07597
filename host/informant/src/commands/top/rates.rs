//! Two readings of a running host, and the rates between them. Synchronous.

use serde_json::Value;
use std::time::Duration;

/// The pages of a host at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    /// The list of `/plugins`.
    pub(super) plugins: Value,
    /// The list of `/informers`.
    pub(super) informers: Value,
}

/// A plugin or an informer in two readings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between<'a> {
    /// None: it is new.
    pub(super) before: Option<&'a Value>,
    pub(super) now: &'a Value,
    pub(super) time: Duration,
}

impl Reading {
    pub(super) fn plugins_since<'a>(
        &'a self,
        before: &'a Self,
        time: Duration,
    ) -> Vec<Between<'a>> {
        since(&before.plugins, &self.plugins, "name", time)
    }

    pub(super) fn informers_since<'a>(
        &'a self,
        before: &'a Self,
        time: Duration,
    ) -> Vec<Between<'a>> {
        since(&before.informers, &self.informers, "resource", time)
    }
}

fn since<'a>(before: &'a Value, now: &'a Value, name: &str, time: Duration) -> Vec<Between<'a>> {
    let list = |list: &'a Value| list.as_array().map(Vec::as_slice).unwrap_or_default();
    let pair = |now: &'a Value| {
        let before = list(before).iter().find(|one| one[name] == now[name]);
        Between { before, now, time }
    };
    list(now).iter().map(pair).collect()
}

impl Between<'_> {
    /// The increase of a number by the second. None: the one is new, or its counter began anew.
    pub(super) fn rate(&self, number: impl Fn(&Value) -> f64) -> Option<f64> {
        let increase = number(self.now) - number(self.before?);
        let seconds = self.time.as_secs_f64();
        (increase >= 0.0 && seconds > 0.0).then(|| increase / seconds)
    }

    pub(super) fn calls(&self) -> Option<f64> {
        self.rate(|plugin| sum(&plugin["counters"], &[&OK[..], &FAILED[..]].concat()))
    }

    pub(super) fn failed(&self) -> Option<f64> {
        self.rate(|plugin| sum(&plugin["counters"], &FAILED))
    }

    /// Processors that it used.
    pub(super) fn processors(&self) -> Option<f64> {
        self.rate(|plugin| plugin["account"]["processorSeconds"].as_f64().unwrap_or_default())
    }

    pub(super) fn changes(&self) -> Option<f64> {
        self.rate(|informer| sum(&informer["events"], &["added", "modified", "deleted"]))
    }
}

const OK: [&str; 3] = ["ok", "keysOk", "firings"];
const FAILED: [&str; 6] = ["retry", "dead", "keysRetry", "keysDead", "firingsRetry", "firingsDead"];

fn sum(counters: &Value, keys: &[&str]) -> f64 {
    keys.iter().filter_map(|key| counters[*key].as_f64()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plugin(name: &str, ok: u64, retry: u64, processor: f64) -> Value {
        json!({
            "name": name, "counters": {"ok": ok, "keysOk": 1, "retry": retry},
            "account": {"processorSeconds": processor},
        })
    }

    #[track_caller]
    fn check(before: Value, now: Value, expect: &str) {
        let reading = |plugins: Value| Reading { plugins, ..Reading::default() };
        let (before, now) = (reading(before), reading(now));
        let found = now.plugins_since(&before, Duration::from_secs(2));
        let text = |one: &Between<'_>| {
            let rates = [one.calls(), one.failed(), one.processors()];
            format!("{} {rates:?}", one.now["name"].as_str().expect("a name"))
        };
        assert_eq!(found.iter().map(text).collect::<Vec<_>>().join("\n"), expect);
    }

    #[test]
    fn a_rate_is_the_increase_by_the_second() {
        let before = json!([plugin("a", 10, 0, 1.0), plugin("b", 5, 5, 1.0)]);
        let now = json!([plugin("b", 5, 7, 1.5), plugin("a", 20, 0, 1.0)]);
        check(
            before,
            now,
            "b [Some(1.0), Some(1.0), Some(0.25)]\na [Some(5.0), Some(0.0), Some(0.0)]",
        );
    }

    #[test]
    fn a_new_plugin_and_a_counter_that_began_anew_have_no_rate() {
        let before = json!([plugin("a", 10, 0, 1.0)]);
        let now = json!([plugin("a", 1, 0, 0.0), plugin("b", 1, 0, 0.0)]);
        check(before, now, "a [None, Some(0.0), None]\nb [None, None, None]");
    }
}
