//! A server that is killed and restarted: every change is notified, in order and once.

use std::collections::BTreeMap;

use http::Method;
use informant_cache::{FactoryOptions, RelistCause};
use serde_json::json;

use crate::bench::config_map;
use crate::burst::{Burst, JSON, MERGE};
use crate::cache::bench::{CacheBench, DEADLINE, Followed, cache_fact_with_own_cluster};
use crate::cache::replay::{Change, Told};
use informant_e2e::cluster::User;

/// The number of objects. Each is created and changed, and some are deleted, before, between and after restarts.
const OBJECTS: usize = 240;

/// The changes of each object, in order.
type Ledger = BTreeMap<String, Vec<Change>>;

impl CacheBench {
    /// Changes each object. Every request is answered before this returns.
    async fn change(&self, ledger: &mut Ledger, names: &[String], change: Change) {
        let collection = self.collection(&"v1/configmaps".parse().expect("a resource"));
        let (method, content_type, done) = match change {
            Change::Added => (Method::POST, JSON, 201),
            Change::Updated => (Method::PATCH, MERGE, 200),
            Change::Deleted => (Method::DELETE, JSON, 200),
        };
        let burst = Burst { api: &self.api, method, content_type, done: &[done] };
        let request = |name: &str| match change {
            Change::Added => (collection.clone(), config_map(name, &[]).to_string()),
            Change::Updated => {
                (format!("{collection}/{name}"), json!({"data": {"was": "changed"}}).to_string())
            }
            Change::Deleted => (format!("{collection}/{name}"), String::new()),
        };
        burst.send(names, request).await;
        for name in names {
            ledger.entry(format!("{}/{name}", self.namespace)).or_default().push(change);
        }
    }
}

/// Checks the notifications of an object. If a list stands for several changes, some of them may be missing.
#[track_caller]
fn check_told(key: &str, told: &[Told], happened: &[Change], relisted: bool) {
    let changes: Vec<Change> = told.iter().map(|told| told.change).collect();
    if !relisted {
        assert_eq!(changes, happened, "{key}");
        return;
    }
    let mut rest = happened.iter();
    let in_order = changes.iter().all(|change| rest.any(|one| one == change));
    assert!(in_order, "{key}: told {changes:?} of {happened:?}");
    assert_eq!(changes.first(), Some(&Change::Added), "{key}: told {changes:?}");
    let deleted = happened.last() == Some(&Change::Deleted);
    assert_eq!(changes.last() == Some(&Change::Deleted), deleted, "{key}: told {changes:?}");
    let number = |told: &Told| told.resource_version.parse::<u64>().expect("a number");
    // A deletion that a list found has the last known state, which an earlier notification already had.
    let follows = |a: &Told, b: &Told| {
        number(a) < number(b) || (b.change == Change::Deleted && number(a) == number(b))
    };
    assert!(told.is_sorted_by(follows), "{key}: told {told:?}");
}

#[test]
fn killed_server_makes_informers_lose_nothing_and_repeat_nothing() {
    cache_fact_with_own_cluster(async |cluster, bench| {
        let factory = bench.factory(User::Admin, FactoryOptions::default()).await;
        let resource = "v1/configmaps".parse().expect("a resource");
        let informer = factory.for_resource(&resource);
        let mut followed = Followed::new(informer, bench.collection(&resource));
        factory.start();
        factory.wait_for_cache_sync(DEADLINE).await.unwrap();
        let names: Vec<String> = (0..OBJECTS).map(|n| format!("config-{n:03}")).collect();
        let (early, late) = names.split_at(OBJECTS / 2);
        let mut ledger = Ledger::new();

        bench.change(&mut ledger, early, Change::Added).await;
        bench.change(&mut ledger, &early[..OBJECTS / 4], Change::Updated).await;
        cluster.kill().await.unwrap();
        cluster.restart().await.unwrap();
        // The informer has not noticed the restart yet, so it does not see the next changes at first.
        bench.change(&mut ledger, &early[OBJECTS / 4..], Change::Updated).await;
        bench.change(&mut ledger, late, Change::Added).await;
        followed.await_truth(&bench.api).await;
        followed.add_handler();
        bench.change(&mut ledger, &early[..OBJECTS / 4], Change::Deleted).await;
        cluster.kill().await.unwrap();
        followed.await_state("stale").await;
        cluster.restart().await.unwrap();
        bench.change(&mut ledger, late, Change::Updated).await;
        bench.change(&mut ledger, &late[..OBJECTS / 4], Change::Deleted).await;
        followed.await_truth(&bench.api).await;
        followed.await_state("synced").await;

        let lists = followed.stats().relists;
        let relisted = lists.iter().any(|(cause, n)| *cause != RelistCause::Start && *n > 0);
        let told = followed.replay().told_of_each();
        assert_eq!(told.len(), OBJECTS);
        for (key, happened) in &ledger {
            check_told(key, &told[key], happened, relisted);
        }
        factory.shutdown().await;
    });
}
