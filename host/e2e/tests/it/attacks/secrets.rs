//! Ways to Secrets that are not granted.

use super::attacker::{ATTACKER, Try, check, configuration, refused};
use crate::host::bench::{CONFIGURATION_HEAD, LINES_DEADLINE, SECRET, SECRET_TEXT, host_fact};
use informant_e2e::host::Host;
use informant_e2e::poll;
use serde_json::{Value, json};

/// No part of a Secret is anywhere: not cached, not shown, not logged.
#[track_caller]
pub(super) fn check_nothing_is_known(host: &Host) {
    for path in ["/metrics", "/plugins", "/problems"] {
        let body = host.get(path).expect("an answer").body;
        assert!(!body.contains(SECRET) && !body.contains(SECRET_TEXT), "{path}: {body}");
    }
    let metrics = host.get("/metrics").expect("an answer").body;
    assert!(!metrics.contains("informant_cache_objects{resource=\"v1/secrets\"}"), "{metrics}");
    for line in host.lines() {
        assert!(!line.text.contains(SECRET) && !line.text.contains(SECRET_TEXT), "{}", line.text);
    }
}

#[test]
fn secrets_are_no_resource_however_they_are_spelled() {
    host_fact(async |bench| {
        bench.create_secret().await;
        let spelled = [
            ("plainly", "v1/secrets"),
            ("with the core group", "core/v1/secrets"),
            ("with an empty group", "/v1/secrets"),
            ("in another version", "v2/secrets"),
            ("in upper case", "v1/Secrets"),
            ("with a version in upper case", "V1/secrets"),
            ("with a slash behind", "v1/secrets/"),
            ("as a subresource", "v1/secrets/status"),
            ("with the object's name", "v1/secrets/password"),
            ("behind what is granted", "v1/pods/../secrets"),
            ("with a query", "v1/pods?/secrets"),
            ("percent-encoded", "v1%2fsecrets"),
            ("with NUL behind", "v1/secrets\0"),
            ("with a blank", "v1/ secrets"),
            ("as a path", "/api/v1/secrets"),
            ("by their kind", "Secret"),
            ("as everything", "*"),
        ];
        let words = "neither subscribed to nor among the descriptor's reads";
        let namespace = bench.namespace.clone();
        let one = |call: &str, resource: &str| json!({"call": call, "resource": resource, "namespace": namespace, "of": "password"});
        let mut tries: Vec<Try> =
            spelled.map(|(name, resource)| refused(name, one("get", resource), words)).into();
        let calls = [
            ("as a list", "list"),
            ("as values alone", "fields"),
            ("as a number of them", "count"),
            ("by whether they are synced", "has-synced"),
            ("by an index", "by-index"),
            ("as keys of an index", "index-keys"),
            ("as values of an index", "index-values"),
        ];
        tries.extend(calls.map(|(name, call)| refused(name, one(call, "v1/secrets"), words)));
        let settings = json!({"config": {"indexes": [["password", "/metadata/name"]]}});
        let (host, _directory) = check(&bench, settings, json!({}), &tries).await;
        check_nothing_is_known(&host);
    });
}

/// The try's name, the descriptor's reads, the host's own settings of the plugin, the file beside it, and the final
/// message.
type Asked = (&'static str, &'static str, Value, &'static str, &'static str);

/// Invariant 41.
#[test]
fn secrets_are_granted_to_nobody_by_another_name() {
    let star = json!([{"resources": ["*"]}]);
    let secrets = "reads: [{resources: [v1/secrets]}]";
    let not_granted = "asks to read v1/secrets, which is not granted";
    let asked: [Asked; 8] = [
        ("asks-plainly", "v1/secrets", json!({}), "", not_granted),
        (
            "asks-for-a-version",
            "v2/secrets",
            json!({}),
            "",
            "asks to read v2/secrets, which is not granted",
        ),
        ("is-granted-all", "v1/secrets", json!({"reads": star}), "", not_granted),
        ("grants-itself", "v1/secrets", json!({}), secrets, "reads"),
        (
            "grants-itself-all",
            "v1/secrets",
            json!({}),
            "reads: [{resources: [\"*\"]}]",
            not_granted,
        ),
        ("asks-in-upper-case", "v1/Secrets", json!({}), "", "is not a lower-case plural"),
        ("asks-for-a-path", "v1/pods/../secrets", json!({}), "", "it has not two or three parts"),
        (
            "asks-for-a-subresource",
            "v1/secrets/status",
            json!({}),
            "",
            "does not look like v1 or v1beta1",
        ),
    ];
    host_fact(async |bench| {
        bench.create_secret().await;
        let mut plugins = json!({});
        for (name, resource, settings, sidecar, _) in &asked {
            let mut settings = settings.clone();
            settings["config"] = json!({"reads": [resource]});
            plugins[*name] = settings;
            if !sidecar.is_empty() {
                let text = format!("{CONFIGURATION_HEAD}PluginConfiguration\n{sidecar}\n");
                std::fs::write(bench.plugins.join(format!("{name}.yaml")), text).expect("a file");
            }
            bench.drop_plugin(ATTACKER, name);
        }
        let (_directory, own) = configuration(&json!({"plugins": plugins}));
        let host = bench.start(&["--config", &own]).await;
        for (name, _, _, _, words) in &asked {
            let is_told = async || {
                let plugin = host.plugin(name).ok()?;
                let state = plugin["state"].as_str()?.to_owned();
                let told = format!("{} {}", plugin["reason"], plugin["lastLoad"]["reason"]);
                (["stopped", "waiting"].contains(&&*state) && told.contains(words)).then_some(())
            };
            let told = poll::until(name, LINES_DEADLINE, is_told).await;
            assert!(told.is_ok(), "{name}: {:?}", host.plugin(name));
        }
        check_nothing_is_known(&host);
    });
}
