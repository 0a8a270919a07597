//! Compiled code that may be run: the only place of the host with unsafe code.
//!
//! wasmtime trusts compiled code blindly: who may choose its bytes may do what the host may. So code is a type of its own,
//! which is made by this module's parent alone, from what a compiler of ours has just answered or what the cache has found
//! to be what it once kept. Nothing that comes from a plugin directory becomes one.

use super::CompileError;
use super::report::FileReport;
use crate::guest::engine::Engine;
use std::sync::Arc;
use wasmtime::component::Component;

/// Before the report stands its length, as four bytes.
const LENGTH_BYTES: usize = 4;

/// A plugin that was compiled: a report on it, and a component's compiled code as wasmtime writes it. It is kept as it
/// came: the report's length in four bytes, little-endian, the report, the code.
pub(crate) struct CompiledPlugin {
    content: Vec<u8>,
    report: Arc<FileReport>,
    code_at: usize,
}

impl CompiledPlugin {
    /// Puts together what was found and compiled in this process.
    pub(super) fn content_of(report: &FileReport, code: &[u8]) -> Vec<u8> {
        let report = report.to_bytes();
        [&(report.len() as u32).to_le_bytes()[..], &report, code].concat()
    }

    /// Takes what an engine of this program has written, behind a report. Whoever calls this vouches for that.
    pub(super) fn trusted(content: Vec<u8>) -> Result<Self, CompileError> {
        let (report, code_at) = split(&content).map_err(CompileError::Host)?;
        Ok(Self { content, report: Arc::new(report), code_at })
    }

    pub(crate) fn content(&self) -> &[u8] {
        &self.content
    }

    /// What is known of the plugin.
    pub(crate) fn report(&self) -> &Arc<FileReport> {
        &self.report
    }

    /// Makes it ready to run. Fails where it was made by another version of the engine or for another machine.
    pub(super) fn component(&self, engine: &Engine) -> Result<Component, CompileError> {
        let code = &self.content[self.code_at..];
        // Invariant 31.
        #[allow(
            unsafe_code,
            reason = "there is no other way to take over what was compiled elsewhere"
        )]
        // SAFETY: the bytes must be what `Engine::precompile_component` wrote. `trusted` is called in three places:
        // with what it has just written in this process; with what came through a pipe from a process that this one
        // started from its own executable, and to which nobody else has the other end; and with what bears the mark of
        // a key that only this user can read, which `keep` put on such bytes (what else the cache has, has names that no
        // plugin's code has). Machine code that the child was given back for `informant dev` comes from there as well,
        // under the same mark. Version, settings and processor are checked by wasmtime itself. The bytes are in memory
        // of our own and are copied, so no file can change them.
        let component = unsafe { Component::deserialize(engine.wasmtime(), code) };
        component.map_err(|error| CompileError::Host(format!("{error:#}")))
    }
}

/// The report, and where the code begins.
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
