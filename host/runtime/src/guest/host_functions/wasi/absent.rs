//! Empty interfaces: the environment, files, sockets, terminals. Answers are made without types, because their content
//! is almost always empty. Only the arguments have one entry, [`PROGRAM`].

use super::{Guest, WasiLinker, ended};
use crate::contract::component::wasi::resource;
use wasmtime::component::{Resource, Val};

/// The network, which every plugin can hold, and which allows nothing.
pub(super) struct Network;

/// The only argument: libraries take the first one for the program's name without a look at their number (Kubernetes'
/// klog in Go does). It is the same for each plugin, so that a call depends on nothing but its event.
const PROGRAM: &str = "plugin";

/// A resource that no plugin ever holds: a file, a socket, a terminal, an error.
pub(super) struct Nobodys;

pub(super) fn link(
    place: &mut WasiLinker<'_>,
    interface: &str,
    function: &str,
) -> wasmtime::Result<bool> {
    if let Some(resource) = resource(function) {
        let why = format!("it called {function}, but there is no {resource} that anybody has");
        place.func_new(function, move |_, _, _, _| Err(ended(&why)))?;
        return Ok(true);
    }
    let answer: fn() -> Val = match (interface, function) {
        ("cli/environment", "get-arguments") => || Val::List(vec![Val::String(PROGRAM.to_owned())]),
        ("cli/environment", "get-environment") | ("filesystem/preopens", "get-directories") => {
            || Val::List(Vec::new())
        }
        ("cli/environment", "initial-cwd")
        | ("cli/terminal-stdin", "get-terminal-stdin")
        | ("cli/terminal-stdout", "get-terminal-stdout")
        | ("cli/terminal-stderr", "get-terminal-stderr")
        | ("filesystem/types", "filesystem-error-code")
        | ("sockets/network", "network-error-code") => || Val::Option(None),
        ("sockets/ip-name-lookup", "resolve-addresses")
        | ("sockets/tcp-create-socket", "create-tcp-socket")
        | ("sockets/udp-create-socket", "create-udp-socket") => denied,
        ("sockets/instance-network", "instance-network") => {
            place.func_wrap(function, |_: Guest<'_>, ()| Ok((Resource::<Network>::new_own(0),)))?;
            return Ok(true);
        }
        _ => return Ok(false),
    };
    place.func_new(function, move |mut store, _, given, results| {
        // The guest can lend only the network to these functions, and it is given back. Another resource belongs to
        // another contract.
        for lent in given {
            if let Val::Resource(lent) = lent {
                lent.try_into_resource::<Network>(&mut store)?;
            }
        }
        // Another number of results is another type, which wasmtime finds when it checks the answer.
        if let [result] = results {
            *result = answer();
        }
        Ok(())
    })?;
    Ok(true)
}

fn denied() -> Val {
    Val::Result(Err(Some(Box::new(Val::Enum("access-denied".to_owned())))))
}
