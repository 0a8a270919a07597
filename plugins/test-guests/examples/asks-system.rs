//! On a pod named `asks-system…` it looks for all that a program finds in a system, and logs what there is. On `asks-system-random…`, `-output…`,
//! `-pollables…` and `-sleep…` it wants so much of that that nobody has it; on `-speaks…` its output is not what it seems.
//!
//! The host must have nothing for it, and end the instance that wants too much.

use informant_plugin::prelude::*;
use test_guests::system::wasi::cli::{environment, stdin, stdout};
use test_guests::system::wasi::clocks::monotonic_clock::subscribe_duration;
use test_guests::system::wasi::filesystem::preopens::get_directories;
use test_guests::system::wasi::io::streams::StreamError;
use test_guests::system::wasi::random::random::get_random_bytes;
use test_guests::system::wasi::sockets::instance_network::instance_network;
use test_guests::system::wasi::sockets::ip_name_lookup::resolve_addresses;
use test_guests::system::wasi::sockets::network::{ErrorCode, IpAddressFamily};
use test_guests::system::wasi::sockets::tcp_create_socket::create_tcp_socket;
use test_guests::system::wasi::sockets::udp_create_socket::create_udp_socket;

test_guests::sin!(AsksSystem, "asks-system", |event| {
    let name = event.key().name.as_str();
    match name.trim_start_matches("asks-system-").split('-').next() {
        Some("random") => random_without_end(),
        Some("output") => output_without_end(),
        Some("pollables") => pollables_without_end(),
        Some("sleep") => subscribe_duration(u64::MAX).block(),
        Some("speaks") => write(b"\x1b[2Jone\r\ntwo target=host\nthree"),
        _ => look_around(),
    }
    Ok(())
});

fn look_around() {
    let found = [
        environment::get_environment().len(),
        environment::get_arguments().len(),
        environment::initial_cwd().iter().count(),
        get_directories().len(),
    ];
    let family = IpAddressFamily::Ipv4;
    let answers = [
        create_tcp_socket(family).map(drop),
        create_udp_socket(family).map(drop),
        resolve_addresses(&instance_network(), "kubernetes.default.svc").map(drop),
    ];
    let is_denied = |answer: &&core::result::Result<(), ErrorCode>| {
        matches!(answer, Err(ErrorCode::AccessDenied))
    };
    let denied = answers.iter().filter(is_denied).count();
    let ended = matches!(stdin::get_stdin().read(1), Err(StreamError::Closed));
    info!("system: found {found:?}, denied {denied}, input at its end {ended}");
}

fn random_without_end() {
    let mut bytes = 1;
    loop {
        bytes += get_random_bytes(bytes as u64 * 16).len();
    }
}

fn output_without_end() {
    let lines = "a line that says nothing\n".repeat(2_000);
    loop {
        write(lines.as_bytes());
    }
}

fn pollables_without_end() {
    let mut pollables = Vec::new();
    loop {
        pollables.push(subscribe_duration(1));
    }
}

fn write(bytes: &[u8]) {
    stdout::get_stdout().blocking_write_and_flush(bytes).expect("output is never closed");
}
