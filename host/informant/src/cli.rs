//! The command line as it is typed.

use clap::{Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// React to what happens in a Kubernetes cluster with WebAssembly plugins that are replaced while they run.
#[derive(Parser, Debug)]
#[command(name = "informant", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Watch a cluster and run the plugins of a directory.
    ///
    /// The cluster is the one that kubectl would talk to; inside a pod, the pod's own.
    Run(RunArgs),
    /// Try plugins: host and an embedded cluster with life in it, in one process.
    ///
    /// With --kubeconfig or --context, a real cluster takes the embedded one's place.
    Dev(DevArgs),
    /// Run the embedded cluster alone: a Kubernetes API in memory that kubectl works against.
    Cluster(ClusterArgs),
}

#[derive(clap::Args, Debug)]
pub(crate) struct RunArgs {
    /// Directory of plugin files. A file that is dropped in, replaced or removed takes effect at once.
    #[arg(long, value_name = "DIR", default_value = "./plugins")]
    pub(crate) plugins: PathBuf,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(clap::Args, Debug)]
pub(crate) struct DevArgs {
    /// Directories of plugin files.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Changes a second that the embedded cluster's workloads make, about; 0 leaves it to you.
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    pub(crate) traffic: f64,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ClusterArgs {
    /// Address to listen on; port 0 picks a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Where to write the kubeconfig.
    #[arg(long, value_name = "FILE", default_value = "./informant.kubeconfig")]
    pub(crate) write_kubeconfig: PathBuf,
    /// Changes a second that the cluster's workloads make, about; 0 leaves it to you.
    #[arg(long, value_name = "N", default_value_t = 0.0)]
    pub(crate) traffic: f64,
    /// How logs are written.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
}

/// Which cluster.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct ConnectionArgs {
    /// Kubeconfig file of a real cluster. `run` takes the one that kubectl would else (KUBECONFIG, ~/.kube/config),
    /// or the pod's service account; `dev` its embedded cluster.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; else its current one.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// What the host shows.
#[derive(clap::Args, Debug)]
pub(crate) struct ServeArgs {
    /// Address of the HTTP server. Any address but loopback serves health and metrics only.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8888")]
    pub(crate) listen: SocketAddr,
    /// How logs are written.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// One line each, for people.
    Text,
    /// One JSON object each, for machines.
    Json,
}

/// Shows an error as clap shows its own.
#[expect(clippy::print_stderr, reason = "the one place where the program's failure is said")]
pub(crate) fn print_error(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}
