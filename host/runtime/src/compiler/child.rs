//! The host's end of a compiler in a process of its own: hands it a component, takes the code, and keeps it to its bounds.
//!
//! To the child: an [`Order`]; then the pipe stays open for as long as the host wants the answer. From it: the length of the code in
//! eight bytes, little-endian, and the code. What it has to say it says on its standard error.

use super::CompileError;
use super::code::CompiledCode;
use super::order::Order;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStdin, Command};

/// What the largest plugin file compiles to, and some: code is up to five times as large as what it is made from.
const CODE_BYTES_MAX: u64 = 512 << 20;
/// Of what the child says, the beginning: an error of the compiler's is a line or two.
const MESSAGE_BYTES_MAX: u64 = 4 << 10;

/// Last words of those who run out of memory: the allocator, the system, and threads that find no room for a stack.
const OUT_OF_MEMORY: [&str; 3] = ["memory allocation of", "os error 12", "ThreadPoolBuildError"];
/// Threads that compile. Each has a stack and working memory of its own, so there are not as many as a large machine
/// has cores.
const THREADS_MAX: usize = 4;

/// A program that compiles what stands on its standard input, by calling
/// [`compile_standard_input`](super::compile_standard_input).
#[derive(Debug, Clone)]
pub struct CompilerProgram {
    /// The executable.
    pub program: PathBuf,
    /// What to call it with.
    pub arguments: Vec<OsString>,
    /// The memory that it was told to keep to, in bytes; for messages.
    pub memory_bytes_max: u64,
    /// Time for one component. Then the process is killed.
    pub deadline: Duration,
}

impl CompilerProgram {
    /// Compiles a component. The process is gone when this returns, and is killed when it is dropped.
    pub(super) async fn compile(&self, order: Order) -> Result<CompiledCode, CompileError> {
        match tokio::time::timeout(self.deadline, self.run(order)).await {
            Ok(compiled) => compiled,
            Err(_) => Err(CompileError::Deadline(self.deadline)),
        }
    }

    async fn run(&self, order: Order) -> Result<CompiledCode, CompileError> {
        let program = self.program.display();
        let host = |what: &str, error: io::Error| {
            CompileError::Host(format!("{program} cannot be {what}: {error}"))
        };
        // It needs nothing of what the environment tells, and is not to be stopped by what a terminal sends to all.
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .env("RAYON_NUM_THREADS", threads().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let mut child = child.map_err(|error| host("started", error))?;
        let piped = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = piped else {
            return Err(CompileError::Host("a pipe is missing".to_owned()));
        };
        let (given, code, message) = tokio::join!(give(stdin, order), take(stdout), listen(stderr));
        let status = child.wait().await.map_err(|error| host("waited for", error))?;
        match code {
            Ok(code) if status.success() => Ok(CompiledCode::trusted(code)),
            Err(error) if status.success() => Err(host("understood", error)),
            _ => {
                drop(given);
                Err(self.failure(status, &message))
            }
        }
    }

    fn failure(&self, status: ExitStatus, message: &str) -> CompileError {
        use std::os::unix::process::ExitStatusExt;
        if OUT_OF_MEMORY.iter().any(|words| message.contains(words)) {
            return CompileError::Memory(self.memory_bytes_max);
        }
        if status.code() == Some(super::program::EXIT_REFUSED) {
            return CompileError::Refused(message.trim().to_owned());
        }
        let hint = match status.signal() {
            Some(9) => {
                " (by the system, most likely for want of memory: give the container more, or lower --compile-memory)"
            }
            _ => "",
        };
        CompileError::Host(format!("it ended with {status}{hint} {}", message.trim()))
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX)
}

/// Hands the order over, and keeps nothing of it. The pipe is to stay open: it says that somebody waits.
async fn give(mut stdin: ChildStdin, order: Order) -> io::Result<ChildStdin> {
    order.write(&mut stdin).await?;
    Ok(stdin)
}

/// Closes the pipe at its end, so that no child waits for somebody to take the rest.
async fn take(mut stdout: impl AsyncRead + Unpin) -> io::Result<Vec<u8>> {
    let length = stdout.read_u64_le().await?;
    if length > CODE_BYTES_MAX {
        let text = format!("it answers with {length} bytes, at most {CODE_BYTES_MAX} are taken");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    let mut code = Vec::with_capacity(length as usize);
    stdout.take(length).read_to_end(&mut code).await?;
    if code.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(code)
}

/// As [`take`].
async fn listen(stderr: impl AsyncRead + Unpin) -> String {
    let mut message = Vec::new();
    // What was said before it broke off is what there is.
    let _ = stderr.take(MESSAGE_BYTES_MAX).read_to_end(&mut message).await;
    String::from_utf8_lossy(&message).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(bytes: usize) -> Order {
        Order { component: vec![7; bytes], functions: None }
    }

    /// A shell takes the compiler's place: what does the host make of it?
    async fn check(script: &str, expect: &str) {
        let program = CompilerProgram {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            memory_bytes_max: 64 << 20,
            deadline: Duration::from_secs(20),
        };
        let told = match program.compile(order(100_000)).await {
            Ok(code) => format!("code {:?}", String::from_utf8_lossy(code.bytes())),
            Err(error) => error.to_string(),
        };
        assert!(told.contains(expect), "{script}: {told}");
    }

    #[tokio::test]
    async fn what_it_answers_is_taken() {
        let answer = r"printf '\004\0\0\0\0\0\0\0code'";
        check(&format!("head -c 100008 >/dev/null; {answer}"), "code \"code\"").await;
        check(answer, "code \"code\"").await;
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_none() {
        check("exit 0", "cannot be understood").await;
        check(r"printf '\005\0\0\0\0\0\0\0code'", "cannot be understood").await;
        check(r"printf '\0\0\0\0\0\0\0\001'", "at most 536870912 are taken").await;
        check("exit 5", "ended with exit status: 5").await;
    }

    #[tokio::test]
    async fn what_it_says_is_told_and_cut() {
        check("echo no such instruction >&2; exit 3", "cannot be compiled: no such instruction")
            .await;
        check("yes boom >&2", "it ended with").await;
    }

    #[tokio::test]
    async fn its_want_of_memory_is_told_with_what_to_do() {
        let expect = "needs more than the 64 MiB that the compiler may use";
        check("echo memory allocation of 8 bytes failed >&2; kill -6 $$", expect).await;
        check("echo 'Cannot allocate memory (os error 12)' >&2; exit 3", expect).await;
        check("kill -9 $$", "most likely for want of memory").await;
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let program = CompilerProgram {
            program: "/no/such/program".into(),
            arguments: vec![],
            memory_bytes_max: 0,
            deadline: Duration::from_secs(20),
        };
        let error = program.compile(order(0)).await.err().expect("there is none").to_string();
        assert!(error.contains("/no/such/program cannot be started: No such file"), "{error}");
    }

    #[tokio::test]
    async fn one_that_takes_too_long_is_killed() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let pid = directory.path().join("pid");
        let program = CompilerProgram {
            program: "/bin/sh".into(),
            arguments: vec![
                "-c".into(),
                format!("echo $$ >{}; exec sleep 99", pid.display()).into(),
            ],
            memory_bytes_max: 0,
            deadline: Duration::from_millis(500),
        };
        let error = program.compile(order(0)).await.err().expect("it takes too long");
        assert_eq!(error, CompileError::Deadline(Duration::from_millis(500)));
        let pid = std::fs::read_to_string(pid).expect("it had begun");
        let process = std::path::Path::new("/proc").join(pid.trim());
        let gone = async {
            // It is reaped aside, by the runtime.
            while std::fs::read_to_string(process.join("stat")).is_ok_and(|it| !it.contains(") Z "))
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), gone).await.expect("it was killed");
    }
}
