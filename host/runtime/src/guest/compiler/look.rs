//! All steps from a plugin file to its code: format, contract, size, compilation.

use super::instance_size::instance_size;
use super::report::FileReport;
use crate::contract::component::{CheckedComponent, check};

/// The reason for which a file is refused, as a text for people.
#[derive(Debug)]
pub(super) enum FileRefusal {
    /// The file breaks the contract.
    NotAPlugin(String),
    /// The compiler refuses the file.
    Refused(String),
}

/// Returns a report on the file, and its compiled code: the baseline compiler's if that takes the file, and otherwise the
/// engine's. `unconfined` is the reason for which this process has more rights than it needs.
pub(super) fn look_at(
    file: Vec<u8>,
    engine: &wasmtime::Engine,
    baseline: Option<&wasmtime::Engine>,
    unconfined: Option<String>,
) -> Result<(FileReport, Vec<u8>), FileRefusal> {
    let checked = check(file).map_err(|error| FileRefusal::NotAPlugin(error.to_string()))?;
    let CheckedComponent { bytes, tables, imports, exports } = checked;
    let refused = |error: wasmtime::Error| FileRefusal::Refused(format!("{error:#}"));
    let size = instance_size(&bytes).map_err(refused)?;
    let sizes = (size.bytes, tables.kept_bytes(size.arguments));
    let mut report =
        FileReport::new(imports, exports, sizes, unconfined).map_err(FileRefusal::NotAPlugin)?;
    if let Some(Ok(code)) = baseline.map(|baseline| baseline.precompile_component(&bytes)) {
        report.is_baseline = true;
        return Ok((report, code));
    }
    let code = engine.precompile_component(&bytes).map_err(refused)?;
    Ok((report, code))
}
