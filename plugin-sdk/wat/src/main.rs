//! `wat2plugin IN.wat OUT.wasm`: assembles a plugin written in the WebAssembly text format, with nothing
//! installed but cargo. The output appears complete or not at all, so it may be written straight into a
//! directory that a host watches.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).map(PathBuf::from).collect();
    let result = match arguments.as_slice() {
        [input, output] => assemble(input, output),
        _ => Err("usage: wat2plugin IN.wat OUT.wasm".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            report(&message);
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stderr, reason = "a command line tool reports on stderr")]
fn report(message: &str) {
    eprintln!("wat2plugin: {message}");
}

fn assemble(input: &Path, output: &Path) -> Result<(), String> {
    let bytes = wat::parse_file(input).map_err(|e| e.to_string())?;
    let valid = wasmparser::Validator::new().validate_all(&bytes);
    valid.map_err(|e| format!("{}: {e}", input.display()))?;
    write_at_once(output, &bytes).map_err(|e| format!("cannot write {}: {e}", output.display()))
}

/// Writes beside the file and renames: a watcher sees the old content or the new, never a part.
fn write_at_once(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".tmp");
    let unfinished = path.with_file_name(name);
    fs::write(&unfinished, bytes)?;
    fs::rename(&unfinished, path)
}
