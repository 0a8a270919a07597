//! The server's history after compactions and restarts.

use serde_json::Value;

use crate::bench::{config_map, fact_with_own_cluster, names};
use informant_e2e::api::{Api, resource_version};
use informant_e2e::cluster::User;

async fn create(api: &Api, collection: &str, name: &str) -> Value {
    api.create(collection, &config_map(name, &[])).await.expect(201)
}

#[test]
fn forgotten_history_is_expired() {
    fact_with_own_cluster(async |cluster, namespace| {
        let api = cluster.api(User::Admin).await.unwrap();
        let collection = format!("/api/v1/namespaces/{namespace}/configmaps");
        let first = create(&api, &collection, "a").await;
        create(&api, &collection, "b").await;
        create(&api, &collection, "c").await;
        let page = api.get(&format!("{collection}?limit=1")).await.expect(200);
        let token = page["metadata"]["continue"].as_str().expect("a continue token").to_owned();

        // The present state is never forgotten, so the page must be older than the present state.
        create(&api, &collection, "d").await;
        cluster.forget_history().await.unwrap();
        let api = cluster.api(User::Admin).await.unwrap();

        expired_watch_is_410(&api, &collection, resource_version(&first)).await;
        expired_token_is_410_and_goes_on(&api, &collection, &token).await;
        let at = resource_version(&first);
        let past = format!("{collection}?resourceVersion={at}&resourceVersionMatch=Exact");
        api.get(&past).await.expect_status(410, "Expired");
        let list = api.get(&collection).await.expect(200);
        assert_eq!(names(&list), ["a", "b", "c", "d"], "nothing but history was forgotten");
    });
}

/// The watch is refused at once, or by the first and last line of the stream. Clients must accept both.
async fn expired_watch_is_410(api: &Api, collection: &str, from: u64) {
    let path = format!("{collection}?watch=true&resourceVersion={from}");
    match api.watch(&path).await {
        Err(reply) => {
            reply.expect_status(410, "Expired");
        }
        Ok(mut events) => {
            let event = events.event().await;
            assert_eq!((event.kind.as_str(), &event.object["code"]), ("ERROR", &410.into()));
            assert_eq!(event.object["reason"], "Expired");
            assert_eq!(events.next().await, None, "the error is the last line");
        }
    }
}

/// The refusal contains a token that continues after the same key. The list is then complete, but not consistent.
async fn expired_token_is_410_and_goes_on(api: &Api, collection: &str, token: &str) {
    let path = format!("{collection}?limit=10&continue={token}");
    let status = api.get(&path).await.expect_status(410, "Expired");
    let fresh = status["metadata"]["continue"].as_str().expect("a fresh token");
    let rest = api.get(&format!("{collection}?limit=10&continue={fresh}")).await.expect(200);
    assert_eq!(names(&rest), ["b", "c", "d"]);
}

#[test]
fn restarted_server_has_its_objects_and_its_address() {
    fact_with_own_cluster(async |cluster, namespace| {
        let api = cluster.api(User::Admin).await.unwrap();
        let collection = format!("/api/v1/namespaces/{namespace}/configmaps");
        let before = create(&api, &collection, "a").await;
        let path = format!("{collection}?watch=true");
        let mut events = api.watch(&path).await.expect("a watch");
        assert_eq!(events.event().await.name(), "a");

        cluster.kill().await.unwrap();
        assert_eq!(events.next().await, None, "the open watch ends");
        let get = api.send(http::Method::GET, &collection, &[], Vec::new());
        assert!(get.await.is_err(), "nobody answers at the address");

        cluster.restart().await.unwrap();
        let object = api.get(&format!("{collection}/a")).await.expect(200);
        assert_eq!(object, before);
        let after = create(&api, &collection, "b").await;
        assert!(resource_version(&after) > resource_version(&before), "versions go on");
    });
}
