//! Metadata alone in the requests to the API server: where all plugins of a resource want no more, the host caches no
//! more, and follows plugins that come and go without a gap.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use informant_e2e::api::Patch;
use informant_e2e::host::Host;
use informant_e2e::poll;
use serde_json::{Value, json};

use crate::bench::labelled_pod;
use crate::burst::{Burst, JSON};
use crate::host::bench::{CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, host_fact, told};
use crate::host::change_pause::ChangePause;

const PODS: usize = 400;
/// Of these, those that change.
const CHANGED: usize = 100;
/// One change in so many removes a pod, or creates it again.
const REMOVES_EVERY: usize = 10;

const FEW: &str = "metadata";
const WHOLE: &str = "whole";

type Changes = BTreeMap<String, Vec<&'static str>>;

fn web(number: usize) -> String {
    format!("web-{number:04}")
}

/// The informer of Pods, as `/informers` shows it.
fn informer(host: &Host) -> Value {
    let all = host.get("/informers").expect("an answer").json();
    let mut all = all.as_array().cloned().unwrap_or_default().into_iter();
    all.find(|it| it["resource"] == "v1/pods").unwrap_or_default()
}

/// The parts that the host lists and watches for a plugin.
fn parts(host: &Host, plugin: &str) -> Value {
    host.plugin(plugin).expect("it is there")["subscriptions"][0]["informer"]["parts"].clone()
}

/// Changes pods until the end, and notes what each plugin must be told of each.
async fn change(bench: &HostBench<'_>, pause: &ChangePause, expect: &mut Changes) {
    let mut number = 0;
    while pause.next().await {
        number += 1;
        if number % REMOVES_EVERY == 0 {
            let name = web(number / REMOVES_EVERY % REMOVES_EVERY);
            let path = format!("{}/{name}", bench.pods());
            let changes = expect.entry(name.clone()).or_default();
            if changes.last() == Some(&"deleted") {
                changes.push("added");
                let pod = labelled_pod(&name, &[("app", "web")]);
                bench.api.create(&bench.pods(), &pod).await.expect(201);
            } else {
                changes.push("deleted");
                bench.api.delete(&format!("{path}?gracePeriodSeconds=0")).await.expect(200);
            }
        } else {
            let name = web(REMOVES_EVERY + number % CHANGED);
            expect.entry(name.clone()).or_default().push("updated");
            let body = json!({"metadata": {"annotations": {"n": number.to_string()}}});
            let path = format!("{}/{name}", bench.pods());
            bench.api.patch(&path, Patch::Merge, &body).await.expect(200);
        }
    }
}

async fn until(what: &str, host: &Host, mut is_so: impl FnMut() -> bool) {
    let is_so = async || {
        // A question reads all lines of a plugin.
        poll::pause(Duration::from_millis(200)).await;
        is_so().then_some(())
    };
    if let Err(error) = poll::until(what, LINES_DEADLINE, is_so).await {
        panic!("{error}: {}; last lines:\n{}", informer(host), host.tail());
    }
}

/// A plugin with whole objects comes, and goes again.
async fn come_and_go(bench: &HostBench<'_>, host: &Host, pause: &ChangePause) {
    poll::pause(Duration::from_secs(2)).await;
    bench.drop_plugin("event-printer", WHOLE);
    let has_all = || told(&host.lines_of(WHOLE), &bench.namespace).len() >= PODS - REMOVES_EVERY;
    until("the other plugin to be told of the pods", host, has_all).await;
    until("the watch of metadata to end", host, || parts(host, FEW) == json!(["all namespaces"]))
        .await;
    assert_eq!(informer(host)["metadataOnly"], json!(false));
    poll::pause(Duration::from_secs(2)).await;
    std::fs::remove_file(bench.plugins.join(format!("{WHOLE}.wasm"))).expect("it was there");
    pause.kept().await;
    // After a minute whole objects are given up.
    let is_narrow = || informer(host)["metadataOnly"] == json!(true);
    until("the cache to narrow", host, is_narrow).await;
    assert_eq!(parts(host, FEW), json!(["all namespaces, metadata only"]));
    poll::pause(Duration::from_secs(2)).await;
    pause.end();
}

/// An object that an HTTP request asks for is whole and of its own kind.
fn check_request(bench: &HostBench<'_>, host: &Host) {
    let path = format!("/core/v1/namespaces/{}/pods/{}", bench.namespace, web(PODS - 1));
    let answer = host.get(&path).expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let pod = &answer.json()["msg"];
    let pod = pod.get(0).unwrap_or(pod);
    assert_eq!(pod["kind"], "Pod", "{pod}");
    assert!(pod["spec"]["containers"].is_array(), "{pod}");
}

/// Invariant 9.
#[test]
#[ignore = "takes a minute: `make slow-tests`"]
fn metadata_alone_are_sent_and_another_plugin_gets_whole_objects_without_a_gap() {
    host_fact(async |bench| {
        let text = format!("{HEAD}PluginConfiguration\nconfig: {{metadata: true}}\n");
        std::fs::write(bench.plugins.join(format!("{FEW}.yaml")), text).expect("a file");
        bench.drop_plugin("event-printer", FEW);
        let names: Vec<String> = (0..PODS).map(web).collect();
        let burst =
            Burst { api: &bench.api, method: Method::POST, content_type: JSON, done: &[201, 409] };
        let body = |name: &str| labelled_pod(name, &[("app", "web")]).to_string();
        burst.send(&names, |name| (bench.pods(), body(name))).await;
        let host = bench.start(&[]).await;
        let all_told = |plugin: &str| told(&host.lines_of(plugin), &bench.namespace);
        until("the plugin to be told of its pods", &host, || all_told(FEW).len() == PODS).await;
        assert_eq!(parts(&host, FEW), json!(["all namespaces, metadata only"]));
        assert_eq!(informer(&host)["metadataOnly"], json!(true));

        let mut expect: Changes = names.into_iter().map(|it| (it, vec!["added"])).collect();
        let pause = ChangePause::new();
        futures::join!(change(&bench, &pause, &mut expect), come_and_go(&bench, &host, &pause));
        // An API server may show that a pod is being deleted.
        let all_told_few = || {
            let mut all = all_told(FEW);
            for name in (0..REMOVES_EVERY).map(web) {
                all.entry(name).or_default().retain(|change| change != "updated");
            }
            all
        };
        let is_complete = || {
            let told = all_told_few();
            told.iter()
                .all(|(name, told)| expect.get(name).is_some_and(|it| it.len() <= told.len()))
        };
        until("all changes to be told", &host, is_complete).await;
        for (name, told) in all_told_few() {
            assert_eq!(told, expect[&name], "{name}");
        }
        // Each pod was added once, whole: its phase is not in its metadata.
        for (name, told) in all_told(WHOLE) {
            let is_there = told.iter().try_fold(false, |is_there, change| match change.as_str() {
                "added" => (!is_there).then_some(true),
                "deleted" => is_there.then_some(false),
                _ => is_there.then_some(true),
            });
            assert!(is_there.is_some(), "{name}: {told:?}");
        }
        let lines = host.lines_of(WHOLE);
        let added =
            lines.iter().map(|line| line.message()).filter(|text| text.starts_with("added pod"));
        for text in added {
            assert!(text.contains(": Pending"), "{text}");
        }
        check_request(&bench, &host);
    });
}
