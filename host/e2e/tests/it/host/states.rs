//! What is shown of a plugin is so: each kind of plugin in each state, and what `informant plugin list`, `/plugins`, the metrics and `/readyz` say.

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
    /// The state of its informer.
    informer: &'static str,
    /// Its mood, and further keys of its `config`.
    config: &'static str,
    /// Further lines of the file beside it.
    beside: &'static str,
    kinds: &'static [&'static str],
    state: &'static str,
    /// All of it is in WHY; nothing: there is no reason.
    why: &'static [&'static str],
    counted: Counted,
}

/// What the metrics have of a plugin beside its state.
#[derive(Clone, Copy)]
enum Counted {
    Nothing,
    /// Calls that ended so.
    Calls(&'static str),
    /// The time that the first of what is due has waited.
    Age,
    /// This series.
    As(&'static str),
}

impl Counted {
    /// The series of a plugin of this kind that is not 0, up to its value.
    fn series(self, kind: &str, plugin: &str) -> Option<String> {
        let of_kind = |names: [&'static str; 3]| {
            let place = ALL.iter().position(|one| *one == kind).expect("a kind");
            names[place]
        };
        let (name, result) = match self {
            Self::Nothing => return None,
            Self::Calls(result) => {
                (of_kind(["events_total", "keys_total", "firings_total"]), Some(result))
            }
            Self::Age => {
                let ages = ["queue_age_seconds", "workqueue_age_seconds", "schedule_age_seconds"];
                (of_kind(ages), None)
            }
            Self::As(name) => (name, None),
        };
        let result = result.map_or(String::new(), |result| format!(",result=\"{result}\""));
        Some(format!("informant_plugin_{name}{{plugin=\"{plugin}\"{result}}} "))
    }
}

const FINE: &str = "v1/configmaps";
const FORBIDDEN: &str = "v1/services";
const ABSENT: &str = "late.example.com/v1/widgets";
/// Of those there are many.
const MANY: &str = "v1/pods";

/// What they fail with.
const BAD: &str = "the mood is bad";

const ALL: &[&str] = &["handler", "controller", "timer"];
const ON_EVENTS: &[&str] = &["handler", "controller"];

const fn cell(name: &'static str, config: &'static str, state: &'static str) -> Cell {
    let (kinds, counted) = (ALL, Counted::Nothing);
    let (resource, informer, beside, why) = (FINE, "synced", "", &[]);
    Cell { name, resource, informer, config, beside, kinds, state, why, counted }
}

/// Those that the host starts with.
fn first_cells() -> Vec<Cell> {
    vec![
        Cell { counted: Counted::Calls("ok"), ..cell("fine", "mood: fine", "running") },
        Cell {
            resource: ABSENT,
            informer: "waiting",
            why: &["late.example.com/v1/widgets is waiting ("],
            ..cell("waiting", "mood: fine", "running")
        },
        Cell {
            resource: FORBIDDEN,
            informer: "forbidden",
            why: &["v1/services is forbidden ("],
            ..cell("forbidden", "mood: fine", "running")
        },
    ]
}

/// Those that come later.
fn later_cells() -> Vec<Cell> {
    let mood = |name, mood, (state, counted), why| Cell { why, counted, ..cell(name, mood, state) };
    let refused = Counted::As("load_refused");
    let (retry, dead) = (Counted::Calls("retry"), Counted::Calls("dead"));
    let tripped = Counted::As("trips_total");
    vec![
        mood("asking", "mood: asks", ("waiting", refused), &["patch v1/configmaps", "not granted"]),
        mood("not-started", "mood: does-not-start", ("stopped", refused), &["too bad to start"]),
        Cell {
            beside: "writes: [{resources: [v1/pods], verbs: [patch]}]",
            why: &["not in force: writes (patch of v1/pods)"],
            ..cell("not-in-force", "mood: fine", "running")
        },
        Cell {
            kinds: ON_EVENTS,
            ..mood("retrying", "mood: fails", ("running", retry), &["being retried: ", BAD])
        },
        Cell {
            kinds: &["timer"],
            ..mood("retrying", "mood: fails", ("running", retry), &["1 schedule failing"])
        },
        Cell {
            kinds: &["handler"],
            ..mood("lettered", "mood: gives-up", ("running", dead), &["dead letter", BAD])
        },
        Cell {
            kinds: &["controller"],
            ..mood("lettered", "mood: gives-up", ("running", dead), &["given up", BAD])
        },
        Cell {
            kinds: &["timer"],
            ..mood("lettered", "mood: gives-up", ("running", dead), &["failing"])
        },
        mood("lost", "mood: traps, startTime: 3000", ("backing-off", Counted::Nothing), &[BAD]),
        mood("tripped", "mood: traps", ("tripped", tripped), &[BAD]),
        Cell {
            resource: MANY,
            kinds: ON_EVENTS,
            ..mood("behind", "mood: slow", ("running", Counted::Age), &["behind by ", " to go"])
        },
        Cell {
            kinds: &["timer"],
            // All of them are due at once, and each call takes half a second.
            ..mood(
                "behind",
                "mood: slow, schedules: 40",
                ("running", Counted::Age),
                &["behind by ", "schedules to go"],
            )
        },
        Cell { why: &["paused until ", "plugin resume"], ..cell("held", "mood: fine", "paused") },
    ]
}

impl Cell {
    fn plugin(&self, kind: &str) -> String {
        format!("{kind}-{}", self.name)
    }

    /// What `/readyz` says of its resource: nothing of a single plugin keeps the host from being ready.
    fn check_of_informer(&self) -> String {
        let Self { resource, informer, .. } = self;
        match *informer {
            "synced" => format!("[+]informer {resource} ok\n"),
            "stale" => format!("[-]informer {resource} stale: "),
            other => format!("[+]informer {resource} {other}: "),
        }
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
    readyz: (u16, String),
}

impl Shown {
    fn of(bench: &HostBench<'_>, host: &Host) -> Self {
        let text = |path| host.get(path).map_or(String::new(), |answer| answer.body);
        let (_, list) = ask(bench, host, &["plugin", "list"]);
        let plugins = serde_json::from_str(&text("/plugins")).unwrap_or_default();
        Self { plugins, list, metrics: text("/metrics"), readyz: ready(host) }
    }

    /// What is wrong with what is shown of a plugin.
    fn lies(&self, kind: &str, cell: &Cell) -> Vec<String> {
        let Cell { state, why, .. } = cell;
        let name = cell.plugin(kind);
        let mut plugins = self.plugins.as_array().into_iter().flatten();
        let plugin = plugins.find(|plugin| plugin["name"] == *name).unwrap_or(&Value::Null);
        let mut lines = self.list.lines();
        let line = lines.find(|line| line.split(' ').next() == Some(&name)).unwrap_or_default();
        let reasons = plugin["why"].as_array().into_iter().flatten();
        let reasons: Vec<&str> = reasons.filter_map(Value::as_str).collect();
        let reasons = reasons.join("; ");
        let is_listed = line.split_whitespace().nth(1) == Some(state);
        let has_all = |text: &str| why.iter().all(|part| text.contains(part));
        let is_said = |text: &str| has_all(text) && (text.ends_with("  -") == why.is_empty());
        let claims = [
            (plugin["state"] == *state, format!("/plugins: {plugin}")),
            (has_all(&reasons), format!("why is {reasons:?}")),
            (reasons.is_empty() == why.is_empty(), format!("why is {reasons:?}")),
            (is_listed && is_said(line), format!("list: {line}")),
        ];
        let lies = claims.into_iter().filter(|(is_so, _)| !is_so).map(|(_, lie)| lie);
        let lies = lies.chain(self.lies_of_metrics(kind, cell)).chain(self.lies_of_probe(cell));
        lies.map(|lie| format!("{name} is to be {state} for {why:?}: {lie}")).collect()
    }

    fn lies_of_metrics(&self, kind: &str, cell: &Cell) -> Option<String> {
        let Cell { state, resource, informer, counted, .. } = cell;
        let name = cell.plugin(kind);
        let states = [
            format!("informant_plugin_state{{plugin=\"{name}\",state=\"{state}\"}} "),
            format!("informant_informer_state{{resource=\"{resource}\",state=\"{informer}\"}} "),
        ];
        let is_positive = |series: &String| {
            let mut values = self.metrics.lines().filter_map(|line| line.strip_prefix(series));
            values.any(|value| value.parse::<f64>().is_ok_and(|value| value > 0.0))
        };
        let mut series = states.into_iter().chain(counted.series(kind, &name));
        let missing = series.find(|series| !is_positive(series))?;
        Some(format!("the metrics have no {missing}"))
    }

    fn lies_of_probe(&self, cell: &Cell) -> Option<String> {
        let (status, body) = &self.readyz;
        let expect = if cell.informer == "stale" { 503 } else { 200 };
        let lines = ["[+]plugins ok\n", &cell.check_of_informer()];
        let is_so = *status == expect && lines.iter().all(|line| body.contains(line));
        (!is_so).then(|| format!("/readyz: {status} {body}"))
    }
}

/// Waits until each of these plugins was shown once as it is.
async fn await_shown(bench: &HostBench<'_>, host: &Host, mut expect: Vec<(&Cell, &str)>) {
    let mut lies = Vec::new();
    let is_so = async || {
        let shown = Shown::of(bench, host);
        lies.clear();
        expect.retain(|(cell, kind)| {
            let found = shown.lies(kind, cell);
            lies.extend(found.first().cloned());
            !found.is_empty()
        });
        expect.is_empty().then_some(())
    };
    let shown = poll::until("all to be shown", LINES_DEADLINE, is_so).await;
    assert!(shown.is_ok(), "{}\n{}", lies.join("\n"), host.tail());
}

fn each(cells: &[Cell]) -> Vec<(&Cell, &str)> {
    cells.iter().flat_map(|cell| cell.kinds.iter().map(move |kind| (cell, *kind))).collect()
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

fn ready(host: &Host) -> (u16, String) {
    host.get("/readyz?verbose").map_or((0, String::new()), |answer| (answer.status, answer.body))
}

#[test]
fn every_kind_of_plugin_is_shown_as_it_is_in_every_state() {
    host_fact(async |bench| {
        allow(&bench).await;
        create_objects(&bench).await;
        let drop_all = |cells: &[Cell]| {
            for (cell, kind) in each(cells) {
                cell.drop(&bench, kind);
            }
        };
        let (first, later) = (first_cells(), later_cells());
        drop_all(&first);
        let host = bench.start_unready(User::Reader, &[]).await;
        host.await_ready().await.unwrap();
        await_shown(&bench, &host, each(&first)).await;
        drop_all(&later);
        // A replay waits for its handler: only what happens later can wait too long.
        let runs = |plugin: &Value| plugin["state"] == "running";
        host.await_plugin("handler-behind", "it to run", runs).await.unwrap();
        bench.create_pods(&pod_names(0..60)).await;
        // Some states are passed through soon: nothing else is waited for before they are looked for.
        let (held, others): (Vec<_>, Vec<_>) =
            each(&later).into_iter().partition(|(cell, _)| cell.name == "held");
        await_shown(&bench, &host, others).await;
        for (cell, kind) in &held {
            check_said(&bench, &host, &["plugin", "pause", &cell.plugin(kind)], "paused");
        }
        await_shown(&bench, &host, held).await;

        bench.cluster.kill().await.unwrap();
        let stale = [Cell {
            informer: "stale",
            why: &["v1/configmaps is stale ("],
            ..cell("fine", "mood: fine", "running")
        }];
        await_shown(&bench, &host, each(&stale)).await;
        let failures = format!("informant_informer_failures_total{{resource=\"{FINE}\"");
        let metrics = host.get("/metrics").expect("an answer").body;
        let failed = metrics.lines().find(|line| line.starts_with(&failures));
        assert!(failed.is_some_and(|line| !line.ends_with(" 0")), "{failures} in {metrics}");
        assert_eq!(host.get("/livez").unwrap().status, 200, "a cluster that is away kills no host");
        bench.cluster.restart().await.unwrap();
        await_shown(&bench, &host, each(&first[..1])).await;
    });
}
