//! `GET /informers`: every informer, its state, and the size of its cache.

use super::answers::busy;
use axum::Json;
use axum::response::{IntoResponse as _, Response};
use informant_apiserver::aside;
use informant_cache::{SharedIndexInformer, SharedInformerFactory};
use serde_json::{Value, json};
use std::sync::Arc;

/// The answer, made aside: there may be thousands of informers.
pub(super) async fn respond(informers: &Arc<SharedInformerFactory>) -> Response {
    let informers = informers.clone();
    let answer = aside(move || Json(list(&informers)).into_response()).await;
    answer.unwrap_or_else(|| busy("the host stops"))
}

/// All informers in the order of their resources.
fn list(informers: &SharedInformerFactory) -> Value {
    let mut informers = informers.informers();
    informers.sort_by_cached_key(|informer| informer.resource().to_string());
    informers.iter().map(entry).collect()
}

fn entry(informer: &SharedIndexInformer) -> Value {
    let (state, stats) = (informer.state(), informer.stats());
    json!({
        "resource": informer.resource().to_string(),
        "state": state.as_str(),
        "message": state.message(),
        "resourceVersion": informer.last_sync_resource_version(),
        "objects": stats.objects,
        "metadataOnly": is_metadata_only(informer),
        "bytes": stats.bytes,
        "lastEventAgeSeconds": stats.last_event_age.map(|age| age.as_secs_f64()),
        "events": { "added": stats.added, "modified": stats.modified, "deleted": stats.deleted },
        "failures": stats.errors,
        "lists": stats.relists.iter().map(|(_, count)| count).sum::<u64>(),
    })
}

/// Whether the API server sends, and the cache has, metadata alone.
fn is_metadata_only(informer: &SharedIndexInformer) -> bool {
    let parts = informer.parts();
    !parts.is_empty() && parts.iter().all(|part| part.metadata_only)
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_apimachinery::GroupVersionResource;
    use informant_cache::FactoryOptions;
    use informant_cache::testing::FakeControllerSource;

    #[tokio::test(start_paused = true)]
    async fn an_informer_shows_its_state_and_the_size_of_its_cache() {
        let source = Arc::new(FakeControllerSource::default());
        source.add(r#"{"metadata":{"name":"a"}}"#);
        let factory = SharedInformerFactory::new(source.clone(), FactoryOptions::default());
        let lease = factory.lease(&GroupVersionResource::new("", "v1", "pods"));
        let _other = factory.lease(&GroupVersionResource::new("apps", "v1", "deployments"));
        let states = |list: &Value| {
            let entries = list.as_array().into_iter().flatten();
            entries.map(|entry| format!("{} {}", entry["resource"], entry["state"])).collect()
        };
        let shown: Vec<String> = states(&list(&factory));
        assert_eq!(shown, [r#""apps/v1/deployments" "created""#, r#""v1/pods" "created""#]);
        factory.start();
        assert!(lease.informer().synced().await);
        let pods = &list(&factory)[1];
        assert_eq!((&pods["state"], &pods["objects"]), (&json!("synced"), &json!(1)), "{pods}");
        assert_eq!((&pods["lists"], &pods["resourceVersion"]), (&json!(1), &json!("1")), "{pods}");
        assert!(pods["bytes"].as_u64() > Some(0), "{pods}");
        assert_eq!(pods["metadataOnly"], json!(false), "{pods}");
        factory.shutdown().await;
    }
}
