//! An etcd that is restored from an older backup: versions go back and are given again to other changes. Informers
//! follow, although their remembered versions are no longer valid.

use informant_cache::FactoryOptions;
use serde_json::json;

use crate::bench::config_map;
use crate::cache::bench::{DEADLINE, Followed, cache_fact_with_own_cluster};
use informant_e2e::api::{Api, Patch};
use informant_e2e::cluster::User;

/// The number of changes between the backup and the restoration. The restoration undoes them.
const LOST: usize = 12;

/// The fact's ConfigMaps.
struct ConfigMaps<'a> {
    api: &'a Api,
    path: String,
}

impl ConfigMaps<'_> {
    async fn create(&self, name: &str, said: &str) {
        self.api.create(&self.path, &config_map(name, &[("said", said)])).await.expect(201);
    }

    async fn change(&self, name: &str, said: &str) {
        let patch = json!({"data": {"said": said}});
        let path = format!("{}/{name}", self.path);
        self.api.patch(&path, Patch::Merge, &patch).await.expect(200);
    }

    async fn delete(&self, name: &str) {
        self.api.delete(&format!("{}/{name}", self.path)).await.expect(200);
    }
}

/// Makes this number of changes after the restoration, before the informer reconnects.
fn check(changes: usize) {
    cache_fact_with_own_cluster(async |cluster, bench| {
        let resource = "v1/configmaps".parse().expect("a resource");
        let maps = ConfigMaps { api: &bench.api, path: bench.collection(&resource) };
        for name in ["kept", "changed", "deleted", "changed-otherwise", "deleted-otherwise"] {
            maps.create(name, "before the backup").await;
        }
        let factory = bench.factory(User::Admin, FactoryOptions::default()).await;
        let mut followed = Followed::new(factory.for_resource(&resource), &maps.path);
        factory.start();
        factory.wait_for_cache_sync(DEADLINE).await.unwrap();
        cluster.take_backup().await.unwrap();

        maps.change("changed", "and lost").await;
        maps.change("changed-otherwise", "and lost").await;
        maps.delete("deleted").await;
        maps.create("made", "and lost").await;
        maps.create("made-otherwise", "and lost").await;
        for number in 5..LOST {
            maps.change("kept", &format!("lost change {number}")).await;
        }
        followed.await_truth(&bench.api).await;

        bench.proxy.close();
        cluster.restore_backup().await.unwrap();
        // The same versions get other content: some on the same objects, some under the same names.
        maps.change("changed-otherwise", "after the restoration").await;
        maps.delete("deleted-otherwise").await;
        maps.create("made-otherwise", "after the restoration").await;
        for number in 3..changes {
            maps.change("deleted", &format!("change {number} after the restoration")).await;
        }
        bench.proxy.open();
        let truth = followed.await_truth(&bench.api).await;
        assert_eq!(truth.len(), 5);
        followed.add_handler();
        // The informer still follows changes.
        maps.change("kept", "at the end").await;
        maps.delete("made-otherwise").await;
        followed.await_truth(&bench.api).await;
        followed.await_state("synced").await;
        assert_eq!(followed.stats().epoch, 1, "it says so, once");
        factory.shutdown().await;
    });
}

#[test]
fn restored_older_server_is_followed() {
    check(3);
}

#[test]
fn restored_older_server_that_has_come_further_meanwhile_is_followed() {
    check(3 * LOST);
}
