//! Informers that use Informant as their API server.

use super::{client, cut};
use crate::host::bench::{LINES_DEADLINE, host_fact, pod_names};
use informant_apimachinery::GroupVersionResource;
use informant_cache::{ApiServer, FactoryOptions, SharedInformerFactory};
use informant_e2e::poll;
use serde_json::Value;
use std::sync::Arc;

#[test]
fn an_informer_beside_informant_has_what_the_server_has() {
    host_fact(async |bench| {
        bench.create_pods(&pod_names(0..20)).await;
        let host = bench.start(&[]).await;
        let server = Arc::new(ApiServer::new(client(&host)));
        let factory = SharedInformerFactory::new(server, FactoryOptions::default());
        let informer = factory.for_resource(&GroupVersionResource::new("", "v1", "pods"));
        factory.start();
        factory.wait_for_cache_sync(LINES_DEADLINE).await.unwrap();
        bench.create_pods(&pod_names(20..100)).await;
        bench.label_pods(&pod_names(0..80)).await;
        bench.delete_pods(&pod_names(40..60)).await;
        let mut list = bench.api.get("/api/v1/pods").await.expect(200);
        let expect: Vec<Value> =
            list["items"].take().as_array().expect("a list").iter().cloned().map(cut).collect();
        let same = async || {
            let snapshot = informer.indexer().snapshot();
            let mut held = snapshot.objects(None);
            let is_same = snapshot.count(None) == expect.len()
                && expect.iter().all(|theirs| {
                    let Some(ours) = held.next() else { return false };
                    let mut ours: Value = serde_json::from_slice(&ours.json()).expect("JSON");
                    let ours = ours.as_object_mut().expect("an object");
                    // The items of a list have no type.
                    ours.remove("kind");
                    ours.remove("apiVersion");
                    Some(&*ours) == theirs.as_object()
                });
            is_same.then_some(())
        };
        poll::until("the informer to have what the server has", LINES_DEADLINE, same)
            .await
            .unwrap();
        // One list and the watches of Informant were enough.
        let relists: u64 = informer.stats().relists.iter().map(|(_, count)| count).sum();
        assert_eq!(relists, 1, "{:?}", informer.stats());
        factory.shutdown().await;
    });
}
