//! A controller, through the SDK's own functions.

use informant_plugin::prelude::*;
use informant_plugin::testing::{Host, Running, added};
use informant_plugin::{Every, Reconciler, Schedule, Timer, state, workqueue};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// Adds the pod's name in the way that the name says, and works on keys in the way that they say.
struct Worker;

impl Plugin for Worker {
    fn describe(_: &Config) -> Result<Descriptor> {
        let beat = Schedule::new("beat", Every::Period(Duration::from_secs(60)));
        Ok(Descriptor::new("1").subscribe(Subscription::to("v1/pods")).schedule(beat))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        match event.key().name.as_str() {
            name @ "later" => workqueue::add_after(name, Duration::from_secs(1)),
            name @ "limited" => workqueue::add_rate_limited(name),
            "long" => workqueue::add_rate_limited(&"k".repeat(513)),
            name @ "twice" => {
                workqueue::add(name);
                workqueue::add_after(name, Duration::from_micros(500));
            }
            name => workqueue::add(name),
        }
        Ok(())
    }
}

impl Reconciler for Worker {
    fn reconcile(&mut self, key: &str, attempt: u32) -> Result<Option<Duration>> {
        state::set_json(key, &attempt)?;
        info!(
            "{key} {attempt}, {} wait, {} before",
            workqueue::len(),
            workqueue::num_requeues(key)
        );
        match key {
            "later" => Ok(Some(Duration::from_secs(60))),
            "fails" => Err("asked to".into()),
            "again" => {
                workqueue::add_rate_limited(key);
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

impl Timer for Worker {
    fn fire(&mut self, schedule: &str, unix_ms: u64) -> Result {
        workqueue::add(&format!("{schedule}@{unix_ms}"));
        Ok(())
    }
}

export_plugin!(Worker, reconciler, timer);

/// A plugin after events for pods with these names.
fn told(host: &Host, names: &[&str]) -> (Running<Worker>, Vec<String>) {
    let mut worker = host.start::<Worker>(json!({})).expect("it starts");
    let mut failures = Vec::new();
    for name in names {
        let told = worker.handle(added(json!({"metadata": {"namespace": "n", "name": name}})));
        failures.extend(told.err().map(|failure| failure.message().to_owned()));
    }
    (worker, failures)
}

#[test]
fn keys_wait_once_each_and_in_order() {
    let host = Host::new();
    let (mut worker, _) = told(&host, &["b", "a", "b", "later", "limited", "limited"]);
    assert_eq!(host.keys(), ["b", "a"]);
    let delayed = [("later", 1_000), ("limited", 5)];
    let delayed = delayed.map(|(key, ms)| (key.to_owned(), Duration::from_millis(ms)));
    assert_eq!(host.delayed_keys().into_iter().collect::<Vec<_>>(), delayed);
    assert_eq!(worker.reconcile("b", 1), Ok(None));
    assert_eq!(worker.reconcile("limited", 2), Ok(None));
    assert_eq!(host.messages(), ["b 1, 1 wait, 0 before", "limited 2, 1 wait, 2 before"]);
    assert_eq!(host.keys(), ["a"]);
    assert_eq!(host.state("b").as_deref(), Some(&b"1"[..]));
}

#[test]
fn a_key_that_is_to_come_again_is_delayed() {
    let host = Host::new();
    let (mut worker, _) = told(&host, &["later"]);
    assert_eq!(worker.reconcile("later", 1), Ok(Some(Duration::from_secs(60))));
    assert_eq!(host.delayed_keys()["later"], Duration::from_secs(60));
}

#[test]
fn a_key_that_fails_or_is_added_rate_limited_waits_longer_each_time() {
    for key in ["fails", "again"] {
        let host = Host::new();
        let (mut worker, _) = told(&host, &[key]);
        for (attempt, ms) in [(1, 5), (2, 10), (3, 20)] {
            assert_eq!(worker.reconcile(key, attempt).is_err(), key == "fails");
            assert_eq!(host.delayed_keys()[key], Duration::from_millis(ms));
        }
        assert!(host.messages()[2].ends_with("2 before"), "{:?}", host.messages());
    }
}

#[test]
fn a_key_that_waits_twice_is_worked_on_now_and_then() {
    let host = Host::new();
    let (mut worker, _) = told(&host, &["twice"]);
    assert_eq!(worker.reconcile("twice", 1), Ok(None));
    let later = BTreeMap::from([("twice".to_owned(), Duration::from_millis(1))]);
    assert_eq!((host.keys(), host.delayed_keys()), (vec![], later));
    assert_eq!(worker.reconcile("twice", 1), Ok(None));
    assert_eq!(host.delayed_keys(), BTreeMap::new());
}

#[test]
fn a_delayed_key_comes_back_when_its_time_has_passed() {
    let host = Host::new();
    let (mut worker, _) = told(&host, &["later", "limited", "fails", "later"]);
    assert!(worker.reconcile("fails", 1).is_err());
    host.wait(Duration::from_millis(4));
    assert_eq!(host.keys(), [""; 0]);
    host.wait(Duration::from_millis(996));
    // The key that waits is not added again by an event, and its time comes all the same.
    assert_eq!(host.keys(), ["fails", "limited", "later"]);
    assert_eq!(worker.reconcile("later", 1), Ok(Some(Duration::from_secs(60))));
    let _ = worker.handle(added(json!({"metadata": {"namespace": "n", "name": "later"}})));
    assert_eq!(host.delayed_keys()["later"], Duration::from_secs(1), "the earliest time counts");
    host.wait(Duration::from_secs(1));
    assert_eq!(host.keys(), ["fails", "limited", "later"]);
    assert_eq!(host.delayed_keys(), BTreeMap::new());
}

#[test]
fn a_moment_of_its_schedules_may_add_keys() {
    let host = Host::new();
    let (mut worker, _) = told(&host, &[]);
    assert_eq!(worker.fire("beat", 60_000), Ok(()));
    assert_eq!(host.keys(), ["beat@60000"]);
    assert!(worker.fire("other", 0).is_err(), "it asked for no such schedule");
}

#[test]
fn what_a_call_wrote_that_failed_was_never_there() {
    let host = Host::new();
    let (mut worker, failures) = told(&host, &["long"]);
    assert_eq!(failures, ["workqueue.add-rate-limited: a key of 513 bytes: keys have 1 to 512"]);
    assert!(worker.reconcile("fails", 1).is_err());
    assert_eq!((host.state("fails"), host.keys()), (None, vec![]));
}
