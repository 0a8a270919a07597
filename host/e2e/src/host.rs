//! The real program as a child process, most often as `informant run`: its lines, its port, its end.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use crate::child::Child;
pub use crate::line::Line;
use crate::{http, paths, poll};

/// Names the program to test; without it the one in cargo's target directory is taken.
pub const BIN_VARIABLE: &str = "INFORMANT_BIN";

/// From the start to the first list being complete, and for a command that compiles a plugin of Python, on a machine whose
/// processors ten others want.
const START_DEADLINE: Duration = Duration::from_secs(900);

const ADMIN_SOCKET: &str = "admin.sock";

/// A test that makes a host write more than this has gone wrong; later lines are dropped.
const LINES_MAX: usize = 500_000;

/// A running host. Dropping it kills it.
pub struct Host {
    child: Child,
    lines: Arc<Mutex<Vec<Line>>>,
    /// The threads that read its lines.
    readers: Vec<JoinHandle<()>>,
    address: SocketAddr,
    /// Where its admin socket is: not where the developer's own host has it.
    directory: tempfile::TempDir,
}

/// See [`Host::unread`].
pub struct Unread<'a> {
    _lines: MutexGuard<'a, Vec<Line>>,
}

/// The program, or none where it was not built: then there is nothing to test.
///
/// A program that was named and is not there is an error, not a reason to skip.
pub fn program() -> anyhow::Result<Option<PathBuf>> {
    if let Some(named) = std::env::var_os(BIN_VARIABLE) {
        let named = PathBuf::from(named);
        anyhow::ensure!(named.exists(), "{BIN_VARIABLE} names {}, not there", named.display());
        return Ok(Some(named));
    }
    let built = paths::target_directory().join("debug/informant");
    Ok(built.exists().then_some(built))
}

/// `informant` with these arguments, run to its end: for what fails at once.
pub fn run_to_end(program: &Path, arguments: &[&str]) -> anyhow::Result<Output> {
    let output = tempfile::tempdir()?;
    let [out, err] = ["out", "err"].map(|name| output.path().join(name));
    let mut command = informant(program);
    command.args(arguments);
    command.stdout(std::fs::File::create(&out)?).stderr(std::fs::File::create(&err)?);
    let mut child = Child::spawn("informant", &mut command)?;
    let status = child.wait(START_DEADLINE)?;
    Ok(Output { status, stdout: std::fs::read(out)?, stderr: std::fs::read(err)? })
}

/// Without what the developer's own environment would add. All programs of all tests share what they compile, as those of
/// one user do.
pub(crate) fn informant(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("XDG_CACHE_HOME", paths::target_directory().join("e2e/cache"));
    for variable in ["KUBECONFIG", "RUST_LOG", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(variable).env_remove(variable.to_lowercase());
    }
    for (variable, _) in std::env::vars_os() {
        if variable.as_encoded_bytes().starts_with(b"OTEL_") {
            command.env_remove(variable);
        }
    }
    command
}

/// `run` with JSON lines, on a free loopback port unless another one is asked for.
fn run_arguments(plugins: &Path, more: &[&str]) -> Vec<String> {
    let plugins = plugins.display().to_string();
    let mut arguments = vec!["run", "--plugins", &plugins, "--log-format", "json"];
    if !more.contains(&"--listen") {
        arguments.extend(["--listen", "127.0.0.1:0"]);
    }
    arguments.extend(more);
    arguments.into_iter().map(str::to_owned).collect()
}

fn with_kubeconfig(arguments: &[String], kubeconfig: &Path) -> Vec<String> {
    let named = ["--kubeconfig".to_owned(), kubeconfig.display().to_string()];
    arguments.iter().cloned().chain(named).collect()
}

impl Host {
    /// `informant run` on a free loopback port with JSON lines; returns when it serves.
    pub async fn start(
        program: &Path,
        kubeconfig: &Path,
        plugins: &Path,
        more: &[&str],
    ) -> anyhow::Result<Self> {
        Self::start_with(program, kubeconfig, &run_arguments(plugins, more)).await
    }

    /// The same with these variables in its environment.
    pub async fn start_in(
        program: &Path,
        kubeconfig: &Path,
        plugins: &Path,
        more: &[&str],
        variables: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let arguments = with_kubeconfig(&run_arguments(plugins, more), kubeconfig);
        let mut command = informant(program);
        command.envs(variables.iter().copied());
        Self::launch(command, &arguments, announced_address).await
    }

    /// The program with these arguments, which must ask for JSON lines; the kubeconfig is added.
    pub async fn start_with(
        program: &Path,
        kubeconfig: &Path,
        arguments: &[String],
    ) -> anyhow::Result<Self> {
        Self::spawn(program, &with_kubeconfig(arguments, kubeconfig), announced_address).await
    }

    /// The program with exactly these arguments, which must ask for JSON lines; returns when a line says, as `announced`
    /// reads it, where it listens.
    pub async fn spawn(
        program: &Path,
        arguments: &[String],
        announced: impl Fn(&Line) -> Option<SocketAddr>,
    ) -> anyhow::Result<Self> {
        Self::launch(informant(program), arguments, announced).await
    }

    async fn launch(
        mut command: Command,
        arguments: &[String],
        announced: impl Fn(&Line) -> Option<SocketAddr>,
    ) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        command.env("INFORMANT_ADMIN_SOCKET", directory.path().join(ADMIN_SOCKET));
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Child::spawn("informant", &mut command)?;
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (stdout, stderr) = child.take_output();
        let readers = vec![
            collect_lines(stdout.context("no stdout")?, lines.clone()),
            collect_lines(stderr.context("no stderr")?, lines.clone()),
        ];
        let address = await_address(&mut child, &lines, announced).await?;
        Ok(Self { child, lines, readers, address, directory })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The socket over which it may be changed.
    pub fn admin_socket(&self) -> PathBuf {
        self.directory.path().join(ADMIN_SOCKET)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it serves probes and metrics alone.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.other_address("metrics_address")
    }

    /// Where it serves callers with a token.
    pub fn secure_address(&self) -> Option<SocketAddr> {
        self.other_address("secure_address")
    }

    fn other_address(&self, field: &str) -> Option<SocketAddr> {
        locked(&self.lines).iter().find_map(|line| line.field(field)?.parse().ok())
    }

    /// GET on its port.
    pub fn get(&self, path: &str) -> anyhow::Result<http::Answer> {
        http::get(self.address, path)
    }

    /// Waits for `/readyz`.
    pub async fn await_ready(&self) -> anyhow::Result<()> {
        let ready = async || {
            let answer = self.get("/readyz").ok()?;
            (answer.status == 200).then_some(())
        };
        let waited = poll::until("the host to be ready", START_DEADLINE, ready).await;
        waited.with_context(|| format!("its last lines:\n{}", self.tail()))
    }

    /// Nobody reads what it writes, from the next few lines on, until this is dropped. Nor can its lines be looked at.
    pub fn unread(&self) -> Unread<'_> {
        Unread { _lines: locked(&self.lines) }
    }

    /// What one plugin has logged so far.
    pub fn lines_of(&self, plugin: &str) -> Vec<Line> {
        self.new_lines_of(plugin, &mut 0)
    }

    /// What one plugin has logged beyond the first `seen` lines of all. Counts those that came as seen.
    pub fn new_lines_of(&self, plugin: &str, seen: &mut usize) -> Vec<Line> {
        let lines = locked(&self.lines);
        let new = lines.get(*seen..).unwrap_or_default().iter();
        *seen = lines.len();
        new.filter(|line| line.field("plugin") == Some(plugin)).cloned().collect()
    }

    /// Everything written so far.
    pub fn lines(&self) -> Vec<Line> {
        locked(&self.lines).clone()
    }

    /// Everything written since the last call, which nobody else sees any more.
    pub fn take_lines(&self) -> Vec<Line> {
        std::mem::take(&mut *locked(&self.lines))
    }

    /// Waits for a line of any plugin or of the host.
    pub async fn await_line(
        &self,
        what: &str,
        deadline: Duration,
        wanted: impl Fn(&Line) -> bool,
    ) -> anyhow::Result<Line> {
        // Lines only ever come at the end: what was looked at once is not looked at again.
        let mut seen = 0;
        let found = async || {
            let lines = locked(&self.lines);
            let line = lines[seen..].iter().find(|line| wanted(line)).cloned();
            seen = lines.len();
            line
        };
        let line = poll::until(what, deadline, found).await;
        line.with_context(|| format!("the host's last lines:\n{}", self.tail()))
    }

    /// This plugin's entry in `/plugins`.
    pub fn plugin(&self, name: &str) -> anyhow::Result<Value> {
        let answer = self.get("/plugins")?;
        anyhow::ensure!(answer.status == 200, "/plugins: {} {}", answer.status, answer.body);
        let list = answer.json();
        let plugins = list.as_array().with_context(|| format!("/plugins is no list: {list}"))?;
        let plugin = plugins.iter().find(|plugin| plugin["name"] == name);
        plugin.cloned().with_context(|| format!("no {name} in {list}"))
    }

    /// Waits until `/plugins` shows this plugin as wanted.
    pub async fn await_plugin(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let seen = async || self.plugin(name).ok().filter(|plugin| wanted(plugin));
        let what = format!("plugin {name}: {what}");
        let waited = poll::until(&what, START_DEADLINE, seen).await;
        waited.with_context(|| {
            format!("/plugins says {:?}; last lines:\n{}", self.plugin(name), self.tail())
        })
    }

    /// SIGKILL, and everything that it wrote before and that nobody has taken.
    pub fn kill(mut self) -> Vec<Line> {
        self.child.kill();
        for reader in self.readers.drain(..) {
            reader.join().expect("a thread that reads lines ends with them");
        }
        self.take_lines()
    }

    /// SIGTERM, and no more.
    pub fn ask_to_stop(&mut self) -> anyhow::Result<()> {
        self.child.signal("TERM")
    }

    /// A signal by name, for example `STOP`.
    pub fn signal(&mut self, signal: &str) -> anyhow::Result<()> {
        self.child.signal(signal)
    }

    /// Waits for an end that nobody asked for.
    pub fn await_end(&mut self, deadline: Duration) -> anyhow::Result<ExitStatus> {
        let status = self.child.wait(deadline);
        status.with_context(|| format!("its last lines:\n{}", self.tail()))
    }

    /// SIGTERM, and its end.
    pub fn terminate(&mut self, deadline: Duration) -> anyhow::Result<ExitStatus> {
        let status = self.child.terminate(deadline);
        status.with_context(|| format!("its last lines:\n{}", self.tail()))
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.child.ended()
    }

    /// An error if it has ended by itself.
    pub fn check_running(&mut self) -> anyhow::Result<()> {
        self.child.check_running().with_context(|| format!("its last lines:\n{}", self.tail()))
    }

    /// The last lines, for an error's text.
    pub fn tail(&self) -> String {
        let lines = locked(&self.lines);
        let tail: Vec<&str> =
            lines[lines.len().saturating_sub(15)..].iter().map(|line| line.text.as_str()).collect();
        tail.join("\n")
    }
}

fn locked(lines: &Mutex<Vec<Line>>) -> MutexGuard<'_, Vec<Line>> {
    lines.lock().expect("nobody panics while holding the lines")
}

/// The thread ends with the pipe, which ends with the child.
fn collect_lines(pipe: impl Read + Send + 'static, lines: Arc<Mutex<Vec<Line>>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for text in BufReader::new(pipe).lines().map_while(Result::ok) {
            let line = Line::new(text);
            let mut lines = locked(&lines);
            if lines.len() < LINES_MAX {
                lines.push(line);
            }
        }
    })
}

async fn await_address(
    child: &mut Child,
    lines: &Mutex<Vec<Line>>,
    announced: impl Fn(&Line) -> Option<SocketAddr>,
) -> anyhow::Result<SocketAddr> {
    let address = poll::until("the host to print its address", START_DEADLINE, async || {
        if let Some(address) = locked(lines).iter().find_map(&announced) {
            return Some(Ok(address));
        }
        child.check_running().err().map(Err)
    });
    address.await.and_then(|address| address).with_context(|| {
        let lines: Vec<String> = locked(lines).iter().map(|line| line.text.clone()).collect();
        format!("it wrote:\n{}", lines.join("\n"))
    })
}

/// `"address": "127.0.0.1:4321"`, with or without `http://`: how the host's own server is announced.
pub fn announced_address(line: &Line) -> Option<SocketAddr> {
    let address = line.field("address")?;
    address.trim_start_matches("http://").trim_end_matches('/').parse().ok()
}
