//! All that is done with a plugin file before it can run: format, contract, size, code.

use super::instance_size::instance_size;
use super::report::FileReport;
use crate::contract::component::{CheckedComponent, check};

/// Why a file does not become a plugin, in words for people.
#[derive(Debug)]
pub(super) enum FileRefusal {
    /// It does not keep the contract.
    NotAPlugin(String),
    /// The compiler does not take it.
    Refused(String),
}

/// A report on the file, and the code that it was compiled to. `unconfined` says why the process that calls this
/// has more rights than it needs.
pub(super) fn look_at(
    file: Vec<u8>,
    engine: &wasmtime::Engine,
    unconfined: Option<String>,
) -> Result<(FileReport, Vec<u8>), FileRefusal> {
    let checked = check(file).map_err(|error| FileRefusal::NotAPlugin(error.to_string()))?;
    let CheckedComponent { bytes, tables, imports, exports } = checked;
    let refused = |error: wasmtime::Error| FileRefusal::Refused(format!("{error:#}"));
    let size = instance_size(&bytes).map_err(refused)?;
    let sizes = (size.bytes, tables.kept_bytes(size.arguments));
    let report =
        FileReport::new(imports, exports, sizes, unconfined).map_err(FileRefusal::NotAPlugin)?;
    let code = engine.precompile_component(&bytes).map_err(refused)?;
    Ok((report, code))
}
