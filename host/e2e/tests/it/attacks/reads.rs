//! Reads beyond a plugin's permissions, in every function of `indexer`. Another plugin has all of these objects
//! cached.

use super::attacker::{Try, answered, check, harmless, refused};
use crate::bench::labelled_pod;
use crate::host::bench::{HostBench, host_fact};
use serde_json::{Value, json};

const OUTSIDE: &str = "outside the plugin's subscriptions and reads";

/// One pod that the attacker sees, one that its selector excludes, and one in a namespace that it may not read.
async fn prepare(bench: &HostBench<'_>) -> String {
    let elsewhere = format!("{}-elsewhere", bench.namespace);
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": elsewhere}});
    bench.api.create("/api/v1/namespaces", &namespace).await.expect(201);
    let far = format!("/api/v1/namespaces/{elsewhere}/pods");
    let pods = [
        (bench.pods(), "own", "mine"),
        (bench.pods(), "xyzzy-theirs", "theirs"),
        (far, "xyzzy-far", "mine"),
    ];
    for (collection, name, app) in pods {
        bench.api.create(&collection, &labelled_pod(name, &[("app", app)])).await.expect(201);
    }
    // The other plugin sees all pods, and indexes them.
    bench.drop_plugin("attacker", "other");
    elsewhere
}

fn call(call: &str, namespace: &str, of: &str, text: &str) -> Value {
    json!({"call": call, "resource": "v1/pods", "namespace": namespace, "of": of, "text": text})
}

fn everywhere(call: &str, of: &str, text: &str) -> Value {
    json!({"call": call, "resource": "v1/pods", "of": of, "text": text})
}

fn with_cursor(mut call: Value, cursor: &str) -> Value {
    call["cursor"] = cursor.into();
    call
}

#[test]
fn nothing_is_read_beyond_what_is_granted() {
    host_fact(async |bench| {
        let far = prepare(&bench).await;
        let own = bench.namespace.clone();
        let name = "/metadata/name";
        let tries = [
            harmless("an object without its labels", call("get", &own, "xyzzy-theirs", "")),
            refused("an object of another namespace", call("get", &far, "xyzzy-far", ""), OUTSIDE),
            harmless("a value without its labels", call("fields", &own, "xyzzy-theirs", name)),
            refused(
                "a value of another namespace",
                call("fields", &far, "xyzzy-far", name),
                OUTSIDE,
            ),
            harmless(
                "a name that is a path",
                call("get", &own, &format!("../{far}/xyzzy-far"), ""),
            ),
            refused(
                "a namespace that is a path",
                call("get", &format!("{own}/../{far}"), "xyzzy-far", ""),
                OUTSIDE,
            ),
            harmless("an empty key", call("get", "", "", "")),
            refused("all of another namespace", call("list", &far, "", ""), OUTSIDE),
            harmless("all namespaces", everywhere("list", "", "")),
            harmless("whatever has not its labels", everywhere("list", "", "app!=mine")),
            harmless("whatever has another's labels", call("list", &own, "", "app in (theirs)")),
            refused(
                "a selector that is none",
                call("list", &own, "", "app in ("),
                "label selector",
            ),
            refused("the size of another namespace", call("count", &far, "", ""), OUTSIDE),
            answered("the size of everything is that of its own", everywhere("count", "", ""), "2"),
            answered("who has a name, by index", everywhere("by-index", "own", "xyzzy-theirs"), ""),
            answered(
                "which key has a name, by index",
                everywhere("index-keys", "own", "xyzzy-theirs"),
                "[]",
            ),
            harmless("all values of an index", everywhere("index-values", "own", "")),
            refused(
                "another plugin's index",
                everywhere("by-index", "others", "xyzzy-far"),
                "not among the descriptor's indexes",
            ),
            refused(
                "another plugin's index, its keys",
                everywhere("index-keys", "others", "xyzzy-far"),
                "not among the descriptor's indexes",
            ),
            refused(
                "another plugin's index, its values",
                everywhere("index-values", "others", ""),
                "not among the descriptor's indexes",
            ),
            refused(
                "an index by its pointer",
                everywhere("by-index", name, "xyzzy-far"),
                "not among the descriptor's indexes",
            ),
            refused(
                "an index that the host keeps for itself",
                everywhere("index-values", &format!("v1/pods {name}"), ""),
                "not among the descriptor's indexes",
            ),
        ];
        let settings = json!({"config": {"labels": "app=mine", "namespaces": [own], "indexes": [["own", name]]}});
        let others = json!({"other": {"config": {"indexes": [["others", name]]}}});
        check(&bench, settings, others, &tries).await;
    });
}

#[test]
fn a_forged_cursor_leads_to_nothing_else() {
    host_fact(async |bench| {
        let far = prepare(&bench).await;
        let own = bench.namespace.clone();
        let (all, by_index) = (everywhere("list", "", ""), everywhere("by-index", "own", "own"));
        let (keys, values) =
            (everywhere("index-keys", "own", "own"), everywhere("index-values", "own", ""));
        let at_far = format!("{far}/");
        let before = format!("{own}/xyzzy");
        let tries: Vec<Try> = vec![
            harmless("a cursor into another namespace", with_cursor(all.clone(), &at_far)),
            harmless("a cursor before a hidden object", with_cursor(all.clone(), &before)),
            harmless("an empty cursor", with_cursor(all.clone(), "")),
            harmless("a cursor of NUL", with_cursor(all.clone(), "\0")),
            harmless("a cursor that is a path", with_cursor(all.clone(), "default/../../secrets")),
            harmless(
                "a cursor that is JSON",
                with_cursor(all.clone(), r#"{"namespace":"kube-system"}"#),
            ),
            harmless("a cursor in base64", with_cursor(all, "eHl6enktZmFy")),
            harmless(
                "an index's cursor into another namespace",
                with_cursor(by_index.clone(), &at_far),
            ),
            harmless("an index's cursor of NUL", with_cursor(by_index, "\0")),
            harmless("a cursor of keys into another namespace", with_cursor(keys, &at_far)),
            harmless("a cursor of values before a hidden one", with_cursor(values.clone(), "xyzz")),
            harmless("a cursor of values at a hidden one", with_cursor(values, "xyzzy-far")),
        ];
        let pointer = "/metadata/name";
        let settings = json!({"config": {"labels": "app=mine", "namespaces": [own], "indexes": [["own", pointer]]}});
        let others = json!({"other": {"config": {"indexes": [["others", pointer]]}}});
        check(&bench, settings, others, &tries).await;
    });
}
