//! The interfaces and functions of WASI 0.2 that a plugin may import, with those that are empty. A file with other
//! imports is refused with their names before the compilation.

use serde_json::{Value, json};

/// One interface.
struct Offered {
    /// `cli/environment`.
    name: &'static str,
    functions: &'static [&'static str],
    /// Resources that no plugin ever gets, so their methods are never called.
    nobodys: &'static [&'static str],
    /// The empty data that an importing plugin finds.
    empty: Option<&'static str>,
}

const fn offered(name: &'static str, functions: &'static [&'static str]) -> Offered {
    Offered { name, functions, nobodys: &[], empty: None }
}

const fn empty(
    name: &'static str,
    functions: &'static [&'static str],
    nobodys: &'static [&'static str],
    empty: &'static str,
) -> Offered {
    Offered { name, functions, nobodys, empty: Some(empty) }
}

const ENVIRONMENT: &str = "environment and arguments";
const FILES: &str = "files";
const INPUT: &str = "standard input";
const NETWORK: &str = "network";
const TERMINAL: &str = "terminal";

/// All offered interfaces, in the versions 0.2.0 and up.
const OFFERED: &[Offered] = &[
    empty(
        "cli/environment",
        &["get-environment", "get-arguments", "initial-cwd"],
        &[],
        ENVIRONMENT,
    ),
    offered("cli/exit", &["exit", "exit-with-code"]),
    empty("cli/stdin", &["get-stdin"], &[], INPUT),
    offered("cli/stdout", &["get-stdout"]),
    offered("cli/stderr", &["get-stderr"]),
    empty("cli/terminal-input", &[], &["terminal-input"], TERMINAL),
    empty("cli/terminal-output", &[], &["terminal-output"], TERMINAL),
    empty("cli/terminal-stdin", &["get-terminal-stdin"], &[], TERMINAL),
    empty("cli/terminal-stdout", &["get-terminal-stdout"], &[], TERMINAL),
    empty("cli/terminal-stderr", &["get-terminal-stderr"], &[], TERMINAL),
    offered(
        "clocks/monotonic-clock",
        &["now", "resolution", "subscribe-instant", "subscribe-duration"],
    ),
    offered("clocks/wall-clock", &["now", "resolution"]),
    empty(
        "filesystem/types",
        &["filesystem-error-code"],
        &["descriptor", "directory-entry-stream"],
        FILES,
    ),
    empty("filesystem/preopens", &["get-directories"], &[], FILES),
    Offered { name: "io/error", functions: &[], nobodys: &["error"], empty: None },
    offered("io/poll", &["poll", "[method]pollable.ready", "[method]pollable.block"]),
    offered(
        "io/streams",
        &[
            "[method]input-stream.read",
            "[method]input-stream.blocking-read",
            "[method]input-stream.skip",
            "[method]input-stream.blocking-skip",
            "[method]input-stream.subscribe",
            "[method]output-stream.check-write",
            "[method]output-stream.write",
            "[method]output-stream.blocking-write-and-flush",
            "[method]output-stream.flush",
            "[method]output-stream.blocking-flush",
            "[method]output-stream.subscribe",
            "[method]output-stream.write-zeroes",
            "[method]output-stream.blocking-write-zeroes-and-flush",
            "[method]output-stream.splice",
            "[method]output-stream.blocking-splice",
        ],
    ),
    offered("random/random", &["get-random-bytes", "get-random-u64"]),
    offered("random/insecure", &["get-insecure-random-bytes", "get-insecure-random-u64"]),
    offered("random/insecure-seed", &["insecure-seed"]),
    empty("sockets/network", &["network-error-code"], &[], NETWORK),
    empty("sockets/instance-network", &["instance-network"], &[], NETWORK),
    empty("sockets/ip-name-lookup", &["resolve-addresses"], &["resolve-address-stream"], NETWORK),
    empty("sockets/tcp", &[], &["tcp-socket"], NETWORK),
    empty("sockets/tcp-create-socket", &["create-tcp-socket"], &[], NETWORK),
    empty(
        "sockets/udp",
        &[],
        &["udp-socket", "incoming-datagram-stream", "outgoing-datagram-stream"],
        NETWORK,
    ),
    empty("sockets/udp-create-socket", &["create-udp-socket"], &[], NETWORK),
];

/// A plugin's imports of WASI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WasiImports {
    /// With package and version: `wasi:cli/environment@0.2.6`.
    pub interfaces: Vec<String>,
}

impl WasiImports {
    /// The imported data that is always empty, as texts.
    #[must_use]
    pub fn empty(&self) -> Vec<&'static str> {
        let interfaces = self.interfaces.iter().filter_map(|name| split(name));
        let mut words: Vec<&str> =
            interfaces.filter_map(|(interface, _)| find(interface)?.empty).collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    /// As `/plugins` shows it; null without imports.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self.interfaces.is_empty() {
            true => Value::Null,
            false => json!({ "imports": self.interfaces, "empty": self.empty() }),
        }
    }
}

/// Splits `wasi:cli/environment@0.2.6` into `("cli/environment", "0.2.6")`; `None` if it is not of WASI.
pub(crate) fn split(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("wasi:")?.split_once('@')
}

/// The part of an import of WASI that the host does not offer: the import itself, or its first unknown function.
/// `None` if all of it is offered.
pub(crate) fn refusal<'a>(
    import: &str,
    mut functions: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let known = split(import).filter(|(_, version)| is_offered(version));
    let Some(offered) = known.and_then(|(interface, _)| find(interface)) else {
        return Some(import.to_owned());
    };
    let unknown = functions.find(|function| !offered.has(function))?;
    Some(format!("{import}#{unknown}"))
}

fn find(interface: &str) -> Option<&'static Offered> {
    OFFERED.iter().find(|offered| offered.name == interface)
}

/// Releases of 0.2 only add to each other; earlier and later versions differ.
fn is_offered(version: &str) -> bool {
    let patch = version.strip_prefix("0.2.").unwrap_or_default();
    !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit())
}

impl Offered {
    fn has(&self, function: &str) -> bool {
        self.functions.contains(&function)
            || resource(function).is_some_and(|of| self.nobodys.contains(&of))
    }
}

/// The resource that a function belongs to: `descriptor` of `[method]descriptor.read`.
pub(crate) fn resource(function: &str) -> Option<&str> {
    let method = function.strip_prefix("[method]").or_else(|| function.strip_prefix("[static]"));
    method?.split_once('.').map(|(resource, _)| resource)
}

#[cfg(test)]
pub(crate) fn everything() -> impl Iterator<Item = (&'static str, &'static str)> {
    OFFERED.iter().flat_map(|one| one.functions.iter().map(|function| (one.name, *function)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(import: &str, functions: &[&str], expect: Option<&str>) {
        assert_eq!(refusal(import, functions.iter().copied()).as_deref(), expect);
    }

    #[test]
    fn every_release_of_0_2_is_offered_and_nothing_else() {
        for version in ["0.2.0", "0.2.6", "0.2.12"] {
            check(&format!("wasi:cli/exit@{version}"), &["exit"], None);
        }
        for version in ["0.3.0", "0.2", "0.2.", "0.2.x", "0.2.0-rc-2023-11-10", "1.0.0", "0.20.1"] {
            let import = format!("wasi:cli/exit@{version}");
            check(&import, &["exit"], Some(&import));
        }
        check("wasi:cli/exit", &[], Some("wasi:cli/exit"));
    }

    #[test]
    fn what_is_not_there_is_named() {
        check("wasi:http/outgoing-handler@0.2.0", &[], Some("wasi:http/outgoing-handler@0.2.0"));
        let unknown = "wasi:cli/exit@0.2.0#leave";
        check("wasi:cli/exit@0.2.0", &["exit", "leave"], Some(unknown));
        let unknown = "wasi:io/poll@0.2.0#[method]pollable.turn";
        check("wasi:io/poll@0.2.0", &["[method]pollable.turn"], Some(unknown));
        let made = "[static]descriptor.make";
        check("wasi:filesystem/types@0.2.0", &["[method]descriptor.read", made], None);
        let made = "wasi:filesystem/types@0.2.0#[constructor]descriptor";
        check("wasi:filesystem/types@0.2.0", &["[constructor]descriptor"], Some(made));
    }

    #[test]
    fn what_is_empty_is_told_once_in_words() {
        let names = ["cli/stdout", "filesystem/types", "filesystem/preopens", "cli/environment"];
        let interfaces = names.iter().map(|name| format!("wasi:{name}@0.2.6")).collect();
        let imports = WasiImports { interfaces };
        assert_eq!(imports.empty(), ["environment and arguments", "files"]);
        assert_eq!(imports.to_json()["imports"][0], "wasi:cli/stdout@0.2.6");
        assert_eq!(WasiImports::default().to_json(), Value::Null);
    }
}
