//! Several hosts, of which one leads.

use crate::bench::runtime;
use crate::host::actions::{ACTION, post, token};
use crate::host::admin::ask;
use crate::host::bench::{
    CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, await_told, built_plugin, host_fact,
    pod_names, told,
};
use informant_e2e::election::{self, ElectionOptions, LeaseTimes};
use informant_e2e::host::{self, Host, Line};
use informant_e2e::skip;
use serde_json::Value;
use std::time::{Duration, Instant};

const END_DEADLINE: Duration = Duration::from_secs(60);
/// A lease that does not run out while a fact runs: who leads next was given it.
const LONG_LEASE: Duration = Duration::from_secs(600);

/// A host in the election of the fact's namespace, with a lease of three seconds.
async fn candidate(bench: &HostBench<'_>) -> Host {
    candidate_with(bench, Duration::from_secs(3), &[]).await
}

/// The same with another lease and with these arguments.
async fn candidate_with(bench: &HostBench<'_>, lease: Duration, more: &[&str]) -> Host {
    let seconds = lease.as_secs().to_string();
    let arguments = [
        "--leader-elect",
        "--leader-elect-resource-namespace",
        &bench.namespace,
        "--leader-elect-lease-duration",
        &seconds,
        "--leader-elect-renew-deadline",
        "2",
        "--leader-elect-retry-period",
        "1",
    ];
    bench.start(&[&arguments, more].concat()).await
}

async fn await_lead(host: &Host) {
    let runs = |plugin: &Value| plugin["state"] == "running";
    host.await_plugin("event-printer", "to run", runs).await.unwrap();
    assert!(leads(host));
}

async fn await_standby(host: &Host) {
    let waits = |plugin: &Value| {
        let reason = plugin["reason"].as_str().unwrap_or_default();
        plugin["state"] == "waiting" && reason.contains(" is ready and on standby: ")
    };
    host.await_plugin("event-printer", "to be on standby", waits).await.unwrap();
    assert!(!leads(host));
}

fn leads(host: &Host) -> bool {
    let metrics = host.get("/metrics").expect("an answer").body;
    metrics.contains("leader_election_master_status{name=\"informant\"} 1.0")
}

/// Invariant 20.
#[test]
fn one_of_several_hosts_leads_and_another_takes_over() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let mut first = candidate(&bench).await;
        await_lead(&first).await;
        let mut second = candidate(&bench).await;
        await_standby(&second).await;
        let names = pod_names(0..4);
        bench.create_pods(&names[..2]).await;
        await_told(&first, &bench.namespace, "added", 2).await;
        assert!(told(&second.lines_of("event-printer"), &bench.namespace).is_empty());

        first.signal("STOP").unwrap();
        await_lead(&second).await;
        bench.create_pods(&names[2..]).await;
        await_told(&second, &bench.namespace, "added", 4).await;
        first.signal("CONT").unwrap();
        let status = first.await_end(END_DEADLINE).unwrap();
        assert_eq!(status.code(), Some(1), "{}", first.tail());
        let expect = "this host leads no more: it could not renew its Lease in time";
        assert!(first.tail().contains(expect), "{}", first.tail());
        let names = told(&first.lines_of("event-printer"), &bench.namespace);
        assert_eq!(names.len(), 2, "nothing is told by one that does not lead: {names:?}");

        let third = candidate(&bench).await;
        await_standby(&third).await;
        second.terminate(END_DEADLINE).unwrap();
        await_lead(&third).await;
        await_told(&third, &bench.namespace, "added", 4).await;
    });
}

/// A host on standby would pause its own plugin, and that of the leader would go on.
#[test]
fn a_host_on_standby_acts_on_no_plugin_over_http() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let first = candidate_with(&bench, LONG_LEASE, &[]).await;
        await_lead(&first).await;
        let second = candidate_with(&bench, LONG_LEASE, &[]).await;
        await_standby(&second).await;
        let bearer = format!("Authorization: Bearer {}", token(&bench, &second));
        let names_the_leader =
            |plugin: &Value| plugin["reason"].as_str().is_some_and(|it| it.ends_with(" leads"));
        let seen = second.await_plugin("event-printer", "to see the leader", names_the_leader);
        seen.await.unwrap();
        let plugin = second.plugin("event-printer").expect("it is there");
        let reason = plugin["reason"].as_str().unwrap_or_default().to_owned();
        let leader = reason.split(": ").last().unwrap_or_default();
        for action in ["pause", "resume", "reload", "rollback", "fire", "dead-letters/purge"] {
            let path = format!("/plugins/event-printer/{action}");
            let answer = post(second.address(), &path, &[ACTION, &bearer], r#"{"all": true}"#);
            assert_eq!(answer.status, 409, "{action}: {}", answer.body);
            let said =
                answer.body.contains("this host is on standby") && answer.body.contains(leader);
            assert!(said, "{action}: {}", answer.body);
        }
        let refused =
            |line: &Line| line.text.contains("pause was asked for: refused: this host is");
        second.await_line("the refusal", LINES_DEADLINE, refused).await.unwrap();
        await_standby(&second).await;
        await_lead(&first).await;
        let here = ask(&bench, &second, &["plugin", "pause", "event-printer"]);
        assert!(here.0 && here.1.contains("here; this host is on standby"), "{}", here.1);
    });
}

/// Invariant 22.
#[test]
fn a_host_that_is_ended_at_once_gives_its_lease_back() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        // Its stop takes the longest allowed time.
        bench.drop_plugin("spin", "spin-in-stop");
        let mut first = candidate_with(&bench, LONG_LEASE, &[]).await;
        await_lead(&first).await;
        let runs = |plugin: &Value| plugin["state"] == "running";
        first.await_plugin("spin-in-stop", "to run", runs).await.unwrap();
        let second = candidate_with(&bench, LONG_LEASE, &[]).await;
        await_standby(&second).await;
        first.signal("TERM").unwrap();
        let stopping = |line: &Line| line.message().starts_with("stopping after SIGTERM");
        first.await_line("the stop", LINES_DEADLINE, stopping).await.unwrap();
        first.signal("TERM").unwrap();
        let status = first.await_end(END_DEADLINE).unwrap();
        assert_eq!(status.code(), Some(143), "{}", first.tail());
        await_lead(&second).await;
    });
}

/// Invariant 22. Each of six calls lasts for the `handleTime` of 60 s, and all plugins together have 5 s for their end.
#[test]
fn a_leader_whose_plugins_do_not_end_cuts_them_off_and_gives_its_lease_back() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let spinning: Vec<String> = (0..6).map(|number| format!("spin-{number}")).collect();
        for name in &spinning {
            bench.drop_plugin("spin", name);
        }
        let directory = tempfile::tempdir().expect("a directory");
        let own = directory.path().join("informant.yaml");
        let text = format!("{HEAD}HostConfiguration\ndefaults: {{limits: {{handleTime: 60s}}}}\n");
        std::fs::write(&own, text).expect("a file");
        let more = ["--config", &own.display().to_string()];
        let mut first = candidate_with(&bench, LONG_LEASE, &more).await;
        await_lead(&first).await;
        let second = candidate_with(&bench, LONG_LEASE, &more).await;
        await_standby(&second).await;
        let pods = ["spin".to_owned()];
        bench.create_pods(&pods).await;
        for name in &spinning {
            let is_called = |plugin: &Value| plugin["queue"]["inFlight"].as_u64() >= Some(1);
            first.await_plugin(name, "to be called", is_called).await.unwrap();
        }
        // The next leader must not call the plugin for these pods.
        bench.delete_pods(&pods).await;
        let status = first.terminate(END_DEADLINE).unwrap();
        assert_eq!(status.code(), Some(0), "{}", first.tail());
        let cut_off =
            "cut off 5 s after the end of the host began, without the end of `stop`: spin-0,";
        assert!(first.tail().contains(cut_off), "{}", first.tail());
        let ended = Instant::now();
        await_lead(&second).await;
        assert!(ended.elapsed() < LONG_LEASE / 2, "the Lease has not just run out");
    });
}

/// A small election: in `make election` the leader fails 50 times.
#[test]
#[ignore = "takes half a minute: `make slow-tests`"]
fn whoever_fails_as_the_leader_writes_nothing_after_its_term() {
    let Some(program) = host::program().expect("the program that is named exists") else {
        let why = "target/debug/informant is not built; `cargo build -p informant` builds it";
        return skip::say(why);
    };
    let options = ElectionOptions {
        program,
        guest: built_plugin("answers"),
        // Any seed will do. Seeds that found a mistake are added here.
        seed: 1,
        failures: 3,
        orders: 10,
        changes_per_second: 20,
        pause_max: Duration::from_secs(1),
        lease: LeaseTimes { lease_duration: 3, renew_deadline: 2, retry_period: 1 },
        // The time on a machine that runs other facts, too.
        start_max: Duration::from_secs(30),
    };
    let report = runtime().block_on(election::run(&options)).expect("the election is held");
    let complaints = &report.verdict.complaints;
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert_eq!(report.failures.values().sum::<u32>(), 3, "{report:?}");
    let verdict = &report.verdict;
    assert!(verdict.writers > 1 && !verdict.takeovers.is_empty(), "{report:?}");
}
