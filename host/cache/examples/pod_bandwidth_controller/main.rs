//! A controller: when the bandwidth annotations of a pod change, the new limits are set.
//!
//! `ENABLE_PODLIMIT=true cargo run -p informant-cache --example pod_bandwidth_controller`
//!
//! Shows everything that a controller is made of: an informer feeds a rate-limited work queue of keys, workers reconcile them,
//! and only the leader of several replicas does so. A replica that becomes leader looks at every pod once,
//! for what changed while nobody led was told to nobody.

#[path = "../connect/mod.rs"]
mod connect;

use clap::Parser;
use connect::{ClusterArgs, Failure, Output, SYNC_DEADLINE};
use informant_apimachinery::quantity;
use informant_cache::leader_election::{
    LeaderElectionConfig, LeaderElector, Leadership, unique_identity,
};
use informant_cache::workqueue::{
    Action, AddOptions, Controller, ControllerOptions, Lane, WorkQueue, WorkQueueOptions,
};
use informant_cache::{
    ApiServer, Cause, FactoryOptions, FinalState, Indexer, LabelSelector, Lister, Object,
    ObjectKey, ResourceEventHandler, SharedInformerFactory,
};
use k8s_openapi::api::core::v1::Pod;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

const INGRESS: &str = "kubernetes.io/ingress-bandwidth";
const EGRESS: &str = "kubernetes.io/egress-bandwidth";

/// Sets the bandwidth of pods from their annotations, until Ctrl-C.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    settings: Settings,
}

/// How it works.
#[derive(clap::Args, Clone, Debug)]
pub struct Settings {
    /// Nothing is done without it.
    #[arg(long, env = "ENABLE_PODLIMIT")]
    pub enable_podlimit: bool,
    /// Pods that are worked on at once.
    #[arg(long, default_value_t = 2)]
    pub workers: usize,
    /// Where the Lease is by which replicas agree on a leader.
    #[arg(long, default_value = "default")]
    pub lease_namespace: String,
}

/// What a pod may send and receive, in bits a second; none: as much as it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bandwidth {
    /// Towards the pod.
    pub ingress: Option<u64>,
    /// Away from it.
    pub egress: Option<u64>,
}

/// Where limits are set: on a real node this speaks to the network.
pub trait Network: Send + Sync + 'static {
    /// Sets both limits of the pod `namespace/name`; setting them again changes nothing.
    fn set_bandwidth(&self, pod: &str, bandwidth: Bandwidth) -> Result<(), String>;
}

fn bandwidth(
    annotations: &BTreeMap<String, String>,
) -> Result<Bandwidth, quantity::ParseQuantityError> {
    let limit = |key| annotations.get(key).map(|text| quantity::parse_rounded_up(text)).transpose();
    Ok(Bandwidth { ingress: limit(INGRESS)?, egress: limit(EGRESS)? })
}

fn bandwidth_of(pod: &Object) -> Result<Bandwidth, Failure> {
    #[derive(serde::Deserialize)]
    struct Annotated {
        metadata: Metadata,
    }
    #[derive(serde::Deserialize)]
    struct Metadata {
        #[serde(default)]
        annotations: BTreeMap<String, String>,
    }
    let pod: Annotated = serde_json::from_slice(&pod.json())?;
    Ok(bandwidth(&pod.metadata.annotations)?)
}

/// Queues the keys of pods whose limits changed.
struct PodUpdates {
    enabled: bool,
    leadership: Leadership,
    queue: WorkQueue<String>,
    out: Output,
}

impl ResourceEventHandler for PodUpdates {
    fn on_add(&self, _: &Object, _: Cause) {}

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        // Equal versions are a resync: nothing changed.
        let resync = old.resource_version() == new.resource_version();
        if !self.enabled || !self.leadership.is_leader() || resync {
            return;
        }
        match (bandwidth_of(old), bandwidth_of(new)) {
            (Ok(old), Ok(new)) if old == new => {}
            (_, Ok(_)) => {
                let options = AddOptions { lane: cause.reason.into(), ..AddOptions::default() };
                self.queue.add_with(new.key().to_string(), options);
            }
            (_, Err(error)) => (self.out)(format!("pod {}: {error}", new.key())),
        }
    }

    fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {}
}

/// One pod; called by one worker at a time for each key.
fn sync_pod(
    key: &str,
    pods: &Lister<Pod>,
    network: &dyn Network,
    out: &Output,
) -> Result<Action, Failure> {
    let start = Instant::now();
    let object: ObjectKey = key.parse()?;
    match pods.namespace(object.namespace()).get(object.name())? {
        None => out(format!("pod {key} is gone")),
        Some(pod) => {
            let limits = bandwidth(&pod.metadata.annotations.unwrap_or_default())?;
            network.set_bandwidth(key, limits).map_err(Failure::msg)?;
            out(format!("synced pod {key} in {:?}", start.elapsed()));
        }
    }
    Ok(Action::await_change())
}

/// The program, but for the command line.
pub async fn run(
    client: kube::Client,
    settings: Settings,
    network: Arc<dyn Network>,
    out: Output,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let api_server = ApiServer::new(client);
    let lock = api_server.lease_lock(&settings.lease_namespace, "pod-bandwidth-controller");
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "local".to_owned());
    let config = LeaderElectionConfig::new(unique_identity(&host));
    let elector = LeaderElector::new(Arc::new(lock), config)?;

    let factory = SharedInformerFactory::new(Arc::new(api_server), FactoryOptions::default());
    let informer = factory.informer_for::<Pod>();
    let replica = Replica {
        settings,
        leadership: elector.leadership(),
        indexer: informer.indexer(),
        queue: WorkQueue::new("podUpdateQueue", WorkQueueOptions::default()),
        out,
    };
    let updates = PodUpdates {
        enabled: replica.settings.enable_podlimit,
        leadership: replica.leadership.clone(),
        queue: replica.queue.clone(),
        out: replica.out.clone(),
    };
    let _registration = informer.add_event_handler(Arc::new(updates));
    factory.start();
    let mut ended = factory.wait_for_cache_sync(SYNC_DEADLINE).await.map_err(Failure::from);
    if ended.is_ok() {
        ended = replica.control(elector, network, shutdown).await;
    }
    factory.shutdown().await;
    ended
}

/// One of several processes, of which the leader works.
struct Replica {
    settings: Settings,
    leadership: Leadership,
    indexer: Indexer,
    queue: WorkQueue<String>,
    out: Output,
}

impl Replica {
    async fn control(
        &self,
        elector: LeaderElector,
        network: Arc<dyn Network>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), Failure> {
        let stop = CancellationToken::new();
        let electing = tokio::spawn(elector.run(stop.clone().cancelled_owned()));
        let lister = Lister::<Pod>::new(self.indexer.clone());
        let (leadership, out) = (self.leadership.clone(), self.out.clone());
        let reconcile = move |key: String| {
            // Whoever leads now looks at every pod anyway.
            let mut result = Ok(Action::await_change());
            if leadership.is_leader() {
                result = sync_pod(&key, &lister, &*network, &out);
            }
            async { result }
        };
        let ended = async {
            // In this order: the end is not put off by a look at all pods.
            tokio::select! {
                biased;
                () = shutdown => {}
                () = self.look_at_all() => {}
            }
        };
        let workers = self.settings.workers;
        let options = ControllerOptions { workers, ..ControllerOptions::default() };
        let stopped = Controller::new(self.queue.clone(), options).run(reconcile, ended).await;
        (self.out)(format!("stopped with {} pods left over", stopped.leftovers.len()));
        // Only now may another begin.
        stop.cancel();
        Ok(electing.await?)
    }

    /// Queues every pod that has limits, in the background lane, whenever this process becomes leader. Never ends.
    async fn look_at_all(&self) {
        loop {
            let term = self.leadership.acquired().await;
            (self.out)(format!("leading, term {}", term.transitions));
            let all = self.indexer.list(None, &LabelSelector::default(), 0, None);
            let enabled = self.settings.enable_podlimit;
            for pod in all.into_iter().flat_map(|page| page.items).filter(|_| enabled) {
                match bandwidth_of(&pod) {
                    Ok(bandwidth) if bandwidth == Bandwidth::default() => {}
                    Ok(_) => {
                        let lane = Lane::Background;
                        let options = AddOptions { lane, ..AddOptions::default() };
                        self.queue.add_with(pod.key().to_string(), options);
                    }
                    Err(error) => (self.out)(format!("pod {}: {error}", pod.key())),
                }
            }
            self.leadership.lost().await;
            (self.out)("leading no more".to_owned());
        }
    }
}

/// Says what it would set.
struct DryRun(Output);

impl Network for DryRun {
    fn set_bandwidth(
        &self,
        pod: &str,
        Bandwidth { ingress, egress }: Bandwidth,
    ) -> Result<(), String> {
        let shown =
            |limit: Option<u64>| limit.map_or("no limit".to_owned(), |bits| bits.to_string());
        (self.0)(format!("{pod}: ingress {}, egress {}", shown(ingress), shown(egress)));
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args = Args::parse();
    connect::log_to_stderr();
    let client = args.cluster.client().await?;
    let network = Arc::new(DryRun(connect::screen()));
    run(client, args.settings, network, connect::screen(), connect::interrupted()).await
}
