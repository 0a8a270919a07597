//! The compiler's end: what a process does that was started to compile one component.

use super::cache::CodeCache;
use super::functions::Functions;
use super::order::{FunctionsOf, Order};
use crate::engine::Engine;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

/// The exit code that says that the component is refused; what for stands on the standard error.
pub(super) const EXIT_REFUSED: i32 = 3;
/// The host is gone, or does not want the answer any more.
const EXIT_UNWANTED: i32 = 4;
/// Lower than everything that handles events: it can wait, they cannot.
const NICENESS: i32 = 10;

/// Compiles the component on the standard input within so many bytes of memory and writes the code to the standard
/// output, for a [`CompilerProgram`](super::CompilerProgram). Call it first thing in a process that does nothing else.
///
/// An allocation beyond the bound aborts the process. So does the end of the standard input: the host is gone then.
#[expect(clippy::print_stderr, reason = "the standard error is how the host hears why")]
pub fn compile_standard_input(memory_bytes_max: u64) -> ExitCode {
    match compile(memory_bytes_max) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Refused(text)) => {
            eprintln!("{text}");
            ExitCode::from(EXIT_REFUSED as u8)
        }
        Err(Failure::Io(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

enum Failure {
    Refused(String),
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn compile(memory_bytes_max: u64) -> Result<(), Failure> {
    keep_to(memory_bytes_max)?;
    let order = Order::read(&mut io::stdin().lock())?;
    let watch = std::thread::Builder::new().name("host-watch".into());
    // It ends with the process.
    let _ = watch.spawn(end_with_host)?;
    let refused = |error: &dyn std::fmt::Display| Failure::Refused(format!("{error:#}"));
    let functions = order.functions.as_ref().and_then(KeptFunctions::open);
    let store = functions.as_ref().map(|kept| kept.functions.clone());
    let engine = Engine::compiler(store).map_err(|error| refused(&error))?;
    let code = engine.precompile_component(&order.component).map_err(|error| refused(&error))?;
    if let Some(functions) = functions {
        functions.keep();
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(&(code.len() as u64).to_le_bytes())?;
    stdout.write_all(&code)?;
    stdout.flush()?;
    Ok(())
}

/// Bounds what it may take of the machine.
fn keep_to(memory_bytes_max: u64) -> io::Result<()> {
    let limit = Rlimit { current: Some(memory_bytes_max), maximum: Some(memory_bytes_max) };
    // What can be written to and is not shared: the address space would count the program's text and what is only
    // reserved as well.
    setrlimit(Resource::Data, limit)?;
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none)?;
    // Neither is needed: it would only be less polite.
    let _ = rustix::process::nice(NICENESS);
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    Ok(())
}

/// The functions of the version before, and where those of this one go. Nothing of it is needed: what cannot be read or kept is compiled
/// anew, and the host has looked at the directory and said what is wrong with it.
struct KeptFunctions<'a> {
    functions: Arc<Functions>,
    cache: CodeCache,
    of: &'a FunctionsOf,
}

impl<'a> KeptFunctions<'a> {
    fn open(of: &'a FunctionsOf) -> Option<Self> {
        let cache = CodeCache::open(of.cache.clone()).ok()?;
        let before = cache.content(&of.key).unwrap_or_default();
        let functions = Arc::new(Functions::of(before).unwrap_or_default());
        Some(Self { functions, cache, of })
    }

    fn keep(self) {
        if let Some(kept) = self.functions.kept() {
            let _ = self.cache.put(&self.of.key, &kept);
        }
    }
}

/// The host keeps its end of the pipe for as long as it waits, and the system closes it when the host is killed.
fn end_with_host() {
    let mut byte = [0];
    // Nothing more comes: this returns when the pipe is closed.
    let _ = io::stdin().lock().read(&mut byte);
    std::process::exit(EXIT_UNWANTED);
}
