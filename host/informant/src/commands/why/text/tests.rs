use super::text;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

/// The text of an answer about this object and these plugins.
#[track_caller]
fn check(cache: &Value, plugins: &Value, in_full: bool, expect: &Expect) {
    let why = json!({
        "resource": "v1/pods", "namespace": "shop", "name": "web-1", "at": "2026-11-25T14:03:30.000Z",
        "cache": cache, "plugins": plugins,
    });
    let why = serde_json::from_value(why).expect("an answer");
    expect.assert_eq(&text(&why, in_full));
}

fn present() -> Value {
    json!({"state": "present", "resourceVersion": "1204", "uid": "u", "informer": "synced"})
}

fn delivery(at: &str, change: &str, version: &str, end: &str) -> Value {
    json!({
        "at": at, "subscription": "pods", "change": change, "reason": "watch", "gone": null,
        "resourceVersion": version, "attempt": 1, "end": end, "error": null,
        "waitedSeconds": 0.0012, "seconds": 0.00035, "wrote": null,
    })
}

fn plugin(name: &str, answer: &str, because: &str) -> Value {
    json!({
        "name": name, "state": "running", "answer": answer, "because": because,
        "subscriptions": [], "waiting": [], "waitingMore": 0, "deliveries": [], "historySince": null, "deadLetters": [], "keys": [],
    })
}

#[test]
fn each_plugin_has_one_line_and_the_deliveries_of_all_follow_in_order() {
    let mut printer = plugin("event-printer", "delivered", "updated 1204 at 14:03:05.500Z: ok");
    printer["deliveries"] = json!([
        delivery("2026-11-24T23:59:59.100Z", "added", "1190", "ok"),
        delivery("2026-11-25T14:03:05.500Z", "updated", "1204", "ok"),
    ]);
    let scaler = plugin("scaler", "refused", "web: labelSelector app=web: label app is db");
    let mut alerter =
        plugin("alerter", "waits", "updated 1204: attempt 3 comes in 12.0 s: no answer");
    alerter["waiting"] = json!([{
        "subscription": "pods", "change": "updated", "resourceVersion": "1204", "attempt": 3,
        "since": "2026-11-25T14:03:05.100Z", "why": "retry",
        "text": "attempt 3 comes in 12.0 s: no answer",
    }]);
    alerter["waitingMore"] = json!(5_950);
    let mut failed = delivery("2026-11-25T14:03:05.400Z", "updated", "1204", "failed");
    failed["error"] = json!("no answer");
    failed["attempt"] = json!(2);
    failed["wrote"] = json!("patch v1/pods shop/web-1: 409 Conflict");
    failed["seconds"] = json!(1.25);
    alerter["deliveries"] = json!([failed]);
    let plugins = json!([alerter, printer, scaler]);
    check(
        &present(),
        &plugins,
        false,
        &expect![[r#"
        v1/pods shop/web-1 is in the cache: resourceVersion 1204

        PLUGIN         ANSWER     BECAUSE
        alerter        waits      updated 1204: attempt 3 comes in 12.0 s: no answer
        event-printer  delivered  updated 1204 at 14:03:05.500Z: ok
        scaler         refused    web: labelSelector app=web: label app is db

        WAITS SINCE    PLUGIN   EVENT          WHY
        14:03:05.100Z  alerter  updated 1204   attempt 3 comes in 12.0 s: no answer
        -              alerter  and 5950 more  -

        AT                        PLUGIN         EVENT                            END     WAITED   TOOK     DETAIL
        2026-11-24T23:59:59.100Z  event-printer  added 1190 (watch)               ok      1.20 ms  0.35 ms  -
        14:03:05.400Z             alerter        updated 1204 (watch, attempt 2)  failed  1.20 ms  1.2 s    no answer; patch v1/pods shop/web-1: 409 Conflict
        14:03:05.500Z             event-printer  updated 1204 (watch)             ok      1.20 ms  0.35 ms  -"#]],
    );
}

#[test]
fn one_plugin_is_shown_with_every_question_that_was_answered_with_no() {
    let mut scaler = plugin("scaler", "refused", "web: the cache has no v1/pods shop/web-1");
    scaler["subscriptions"] = json!([
        {"name": "web", "refusals": [
            {"question": "serviceAccount", "text": "list is denied"},
            {"question": "cache", "text": "the cache has no v1/pods shop/web-1"},
        ]},
        {"name": "all", "refusals": []},
    ]);
    let absent = json!({
        "state": "absent", "informer": "stale", "message": "connection refused", "nearest": "web-2",
    });
    check(
        &absent,
        &json!([scaler]),
        true,
        &expect![[r#"
        v1/pods shop/web-1 is not in the cache; did you mean web-2?; the informer is stale: connection refused

        PLUGIN  ANSWER   BECAUSE
        scaler  refused  web: the cache has no v1/pods shop/web-1

        SUBSCRIPTION  QUESTION        ANSWER
        web           serviceAccount  no: list is denied
        web           cache           no: the cache has no v1/pods shop/web-1
        all           all             yes"#]],
    );
}

#[test]
fn an_object_that_nothing_watches_is_said_to_be() {
    check(
        &json!({"state": "not-cached"}),
        &json!([]),
        false,
        &expect![[r#"
        v1/pods shop/web-1 is of a resource that nothing here watches

        no plugins: the host's directories have no plugin file yet"#]],
    );
}
