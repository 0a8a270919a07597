//! WASI 0.2 for languages whose runtimes cannot start without it: clocks, random numbers, sleep, and a standard output that goes to the plugin's
//! log. Everything else is there and empty: no files, no environment, no arguments, no network. What was decided and why stands in
//! `host/docs/designs/wasi.md`.
//!
//! A component is linked with exactly what it imports, under the versions that it names: one without WASI has none of this.

mod absent;
mod clocks;
mod lines;
mod poll;
mod random;
mod streams;

pub(crate) use poll::POLLABLES_MAX;
pub(crate) use random::RANDOM_BYTES_MAX;
pub(crate) use streams::WRITE_BYTES_MAX;

use crate::contract::WasiImports;
use crate::contract::wasi::split;
use crate::guest_state::GuestState;
use lines::Lines;
use poll::{Pollable, Pollables};
use std::time::{Duration, Instant};
use streams::{InputStream, OutputStream};
use wasmtime::StoreContextMut;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, LinkerInstance, ResourceType};

/// The store of a guest that calls.
type Guest<'a> = StoreContextMut<'a, GuestState>;

/// Where a function is to be defined.
type Place<'a> = LinkerInstance<'a, GuestState>;

/// What the host keeps for an instance that uses WASI; made when it is used first.
pub(crate) struct Wasi {
    /// When the instance's monotonic clock began.
    began: Instant,
    pollables: Pollables,
    out: Lines,
    err: Lines,
}

/// What the monotonic clock shows in the beginning: runtimes take zero for a clock that does not work.
const CLOCK_BEGINS: Duration = Duration::from_secs(1);

impl Wasi {
    pub(crate) fn new(now: Instant) -> Self {
        let (out, err) = (Lines::default(), Lines::default());
        Self { began: now, pollables: Pollables::default(), out, err }
    }
}

/// Whether the component imports anything of WASI.
pub(crate) fn is_imported(component: &Component) -> bool {
    let imported = component.component_type();
    imported.imports(component.engine()).any(|(name, _)| split(name).is_some())
}

/// Links what the component imports of WASI. What it imports otherwise is for others to link, or is found to be missing later.
pub(crate) fn link(
    linker: &mut Linker<GuestState>,
    component: &Component,
) -> wasmtime::Result<WasiImports> {
    let engine = component.engine();
    let mut found = WasiImports::default();
    for (name, import) in component.component_type().imports(engine) {
        let (Some((interface, _)), ComponentItem::ComponentInstance(instance)) =
            (split(name), &import.ty)
        else {
            continue;
        };
        let mut place = linker.instance(name)?;
        for (item, is) in instance.exports(engine) {
            match is.ty {
                ComponentItem::ComponentFunc(_) => {
                    define(&mut place, interface, item)?;
                }
                ComponentItem::Resource(_) => define_resource(&mut place, item)?,
                _ => {}
            }
        }
        found.interfaces.push(name.to_owned());
    }
    Ok(found)
}

/// Defines one function, and says whether there is one of the name; one that is not there stays undefined, and the component is refused for it.
fn define(place: &mut Place<'_>, interface: &str, function: &str) -> wasmtime::Result<bool> {
    match interface {
        "clocks/monotonic-clock" => clocks::link_monotonic(place, function),
        "clocks/wall-clock" => clocks::link_wall(place, function),
        "io/poll" => poll::link(place, function),
        "io/streams" => streams::link(place, function),
        "cli/stdin" | "cli/stdout" | "cli/stderr" => streams::link_standard(place, function),
        "random/random" | "random/insecure" | "random/insecure-seed" => {
            random::link(place, function)
        }
        "cli/exit" => link_exit(place, function),
        _ => absent::link(place, interface, function),
    }
}

fn define_resource(place: &mut Place<'_>, name: &str) -> wasmtime::Result<()> {
    let nothing_to_do = |_: Guest<'_>, _: u32| Ok(());
    match name {
        "pollable" => {
            place.resource(name, ResourceType::host::<Pollable>(), |mut store, pollable| {
                store.data_mut().wasi().pollables.remove(pollable);
                Ok(())
            })
        }
        "input-stream" => place.resource(name, ResourceType::host::<InputStream>(), nothing_to_do),
        "output-stream" => {
            place.resource(name, ResourceType::host::<OutputStream>(), nothing_to_do)
        }
        "network" => place.resource(name, ResourceType::host::<absent::Network>(), nothing_to_do),
        _ => place.resource(name, ResourceType::host::<absent::Nobodys>(), nothing_to_do),
    }
}

/// `exit` ends the instance as a trap does; there is nothing else to leave.
fn link_exit(place: &mut Place<'_>, function: &str) -> wasmtime::Result<bool> {
    match function {
        "exit" => place.func_wrap(function, |_: Guest<'_>, (status,): (Result<(), ()>,)| {
            Err::<(), _>(exited(u8::from(status.is_err())))
        })?,
        "exit-with-code" => {
            place.func_wrap(function, |_: Guest<'_>, (code,): (u8,)| Err::<(), _>(exited(code)))?
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn exited(code: u8) -> wasmtime::Error {
    ended(&format!(
        "it called exit({code}), as os.Exit, sys.exit and fatal errors of a language's runtime do; the log has what it said before"
    ))
}

/// Why a guest's instance ends here.
fn ended(why: &str) -> wasmtime::Error {
    wasmtime::Error::msg(why.to_owned())
}

impl GuestState {
    /// What is kept for the instance, made if this is the first that it asks for.
    pub(crate) fn wasi(&mut self) -> &mut Wasi {
        let now = || self.surroundings.now();
        self.wasi.get_or_insert_with(|| Box::new(Wasi::new(now())))
    }
}

#[cfg(test)]
mod tests;
