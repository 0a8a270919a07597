//! A reader of the host's log that stops. The host reports that it makes no progress, and continues when it can.

use crate::host::bench::{LINES_DEADLINE, await_told, host_fact, pod_names};
use informant_e2e::{http, poll};

/// More lines than fit between a plugin and the reader of the host's log: 1,024 in the host's
/// channel, 64 KiB in its buffer and 64 KiB in the pipe.
const PODS: usize = 2_500;

/// The reader of the log has stopped, so the threads that log block. Plugins log, so the threads and the informer's
/// task that call them also block.
#[test]
#[ignore = "takes two minutes: `make slow-tests`"]
fn a_host_whose_log_nobody_reads_is_not_alive_until_it_is_read() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let host = bench.start(&["--metrics-bind-address", "127.0.0.1:0"]).await;
        let address = host.metrics_address().expect("it says so");
        let mut last = String::new();
        let mut answers = async |status: u16, line: &str| {
            let is_so = async || {
                let answer = http::get(address, "/livez?verbose").ok()?;
                let is_so = answer.status == status && answer.body.contains(line);
                last = answer.body;
                is_so.then_some(())
            };
            let waited = poll::until("the probe", LINES_DEADLINE, is_so).await;
            assert!(waited.is_ok(), "no {status} with {line:?} in {last}");
        };
        answers(200, "[+]tasks ok").await;
        let unread = host.unread();
        bench.create_pods(&pod_names(0..PODS)).await;
        answers(503, " has work, and has not made a step for ").await;
        drop(unread);
        answers(200, "[+]tasks ok").await;
        await_told(&host, &bench.namespace, "added", PODS).await;
    });
}
