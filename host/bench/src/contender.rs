//! Who is measured: a program, how it is started, and how it is asked what it has seen.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use informant_e2e::child::Child;
use informant_e2e::host::{Host, Line};
use informant_e2e::http;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::first_line;
use crate::programs::{Programs, Purpose};
use crate::subject::Subject;

/// A way to follow the pods of a cluster.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Contender {
    /// `informant run` with a plugin.
    Informant,
    /// client-go over protobuf.
    ClientGoProtobuf,
    /// client-go over JSON.
    ClientGoJson,
    /// kube-rs, first list as a watch.
    KubeRs,
    /// kube-rs, first list in pages.
    KubeRsPages,
    /// A process for each event, fed by kube-rs.
    Process,
}

/// A line for each update, at the highest rate at which latencies are taken and while it catches up: as many as the host lets such a file say.
const LOGS_MUCH: &str = "limits: {logLines: 20000}\n";

/// What the file beside a plugin begins with.
const CONFIGURATION: &str = "apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\n";

/// The host reads a file again within half a minute if it changed less than three seconds before it was read. The files of a deployment are
/// older, and a thousand such files would cost as much as thousands of updates.
const FILES_REST: Duration = Duration::from_secs(4);

/// What stands before the digits of the mark in the plugin that subscribes as its configuration says; of its log lines, too.
pub(crate) const MARK: &str = "bench-mark-";
const MARK_DIGITS: usize = 4;

/// What a contender has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handled {
    /// The first list is complete.
    pub synced: bool,
    /// Events that handlers have returned from.
    pub events: u64,
    /// Events that were merged into others: they were not delivered.
    pub coalesced: u64,
}

impl Contender {
    /// All, in the order of the tables.
    pub const ALL: [Self; 6] = [
        Self::Informant,
        Self::ClientGoProtobuf,
        Self::ClientGoJson,
        Self::KubeRs,
        Self::KubeRsPages,
        Self::Process,
    ];

    /// What tables call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Informant => "Informant",
            Self::ClientGoProtobuf => "client-go, protobuf",
            Self::ClientGoJson => "client-go, JSON",
            Self::KubeRs => "kube-rs",
            Self::KubeRsPages => "kube-rs, paged list",
            Self::Process => "a process per event",
        }
    }

    /// Whether it is another way of one that is measured too: it gets a round less.
    pub fn is_variant(self) -> bool {
        matches!(self, Self::ClientGoJson | Self::KubeRsPages | Self::Process)
    }

    /// Whether Go was needed to build it.
    pub fn is_go(self) -> bool {
        matches!(self, Self::ClientGoJson | Self::ClientGoProtobuf)
    }
}

/// A running contender. Dropping it kills it.
pub struct Running {
    program: Program,
    /// Plugins, where there are any.
    directory: TempDir,
    /// Where a host has compiled code of its own.
    _code: TempDir,
}

enum Program {
    Host { host: Host, plugin: &'static str },
    Comparator { child: Child, address: SocketAddr },
}

impl Running {
    /// Starts it with so many handlers of the one informer; it lists at once.
    pub async fn start(
        contender: Contender,
        purpose: Purpose,
        handlers: usize,
        kubeconfig: &Path,
        programs: &Programs,
    ) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir().context("a directory for plugins")?;
        let code = tempfile::tempdir().context("a directory for compiled code")?;
        let program = match contender {
            Contender::Informant => {
                let (plugin, file) = programs.plugin(purpose);
                for number in 0..handlers {
                    let place = directory.path().join(format!("{plugin}-{number}.wasm"));
                    std::fs::copy(&file, &place)
                        .with_context(|| format!("copy {}", file.display()))?;
                    configure(&place, purpose, number)?;
                }
                if matches!(purpose, Purpose::Subscribe(_)) {
                    tokio::time::sleep(FILES_REST).await;
                }
                // The host makes it.
                let cache = code.path().join("code").display().to_string();
                let arguments: &[&str] = match purpose {
                    // Each replacement is compiled, though an earlier run had it.
                    Purpose::Subscribe(Subject::Replaced) => &["--code-cache", &cache],
                    _ => &[],
                };
                let plugins = directory.path();
                let host =
                    Host::start(&programs.informant(), kubeconfig, plugins, arguments).await?;
                Program::Host { host, plugin }
            }
            other => {
                let mut command = comparator(other, programs)?;
                command.arg("--kubeconfig").arg(kubeconfig);
                command.args(["--handlers", &handlers.to_string()]).stdout(Stdio::piped());
                if purpose == Purpose::Subscribe(Subject::OwnNamespaces) {
                    command.arg("--own-namespaces");
                }
                let mut child = Child::spawn(other.title(), &mut command)?;
                let line = first_line(&mut child)?;
                let address = line.strip_prefix("READY ").with_context(|| {
                    format!("{} begins with {line:?}, not with its address", other.title())
                })?;
                let address = address.parse().context("its address")?;
                Program::Comparator { child, address }
            }
        };
        Ok(Self { program, directory, _code: code })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        match &self.program {
            Program::Host { host, .. } => host.id(),
            Program::Comparator { child, .. } => child.id(),
        }
    }

    /// Whether it is the host, which tells every latency that there was.
    pub fn is_host(&self) -> bool {
        matches!(self.program, Program::Host { .. })
    }

    /// What it has done so far.
    pub fn handled(&mut self) -> anyhow::Result<Handled> {
        match &mut self.program {
            Program::Host { host, .. } => {
                host.check_running()?;
                handled_by_plugins(&host.get("/metrics")?.body)
            }
            Program::Comparator { child, address } => {
                child.check_running()?;
                let counts = http::get(*address, "/counts")?.json();
                let number = |key: &str| counts[key].as_u64().with_context(|| key.to_owned());
                Ok(Handled {
                    synced: counts["synced"].as_bool().unwrap_or(false),
                    events: number("added")? + number("updated")? + number("deleted")?,
                    coalesced: 0,
                })
            }
        }
    }

    /// From now on the latency of every update is remembered.
    pub fn record(&self) -> anyhow::Result<()> {
        if let Program::Comparator { address, .. } = &self.program {
            http::get(*address, "/record")?;
        }
        Ok(())
    }

    /// The latencies of the updates since [`Self::record`], of which there must be so many: from the server's stamp to
    /// the end of the handler, as the host's log or the handler itself has it.
    pub async fn latencies(&self, updates: u64) -> anyhow::Result<Vec<Duration>> {
        let nanoseconds: Vec<u64> = match &self.program {
            Program::Comparator { address, .. } => {
                serde_json::from_str(&http::get(*address, "/latencies")?.body)?
            }
            Program::Host { host, plugin } => {
                let plugin = format!("{plugin}-0");
                let told = async || {
                    let mut lines = host.lines_of(&plugin);
                    // The host has words of its own about its plugins.
                    lines.retain(|line| line.message().bytes().all(|byte| byte.is_ascii_digit()));
                    (lines.len() as u64 >= updates).then_some(lines)
                };
                let lines =
                    informant_e2e::poll::measured("all stamps", Duration::from_secs(20), told)
                        .await?;
                let latency = |line| latency_of(line).context("a line without stamp and time");
                lines.iter().map(latency).collect::<anyhow::Result<_>>()?
            }
        };
        let found = nanoseconds.len() as u64;
        ensure!(found == updates, "{found} latencies of {updates} updates");
        Ok(nanoseconds.into_iter().map(Duration::from_nanos).collect())
    }

    /// Puts the host's plugin in place anew, as another version of the same code.
    pub fn replace_plugin(&self, version: u8) -> anyhow::Result<()> {
        // A custom section that nobody reads: its kind, its size, the size of its name, its name.
        self.replace(|bytes| {
            bytes.extend([0, 6, 5, b'b', b'e', b'n', b'c', version]);
            Ok(())
        })
    }

    /// The same with another mark in its data, which its lines show.
    pub(crate) fn replace_mark(&self, mark: u16) -> anyhow::Result<()> {
        self.replace(|bytes| {
            let begin = memchr::memmem::find(bytes, MARK.as_bytes()).context("it has no mark")?;
            let digits = begin + MARK.len()..begin + MARK.len() + MARK_DIGITS;
            let place = bytes.get_mut(digits).context("its mark is cut off")?;
            place.copy_from_slice(format!("{mark:0MARK_DIGITS$}").as_bytes());
            Ok(())
        })
    }

    fn replace(
        &self,
        change: impl FnOnce(&mut Vec<u8>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Program::Host { plugin, .. } = &self.program else {
            bail!("only the host's handlers can be replaced while it runs")
        };
        let place = self.directory.path().join(format!("{plugin}-0.wasm"));
        let mut bytes = std::fs::read(&place).context("read the plugin")?;
        change(&mut bytes)?;
        let partial = place.with_extension("partial");
        std::fs::write(&partial, bytes).context("write the plugin")?;
        std::fs::rename(&partial, &place).context("rename the plugin into place")
    }

    /// When the host's first plugin was called since the last time that this was asked, with the mark of its code, in the order of the calls.
    pub(crate) fn marks(&self) -> anyhow::Result<Vec<(jiff::Timestamp, u16)>> {
        let Program::Host { host, .. } = &self.program else {
            bail!("only the host's plugins have a mark")
        };
        let marked = |line: &Line| {
            let mark = line.message().strip_prefix(MARK)?.parse().ok()?;
            // No other one tells of its mark.
            Some((line.field("timestamp")?.parse().ok()?, mark))
        };
        Ok(host.take_lines().iter().filter_map(marked).collect())
    }

    /// Objects in the host's cache.
    pub(crate) fn cached(&self) -> anyhow::Result<f64> {
        let Program::Host { host, .. } = &self.program else { bail!("only the host says that") };
        let cached = host.get("/metrics")?.series("informant_cache_objects{resource=\"v1/pods\"}");
        cached.context("the host does not say how many objects it has")
    }

    /// Lets a garbage collector that can give everything back to the system do so.
    pub fn release(&self) -> anyhow::Result<()> {
        if let Program::Comparator { address, .. } = &self.program {
            http::get(*address, "/release")?;
        }
        Ok(())
    }
}

/// The file beside the plugin of this number, where it has one.
fn configure(plugin: &Path, purpose: Purpose, number: usize) -> anyhow::Result<()> {
    let settings = match purpose {
        Purpose::Count => return Ok(()),
        Purpose::Latency => LOGS_MUCH.to_owned(),
        // JSON is YAML.
        Purpose::Subscribe(subject) => {
            let logs = if subject == Subject::Replaced { LOGS_MUCH } else { "" };
            format!("config: {}\n{logs}", subject.configuration(number))
        }
    };
    let text = format!("{CONFIGURATION}{settings}");
    std::fs::write(plugin.with_extension("yaml"), text).context("write the plugin's configuration")
}

fn comparator(contender: Contender, programs: &Programs) -> anyhow::Result<Command> {
    let go = || programs.client_go().context("client-go's program was not built");
    let kube_rs = programs.kube_rs();
    let (program, arguments): (PathBuf, &[&str]) = match contender {
        Contender::ClientGoJson => (go()?, &["--encoding", "json"]),
        Contender::ClientGoProtobuf => (go()?, &["--encoding", "protobuf"]),
        Contender::KubeRs => (kube_rs, &["--initial-list", "stream"]),
        Contender::KubeRsPages => (kube_rs, &["--initial-list", "pages"]),
        Contender::Process => (kube_rs, &["--process"]),
        Contender::Informant => bail!("the host is no comparator"),
    };
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// Reads the host's metrics. An event that failed, or was tried again, makes the run worthless.
pub(crate) fn handled_by_plugins(metrics: &str) -> anyhow::Result<Handled> {
    let sum = |begin: &str, with: &str| -> u64 {
        let lines = metrics.lines().filter(|line| line.starts_with(begin) && line.contains(with));
        let values = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
        values.sum::<f64>() as u64
    };
    let events =
        |result: &str| sum("informant_plugin_events_total{", &format!("result=\"{result}\""));
    let (retry, dead) = (events("retry"), events("dead"));
    ensure!(retry + dead == 0, "{retry} events were tried again, {dead} given up");
    Ok(Handled {
        synced: sum("informant_informer_synced{", "v1/pods") == 1,
        events: events("ok"),
        coalesced: events("coalesced"),
    })
}

/// From the stamp that the plugin logged to the time at which the host took the line.
fn latency_of(line: &Line) -> Option<u64> {
    let stamp: u64 = line.message().parse().ok()?;
    let taken: jiff::Timestamp = line.field("timestamp")?.parse().ok()?;
    u64::try_from(taken.as_nanosecond()).ok()?.checked_sub(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_all_plugins_are_added_up() {
        let metrics = "informant_informer_synced{resource=\"v1/pods\"} 1.0\n\
            informant_plugin_events_total{plugin=\"a\",result=\"ok\"} 7\n\
            informant_plugin_events_total{plugin=\"b\",result=\"ok\"} 5\n\
            informant_plugin_events_total{plugin=\"a\",result=\"coalesced\"} 2\n\
            informant_plugin_events_total{plugin=\"a\",result=\"retry\"} 0\n";
        let handled = handled_by_plugins(metrics).expect("nothing failed");
        assert_eq!(handled, Handled { synced: true, events: 12, coalesced: 2 });
        let failed = format!("{metrics}informant_plugin_events_total{{result=\"dead\"}} 1\n");
        assert!(handled_by_plugins(&failed).is_err());
    }
}
