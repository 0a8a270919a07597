//! wasmtime trusts compiled code: its bytes can do all that the host can. So code has its own type. Only this module's
//! parent makes a value of it, from the answer of a compiler process or from an entry with a valid mark. Bytes of a
//! plugin directory never become one.

use super::CompileError;
use super::report::FileReport;
use crate::guest::engine::Engine;
use std::sync::Arc;
use wasmtime::component::Component;

/// The length of the report, in front of the report.
const LENGTH_BYTES: usize = 4;

/// A compiled plugin: a report, and a component's compiled code as wasmtime writes it. The content has the report's
/// length in four bytes, little-endian, then the report, then the code.
pub(crate) struct CompiledPlugin {
    content: Vec<u8>,
    report: Arc<FileReport>,
    code_at: usize,
}

impl CompiledPlugin {
    /// Joins a report and code that this process made.
    pub(super) fn content_of(report: &FileReport, code: &[u8]) -> Vec<u8> {
        let report = report.to_bytes();
        [&(report.len() as u32).to_le_bytes()[..], &report, code].concat()
    }

    /// Takes the output of this program's engine, behind a report. The caller vouches for its origin.
    pub(super) fn trusted(content: Vec<u8>) -> Result<Self, CompileError> {
        let (report, code_at) = split(&content).map_err(CompileError::Host)?;
        Ok(Self { content, report: Arc::new(report), code_at })
    }

    pub(crate) fn content(&self) -> &[u8] {
        &self.content
    }

    /// The report about the plugin.
    pub(crate) fn report(&self) -> &Arc<FileReport> {
        &self.report
    }

    /// Prepares the code to run. Fails for code of another engine version or another machine.
    pub(super) fn component(&self, engine: &Engine) -> Result<Component, CompileError> {
        let code = &self.content[self.code_at..];
        let engine = match self.report.is_baseline {
            true => engine.baseline(),
            false => Some(engine.wasmtime()),
        };
        let no_engine = || {
            CompileError::Host(
                "the code is of the compiler for development, which this host does not run"
                    .to_owned(),
            )
        };
        let engine = engine.ok_or_else(no_engine)?;
        // Invariant 31.
        #[allow(
            unsafe_code,
            reason = "there is no other way to take over what was compiled elsewhere"
        )]
        // SAFETY: the bytes must be the output of `Engine::precompile_component`. `trusted` has three callers. One
        // passes the output of this process. One passes the output of a child process with this executable, through a
        // pipe that no other process can write to. One passes an entry with a valid mark: only this user can read the
        // key, and `keep` put the mark on such bytes. Other content of the cache has names that no plugin's code has.
        // Machine code that the child reused for `informant dev` comes from the cache too, under the same mark.
        // wasmtime itself checks version, settings and processor. The bytes are in this process's memory and are
        // copied, so no file can change them.
        let component = unsafe { Component::deserialize(engine, code) };
        component.map_err(|error| CompileError::Host(format!("{error:#}")))
    }
}

/// Splits the content into the report and the offset of the code.
fn split(content: &[u8]) -> Result<(FileReport, usize), String> {
    let cut_off = || "the answer breaks off in its report".to_owned();
    let (length, rest) = content.split_first_chunk::<LENGTH_BYTES>().ok_or_else(cut_off)?;
    let length = u32::from_le_bytes(*length) as usize;
    let report = FileReport::read(rest.get(..length).ok_or_else(cut_off)?)?;
    Ok((report, LENGTH_BYTES + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_breaks_off_is_an_error() {
        let report =
            FileReport::new(vec!["log".to_owned()], vec![], (5, 6), None).expect("in its bounds");
        let content = CompiledPlugin::content_of(&report, b"code");
        let plugin = CompiledPlugin::trusted(content.clone()).expect("it is whole");
        assert_eq!(
            (&**plugin.report(), &plugin.content[plugin.code_at..]),
            (&report, &b"code"[..])
        );
        for length in 0..content.len() - 4 {
            let error = CompiledPlugin::trusted(content[..length].to_vec()).err();
            assert!(matches!(error, Some(CompileError::Host(_))), "{length}");
        }
    }
}
