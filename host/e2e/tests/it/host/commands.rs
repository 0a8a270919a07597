//! The commands of pages, run as a reader runs them: in one folder, in their order, with the files of the page.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use informant_e2e::child::Child;
use informant_e2e::cluster::User;
use informant_e2e::host::{Host, announced_address};
use informant_e2e::kubectl::Kubectl;
use informant_e2e::{paths, poll, skip};

use crate::host::bench::{HostBench, LINES_DEADLINE};

/// The time for a command that may compile a project, on a busy machine.
const COMMAND_DEADLINE: Duration = Duration::from_secs(900);
/// The first words of a block that needs more than the suite has.
pub const NOT_RUN: &str = "# Not run by the test: ";

/// A page of the repository.
pub fn page(path: &str) -> String {
    let found = std::fs::read_to_string(paths::root().join(path));
    found.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// An action of the reader.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes a file: a block below a line that ends with its name, such as "Write `a.yaml`:".
    Write { file: String, text: String },
    /// Runs a line of a block of `sh`, without its comment.
    Run(String),
    /// Ends the running host, if a comment begins with Ctrl-C.
    Stop,
}

impl Step {
    pub fn is_command(&self) -> bool {
        matches!(self, Self::Run(_))
    }
}

/// The steps of a page or of a section.
pub fn steps(text: &str) -> Vec<Step> {
    let (mut steps, mut before) = (Vec::new(), "");
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            before = if line.is_empty() { before } else { line };
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match (language, file_named(before)) {
            ("sh", _) => steps.extend(commands(&block)),
            ("text", _) | (_, None) => {}
            (_, Some(file)) => steps.push(Step::Write { file, text: block.join("\n") + "\n" }),
        }
        before = "";
    }
    steps
}

fn file_named(line: &str) -> Option<String> {
    let name = line.strip_suffix("`:")?.rsplit('`').next()?;
    (name.contains('.') && !name.contains(' ')).then(|| name.to_owned())
}

fn commands(block: &[&str]) -> Vec<Step> {
    let is_run = !block.first().is_some_and(|line| line.starts_with(NOT_RUN));
    let text = if is_run { block.join("\n") } else { String::new() };
    let plain = |line: &str| line.split(" #").next().unwrap_or_default().trim().to_owned();
    let step = |line: &str| match plain(line) {
        line if line.starts_with("# Ctrl-C") => Some(Step::Stop),
        line if line.is_empty() || line.starts_with('#') => None,
        line => Some(Step::Run(line)),
    };
    text.replace("\\\n", " ").lines().filter_map(step).collect()
}

/// A folder in which commands find the output of `make build plugins`, as at the top of the repository.
pub struct Place<'a> {
    bench: &'a HostBench<'a>,
    folder: tempfile::TempDir,
    /// The present folder after `cd`, below the folder.
    at: PathBuf,
    running: Option<Host>,
}

/// Runs before kubectl. It checks what is to be applied, and leaves all else to kubectl, with a cache of its own.
const KUBECTL: &str = r#"#!/bin/sh
case " $* " in
*" apply "*) grep -q 'kind: ClusterRoleBinding' ;;
*) PATH=${PATH#*:} exec kubectl --cache-dir "$(dirname "$0")/cache" "$@" ;;
esac
"#;

impl<'a> Place<'a> {
    pub fn new(bench: &'a HostBench<'a>) -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path();
        for made in ["target", "bin"] {
            std::fs::create_dir(path.join(made)).expect("a directory");
        }
        let links = [
            (bench.program.clone(), "bin/informant"),
            (paths::target_directory().join("plugins"), "target/plugins"),
            (paths::root().join("plugins"), "plugins"),
            (paths::root().join("examples"), "examples"),
        ];
        for (original, link) in links {
            symlink(original, path.join(link)).expect("a link");
        }
        let kubectl = path.join("bin/kubectl");
        std::fs::write(&kubectl, KUBECTL).expect("a file");
        std::fs::set_permissions(kubectl, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        Self { bench, folder, at: PathBuf::new(), running: None }
    }

    /// Runs all steps. Returns the number of commands.
    pub async fn carry_out(mut self, steps: &[Step]) -> usize {
        let mut count = 0;
        for step in steps {
            match step {
                Step::Write { file, text } => self.write(file, text),
                Step::Stop => stop(self.running.take().expect("a host")),
                Step::Run(command) => {
                    count += 1;
                    self.run(command).await;
                }
            }
        }
        count
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.folder.path().join(&self.at).join(file);
        let folder = path.parent().expect("it is in a folder");
        std::fs::create_dir_all(folder).expect("a directory");
        std::fs::write(&path, text).expect("a file");
    }

    async fn run(&mut self, command: &str) {
        if let Some(missing) = self.missing_plugin(command) {
            return skip::say(&format!("{missing} is not built, for `{command}`"));
        }
        match command.split_whitespace().take(2).collect::<Vec<_>>()[..] {
            // The output of make already exists.
            ["make", _] => {}
            ["cd", folder] => self.at.push(folder),
            ["informant", "run"] => {
                if let Some(before) = self.running.take() {
                    stop(before);
                }
                self.running = Some(self.start(command).await);
            }
            ["informant", "dev"] => stop(self.start(command).await),
            ["curl", ..] => self.check_answered(command).await,
            ["kubectl", server] if server.starts_with("--server") => self.check_read(command),
            ["kubectl", "run" | "describe"] if !Kubectl::is_installed() => {}
            // What it shows may come a little later.
            ["kubectl", "describe"] => self.run_until_done(command).await,
            _ => self.run_to_end(command),
        }
    }

    /// Finds a plugin in a language whose tools are missing, or a copy that an earlier command would have made of it.
    fn missing_plugin<'t>(&self, command: &'t str) -> Option<&'t str> {
        let root = self.folder.path();
        let is_missing = |file: &&str| {
            let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
            let is_shipped = root.join("plugins").join(name.trim_end_matches(".wasm")).is_dir();
            let built = root.join("target/plugins").join(name);
            (is_shipped || folder == "target/plugins") && !built.exists()
        };
        let files = command.split_whitespace().filter(|word| word.ends_with(".wasm"));
        files.filter(|word| !word.contains('*')).find(is_missing)
    }

    /// The command as a script, with this host's programs first in `PATH`.
    fn script(&self, command: &str) -> String {
        let top = self.folder.path().display();
        let at = self.at.display();
        let kubeconfig = self.bench.cluster.kubeconfig(User::Admin).display().to_string();
        format!(
            "cd '{top}/{at}' && export PATH=\"{top}/bin:$PATH\" KUBECONFIG='{kubeconfig}' && {command}"
        )
    }

    #[track_caller]
    fn run_to_end(&self, command: &str) {
        let (succeeded, said) = self.outcome(command);
        assert!(succeeded, "{command}: {said}");
    }

    /// Runs a command again until it succeeds.
    async fn run_until_done(&self, command: &str) {
        let done = async || self.outcome(command).0.then_some(());
        poll::until(command, LINES_DEADLINE, done).await.unwrap();
    }

    /// Runs a command until its end, with the admin socket of the running host. Returns whether it succeeds, and its
    /// output.
    pub fn outcome(&self, command: &str) -> (bool, String) {
        let log = self.folder.path().join("log");
        let _ = std::fs::remove_file(&log);
        let socket = self.running.as_ref().map(Host::admin_socket).unwrap_or_default();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-euc", &self.script(command)]).env("INFORMANT_ADMIN_SOCKET", socket);
        shell.env("XDG_CACHE_HOME", paths::target_directory().join("e2e/cache"));
        shell.env("CARGO_TARGET_DIR", kept_target());
        let mut child = Child::spawn_logged("sh", &mut shell, &log).expect("a shell");
        let status = child.wait(COMMAND_DEADLINE).expect("its end");
        (status.success(), std::fs::read_to_string(&log).expect("what it said"))
    }

    /// Starts a command that runs plugins, on a free port, and waits until a plugin runs.
    async fn start(&self, command: &str) -> Host {
        let target = kept_target();
        let command = format!(
            "CARGO_TARGET_DIR='{}' exec {command} --log-format json --listen 127.0.0.1:0",
            target.display()
        );
        let arguments = ["-euc".to_owned(), self.script(&command)];
        let host = Host::spawn(Path::new("/bin/sh"), &arguments, announced_address).await.unwrap();
        let runs = async || {
            let plugins = host.get("/plugins").ok()?.json();
            plugins.as_array()?.iter().any(|one| one["state"] == "running").then_some(())
        };
        if let Err(error) = poll::until("a plugin to run", COMMAND_DEADLINE, runs).await {
            panic!("{command}: {error}: {}", host.tail());
        }
        host
    }

    /// Checks that this host answers the request of a curl command.
    async fn check_answered(&self, command: &str) {
        let host = self.running.as_ref().expect("a host");
        let (_, path) = command.split_once("http://127.0.0.1:8888").expect("the pages' address");
        let path = path.trim_end_matches('\'');
        let answered = async || (host.get(path).ok()?.status == 200).then_some(());
        poll::until(command, LINES_DEADLINE, answered).await.unwrap();
    }
}

impl Place<'_> {
    /// Runs a kubectl command that reads from this host. Skipped without kubectl.
    fn check_read(&self, command: &str) {
        if !Kubectl::is_installed() {
            return;
        }
        let address = self.running.as_ref().expect("a host").address().to_string();
        let command = command.replace("127.0.0.1:8888", &address);
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let cache = self.folder.path().join("cache");
        let output = Command::new("kubectl").args(words).arg("--cache-dir").arg(cache).output();
        let output = output.expect("kubectl runs");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Ends the host as Ctrl-C does.
fn stop(mut host: Host) {
    let status = host.terminate(LINES_DEADLINE).unwrap();
    assert!(status.success(), "{}", host.tail());
}

/// The folder in which the projects of all tests compile their dependencies once.
fn kept_target() -> PathBuf {
    paths::target_directory().join("tmp/projects/cargo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_files_and_commands() {
        let text = "Write `a/b.yaml`:\n\n```yaml\na: 1\n```\n\n```sh\n# of all\na \\\n  b  # c\n```\n\nA `word`:\n\n```json\n{}\n```\n\n```sh\n# Not run by the test: why.\nd\n```\n\n```sh\n# Ctrl-C ends it.\n```\n";
        let file = Step::Write { file: "a/b.yaml".to_owned(), text: "a: 1\n".to_owned() };
        assert_eq!(steps(text), [file, Step::Run("a    b".to_owned()), Step::Stop]);
    }
}
