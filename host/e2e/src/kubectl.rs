//! kubectl as a child of a test, with a cache of its own.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::child::Child;
use crate::skip;

/// kubectl asks for discovery before the first line of a watch.
const LINE_DEADLINE: Duration = Duration::from_secs(90);

/// Lines that kubectl has printed before they are looked at.
const LINES_AHEAD_MAX: usize = 1_000;

/// An installed kubectl that always has the same first arguments.
pub struct Kubectl {
    arguments: Vec<String>,
    dir: tempfile::TempDir,
}

/// The lines of a kubectl that goes on. Dropping it ends kubectl.
pub struct Lines {
    lines: Receiver<String>,
    _kubectl: Child,
}

impl Kubectl {
    /// Whether kubectl is installed; where it is not, the test that asks is said to be skipped.
    pub fn is_installed() -> bool {
        let found = Command::new("kubectl").args(["version", "--client"]).output();
        let is_installed = found.is_ok_and(|output| output.status.success());
        if !is_installed {
            skip::say("there is no kubectl on PATH");
        }
        is_installed
    }

    /// kubectl with these arguments before all others. It reads no kubeconfig that they do not name.
    pub fn with(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { arguments, dir: tempfile::tempdir().expect("a directory") }
    }

    /// Runs it to its end, however that is.
    pub fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("kubectl runs")
    }

    /// What it prints; anything but success ends the test.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {error}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// What it prints, line by line, while it goes on.
    pub fn lines(&self, arguments: &[&str]) -> Lines {
        let mut command = self.command(arguments);
        let child = Child::spawn("kubectl", command.stdout(Stdio::piped()));
        let mut kubectl = child.expect("kubectl starts");
        let stdout = kubectl.take_output().0.expect("it is piped");
        let (sender, lines) = mpsc::sync_channel(LINES_AHEAD_MAX);
        std::thread::spawn(move || {
            let printed = BufReader::new(stdout).lines().map_while(Result::ok);
            printed.map(|line| sender.send(line)).take_while(Result::is_ok).for_each(drop);
        });
        Lines { lines, _kubectl: kubectl }
    }

    /// Writes a file that lasts as long as this. The result is its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.env("KUBECONFIG", self.dir.path().join("none"));
        // Discovery is cached by address, and the next test's cluster may get this one's.
        command.arg("--cache-dir").arg(self.dir.path().join("cache"));
        command.args(&self.arguments).args(arguments);
        command
    }
}

impl Lines {
    /// The words of the next line, so that column widths do not matter.
    #[track_caller]
    pub fn next_words(&self) -> Vec<String> {
        let line = self.lines.recv_timeout(LINE_DEADLINE).expect("a line in time");
        line.split_whitespace().map(str::to_owned).collect()
    }
}
