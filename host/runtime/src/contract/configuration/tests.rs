//! Configuration files, and the plugin settings that follow.

use super::*;
use crate::contract::descriptor::Descriptor;
use crate::contract::limits::Limits;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

fn sidecar_of(settings: &str) -> Result<Layer, ConfigurationError> {
    let head = format!("apiVersion: {API_VERSION}\nkind: PluginConfiguration\n");
    Layer::of_sidecar("a.yaml", format!("{head}{settings}").as_bytes())
}

fn settings(sidecar: Option<&str>) -> PluginSettings {
    let layer = sidecar.map(|text| sidecar_of(text).expect("it is well formed"));
    let name = "a".parse().expect("a name");
    Configurations::default().of(&name, layer.as_ref()).expect("it is within the ceiling")
}

/// What a plugin `a` runs with whose file says this, on a host whose own says that.
pub(super) fn configured(host: &str, sidecar: &str) -> Result<PluginSettings, ConfigurationError> {
    let declare = |keys: &mut Keys<'_>| {
        let defaults = keys.object("defaults", "", Layer::of_all).unwrap_or_default();
        let named = keys.object("a", "", Layer::of_plugin);
        let ceiling = keys.object("ceiling", "", Ceiling::declare).unwrap_or_default();
        let name = || "a".parse().expect("a name");
        let plugins = named.into_iter().map(|layer| (name(), layer)).collect();
        Configurations::new(defaults, plugins, ceiling)
    };
    let document = Document::read("host.yaml", host.as_bytes()).expect("it is YAML");
    let configurations = read(&document, declare)??;
    let head = "apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\n";
    let layer = Layer::of_sidecar("a.yaml", format!("{head}{sidecar}").as_bytes())?;
    configurations.of(&"a".parse().expect("a name"), Some(&layer))
}

/// What is said to a plugin that reads these resources in these namespaces; empty where it is granted.
#[track_caller]
fn check_grant(rules: Option<&str>, asks: &[(&str, &[&str])], expect: &str) {
    let asks = asks.iter().map(|(resource, namespaces)| (*resource, *namespaces, ""));
    check_grant_by_label(rules, &asks.collect::<Vec<_>>(), expect);
}

/// The same, with the labels of the namespaces; empty for any.
#[track_caller]
fn check_grant_by_label(rules: Option<&str>, asks: &[(&str, &[&str], &str)], expect: &str) {
    let reads = asks.iter().map(|(resource, namespaces, selector)| {
        json!({ "resource": resource, "namespaces": namespaces, "namespaceSelector": selector })
    });
    let descriptor = json!({ "version": "1", "reads": reads.collect::<Vec<_>>() });
    let descriptor = Descriptor::parse(descriptor.to_string().as_bytes());
    let descriptor = descriptor.expect("it is well formed");
    let sidecar = rules.map(|rules| format!("reads: {rules}"));
    let granted = settings(sidecar.as_deref()).grants.check("a", &descriptor);
    let said = granted.err().unwrap_or_default();
    let prefix = "it asks to read ";
    assert_eq!(said.strip_prefix(prefix).unwrap_or(&said), expect);
}

const NOT_GRANTED: &str = "which is not granted; to grant all that it asks for, ";

#[test]
fn everything_but_secrets_is_granted_where_nothing_is_said() {
    check_grant(None, &[("v1/pods", &[]), ("apps/v1/deployments", &["shop"])], "");
    let line = "plugins: {a: {reads: [{resources: [v1/pods, v1/secrets]}]}}";
    let host = "write in the host's own configuration (--config): ";
    check_grant(
        None,
        &[("v1/pods", &[]), ("v1/secrets", &[])],
        &format!("v1/secrets, {NOT_GRANTED}{host}{line}"),
    );
}

#[test]
fn rules_together_allow_what_any_of_them_does() {
    let pods = "[{resources: [v1/pods], namespaces: [a]}, {resources: ['*'], namespaces: [b]}, {resources: [v1/nodes]}]";
    check_grant(Some(pods), &[("v1/pods", &["a", "b"]), ("v1/nodes", &[])], "");
    let line = "write in a.yaml: reads: [{resources: [v1/pods], namespaces: [a, c]}]";
    let expect = format!("v1/pods in a and c, {NOT_GRANTED}{line}");
    check_grant(Some(pods), &[("v1/pods", &["a", "c"])], &expect);
    let line = "write in a.yaml: reads: [{resources: [v1/pods, v1/nodes]}]";
    let all = format!("v1/pods, {NOT_GRANTED}{line}");
    check_grant(Some(pods), &[("v1/pods", &[]), ("v1/nodes", &[])], &all);
    let line = "write in a.yaml: reads: [{resources: [v1/services]}]";
    check_grant(Some("[]"), &[("v1/services", &[])], &format!("v1/services, {NOT_GRANTED}{line}"));
}

#[test]
fn the_line_that_would_grant_it_does() {
    let asks: &[(&str, &[&str])] = &[("v1/pods", &["a", "b"]), ("v1/nodes", &[])];
    let line = "[{resources: [v1/nodes]}, {resources: [v1/pods], namespaces: [a, b]}]";
    let said = format!("v1/pods in a and b, v1/nodes, {NOT_GRANTED}write in a.yaml: reads: {line}");
    check_grant(Some("[]"), asks, &said);
    check_grant(Some(line), asks, "");
}

#[test]
fn a_read_needs_the_requirements_of_a_rule_in_its_own_selector() {
    let shop = Some("[{resources: [v1/pods], namespaceSelector: team=shop}]");
    let refused = |shown: &str, keys: &str| {
        let line = format!("[{{resources: [v1/pods]{keys}}}]");
        format!("v1/pods{shown}, {NOT_GRANTED}write in a.yaml: reads: {line}")
    };
    for selector in ["team=shop", "tier!=db,team==shop", "team in (shop)"] {
        check_grant_by_label(shop, &[("v1/pods", &[], selector)], "");
        check_grant_by_label(shop, &[("v1/pods", &["a", "b"], selector)], "");
    }
    check_grant_by_label(shop, &[("v1/pods", &[], "")], &refused("", ""));
    let named = refused(" in a", ", namespaces: [a]");
    check_grant_by_label(shop, &[("v1/pods", &["a"], "")], &named);
    let api = refused(" in namespaces with team=api", ", namespaceSelector: \"team=api\"");
    check_grant_by_label(shop, &[("v1/pods", &[], "team=api")], &api);
    let nodes =
        format!("v1/nodes, {NOT_GRANTED}write in a.yaml: reads: [{{resources: [v1/nodes]}}]");
    check_grant_by_label(
        Some("[{namespaceSelector: team=shop}]"),
        &[("v1/nodes", &[], "")],
        &nodes,
    );
}

#[test]
fn rules_by_name_and_by_label_allow_a_read_together() {
    let rules = "[{namespaces: [a]}, {namespaces: [b], namespaceSelector: team=shop}]";
    let wanted = |selector| [("v1/pods", &["a", "b"][..], selector)];
    check_grant_by_label(Some(rules), &wanted("team=shop"), "");
    let line = "[{resources: [v1/pods], namespaces: [a, b], namespaceSelector: \"team=api\"}]";
    let said = "v1/pods in namespaces a and b with team=api";
    let expect = format!("{said}, {NOT_GRANTED}write in a.yaml: reads: {line}");
    check_grant_by_label(Some(rules), &wanted("team=api"), &expect);
    check_grant_by_label(Some(line), &wanted("team=api"), "");
}

#[test]
fn every_setting_that_is_written_is_taken() {
    let all: Vec<String> = crate::contract::limits::TABLE
        .iter()
        .map(|limit| format!("  {}: {}", limit.name, limit.unit.show(limit.of_files())))
        .collect();
    let settings = settings(Some(&format!("config: 7\nlimits:\n{}", all.join("\n"))));
    let mut most = Limits::default();
    crate::contract::limits::TABLE
        .iter()
        .for_each(|limit| (limit.set)(&mut most, limit.of_files()));
    assert_eq!((&*settings.limits, &*settings.config), (&most, b"7".as_slice()));
}

/// The result of these defaults, this ceiling and this sidecar: the differing settings, or the problem.
#[track_caller]
fn check_bounded(defaults: &str, ceiling: &str, sidecar: &str, expect: &str) {
    let host = format!("defaults: {{{defaults}}}\nceiling: {{{ceiling}}}");
    let host = Document::read("host.yaml", host.as_bytes()).expect("it is YAML");
    let parts = read(&host, |keys| {
        let defaults = keys.object("defaults", "", Layer::of_all).unwrap_or_default();
        (defaults, keys.object("ceiling", "", Ceiling::declare).unwrap_or_default())
    });
    let (defaults, ceiling) = parts.expect("it is well formed");
    let sidecar = sidecar_of(sidecar).expect("it is well formed");
    let (name, none) = ("a".parse().expect("a name"), BTreeMap::new());
    let configurations = Configurations::new(defaults, none, ceiling);
    let settings = configurations.and_then(|all| all.of(&name, Some(&sidecar)));
    let shown = settings.map_or_else(|error| error.to_string().into(), |it| it.to_json());
    let expect: Value = serde_json::from_str(expect).unwrap_or_else(|_| expect.into());
    assert_eq!(shown, expect);
}

#[test]
fn a_sidecar_acts_as_those_whom_the_ceiling_names() {
    let account = "serviceAccount: shop/labeller";
    let shown = |value: &str, from: &str| {
        format!(r#"{{"serviceAccount":{{"from":"{from}","value":"{value}"}}}}"#)
    };
    let (own, defaults) = ("a.yaml line 3", "host.yaml line 1");
    let refused = "a.yaml line 3: serviceAccount is shop/labeller, and the ceiling of this host (serviceAccounts) does not have it";
    check_bounded("", "", account, refused);
    check_bounded("", "serviceAccounts: [shop/other]", account, refused);
    let ceiling = "serviceAccounts: [shop/other, shop/labeller]";
    check_bounded("", ceiling, account, &shown("shop/labeller", own));
    // The defaults need no ceiling, and a sidecar cannot undo them.
    check_bounded(account, "", account, &shown("shop/labeller", own));
    check_bounded(
        account,
        "",
        "config: 7",
        &json!({
            "config": {"from": "a.yaml line 3", "value": "(a number)"},
            "serviceAccount": {"from": defaults, "value": "shop/labeller"},
        })
        .to_string(),
    );
    check_bounded("serviceAccount: shop/reader", "", account, refused);
    let wrong = sidecar_of("serviceAccount: labeller").expect_err("it names no namespace");
    let expect = r#"a.yaml line 3: serviceAccount: "labeller" is no service account: write it as NAMESPACE/NAME, as shop/labeller"#;
    assert_eq!(wrong.to_string(), expect);
}

#[test]
fn a_sidecar_sets_limits_to_some_times_what_they_are_unless_the_host_says_more() {
    let of = |value: &str| {
        format!(r#"{{"limits.memory":{{"from":"a.yaml line 3","value":"{value}"}}}}"#)
    };
    check_bounded("", "", "limits: {memory: 256Mi}", &of("256Mi"));
    let most = "a.yaml line 3: limits.memory is 257Mi, and the ceiling of this host is 256Mi";
    check_bounded("", "", "limits: {memory: 257Mi}", most);
    check_bounded("limits: {memory: 1Gi}", "", "limits: {memory: 257Mi}", &of("257Mi"));
    check_bounded("", "limits: {memory: 1Gi}", "limits: {memory: 1Gi}", &of("1Gi"));
}

/// The number of shards of a plugin that asks for so many. The settings are in the ceiling, in the file beside the
/// plugin, and in the host's entry for it.
#[track_caller]
fn check_shards(
    asks: usize,
    ceiling: &str,
    sidecar: &str,
    named: &str,
    expect: Result<usize, &str>,
) {
    let host = format!("ceiling: {{{ceiling}}}");
    let host = Document::read("host.yaml", host.as_bytes()).expect("it is YAML");
    let ceiling = read(&host, |keys| keys.object("ceiling", "", Ceiling::declare));
    let ceiling = ceiling.expect("it is well formed").unwrap_or_default();
    let name: crate::plugin_name::PluginName = "a".parse().expect("a name");
    let plugins = BTreeMap::from([(name.clone(), sidecar_of(named).expect("it is one"))]);
    let all = Configurations::new(Layer::default(), plugins, ceiling).expect("it is well formed");
    let settings = sidecar_of(sidecar).and_then(|sidecar| all.of(&name, Some(&sidecar)));
    let found = settings.map(|settings| settings.shards(asks)).map_err(|error| error.to_string());
    assert_eq!(found.as_ref().map(|shards| *shards).map_err(String::as_str), expect);
}

#[test]
fn a_plugin_runs_in_as_many_shards_as_somebody_says_up_to_the_ceiling() {
    check_shards(1, "", "", "", Ok(1));
    check_shards(4, "", "", "", Ok(4));
    check_shards(9, "", "", "", Ok(8));
    check_shards(4, "shards: 2", "", "", Ok(2));
    check_shards(4, "", "shards: 1", "", Ok(1));
    check_shards(1, "", "shards: 8", "", Ok(8));
    check_shards(1, "", "shards: 8", "shards: 64", Ok(64));
    check_shards(64, "shards: 64", "", "", Ok(64));
    let ceiling = "a.yaml line 3: shards is 9, and the ceiling of this host is 8";
    check_shards(1, "", "shards: 9", "", Err(ceiling));
    let most = "a.yaml line 3: shards is 65, and may be 1 to 64";
    check_shards(1, "shards: 64", "shards: 65", "", Err(most));
    let least = "a.yaml line 3: shards is 0, and may be 1 to 64";
    check_shards(1, "", "shards: 0", "", Err(least));
}

#[test]
fn what_the_host_says_and_a_sidecar_says_again_is_shown() {
    let ceiling = r#"{"limits.memory":{"from":"host.yaml line 2","value":"32Mi"}}"#;
    check_bounded("", "limits: {memory: 32Mi}", "limits: {attempts: 20}", ceiling);
    check_bounded("", "limits: {memory: 128Mi}", "limits: {attempts: 20}", "{}");
    let again = r#"{"limits.attempts":{"from":"a.yaml line 3","value":"20"}}"#;
    check_bounded("limits: {attempts: 5}", "", "limits: {attempts: 20}", again);
}

#[test]
fn the_hosts_defaults_keep_to_its_ceiling() {
    let limit =
        "host.yaml line 1: defaults.limits.attempts is 4, and the ceiling of this host is 3";
    check_bounded("limits: {attempts: 4}", "limits: {attempts: 3}", "", limit);
    let reads =
        "host.yaml line 1: defaults.reads has v1/secrets, and the ceiling of this host has it not";
    check_bounded("reads: [{resources: ['*', v1/secrets]}]", "", "", reads);
    let narrow = "reads: [{resources: [v1/pods], namespaces: [shop]}]";
    let wide =
        "host.yaml line 1: defaults.reads has v1/pods, and the ceiling of this host has it not";
    check_bounded("reads: [{resources: [v1/pods]}]", narrow, "", wide);
    let labelled = "reads: [{resources: [v1/pods], namespaceSelector: team=shop}]";
    check_bounded("reads: [{resources: [v1/pods]}]", labelled, "", wide);
    let value = r#"[{"resources":["v1/pods"],"namespaceSelector":"team=shop"}]"#;
    let differs = format!(r#"{{"reads":{{"from":"host.yaml line 1","value":{value}}}}}"#);
    check_bounded(labelled, "reads: [{resources: [v1/pods]}]", "", &differs);
}

#[test]
fn a_sidecar_does_not_configure_what_the_host_grants_more_than_files_can() {
    let under = |ceiling: Ceiling, named: &str| {
        let (name, layer) = ("a".parse().expect("a name"), sidecar_of(named).expect("it is one"));
        let plugins = BTreeMap::from([(name, layer)]);
        let all = Configurations::new(Layer::default(), plugins, ceiling);
        let sidecar = sidecar_of("config: {watch: all}").expect("it is well formed");
        let settings =
            all.expect("it is well formed").of(&"a".parse().expect("a name"), Some(&sidecar));
        settings.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let of = |named: &str| under(Ceiling::default(), named);
    let secrets = "reads: [{resources: [v1/secrets]}]";
    let expect = "a.yaml line 3: config is not taken from here: the host's own configuration grants v1/secrets to a, so write \
                  it there, below plugins.a";
    assert_eq!(of(secrets), expect);
    assert_eq!(of(&format!("{secrets}\nconfig: {{}}")), "");
    assert_eq!(of("reads: [{resources: [v1/pods]}]"), "");
    assert_eq!(of("reads: [{}]"), "");
    let reads = |rules: &str| {
        let layer = sidecar_of(&format!("reads: {rules}")).expect("it is well formed");
        Ceiling { reads: layer.reads.expect("there are some"), ..Ceiling::default() }
    };
    let expect = "grants all but Secrets to a";
    assert!(under(reads("[{resources: [v1/pods]}]"), "reads: [{}]").contains(expect));
    assert!(under(reads("[{namespaces: [shop]}]"), "reads: [{}]").contains(expect));
    assert!(under(reads("[{namespaces: [shop]}]"), "reads: [{namespaces: [a]}]").contains(expect));
    assert_eq!(under(reads("[{namespaces: [shop]}]"), "reads: [{namespaces: [shop]}]"), "");
    let shop = "[{namespaceSelector: team=shop}]";
    assert!(under(reads(shop), "reads: [{}]").contains(expect));
    assert_eq!(under(reads(shop), &format!("reads: {shop}")), "");
}

#[test]
fn what_is_as_it_would_be_anyway_does_not_differ() {
    let settings = settings(Some("limits: {attempts: 20, deadLetters: 5}"));
    let expect = json!({ "limits.deadLetters": { "value": "5", "from": "a.yaml line 3" } });
    assert_eq!(settings.to_json(), expect);
}

#[test]
fn lists_are_bounded() {
    let many = |count: usize| {
        let rules = vec!["{}"; count].join(", ");
        sidecar_of(&format!("reads: [{rules}]")).err().map(|error| error.to_string())
    };
    assert_eq!(many(256), None);
    let expect = "a.yaml line 3: reads has 257 entries, at most 256 are allowed";
    assert_eq!(many(257).as_deref(), Some(expect));
}

/// The problem with these settings of a sidecar.
#[track_caller]
fn check_refused(settings: &str, expect: &str) {
    let error = sidecar_of(settings).expect_err("it is refused").to_string();
    assert!(error.ends_with(expect), "{error}");
}

#[test]
fn what_is_left_empty_grants_nothing_by_mistake() {
    let no_value = "has no value: write one, or leave the key out";
    check_refused("reads:", no_value);
    check_refused("reads: [{resources: , namespaces: [shop]}]", no_value);
    check_refused("reads: [{resources: [v1/pods], namespaces: null}]", no_value);
    check_refused("limits: {memory: }", no_value);
    check_refused(
        "reads: [{resources: [v1/pods], namespaces: []}]",
        "reads[0].namespaces has 0 entries: name 1, or leave it out for all, and what is in none",
    );
    check_refused(
        "reads: [{resources: [v1/pods, v1/nodes], namespaceSelector: team=shop}]",
        "reads[0].namespaceSelector has v1/nodes beside it, whose objects are in no namespace: write a rule of its own for it",
    );
    check_refused(
        "reads: [{resources: [v1/pods], namespaces: ['*']}]",
        "has \"*\", which cannot be the name of a namespace",
    );
    check_grant(Some("[{resources: []}]"), &[], "");
}

#[test]
fn the_line_that_would_grant_is_yaml_for_what_was_asked() {
    let line =
        r#"write in a.yaml: reads: [{resources: [v1/pods], namespaces: ["1e3", "on", shop]}]"#;
    let expect = format!("v1/pods in 1e3, on and shop, {NOT_GRANTED}{line}");
    check_grant(Some("[]"), &[("v1/pods", &["on", "1e3", "shop"])], &expect);
    let forged = br#"{"version":"1","reads":[{"resource":"v1/pods","namespaces":["a]}, {resources: [v1/secrets"]}]}"#;
    let error = Descriptor::parse(forged).expect_err("it is no namespace").to_string();
    assert!(error.contains("cannot be the name of a namespace"), "{error}");
}

#[test]
fn keys_of_a_config_are_shown_up_to_their_bound() {
    let shown = |count: usize| {
        let keys: Vec<String> = (0..count).map(|number| format!("k{number}: 1")).collect();
        let settings = settings(Some(&format!("config: {{{}}}", keys.join(", "))));
        settings.to_json()["config"]["value"].clone()
    };
    assert_eq!(shown(2), json!(["k0", "k1"]));
    assert_eq!(shown(64).as_array().map(Vec::len), Some(64));
    let many = shown(1_000);
    assert_eq!((many.as_array().map(Vec::len), &many[64]), (Some(65), &json!("(936 more)")));
    let long = settings(Some(&format!("config: {{{}: 1}}", "x".repeat(200)))).to_json();
    assert!(long["config"]["value"][0].as_str().is_some_and(|key| key.len() < 160));
}

#[test]
fn a_config_is_handed_on_as_json() {
    let json = |text: &str| {
        let settings = settings(Some(&format!("config: {text}")));
        String::from_utf8(settings.config.to_vec()).expect("it is text")
    };
    assert_eq!(
        json("{b: [1, -1, 1.5, ~, true, {}], a: \"\\u0001\\\"\"}"),
        r#"{"b":[1,-1,1.5,null,true,{}],"a":"\u0001\""}"#
    );
    assert_eq!(json("[]"), "[]");
}

/// The rules for requests that are granted already stay: one of them may name a credential.
#[test]
fn requests_of_a_descriptor_are_granted_where_a_host_grants_requests() {
    let descriptor = json!({
        "version": "1",
        "subscriptions": [{"resource": "v1/secrets"}],
        "writes": [{"resource": "v1/secrets", "verbs": ["create"], "namespaces": ["shop"]}],
        "http": [{"origins": ["http://127.0.0.1:8080"], "methods": ["POST"], "paths": ["/a"]}],
    });
    let descriptor = Descriptor::parse(descriptor.to_string().as_bytes()).expect("a descriptor");
    let check = |settings: &PluginSettings| {
        let (writes, http) = (&descriptor.writes, &descriptor.http);
        [
            settings.grants.check("a", &descriptor).is_ok(),
            settings.writes.check("a", writes).is_ok(),
            settings.http.check("a", http).is_ok(),
        ]
    };
    let host = "a: {writes: [{resources: [v1/secrets], verbs: [create, delete]}]}";
    let settings = |grants_requests| {
        let mut settings = configured(host, "").expect("it is well formed");
        settings.grants_requests = grants_requests;
        Arc::new(settings)
    };
    let with = |settings: &Arc<PluginSettings>| {
        settings.with_requests("a", &descriptor).expect("its own lines can be read")
    };
    let (plain, asking) = (settings(false), settings(true));
    assert_eq!(check(&with(&plain)), [false, true, false]);
    let granted = with(&asking);
    assert_eq!(check(&granted), [true; 3]);
    assert_eq!(granted.writes, asking.writes);
    assert!(granted.grants_the_same_as(&asking), "neither restricts the other");
    assert!(granted.is_configured_as(&asking) && !granted.is_configured_as(&plain));
}
