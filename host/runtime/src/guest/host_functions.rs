//! The functions that a plugin can call: one file for each interface of the contract.

mod event_data;
pub(crate) mod fields;
mod host_call;
mod host_info;
mod http;
mod indexer;
mod kube;
mod log;
mod metrics;
mod state;
mod taped;
pub(crate) mod wasi;
mod workqueue;

use host_call::{HostCall, Measured};
use taped::TapedInterfaces;

use crate::contract::component::WasiImports;
use crate::guest::bindings::informant::plugin as imports;
use crate::guest::engine::{Engine, EngineError};
use crate::guest::guest_state::GuestState;
use std::sync::Arc;
use wasmtime::component::{Component, HasSelf, InstancePre, Linker};

/// The text of an object, in the contract's type.
type Json = Vec<u8>;
/// The labels of a metric, in the contract's type.
type Labels = Vec<(String, String)>;

/// All host functions as components import them, for each compiler's engine. They are made once, so a plugin adds none.
/// Clones share them.
#[derive(Clone)]
pub(crate) struct HostFunctions(Arc<[Linker<GuestState>]>);

impl HostFunctions {
    /// The functions for components of this engine.
    pub(crate) fn new(engine: &Engine) -> Result<Self, EngineError> {
        Self::made(engine, link)
    }

    /// The same, for instances whose calls are recorded or played back.
    pub(crate) fn taped(engine: &Engine) -> Result<Self, EngineError> {
        Self::made(engine, link_taped)
    }

    fn made(
        engine: &Engine,
        link: fn(&mut Linker<GuestState>) -> wasmtime::Result<()>,
    ) -> Result<Self, EngineError> {
        let linked = |engine: &wasmtime::Engine| {
            let mut linker = Linker::new(engine);
            link(&mut linker).map(|()| linker).map_err(|error| EngineError::new(&error))
        };
        engine.each().map(linked).collect::<Result<_, _>>().map(Self)
    }

    /// Links a component with its imported functions and its imports of WASI. Fails if it imports anything else.
    pub(crate) fn link(
        &self,
        component: &Component,
    ) -> wasmtime::Result<(InstancePre<GuestState>, WasiImports)> {
        let is_its =
            |linker: &&Linker<_>| wasmtime::Engine::same(linker.engine(), component.engine());
        let linker = self.0.iter().find(is_its);
        let linker =
            linker.ok_or_else(|| wasmtime::format_err!("its code is of no engine here"))?;
        if !wasi::is_imported(component) {
            return Ok((linker.instantiate_pre(component)?, WasiImports::default()));
        }
        let mut linker = Linker::clone(linker);
        let imports = wasi::link(&mut linker, component)?;
        Ok((linker.instantiate_pre(component)?, imports))
    }
}

fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    imports::types::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    imports::log::add_to_linker::<_, Measured>(linker, host_call::begin)?;
    imports::indexer::add_to_linker::<_, Measured>(linker, host_call::begin)?;
    imports::event_data::add_to_linker::<_, Measured>(linker, host_call::begin)?;
    imports::host_info::add_to_linker::<_, Measured>(linker, host_call::begin)?;
    imports::state::add_to_linker::<_, Measured>(linker, host_call::begin)?;
    imports::metrics::add_to_linker::<_, Measured>(linker, host_call::begin)?;
    imports::workqueue::add_to_linker::<_, Measured>(linker, host_call::begin)?;
    // Measures no host time: these functions wait for outside answers.
    imports::kube::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    imports::http::add_to_linker::<_, HasSelf<_>>(linker, |state| state)
}

fn link_taped(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    imports::types::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    imports::log::add_to_linker::<_, TapedInterfaces>(linker, taped::begin)?;
    imports::indexer::add_to_linker::<_, TapedInterfaces>(linker, taped::begin)?;
    imports::event_data::add_to_linker::<_, TapedInterfaces>(linker, taped::begin)?;
    imports::host_info::add_to_linker::<_, TapedInterfaces>(linker, taped::begin)?;
    imports::state::add_to_linker::<_, TapedInterfaces>(linker, taped::begin)?;
    imports::metrics::add_to_linker::<_, TapedInterfaces>(linker, taped::begin)?;
    imports::workqueue::add_to_linker::<_, TapedInterfaces>(linker, taped::begin)?;
    imports::kube::add_to_linker::<_, TapedInterfaces>(linker, taped::begin)?;
    imports::http::add_to_linker::<_, TapedInterfaces>(linker, taped::begin)
}

impl imports::types::Host for GuestState {}
