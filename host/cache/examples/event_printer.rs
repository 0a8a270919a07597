//! Prints what happens to pods, and all pods there are once the cache has synced.
//!
//! `cargo run -p informant-cache --example event_printer`
//!
//! Shows the least that a program does: a factory, an informer of it, a handler, start, wait, read.

mod connect;

use clap::Parser;
use connect::{ClusterArgs, Failure, Output, SYNC_DEADLINE};
use informant_cache::{
    ApiServer, Cause, FactoryOptions, FinalState, LabelSelector, Object, ResourceEventHandler,
    SharedInformerFactory,
};
use k8s_openapi::api::core::v1::Pod;
use std::sync::Arc;

/// Prints what happens to pods, until Ctrl-C.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,
}

struct Printer {
    out: Output,
}

impl ResourceEventHandler for Printer {
    fn on_add(&self, object: &Object, _: Cause) {
        (self.out)(format!("AddFunc: {}", object.key().name()));
    }

    fn on_update(&self, old: &Object, new: &Object, _: Cause) {
        (self.out)(format!("old: {}", old.key().name()));
        (self.out)(format!("new: {}", new.key().name()));
    }

    fn on_delete(&self, last: &Object, _: FinalState, _: Cause) {
        (self.out)(format!("deleteFunc: {}", last.key().name()));
    }
}

/// The program, but for the command line.
pub async fn run(
    client: kube::Client,
    out: Output,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let source = Arc::new(ApiServer::new(client));
    let factory = SharedInformerFactory::new(source, FactoryOptions::default());
    let pods = factory.informer_for::<Pod>();
    // Dropping the registration would remove the handler.
    let _registration = pods.add_event_handler(Arc::new(Printer { out: out.clone() }));
    factory.start();
    let synced = factory.wait_for_cache_sync(SYNC_DEADLINE).await;
    if synced.is_ok() {
        for pod in pods.indexer().list(None, &LabelSelector::default(), 0, None)?.items {
            out(format!("namespace: {}, name: {}", pod.key().namespace(), pod.key().name()));
        }
        shutdown.await;
    }
    factory.shutdown().await;
    Ok(synced?)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args = Args::parse();
    connect::log_to_stderr();
    run(args.cluster.client().await?, connect::screen(), connect::interrupted()).await
}
