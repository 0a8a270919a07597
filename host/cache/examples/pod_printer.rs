//! Prints what happens to a resource of the current kubeconfig context, `v1/pods` by default:
//! `cargo run -p informant-cache --example pod_printer -- apps/v1/deployments`.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use informant_cache::{
    ApiServer, Cause, FactoryOptions, FinalState, Object, ResourceEventHandler,
    SharedInformerFactory, WatchFailure,
};
use std::sync::Arc;
use std::time::Duration;

struct Printer;

impl ResourceEventHandler for Printer {
    fn on_add(&self, object: &Object, cause: Cause) {
        println!("added {} {} {:?}", object.key(), object.resource_version(), cause.reason);
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        let (from, to) = (old.resource_version(), new.resource_version());
        println!("updated {} {from} -> {to} {:?}", new.key(), cause.reason);
    }

    fn on_delete(&self, last: &Object, final_state: FinalState, cause: Cause) {
        let resource_version = last.resource_version();
        println!("deleted {} {resource_version} {final_state:?} {:?}", last.key(), cause.reason);
    }

    fn on_synced(&self) {
        println!("synced");
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let resource = std::env::args().nth(1).unwrap_or_else(|| "v1/pods".to_owned()).parse()?;
    let mut config = kube::Config::infer().await?;
    config.default_retry = false;
    let source = ApiServer::new(kube::Client::try_from(config)?);
    let report = |failure: &WatchFailure<'_>| println!("{}: {}", failure.error, failure.next);
    let options =
        FactoryOptions { watch_error_handler: Some(Arc::new(report)), ..Default::default() };
    let factory = SharedInformerFactory::new(Arc::new(source), options);
    let informer = factory.for_resource(&resource);
    let _registration = informer.add_event_handler(Arc::new(Printer));
    factory.start();
    if let Err(error) = factory.wait_for_cache_sync(Duration::from_secs(30)).await {
        println!("{error}");
    }
    tokio::signal::ctrl_c().await?;
    factory.shutdown().await;
    println!("{:?}", informer.stats());
    Ok(())
}
