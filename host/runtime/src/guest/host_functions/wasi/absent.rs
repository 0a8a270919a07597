//! What is there and empty: the environment, files, sockets, terminals. Answers are made without types, because what stands in them is next to nothing.

use super::{Guest, WasiLinker, ended};
use crate::contract::component::wasi::resource;
use wasmtime::component::{Resource, Val};

/// The network that every plugin can have in its hands, and do nothing with.
pub(super) struct Network;

/// What no plugin ever has in its hands: a file, a socket, a terminal, an error.
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
        ("cli/environment", "get-environment" | "get-arguments")
        | ("filesystem/preopens", "get-directories") => || Val::List(Vec::new()),
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
        // The network is all that can be lent to one of these, and it is given back. Who hands over something else has another contract.
        for lent in given {
            if let Val::Resource(lent) = lent {
                lent.try_into_resource::<Network>(&mut store)?;
            }
        }
        // Another number of results is another type, which the host's linker finds out when it looks at the answer.
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
