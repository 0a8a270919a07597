//! The compilation of plugins: the conversion of the command line to the runtime's options, and the process that
//! compiles.

use anyhow::{Result, bail};
use informant_runtime::{CodeCacheOptions, CompilerOptions, CompilerProgram};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tracing::info;

/// An 18 MB Python plugin takes 42 s of CPU time in an unoptimised build of this program, and a container may have
/// little CPU.
const DEADLINE: Duration = Duration::from_secs(300);
/// Enough for some hundred Rust plugins, or a handful of Python ones.
const CACHE_BYTES_MAX: u64 = 512 << 20;

/// How plugins are compiled.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct CompilerArgs {
    /// Memory of the process that checks and compiles plugins. A second process, for small plugins, may take a third of
    /// it in addition.
    #[arg(long, value_name = "SIZE", default_value = "768Mi", value_parser = size)]
    pub(crate) compile_memory: u64,
    /// Directory for compiled plugins, which no other user may read or write. `off` keeps none. [default: informant/code in
    /// the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) code_cache: Option<PathBuf>,
}

/// What the process that compiles is called with.
#[derive(clap::Args, Debug)]
pub(crate) struct CompileArgs {
    /// Bytes of memory that it keeps to.
    memory_bytes_max: u64,
    /// Seconds of processor time that it keeps to.
    cpu_seconds_max: u64,
}

/// Checks and compiles the file on standard input. Only the host starts this command.
pub(crate) fn compile_plugin(args: &CompileArgs) -> ExitCode {
    informant_runtime::compile_standard_input(args.memory_bytes_max, args.cpu_seconds_max)
}

/// The purpose of the compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Plugins that are to run, or to be inspected.
    Plugins,
    /// Plugins under development: each save is a version that is to run soon.
    Versions,
}

/// The options that the command line asks for. A directory that the command line names must be usable; the user's
/// cache directory need not be.
pub(crate) fn options(args: &CompilerArgs, of: Use) -> Result<CompilerOptions> {
    let program = CompilerProgram {
        program: this_program()?,
        arguments: vec!["compile-plugin".into()],
        memory_bytes_max: args.compile_memory,
        deadline: DEADLINE,
    };
    let cache = |directory| CodeCacheOptions { directory, bytes_max: CACHE_BYTES_MAX };
    let cache = match &args.code_cache {
        Some(off) if off.as_os_str() == "off" => None,
        Some(directory) => {
            let options = cache(directory.clone());
            informant_runtime::check_code_cache(&options)?;
            Some(options)
        }
        None => user_cache().map(cache).filter(|options| {
            let checked = informant_runtime::check_code_cache(options);
            checked.inspect_err(|error| info!("compiled plugins are not kept: {error}")).is_ok()
        }),
    };
    Ok(CompilerOptions { program: Some(program), cache, is_for_versions: of == Use::Versions })
}

/// The running executable, even if another file has replaced it on the disk.
fn this_program() -> Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() {
        return Ok(running.to_owned());
    }
    match std::env::current_exe() {
        Ok(path) => Ok(path),
        Err(error) => {
            bail!("this program's own file is not known, so no plugin can be compiled: {error}")
        }
    }
}

fn user_cache() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("informant").join("code"))
}

/// Parses a size in Kubernetes' notation: bytes, or a number with `Ki`, `Mi` or `Gi`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let units = [("Ki", 10), ("Mi", 20), ("Gi", 30)];
    let unit = units.iter().find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, *bits)));
    let (number, bits) = unit.unwrap_or((text, 0));
    let number: Option<u64> = number.parse().ok();
    number
        .and_then(|number| number.checked_mul(1 << bits))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "use a number of bytes, or one with Ki, Mi or Gi, as in 512Mi".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, bytes: Option<u64>) {
        assert_eq!(size(text).ok(), bytes, "{text}");
    }

    #[test]
    fn sizes_are_written_as_in_kubernetes() {
        check("512Mi", Some(512 << 20));
        check("1Gi", Some(1 << 30));
        check("4096", Some(4_096));
        check("0", None);
        check("512M", None);
        check("-1Mi", None);
        check("99999999999Gi", None);
    }
}
