//! What is shown of a plugin is so: each kind of plugin in each state, and what `informant plugin list`, `/plugins`, the metrics and `/readyz` say.

use std::time::Duration;

use informant_apimachinery::GroupVersionResource;
use informant_e2e::cluster::User;
use informant_e2e::host::Host;
use informant_e2e::poll;
use serde_json::{Value, json};

use crate::host::admin::{ask, check as check_said};
use crate::host::bench::{
    CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, host_fact, pod_names,
};

/// What a plugin is made of: its name's end, what its configuration adds, and what is to be shown.
struct Cell {
    name: &'static str,
    resource: &'static str,
    /// Its mood, and further keys of its `config`.
    config: &'static str,
    /// Further lines of the file beside it.
    beside: &'static str,
    kinds: &'static [&'static str],
    state: &'static str,
    /// All of it is in WHY; nothing: there is no reason.
    why: &'static [&'static str],
}

const FINE: &str = "v1/configmaps";
const FORBIDDEN: &str = "v1/services";
const ABSENT: &str = "late.example.com/v1/widgets";
/// Of those there are many.
const MANY: &str = "v1/pods";

const ALL: &[&str] = &["handler", "controller", "timer"];
const ON_EVENTS: &[&str] = &["handler", "controller"];

const fn cell(name: &'static str, config: &'static str, state: &'static str) -> Cell {
    Cell { name, resource: FINE, config, beside: "", kinds: ALL, state, why: &[] }
}

/// Those whose API server answers.
fn cells() -> Vec<Cell> {
    let mood = |name, mood, state, why| Cell { why, ..cell(name, mood, state) };
    vec![
        cell("fine", "mood: fine", "running"),
        Cell {
            resource: ABSENT,
            why: &["late.example.com/v1/widgets is waiting ("],
            ..cell("waiting", "mood: fine", "running")
        },
        Cell {
            resource: FORBIDDEN,
            why: &["v1/services is forbidden ("],
            ..cell("forbidden", "mood: fine", "running")
        },
        mood("asking", "mood: asks", "waiting", &["patch v1/configmaps", "not granted"]),
        mood("not-started", "mood: does-not-start", "stopped", &["too bad to start"]),
        Cell {
            beside: "writes: [{resources: [v1/pods], verbs: [patch]}]",
            why: &["not in force: writes (patch of v1/pods)"],
            ..cell("not-in-force", "mood: fine", "running")
        },
        Cell {
            kinds: ON_EVENTS,
            ..mood("retrying", "mood: fails", "running", &["being retried: ", "the mood is bad"])
        },
        Cell {
            kinds: &["timer"],
            ..mood("retrying", "mood: fails", "running", &["1 schedule failing"])
        },
        Cell {
            kinds: &["handler"],
            ..mood("lettered", "mood: gives-up", "running", &["dead letter", "the mood is bad"])
        },
        Cell {
            kinds: &["controller"],
            ..mood("lettered", "mood: gives-up", "running", &["given up", "the mood is bad"])
        },
        Cell { kinds: &["timer"], ..mood("lettered", "mood: gives-up", "running", &["failing"]) },
        mood("lost", "mood: traps, startTime: 3000", "backing-off", &["the mood is bad"]),
        mood("tripped", "mood: traps", "tripped", &["the mood is bad"]),
        Cell {
            resource: MANY,
            kinds: ON_EVENTS,
            ..mood("behind", "mood: slow", "running", &["behind by ", " to go"])
        },
        Cell { why: &["paused until ", "plugin resume"], ..cell("held", "mood: fine", "paused") },
    ]
}

impl Cell {
    fn plugin(&self, kind: &str) -> String {
        format!("{kind}-{}", self.name)
    }

    fn drop(&self, bench: &HostBench<'_>, kind: &str) {
        let name = self.plugin(kind);
        let Self { resource, config, beside, .. } = self;
        let namespace = &bench.namespace;
        let config =
            format!("{{as: {kind}, resource: {resource}, namespace: {namespace}, {config}}}");
        let text = format!("{HEAD}PluginConfiguration\nconfig: {config}\n{beside}\n");
        std::fs::write(bench.plugins.join(format!("{name}.yaml")), text).expect("a file");
        bench.drop_plugin("moods", &name);
    }
}

/// All that is shown at about one moment.
struct Shown {
    plugins: Value,
    list: String,
    metrics: String,
}

impl Shown {
    fn of(bench: &HostBench<'_>, host: &Host) -> Self {
        let text = |path| host.get(path).map_or(String::new(), |answer| answer.body);
        let (_, list) = ask(bench, host, &["plugin", "list"]);
        let plugins = serde_json::from_str(&text("/plugins")).unwrap_or_default();
        Self { plugins, list, metrics: text("/metrics") }
    }

    /// What is wrong with what is shown of a plugin that is to be in this state, for these reasons.
    fn lies(&self, name: &str, state: &str, why: &[&str]) -> Vec<String> {
        let mut plugins = self.plugins.as_array().into_iter().flatten();
        let plugin = plugins.find(|plugin| plugin["name"] == name).unwrap_or(&Value::Null);
        let mut lines = self.list.lines();
        let line = lines.find(|line| line.split(' ').next() == Some(name)).unwrap_or_default();
        let reasons = plugin["why"].as_array().into_iter().flatten();
        let reasons: Vec<&str> = reasons.filter_map(Value::as_str).collect();
        let reasons = reasons.join("; ");
        let gauge = format!("informant_plugin_state{{plugin=\"{name}\",state=\"{state}\"}} 1");
        let is_listed = line.split_whitespace().nth(1) == Some(state);
        let has_all = |text: &str| why.iter().all(|part| text.contains(part));
        let is_said = |text: &str| has_all(text) && (text.ends_with("  -") == why.is_empty());
        let claims = [
            (plugin["state"] == state, format!("/plugins: {plugin}")),
            (has_all(&reasons), format!("why is {reasons:?}")),
            (reasons.is_empty() == why.is_empty(), format!("why is {reasons:?}")),
            (is_listed && is_said(line), format!("list: {line}")),
            (self.metrics.contains(&gauge), format!("the metrics have no {gauge}")),
        ];
        let lies = claims.into_iter().filter(|(is_so, _)| !is_so);
        lies.map(|(_, lie)| format!("{name} is to be {state} for {why:?}: {lie}")).collect()
    }
}

/// Waits until each of these plugins was shown once in its state for its reasons.
async fn await_shown(
    bench: &HostBench<'_>,
    host: &Host,
    mut expect: Vec<(String, &'static str, &'static [&'static str])>,
) {
    let mut lies = Vec::new();
    let is_so = async || {
        let shown = Shown::of(bench, host);
        lies.clear();
        expect.retain(|(name, state, why)| {
            let found = shown.lies(name, state, why);
            lies.extend(found.first().cloned());
            !found.is_empty()
        });
        expect.is_empty().then_some(())
    };
    let shown = poll::until("all to be shown", LINES_DEADLINE, is_so).await;
    assert!(shown.is_ok(), "{}\n{}", lies.join("\n"), host.tail());
}

/// Objects for the plugins to be called for.
async fn create_objects(bench: &HostBench<'_>) {
    let path = format!("/api/v1/namespaces/{}/configmaps", bench.namespace);
    for number in 0..5 {
        let name = format!("object-{number}");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        bench.api.create(&path, &object).await.expect(201);
    }
}

async fn allow(bench: &HostBench<'_>) {
    let (permissions, namespace) = (bench.cluster.permissions(), &bench.namespace);
    let widgets = GroupVersionResource::new("late.example.com", "v1", "widgets");
    for (group, resource) in [("", "configmaps"), ("", "pods"), (&*widgets.group, "widgets")] {
        permissions.grant(&bench.api, namespace, group, resource).await;
    }
    permissions.revoke(&bench.api, namespace, "services").await;
}

/// Waits until the metrics have an informer in this state.
async fn await_informer(host: &Host, resource: &str, state: &str) {
    let line = format!("informant_informer_state{{resource=\"{resource}\",state=\"{state}\"}} 1");
    let is_so = async || host.get("/metrics").ok()?.body.contains(&line).then_some(());
    poll::until(&line, LINES_DEADLINE, is_so).await.unwrap();
}

fn ready(host: &Host) -> (u16, String) {
    let answer = host.get("/readyz?verbose").expect("an answer");
    (answer.status, answer.body)
}

#[test]
fn every_kind_of_plugin_is_shown_as_it_is_in_every_state() {
    host_fact(async |bench| {
        allow(&bench).await;
        create_objects(&bench).await;
        let cells = cells();
        let all = || cells.iter().flat_map(|cell| cell.kinds.iter().map(move |kind| (cell, *kind)));
        for (cell, kind) in all() {
            cell.drop(&bench, kind);
        }
        let host = bench.start_unready(User::Reader, &[]).await;
        // A replay waits for its handler: only what happens later can wait too long.
        let runs = |plugin: &Value| plugin["state"] == "running";
        host.await_plugin("handler-behind", "it to run", runs).await.unwrap();
        bench.create_pods(&pod_names(0..60)).await;
        // Some states are passed through soon: nothing else is waited for before they are looked for.
        let (held, others): (Vec<_>, Vec<_>) = all().partition(|(cell, _)| cell.name == "held");
        let expect = |(cell, kind): &(&Cell, &str)| (cell.plugin(kind), cell.state, cell.why);
        await_shown(&bench, &host, others.iter().map(expect).collect()).await;
        for (cell, kind) in &held {
            check_said(&bench, &host, &["plugin", "pause", &cell.plugin(kind)], "paused");
        }
        await_shown(&bench, &host, held.iter().map(expect).collect()).await;
        // Nothing of a single plugin keeps the host from being ready; what its informers lack is said.
        host.await_ready().await.unwrap();
        let (status, body) = ready(&host);
        assert_eq!(status, 200, "{body}");
        for line in [
            "[+]plugins ok".to_owned(),
            format!("[+]informer {FINE} ok\n"),
            format!("[+]informer {FORBIDDEN} forbidden: "),
            format!("[+]informer {ABSENT} waiting: "),
            "readyz check passed".to_owned(),
        ] {
            assert!(body.contains(&line), "no {line} in {body}");
        }
        for (resource, state) in [(FINE, "synced"), (FORBIDDEN, "forbidden"), (ABSENT, "waiting")] {
            await_informer(&host, resource, state).await;
        }

        bench.cluster.kill().await.unwrap();
        let fine = |why: &'static [&'static str]| {
            let one = move |kind: &&str| (format!("{kind}-fine"), "running", why);
            ALL.iter().map(one).collect()
        };
        await_shown(&bench, &host, fine(&["v1/configmaps is stale ("])).await;
        await_informer(&host, FINE, "stale").await;
        let failures = format!("informant_informer_failures_total{{resource=\"{FINE}\"");
        let metrics = host.get("/metrics").expect("an answer").body;
        let failed = metrics.lines().find(|line| line.starts_with(&failures));
        assert!(failed.is_some_and(|line| !line.ends_with(" 0")), "{failures} in {metrics}");
        let away = async || {
            let (status, body) = ready(&host);
            let says = body.contains(&format!("[-]informer {FINE} stale: "));
            (status == 503 && says && body.contains("readyz check failed")).then_some(())
        };
        poll::until("the host to be unready", LINES_DEADLINE, away).await.unwrap();
        assert_eq!(host.get("/livez").unwrap().status, 200, "a cluster that is away kills no host");
        bench.cluster.restart().await.unwrap();
        await_shown(&bench, &host, fine(&[])).await;
        let back = async || (ready(&host).0 == 200).then_some(());
        poll::until("the host to be ready", Duration::from_secs(120), back).await.unwrap();
    });
}
