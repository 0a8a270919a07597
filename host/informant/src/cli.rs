//! The command line as it is typed.

mod dev;
mod examples;
mod offline;
mod serve;

pub(crate) use dev::DevArgs;
pub(crate) use examples::parse;
pub(crate) use offline::{GoldenArgs, OfflineArgs, RecordArgs, ReplayArgs, TestArgs};
pub(crate) use serve::{AdminArgs, MetricsArgs, ServeArgs};

use crate::commands::{BuildArgs, NewArgs};
use crate::compiler::{CompileArgs, CompilerArgs};
use crate::project::BuildTimeArgs;
use clap::builder::NonEmptyStringValueParser;
use clap::{Parser, Subcommand, ValueEnum, value_parser};
use informant_apimachinery::GroupVersionResource;
use informant_runtime::StateDirectoryOptions;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

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
    /// Make plugins, look at those of a running host, and change what they do.
    Plugin(PluginArgs),
    /// Look at dead letters, the events that were given up on, send them again, throw them away.
    Dlq(DlqArgs),
    /// Play a recording back to a plugin: each run is the same byte for byte.
    ///
    /// What the plugin asks is answered as the recording has it; what that does not know is said, and answered as by a host that has nothing.
    Replay(ReplayArgs),
    /// Print what a host that runs these plugins needs of the API server: roles and their bindings, as YAML.
    ///
    /// A host lists and watches what its plugins subscribe to and read in the namespaces that they name, and everywhere where they name none or more
    /// than 64: there is a ClusterRole for that, and a Role in each of those. What they mean to write is among it as
    /// they say it. A plugin that the host's configuration does not let run is an error. What an earlier one allowed stays allowed: kubectl apply
    /// takes nothing away.
    Rbac(RbacArgs),
    /// Compile one plugin for the host that started this.
    #[command(hide = true)]
    CompilePlugin(CompileArgs),
}

#[derive(clap::Args, Debug)]
pub(crate) struct RunArgs {
    /// Directory of plugin files. A file that is dropped in, replaced or removed takes effect at once.
    #[arg(long, value_name = "DIR", default_value = "./plugins")]
    pub(crate) plugins: PathBuf,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
    #[command(flatten)]
    pub(crate) state: StateArgs,
    #[command(flatten)]
    pub(crate) outbound: OutboundArgs,
    #[command(flatten)]
    pub(crate) record: RecordArgs,
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
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

/// What whoever runs the host says of its plugins.
#[derive(clap::Args, Debug)]
pub(crate) struct ConfigArgs {
    /// File of kind HostConfiguration: defaults for plugins, what one of them runs with, and what none may go beyond. What stands in
    /// NAME.yaml beside a plugin's NAME.wasm is read without this.
    #[arg(long, value_name = "FILE", env = "INFORMANT_CONFIG")]
    pub(crate) config: Option<PathBuf>,
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

/// Plugins that act as service accounts.
#[derive(clap::Args, Debug)]
pub(crate) struct AccessArgs {
    /// Seconds after which the API server is asked again what the service accounts may read that plugins act as (`serviceAccount`). What it has
    /// allowed is allowed for five minutes longer if it cannot be asked then.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = value_parser!(u32).range(1..=3600))]
    pub(crate) access_review_period: u32,
}

impl AccessArgs {
    pub(crate) fn review_every(&self) -> Duration {
        Duration::from_secs(self.access_review_period.into())
    }
}

/// What outlives the host.
#[derive(clap::Args, Debug)]
pub(crate) struct StateArgs {
    /// Directory of this host's own, which nobody else may read or write, in which waiting retries, dead letters, pauses and plugins'
    /// own state outlive it. Without it they end with the host. With --leader-elect a host that leads again goes on with its own of the last time.
    #[arg(long, value_name = "DIR", env = "INFORMANT_STATE_DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Days for which that is kept of a plugin whose file is gone.
    #[arg(long, value_name = "DAYS", default_value_t = 30, requires = "state_dir")]
    pub(crate) state_keep_days: u32,
}

impl StateArgs {
    pub(crate) fn options(&self) -> Option<StateDirectoryOptions> {
        let keep_removed = Duration::from_secs(u64::from(self.state_keep_days) * 24 * 3_600);
        let directory = self.state_dir.clone()?;
        Some(StateDirectoryOptions { directory, keep_removed })
    }
}

/// What plugins that ask over HTTP are helped with.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct OutboundArgs {
    /// Directory with a file for each secret that the configuration has the host add to plugins' requests over HTTP, as a mounted Secret has it.
    #[arg(long, value_name = "DIR", env = "INFORMANT_SECRETS")]
    pub(crate) secrets: Option<PathBuf>,
    /// File of certificate authorities (PEM) that count beside the system's where plugins ask over HTTPS.
    #[arg(long, value_name = "FILE", env = "INFORMANT_HTTP_CA")]
    pub(crate) http_ca: Option<PathBuf>,
}

/// Of several hosts one leads. The names are those that Kubernetes' own components have.
#[derive(clap::Args, Debug)]
pub(crate) struct ElectionArgs {
    /// Run plugins only while this host holds a Lease. Of several hosts the others are on standby: their plugins are compiled, what those
    /// watch is synced, and one of them takes over when the Lease is given back or runs out. One that loses it ends.
    #[arg(long)]
    pub(crate) leader_elect: bool,
    /// Name of the Lease.
    #[arg(long, value_name = "NAME", default_value = "informant", requires = "leader_elect", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) leader_elect_resource_name: String,
    /// Namespace of the Lease [default: the pod's, or that of the kubeconfig's context].
    #[arg(long, value_name = "NAMESPACE", requires = "leader_elect", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) leader_elect_resource_namespace: Option<String>,
    /// Seconds without a renewal after which another host takes over.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, requires = "leader_elect")]
    pub(crate) leader_elect_lease_duration: u32,
    /// Seconds without a renewal after which this host stops leading and ends; fewer than the lease's.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, requires = "leader_elect")]
    pub(crate) leader_elect_renew_deadline: u32,
    /// Seconds between two tries.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, requires = "leader_elect")]
    pub(crate) leader_elect_retry_period: u32,
}

#[derive(clap::Args, Debug)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum PluginCommand {
    /// Make a project for a plugin: one that builds, tests and runs at once, with its SDK in it.
    New(NewArgs),
    /// Build a project's plugin with the language's own tool, and look at it as a host would.
    ///
    /// What stands in NAME.yaml in the project is put beside build/NAME.wasm.
    Build(BuildArgs),
    /// Look at plugin files as a host would load them; no host is needed. Fails if one cannot be a plugin.
    ///
    /// What a file needs and asks for is shown, with the line of a configuration that grants it. A plugin that would wait to be granted
    /// more is one all the same.
    Check(CheckArgs),
    /// Run a plugin without a host or a cluster: objects, events and answers come from files, and each run is the same byte for byte.
    ///
    /// Shown is a line for each call and for each thing that the plugin did. Writes are shown and not made, requests are answered from the events
    /// file, time passes as that says. With --golden what is shown is compared with a file, and a difference fails.
    Test(TestArgs),
    /// What every plugin is doing.
    List(AskArgs),
    /// What the host holds and has done for every plugin: memory, time, log and disk, the largest first.
    Top(AskArgs),
    /// Load the plugin's file again.
    Reload(OnePlugin),
    /// Put the version before in charge; once more to go back.
    Rollback(OnePlugin),
    /// Let its events wait. New versions are loaded all the same.
    Pause(OnePlugin),
    /// Let it go on, also one that was tripped because it failed too often.
    Resume(OnePlugin),
}

#[derive(clap::Args, Debug)]
pub(crate) struct CheckArgs {
    /// Plugin files. What stands in NAME.yaml beside NAME.wasm counts as it would for a host.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
    /// How the answer is shown.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(clap::Args, Debug)]
pub(crate) struct RbacArgs {
    /// Plugin files, and directories of them.
    #[arg(value_name = "PATH", required_unless_present = "resources")]
    pub(crate) paths: Vec<PathBuf>,
    /// Add a resource that the HTTP API is asked for, in all namespaces, as v1/pods or
    /// apps/v1/deployments. May be repeated.
    #[arg(long = "resource", value_name = "RESOURCE", value_parser = served_resource)]
    pub(crate) resources: Vec<GroupVersionResource>,
    /// Name of the role and its binding.
    #[arg(long, value_name = "NAME", default_value = "informant", value_parser = object_name)]
    pub(crate) name: String,
    /// The service account that the host runs as.
    #[arg(long, value_name = "NAME", default_value = "informant", value_parser = object_name)]
    pub(crate) service_account: String,
    /// The service account's namespace.
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = object_name)]
    pub(crate) namespace: String,
    /// Add what `run --leader-elect` needs: a Role for the Lease `informant` in that namespace.
    #[arg(long)]
    pub(crate) leader_elect: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
}

/// A resource that the HTTP API serves. `core/v1/pods`, as its paths have it, is `v1/pods`.
fn served_resource(text: &str) -> Result<GroupVersionResource, String> {
    let text = text.strip_prefix("core/").unwrap_or(text);
    let gvr: GroupVersionResource = text.parse().map_err(|error| format!("{error}"))?;
    match gvr.is_secrets() {
        true => Err("the HTTP API does not serve Secrets; leave it out".to_owned()),
        false => Ok(gvr),
    }
}

/// What Kubernetes takes as the name of an object.
fn object_name(text: &str) -> Result<String, String> {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_name = (1..=253).contains(&text.len())
        && text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || c == '-' || c == '.');
    let problem =
        "use up to 253 small letters, digits, '-' and '.', with a letter or digit at both ends";
    is_name.then(|| text.to_owned()).ok_or_else(|| problem.to_owned())
}

#[derive(clap::Args, Debug)]
pub(crate) struct DlqArgs {
    #[command(subcommand)]
    pub(crate) command: DlqCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum DlqCommand {
    /// The dead letters of a plugin, oldest first.
    List(OnePlugin),
    /// One dead letter with its object, as JSON.
    Show {
        #[command(flatten)]
        plugin: OnePlugin,
        /// The letter's number.
        id: u64,
    },
    /// Tell the plugin the present state of the letters' objects.
    Redrive(LettersArgs),
    /// Throw letters away.
    Purge(LettersArgs),
}

#[derive(clap::Args, Debug)]
pub(crate) struct LettersArgs {
    #[command(flatten)]
    pub(crate) plugin: OnePlugin,
    /// The letters' numbers.
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub(crate) ids: Vec<u64>,
    /// All letters of the plugin.
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct OnePlugin {
    /// The plugin's name: its file's without .wasm.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

/// Whom to ask, and how to show the answer.
#[derive(clap::Args, Debug)]
pub(crate) struct AskArgs {
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
    /// How the answer is shown.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// For machines.
    Json,
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
