//! The compiler's end: the work of a process that checks and compiles one plugin file.

use super::confinement::{ProcessBounds, confine};
use super::functions::Functions;
use super::look::{FileRefusal, look_at};
use super::order::CompileOrder;
use crate::guest::engine::Engine;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use wasmtime::CacheStore;

/// The exit code for a file that is not a plugin. The standard error has the reason.
pub(super) const EXIT_NOT_A_PLUGIN: i32 = 5;
/// The exit code for a plugin that the compiler refuses. The standard error has the reason.
pub(super) const EXIT_REFUSED: i32 = 3;
/// The exit code after the host has ended or closed the pipe.
const EXIT_UNWANTED: i32 = 4;
/// The stack of the thread that checks the file. Code of usual compilers needs a tenth of that if this program is not
/// optimised; deeper nesting ends this process.
const STACK_BYTES: usize = 8 << 20;

/// Checks and compiles the plugin file on the standard input, and writes a report and the code to the standard output,
/// for a [`CompilerProgram`](super::CompilerProgram). Call this first in a process that does nothing else.
///
/// The process uses at most so many bytes of memory and seconds of processor time. It has no files, no network and no
/// other programs, as far as the system can enforce that. An allocation beyond the bound aborts the process. So does
/// the end of the standard input, because the host has then ended.
#[expect(clippy::print_stderr, reason = "the standard error is how the host hears why")]
pub fn compile_standard_input(memory_bytes_max: u64, cpu_seconds_max: u64) -> ExitCode {
    let bounds = ProcessBounds { memory_bytes: memory_bytes_max, cpu_seconds: cpu_seconds_max };
    let (code, text) = match compile(bounds) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(ProgramFailure::Refusal(FileRefusal::NotAPlugin(text))) => (EXIT_NOT_A_PLUGIN, text),
        Err(ProgramFailure::Refusal(FileRefusal::Refused(text))) => (EXIT_REFUSED, text),
        Err(ProgramFailure::Io(error)) => (1, error.to_string()),
    };
    eprintln!("{text}");
    ExitCode::from(code as u8)
}

enum ProgramFailure {
    Refusal(FileRefusal),
    Io(io::Error),
}

impl From<io::Error> for ProgramFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn compile(bounds: ProcessBounds) -> Result<(), ProgramFailure> {
    bounds.keep()?;
    let order = CompileOrder::read(&mut io::stdin().lock())?;
    let watch = std::thread::Builder::new().name("host-watch".into());
    // The thread ends with the process.
    let _ = watch.spawn(end_with_host)?;
    let unconfined = confine().err();
    let look = std::thread::Builder::new().name("look".into()).stack_size(STACK_BYTES);
    let look = look.spawn(move || answer(order, unconfined))?;
    // A panic has written its reason to the standard error.
    look.join().unwrap_or_else(|_| Err(io::Error::other("the check of the file panicked").into()))
}

fn answer(order: CompileOrder, unconfined: Option<String>) -> Result<(), ProgramFailure> {
    let CompileOrder { file, functions } = order;
    // A version without kept functions is the first one, or the baseline compiler took the version before.
    let is_empty = functions.as_ref().is_some_and(Vec::is_empty);
    let baseline = is_empty.then(Engine::baseline_compiler).flatten();
    let functions = functions.map(|before| Arc::new(Functions::of(before).unwrap_or_default()));
    let engine =
        Engine::compiler(functions.clone().map(|functions| functions as Arc<dyn CacheStore>))
            .map_err(|error| ProgramFailure::Refusal(FileRefusal::Refused(error.to_string())))?;
    let (report, code) =
        look_at(file, &engine, baseline.as_ref(), unconfined).map_err(ProgramFailure::Refusal)?;
    let report = report.to_bytes();
    let mut stdout = io::stdout().lock();
    let length = size_of::<u32>() + report.len() + code.len();
    stdout.write_all(&(length as u64).to_le_bytes())?;
    stdout.write_all(&(report.len() as u32).to_le_bytes())?;
    stdout.write_all(&report)?;
    stdout.write_all(&code)?;
    drop(code);
    let kept = functions.and_then(|functions| functions.kept()).unwrap_or_default();
    stdout.write_all(&(kept.len() as u64).to_le_bytes())?;
    stdout.write_all(&kept)?;
    stdout.flush()?;
    Ok(())
}

/// The host keeps its end of the pipe open while it waits. The system closes the pipe when the host is killed.
fn end_with_host() {
    let mut byte = [0];
    // No more input comes: this returns when the pipe is closed.
    let _ = io::stdin().lock().read(&mut byte);
    std::process::exit(EXIT_UNWANTED);
}
