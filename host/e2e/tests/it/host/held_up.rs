//! Failing objects, and writes while the cluster is away, block no other objects. No event becomes a dead letter
//! because of the cluster.

use crate::host::admin::check as check_said;
use crate::host::bench::{CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, host_fact};
use crate::host::writes::grants;
use informant_e2e::cluster::User;
use informant_e2e::host::{Host, Line};
use informant_e2e::poll;
use informant_e2e::printed::told_line;
use informant_e2e::proxy::Proxy;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const FAILING: usize = 30;
const HEALTHY: usize = 50;
const WRITES: usize = 40;
/// A quiet machine needs less than a second. A failed event waits for at least ten, and was tried before these.
const HELD_UP_MAX: Duration = Duration::from_secs(5);
/// Attempts that an event of `writer` has.
const ATTEMPTS: usize = 3;

fn names(what: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{what}-{number}")).collect()
}

/// When the lines of a plugin about each object were read, in the format of a test guest or of event-printer.
fn told_at(host: &Host, plugin: &str, namespace: &str) -> BTreeMap<String, Instant> {
    let name = |line: &Line| {
        let of_guest = line.message().strip_prefix(&format!("added {namespace}/"));
        let of_printer = || told_line(line.message(), namespace).map(|(_, name)| name);
        of_guest.or_else(of_printer).map(str::to_owned)
    };
    let lines = host.lines_of(plugin);
    lines.iter().filter_map(|line| Some((name(line)?, line.at))).collect()
}

/// When the plugin logged each healthy object, once it has logged all.
async fn await_healthy(host: &Host, plugin: &str, namespace: &str) -> Vec<Instant> {
    let all = async || {
        let told = told_at(host, plugin, namespace);
        let at: Option<Vec<Instant>> =
            names("healthy", HEALTHY).iter().map(|name| told.get(name).copied()).collect();
        at
    };
    let what = format!("{plugin} to tell of all healthy objects");
    let told = poll::until(&what, LINES_DEADLINE, all).await;
    told.unwrap_or_else(|error| panic!("{error}: {}", host.tail()))
}

fn dead_letters(host: &Host, plugin: &str) -> Value {
    host.plugin(plugin).expect("it is there")["deadLetters"].clone()
}

#[test]
fn objects_that_always_fail_hold_up_no_others() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        bench.drop_plugin("fail", "fail");
        let host = bench.start(&[]).await;
        let runs = |plugin: &Value| plugin["state"] == "running";
        host.await_plugin("fail", "to run", runs).await.unwrap();
        host.await_plugin("event-printer", "to run", runs).await.unwrap();
        bench.create_pods(&names("fail", FAILING)).await;
        let tripped = |plugin: &Value| plugin["state"] == "tripped";
        host.await_plugin("fail", "to be tripped", tripped).await.unwrap();
        bench.create_pods(&names("healthy", HEALTHY)).await;
        // event-printer fails for no object, so its times are those without failures.
        let alone = await_healthy(&host, "event-printer", &bench.namespace).await;
        let told = await_healthy(&host, "fail", &bench.namespace).await;
        let waits =
            told.iter().zip(&alone).map(|(told, alone)| told.saturating_duration_since(*alone));
        let longest = waits.max().unwrap_or_default();
        assert!(longest < HELD_UP_MAX, "one came {longest:?} after it would have come alone");
        assert_eq!(dead_letters(&host, "fail"), 0, "the attempts span minutes");
    });
}

/// A host with `writer` and its grants, behind a proxy that can be closed. Its events have few attempts, so that none
/// may be used up.
async fn started(bench: &HostBench<'_>, proxy: &Proxy, directory: &std::path::Path) -> Host {
    let own = directory.join("informant.yaml");
    let settings = format!("limits: {{attempts: {ATTEMPTS}}}, {}", grants(bench));
    let text = format!("{HEAD}HostConfiguration\nplugins: {{writer: {{{settings}}}}}\n");
    std::fs::write(&own, text).expect("a file");
    bench.drop_plugin("writer", "writer");
    let kubeconfig =
        proxy.kubeconfig(&bench.cluster.kubeconfig(User::Admin)).expect("a kubeconfig");
    let more = ["--config", &own.display().to_string()];
    let host = Host::start(&bench.program, &kubeconfig, &bench.plugins, &more).await.unwrap();
    host.await_ready().await.unwrap();
    host
}

#[test]
fn writes_outlast_a_cluster_that_is_away_and_hold_up_nothing_that_needs_none() {
    host_fact(async |bench| {
        let direct = bench.cluster.kubeconfig(User::Admin);
        let proxy = Proxy::start(&direct).await.expect("a way to the cluster");
        let directory = tempfile::tempdir().expect("a directory");
        let host = started(&bench, &proxy, directory.path()).await;
        host.await_plugin("writer", "to run", |plugin| plugin["state"] == "running").await.unwrap();
        check_said(&bench, &host, &["plugin", "pause", "writer"], "paused");
        bench.create_pods(&names("writer", WRITES)).await;
        bench.create_pods(&names("healthy", HEALTHY)).await;
        let waiting =
            |plugin: &Value| plugin["queue"]["depth"].as_u64() == Some((WRITES + HEALTHY) as u64);
        host.await_plugin("writer", "to have all events waiting", waiting).await.unwrap();

        proxy.close();
        check_said(&bench, &host, &["plugin", "resume", "writer"], "");
        let resumed = Instant::now();
        let told = await_healthy(&host, "writer", &bench.namespace).await;
        let waits = told.iter().map(|told| told.saturating_duration_since(resumed));
        let longest = waits.max().unwrap_or_default();
        assert!(longest < HELD_UP_MAX, "one that writes nothing waited for {longest:?}");
        // Were they counted, each write would have failed for good before there are so many.
        let failed = |plugin: &Value| {
            plugin["counters"]["retry"].as_u64() > Some((ATTEMPTS * WRITES) as u64)
                || plugin["deadLetters"] != 0
        };
        host.await_plugin("writer", "to have failed too often to count", failed).await.unwrap();
        let wrote = || {
            let lines = host.lines_of("writer");
            lines.iter().filter(|line| line.message().starts_with("wrote about ")).count()
        };
        assert_eq!((wrote(), dead_letters(&host, "writer")), (0, 0.into()), "the cluster is away");

        proxy.open();
        let done = async || (wrote() == WRITES).then_some(());
        let done = poll::until("all writes to be done", LINES_DEADLINE, done).await;
        done.unwrap_or_else(|error| panic!("{error}: {} are; {}", wrote(), host.tail()));
        assert_eq!(dead_letters(&host, "writer"), 0);
    });
}
