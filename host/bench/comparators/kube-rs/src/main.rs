//! kube-rs' informer, as a contender of the benchmark: a watcher, a store behind it, typed pods without `managedFields`,
//! handlers that count. With `--process` the handler is a process for each event, as in programs that run hooks.

mod counts;
mod process;

use std::io::Write;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use counts::Counts;
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};
use kube_runtime::WatchStreamExt;
use kube_runtime::reflector::store::Writer;
use kube_runtime::reflector::{self, ReflectHandle};
use kube_runtime::watcher::{self, Event};
use tokio::net::TcpListener;

/// What the broadcast to several handlers may hold back, in events.
const SHARED_EVENTS_MAX: usize = 1_024;

#[derive(Parser)]
struct Args {
    /// The cluster.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// How the first list is asked for.
    #[arg(long, value_enum, default_value_t = InitialList::Stream)]
    initial_list: InitialList,
    /// Handlers of the one informer.
    #[arg(long, default_value_t = 1)]
    handlers: usize,
    /// Each handler compares the namespace first and counts its own: ns-0, ns-1 and so on.
    #[arg(long)]
    own_namespaces: bool,
    /// Starts a process for each event.
    #[arg(long)]
    process: bool,
    /// Keeps a hash of each event's object for /events.
    #[arg(long)]
    compare: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InitialList {
    /// As a watch (`sendInitialEvents`).
    Stream,
    /// Page after page of 500, as kube-rs does by itself.
    Pages,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let kubeconfig = Kubeconfig::read_from(&args.kubeconfig).context("read the kubeconfig")?;
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    // A quiet watch is no dead one.
    config.read_timeout = None;
    let pods: Api<Pod> = Api::all(Client::try_from(config)?);
    let watcher_config = match args.initial_list {
        InitialList::Stream => watcher::Config::default().streaming_lists(),
        InitialList::Pages => watcher::Config::default(),
    };
    let events = kube_runtime::watcher(pods, watcher_config).default_backoff().modify(|pod| {
        pod.managed_fields_mut().clear();
    });
    let counts = Arc::new(Counts::new(args.compare));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let _ = writeln!(std::io::stdout(), "READY {}", listener.local_addr()?);
    let served = tokio::spawn(counts::serve(listener, counts.clone()));
    match (args.process, args.handlers) {
        (true, _) => follow_with_processes(events, &counts).await,
        (false, 1) if !args.own_namespaces => {
            follow(events, reflector::store().1, &counts, true).await
        }
        (false, handlers) => {
            let (_, writer) = reflector::store_shared(SHARED_EVENTS_MAX);
            for number in 0..handlers {
                let handle = writer.subscribe().context("the store is not shared")?;
                let namespace = args.own_namespaces.then(|| format!("ns-{number}"));
                tokio::spawn(follow_shared(handle, counts.clone(), namespace));
            }
            follow(events, writer, &counts, false).await;
        }
    }
    served.abort();
    Ok(())
}

/// The one handler, on the stream of the events themselves. Where there are others it only keeps the stream going.
async fn follow(
    events: impl Stream<Item = watcher::Result<Event<Pod>>>,
    writer: Writer<Pod>,
    counts: &Counts,
    handles: bool,
) {
    let mut events = pin!(kube_runtime::reflector(writer, events));
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::InitDone) => counts.set_synced(),
            Ok(event) if handles => counts.count(&event),
            Ok(_) => {}
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "{error}");
            }
        }
    }
}

async fn follow_shared(
    mut pods: ReflectHandle<Pod>,
    counts: Arc<Counts>,
    namespace: Option<String>,
) {
    while let Some(pod) = pods.next().await {
        if namespace.is_none() || namespace == pod.metadata.namespace {
            counts.updated(&pod);
        }
    }
}

async fn follow_with_processes(
    events: impl Stream<Item = watcher::Result<Event<Pod>>>,
    counts: &Counts,
) {
    let mut events = pin!(kube_runtime::reflector(reflector::store().1, events));
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::InitDone) => counts.set_synced(),
            // The first list comes as one input there, too.
            Ok(event @ Event::Apply(_)) => match process::run(&event).await {
                Ok(()) => counts.count(&event),
                Err(error) => {
                    let _ = writeln!(std::io::stderr(), "{error:#}");
                }
            },
            Ok(event) => counts.count(&event),
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "{error}");
            }
        }
    }
}
