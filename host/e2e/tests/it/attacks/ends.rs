//! The end of a host while a plugin, a file or callers block it. SIGTERM ends it within its grace, and a second
//! SIGTERM ends it at once.

use super::plugin_files::compared_types;
use super::port::stall;
use crate::host::bench::{CONFIGURATION_HEAD, HostBench, LINES_DEADLINE, drop_file, host_fact};
use informant_e2e::host::{Host, Line};
use informant_e2e::poll;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

/// Kubernetes kills a Pod after 30 s.
const GRACE: Duration = Duration::from_secs(30);
/// The last lines of the log have 1.5 s.
const AT_ONCE: Duration = Duration::from_secs(5);
/// The exit code that a shell shows for SIGTERM.
const TERMINATED: i32 = 128 + 15;

/// Sends SIGTERM, and a second SIGTERM once the host has received the first. The host may already have ended by then.
async fn ended_at_once(host: &mut Host) -> ExitStatus {
    host.ask_to_stop().unwrap();
    let heard = |line: &Line| line.message().starts_with("stopping after SIGTERM");
    host.await_line("the first signal to be heard", LINES_DEADLINE, heard).await.unwrap();
    if host.ended().unwrap().is_none() {
        // The host may end at this moment.
        let _ = host.ask_to_stop();
    }
    host.await_end(AT_ONCE).unwrap()
}

/// Blocks a host twice, and checks that it ends after one signal and after two. The value that `hold` returns is kept
/// until then.
async fn check_ends<T>(
    bench: HostBench<'_>,
    more: &[&str],
    hold: impl AsyncFn(&HostBench<'_>, &Host) -> T,
) {
    let more = [&["--metrics-bind-address", "127.0.0.1:0"], more].concat();
    for signals in [1, 2] {
        let mut host = bench.start(&more).await;
        let held = hold(&bench, &host).await;
        let status = match signals {
            1 => host.terminate(GRACE).unwrap(),
            _ => ended_at_once(&mut host).await,
        };
        let in_order = status.success() || signals == 2 && status.code() == Some(TERMINATED);
        assert!(in_order && status.signal().is_none(), "{status}: {}", host.tail());
        drop(held);
        for entry in std::fs::read_dir(&bench.plugins).expect("the directory is there") {
            std::fs::remove_file(entry.expect("an entry").path()).expect("it is ours");
        }
    }
}

fn is_called(plugin: &Value) -> bool {
    plugin["queue"]["inFlight"].as_u64() >= Some(1)
}

#[test]
fn a_host_ends_while_a_file_is_looked_at_for_minutes() {
    host_fact(async |bench| {
        check_ends(bench, &[], async |bench, host| {
            let file = bench.plugins.join(".hangs");
            std::fs::write(&file, compared_types(18, 990, 600)).expect("a file");
            drop_file(&file, &bench.plugins.join("hangs.wasm"));
            let loads = |plugin: &Value| plugin["state"] == "loading";
            host.await_plugin("hangs", "it to be looked at", loads).await.unwrap();
        })
        .await;
    });
}

#[test]
fn a_host_ends_while_callers_hold_its_connections() {
    host_fact(async |bench| {
        check_ends(bench, &[], async |_, host| {
            let metrics = host.metrics_address().expect("it has one");
            let stall = |number| stall(if number % 2 == 0 { metrics } else { host.address() });
            (0..250).map(stall).collect::<Vec<_>>()
        })
        .await;
    });
}

#[test]
fn a_host_ends_while_a_guest_loops() {
    host_fact(async |bench| {
        check_ends(bench, &[], async |bench, host| {
            // Of processor time: a busy machine gives a loop of low priority a thirtieth of its clock.
            bench.limit_plugin("spin", "handleTime: 1s");
            bench.drop_plugin("spin", "spin");
            bench.create_pods(&["spin".to_owned()]).await;
            host.await_plugin("spin", "it to be called", is_called).await.unwrap();
        })
        .await;
    });
}

#[test]
fn a_host_ends_while_a_guest_waits_for_an_answer() {
    host_fact(async |bench| {
        const NAME: &str = "asks-outside";
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        server.set_nonblocking(true).expect("it can be asked");
        let url = format!("http://{}", server.local_addr().expect("an address"));
        let rule = json!({"origins": [url], "methods": ["GET"], "addresses": ["loopback"]});
        let asks = json!([{"what": "for ever", "url": url}]);
        let settings =
            json!({"config": {"asks": asks}, "limits": {"waitTime": "20s"}, "http": [rule]});
        let text = json!({NAME: settings});
        let directory = tempfile::tempdir().expect("a directory");
        let own = directory.path().join("informant.yaml");
        let text = format!("{CONFIGURATION_HEAD}HostConfiguration\nplugins: {text}\n");
        std::fs::write(&own, text).expect("a file");
        let own = own.display().to_string();
        check_ends(bench, &["--config", &own], async |bench, _| {
            bench.drop_plugin(NAME, NAME);
            bench.create_pods(&[NAME.to_owned()]).await;
            let asked = async || server.accept().ok();
            poll::until("the guest to ask", LINES_DEADLINE, asked).await.unwrap()
        })
        .await;
    });
}
