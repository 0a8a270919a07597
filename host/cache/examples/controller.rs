//! A controller: each namespace with the label `sandbox` gets a Pod Security level, unless it has one.
//!
//! `cargo run -p informant-cache --example controller`

use informant_cache::k8s_openapi::api::core::v1::Namespace;
use informant_cache::kube::api::{Api, Patch, PatchParams};
use informant_cache::kube::{Client, ResourceExt};
use informant_cache::workqueue::{
    Action, Controller, ControllerOptions, WorkQueue, WorkQueueOptions,
};
use informant_cache::{
    ApiServer, FactoryOptions, Lister, ResourceEventHandlerFuncs, SharedInformerFactory,
};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const LEVEL: &str = "pod-security.kubernetes.io/enforce";

/// Runs until `shutdown` is ready.
pub async fn run(client: Client, shutdown: impl Future<Output = ()>) -> anyhow::Result<()> {
    let api = Api::<Namespace>::all(client.clone());
    let source = Arc::new(ApiServer::new(client));
    let factory = SharedInformerFactory::new(source, FactoryOptions::default());
    let informer = factory.informer_for::<Namespace>();
    let queue = WorkQueue::new("namespaces", WorkQueueOptions::default());
    let (added, updated) = (queue.clone(), queue.clone());
    let handler = ResourceEventHandlerFuncs::<Namespace>::default()
        .add_func(move |namespace, _| added.add(namespace.name_any()))
        .update_func(move |_, namespace, _| updated.add(namespace.name_any()));
    let _registration = informer.add_event_handler(Arc::new(handler));
    factory.start();
    factory.wait_for_cache_sync(Duration::from_secs(30)).await?;

    let namespaces = Lister::<Namespace>::new(informer.indexer());
    let reconcile = move |name: String| {
        let (api, found) = (api.clone(), namespaces.namespace("").get(&name));
        async move {
            if let Some(namespace) = found?
                && namespace.labels().contains_key("sandbox")
                && !namespace.labels().contains_key(LEVEL)
            {
                let labels = json!({"metadata": {"labels": {LEVEL: "restricted"}}});
                api.patch(&name, &PatchParams::default(), &Patch::Merge(labels)).await?;
            }
            anyhow::Ok(Action::await_change())
        }
    };
    Controller::new(queue, ControllerOptions::default()).run(reconcile, shutdown).await;
    factory.shutdown().await;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    run(Client::try_default().await?, async { drop(tokio::signal::ctrl_c().await) }).await
}
