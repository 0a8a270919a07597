//! Prints every node as it is added, then all of them with what only a typed object knows.
//!
//! `cargo run -p informant-cache --example node_informer`
//!
//! Shows an informer without a factory, a typed lister, and a wait that ends with a reason. A handler's panic is logged
//! and harms nobody, so nothing like client-go's `HandleCrash` is needed.

mod connect;

use clap::Parser;
use connect::{ClusterArgs, Failure, Output, SYNC_DEADLINE};
use informant_cache::{
    ApiServer, Cause, FinalState, GroupVersionResource, InformerOptions, LabelSelector, Lister,
    ListerWatcherSource, Object, Part, ResourceEventHandler, SharedIndexInformer,
};
use k8s_openapi::api::core::v1::Node;
use std::sync::Arc;

/// Prints the nodes of a cluster, and those that join, until Ctrl-C.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,
}

struct Joined {
    out: Output,
}

impl ResourceEventHandler for Joined {
    fn on_add(&self, node: &Object, _: Cause) {
        (self.out)(format!("add a node: {}", node.key().name()));
    }

    fn on_update(&self, _: &Object, _: &Object, _: Cause) {}

    fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {}
}

/// The program, but for the command line.
pub async fn run(
    client: kube::Client,
    out: Output,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let resource = GroupVersionResource::new("", "v1", "nodes");
    let nodes = ApiServer::new(client).lister_watcher(&resource, &Part::all());
    let informer = SharedIndexInformer::new(resource, nodes, InformerOptions::default());
    let _registration = informer.add_event_handler(Arc::new(Joined { out: out.clone() }));
    let read = async {
        if tokio::time::timeout(SYNC_DEADLINE, informer.synced()).await != Ok(true) {
            return Err(format!("nodes did not sync in {SYNC_DEADLINE:?}: {:?}", informer.state()));
        }
        Ok(Lister::<Node>::new(informer.indexer()))
    };
    let lead = async {
        let lister = read.await.map_err(Failure::msg)?;
        for node in lister.list(&LabelSelector::default())? {
            let name = node.metadata.name.unwrap_or_default();
            let info = node.status.and_then(|status| status.node_info);
            let version = info.map_or("unknown".to_owned(), |info| info.kubelet_version);
            out(format!("node: {name}, kubelet: {version}"));
        }
        shutdown.await;
        Ok(())
    };
    // The informer runs as long as there is something to do beside it.
    let mut ended = Ok(());
    informer.run(async { ended = lead.await }).await;
    ended
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args = Args::parse();
    connect::log_to_stderr();
    run(args.cluster.client().await?, connect::screen(), connect::interrupted()).await
}
