//! Runs a language's own tools. Their lines are read as they come, and their time is bounded. When a tool ends, all
//! processes in its group end.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::Command;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A longer line comes in pieces.
const LINE_BYTES_MAX: usize = 64 << 10;
/// How long the pipes of an ended tool are read: a daemon that has left the tool's group may hold them open.
const LINGER: Duration = Duration::from_secs(1);

/// The stream that a line was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Error,
}

/// Why a tool has no exit status.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    #[error("cannot be started: {0}")]
    Start(io::Error),
    #[error("cannot be waited for: {0}")]
    Wait(io::Error),
    #[error("was ended after {} s: --build-time gives it more", .0.as_secs())]
    Deadline(Duration),
    #[error("was ended")]
    Stopped,
}

/// Runs a program until its end, its deadline or `stop`. When this function returns, the program and all processes in
/// its group have ended.
pub(crate) async fn run(
    command: &mut Command,
    hear: &mut (dyn FnMut(Stream, &str) + Send),
    time_max: Duration,
    stop: &CancellationToken,
) -> Result<ExitStatus, ProcessError> {
    let deadline = Instant::now() + time_max;
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The tool has its own process group: a terminal's signals reach the tool only through this process.
    let mut child =
        piped.process_group(0).kill_on_drop(true).spawn().map_err(ProcessError::Start)?;
    let mut group = Some(Group(child.id()));
    let mut output = child.stdout.take().map(Lines::new);
    let mut error = child.stderr.take().map(Lines::new);
    let mut ended: Option<(ExitStatus, Instant)> = None;
    while ended.is_none() || output.is_some() || error.is_some() {
        let linger_until = ended.map_or(deadline, |(_, since)| since + LINGER);
        tokio::select! {
            line = next(&mut output) => tell(line, &mut output, Stream::Output, hear),
            line = next(&mut error) => tell(line, &mut error, Stream::Error, hear),
            status = child.wait(), if ended.is_none() => {
                // The processes that the tool has started end with it. The group keeps the tool's identifier until the
                // last of its processes is gone.
                drop(group.take());
                ended = Some((status.map_err(ProcessError::Wait)?, Instant::now()));
            }
            () = tokio::time::sleep_until(linger_until), if ended.is_some() => break,
            () = tokio::time::sleep_until(deadline), if ended.is_none() => {
                return Err(end(group, &mut child, ProcessError::Deadline(time_max)).await);
            }
            () = stop.cancelled(), if ended.is_none() => {
                return Err(end(group, &mut child, ProcessError::Stopped).await);
            }
        }
    }
    ended.map(|(status, _)| status).ok_or(ProcessError::Stopped)
}

async fn end(
    group: Option<Group>,
    child: &mut tokio::process::Child,
    why: ProcessError,
) -> ProcessError {
    drop(group);
    // The process was killed, so its exit status says nothing.
    let _ = child.wait().await;
    why
}

async fn next<R: AsyncRead + Unpin>(lines: &mut Option<Lines<R>>) -> Option<String> {
    match lines {
        Some(lines) => lines.next().await,
        None => std::future::pending().await,
    }
}

fn tell<R>(
    line: Option<String>,
    lines: &mut Option<Lines<R>>,
    stream: Stream,
    hear: &mut (dyn FnMut(Stream, &str) + Send),
) {
    match line {
        Some(line) => hear(stream, &line),
        None => *lines = None,
    }
}

/// The group of a process. Dropping it ends the group.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let process = self.0.and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(process) = process {
            // The group may have ended by itself a moment ago.
            let _ = kill_process_group(process, Signal::KILL);
        }
    }
}

/// The lines of a pipe. If [`next`](Self::next) is dropped, the part of a line that was read is kept.
struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Whether a piece of the present line was already taken.
    is_cut: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(pipe: R) -> Self {
        Self { reader: BufReader::new(pipe), line: Vec::new(), is_cut: false }
    }

    /// The next line without its end. `None` at the end of the pipe.
    async fn next(&mut self) -> Option<String> {
        loop {
            // A pipe that cannot be read counts as ended.
            let read = self.reader.fill_buf().await.unwrap_or_default();
            if read.is_empty() {
                return (!self.line.is_empty()).then(|| self.take());
            }
            let room = LINE_BYTES_MAX - self.line.len();
            let end = read.iter().take(room).position(|byte| *byte == b'\n');
            let length = end.unwrap_or_else(|| read.len().min(room));
            self.line.extend_from_slice(&read[..length]);
            self.reader.consume(length + usize::from(end.is_some()));
            let is_piece = end.is_none() && self.line.len() == LINE_BYTES_MAX;
            // An empty end of a line whose pieces were all taken is not a line.
            let is_rest = std::mem::replace(&mut self.is_cut, is_piece) && self.line.is_empty();
            if is_piece || end.is_some() && !is_rest {
                return Some(self.take());
            }
        }
    }

    fn take(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{OFlags, fcntl_setfl};
    use std::os::unix::fs::OpenOptionsExt as _;

    const LONG: Duration = Duration::from_secs(600);

    struct Ran {
        result: Result<Option<i32>, String>,
        lines: Vec<String>,
    }

    async fn shell(script: &str, time_max: Duration, stop: &CancellationToken) -> Ran {
        let mut lines = Vec::new();
        let mut hear = |stream: Stream, line: &str| lines.push(format!("{stream:?} {line}"));
        let mut command = Command::new("/bin/sh");
        let result = run(command.args(["-c", script]), &mut hear, time_max, stop).await;
        Ran { result: result.map(|it| it.code()).map_err(|it| it.to_string()), lines }
    }

    async fn check(script: &str, code: i32, expect: &[&str]) {
        let ran = shell(script, LONG, &CancellationToken::new()).await;
        assert_eq!(
            (ran.result, ran.lines),
            (Ok(Some(code)), expect.iter().map(|it| (*it).to_owned()).collect())
        );
    }

    #[tokio::test]
    async fn lines_and_the_exit_code_are_the_tools_own() {
        check("echo one; echo two; exit 3", 3, &["Output one", "Output two"]).await;
        check("printf 'no end' >&2", 0, &["Error no end"]).await;
        check("read line; echo \"<$line>\"", 0, &["Output <>"]).await;
    }

    #[tokio::test]
    async fn long_line_comes_in_pieces_at_the_bound() {
        let lines = async |bytes: usize| {
            let script = format!("head -c {bytes} /dev/zero | tr '\\0' a; echo");
            let ran = shell(&script, LONG, &CancellationToken::new()).await;
            ran.lines.iter().map(|line| line.len() - "Output ".len()).collect::<Vec<_>>()
        };
        assert_eq!(lines(LINE_BYTES_MAX - 1).await, [LINE_BYTES_MAX - 1]);
        assert_eq!(lines(LINE_BYTES_MAX).await, [LINE_BYTES_MAX]);
        assert_eq!(lines(LINE_BYTES_MAX + 1).await, [LINE_BYTES_MAX, 1]);
    }

    /// Runs a shell with a child process. Both hold a pipe that closes when the last of them ends. The shell's first
    /// line triggers the stop.
    async fn check_ended(last_command: &str, expect: Result<Option<i32>, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let mut options = std::fs::OpenOptions::new();
        let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
        let mut pipe = options.read(true).custom_flags(nonblocking).open(&path).unwrap();
        let script = format!("exec 9>{}; sleep 60 & {last_command}", path.display());
        let mut command = Command::new("/bin/sh");
        let stop = CancellationToken::new();
        let mut hear = |_: Stream, _: &str| stop.cancel();
        let result = run(command.args(["-c", &script]), &mut hear, LONG, &stop).await;
        let result = result.map(|it| it.code()).map_err(|it| it.to_string());
        assert_eq!(result, expect.map_err(str::to_owned));
        fcntl_setfl(&pipe, OFlags::empty()).unwrap();
        let begin = std::time::Instant::now();
        assert_eq!(io::Read::read(&mut pipe, &mut [0]).unwrap(), 0, "nobody holds the pipe");
        assert!(begin.elapsed() < Duration::from_secs(30), "it was let go of only by its end");
    }

    #[tokio::test]
    async fn tool_and_what_it_started_end_when_they_are_told_to() {
        check_ended("echo ready; sleep 60", Err("was ended")).await;
    }

    #[tokio::test]
    async fn tool_ends_at_its_deadline() {
        let ran = shell("sleep 60", Duration::from_millis(50), &CancellationToken::new()).await;
        assert_eq!(ran.result, Err("was ended after 0 s: --build-time gives it more".to_owned()));
    }

    #[tokio::test]
    async fn what_a_tool_leaves_behind_ends_with_it() {
        check_ended("exit 3", Ok(Some(3))).await;
    }

    #[tokio::test]
    async fn daemon_of_a_tool_holds_nothing_up() {
        let ran = shell("setsid sleep 5 & echo done", LONG, &CancellationToken::new()).await;
        assert_eq!((ran.result, &ran.lines[..]), (Ok(Some(0)), &["Output done".to_owned()][..]));
    }

    #[tokio::test]
    async fn program_that_is_not_there_is_an_error() {
        let mut command = Command::new("/no/such/program");
        let ran = run(&mut command, &mut |_, _| {}, LONG, &CancellationToken::new()).await;
        assert!(ran.unwrap_err().to_string().starts_with("cannot be started"));
    }
}
