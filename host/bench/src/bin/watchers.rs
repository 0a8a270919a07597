//! Measures many watchers of one resource at the host's Kubernetes API. See `host/bench/README.md`.

use std::time::Duration;

use clap::Parser;
use informant_bench::machine::machine;
use informant_bench::programs::Programs;
use informant_bench::session::say;
use informant_bench::watchers::{WatchersScale, measure};

/// Measures watchers of all pods at the host's Kubernetes API: the latency of each change, and its cost.
#[derive(Parser)]
struct Args {
    /// Watchers at once; the host takes at most 256.
    #[arg(long, default_value_t = 200)]
    watchers: usize,
    /// Pods in the cluster.
    #[arg(long, default_value_t = 10_000)]
    pods: u32,
    /// Changes in a second.
    #[arg(long, default_value_t = 500)]
    rate: u32,
    /// Seconds of the changes that count.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Args { watchers, pods, rate, seconds } = Args::parse();
    let time = Duration::from_secs(seconds);
    let scale = WatchersScale { watchers, pods, per_second: rate, time };
    let watched = measure(&scale, &Programs::find()?).await?;
    let [before, peak] = watched.resident.map(|bytes| bytes as f64 / f64::from(1 << 20));
    say(&format!(
        "{watchers} watchers of {pods} pods, {} changes at {rate} a second, on {}",
        watched.changes,
        machine()
    ))?;
    say(&format!("latency: {}", watched.latencies))?;
    say(&format!("processor time of the host for one change: {:.1?}", watched.cpu_of_change))?;
    say(&format!("memory of the host: {before:.1} MiB before, at most {peak:.1} MiB with them"))?;
    say(&format!("watches at the cluster's API server: {}", watched.upstream_watches))
}
