//! The values that are found in each place, and their substitutes.

use super::*;
use serde_json::json;

/// In base64: aHVudGVyLTQy
const PASSWORD: &str = "hunter-42";

fn secret() -> String {
    let last = format!(r#"{{"data":{{"password":"{PASSWORD}"}}}}"#);
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "login", "annotations": { LAST_APPLIED: last, "a": "b" } },
        "data": { "password": "aHVudGVyLTQy", "short": "YWI=" },
        "stringData": { "token": "two\nlines" },
    })
    .to_string()
}

/// The recorded form of a host call, after the plugin has seen a Secret.
#[track_caller]
fn check(function: &str, mut with: Value, mut answer: Value, expect: [Value; 2]) {
    let mut secrets = Secrets::default();
    secrets.object("v1/secrets", &secret()).expect("there is room");
    secrets.call(function, &mut with, &mut answer).expect("there is room");
    assert_eq!([with, answer], expect);
}

#[test]
fn an_event_of_a_secret_has_nothing_of_it() {
    let mut secrets = Secrets::default();
    let hidden = secrets.object("v1/secrets", &secret()).expect("there is room");
    let expect = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "login", "annotations": { LAST_APPLIED: HIDDEN, "a": "b" } },
        "data": { "password": HIDDEN_BASE64, "short": HIDDEN_BASE64 },
        "stringData": { "token": HIDDEN },
    });
    assert_eq!(serde_json::from_str::<Value>(&hidden).expect("it is JSON"), expect);
    let pod = r#"{"kind": "Pod", "data": {"a": "b"}}"#;
    assert_eq!(secrets.object("v1/pods", pod), Ok(pod.to_owned()), "others stay byte for byte");
    assert_eq!(secrets.object("v1/secrets", "[1]"), Ok("[1]".to_owned()));
    assert_eq!(secrets.object("v1/secrets", "{"), Ok(HIDDEN.to_owned()));
}

#[test]
fn what_a_plugin_carries_elsewhere_is_hidden_there() {
    let body = format!("user=a&password={PASSWORD}");
    let with = json!({ "url": "https://a.org", "headers": [["Authorization", "Bearer x"], ["a", "b"]], "body": body });
    let hidden = json!({ "url": "https://a.org", "headers": [["Authorization", HIDDEN], ["a", "b"]], "body": "user=a&password=REDACTED" });
    let answer = json!({ "ok": { "status": 200, "headers": [["set-cookie", "s"]], "body": "aHVudGVyLTQy" } });
    let shown = json!({ "ok": { "status": 200, "headers": [["set-cookie", HIDDEN]], "body": HIDDEN_BASE64 } });
    check("http.send", with, answer, [hidden, shown]);
    let with = json!({ "key": "k", "value": format!(r#"{{"text":"two\nlines"}}"#) });
    let hidden = json!({ "key": "k", "value": r#"{"text":"REDACTED"}"# });
    check("state.set", with, json!({ "ok": null }), [hidden, json!({ "ok": null })]);
    let error = json!({ "error": { "transport": format!("{PASSWORD}?") } });
    let shown = json!({ "error": { "transport": "REDACTED?" } });
    check("http.send", json!({}), error, [json!({}), shown]);
}

#[test]
fn reads_and_writes_of_secrets_show_nothing_of_them() {
    let with = json!({ "resource": "v1/secrets", "key": "a/login" });
    let mut secrets = Secrets::default();
    let (mut asked, mut answer) = (with.clone(), json!({ "ok": secret() }));
    secrets.call("indexer.get", &mut asked, &mut answer).expect("there is room");
    assert!(!answer.to_string().contains("aHVudGVy"), "{answer}");
    let mut later = json!(format!("again: {PASSWORD}"));
    secrets.everywhere(&mut later).expect("there is room");
    assert_eq!(later, "again: REDACTED");
    let with = json!({ "resource": "v1/secrets", "pointers": ["/data/x", "/metadata/name", ""] });
    let answer = json!({ "ok": ["\"c2VjcmV0LXg=\"", "\"login\"", null] });
    let shown = json!({ "ok": [format!("\"{HIDDEN_BASE64}\""), "\"login\"", null] });
    check("indexer.fields", with.clone(), answer, [with, shown]);
    let with = json!({ "resource": "v1/secrets", "object": secret(), "key": "a/b" });
    let hidden = json!({ "resource": "v1/secrets", "object": HIDDEN, "key": "a/b" });
    check("kube.create", with, json!({ "ok": "{}" }), [hidden, json!({ "ok": "{}" })]);
    let with = json!({ "resource": "v1/secrets", "index": "i", "value": "v", "cursor": "v" });
    let hidden =
        json!({ "resource": "v1/secrets", "index": "i", "value": HIDDEN, "cursor": HIDDEN });
    let answer = json!({ "ok": { "keys": ["a/b"], "next": "v" } });
    let shown = json!({ "ok": { "keys": ["a/b"], "next": HIDDEN } });
    check("indexer.index-keys", with, answer, [hidden, shown]);
}

#[test]
fn a_patch_of_a_secret_is_remembered() {
    let mut secrets = Secrets::default();
    let patch = json!([{ "op": "add", "path": "/data/x", "value": "aHVudGVyLTQy" }]).to_string();
    let mut with = json!({ "resource": "v1/secrets", "patch": patch });
    secrets.call("kube.patch", &mut with, &mut json!({ "ok": "{}" })).expect("there is room");
    let mut later = json!([PASSWORD, { "hunter-42": 1 }]);
    secrets.everywhere(&mut later).expect("there is room");
    assert_eq!(later, json!([HIDDEN, { "REDACTED": 1 }]));
}

/// Whether a Secret's value is found in a derived text.
#[track_caller]
fn check_carried(value: &str, carried: Value) {
    let mut secrets = Secrets::default();
    let secret = json!({ "kind": "Secret", "metadata": {}, "stringData": { "a": value } });
    secrets.object("v1/secrets", &secret.to_string()).expect("there is room");
    let mut line = json!({ "body": carried });
    secrets.everywhere(&mut line).expect("there is room");
    let hidden =
        [json!({ "body": "{\"a\":\"REDACTED\"}" }), json!({ "body": { "base64": HIDDEN_BASE64 } })];
    assert!(hidden.contains(&line), "{line}");
}

#[test]
fn what_languages_make_of_a_value_is_found() {
    let value = "p&ss<wörd\"1😀";
    check_carried(value, json!(json!({ "a": value }).to_string()));
    let go = r#"{"a":"p\u0026ss\u003cwörd\"1😀"}"#;
    check_carried(value, json!(go));
    let python = r#"{"a":"p&ss<w\u00f6rd\"1\ud83d\ude00"}"#;
    check_carried(value, json!(python));
    let bytes = [b"\xff\xfe", value.as_bytes()].concat();
    check_carried(value, json!({ "base64": STANDARD.encode(bytes) }));
    let twice = Value::from(json!({ "a": value }).to_string()).to_string();
    let mut secrets = Secrets::default();
    secrets.remember(value, HIDDEN).expect("there is room");
    let mut line = json!(twice);
    secrets.everywhere(&mut line).expect("there is room");
    assert!(!line.to_string().contains("rd"), "{line}");
}

#[test]
fn tokens_are_hidden_and_remembered() {
    let mut secrets = Secrets::default();
    let mut with = json!({ "resource": "v1/serviceaccounts", "key": "a/b", "subresource": "token", "object": "{}" });
    let mut answer = json!({ "ok": json!({ "status": { "token": PASSWORD } }).to_string() });
    secrets.call("kube.create", &mut with, &mut answer).expect("there is room");
    assert_eq!((&with["object"], &answer), (&json!(HIDDEN), &json!({ "ok": HIDDEN })));
    let mut later = json!(PASSWORD);
    secrets.everywhere(&mut later).expect("there is room");
    assert_eq!(later, json!(HIDDEN));
}

#[test]
fn values_of_indexes_and_data_of_any_name_are_remembered() {
    let mut secrets = Secrets::default();
    let mut with = json!({ "resource": "v1/secrets", "index": "i" });
    let mut answer = json!({ "ok": { "values": ["aHVudGVyLTQy"], "next": null } });
    secrets.call("indexer.index-values", &mut with, &mut answer).expect("there is room");
    let mut with = json!({ "resource": "v1/secrets", "pointers": ["/data"] });
    let data = json!({ "metadata": "b3RoZXItb25l", "kind": "dGhpcmQtb25l" }).to_string();
    secrets.call("indexer.fields", &mut with, &mut json!({ "ok": [data] })).expect("room");
    let mut later = json!([PASSWORD, "other-one", "third-one"]);
    secrets.everywhere(&mut later).expect("there is room");
    assert_eq!(later, json!([HIDDEN, HIDDEN, HIDDEN]));
}

#[test]
fn what_is_looked_for_is_bounded() {
    let mut secrets = Secrets::default();
    for number in 0..NEEDLES_MAX {
        secrets.remember(&format!("secret-{number}"), HIDDEN).expect("there is room");
    }
    assert_eq!(secrets.remember("secret-0", HIDDEN), Ok(()), "it is known");
    assert_eq!(secrets.remember("one more", HIDDEN), Err(TooMany));
    let mut secrets = Secrets::default();
    assert_eq!(secrets.remember(&"x".repeat(NEEDLE_BYTES_MAX), HIDDEN), Ok(()));
    assert_eq!(secrets.remember("one more", HIDDEN), Err(TooMany));
    let mut secrets = Secrets::default();
    let (short, longer) = ("x".repeat(NEEDLE_BYTES_MIN - 1), "x".repeat(NEEDLE_BYTES_MIN));
    secrets.remember(&short, HIDDEN).expect("it is not looked for");
    assert!(secrets.needles.is_empty());
    secrets.remember(&longer, HIDDEN).expect("there is room");
    assert_eq!(secrets.needles.len(), 1);
}
