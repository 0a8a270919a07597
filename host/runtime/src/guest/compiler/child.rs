//! The host's end of the compiler process: starts the process, writes the file, reads report and code, and enforces
//! the bounds.
//!
//! Input of the child: an [order](super::order); then the pipe stays open for as long as the host wants the answer.
//! Output: the length of the [plugin](super::code::CompiledPlugin) in eight bytes, little-endian, and the plugin. The
//! functions to keep follow in the same form, empty if there are none. Errors come on the standard error.

use super::CompileError;
use super::line::FileLane;
use super::order::{self, FUNCTIONS_BYTES_MAX};
use super::program::{EXIT_NOT_A_PLUGIN, EXIT_REFUSED};
use std::ffi::OsString;
use std::io;
use std::num::NonZero;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStdin, Command};

/// Above the code of the largest plugin file: code is up to five times as large as its file.
const ANSWER_BYTES_MAX: u64 = 512 << 20;
/// The beginning of the child's message: an error of the compiler is a line or two.
const MESSAGE_BYTES_MAX: u64 = 4 << 10;

/// Last messages of a process without memory: of the allocator, of the system, and of threads without room for a
/// stack.
const OUT_OF_MEMORY: [&str; 4] =
    ["memory allocation of", "os error 12", "os error 11", "ThreadPoolBuildError"];
/// The last message of a thread that recursed too deeply.
const OUT_OF_STACK: &str = "has overflowed its stack";
/// The signal for too much processor time, `SIGXCPU`.
const OUT_OF_TIME: i32 = 24;
/// The signal that ends a process at once, `SIGKILL`.
const KILLED: i32 = 9;
/// The number of compiling threads. Each has its own stack and working memory, so there are fewer than cores on a
/// large machine.
const THREADS_MAX: u32 = 4;

/// Files up to this size are tried in the lane for small files first. Rust, C, Go and JavaScript make such files.
const SMALL_FILE_BYTES_MAX: usize = 5 << 20;
/// A small file gets one part in so many of the memory: it is compiled beside a large one.
const SMALL_FILE_MEMORY: u64 = 3;
/// The processor time for a small file. Other work on the machine does not count, so no file is compiled twice because of
/// it. The largest takes 6 s if this program is not optimised.
const SMALL_FILE_CPU: Duration = Duration::from_secs(20);
/// The first limit of processor time in the large lane. The largest file takes 9 s if this program is optimised.
const FIRST_CPU: Duration = Duration::from_secs(60);

/// A program that checks and compiles the plugin file on its standard input, by calling
/// [`compile_standard_input`](super::compile_standard_input).
#[derive(Debug, Clone)]
pub struct CompilerProgram {
    /// The executable.
    pub program: PathBuf,
    /// The arguments of the program. Two more follow: its bounds, in bytes of memory and seconds of processor time.
    pub arguments: Vec<OsString>,
    /// The memory of one process, in bytes. A second process may use a third of that beside it.
    pub memory_bytes_max: u64,
    /// The time for one attempt to compile a file, by the clock. After it, the process is killed.
    pub deadline: Duration,
}

/// The bounds of one attempt to compile a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) lane: FileLane,
    pub(super) memory_bytes: u64,
    /// The processor time of all threads together. `None` for what there is within the deadline.
    pub(super) cpu: Option<Duration>,
}

/// The answer of a compiler process.
#[derive(Debug)]
pub(super) struct ChildAnswer {
    /// See [`CompiledPlugin`](super::code::CompiledPlugin); not checked yet.
    pub(super) plugin: Vec<u8>,
    /// Functions to keep. Empty if they are those that were kept, or if functions are not kept.
    pub(super) functions: Vec<u8>,
}

impl CompilerProgram {
    /// The attempts for a file of so many bytes, each after a lack of memory or time. The first attempt is small, so a
    /// large file does not delay small ones.
    pub(super) fn attempts(&self, file_bytes: usize) -> impl Iterator<Item = Attempt> {
        let all = |cpu| Attempt { lane: FileLane::Large, memory_bytes: self.memory_bytes_max, cpu };
        let small = Attempt {
            lane: FileLane::Small,
            memory_bytes: self.memory_bytes_max / SMALL_FILE_MEMORY,
            cpu: Some(SMALL_FILE_CPU),
        };
        let small = Some(small).filter(|_| file_bytes <= SMALL_FILE_BYTES_MAX);
        let first = Some(all(Some(FIRST_CPU))).filter(|_| self.deadline > FIRST_CPU);
        small.into_iter().chain(first).chain([all(None)])
    }

    /// Has a file checked and compiled. The process has ended when this returns, and is killed if this is dropped.
    pub(super) async fn run(
        &self,
        attempt: &Attempt,
        file: &[u8],
        functions: Option<&[u8]>,
    ) -> Result<ChildAnswer, CompileError> {
        match tokio::time::timeout(self.deadline, self.answer(attempt, file, functions)).await {
            Ok(answer) => answer,
            Err(_) => Err(CompileError::Deadline(self.deadline)),
        }
    }

    async fn answer(
        &self,
        attempt: &Attempt,
        file: &[u8],
        functions: Option<&[u8]>,
    ) -> Result<ChildAnswer, CompileError> {
        let program = self.program.display();
        let host = |what: &str, error: io::Error| {
            CompileError::Host(format!("{program} cannot be {what}: {error}"))
        };
        let threads = threads();
        let cpu_seconds = self.cpu(attempt).as_secs().max(1);
        // The process needs no environment, and must not get the terminal's signals.
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .args([attempt.memory_bytes.to_string(), cpu_seconds.to_string()])
            .env_clear()
            .env("RAYON_NUM_THREADS", threads.to_string())
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
        let given = give(stdin, file, functions);
        let (given, answer, message) = tokio::join!(given, take(stdout), listen(stderr));
        let status = child.wait().await.map_err(|error| host("waited for", error))?;
        match answer {
            Ok(answer) if status.success() => Ok(answer),
            Err(error) if status.success() => Err(host("understood", error)),
            _ => {
                drop(given);
                Err(self.failure(attempt, status, &message))
            }
        }
    }

    fn cpu(&self, attempt: &Attempt) -> Duration {
        attempt.cpu.unwrap_or(self.deadline * threads())
    }

    fn failure(&self, attempt: &Attempt, status: ExitStatus, message: &str) -> CompileError {
        let text = message.trim();
        if OUT_OF_MEMORY.iter().any(|words| text.contains(words)) {
            return CompileError::Memory(attempt.memory_bytes);
        }
        if text.contains(OUT_OF_STACK) {
            return CompileError::Stack;
        }
        match (status.code(), status.signal()) {
            (Some(EXIT_REFUSED), _) => CompileError::Refused(text.to_owned()),
            (Some(EXIT_NOT_A_PLUGIN), _) => CompileError::NotAPlugin(text.to_owned()),
            (_, Some(OUT_OF_TIME)) => CompileError::ProcessorTime(self.cpu(attempt)),
            (_, Some(KILLED)) => CompileError::Host(format!(
                "it ended with {status} (by the system, most likely for want of memory: give the container more, or lower --compile-memory) {text}"
            )),
            _ => CompileError::Host(format!("it ended with {status} {text}")),
        }
    }
}

fn threads() -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    u32::try_from(processors).unwrap_or(THREADS_MAX).min(THREADS_MAX)
}

/// Writes the order, and frees it. The pipe stays open: this shows that the host waits.
async fn give(
    mut stdin: ChildStdin,
    file: &[u8],
    functions: Option<&[u8]>,
) -> io::Result<ChildStdin> {
    order::write(file, functions, &mut stdin).await?;
    Ok(stdin)
}

/// Closes the pipe at its end, so that no child waits to write the rest.
async fn take(mut stdout: impl AsyncRead + Unpin) -> io::Result<ChildAnswer> {
    let plugin = take_frame(&mut stdout, ANSWER_BYTES_MAX).await?;
    let functions = take_frame(&mut stdout, FUNCTIONS_BYTES_MAX).await?;
    Ok(ChildAnswer { plugin, functions })
}

async fn take_frame(stdout: &mut (impl AsyncRead + Unpin), most: u64) -> io::Result<Vec<u8>> {
    let length = stdout.read_u64_le().await?;
    if length > most {
        let text = format!("it answers with {length} bytes, at most {most} are taken");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    stdout.take(length).read_to_end(&mut bytes).await?;
    if bytes.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

/// Closes the pipe as [`take`] does.
async fn listen(stderr: impl AsyncRead + Unpin) -> String {
    let mut message = Vec::new();
    // A message may break off.
    let _ = stderr.take(MESSAGE_BYTES_MAX).read_to_end(&mut message).await;
    String::from_utf8_lossy(&message).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(script: &str) -> CompilerProgram {
        CompilerProgram {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            memory_bytes_max: 64 << 20,
            deadline: Duration::from_secs(90),
        }
    }

    async fn run(program: &CompilerProgram) -> Result<ChildAnswer, CompileError> {
        let attempt = program.attempts(usize::MAX).next().expect("there is one");
        program.run(&attempt, &[7; 100_000], None).await
    }

    /// A shell replaces the compiler. Checks the host's result.
    async fn check(script: &str, expect: &str) {
        let found = match run(&program(script)).await {
            Ok(ChildAnswer { plugin, functions }) => {
                let [plugin, functions] = [plugin, functions].map(String::from_utf8);
                format!("answer {plugin:?} {functions:?}")
            }
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expect), "{script}: {found}");
    }

    #[tokio::test]
    async fn what_it_answers_is_taken() {
        let answer = r"printf '\004\0\0\0\0\0\0\0code\001\0\0\0\0\0\0\0f'";
        let expect = r#"answer Ok("code") Ok("f")"#;
        check(&format!("head -c 100016 >/dev/null; {answer}"), expect).await;
        check(answer, expect).await;
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_none() {
        check("exit 0", "cannot be understood").await;
        check(r"printf '\005\0\0\0\0\0\0\0code'", "cannot be understood").await;
        check(r"printf '\004\0\0\0\0\0\0\0code'", "cannot be understood").await;
        check(r"printf '\0\0\0\0\0\0\0\001'", "at most 536870912 are taken").await;
        check("exit 6", "ended with exit status: 6").await;
    }

    #[test]
    fn a_file_is_tried_with_little_first() {
        let of = |deadline, bytes| {
            let deadline = Duration::from_secs(deadline);
            let program = CompilerProgram { deadline, memory_bytes_max: 300, ..program("") };
            let attempts = program.attempts(bytes);
            let shown = attempts.map(|Attempt { lane, memory_bytes, cpu }| {
                let cpu = cpu.map_or("all".to_owned(), |cpu| cpu.as_secs().to_string());
                format!("{lane:?} {memory_bytes} {cpu}")
            });
            shown.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(of(300, SMALL_FILE_BYTES_MAX), "Small 100 20, Large 300 60, Large 300 all");
        assert_eq!(of(300, SMALL_FILE_BYTES_MAX + 1), "Large 300 60, Large 300 all");
        assert_eq!(of(60, 1), "Small 100 20, Large 300 all");
    }

    #[tokio::test]
    async fn what_it_says_is_told_and_cut() {
        check("echo no such instruction >&2; exit 3", "cannot be compiled: no such instruction")
            .await;
        check("yes boom >&2", "it ended with").await;
        check("echo it exports nothing >&2; exit 5", "it exports nothing").await;
    }

    #[tokio::test]
    async fn its_want_of_memory_is_told_with_what_to_do() {
        let expect = "needs more than the 64 MiB that the compiler may use";
        check("echo memory allocation of 8 bytes failed >&2; kill -6 $$", expect).await;
        check("echo 'Cannot allocate memory (os error 12)' >&2; exit 3", expect).await;
        check("kill -9 $$", "most likely for want of memory").await;
    }

    #[tokio::test]
    async fn its_want_of_stack_and_of_time_is_told() {
        let expect = "nests too deeply";
        check("echo thread look has overflowed its stack >&2; kill -6 $$", expect).await;
        check("kill -24 $$", "took more than 60 s of processor time").await;
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let program = CompilerProgram { program: "/no/such/program".into(), ..program("") };
        let error = run(&program).await.expect_err("there is none").to_string();
        assert!(error.contains("/no/such/program cannot be started: No such file"), "{error}");
    }

    #[tokio::test]
    async fn one_that_takes_too_long_is_killed() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let pid = directory.path().join("pid");
        let script = format!("echo $$ >{}; exec sleep 99", pid.display());
        let program = CompilerProgram { deadline: Duration::from_millis(500), ..program(&script) };
        let error = run(&program).await.expect_err("it takes too long");
        assert_eq!(error, CompileError::Deadline(Duration::from_millis(500)));
        let pid = std::fs::read_to_string(pid).expect("it had begun");
        let process = std::path::Path::new("/proc").join(pid.trim());
        let gone = async {
            // The runtime reaps the process in the background.
            while std::fs::read_to_string(process.join("stat")).is_ok_and(|it| !it.contains(") Z "))
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), gone).await.expect("it was killed");
    }
}
