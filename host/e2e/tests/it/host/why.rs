//! `informant why` names the reason: each row creates a reason, and the answer must contain it.

use crate::bench::{config_map, labelled_pod};
use crate::host::admin::{ask, check as check_said};
use crate::host::bench::{CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, host_fact};
use informant_e2e::api::Patch;
use informant_e2e::cluster::TestCluster;
use informant_e2e::described;
use informant_e2e::host::Host;
use informant_e2e::poll;
use serde_json::{Value, json};

/// The object of most rows.
const OBJECT: &str = "web";
/// The number of objects for which a slow plugin is called first.
const OTHERS: usize = 60;

/// A plugin with a reason, and the expected answer.
struct Row {
    plugin: &'static str,
    planted: Planted,
    kind: &'static str,
    name: &'static str,
    answer: &'static str,
    /// The question that the answer must name.
    question: &'static str,
    /// The answer must contain all of these texts.
    says: &'static [&'static str],
}

/// How the plugin is created.
enum Planted {
    /// A plugin with one subscription to this resource with these keys. It accepts every event.
    Described(&'static str, Value),
    /// The plugin with this configuration, and more lines of the file beside it.
    Moody(&'static str, &'static str),
    /// A file that is not a plugin.
    Garbage,
}

fn row(plugin: &'static str, planted: Planted, answer: &'static str) -> Row {
    let (kind, name, question, says) = ("configmap", OBJECT, "", &[] as &[&str]);
    Row { plugin, planted, kind, name, answer, question, says }
}

/// A subscription to ConfigMaps with these keys.
fn refused(
    plugin: &'static str,
    keys: Value,
    question: &'static str,
    says: &'static [&'static str],
) -> Row {
    let planted = Planted::Described("v1/configmaps", keys);
    Row { question, says, ..row(plugin, planted, "refused") }
}

fn moody(
    plugin: &'static str,
    (config, beside): (&'static str, &'static str),
    answer: &'static str,
    says: &'static [&'static str],
) -> Row {
    Row { says, ..row(plugin, Planted::Moody(config, beside), answer) }
}

/// Subscriptions whose view does not contain the object.
fn of_views() -> Vec<Row> {
    vec![
        refused(
            "elsewhere",
            json!({"namespaces": ["somewhere-else"]}),
            "namespaces",
            &["namespaces somewhere-else: the object is in "],
        ),
        refused(
            "team",
            json!({"namespaceSelector": "team in (api,web)"}),
            "namespaceSelector",
            &["namespaceSelector team in (api,web): label team of namespace ", " is missing"],
        ),
        refused(
            "labelled",
            json!({"labelSelector": "app in (api,web)"}),
            "labelSelector",
            &["labelSelector app in (api,web): label app is db"],
        ),
        refused(
            "named",
            json!({"fieldSelector": "metadata.name!=web"}),
            "fieldSelector",
            &["fieldSelector metadata.name!=web: metadata.name is web"],
        ),
    ]
}

/// Subscriptions to which the object is not delivered for other reasons.
fn of_subscriptions() -> Vec<Row> {
    let pods = |keys| Planted::Described("v1/pods", keys);
    vec![
        Row {
            kind: "po",
            question: "fieldSelector",
            says: &["fieldSelector spec.nodeName=node-1: spec.nodeName is not there"],
            ..row("placed", pods(json!({"fieldSelector": "spec.nodeName=node-1"})), "refused")
        },
        refused(
            "filtered",
            json!({"filter": "object.data.size == \"9\""}),
            "filter",
            &["filter object.data.size == \"9\": object.data.size is \"3\""],
        ),
        refused(
            "unchanged",
            json!({"onlyIfChanged": ["/data/size"]}),
            "onlyIfChanged",
            &["no change after resourceVersion ", "/data/size is \"3\""],
        ),
        refused(
            "ends",
            json!({"types": ["deleted"]}),
            "types",
            &["types deleted: added is not among them"],
        ),
        Row {
            kind: "Pod",
            question: "replay",
            says: &["replay never: "],
            ..row("never", pods(json!({"replay": "never"})), "refused")
        },
        Row {
            name: "wep",
            answer: "absent",
            question: "cache",
            says: &["the cache has no v1/configmaps ", "/wep"],
            ..refused("all", json!({}), "", &[])
        },
        Row {
            planted: Planted::Described("v1/nodes", json!({})),
            answer: "not-subscribed",
            ..refused("other", json!({}), "", &["it subscribes to v1/nodes only"])
        },
        Row {
            kind: "late.example.com/v1/widgets",
            planted: Planted::Described("late.example.com/v1/widgets", json!({})),
            ..refused(
                "widgets",
                json!({}),
                "informer",
                &["late.example.com/v1/widgets is waiting: "],
            )
        },
        refused("acting", json!({}), "serviceAccount", &["the service account "]),
    ]
}

/// Plugins that are called, or that cannot be called now.
fn of_plugins() -> Vec<Row> {
    vec![
        moody("fine", ("mood: fine", ""), "delivered", &["updated ", ": ok"]),
        moody("wrote", ("mood: fine, writes: true", ""), "delivered", &["updated ", ": ok"]),
        moody("keys", ("as: controller, mood: fine", ""), "enqueued", &["updated ", "/web done"]),
        Row {
            kind: "pod",
            ..moody(
                "retrying",
                ("mood: fails", "limits: {attempts: 80}"),
                "waits",
                &["comes in ", "the mood is bad"],
            )
        },
        moody("lettered", ("mood: gives-up", ""), "given-up", &["dead letter ", "the mood is bad"]),
        moody(
            "tripped",
            ("mood: traps", "limits: {crashesPerEvent: 12, attempts: 80}"),
            "waits",
            &["tripped: "],
        ),
        moody("debounced", ("mood: fine", "debounce: 1m"), "waits", &["debounce: "]),
        moody(
            "held",
            ("mood: fine", ""),
            "waits",
            &["paused until `informant plugin resume held`"],
        ),
        moody("withdrawn", ("mood: fine", ""), "waits", &["v1/configmaps"]),
        Row { says: &["not a WebAssembly file"], ..row("broken", Planted::Garbage, "not-running") },
    ]
}

/// Plugins whose state does not last. They are added after all other rows were answered.
fn of_late_plugins() -> Vec<Row> {
    vec![
        moody(
            "limited",
            ("mood: fine", "rateLimit: {eventsPerSecond: 1, burst: 1}"),
            "waits",
            &["rateLimit: "],
        ),
        moody("slow", ("mood: slow", ""), "waits", &["events come first"]),
    ]
}

impl Row {
    fn plant(&self, bench: &HostBench<'_>) {
        let Self { plugin, planted, .. } = self;
        let file = bench.plugins.join(format!("{plugin}.wasm"));
        match planted {
            Planted::Described(resource, keys) => {
                let mut subscription = keys.clone();
                subscription["resource"] = json!(resource);
                let descriptor = json!({"version": "1", "subscriptions": [subscription]});
                let bytes = described::plugin(descriptor.to_string().as_bytes(), "");
                std::fs::write(file, bytes.expect("it is well formed")).expect("a file");
            }
            Planted::Moody(config, beside) => {
                self.configure(bench, config, beside);
                bench.drop_plugin("moods", plugin);
            }
            Planted::Garbage => std::fs::write(file, "no plugin").expect("a file"),
        }
    }

    fn configure(&self, bench: &HostBench<'_>, config: &str, beside: &str) {
        let kind = if config.starts_with("as: ") { "" } else { "as: handler, " };
        let resource = if self.kind == "pod" { "v1/pods" } else { "v1/configmaps" };
        let of = format!("resource: {resource}, namespace: {}", bench.namespace);
        let text =
            format!("{HEAD}PluginConfiguration\nconfig: {{{kind}{of}, {config}}}\n{beside}\n");
        let file = bench.plugins.join(format!("{}.yaml", self.plugin));
        // The host's own file contains the whole configuration of this plugin.
        if self.plugin != "wrote" {
            std::fs::write(file, text).expect("a file");
        }
    }

    /// The difference from the expected answer.
    fn lie(&self, bench: &HostBench<'_>, host: &Host) -> Option<String> {
        let object = [self.kind, self.name, "-n", &bench.namespace];
        let question = [&["why"], &object[..], &["--plugin", self.plugin, "-o", "json"]].concat();
        let (_, said) = ask(bench, host, &question);
        let why: Value = serde_json::from_str(&said).unwrap_or(Value::Null);
        let plugin = &why["plugins"][0];
        let because = plugin["because"].as_str().unwrap_or_default();
        let subscriptions = plugin["subscriptions"].as_array().into_iter().flatten();
        let mut questions = subscriptions.map(|one| &one["refusals"][0]["question"]);
        let is_so = plugin["answer"] == self.answer
            && self.says.iter().all(|part| because.contains(part))
            && (self.question.is_empty() || questions.any(|it| *it == self.question));
        let Self { plugin, answer, question, says, .. } = self;
        (!is_so).then(|| format!("{plugin} is {answer}, {question}, for {says:?}: {said}"))
    }
}

/// Waits until each row once got its expected answer.
async fn await_answers(bench: &HostBench<'_>, host: &Host, rows: &[Row]) {
    let mut left: Vec<&Row> = rows.iter().collect();
    let mut lies = Vec::new();
    let is_so = async || {
        lies.clear();
        left.retain(|row| {
            let lie = row.lie(bench, host);
            lies.extend(lie.clone());
            lie.is_some()
        });
        left.is_empty().then_some(())
    };
    let answered = poll::until("the true reasons", LINES_DEADLINE, is_so).await;
    assert!(answered.is_ok(), "{}\n{}", lies.join("\n"), host.tail());
}

/// The host's own file, for the grants that the files beside plugins cannot give.
fn own_file(bench: &HostBench<'_>, directory: &tempfile::TempDir) -> String {
    let namespace = &bench.namespace;
    let acting = format!("acting: {{serviceAccount: {namespace}/nobody}}");
    let config = format!(
        "{{as: handler, resource: v1/configmaps, namespace: {namespace}, mood: fine, writes: true}}"
    );
    let writes =
        format!("[{{resources: [v1/configmaps], verbs: [patch], namespaces: [{namespace}]}}]");
    let wrote = format!("wrote: {{config: {config}, writes: {writes}}}");
    let text = format!("{HEAD}HostConfiguration\nplugins: {{{acting}, {wrote}}}\n");
    let file = directory.path().join("informant.yaml");
    std::fs::write(&file, text).expect("a file");
    file.display().to_string()
}

/// On the real API server the account may read nothing, because it has no roles.
fn forbid_acting(bench: &HostBench<'_>) {
    if let TestCluster::Embedded(cluster) = &*bench.cluster {
        let user = format!("system:serviceaccount:{}:nobody", bench.namespace);
        cluster.dev_cluster().faults().forbid(&user, "configmaps", None);
    }
}

async fn create_objects(bench: &HostBench<'_>) {
    let path = format!("/api/v1/namespaces/{}/configmaps", bench.namespace);
    for number in 0..OTHERS {
        let other = config_map(&format!("other-{number:02}"), &[]);
        bench.api.create(&path, &other).await.expect(201);
    }
    bench.api.create(&path, &config_map("mood", &[])).await.expect(201);
    let mut object = config_map(OBJECT, &[("size", "3")]);
    object["metadata"]["labels"] = json!({"app": "db"});
    bench.api.create(&path, &object).await.expect(201);
    bench.api.create(&bench.pods(), &labelled_pod(OBJECT, &[])).await.expect(201);
}

async fn await_runs(host: &Host, rows: &[Row]) {
    let is_garbage = |row: &&Row| matches!(row.planted, Planted::Garbage);
    for row in rows.iter().filter(|row| !is_garbage(row)) {
        let runs = |plugin: &Value| {
            ["running", "tripped", "backing-off"].iter().any(|state| plugin["state"] == *state)
        };
        host.await_plugin(row.plugin, "it to run", runs).await.unwrap();
    }
}

#[test]
fn the_reason_is_the_true_one_in_each_of_these_cases() {
    host_fact(async |bench| {
        let directory = tempfile::tempdir().expect("a directory");
        let own = own_file(&bench, &directory);
        forbid_acting(&bench);
        create_objects(&bench).await;
        let rows: Vec<Row> =
            of_views().into_iter().chain(of_subscriptions()).chain(of_plugins()).collect();
        rows.iter().for_each(|row| row.plant(&bench));
        let host = bench.start(&["--config", &own]).await;
        await_runs(&host, &rows).await;
        let delivered = |plugin: &Value| {
            plugin["counters"]["ok"].as_u64() > Some(OTHERS as u64) && plugin["queue"]["depth"] == 0
        };
        for name in ["unchanged", "withdrawn", "fine", "held"] {
            host.await_plugin(name, "the objects that are there", delivered).await.unwrap();
        }
        check_said(&bench, &host, &["plugin", "pause", "held"], "paused");
        let withdrawn = rows.iter().find(|row| row.plugin == "withdrawn").expect("it is there");
        withdrawn.configure(&bench, "mood: fine", "reads: [{resources: [v1/nodes]}]");
        let is_restricted = |plugin: &Value| plugin["restricted"].is_string();
        host.await_plugin("withdrawn", "to be restricted", is_restricted).await.unwrap();
        let path = format!("/api/v1/namespaces/{}/configmaps/{OBJECT}", bench.namespace);
        let change = json!({"metadata": {"annotations": {"changed": "yes"}}});
        bench.api.patch(&path, Patch::Merge, &change).await.expect(200);
        await_answers(&bench, &host, &rows).await;

        let late = of_late_plugins();
        late.iter().for_each(|row| row.plant(&bench));
        await_answers(&bench, &host, &late).await;
        check_texts(&bench, &host);
        bench.api.delete(&path).await.expect(200);
        let end = Row { says: &["deleted ", ": ok"], ..moody("fine", ("", ""), "delivered", &[]) };
        await_answers(&bench, &host, &[end]).await;
    });
}

/// Checks the text for people, and the errors for misspelt words.
#[track_caller]
fn check_texts(bench: &HostBench<'_>, host: &Host) {
    let object = format!("{}/{OBJECT}", bench.namespace);
    let (_, said) = ask(bench, host, &["why", "cm", &object]);
    let line = |name: &str| {
        let mut lines = said.lines();
        lines.find(|line| line.split(' ').next() == Some(name)).unwrap_or_default().to_owned()
    };
    assert!(said.starts_with(&format!("v1/configmaps {object} is in the cache: ")), "{said}");
    assert!(line("labelled").contains("refused"), "{said}");
    let (_, of_one) = ask(bench, host, &["why", "cm", &object, "--plugin", "wrote"]);
    let wrote = format!("patch v1/configmaps {}/mood: ok", bench.namespace);
    assert!(of_one.contains(&wrote), "{of_one}");
    let refused = |arguments: &[&str], expect: &str| {
        let (success, said) = ask(bench, host, arguments);
        assert!(!success && said.contains(expect), "{arguments:?} said: {said}");
    };
    refused(&["why", "configmps", &object], "did you mean configmaps?");
    refused(&["why", "cm", &object, "--plugin", "labeled"], "did you mean labelled?");
    let (_, of_default) = ask(bench, host, &["why", "cm", OBJECT]);
    assert!(of_default.contains(&format!("v1/configmaps default/{OBJECT}")), "{of_default}");
    let in_one = format!("cm/{OBJECT}");
    let (_, of_one) = ask(bench, host, &["why", &in_one, "-n", bench.namespace.as_str()]);
    assert!(of_one.starts_with(&format!("v1/configmaps {object} is in the cache: ")), "{of_one}");
    refused(&["why", "apps/v1/deployments"], "write KIND NAME or KIND/NAME");
    refused(&["why", "node", &object], "have no namespace: leave out the namespace");
    refused(
        &["why", "cm", &format!("{}/", bench.namespace)],
        "name is empty: write NAMESPACE/NAME",
    );
}

/// A host that does not lead calls no plugin.
#[test]
fn a_host_on_standby_says_so() {
    host_fact(async |bench| {
        create_objects(&bench).await;
        let all = refused("all", json!({}), "", &[]);
        all.plant(&bench);
        let elect = ["--leader-elect", "--leader-elect-resource-namespace", &bench.namespace];
        let first = bench.start(&elect).await;
        await_runs(&first, std::slice::from_ref(&all)).await;
        let second = bench.start(&elect).await;
        let rows = |answer, says| {
            [Row { answer, question: "", says, ..refused("all", json!({}), "", &[]) }]
        };
        await_answers(&bench, &first, &rows("delivered", &[": ok"])).await;
        await_answers(&bench, &second, &rows("not-running", &["on standby"])).await;
    });
}

/// The HTTP API refuses the question, and no answer contains a value of a Secret.
#[test]
fn values_of_secrets_are_in_no_answer() {
    const VALUE: &str = "eHl6enkh";
    host_fact(async |bench| {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "labels": {"app": VALUE}},
            "data": {"key": VALUE},
        });
        let path = format!("/api/v1/namespaces/{}/secrets", bench.namespace);
        bench.api.create(&path, &secret).await.expect(201);
        let directory = tempfile::tempdir().expect("a directory");
        let own = directory.path().join("informant.yaml");
        let grant = "reads: [{resources: [v1/secrets]}]";
        let plugins = format!("{{filtering: {{{grant}}}, labelled: {{{grant}}}}}");
        let text = format!("{HEAD}HostConfiguration\nplugins: {plugins}\n");
        std::fs::write(&own, text).expect("a file");
        let of_secrets = |plugin, keys, question| Row {
            kind: "secret",
            name: "key",
            planted: Planted::Described("v1/secrets", keys),
            ..refused(plugin, json!({}), question, &["is a Secret's value and not shown"])
        };
        let filter = json!({"filter": "object.data.key == \"other\""});
        let label = json!({"labelSelector": "app=other"});
        let rows = [
            of_secrets("filtering", filter, "filter"),
            of_secrets("labelled", label, "labelSelector"),
        ];
        rows.iter().for_each(|row| row.plant(&bench));
        let host = bench.start(&["--config", &own.display().to_string()]).await;
        await_answers(&bench, &host, &rows).await;
        let object = format!("{}/key", bench.namespace);
        for output in ["json", "text"] {
            let (_, said) = ask(&bench, &host, &["why", "secret", &object, "-o", output]);
            assert!(said.contains("not shown") && !said.contains(VALUE), "{said}");
        }
        let query = format!("/why?kind=secrets&namespace={}&name=key", bench.namespace);
        let answer = host.get(&query).unwrap();
        assert_eq!(answer.status, 403, "{}", answer.body);
        let query = format!("/why?kind=pods&namespace={}&name=key", bench.namespace);
        let answer = host.get(&query).unwrap();
        assert_eq!((answer.status, &answer.json()["cache"]["state"]), (200, &json!("not-cached")));
    });
}
