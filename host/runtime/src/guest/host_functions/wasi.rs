//! WASI 0.2 for languages whose runtimes cannot start without it: clocks, random numbers, sleep, and a standard output
//! that goes to the plugin's log. All other interfaces exist and are empty: no files, no environment, no arguments, no
//! network. `host/docs/designs/wasi.md` has the decisions and their reasons.
//!
//! A component is linked with exactly its imports, under the versions that it names. A component without WASI has none
//! of this.

mod absent;
mod clocks;
mod poll;
mod random;
mod streams;

pub(crate) use random::RANDOM_BYTES_MAX;
pub(crate) use streams::WRITE_BYTES_MAX;

use crate::contract::component::WasiImports;
use crate::contract::component::wasi::split;
use crate::guest::guest_state::GuestState;
use poll::Pollable;
use streams::{InputStream, OutputStream};
use wasmtime::StoreContextMut;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, LinkerInstance, ResourceType};

/// The store of a calling guest.
type Guest<'a> = StoreContextMut<'a, GuestState>;

/// The instance in which a function is defined.
type WasiLinker<'a> = LinkerInstance<'a, GuestState>;

/// Whether the component imports any interface of WASI.
pub(crate) fn is_imported(component: &Component) -> bool {
    let imported = component.component_type();
    imported.imports(component.engine()).any(|(name, _)| split(name).is_some())
}

/// Links the component's imports of WASI. Other code links its other imports, or finds them missing later.
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

/// Defines one function, and returns whether it exists. An unknown function stays undefined, and the component is
/// refused.
fn define(place: &mut WasiLinker<'_>, interface: &str, function: &str) -> wasmtime::Result<bool> {
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

fn define_resource(place: &mut WasiLinker<'_>, name: &str) -> wasmtime::Result<()> {
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

/// `exit` ends the instance as a trap does; there is no process to leave.
fn link_exit(place: &mut WasiLinker<'_>, function: &str) -> wasmtime::Result<bool> {
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

/// The error that ends a guest's instance.
fn ended(why: &str) -> wasmtime::Error {
    wasmtime::Error::msg(why.to_owned())
}

#[cfg(test)]
mod tests;
