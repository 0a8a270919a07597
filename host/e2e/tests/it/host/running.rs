//! A command for a running host that goes on until the test ends it.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;

use informant_e2e::child::Child;
use informant_e2e::host::Host;

use crate::host::bench::{HostBench, LINES_DEADLINE};

/// Lines that the test has not read yet.
const LINES_AHEAD_MAX: usize = 1_024;

/// Ends with this value.
pub struct RunningCommand {
    lines: mpsc::Receiver<String>,
    _command: Child,
}

impl RunningCommand {
    pub fn start(bench: &HostBench<'_>, host: &Host, arguments: &[&str]) -> Self {
        let mut command = Command::new(&bench.program);
        command.args(arguments).arg("--admin-socket").arg(host.admin_socket());
        let child = Child::spawn("informant", command.stdout(Stdio::piped()));
        let mut child = child.expect("it starts");
        let stdout = child.take_output().0.expect("it is piped");
        let (sender, lines) = mpsc::sync_channel(LINES_AHEAD_MAX);
        std::thread::spawn(move || {
            let printed = BufReader::new(stdout).lines().map_while(Result::ok);
            printed.map(|line| sender.send(line)).take_while(Result::is_ok).for_each(drop);
        });
        Self { lines, _command: child }
    }

    #[track_caller]
    pub fn next(&self) -> String {
        self.lines.recv_timeout(LINES_DEADLINE).expect("a line in time")
    }

    /// The words of the next line, so that column widths do not matter.
    #[track_caller]
    pub fn next_words(&self) -> Vec<String> {
        self.next().split_whitespace().map(str::to_owned).collect()
    }
}
