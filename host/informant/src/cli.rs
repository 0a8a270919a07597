//! The command line: commands and arguments.

mod dev;
mod dlq;
mod examples;
mod generated;
mod get;
mod host;
mod list;
mod offline;
mod otlp;
#[cfg(test)]
mod page;
mod project;
mod serve;
mod tail;
mod top;
mod why;

pub(crate) use dev::DevArgs;
pub(crate) use dlq::{DlqArgs, DlqCommand, LettersArgs};
pub(crate) use examples::{parse, visible_commands};
pub(crate) use generated::{CompletionArgs, ExplainArgs, ManArgs};
pub(crate) use get::GetArgs;
pub(crate) use host::HostArgs;
pub(crate) use list::{DescribeArgs, ListOfPlugin, ListOfPlugins, ListOutput};
pub(crate) use offline::{GoldenArgs, OfflineArgs, RecordArgs, ReplayArgs, TestArgs};
pub(crate) use otlp::OtlpArgs;
pub(crate) use project::{BuildArgs, NewArgs};
pub(crate) use serve::{AdminArgs, MetricsArgs, SecureArgs, ServeArgs};
pub(crate) use tail::TailArgs;
pub(crate) use top::{SortKey, TopArgs, TopOutput, TopTable};
pub(crate) use why::WhyArgs;

use crate::compiler::{CompileArgs, CompilerArgs};
use crate::logging::LogArgs;
use crate::project::BuildTimeArgs;
use clap::builder::NonEmptyStringValueParser;
use clap::{Parser, Subcommand, ValueEnum, value_parser};
use informant_apimachinery::GroupVersionResource;
use informant_runtime::StateDirectoryOptions;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Run WebAssembly plugins that react to changes in a Kubernetes cluster, and replace them while they run.
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
    /// The cluster is kubectl's current one; in a Pod, the cluster of the Pod.
    Run(RunArgs),
    /// Try plugins in one process with an embedded cluster, whose workloads change all the time.
    ///
    /// --kubeconfig or --context name a real cluster in its place.
    Dev(DevArgs),
    /// Run the embedded cluster alone: a Kubernetes API in memory, for kubectl and for tests.
    Cluster(ClusterArgs),
    /// Make, build and test plugins; show, pause and reload the plugins of a running host.
    Plugin(PluginArgs),
    /// Show the work and the memory of each plugin and informer of a running host, again every two seconds.
    ///
    /// CPU is in thousandths of a processor. MEMORY is the memory that the host holds for the plugin, and WAITING counts events, keys
    /// and firings. LETTERS are dead letters. FAILURES are an informer's failed lists and
    /// watches, and LISTS its lists. LAST EVENT is the time since its last event, bookmark or object. Wide columns of plugins: LIMIT is
    /// `limits.hostMemory`; then come the parts of MEMORY. LINES are kept log lines, VALUES the plugin's state, and OTHER are all
    /// other parts. GUEST is the time in the plugin's code, HOST that in host functions, and INFORMERS that for its selectors and
    /// filters. LOG and DISK are bytes written.
    Top(TopArgs),
    /// Show objects of the cache of a running host, as kubectl shows those of a cluster.
    ///
    /// The host watches the resource from then on, and for some minutes after the last question. Secrets are not in the answers. Ages
    /// and columns are those of kubectl. The exit code is 1 for every refusal of the host.
    Get(GetArgs),
    /// Show the log lines of one plugin of a running host, as they come.
    ///
    /// The host keeps the last lines of each plugin, up to `limits.logTail` (64Ki by default). Lines of the host about the plugin, such as
    /// those about its loads, are in the host's own log alone. The flags are those of `kubectl logs`, but
    /// --follow is on by default.
    Tail(TailArgs),
    /// Show, send again and delete dead letters: events that failed all their attempts.
    Dlq(DlqArgs),
    /// Show why the plugins of a running host were called for an object, or were not.
    ///
    /// The answer has the object as the cache has it, each plugin with the question that was answered with no, events that wait, and
    /// the last deliveries. Times are UTC. The words are on the page host/docs/why.md.
    Why(WhyArgs),
    /// Print the address of the dashboard of a running host, with the right to act there.
    ///
    /// The address has a token that the host makes at its start. Whoever opens the address in a browser may pause, resume, reload and roll
    /// back plugins, and redrive and purge dead letters, until the host ends. So the address is a secret of the host's user.
    /// Other users of the machine see the words of commands: `xdg-open "$(informant ui)"` shows it to them. Copy it into the browser.
    Ui(AskArgs),
    /// Play a recording to a plugin. Each run gives the same bytes.
    ///
    /// The plugin's requests get the recorded answers. A request that the recording does not have is reported, and is answered as
    /// by a host with an empty cache.
    Replay(ReplayArgs),
    /// Print the roles and bindings that a host with these plugins needs, as YAML.
    ///
    /// Subscriptions and reads that name up to 64 namespaces need a Role in each of them; all others need a ClusterRole. A namespaceSelector needs one for the namespaces. The writes
    /// that the plugins ask for are included. A plugin that the host's configuration does not let run is an error. kubectl apply
    /// does not delete roles that are no longer printed.
    Rbac(RbacArgs),
    /// Explain a key of a plugin's descriptor or of a configuration, without a host.
    Explain(ExplainArgs),
    /// Print a script with which a shell completes the commands.
    Completion(CompletionArgs),
    /// Write a man page for each command.
    Man(ManArgs),
    /// Print the version of the program.
    Version,
    /// Compile one plugin for the host that started this.
    #[command(hide = true)]
    CompilePlugin(CompileArgs),
}

#[derive(clap::Args, Debug)]
pub(crate) struct RunArgs {
    /// Directory of plugin files. A new, changed or removed file takes effect without a restart.
    #[arg(long, value_name = "DIR", default_value = "./plugins", help_heading = "Plugins")]
    pub(crate) plugins: PathBuf,
    #[command(flatten)]
    pub(crate) host: HostArgs,
    #[command(flatten, next_help_heading = "Leader election")]
    pub(crate) election: ElectionArgs,
    #[command(flatten, next_help_heading = "HTTP API and log")]
    pub(crate) metrics: MetricsArgs,
    #[command(flatten, next_help_heading = "HTTP API and log")]
    pub(crate) secure: SecureArgs,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ClusterArgs {
    /// Address to listen on; port 0 picks a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Where to write the kubeconfig.
    #[arg(long, value_name = "FILE", default_value = "./informant.kubeconfig")]
    pub(crate) write_kubeconfig: PathBuf,
    /// Changes a second that the cluster's workloads make, about. 0 makes none.
    #[arg(long, value_name = "N", default_value_t = 0.0)]
    pub(crate) traffic: f64,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// Settings of plugins, by the host's user.
#[derive(clap::Args, Debug)]
pub(crate) struct ConfigArgs {
    /// File of kind HostConfiguration: defaults for all plugins, settings and grants of single plugins, and the ceiling. The file
    /// NAME.yaml beside NAME.wasm needs no option.
    #[arg(long, value_name = "FILE", env = "INFORMANT_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

/// Which cluster.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct ConnectionArgs {
    /// Kubeconfig file of a real cluster. Without this option, `run` takes kubectl's (KUBECONFIG, ~/.kube/config) or the Pod's
    /// service account, and `dev` takes its embedded cluster.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context].
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// Plugins that act as service accounts.
#[derive(clap::Args, Debug)]
pub(crate) struct AccessArgs {
    /// Seconds between two reviews of the permissions of plugins' service accounts (`serviceAccount`). If the API server does not
    /// answer, its last answer counts for five minutes more.
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
    /// Directory for waiting retries, dead letters, pauses and plugins' state, which survive a restart there. No other user may read
    /// or write it, and no other host may use it. With --leader-elect, a host that leads again continues with its own directory.
    #[arg(long, value_name = "DIR", env = "INFORMANT_STATE_DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Days for which the directory keeps the data of a plugin whose file is gone.
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
    /// Directory with one file for each credential that the host adds to plugins' HTTP requests, such as a mounted Secret. The
    /// configuration names the file.
    #[arg(long, value_name = "DIR", env = "INFORMANT_SECRETS")]
    pub(crate) secrets: Option<PathBuf>,
    /// File of certificate authorities (PEM) for plugins' HTTPS requests, in addition to the system's.
    #[arg(long, value_name = "FILE", env = "INFORMANT_HTTP_CA")]
    pub(crate) http_ca: Option<PathBuf>,
}

/// Of several hosts one leads. The names are those that Kubernetes' own components have.
#[derive(clap::Args, Debug)]
pub(crate) struct ElectionArgs {
    /// Run plugins only while this host holds a Lease. The other hosts are on standby, with compiled plugins and synced informers.
    /// One of them takes over when the Lease is released or expires. A host that loses the Lease ends.
    #[arg(long)]
    pub(crate) leader_elect: bool,
    /// Name of the Lease.
    #[arg(long, value_name = "NAME", default_value = "informant", requires = "leader_elect", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) leader_elect_resource_name: String,
    /// Namespace of the Lease [default: the Pod's, or that of the kubeconfig's context].
    #[arg(long, value_name = "NAMESPACE", requires = "leader_elect", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) leader_elect_resource_namespace: Option<String>,
    /// Seconds without a renewal after which another host takes over.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, requires = "leader_elect")]
    pub(crate) leader_elect_lease_duration: u32,
    /// Seconds without a renewal after which this host stops leading and ends. Must be less than the duration of the Lease.
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
    /// Make a plugin project, with its SDK, that builds, tests and runs at once.
    New(NewArgs),
    /// Build a project's plugin with the tools of its language, and check the file as a host does.
    ///
    /// The project's NAME.yaml is copied beside build/NAME.wasm.
    Build(BuildArgs),
    /// Check plugin files as a host does, without a host. Fails if one of them cannot be read or is no plugin.
    ///
    /// Shows the subscriptions, reads and writes of each plugin, with the lines of a configuration that grant them. Missing grants are
    /// no failure. The plugin is not started, so the keys below `config` are not checked; `informant plugin test` starts it.
    Check(CheckArgs),
    /// Run a plugin without a host or a cluster. Objects, events and answers come from files, and each run gives the same bytes.
    ///
    /// Prints one line for each call and each action of the plugin. Writes are printed; --apply-writes also makes them, in the objects
    /// of the run. The events file has the answers to
    /// requests, and says how time passes. --golden compares the output with a file; a difference is a failure.
    Test(TestArgs),
    /// Show the state of every plugin, or of those with these names.
    ///
    /// WAITING counts events, keys and firings that wait for a call. EVENTS, KEYS and FIRINGS count calls that succeeded since the
    /// host started: for events, for keys of a controller, and for times of a schedule. RETRIED counts attempts that failed and come
    /// again. LETTERS are dead letters, as `informant dlq` shows them. WHY says why the plugin does not do all of its work.
    List(ListOfPlugins),
    /// Show all that the host knows of one plugin, as YAML: subscriptions, counters, limits, memory, loads, errors.
    Describe(DescribeArgs),
    /// Load the plugin's file again.
    Reload(OnePlugin),
    /// Run the previous version again. A second rollback returns to the newer one.
    Rollback(OnePlugin),
    /// Pause a plugin: its events wait. New versions are still loaded.
    Pause(OnePlugin),
    /// Resume a plugin that was paused, or that was tripped because it failed too often.
    Resume(OnePlugin),
    /// Call a schedule of a plugin now, in addition to its own times.
    Fire(FireArgs),
}

#[derive(clap::Args, Debug)]
pub(crate) struct CheckArgs {
    /// Plugin files. NAME.yaml beside NAME.wasm counts as for a host.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
    /// Format of the answer.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(clap::Args, Debug)]
pub(crate) struct RbacArgs {
    /// Plugin files, and directories of them.
    #[arg(value_name = "PATH", required_unless_present = "resources")]
    pub(crate) paths: Vec<PathBuf>,
    /// Add a resource for the HTTP API, in all namespaces, such as v1/pods or apps/v1/deployments. May be
    /// repeated.
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
    /// Add the Role that `run --leader-elect` needs: for the Lease `informant` in that namespace.
    #[arg(long)]
    pub(crate) leader_elect: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
}

/// Parses a resource for the HTTP API. The form of its paths, `core/v1/pods`, also means `v1/pods`.
fn served_resource(text: &str) -> Result<GroupVersionResource, String> {
    let text = text.strip_prefix("core/").unwrap_or(text);
    let gvr: GroupVersionResource = text.parse().map_err(|error| format!("{error}"))?;
    match gvr.is_secrets() {
        true => Err("the HTTP API does not serve Secrets; leave it out".to_owned()),
        false => Ok(gvr),
    }
}

/// Checks that Kubernetes accepts the text as an object's name.
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
pub(crate) struct FireArgs {
    #[command(flatten)]
    pub(crate) plugin: OnePlugin,
    /// The schedule's name. A plugin with one schedule needs none.
    #[arg(value_name = "SCHEDULE")]
    pub(crate) schedule: Option<String>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct OnePlugin {
    /// The plugin's name: its file name without .wasm.
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
    /// Format of the answer.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
}
