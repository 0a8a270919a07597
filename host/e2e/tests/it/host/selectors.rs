//! Plugins' selectors in the requests to the API server: the host caches what all plugins select, and follows plugins
//! that come and go without a gap.

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

/// Pods, and those of them that the plugin selects.
const PODS: usize = 600;
const SELECTED: usize = 250;
/// Of the selected ones, those that leave the selector now and then, and those that change.
const MOVED: usize = 20;
const CHANGED: usize = 100;
/// One change in so many moves a pod out of the selector or back, and one is of a pod that is not selected.
const MOVES_EVERY: usize = 10;
const OTHERS_EVERY: usize = 4;

const NARROW: &str = "selected";
const WIDE: &str = "everything";

type Changes = BTreeMap<String, Vec<&'static str>>;

fn web(number: usize) -> String {
    format!("web-{number:04}")
}

fn db(number: usize) -> String {
    format!("db-{number:04}")
}

async fn create(bench: &HostBench<'_>, names: Vec<String>, app: &str) {
    let burst =
        Burst { api: &bench.api, method: Method::POST, content_type: JSON, done: &[201, 409] };
    let body = |name: &str| labelled_pod(name, &[("app", app)]).to_string();
    burst.send(&names, |name| (bench.pods(), body(name))).await;
}

/// The parts that the host lists and watches for a plugin.
fn parts(host: &Host, plugin: &str) -> Value {
    host.plugin(plugin).expect("it is there")["subscriptions"][0]["informer"]["parts"].clone()
}

fn metric(host: &Host, series: &str) -> usize {
    let page = host.get("/metrics").expect("an answer").body;
    let mut values = page.lines().filter_map(|line| line.strip_prefix(series));
    let value = values.find_map(|value| value.trim().parse::<f64>().ok());
    value.unwrap_or_default() as usize
}

fn cached(host: &Host) -> usize {
    metric(host, "informant_cache_objects{resource=\"v1/pods\"}")
}

/// Changes pods until the end, and notes what the narrow plugin must be told of each.
async fn change(bench: &HostBench<'_>, pause: &ChangePause, expect: &mut Changes) {
    let patch = async |name: &str, patch: Value| {
        let path = format!("{}/{name}", bench.pods());
        bench.api.patch(&path, Patch::Merge, &patch).await.expect(200);
    };
    let mut number = 0;
    while pause.next().await {
        number += 1;
        let annotation = json!({"metadata": {"annotations": {"n": number.to_string()}}});
        if number % MOVES_EVERY == 0 {
            let name = web(number / MOVES_EVERY % MOVED);
            let changes = expect.entry(name.clone()).or_default();
            let is_in = changes.last() != Some(&"deleted");
            changes.push(if is_in { "deleted" } else { "added" });
            let app = if is_in { "db" } else { "web" };
            patch(&name, json!({"metadata": {"labels": {"app": app}}})).await;
        } else if number % OTHERS_EVERY == 0 {
            patch(&db(number % CHANGED), annotation).await;
        } else {
            let name = web(MOVED + number % CHANGED);
            expect.entry(name.clone()).or_default().push("updated");
            patch(&name, annotation).await;
        }
    }
}

fn all_told(host: &Host, namespace: &str, plugin: &str) -> BTreeMap<String, Vec<String>> {
    told(&host.lines_of(plugin), namespace)
}

/// The plugin without a selector gets each pod once. The exception of invariant 9: until its own list begins, a pod
/// that leaves the other plugin's selector may be deleted and added again.
#[track_caller]
fn check_wide(name: &str, told: &[String]) {
    let moves = (0..MOVED).any(|number| web(number) == name);
    let mut is_there = false;
    for change in told {
        let is_right = match change.as_str() {
            "added" => !is_there,
            "deleted" => is_there && moves,
            _ => is_there,
        };
        assert!(is_right, "{name}: {told:?}");
        is_there = change != "deleted";
    }
    assert!(is_there, "{name}: {told:?}");
}

async fn until(what: &str, host: &Host, mut is_so: impl FnMut() -> bool) {
    let is_so = async || {
        // A question reads all lines of a plugin.
        poll::pause(Duration::from_millis(200)).await;
        is_so().then_some(())
    };
    if let Err(error) = poll::until(what, LINES_DEADLINE, is_so).await {
        panic!("{error}: {} are cached; last lines:\n{}", cached(host), host.tail());
    }
}

/// A plugin without a selector comes, and goes again.
async fn come_and_go(bench: &HostBench<'_>, host: &Host, pause: &ChangePause) {
    poll::pause(Duration::from_secs(2)).await;
    let namespace = &bench.namespace;
    bench.drop_plugin("event-printer", WIDE);
    let has_all = || all_told(host, namespace, WIDE).len() == PODS;
    until("the plugin without a selector to be told of all pods", host, has_all).await;
    assert_eq!(cached(host), PODS);
    until("the narrower watch to end", host, || parts(host, WIDE) == json!(["all namespaces"]))
        .await;
    poll::pause(Duration::from_secs(2)).await;
    std::fs::remove_file(bench.plugins.join(format!("{WIDE}.wasm"))).expect("it was there");
    pause.kept().await;
    // After a minute the wider scope is given up.
    until("the cache to narrow", host, || cached(host) <= SELECTED).await;
    let narrow = json!(["all namespaces, labels app=web"]);
    until("the wider watch to end", host, || parts(host, NARROW) == narrow).await;
    poll::pause(Duration::from_secs(2)).await;
    pause.end();
}

/// Invariant 9.
#[test]
#[ignore = "takes a minute: `make slow-tests`"]
fn only_what_plugins_select_is_sent_and_another_plugin_widens_and_narrows_that_without_a_gap() {
    host_fact(async |bench| {
        let text = format!("{HEAD}PluginConfiguration\nconfig: {{labels: app=web}}\n");
        std::fs::write(bench.plugins.join(format!("{NARROW}.yaml")), text).expect("a file");
        bench.drop_plugin("event-printer", NARROW);
        create(&bench, (0..SELECTED).map(web).collect(), "web").await;
        create(&bench, (0..PODS - SELECTED).map(db).collect(), "db").await;
        let host = bench.start(&[]).await;
        let namespace = bench.namespace.clone();
        let has_all = || all_told(&host, &namespace, NARROW).len() == SELECTED;
        until("the plugin to be told of its pods", &host, has_all).await;
        assert_eq!(cached(&host), SELECTED);
        assert_eq!(parts(&host, NARROW), json!(["all namespaces, labels app=web"]));

        // The API server sends no change of other pods.
        let modified = "informant_informer_events_total{resource=\"v1/pods\",type=\"modified\"}";
        let body = json!({"metadata": {"annotations": {"first": "1"}}});
        for name in (0..50).map(db).chain([web(SELECTED - 1)]) {
            let path = format!("{}/{name}", bench.pods());
            bench.api.patch(&path, Patch::Merge, &body).await.expect(200);
        }
        until("one change to be sent", &host, || metric(&host, modified) == 1).await;

        let mut expect: Changes = (0..SELECTED).map(|it| (web(it), vec!["added"])).collect();
        expect.entry(web(SELECTED - 1)).or_default().push("updated");
        let pause = ChangePause::new();
        futures::join!(change(&bench, &pause, &mut expect), come_and_go(&bench, &host, &pause));
        let is_complete = || {
            let told = all_told(&host, &namespace, NARROW);
            told.iter()
                .all(|(name, told)| expect.get(name).is_some_and(|it| it.len() <= told.len()))
        };
        until("all changes to be told", &host, is_complete).await;
        let told = all_told(&host, &namespace, NARROW);
        assert_eq!(told.len(), expect.len());
        for (name, told) in &told {
            assert_eq!(told, &expect[name], "{name}");
        }
        for (name, told) in all_told(&host, &namespace, WIDE) {
            check_wide(&name, &told);
        }
        // A pod that is left out: `why` asks for it, and a request has all cached.
        let left_out = db(PODS - SELECTED - 1);
        let query = format!("/why?kind=pods&namespace={namespace}&name={left_out}");
        let why = host.get(&query).unwrap().json();
        assert_eq!(why["cache"]["state"], "left-out", "{why}");
        let answer = host.get(&format!("/core/v1/namespaces/{namespace}/pods/{left_out}")).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
    });
}
