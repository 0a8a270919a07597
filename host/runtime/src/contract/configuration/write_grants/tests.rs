use super::*;
use crate::contract::configuration::tests::configured;
use crate::contract::configuration::{Layer, PluginSettings};
use crate::contract::descriptor::Descriptor;
use crate::namespace_labels::NamespaceLabels;
use crate::namespace_labels::tests::namespace as labelled;
use crate::outside::write::{How, NamedObject};
use crate::powers::restriction::Restriction;
use crate::powers::{PluginPowers, Powers};
use informant_cache::Store;
use std::sync::Arc;

/// The settings of a plugin `a` with this file beside it, on a host with this file.
fn settings(host: &str, sidecar: &str) -> PluginSettings {
    configured(host, sidecar).expect("it is within the ceiling")
}

/// The labels of the namespaces: `shop` has its name as `team`, `office` has another `team`, and `bare` has none.
/// Others are not known.
fn refusal(selector: &LabelSelector, namespace: &str) -> Option<String> {
    let store = Store::default();
    store.put(labelled("shop", r#""team":"shop""#));
    store.put(labelled("office", r#""team":"office""#));
    store.put(labelled("bare", ""));
    NamespaceLabels::new(selector, store.indexer().clone()).refusal(namespace, true)
}

/// Which of these writes is granted: `patch v1/pods/status shop web`, with `-` for no namespace or name.
#[track_caller]
fn check(host: &str, sidecar: &str, granted: &[&str], refused: &[&str]) {
    let grants = settings(host, sidecar).writes;
    let is_granted = |write: &&str| {
        let words: Vec<&str> = write.split(' ').collect();
        let [verb, what, namespace, name] = words[..] else { panic!("{write}") };
        let (resource, subresource) = match what.matches('/').count() {
            1 => (what, ""),
            _ => what.rsplit_once('/').expect("a subresource"),
        };
        let given = |word| if word == "-" { "" } else { word };
        let (namespace, name) = (given(namespace), given(name));
        let (how, body) = match verb {
            "create" if name.is_empty() => {
                (How::Create, r#"{"metadata":{"generateName":"a"}}"#.to_owned())
            }
            "create" => (How::Create, format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)),
            "update" => (How::Update, r#"{"metadata":{"uid":"u"}}"#.to_owned()),
            "patch" => (How::MergePatch, String::new()),
            "apply" => (How::Apply(false), String::new()),
            "delete" => (How::Delete(None), String::new()),
            other => panic!("{other}"),
        };
        let named = NamedObject { resource, namespace, name, subresource };
        let write = Write::new(named, how, body.into_bytes()).expect("it is well formed");
        grants.check_write("a", &write, &refusal).is_ok()
    };
    let all = granted.iter().chain(refused);
    let found: Vec<&str> = all.copied().filter(|write| is_granted(write)).collect();
    assert_eq!(found, granted, "{host} {sidecar}");
}

#[test]
fn nothing_is_granted_by_itself() {
    let all = ["patch v1/pods shop web", "create v1/pods shop web", "delete v1/nodes - n"];
    check("{}", "", &[], &all);
    check("{}", "writes: []", &[], &all);
    let rule = "[{resources: [v1/pods], verbs: [patch, create]}]";
    check("{}", &format!("writes: {rule}"), &[], &all);
    check(&format!("ceiling: {{writes: {rule}}}"), "", &[], &all);
}

#[test]
fn a_rule_grants_what_it_names_and_nothing_beside_it() {
    let one = "{resources: [v1/pods, apps/v1/deployments], verbs: [patch], namespaces: [shop], names: [web]}";
    let granted = ["patch v1/pods shop web"];
    let refused = [
        "patch v1/pods office web",
        "patch v1/pods - web",
        "patch v1/pods shop db",
        "patch v1/pods/status shop web",
        "patch v1/services shop web",
        "patch v2/pods shop web",
        "update v1/pods shop web",
        "delete v1/pods shop web",
        "create v1/pods shop web",
        "create v1/pods shop -",
        "apply v1/pods shop web",
    ];
    check(&format!("a: {{writes: [{one}]}}"), "", &granted, &refused);
    let broad = "{resources: [v1/pods/status, v1/pods], verbs: [create, patch]}";
    let granted = [
        "create v1/pods shop -",
        "apply v1/pods shop web",
        "patch v1/pods/status - web",
        "patch v1/pods office web",
    ];
    let refused = ["delete v1/pods shop web", "create v1/pods/eviction shop web"];
    check(&format!("a: {{writes: [{broad}]}}"), "", &granted, &refused);
}

#[test]
fn labels_of_namespaces_grant_as_they_are_now() {
    let writes = |more: &str| {
        format!("writes: [{{resources: [v1/pods], verbs: [patch], namespaceSelector: {more}}}]")
    };
    let in_shop = ["patch v1/pods shop web"];
    let elsewhere = [
        "patch v1/pods office web",
        "patch v1/pods bare web",
        "patch v1/pods unknown web",
        "patch v1/pods - web",
        "delete v1/pods shop web",
    ];
    check(&format!("a: {{{}}}", writes("team=shop")), "", &in_shop, &elsewhere);
    // Both keys must hold.
    let named = |name: &str| writes(&format!("team, namespaces: [{name}]"));
    check(&format!("a: {{{}}}", named("shop")), "", &in_shop, &elsewhere);
    check(&format!("a: {{{}}}", named("bare")), "", &[], &in_shop);
    // A requirement that a missing label meets needs a known namespace, too.
    let granted = ["patch v1/pods office web", "patch v1/pods bare web"];
    let refused = ["patch v1/pods shop web", "patch v1/pods unknown web", "patch v1/pods - web"];
    check(&format!("a: {{{}}}", writes("team!=shop")), "", &granted, &refused);
    // The ceiling and the file below it must both have the labels.
    let ceiling = format!("ceiling: {{{}}}", writes("team"));
    let granted = ["patch v1/pods shop web", "patch v1/pods office web"];
    check(&ceiling, &writes("team"), &granted, &["patch v1/pods bare web"]);
    check(&ceiling, "writes: [{resources: [v1/pods], verbs: [patch]}]", &granted, &elsewhere[1..]);
    check(&ceiling, &writes("'!team'"), &[], &["patch v1/pods bare web", "patch v1/pods shop web"]);
}

#[test]
fn a_refusal_by_labels_has_the_label() {
    let host =
        "a: {writes: [{resources: [v1/pods], verbs: [patch], namespaceSelector: team=shop}]}";
    let told = |namespace: &str| {
        let named = NamedObject { resource: "v1/pods", namespace, name: "a", subresource: "" };
        let write = Write::new(named, How::MergePatch, Vec::new()).expect("it is well formed");
        let told = settings(host, "").writes.check_write("a", &write, &refusal);
        told.expect_err("it is not").split_once("; ").expect("advice").0.to_owned()
    };
    assert_eq!(
        told("office"),
        "to patch v1/pods in office is not granted (namespaceSelector team=shop: label team of namespace office is office)"
    );
    assert!(
        told("nowhere")
            .ends_with("(namespaceSelector team=shop: the cache has no namespace \"nowhere\")")
    );
}

#[test]
fn the_ceiling_bounds_each_write() {
    let ceiling = "ceiling: {writes: [{resources: [v1/pods], verbs: [patch], namespaces: [shop]}]}";
    let sidecar = "writes: [{resources: [v1/pods], verbs: [patch, delete]}]";
    let refused = ["patch v1/pods office web", "delete v1/pods shop web"];
    check(ceiling, sidecar, &["patch v1/pods shop web"], &refused);
}

#[test]
fn entries_of_rules_beside_a_plugin_are_bounded() {
    let list = |of: &str, count: usize| {
        (0..count).map(|n| format!("{of}{n}")).collect::<Vec<_>>().join(", ")
    };
    let reads = |count| format!("{{resources: [{}]}}", list("v1/r", count));
    let writes =
        |count| format!("{{resources: [v1/pods], verbs: [patch], names: [{}]}}", list("o", count));
    let check = |rules: String, expect: &str| {
        let problem = configured("ceiling: {}", &rules)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(problem.contains(expect) && problem.is_empty() == expect.is_empty(), "{problem}");
    };
    let four = |one: String| [one.clone(), one.clone(), one.clone(), one].join(", ");
    check(format!("reads: [{}]", four(reads(256))), "");
    check(format!("reads: [{}, {}]", four(reads(256)), reads(1)), "reads has 1025 entries");
    check(format!("writes: [{}]", four(writes(254))), "");
    check(format!("writes: [{}, {}]", four(writes(254)), writes(1)), "writes has 1027 entries");
}

/// The problem with these defaults below this ceiling.
#[track_caller]
fn check_defaults(ceiling: &str, defaults: &str, expect: &str) {
    let host = format!("ceiling: {{writes: [{ceiling}]}}\ndefaults: {{writes: [{defaults}]}}");
    let read = configured(&host, "");
    let problem = read.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(problem.starts_with("host.yaml line 2: defaults.writes has ") || problem.is_empty());
    let problem = problem.strip_prefix("host.yaml line 2: defaults.writes has ");
    let problem = problem.map(|it| it.replace(", and the ceiling of this host has it not", ""));
    assert_eq!(problem.unwrap_or_default(), expect);
}

#[test]
fn defaults_beyond_the_ceiling_are_a_mistake() {
    let pods = "{resources: [v1/pods], verbs: [patch]}";
    check_defaults("", "", "");
    check_defaults("", pods, "patch of v1/pods");
    check_defaults(pods, pods, "");
    let more = "{resources: [v1/pods, v1/pods/status], verbs: [patch]}";
    check_defaults(pods, more, "patch of v1/pods/status");
    check_defaults(more, pods, "");
    check_defaults(pods, "{resources: [v1/pods], verbs: [patch, delete]}", "delete of v1/pods");
    let of = |namespaces: &str, names: &str| {
        format!(
            "{{resources: [v1/pods], verbs: [patch], namespaces: [{namespaces}], names: [{names}]}}"
        )
    };
    check_defaults(pods, &of("a, b", "x"), "");
    check_defaults(&of("a", "x"), pods, "patch of v1/pods");
    check_defaults(&of("a", "x"), &of("a, b", "x"), "patch of v1/pods");
    check_defaults(&of("a", "x"), &of("a", "x, y"), "patch of v1/pods");
    let labelled = |selector: &str| {
        format!("{{resources: [v1/pods], verbs: [patch], namespaceSelector: '{selector}'}}")
    };
    check_defaults(pods, &labelled("team=a"), "");
    check_defaults(&labelled("team=a"), pods, "patch of v1/pods");
    check_defaults(&labelled("team=a"), &labelled("team"), "patch of v1/pods");
    check_defaults(&labelled("team=a"), &labelled("env=x,team=a"), "");
    let both = format!("{}, {}", of("a", "x, y"), of("b", "x"));
    check_defaults(&both, &of("a, b", "x"), "");
    check_defaults(&both, &of("a, b", "x, y"), "patch of v1/pods");
}

#[test]
fn what_gives_more_power_is_only_for_the_hosts_word_on_the_plugin() {
    let guarded = ["patch v1/secrets shop web", "create v1/serviceaccounts/token shop web"];
    let rule = "[{resources: [v1/secrets, v1/serviceaccounts/token], verbs: [patch, create]}]";
    let everywhere = format!("ceiling: {{writes: {rule}}}\ndefaults: {{writes: {rule}}}");
    check(&everywhere, &format!("writes: {rule}"), &[], &guarded);
    check(&format!("a: {{writes: {rule}}}"), "", &guarded, &[]);
}

#[test]
fn a_file_beside_a_plugin_configures_nothing_that_the_host_lets_write() {
    let host = "a: {writes: [{resources: [v1/pods], verbs: [patch]}]}";
    let error = configured(host, "config: {}").expect_err("it is for the host to say");
    let expect = "config is not taken from here: the host's own configuration grants writes to a";
    assert!(error.to_string().contains(expect), "{error}");
    assert!(configured("a: {writes: []}", "config: {}").is_ok());
    let ceiling = "ceiling: {serviceAccounts: [b/c]}";
    let account = "serviceAccount: b/c";
    let error = configured(&format!("{ceiling}\n{host}"), account).expect_err("for the host");
    let expect =
        "serviceAccount is not taken from here: the host's own configuration grants writes to a";
    assert!(error.to_string().contains(expect), "{error}");
    let named = format!("{ceiling}\na: {{{account}, writes: []}}");
    let named = configured(&named, account).expect("nothing is beyond the ceiling");
    assert_eq!(named.service_account.map(|it| it.to_string()), Some("b/c".to_owned()));
}

#[test]
fn a_file_beside_a_plugin_undoes_no_dry_run() {
    let is_dry = |host: &str, sidecar: &str| settings(host, sidecar).dry_run;
    assert!(!is_dry("{}", "") && is_dry("{}", "dryRun: true"));
    let all = "defaults: {dryRun: true}";
    assert!(is_dry(all, "") && is_dry(all, "dryRun: false"));
    assert!(!is_dry(&format!("{all}\na: {{dryRun: false}}"), "dryRun: true"));
}

#[test]
fn a_dry_run_of_a_secret_is_for_the_hosts_own_configuration() {
    let refusal = |host: &str, sidecar: &str, resource: &str| {
        let powers = PluginPowers {
            powers: Powers::none(),
            settings: Arc::new(settings(host, sidecar)),
            restriction: Restriction::default(),
            counters: Arc::default(),
            namespaces: None,
        };
        let named = NamedObject { resource, namespace: "shop", name: "a", subresource: "" };
        let write = Write::new(named, How::MergePatch, Vec::new()).expect("it is well formed");
        powers.check_dry_run("a", &write).err()
    };
    let named = "a: {dryRun: true}";
    let all = "defaults: {dryRun: true}";
    for (host, sidecar) in [("{}", ""), (named, ""), (named, "dryRun: true")] {
        assert_eq!(refusal(host, sidecar, "v1/secrets"), None, "{host} {sidecar}");
    }
    for (host, sidecar) in [("{}", "dryRun: true"), (all, ""), (all, "dryRun: true")] {
        assert_eq!(refusal(host, sidecar, "v1/pods"), None, "{host} {sidecar}");
        let refused = refusal(host, sidecar, "v1/secrets").expect("it is refused");
        assert!(refused.contains("dryRun: true under plugins.a"), "{refused}");
    }
}

/// The problem with this rule.
#[track_caller]
fn check_refused(rule: &str, expect: &str) {
    let head = "apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\n";
    let text = format!("{head}writes: [{rule}]");
    let error = Layer::of_sidecar("a.yaml", text.as_bytes()).expect_err("it is refused");
    let error = error.to_string();
    assert!(error.ends_with(expect), "{error}");
}

#[test]
fn what_is_left_out_or_empty_grants_nothing_by_mistake() {
    check_refused("{}", "resources is to name some: write it as [v1/pods]");
    check_refused("{resources: [v1/pods]}", "verbs is to name some: write it as [patch]");
    check_refused("{resources: [], verbs: [patch]}", "write it as [v1/pods]");
    check_refused(
        "{resources: [v1/pods], verb: [patch]}",
        r#"a.yaml line 3: writes[0]: unknown key "verb"; did you mean "verbs"?"#,
    );
    check_refused(
        "\n  {resources: [v1/pods]}",
        "a.yaml line 4: writes[0].verbs is to name some: write it as [patch]",
    );
    let some = "resources: [v1/pods], verbs: [patch]";
    let empty = "has 0 entries: name 1, or leave it out for all";
    check_refused(&format!("{{{some}, namespaces: []}}"), &format!("{empty}, and what is in none"));
    check_refused(&format!("{{{some}, names: []}}"), empty);
    check_refused(&format!("{{{some}, names: }}"), "write one, or leave the key out");
    check_refused(
        &format!("{{{some}, names: [a/b]}}"),
        r#"has "a/b", which cannot be the name of an object"#,
    );
    check_refused(
        "{resources: [v1/pods], verbs: [patch], namespaceSelector: ''}",
        "is empty: leave it out for all namespaces",
    );
    check_refused(
        "{resources: [v1/pods], verbs: [patch], namespaceSelector: 'a b'}",
        "is no operator",
    );
    check_refused("{resources: ['*'], verbs: [patch]}", "what may be written has to be named");
    check_refused(
        "{resources: [v1/pods], verbs: ['*']}",
        r#"has "*", and may have create, update, patch, delete"#,
    );
}

#[test]
fn the_line_that_would_grant_a_write_grants_no_more() {
    let told = |how: How, name: &str, body: &str| {
        let named = NamedObject { resource: "v1/pods", namespace: "on", name, subresource: "" };
        let write = Write::new(named, how, body.as_bytes().to_vec()).expect("it is one");
        let told =
            settings("{}", "").writes.check_write("a", &write, &refusal).expect_err("nothing is");
        told.split_once("writes: ").expect("a line").1.to_owned()
    };
    let rule = r#"[{resources: [v1/pods], verbs: [patch], namespaces: ["on"], names: ["1e3"]}]}}"#;
    assert_eq!(told(How::MergePatch, "1e3", ""), rule);
    // The next Pod of the same Deployment has another name.
    let rule = r#"[{resources: [v1/pods], verbs: [patch], namespaces: ["on"]}]}}"#;
    for name in ["web-7d4b9c6f5d-x2x9z", "job-vwxz2"] {
        assert_eq!(told(How::MergePatch, name, ""), rule);
    }
    for name in ["web-proxy", "web-2", "x2x9z"] {
        assert!(told(How::MergePatch, name, "").contains(&format!("names: [{name}]")));
    }
    let made = r#"{"metadata":{"generateName":"a"}}"#;
    let rule = r#"[{resources: [v1/pods], verbs: [create], namespaces: ["on"]}]}}"#;
    assert_eq!(told(How::Create, "", made), rule);
    let role = "rbac.authorization.k8s.io/v1/roles";
    let named = NamedObject { resource: role, namespace: "shop", name: "a:b", subresource: "" };
    let write = Write::new(named, How::Delete(None), Vec::new()).expect("it is one");
    let told =
        settings("{}", "").writes.check_write("a", &write, &refusal).expect_err("nothing is");
    let line = format!(
        r#"[{{resources: [{role}], verbs: [delete], namespaces: [shop], names: ["a:b"]}}]"#
    );
    assert!(told.contains(&line), "{told}");
    let granted = settings(&format!("a: {{writes: {line}}}"), "").writes;
    assert_eq!(granted.check_write("a", &write, &refusal), Ok(()));
}

#[test]
fn what_a_plugin_asks_for_is_held_against_what_is_granted() {
    let asks = |writes: &str, rules: &str| {
        let json = format!(r#"{{"version":"1","writes":[{writes}]}}"#);
        let descriptor = Descriptor::parse(json.as_bytes()).expect("it is well formed");
        let grants = settings(&format!("a: {{writes: [{rules}]}}"), "").writes;
        grants.check("a", &descriptor.writes).err()
    };
    let shop = r#"{"resource":"v1/pods","verbs":["patch","create"],"namespaces":["shop","b"]}"#;
    let rules = "{resources: [v1/pods], verbs: [patch, create], namespaces: [shop], names: [web]}";
    let more = "{resources: [v1/pods], verbs: [create, patch], namespaces: [b]}";
    assert_eq!(asks(shop, &format!("{rules}, {more}")), None);
    let told = asks(shop, rules).expect("not in b");
    let line = "writes: [{resources: [v1/pods], verbs: [create, patch], namespaces: [b, shop]}]";
    let expect = format!(
        "it asks to create and patch v1/pods in b and shop, which is not granted; to grant all that it asks for, write in the \
         host's own configuration (--config): plugins: {{a: {{{line}}}}}"
    );
    assert_eq!(told, expect);
    let everywhere = r#"{"resource":"v1/pods","verbs":["patch"]}"#;
    assert!(asks(everywhere, more).is_some());
}
