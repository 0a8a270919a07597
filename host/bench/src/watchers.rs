//! Many watchers of one resource, through the Kubernetes API that the host serves from its cache.
//!
//! The load server stamps each change with its time. A watcher notes how long after that time the change arrived.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use informant_e2e::host::Host;
use informant_e2e::percentiles::Percentiles;
use informant_e2e::{http, paths, poll, process_stats};
use memchr::memmem::Finder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::load::Load;
use crate::load_server::Layout;
use crate::load_server::STAMP_ANNOTATION;
use crate::programs::Programs;

/// Digits of a stamp: nanoseconds since 1970.
const STAMP_DIGITS: usize = 19;
/// Changes before those that count. The first ones find everything cold.
const WARM: Duration = Duration::from_secs(1);
/// The longest wait for the first list, and for the last change.
const DEADLINE: Duration = Duration::from_secs(120);
const SYNCED: &str = "informant_informer_synced{resource=\"v1/pods\"}";
const READ_BYTES: usize = 64 << 10;

/// The sizes of a run.
#[derive(Clone, Copy, Debug)]
pub struct WatchersScale {
    /// Watchers at once.
    pub watchers: usize,
    /// Pods in the cluster.
    pub pods: u32,
    /// Changes of the cluster in a second.
    pub per_second: u32,
    /// The time of the changes that count.
    pub time: Duration,
}

/// The result of a run.
#[derive(Debug)]
pub struct Watched {
    /// Changes that each watcher got.
    pub changes: u64,
    /// Of all changes, at all watchers.
    pub latencies: Percentiles,
    /// The host's processor time for one change, with all watchers.
    pub cpu_of_change: Duration,
    /// Bytes of the host's resident memory before the watchers, and its peak with them.
    pub resident: [u64; 2],
    /// Watches that the cluster's API server had open, with all watchers.
    pub upstream_watches: u32,
}

/// Starts a cluster, the host with one plugin, and the watchers, and measures them.
pub async fn measure(scale: &WatchersScale, programs: &Programs) -> anyhow::Result<Watched> {
    let directory = tempfile::tempdir().context("a directory for the run")?;
    let load = Load::start(&programs.load_server(), None, Layout::default(), directory.path())?;
    load.pods(scale.pods)?;
    let host = start_host(&load, directory.path(), programs).await?;
    let before = process_stats::resident(host.id())?;
    let version = resource_version(host.address())?;
    let (ended, end) = watch::channel(u64::MAX);
    let mut watchers = JoinSet::new();
    for _ in 0..scale.watchers {
        let stream = open_watch(host.address(), &version).await?;
        watchers.spawn(read_stamps(stream, end.clone()));
    }
    process_stats::forget_peak(host.id())?;
    let warm = load.rate(scale.per_second, WARM)?.updates;
    let cpu = process_stats::cpu(host.id())?;
    let report = load.rate(scale.per_second, scale.time)?;
    // A watcher ends once it has this number of changes.
    ended.send(report.updates).context("no watcher is left")?;
    let mut latencies = Vec::new();
    while let Some(stamps) = tokio::time::timeout(DEADLINE, watchers.join_next()).await? {
        latencies.extend(stamps??.split_off(usize::try_from(warm)?));
    }
    let cpu = process_stats::cpu(host.id())? - cpu;
    latencies.sort_unstable();
    let changes = report.updates - warm;
    Ok(Watched {
        changes,
        latencies: Percentiles::of(&latencies),
        cpu_of_change: cpu / u32::try_from(changes)?,
        resident: [before, process_stats::peak(host.id())?],
        upstream_watches: report.watches,
    })
}

async fn start_host(load: &Load, directory: &Path, programs: &Programs) -> anyhow::Result<Host> {
    let plugins = directory.join("plugins");
    std::fs::create_dir(&plugins).context("a directory for plugins")?;
    let counter = paths::target_directory().join("plugins/counter.wasm");
    std::fs::copy(&counter, plugins.join("counter.wasm"))
        .with_context(|| format!("copy {}", counter.display()))?;
    let host = Host::start(&programs.informant(), load.kubeconfig(), &plugins, &[]).await?;
    let synced = async || {
        let metrics = host.get("/metrics").ok()?;
        (metrics.series(SYNCED)? == 1.0).then_some(())
    };
    poll::measured("the pods to be cached", DEADLINE, synced).await?;
    Ok(host)
}

/// The version of the cache's list, which the watches continue from.
fn resource_version(address: SocketAddr) -> anyhow::Result<String> {
    let list = http::get(address, "/api/v1/pods?fieldSelector=metadata.name%3Dnone")?;
    ensure!(list.status == 200, "the list of pods: {} {}", list.status, list.body);
    let version = list.json()["metadata"]["resourceVersion"].as_str().map(str::to_owned);
    version.context("the list has no resourceVersion")
}

async fn open_watch(address: SocketAddr, version: &str) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await.context("connect to the host")?;
    let request = format!(
        "GET /api/v1/pods?watch=true&resourceVersion={version} HTTP/1.1\r\nHost: {address}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.context("ask for a watch")?;
    Ok(stream)
}

/// The latency of each change of the stream, until it has so many as `end` says.
async fn read_stamps(
    mut stream: TcpStream,
    mut end: watch::Receiver<u64>,
) -> anyhow::Result<Vec<Duration>> {
    let begin = format!("\"{STAMP_ANNOTATION}\":\"");
    let finder = Finder::new(&begin);
    let (mut latencies, mut kept) = (Vec::new(), Vec::with_capacity(2 * READ_BYTES));
    while (latencies.len() as u64) < *end.borrow_and_update() {
        let read = tokio::select! {
            read = stream.read_buf(&mut kept) => read.context("read the watch")?,
            changed = end.changed() => { changed.context("the run was given up")?; continue }
        };
        ensure!(read > 0, "the host ended the watch: {}", String::from_utf8_lossy(&kept));
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let mut done = 0;
        while let Some(found) = finder.find(&kept[done..]) {
            let digits = done + found + begin.len();
            let Some(stamp) = kept.get(digits..digits + STAMP_DIGITS) else { break };
            let stamp = std::str::from_utf8(stamp)?.parse::<u64>()?;
            latencies.push(now.saturating_sub(Duration::from_nanos(stamp)));
            done = digits + STAMP_DIGITS;
        }
        // The rest may begin a stamp.
        let rest = done.max(kept.len().saturating_sub(begin.len() + STAMP_DIGITS));
        kept.drain(..rest);
    }
    Ok(latencies)
}
