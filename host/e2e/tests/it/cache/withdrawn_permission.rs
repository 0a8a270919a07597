//! A permission that is revoked during a watch and granted again: the cache stays, its state shows the problem, and no
//! change is missed.

use informant_cache::FactoryOptions;
use serde_json::json;

use crate::bench::config_map;
use crate::cache::bench::{DEADLINE, Followed, cache_fact, differences};
use crate::cache::replay::Change;
use informant_e2e::api::{Api, Patch};
use informant_e2e::cluster::User;
use informant_e2e::poll;

/// Waits until the server answers the reader with this status. A grant takes effect a moment later.
async fn await_answer(reader: &Api, path: &str, status: u16) {
    let answered = async || (reader.get(path).await.status.as_u16() == status).then_some(());
    let what = format!("the reader to be answered {status} at {path}");
    poll::until(&what, DEADLINE, answered).await.unwrap();
}

#[test]
fn permission_taken_away_and_given_back_loses_nothing() {
    cache_fact(async |bench, cache| {
        let resource = "v1/configmaps".parse().expect("a resource");
        let (path, permissions) = (cache.collection(&resource), &bench.permissions);
        permissions.revoke(&bench.api, &bench.namespace, "configmaps").await;
        let factory = cache.factory(User::Reader, FactoryOptions::default()).await;
        let followed = Followed::new(factory.for_resource(&resource), &path);
        factory.start();
        for name in ["changed", "deleted", "kept"] {
            bench.create(&path, &config_map(name, &[("was", "made before")])).await;
        }
        followed.await_state("forbidden").await;
        let message = followed.state().message().map(str::to_owned).expect("a reason");
        assert!(message.contains("User \"reader\" cannot"), "{message}");
        assert!(!followed.has_synced());

        permissions.grant(&bench.api, &bench.namespace, "", "configmaps").await;
        followed.await_state("synced").await;
        let before = followed.await_truth(&bench.api).await;
        assert_eq!(before.len(), 3);

        permissions.revoke(&bench.api, &bench.namespace, "configmaps").await;
        await_answer(&bench.reader, &path, 403).await;
        // The server checks permissions only when a watch begins.
        cache.proxy.cut();
        followed.await_state("forbidden").await;
        assert_eq!(followed.cached().len(), 3, "what is known stays readable");
        let data = json!({"data": {"was": "changed unseen"}});
        bench.api.patch(&format!("{path}/changed"), Patch::Merge, &data).await.expect(200);
        bench.api.delete(&format!("{path}/deleted")).await.expect(200);
        bench.create(&path, &config_map("added", &[])).await;
        let told = followed.replay().told().len();
        assert_eq!(told, 3, "nothing was told meanwhile");

        permissions.grant(&bench.api, &bench.namespace, "", "configmaps").await;
        let after = followed.await_truth(&bench.api).await;
        followed.await_state("synced").await;
        let told = followed.replay().told().split_off(3);
        let mut told: Vec<(String, Change)> =
            told.into_iter().map(|told| (told.key, told.change)).collect();
        told.sort();
        assert_eq!(told, differences(&before, &after));
        factory.shutdown().await;
    });
}
