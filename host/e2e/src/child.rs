//! A child process that does not outlive us, however we end.
//!
//! Dropping a [`Child`] kills it. That is not enough: a test binary that is itself killed, or whose
//! statics are never dropped, leaves its children behind. So each child has a guard, a shell that waits
//! for the end of a pipe that only we hold, and then kills the child by its process id. Guard and child
//! are in process groups of their own, so that Ctrl-C in a terminal does not end the guard first.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

/// How much of a log is quoted in an error.
const LOG_TAIL_BYTES: usize = 4096;

/// A running process with its guard.
#[derive(Debug)]
pub struct Child {
    name: String,
    process: std::process::Child,
    guard: std::process::Child,
    /// Set once the process was reaped: its id may belong to somebody else from then on.
    ended: Option<ExitStatus>,
    log: Option<PathBuf>,
}

impl Child {
    /// Starts `command`, whose output goes to the file `log` (appended).
    pub fn spawn_logged(name: &str, command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| format!("open the log {}", log.display()))?;
        let file_too = file.try_clone().context("duplicate the log's handle")?;
        let mut child = Self::spawn(name, command.stdout(file).stderr(file_too))?;
        child.log = Some(log.to_owned());
        Ok(child)
    }

    /// Starts `command` with the output it was given; its input is closed.
    pub fn spawn(name: &str, command: &mut Command) -> anyhow::Result<Self> {
        let mut process = command
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("start {name} ({})", command.get_program().display()))?;
        match spawn_guard(process.id(), command.get_current_dir()) {
            Ok(guard) => Ok(Self { name: name.to_owned(), process, guard, ended: None, log: None }),
            Err(error) => {
                // Without a guard it would outlive us: better none at all.
                let _ = process.kill();
                let _ = process.wait();
                Err(error).context("start the guard process")
            }
        }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The standard output and error, where the command was given pipes.
    pub fn take_output(
        &mut self,
    ) -> (Option<std::process::ChildStdout>, Option<std::process::ChildStderr>) {
        (self.process.stdout.take(), self.process.stderr.take())
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended =
                self.process.try_wait().with_context(|| format!("wait for {}", self.name))?;
        }
        Ok(self.ended)
    }

    /// An error with the log's end if the process has ended.
    pub fn check_running(&mut self) -> anyhow::Result<()> {
        match self.ended()? {
            None => Ok(()),
            Some(status) => anyhow::bail!(
                "{} ended by itself ({status}); the end of its log:\n{}",
                self.name,
                self.log_tail()
            ),
        }
    }

    /// SIGKILL, and gone when this returns.
    pub fn kill(&mut self) {
        if matches!(self.ended(), Ok(None)) {
            let _ = self.process.kill();
            self.ended = self.process.wait().ok();
        }
    }

    /// Sends a signal by name, for example `TERM`. `std` can only kill, so `kill` of the shell does it.
    pub fn signal(&mut self, signal: &str) -> anyhow::Result<()> {
        self.check_running()?;
        let script = format!("kill -{signal} {}", self.id());
        let status = Command::new("/bin/sh").args(["-c", &script]).status().context("run kill")?;
        anyhow::ensure!(status.success(), "could not send {signal} to {}", self.name);
        Ok(())
    }

    /// SIGTERM, then waits; an error if it has not ended by the deadline.
    pub fn terminate(&mut self, deadline: Duration) -> anyhow::Result<ExitStatus> {
        self.signal("TERM")?;
        self.wait(deadline)
    }

    /// Waits for the process to end by itself.
    pub fn wait(&mut self, deadline: Duration) -> anyhow::Result<ExitStatus> {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if begin.elapsed() > deadline {
                anyhow::bail!("{} still runs after {deadline:?}", self.name);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The last few kilobytes of the log, for an error's text.
    pub fn log_tail(&self) -> String {
        let Some(log) = &self.log else { return "(its output went elsewhere)".to_owned() };
        let bytes = std::fs::read(log).unwrap_or_default();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LOG_TAIL_BYTES)..]).into_owned()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        let _ = self.guard.kill();
        let _ = self.guard.wait();
    }
}

/// `scratch` is a temporary directory that the child was started in: nobody else is left to remove it.
fn spawn_guard(id: u32, scratch: Option<&Path>) -> std::io::Result<std::process::Child> {
    let scratch = scratch.filter(|path| path.starts_with(std::env::temp_dir()));
    // `read` returns at the pipe's end, which is when we are gone; nobody ever writes to it. Whoever
    // else writes to the directory is killed at the same moment.
    let script =
        "read -r _; kill -KILL \"$1\" 2>/dev/null; test -z \"$2\" || { sleep 1; rm -rf \"$2\"; }";
    Command::new("/bin/sh")
        .args(["-c", script, "guard", &id.to_string()])
        .arg(scratch.unwrap_or(Path::new("")))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signal 0 asks whether a process is there.
    fn is_running(id: &str) -> bool {
        let status = Command::new("/bin/sh")
            .args(["-c", &format!("kill -0 {id} 2>/dev/null")])
            .status()
            .expect("the shell runs");
        status.success()
    }

    fn sleeper() -> Child {
        Child::spawn("sleeper", Command::new("sleep").arg("600").stdout(Stdio::null())).unwrap()
    }

    #[test]
    fn dropped_child_is_gone() {
        let child = sleeper();
        let (id, guard) = (child.id().to_string(), child.guard.id().to_string());
        assert!(is_running(&id) && is_running(&guard));
        drop(child);
        assert!(!is_running(&id), "the child");
        assert!(!is_running(&guard), "its guard");
    }

    #[test]
    fn end_of_the_pipe_kills_the_child() {
        let mut child = sleeper();
        // What the kernel does when we are killed.
        drop(child.guard.stdin.take());
        let status = child.wait(Duration::from_secs(10)).unwrap();
        assert!(!status.success(), "it was killed");
    }

    #[test]
    fn end_of_the_pipe_removes_the_scratch_directory() {
        let dir = tempfile::tempdir().unwrap().keep();
        let mut command = Command::new("sleep");
        let mut child = Child::spawn("sleeper", command.arg("600").current_dir(&dir)).unwrap();
        drop(child.guard.stdin.take());
        child.guard.wait().unwrap();
        assert!(!dir.exists());
    }

    #[test]
    fn ended_child_is_reported_with_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo no such luck; exit 3"]);
        let mut child = Child::spawn_logged("it", &mut command, &log).unwrap();
        assert_eq!(child.wait(Duration::from_secs(10)).unwrap().code(), Some(3));
        let error = child.check_running().unwrap_err().to_string();
        assert!(error.contains("no such luck"), "{error}");
    }
}
