//! Compiled code that may be run: the only place of the host with unsafe code.
//!
//! wasmtime trusts compiled code blindly: who may choose its bytes may do what the host may. So code is a type of its own,
//! which is made by this module's parent alone, from what a compiler of ours has just answered or what the cache has found
//! to be what it once kept. Nothing that comes from a plugin directory becomes one.

use super::CompileError;
use crate::engine::Engine;
use wasmtime::component::Component;

/// A component's compiled code, as wasmtime writes it.
pub(crate) struct CompiledCode {
    bytes: Vec<u8>,
}

impl CompiledCode {
    /// Takes bytes that an engine of this program has written. Whoever calls this vouches for that.
    pub(super) fn trusted(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes it ready to run. Fails where it was made by another version of the engine or for another machine.
    pub(super) fn component(&self, engine: &Engine) -> Result<Component, CompileError> {
        #[allow(
            unsafe_code,
            reason = "there is no other way to take over what was compiled elsewhere"
        )]
        // SAFETY: the bytes must be what `Engine::precompile_component` wrote. `trusted` is called in three places:
        // with what it has just written in this process; with what came through a pipe from a process that this one
        // started from its own executable, and to which nobody else has the other end; and with what bears the mark of
        // a key that only this user can read, which `keep` put on such bytes (what else the cache has, has names that no
        // component's code has). Machine code that the child was given back for `informant dev` comes from there as well,
        // under the same mark. Version, settings and processor are checked by wasmtime itself. The bytes are in memory of our own and are copied, so no file can change them.
        let component = unsafe { Component::deserialize(engine.wasmtime(), &self.bytes) };
        component.map_err(|error| CompileError::Host(format!("{error:#}")))
    }
}
