//! Real guests without a host: what they did with the objects and events that they were given, the same each time.

mod always_failing;
mod cluster_away;
mod hindered;

use crate::{compiler, guest};
use expect_test::{Expect, expect};
use informant_runtime::configuration::{Ceiling, Configurations, Document, Keys, Layer, read};
use informant_runtime::{
    KindedObject, OfflineError, OfflineOptions, OfflinePlugin, PatchOf, Script, WriteError,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

/// What one run is given.
#[derive(Clone, Copy, Default)]
struct Given<'a> {
    /// Names of pods that are there.
    pods: &'a [&'a str],
    events: &'a str,
    /// What stands beside the plugin.
    sidecar: Option<&'a str>,
}

fn pod(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "a", "labels": {} } })
}

/// One line of an events file.
fn event(change: &str, name: &str) -> String {
    format!("{}\n", json!({ "resource": "v1/pods", "change": change, "object": pod(name) }))
}

/// A host that lets files beside plugins grant writes and requests.
fn configurations() -> Configurations {
    let text = "apiVersion: informant.dev/v1alpha1\nkind: HostConfiguration\nceiling: {writes: [{resources: [v1/pods, v1/configmaps, events.k8s.io/v1/events], verbs: [create, update, patch, delete]}], http: [{origins: [\"https://a.org\"], methods: [GET, POST]}]}";
    let document = Document::read("host.yaml", text.as_bytes()).expect("it is YAML");
    let declare = |keys: &mut Keys<'_>| {
        keys.constant("apiVersion", "informant.dev/v1alpha1", "The version.");
        keys.constant("kind", "HostConfiguration", "What it is.");
        keys.object("ceiling", "The bounds.", Ceiling::declare)
    };
    let ceiling = read(&document, declare).expect("it is one").unwrap_or_default();
    Configurations::new(Layer::default(), BTreeMap::new(), ceiling).expect("it can be")
}

/// Merge patches of labels alone, which is what the test's guest makes of all of them.
fn patch(of: PatchOf<'_>) -> Result<Value, WriteError> {
    let mut object = of.object;
    let patch: Value = serde_json::from_slice(of.patch).unwrap_or_default();
    for (name, value) in patch["metadata"]["labels"].as_object().into_iter().flatten() {
        object["metadata"]["labels"][name] = value.clone();
    }
    Ok(object)
}

async fn run(name: &str, given: Given<'_>) -> Result<String, OfflineError> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join(format!("{name}.wasm"));
    fs::copy(guest(name), &file).expect("it is there");
    if let Some(sidecar) = given.sidecar {
        let text =
            format!("apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\n{sidecar}");
        fs::write(directory.path().join(format!("{name}.yaml")), text).expect("a file");
    }
    let mut script = Script::parse(given.events.as_bytes()).expect("the events can be read");
    script.objects = given
        .pods
        .iter()
        .map(|name| KindedObject {
            source: format!("cluster/{name}.yaml"),
            resource: "v1/pods".parse().expect("a resource"),
            json: pod(name).to_string().into_bytes(),
        })
        .collect();
    let (compiler, configurations) = (compiler(), configurations());
    let options = OfflineOptions { compiler, configurations, patch };
    let plugin = OfflinePlugin::load(&file, None, options).await?;
    let first = plugin.run(script.clone()).await?;
    let second = plugin.run(script).await?;
    assert_eq!(first.to_text(), second.to_text(), "each run is the same");
    assert_eq!(first.to_json_lines(), second.to_json_lines());
    let cut = first.cut().map(|why| format!("cut: {why}\n"));
    Ok(first.to_text() + &cut.unwrap_or_default())
}

/// The line without the place at which a guest panicked.
fn without_place(line: &str) -> String {
    let panicked = line.split_once("panicked at ").and_then(|(before, said)| {
        let (_, words) = said.split_once(": ")?;
        Some(format!("{before}panicked at …: {words}\n"))
    });
    panicked.unwrap_or_else(|| format!("{line}\n"))
}

#[track_caller]
fn check(name: &str, given: Given<'_>, expect: &Expect) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let shown = runtime.block_on(run(name, given)).unwrap_or_else(|error| format!("{error}\n"));
    // Where a guest panicked is of no interest here.
    let is_place = |line: &&str| line.contains(" log level=error ");
    let shown = shown.lines().filter(|line| !is_place(line)).map(without_place);
    expect.assert_eq(&shown.collect::<String>());
}

#[test]
fn a_plugin_is_told_what_is_there_and_what_happens() {
    let events = event("added", "b") + &event("updated", "b") + &event("deleted", "a");
    let given = Given { pods: &["a"], events: &events, ..Given::default() };
    check(
        "witness",
        given,
        &expect![[r#"
        0.000 plugin name=witness version=0.1.0
        0.000 call start
        0.000   answer -> ok
        0.000 call handle subscription=v1/pods change=added reason=initial key=a/a seq=1 attempt=1
        0.000   log level=info message="told 1"
        0.000   answer -> ok
        0.000 call synced subscription=v1/pods
        0.000   log level=info message=synced
        0.000   answer -> ok
        0.000 event resource=v1/pods change=added key=a/b
        0.000 call handle subscription=v1/pods change=added reason=watch key=a/b seq=2 attempt=1
        0.000   log level=info message="told 2"
        0.000   answer -> ok
        0.000 event resource=v1/pods change=updated key=a/b
        0.000 call handle subscription=v1/pods change=updated reason=watch key=a/b seq=3 attempt=1
        0.000   log level=info message="told 3"
        0.000   answer -> ok
        0.000 event resource=v1/pods change=deleted key=a/a
        0.000 call handle subscription=v1/pods change=deleted reason=watch gone=deleted key=a/a seq=4 attempt=1
        0.000   log level=info message="told 4"
        0.000   answer -> ok
        0.000 call stop
        0.000   answer -> ok
        0.000 end waitingEvents=0 waitingKeys=0 deadLetters=0
    "#]],
    );
}

#[test]
fn a_failed_event_comes_again_by_the_runs_own_clock() {
    let sidecar = Some("limits: {attempts: 3}");
    let events =
        event("added", "fail-after-x") + "{\"wait\":\"70ms\"}\n" + &event("added", "fail-once");
    check(
        "fail",
        Given { events: &events, sidecar, ..Given::default() },
        &expect![[r#"
        0.000 plugin name=fail version=0.1.0
        0.000 call start
        0.000   answer -> ok
        0.000 event resource=v1/pods change=added key=a/fail-after-x
        0.000 call handle subscription=v1/pods change=added reason=watch key=a/fail-after-x seq=1 attempt=1
        0.000   answer -> error {"failed":"the plugin answered: asked to fail by a/fail-after-x","againAfterMs":50}
        0.050 call handle subscription=v1/pods change=added reason=watch key=a/fail-after-x seq=1 attempt=2
        0.050   answer -> error {"failed":"the plugin answered: asked to fail by a/fail-after-x","againAfterMs":50}
        0.070 event resource=v1/pods change=added key=a/fail-once
        0.070 call handle subscription=v1/pods change=added reason=watch key=a/fail-once seq=2 attempt=1
        0.070   answer -> error {"failed":"the plugin answered: asked to fail by a/fail-once"}
        0.075 call handle subscription=v1/pods change=added reason=watch key=a/fail-once seq=2 attempt=2
        0.075   log level=info message="added a/fail-once"
        0.075   answer -> ok
        0.100 call handle subscription=v1/pods change=added reason=watch key=a/fail-after-x seq=1 attempt=3
        0.100   answer -> error {"failed":"the plugin answered: asked to fail by a/fail-after-x","againAfterMs":50}
        0.100 gave up
        0.100 call stop
        0.100   answer -> ok
        0.100 end waitingEvents=0 waitingKeys=0 deadLetters=1
    "#]],
    );
}

#[test]
fn what_is_never_to_be_tried_again_is_given_up() {
    let events = event("added", "fail-never");
    check(
        "fail",
        Given { events: &events, ..Given::default() },
        &expect![[r#"
        0.000 plugin name=fail version=0.1.0
        0.000 call start
        0.000   answer -> ok
        0.000 event resource=v1/pods change=added key=a/fail-never
        0.000 call handle subscription=v1/pods change=added reason=watch key=a/fail-never seq=1 attempt=1
        0.000   answer -> error {"failed":"the plugin answered: asked to fail by a/fail-never","again":"never"}
        0.000 gave up
        0.000 call stop
        0.000   answer -> ok
        0.000 end waitingEvents=0 waitingKeys=0 deadLetters=1
    "#]],
    );
}

/// Checks when the first attempts are made of a plugin that may log one line a second.
#[track_caller]
fn check_first_attempts(name: &str, given: Given<'_>, expect: &[&str]) {
    let given = Given { sidecar: Some("limits: {logLines: 1, attempts: 2}"), ..given };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let shown = runtime.expect("a runtime").block_on(run(name, given)).expect("it runs");
    let first = shown.lines().filter(|line| line.ends_with(" attempt=1"));
    let at: Vec<&str> = first.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(at, expect, "{shown}");
}

/// As for the plugin's own lines: the third line is over the limit, and the event behind it waits.
#[test]
fn a_plugin_waits_for_the_lines_of_the_host_about_its_events() {
    let events = ["never-a", "never-b", "after-c", "never-d"].map(|it| format!("fail-{it}"));
    let events: String = events.iter().map(|name| event("added", name)).collect();
    let given = Given { events: &events, ..Given::default() };
    check_first_attempts("fail", given, &["0.000", "0.000", "1.000", "3.000"]);
}

#[test]
fn a_plugin_waits_for_the_lines_of_the_host_about_its_keys() {
    let pods = ["fail-keys-a", "fail-keys-b", "fail-keys-c", "fail-keys-d"];
    let given = Given { pods: &pods, ..Given::default() };
    check_first_attempts("trap-keys", given, &["0.000", "0.000", "1.000", "2.000"]);
}

#[test]
fn keys_are_worked_on_and_given_up_as_in_a_host() {
    check(
        "trap-keys",
        Given { pods: &["a", "trap-keys"], ..Given::default() },
        &expect![[r#"
            0.000 plugin name=trap-keys version=0.1.0
            0.000 call start
            0.000   answer -> ok
            0.000 enqueue subscription=v1/pods change=added key=a/a keys=["a/a"]
            0.000 enqueue subscription=v1/pods change=added key=a/trap-keys keys=["a/trap-keys"]
            0.000 call reconcile key=a/a attempt=1
            0.000   log level=info message="worked on a/a"
            0.000   answer -> ok
            0.000 call reconcile key=a/trap-keys attempt=1
            0.000   answer -> error {"failed":"trap: panicked at …: asked to trap by a/trap-keys (wasm `unreachable` instruction executed), in informant:plugin/reconciler@0.1.0#reconcile","instance":"ended"}
            0.000 call start
            0.000   answer -> ok
            1.000 call reconcile key=a/trap-keys attempt=2
            1.000   answer -> error {"failed":"trap: panicked at …: asked to trap by a/trap-keys (wasm `unreachable` instruction executed), in informant:plugin/reconciler@0.1.0#reconcile","instance":"ended"}
            1.000 call start
            1.000   answer -> ok
            3.000 call reconcile key=a/trap-keys attempt=3
            3.000   answer -> error {"failed":"trap: panicked at …: asked to trap by a/trap-keys (wasm `unreachable` instruction executed), in informant:plugin/reconciler@0.1.0#reconcile","instance":"ended"}
            3.000 gave up
            3.000 call start
            3.000   answer -> ok
            3.000 call stop
            3.000   answer -> ok
            3.000 end waitingEvents=0 waitingKeys=0 deadLetters=0
        "#]],
    );
}

#[test]
fn writes_are_shown_held_against_grants_and_answered() {
    let sidecar = "writes: [{resources: [v1/pods], verbs: [patch, create]}, {resources: [v1/configmaps], verbs: [create, update, delete], namespaces: [a]}, {resources: [events.k8s.io/v1/events], verbs: [create]}]";
    let answer = r#"{"kube":{"verb":"update"},"answer":{"object":{"metadata":{}}},"times":1}
{"kube":{"verb":"delete"},"answer":{"status":409,"reason":"Conflict","message":"another UID"}}
"#;
    let events = answer.to_owned() + &event("added", "writer");
    let given = Given { events: &events, sidecar: Some(sidecar), ..Given::default() };
    check(
        "writer",
        given,
        &expect![[r#"
        0.000 plugin name=writer version=0.1.0
        0.000 call start
        0.000   answer -> ok
        0.000 event resource=v1/pods change=added key=a/writer
        0.000 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=1
        0.000   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> ok {"apiVersion":"v1","kind":"Pod","metadata":{"name":"writer","namespace":"a","labels":{"merge":"yes"},"uid":"2e595bae-b475-a97a-40de-2edd8f3b0a7d","resourceVersion":"2"}}
        0.000   log level=info message="a/writer has 1 labels"
        0.000   kube.patch resource=v1/pods key=a/writer type=json-patch patch=[{"op":"add","path":"/metadata/labels/json","value":"yes"}] -> ok {"apiVersion":"v1","kind":"Pod","metadata":{"name":"writer","namespace":"a","labels":{},"uid":"2e595bae-b475-a97a-40de-2edd8f3b0a7d","resourceVersion":"3"}}
        0.000   log level=info message="a/writer has 0 labels"
        0.000   kube.patch resource=v1/pods key=a/writer type=strategic patch={"metadata":{"labels":{"strategic":"yes"}}} -> ok {"apiVersion":"v1","kind":"Pod","metadata":{"name":"writer","namespace":"a","labels":{"strategic":"yes"},"uid":"2e595bae-b475-a97a-40de-2edd8f3b0a7d","resourceVersion":"4"}}
        0.000   log level=info message="a/writer has 1 labels"
        0.000   kube.patch resource=v1/pods key=a/writer type=apply patch={"metadata":{"labels":{"apply":"yes"}},"apiVersion":"v1","kind":"Pod"} -> ok {"apiVersion":"v1","kind":"Pod","metadata":{"name":"writer","namespace":"a","labels":{"apply":"yes"},"uid":"2e595bae-b475-a97a-40de-2edd8f3b0a7d","resourceVersion":"5"}}
        0.000   log level=info message="a/writer has 1 labels"
        0.000   kube.create resource=v1/configmaps key=a/writer object={"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"writer","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"writer","uid":"2e595bae-b475-a97a-40de-2edd8f3b0a7d"}]}} -> ok {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"writer","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"writer","uid":"2e595bae-b475-a97a-40de-2edd8f3b0a7d"}],"namespace":"a","resourceVersion":"6","uid":"2f3371f8-f661-995c-b8c8-7834a50d1bad"}}
        0.000   kube.create resource=v1/configmaps key=a/writer object={"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"writer","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"writer","uid":"2e595bae-b475-a97a-40de-2edd8f3b0a7d"}]}} -> ok {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"writer","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"writer","uid":"2e595bae-b475-a97a-40de-2edd8f3b0a7d"}],"namespace":"a","resourceVersion":"7","uid":"2f3371f8-f661-995c-b8c8-7834a50d1bad"}}
        0.000   log level=info message="again: done"
        0.000   kube.update resource=v1/configmaps key=a/writer object={"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"writer","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"writer","uid":"2e595bae-b475-a97a-40de-2edd8f3b0a7d"}],"namespace":"a","resourceVersion":"6","uid":"2f3371f8-f661-995c-b8c8-7834a50d1bad"},"data":{"seen":"yes"}} -> ok {"metadata":{}}
        0.000   kube.update resource=v1/configmaps key=a/writer object={"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"writer","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"writer","uid":"2e595bae-b475-a97a-40de-2edd8f3b0a7d"}],"namespace":"a","resourceVersion":"6","uid":"2f3371f8-f661-995c-b8c8-7834a50d1bad"},"data":{"seen":"no"}} -> error {"status":{"code":404,"reason":"NotFound","message":"v1/configmaps a/writer not found","retryAfterMs":null}}
        0.000   log level=info message="late: 404 NotFound"
        0.000   kube.delete resource=v1/configmaps key=a/writer uid=00000000-0000-0000-0000-000000000000 -> error {"status":{"code":409,"reason":"Conflict","message":"another UID","retryAfterMs":null}}
        0.000   log level=info message="other: 409 Conflict"
        0.000   kube.delete resource=v1/secrets key=a/secret -> error {"not-granted":"to delete v1/secrets in a is not granted; to grant it, write in the host's own configuration (--config): plugins: {writer: {writes: [{resources: [v1/secrets], verbs: [delete], namespaces: [a], names: [secret]}]}}, beside the rules that are there"}
        0.000   log level=info message="secret: not granted: to delete v1/secrets in a is not granted; to grant it, write in the host's own configuration (--config): plugins: {writer: {writes: [{resources: [v1/secrets], verbs: [delete], namespaces: [a], names: [secret]}]}}, beside the rules that are there"
        0.000   kube.delete resource=v1/configmaps key=kube-system/web -> error {"not-granted":"to delete v1/configmaps in kube-system is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/configmaps], verbs: [delete], namespaces: [kube-system], names: [web]}], beside the rules that are there"}
        0.000   log level=info message="elsewhere: not granted: to delete v1/configmaps in kube-system is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/configmaps], verbs: [delete], namespaces: [kube-system], names: [web]}], beside the rules that are there"
        0.000   kube.delete resource=v1/configmaps key=../../nodes/web -> error {"invalid":"\"../../nodes\" cannot be the name of a namespace"}
        0.000   log level=info message="trick: nothing that could be sent: \"../../nodes\" cannot be the name of a namespace"
        0.000   kube.record-event resource=v1/pods key=a/writer warning=false reason=Written message="in every way" -> ok
        0.000   log level=info message="wrote about a/writer"
        0.000   answer -> ok
        0.000 call stop
        0.000   answer -> ok
        0.000 end waitingEvents=0 waitingKeys=0 deadLetters=0
    "#]],
    );
}

#[test]
fn a_plugin_without_grants_writes_nothing() {
    let (events, sidecar) = (event("added", "writer"), Some("limits: {attempts: 1}"));
    check(
        "writer",
        Given { events: &events, sidecar, ..Given::default() },
        &expect![[r#"
            0.000 plugin name=writer version=0.1.0
            0.000 call start
            0.000   answer -> ok
            0.000 event resource=v1/pods change=added key=a/writer
            0.000 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=1
            0.000   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.000   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.005 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=2
            0.005   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.005   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.015 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=3
            0.015   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.015   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.035 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=4
            0.035   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.035   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.075 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=5
            0.075   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.075   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.155 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=6
            0.155   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.155   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.315 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=7
            0.315   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.315   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.635 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=8
            0.635   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            0.635   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            1.275 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=9
            1.275   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            1.275   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            2.555 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=10
            2.555   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            2.555   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            5.115 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=11
            5.115   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            5.115   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            10.235 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=12
            10.235   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            10.235   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            20.475 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=13
            20.475   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            20.475   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            40.955 call handle subscription=v1/pods change=added reason=watch key=a/writer seq=1 attempt=14
            40.955   kube.patch resource=v1/pods key=a/writer type=merge patch={"metadata":{"labels":{"merge":"yes"}}} -> error {"not-granted":"to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            40.955   answer -> error {"failed":"the plugin answered: not granted: to patch v1/pods in a is not granted; to grant it, write in writer.yaml: writes: [{resources: [v1/pods], verbs: [patch], namespaces: [a], names: [writer]}]"}
            40.955 call stop
            40.955   answer -> ok
            40.955 end waitingEvents=1 waitingKeys=0 deadLetters=0
        "#]],
    );
}

#[test]
fn requests_are_answered_from_the_file_or_refused() {
    let sidecar = r#"http: [{origins: ["https://a.org"], methods: [GET, POST]}]
config: {asks: [{what: one, url: "https://a.org/x"}, {what: two, url: "https://a.org/y"}, {what: three, url: "https://b.org/"}]}"#;
    let answer = r#"{"http":{"method":"GET","url":"https://a.org/x"},"answer":{"status":200,"headers":{"Content-Type":"text/plain"},"body":"hello"}}
"#;
    let events = answer.to_owned() + &event("added", "asks-outside");
    let given = Given { events: &events, sidecar: Some(sidecar), ..Given::default() };
    check(
        "asks-outside",
        given,
        &expect![[r#"
        0.000 plugin name=asks-outside version=0.1.0
        0.000 call start
        0.000   answer -> ok
        0.000 event resource=v1/pods change=added key=a/asks-outside
        0.000 call handle subscription=v1/pods change=added reason=watch key=a/asks-outside seq=1 attempt=1
        0.000   http.send method=GET url=https://a.org/x timeoutMs=0 -> ok {"status":200,"headers":[["content-type","text/plain"]],"body":"hello"}
        0.000   log level=info message="one: 200 hello"
        0.000   http.send method=GET url=https://a.org/y timeoutMs=0 -> error {"transport":"nothing was sent: the events file has no answer to GET https://a.org/y"}
        0.000   log level=info message="two: no answer: nothing was sent: the events file has no answer to GET https://a.org/y"
        0.000   http.send method=GET url=https://b.org/ timeoutMs=0 -> error {"not-granted":"to GET https://b.org is not granted; to grant it, write in the host's own configuration (--config): plugins: {asks-outside: {http: [{origins: [\"https://b.org\"], methods: [GET]}]}}, before the rules that are there"}
        0.000   log level=info message="three: not granted: to GET https://b.org is not granted; to grant it, write in the host's own configuration (--config): plugins: {asks-outside: {http: [{origins: [\"https://b.org\"], methods: [GET]}]}}, before the rules that are there"
        0.000   log level=info message="asked about a/asks-outside"
        0.000   answer -> ok
        0.000 call stop
        0.000   answer -> ok
        0.000 end waitingEvents=0 waitingKeys=0 deadLetters=0
    "#]],
    );
}

#[test]
fn answers_that_the_file_begins_with_are_there_for_the_first_objects() {
    let sidecar = r#"http: [{origins: ["https://a.org"], methods: [GET]}]
config: {asks: [{what: one, url: "https://a.org/x"}]}"#;
    let answer = r#"{"http":{"method":"GET","url":"https://a.org/x"},"answer":{"status":200,"headers":{},"body":"BODY"}}"#;
    let [first, later] = ["first", "later"].map(|body| answer.replace("BODY", body));
    let events =
        format!("{first}\n{{\"wait\":\"1s\"}}\n{later}\n{}", event("added", "asks-outside"));
    let given = Given { pods: &["asks-outside-1"], events: &events, sidecar: Some(sidecar) };
    check(
        "asks-outside",
        given,
        &expect![[r#"
        0.000 plugin name=asks-outside version=0.1.0
        0.000 call start
        0.000   answer -> ok
        0.000 call handle subscription=v1/pods change=added reason=initial key=a/asks-outside-1 seq=1 attempt=1
        0.000   http.send method=GET url=https://a.org/x timeoutMs=0 -> ok {"status":200,"headers":[],"body":"first"}
        0.000   log level=info message="one: 200 first"
        0.000   log level=info message="asked about a/asks-outside-1"
        0.000   answer -> ok
        1.000 event resource=v1/pods change=added key=a/asks-outside
        1.000 call handle subscription=v1/pods change=added reason=watch key=a/asks-outside seq=2 attempt=1
        1.000   http.send method=GET url=https://a.org/x timeoutMs=0 -> ok {"status":200,"headers":[],"body":"later"}
        1.000   log level=info message="one: 200 later"
        1.000   log level=info message="asked about a/asks-outside"
        1.000   answer -> ok
        1.000 call stop
        1.000   answer -> ok
        1.000 end waitingEvents=0 waitingKeys=0 deadLetters=0
    "#]],
    );
}

#[test]
fn a_guest_that_sleeps_has_the_time_pass_and_no_more_than_it_may() {
    let events = event("added", "asks-system-sleep");
    let sidecar = Some("limits: {attempts: 1}");
    check(
        "asks-system",
        Given { events: &events, sidecar, ..Given::default() },
        &expect![[r#"
            0.000 plugin name=asks-system version=0.1.0
            0.000 call start
            0.000   answer -> ok
            0.000 event resource=v1/pods change=added key=a/asks-system-sleep
            0.000 call handle subscription=v1/pods change=added reason=watch key=a/asks-system-sleep seq=1 attempt=1
            0.000   answer -> error {"failed":"trap: it slept for longer than a call may wait (limits.waitTime; in start, stop and their like the time of the call itself), in informant_plugin::export::handle_event","instance":"ended"}
            0.000 gave up
            0.000 call start
            0.000   answer -> ok
            0.000 call stop
            0.000   answer -> ok
            0.000 end waitingEvents=0 waitingKeys=0 deadLetters=1
        "#]],
    );
}

/// The breaker opens meanwhile, and the run's clock has to come to its end.
#[test]
fn a_plugin_whose_instances_end_again_and_again_is_waited_for() {
    let events = [event("added", "trap-1"), event("added", "trap-2")].concat();
    check(
        "trap",
        Given { events: &events, ..Given::default() },
        &expect![[r#"
            0.000 plugin name=trap version=0.1.0
            0.000 call start
            0.000   answer -> ok
            0.000 event resource=v1/pods change=added key=a/trap-1
            0.000 call handle subscription=v1/pods change=added reason=watch key=a/trap-1 seq=1 attempt=1
            0.000   answer -> error {"failed":"trap: panicked at …: asked to trap by a/trap-1 (wasm `unreachable` instruction executed), in trap::Trap::sin::{{closure}} < core::ops::function::FnOnce::call_once < trap::Trap::sin","instance":"ended"}
            0.000 call start
            0.000   answer -> ok
            0.000 event resource=v1/pods change=added key=a/trap-2
            0.000 call handle subscription=v1/pods change=added reason=watch key=a/trap-2 seq=2 attempt=1
            0.000   answer -> error {"failed":"trap: panicked at …: asked to trap by a/trap-2 (wasm `unreachable` instruction executed), in trap::Trap::sin::{{closure}} < core::ops::function::FnOnce::call_once < trap::Trap::sin","instance":"ended"}
            0.000 call start
            0.000   answer -> ok
            1.000 call handle subscription=v1/pods change=added reason=watch key=a/trap-1 seq=1 attempt=2
            1.000   answer -> error {"failed":"trap: panicked at …: asked to trap by a/trap-1 (wasm `unreachable` instruction executed), in trap::Trap::sin::{{closure}} < core::ops::function::FnOnce::call_once < trap::Trap::sin","instance":"ended"}
            1.000 call start
            1.000   answer -> ok
            1.000 call handle subscription=v1/pods change=added reason=watch key=a/trap-2 seq=2 attempt=2
            1.000   answer -> error {"failed":"trap: panicked at …: asked to trap by a/trap-2 (wasm `unreachable` instruction executed), in trap::Trap::sin::{{closure}} < core::ops::function::FnOnce::call_once < trap::Trap::sin","instance":"ended"}
            1.000 call start
            1.000   answer -> ok
            11.000 call handle subscription=v1/pods change=added reason=watch key=a/trap-1 seq=1 attempt=3
            11.000   answer -> error {"failed":"trap: panicked at …: asked to trap by a/trap-1 (wasm `unreachable` instruction executed), in trap::Trap::sin::{{closure}} < core::ops::function::FnOnce::call_once < trap::Trap::sin","instance":"ended"}
            11.000 gave up
            11.002 call start
            11.002   answer -> ok
            31.000 call handle subscription=v1/pods change=added reason=watch key=a/trap-2 seq=2 attempt=3
            31.000   answer -> error {"failed":"trap: panicked at …: asked to trap by a/trap-2 (wasm `unreachable` instruction executed), in trap::Trap::sin::{{closure}} < core::ops::function::FnOnce::call_once < trap::Trap::sin","instance":"ended"}
            31.000 gave up
            31.004 call start
            31.004   answer -> ok
            31.004 call stop
            31.004   answer -> ok
            31.004 end waitingEvents=0 waitingKeys=0 deadLetters=2
        "#]],
    );
}

#[test]
fn what_is_not_as_the_file_says_ends_the_run() {
    check(
        "witness",
        Given { events: &event("updated", "b"), ..Given::default() },
        &expect![[r#"
        0.000 plugin name=witness version=0.1.0
        0.000 call start
        0.000   answer -> ok
        0.000 call synced subscription=v1/pods
        0.000   log level=info message=synced
        0.000   answer -> ok
        cut: events file, line 1: v1/pods a/b is not there: say what it was before in `old`, or among the objects
    "#]],
    );
}

#[test]
fn a_plugin_that_a_host_would_not_run_is_refused() {
    check(
        "start-fails",
        Given::default(),
        &expect![[r#"
        0.000 plugin name=start-fails version=0.1.0
        0.000 call start
        0.000   answer -> error {"failed":"the plugin answered: asked to fail at start"}
        cut: it does not run: start failed: the plugin answered: asked to fail at start
    "#]],
    );
    let sidecar = Some("reads: [{resources: [v1/nodes]}]");
    check(
        "witness",
        Given { sidecar, ..Given::default() },
        &expect![[r#"
        it asks to read v1/pods, which is not granted; to grant all that it asks for, write in witness.yaml: reads: [{resources: [v1/pods]}]
    "#]],
    );
    check(
        "describe-garbage",
        Given::default(),
        &expect![[r#"
        descriptor as a whole: is not JSON: expected value at line 1 column 1
    "#]],
    );
}
