//! The load server as a process: `bench-load-server --pods 20000`, then commands as its `control.rs` lists them.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use informant_bench::load_server::{self, Options};

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
    let Args { api, control, pods, workloads, seed, encoder, resources, objects } = args;
    let options = Options { api, control, pods, workloads, seed, encoder, resources, objects };
    load_server::run(options, |api, control| {
        let _ = writeln!(std::io::stdout(), "READY {api} {control}");
    })
    .await
}
