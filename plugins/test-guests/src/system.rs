//! What a guest can ask the system for, in the words of WASI 0.2, as far as the guests here do.

#![allow(unsafe_code, missing_docs, clippy::all, reason = "generated code")]

wit_bindgen::generate!({
    inline: r#"
        package test:system;

        package wasi:io@0.2.0 {
            interface poll {
                resource pollable { block: func(); }
            }
            interface error { resource error; }
            interface streams {
                use error.{error};
                variant stream-error { last-operation-failed(error), closed }
                resource input-stream { read: func(len: u64) -> result<list<u8>, stream-error>; }
                resource output-stream { blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>; }
            }
        }

        package wasi:clocks@0.2.0 {
            interface monotonic-clock {
                use wasi:io/poll@0.2.0.{pollable};
                subscribe-duration: func(when: u64) -> pollable;
            }
        }

        package wasi:random@0.2.0 {
            interface random { get-random-bytes: func(len: u64) -> list<u8>; }
        }

        package wasi:cli@0.2.0 {
            interface exit { exit: func(status: result); }
            interface environment {
                get-environment: func() -> list<tuple<string, string>>;
                get-arguments: func() -> list<string>;
                initial-cwd: func() -> option<string>;
            }
            interface stdin {
                use wasi:io/streams@0.2.0.{input-stream};
                get-stdin: func() -> input-stream;
            }
            interface stdout {
                use wasi:io/streams@0.2.0.{output-stream};
                get-stdout: func() -> output-stream;
            }
        }

        package wasi:filesystem@0.2.0 {
            interface types { resource descriptor; }
            interface preopens {
                use types.{descriptor};
                get-directories: func() -> list<tuple<descriptor, string>>;
            }
        }

        package wasi:sockets@0.2.0 {
            interface network {
                resource network;
                enum error-code { unknown, access-denied }
                enum ip-address-family { ipv4, ipv6 }
            }
            interface instance-network {
                use network.{network};
                instance-network: func() -> network;
            }
            interface tcp { resource tcp-socket; }
            interface tcp-create-socket {
                use network.{error-code, ip-address-family};
                use tcp.{tcp-socket};
                create-tcp-socket: func(address-family: ip-address-family) -> result<tcp-socket, error-code>;
            }
            interface udp { resource udp-socket; }
            interface udp-create-socket {
                use network.{error-code, ip-address-family};
                use udp.{udp-socket};
                create-udp-socket: func(address-family: ip-address-family) -> result<udp-socket, error-code>;
            }
            interface ip-name-lookup {
                use network.{network, error-code};
                resource resolve-address-stream;
                resolve-addresses: func(network: borrow<network>, name: string) -> result<resolve-address-stream, error-code>;
            }
        }

        world leaves { import wasi:cli/exit@0.2.0; }

        world asks {
            import wasi:clocks/monotonic-clock@0.2.0;
            import wasi:random/random@0.2.0;
            import wasi:cli/environment@0.2.0;
            import wasi:cli/stdin@0.2.0;
            import wasi:cli/stdout@0.2.0;
            import wasi:filesystem/preopens@0.2.0;
            import wasi:sockets/instance-network@0.2.0;
            import wasi:sockets/tcp-create-socket@0.2.0;
            import wasi:sockets/udp-create-socket@0.2.0;
            import wasi:sockets/ip-name-lookup@0.2.0;
        }

        world system { include leaves; include asks; }
    "#,
    world: "system",
    generate_all,
});
