//! A list finds the changes that a cut watch missed and that the server has forgotten. Each is notified once, and no
//! other change is.

use http::Method;
use informant_cache::{FactoryOptions, Reason, RelistCause};
use serde_json::json;

use crate::bench::config_map;
use crate::burst::{Burst, JSON, MERGE};
use crate::cache::bench::{
    CacheBench, DEADLINE, Followed, cache_fact_with_own_cluster, differences,
};
use informant_e2e::cluster::User;

/// The changes while the informer is disconnected: numbers of objects, from the start of the names.
struct Away {
    changed: usize,
    deleted: usize,
    /// Deleted and created again with the same name.
    replaced: usize,
    added: usize,
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}-{number:05}")).collect()
}

impl CacheBench {
    async fn send(&self, names: &[String], method: Method, done: &[u16]) {
        let collection = self.collection(&"v1/configmaps".parse().expect("a resource"));
        let content_type = if method == Method::PATCH { MERGE } else { JSON };
        let burst = Burst { api: &self.api, method: method.clone(), content_type, done };
        let request = |name: &str| match method {
            Method::POST => {
                (collection.clone(), config_map(name, &[("was", "created")]).to_string())
            }
            Method::PATCH => {
                (format!("{collection}/{name}"), json!({"data": {"was": "changed"}}).to_string())
            }
            _ => (format!("{collection}/{name}"), String::new()),
        };
        burst.send(names, request).await;
    }

    async fn write(&self, away: &Away, names: &[String]) {
        let (changed, rest) = names.split_at(away.changed);
        let (deleted, rest) = rest.split_at(away.deleted);
        self.send(changed, Method::PATCH, &[200]).await;
        self.send(deleted, Method::DELETE, &[200]).await;
        self.send(&rest[..away.replaced], Method::DELETE, &[200]).await;
        self.send(&rest[..away.replaced], Method::POST, &[201]).await;
        self.send(&self::names("new", away.added), Method::POST, &[201]).await;
    }
}

fn check(objects: usize, away: Away) {
    cache_fact_with_own_cluster(async |cluster, bench| {
        let names = names("config", objects);
        bench.send(&names, Method::POST, &[201]).await;
        let factory = bench.factory(User::Admin, FactoryOptions::default()).await;
        let resource = "v1/configmaps".parse().expect("a resource");
        let informer = factory.for_resource(&resource);
        let mut followed = Followed::new(informer, bench.collection(&resource));
        factory.start();
        factory.wait_for_cache_sync(DEADLINE).await.unwrap();
        let before = followed.await_truth(&bench.api).await;
        assert_eq!(before.len(), objects);

        bench.proxy.close();
        followed.await_state("stale").await;
        // Its first notifications are from the stale cache. Later ones correct them.
        followed.add_handler();
        bench.write(&away, &names).await;
        cluster.forget_history().await.unwrap();
        bench.proxy.open();
        let after = followed.await_truth(&bench.api).await;

        let expect = differences(&before, &after);
        let count = away.changed + away.deleted + 2 * away.replaced + away.added;
        assert_eq!(expect.len(), count);
        for replay in followed.replays() {
            let told = replay.told().split_off(objects);
            let wrong = told.iter().find(|told| told.reason != Reason::Relist);
            assert!(wrong.is_none(), "a relist found it, not {wrong:?}");
            let mut told: Vec<_> = told.into_iter().map(|told| (told.key, told.change)).collect();
            told.sort();
            assert_eq!(told, expect);
        }
        let lists = followed.stats().relists;
        let of = |cause: RelistCause| lists.iter().find(|(c, _)| *c == cause).map(|(_, n)| *n);
        assert_eq!(of(RelistCause::Expired), Some(1), "{lists:?}");
        assert_eq!(lists.iter().map(|(_, count)| count).sum::<u64>(), 2, "{lists:?}");
        factory.shutdown().await;
    });
}

#[test]
fn compaction_in_mid_watch_leads_to_a_list_that_tells_the_differences_once() {
    check(60, Away { changed: 10, deleted: 10, replaced: 10, added: 10 });
}

#[test]
fn compaction_under_an_open_watch_loses_and_repeats_nothing() {
    cache_fact_with_own_cluster(async |cluster, bench| {
        let names = names("config", 20);
        bench.send(&names, Method::POST, &[201]).await;
        let factory = bench.factory(User::Admin, FactoryOptions::default()).await;
        let resource = "v1/configmaps".parse().expect("a resource");
        let informer = factory.for_resource(&resource);
        let followed = Followed::new(informer, bench.collection(&resource));
        factory.start();
        factory.wait_for_cache_sync(DEADLINE).await.unwrap();
        let before = followed.await_truth(&bench.api).await;

        bench.send(&names[..10], Method::PATCH, &[200]).await;
        cluster.forget_history().await.unwrap();
        bench.send(&names[10..15], Method::PATCH, &[200]).await;
        bench.send(&names[15..], Method::DELETE, &[200]).await;
        let after = followed.await_truth(&bench.api).await;

        let expect = differences(&before, &after);
        assert_eq!(expect.len(), names.len());
        for replay in followed.replays() {
            let told = replay.told().split_off(names.len());
            let mut told: Vec<_> = told.into_iter().map(|told| (told.key, told.change)).collect();
            told.sort();
            assert_eq!(told, expect);
        }
        factory.shutdown().await;
    });
}

#[test]
fn list_of_many_pages_tells_only_what_changed_while_away() {
    check(2_000, Away { changed: 40, deleted: 30, replaced: 20, added: 10 });
}
