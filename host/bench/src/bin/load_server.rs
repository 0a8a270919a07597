//! The load server as a process: `bench-load-server --pods 20000`, then commands as its `control.rs` lists them.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use informant_bench::load_server::{self, Layout, Options};

/// A cluster of pods that costs its server next to nothing.
#[derive(Parser)]
struct Args {
    /// Where the Kubernetes API is served.
    #[arg(long, default_value = "127.0.0.1:0")]
    api: SocketAddr,
    /// Where commands are taken.
    #[arg(long, default_value = "127.0.0.1:0")]
    control: SocketAddr,
    /// Pods at the begin.
    #[arg(long, default_value_t = 0)]
    pods: u32,
    /// Workloads, among which pods are shared out evenly.
    #[arg(long, default_value_t = 500)]
    workloads: usize,
    /// Namespaces `ns-0` and so on, among which pods are shared out evenly; with 0 pods are in those of their workloads.
    #[arg(long, default_value_t = 0)]
    namespaces: usize,
    /// The pods of one workload in so many have the label `bench.informant.dev/chosen: yes`; with 0 none has.
    #[arg(long, default_value_t = 0)]
    chosen: usize,
    /// What every pod follows from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The program that turns pods in JSON into protobuf (`bench-client-go`); without it there is none.
    #[arg(long)]
    encoder: Option<PathBuf>,
    /// Resources beside pods: `bench.dev/v1/r00` and so on.
    #[arg(long, default_value_t = 0)]
    resources: u32,
    /// Objects of each of them; they look like pods.
    #[arg(long, default_value_t = 0)]
    objects: u32,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let Args { api, control, pods, workloads, namespaces, chosen, seed, .. } = args;
    let Args { encoder, resources, objects, .. } = args;
    let layout = Layout { namespaces, chosen };
    let options =
        Options { api, control, pods, workloads, layout, seed, encoder, resources, objects };
    load_server::run(options, |api, control| {
        let _ = writeln!(std::io::stdout(), "READY {api} {control}");
    })
    .await
}
