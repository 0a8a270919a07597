//! Files with certificates and keys, which an option names.

use anyhow::{Context as _, Result, ensure};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Some hundred authorities have 200 KiB.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The content of a file.
pub(crate) fn read(option: &str, path: &Path) -> Result<Vec<u8>> {
    let problem = || format!("{option} {} cannot be read", path.display());
    // The open of a pipe would wait for a writer.
    let is_file = std::fs::metadata(path).with_context(problem)?.is_file();
    ensure!(is_file, "{option} {} is no file", path.display());
    let file = File::open(path).with_context(problem)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).with_context(problem)?;
    let is_short = bytes.len() as u64 <= FILE_BYTES_MAX;
    ensure!(is_short, "{option} {} has more than {FILE_BYTES_MAX} bytes", path.display());
    Ok(bytes)
}

/// The certificates of a file, of which there is one at least.
pub(crate) fn certificates(
    option: &str,
    path: &Path,
    content: &[u8],
) -> Result<Vec<CertificateDer<'static>>> {
    let problem = || format!("{option} {} cannot be used", path.display());
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(content).collect();
    let found = found.with_context(problem)?;
    ensure!(!found.is_empty(), "{option} {} has no certificate; it must be PEM", path.display());
    Ok(found)
}
