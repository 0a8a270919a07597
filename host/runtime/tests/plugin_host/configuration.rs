//! What stands beside a plugin's file, and what the host's own configuration says of it.

use super::http::restricted;
use super::writes::told;
use super::{Bench, HELLO, handled, hello, hello_again, hello_with, is, last_load, pod, swap};
use informant_runtime::PluginStatus;
use informant_runtime::configuration::{Ceiling, Configurations, Document, Keys, Layer, read};
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// A configuration with these settings.
pub(crate) fn yaml(settings: &str) -> Vec<u8> {
    format!("apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\n{settings}\n")
        .into_bytes()
}

/// `hello` that answers `describe` with its configuration, whatever that is.
fn mirror() -> Vec<u8> {
    mirror_after("")
}

fn mirror_after(before: &str) -> Vec<u8> {
    let answers = r#"#describe") (param $config i32) (param $len i32) (result i32)
    (i32.const 256))"#;
    let mirrors = format!(
        r#"#describe") (param $config i32) (param $len i32) (result i32)
    {before}
    (i32.store offset=4 (i32.const 256) (local.get $config))
    (i32.store offset=8 (i32.const 256) (local.get $len))
    (i32.const 256))"#
    );
    wat::parse_str(swap(HELLO, answers, &mirrors)).expect("it is well formed")
}

/// The same, after a count that takes some tenths of a second.
fn slow_mirror() -> Vec<u8> {
    mirror_after(
        "(local $count i64)
    (loop $again
        (local.set $count (i64.add (local.get $count) (i64.const 1)))
        (br_if $again (i64.lt_u (local.get $count) (i64.const 1600000000))))",
    )
}

/// `hello` that refuses to start, with its configuration as the reason.
fn refusing() -> Vec<u8> {
    let starts = r#"#start") (param $config i32) (param $len i32) (result i32)
    (i32.const 320))"#;
    let refuses = r#"#start") (param $config i32) (param $len i32) (result i32)
    (i32.store (i32.const 400) (i32.const 1))
    (i32.store offset=4 (i32.const 400) (local.get $config))
    (i32.store offset=8 (i32.const 400) (local.get $len))
    (i32.const 400))"#;
    wat::parse_str(swap(HELLO, starts, refuses)).expect("it is well formed")
}

fn shown(status: Option<&PluginStatus>, key: &str) -> Value {
    status.map(|status| status.to_json()[key].clone()).unwrap_or_default()
}

fn version(status: Option<&PluginStatus>) -> Value {
    shown(status, "version")
}

/// What the host's own configuration says, as YAML of `defaults`, of the plugin `hello`, and of the ceiling.
pub(crate) fn host(text: &str) -> Configurations {
    let declare = |keys: &mut Keys<'_>| {
        let defaults = keys.object("defaults", "", Layer::of_all).unwrap_or_default();
        let hello = keys.object("hello", "", Layer::of_plugin);
        let ceiling = keys.object("ceiling", "", Ceiling::declare).unwrap_or_default();
        let name = "hello".parse().expect("a name");
        (
            defaults,
            hello.map(|layer| (name, layer)).into_iter().collect::<BTreeMap<_, _>>(),
            ceiling,
        )
    };
    let document = Document::read("host.yaml", text.as_bytes()).expect("it is YAML");
    let (defaults, plugins, ceiling) = read(&document, declare).expect("it is well formed");
    Configurations::new(defaults, plugins, ceiling).expect("the defaults are within the ceiling")
}

/// Calls of `handle`.
fn calls(plugin: &PluginStatus) -> u64 {
    plugin.counters.handle_seconds.counts().iter().sum()
}

#[tokio::test]
async fn what_is_not_granted_any_more_is_not_told_though_the_version_runs_on() {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running") && handled(status) == 1).await;
    bench.drop_in("hello.yaml", &yaml("reads: []"));
    let refused = |status: Option<&PluginStatus>| last_load(status).contains("it asks to read");
    bench.until("hello", |status| refused(status) && is(status, "running")).await;
    let restricted = super::http::restricted(bench.status("hello").as_ref());
    assert!(restricted.ends_with("has what both grant, and reads no v1/pods"), "{restricted}");
    bench.source.add(&pod("b"));
    let withdrawn = |status: Option<&PluginStatus>| {
        let error = shown(status, "lastError");
        error["message"]
            .as_str()
            .is_some_and(|it| it.starts_with("v1/pods is not granted any more"))
    };
    bench.until("hello", withdrawn).await;
    let plugin = bench.status("hello").expect("it runs");
    assert_eq!((handled(Some(&plugin)), plugin.dead_letters), (1, 0));
    assert_eq!(plugin.counters.retry.load(Relaxed), 0, "nothing has failed");
    // It takes events again with the grant; what waited comes when its time has come.
    bench.drop_in("hello.yaml", &yaml(""));
    bench.until("hello", |status| super::http::restricted(status).is_empty()).await;
    bench.source.add(&pod("c"));
    bench.until("hello", |status| handled(status) >= 2).await;
    let plugin = bench.status("hello").expect("it runs");
    assert_eq!(calls(&plugin), handled(Some(&plugin)), "without the grant there was no call");
    bench.stop().await;
}

#[tokio::test]
async fn config_reaches_describe_and_start() {
    let bench = Bench::start();
    let config = r#"config: {version: "7", subscriptions: [{resource: v1/pods}]}"#;
    bench.drop_in("hello.yaml", &yaml(config));
    bench.drop_in("hello.wasm", &mirror());
    bench.until("hello", |status| is(status, "running") && version(status) == "7").await;
    let configuration = shown(bench.status("hello").as_ref(), "configuration");
    let expect = json!({
        "config": { "value": ["version", "subscriptions"], "from": "hello.yaml line 3" },
    });
    assert_eq!(configuration, expect, "the values may be secrets");
    bench.drop_in("hello.wasm", &refusing());
    let told = r#"start failed: the plugin answered: {\"version\":\"7\","#;
    bench.until("hello", |status| last_load(status).contains(told)).await;
    assert!(is(bench.status("hello").as_ref(), "running"), "the one before it goes on");
    bench.stop().await;
}

#[tokio::test]
async fn a_changed_configuration_reloads_its_plugin_and_leaves_its_queue() {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    let config = |version: u32| {
        yaml(&format!(
            r#"config: {{version: "{version}", subscriptions: [{{resource: v1/pods}}]}}"#
        ))
    };
    bench.drop_in("hello.yaml", &config(1));
    bench.drop_in("hello.wasm", &mirror());
    bench.until("hello", |status| version(status) == "1" && handled(status) == 1).await;
    let compiled = bench.plugins.compiles().compiled;
    bench.drop_in("hello.yaml", &config(2));
    bench.until("hello", |status| version(status) == "2" && is(status, "running")).await;
    bench.source.add(&pod("b"));
    bench.until("hello", |status| handled(status) == 2).await;
    assert_eq!(bench.plugins.compiles().compiled, compiled, "the same code needs no compiling");
    bench.stop().await;
}

/// The configuration changes while the version describes itself. Invariant 40.
#[tokio::test]
async fn no_version_takes_over_with_an_outdated_configuration() {
    let config = |version: u32| {
        let subscriptions = "subscriptions: [{resource: v1/pods}]";
        host(&format!(r#"hello: {{config: {{version: "{version}", {subscriptions}}}}}"#))
    };
    let bench = Bench::start();
    bench.configurations.send_replace(config(1).into());
    bench.drop_in("hello.wasm", &slow_mirror());
    bench.until("hello", |status| is(status, "loading")).await;
    bench.configurations.send_replace(config(2).into());
    let ran = |status: Option<&PluginStatus>| {
        assert_ne!(version(status), "1", "its settings are outdated");
        is(status, "running")
    };
    bench.until("hello", ran).await;
    assert_eq!(version(bench.status("hello").as_ref()), "2");
    bench.stop().await;
}

/// The file beside the plugin's changes while the version describes itself. The load follows it, and there is no other.
#[tokio::test]
async fn a_configuration_that_changes_during_a_load_is_loaded_once() {
    let config = |version: u32| {
        let subscriptions = "subscriptions: [{resource: v1/pods}]";
        yaml(&format!(r#"config: {{version: "{version}", {subscriptions}}}"#))
    };
    let bench = Bench::start();
    bench.drop_in("hello.yaml", &config(1));
    bench.drop_in("hello.wasm", &slow_mirror());
    bench.until("hello", |status| is(status, "loading")).await;
    bench.drop_in("hello.yaml", &config(2));
    // On a machine that does nothing else for so long, the first version may be in charge before.
    let was_first = Cell::new(false);
    let runs = |status: Option<&PluginStatus>| {
        was_first.set(was_first.get() || version(status) == "1");
        is(status, "running") && version(status) == "2"
    };
    bench.until("hello", runs).await;
    // Of what the directory had before this file, all was looked at.
    bench.drop_in("other.wasm", &hello());
    bench.until("other", |status| is(status, "running")).await;
    bench.until("hello", |status| is(status, "running")).await;
    let status = bench.status("hello").expect("it is there");
    assert_eq!(status.counters.reloads_ok.load(Relaxed), u64::from(was_first.get()));
    bench.stop().await;
}

#[tokio::test]
async fn a_broken_configuration_leaves_what_runs_and_says_why() {
    let bench = Bench::start();
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running")).await;
    bench.drop_in("hello.yaml", &yaml("limit: {}"));
    let told = r#"hello.yaml line 3: unknown key \"limit\"; did you mean \"limits\"?"#;
    bench.until("hello", |status| last_load(status).contains(told)).await;
    bench.source.add(&pod("a"));
    bench.until("hello", |status| is(status, "running") && handled(status) == 1).await;
    bench.drop_in("hello.yaml", &yaml("limits: {attempts: 3}"));
    bench.until("hello", |status| last_load(status) == "\"ok\": null").await;
    let configuration = shown(bench.status("hello").as_ref(), "configuration");
    let expect = json!({ "limits.attempts": { "value": "3", "from": "hello.yaml line 3" } });
    assert_eq!(configuration, expect);
    fs::remove_file(bench.directory().join("hello.yaml")).expect("the file was there");
    bench.until("hello", |status| shown(status, "configuration") == json!({})).await;
    bench.stop().await;
}

#[tokio::test]
async fn what_the_hosts_own_file_says_anew_is_in_force_for_whom_it_concerns() {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    bench.drop_in("other.wasm", &hello());
    bench.drop_in("hello.wasm", &hello_with(r#""delivery":"metadata""#));
    for name in ["hello", "other"] {
        bench.until(name, |status| is(status, "running") && handled(status) == 1).await;
    }
    let compiled = bench.plugins.compiles().compiled;
    let says = |text: &str| _ = bench.configurations.send_replace(host(text).into());
    says("hello: {limits: {attempts: 3}}");
    let attempts = json!({ "limits.attempts": { "value": "3", "from": "host.yaml line 1" } });
    bench.until("hello", |status| shown(status, "configuration") == attempts).await;
    bench.until("hello", |status| is(status, "running")).await;
    let reloads = |status: Option<&PluginStatus>| {
        status.map_or(0, |status| status.counters.reloads_ok.load(Relaxed))
    };
    // Only the lines are other ones.
    says("# why\nhello: {limits: {attempts: 3}}");
    let moved = json!({ "limits.attempts": { "value": "3", "from": "host.yaml line 2" } });
    bench.until("hello", |status| shown(status, "configuration") == moved).await;
    assert_eq!(reloads(bench.status("hello").as_ref()), 1);

    // What is taken away is gone at once, and what runs goes on without it.
    says("hello: {reads: []}");
    let told = "it asks to read v1/pods, which is not granted";
    bench.until("hello", |status| last_load(status).contains(told)).await;
    bench.source.add(&pod("b"));
    bench.until("other", |status| is(status, "running") && handled(status) == 2).await;
    let waits = |status: Option<&PluginStatus>| shown(status, "queue")["depth"] == 1;
    bench.until("hello", |status| is(status, "running") && waits(status)).await;
    assert_eq!(handled(bench.status("hello").as_ref()), 1);
    says("{}");
    bench.until("hello", |status| last_load(status) == "\"ok\": null").await;
    assert_eq!(reloads(bench.status("other").as_ref()), 0);
    says("defaults: {limits: {attempts: 4}}");
    for name in ["hello", "other"] {
        let of_default = |status: Option<&PluginStatus>| {
            shown(status, "configuration")["limits.attempts"]["value"] == "4"
        };
        bench.until(name, of_default).await;
    }
    assert_eq!(bench.plugins.compiles().compiled, compiled, "the same code needs no compiling");
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_that_waits_runs_when_the_hosts_own_file_grants_it() {
    let bench = Bench::start();
    bench.drop_in("hello.wasm", &of_secrets());
    bench.until("hello", |status| is(status, "waiting")).await;
    let rule = "reads: [{resources: [v1/pods, v1/secrets]}]";
    bench.configurations.send_replace(host(&format!("hello: {{{rule}}}")).into());
    bench.until("hello", |status| is(status, "running")).await;
    bench.stop().await;
}

#[tokio::test]
async fn limits_of_one_plugin_are_in_force_for_it_alone() {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    let spins = super::limits::guest("", "(loop $for_ever (br $for_ever))");
    bench.drop_in("hasty.yaml", &yaml("limits: {handleTime: 50ms, attempts: 1}"));
    bench.drop_in("hasty.wasm", &spins);
    let told = "the deadline of 50 ms was exceeded";
    let letters = |status: Option<&PluginStatus>| shown(status, "deadLetters");
    // A call that failed counts, too.
    bench.until("hasty", |status| letters(status) == 1 && status.map(calls) == Some(1)).await;
    let json = bench.status("hasty").expect("it is there").to_json();
    assert!(json.to_string().contains(told), "{json}");
    bench.drop_in("roomy.wasm", &super::limits::guest("", "(drop (memory.grow (i32.const 8)))"));
    bench.drop_in("tight.yaml", &yaml("limits: {memory: 2Mi}"));
    bench.drop_in("tight.wasm", &super::limits::guest("", "(drop (memory.grow (i32.const 8)))"));
    bench
        .until("tight", |status| {
            status.is_some_and(|it| it.to_json().to_string().contains("more than 2 MiB of memory"))
        })
        .await;
    bench.until("roomy", |status| is(status, "running") && handled(status) == 1).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_file_with_another_hash_is_refused_and_both_are_told() {
    let bench = Bench::start();
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running")).await;
    let sha256 = shown(bench.status("hello").as_ref(), "sha256");
    let sha256 = sha256.as_str().expect("a hash").to_owned();
    bench.drop_in("hello.yaml", &yaml(&format!("sha256: {sha256}")));
    bench.until("hello", |status| !shown(status, "configuration")["sha256"].is_null()).await;
    bench.drop_in("hello.wasm", &hello_again(2));
    let told =
        format!("hello.yaml line 3: sha256 is to be {sha256}, and this version of hello.wasm has ");
    bench.until("hello", |status| last_load(status).contains(&told)).await;
    assert_eq!(shown(bench.status("hello").as_ref(), "sha256"), sha256);
    // Of the file that was refused nothing was compiled; another configuration lets it in.
    bench.drop_in("hello.yaml", &yaml(""));
    bench
        .until("hello", |status| shown(status, "sha256") != *sha256 && is(status, "running"))
        .await;
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_that_asks_for_more_than_it_is_granted_waits_and_says_what_would_grant_it() {
    let bench = Bench::start();
    bench.drop_in("hello.yaml", &yaml("reads: [{resources: [v1/pods], namespaces: [shop]}]"));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "waiting")).await;
    let reason = shown(bench.status("hello").as_ref(), "reason");
    let expect = "it asks to read v1/pods, which is not granted; to grant all that it asks for, write in hello.yaml: \
                  reads: [{resources: [v1/pods]}]";
    assert_eq!(reason, expect);
    bench.drop_in("hello.yaml", &yaml("reads: [{resources: [v1/pods]}]"));
    bench.until("hello", |status| is(status, "running")).await;
    bench.drop_in("hello.yaml", &yaml("reads: [{resources: ['*'], namespaces: [shop, office]}]"));
    bench.until("hello", |status| last_load(status).contains("not granted")).await;
    assert!(is(bench.status("hello").as_ref(), "running"));
    bench.drop_in("hello.wasm", &hello_with(r#""namespaces":["shop"]"#));
    bench.until("hello", |status| last_load(status) == "\"ok\": null").await;
    bench.stop().await;
}

/// `hello` that reads Secrets as well.
fn of_secrets() -> Vec<u8> {
    hello_with(r#""types":["added"]},{"name":"secrets","resource":"v1/secrets""#)
}

/// Invariant 41.
#[tokio::test]
async fn secrets_are_for_the_hosts_own_configuration_to_grant() {
    let bench = Bench::start();
    bench.drop_in("hello.yaml", &yaml("reads: [{resources: [v1/secrets, v1/pods]}]"));
    bench.drop_in("hello.wasm", &of_secrets());
    bench.until("hello", |status| is(status, "waiting")).await;
    let reason = shown(bench.status("hello").as_ref(), "reason");
    let expect = "it asks to read v1/secrets, which is not granted; to grant all that it asks for, write in the host's own \
                  configuration (--config): plugins: {hello: {reads: [{resources: [v1/pods, v1/secrets]}]}}";
    assert_eq!(reason, expect);
    assert!(!bench.informers.informers().iter().any(|it| it.resource().is_secrets()));
    bench.stop().await;
    let configured = host("hello: {reads: [{resources: [v1/pods, v1/secrets]}]}");
    let bench = Bench::start_configured(None, configured);
    bench.drop_in("hello.wasm", &of_secrets());
    bench.until("hello", |status| is(status, "running")).await;
    bench.stop().await;
    let raised = host("ceiling: {reads: [{resources: ['*', v1/secrets]}]}");
    let bench = Bench::start_configured(None, raised);
    bench.drop_in("hello.wasm", &of_secrets());
    bench.until("hello", |status| is(status, "waiting")).await;
    bench.drop_in("hello.yaml", &yaml("reads: [{resources: [v1/secrets, v1/pods]}]"));
    bench.until("hello", |status| is(status, "running")).await;
    bench.stop().await;
}

#[tokio::test]
async fn the_hosts_word_counts_more_than_the_files_and_the_ceiling_bounds_the_file() {
    let text = "defaults: {limits: {attempts: 2, logLines: 7}}\nhello: {limits: {attempts: 4}}\n\
                ceiling: {limits: {attempts: 5}}";
    let bench = Bench::start_configured(None, host(text));
    bench.drop_in("hello.yaml", &yaml("limits: {attempts: 3, deadLetters: 9}"));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running")).await;
    let configuration = shown(bench.status("hello").as_ref(), "configuration");
    let expect = json!({
        "limits.attempts": { "value": "4", "from": "host.yaml line 2" },
        "limits.deadLetters": { "value": "9", "from": "hello.yaml line 3" },
        "limits.logLines": { "value": "7", "from": "host.yaml line 1" },
    });
    assert_eq!(configuration, expect);
    bench.drop_in("hello.yaml", &yaml("limits:\n  attempts: 6"));
    let told = "hello.yaml line 4: limits.attempts is 6, and the ceiling of this host is 5";
    bench.until("hello", |status| last_load(status).contains(told)).await;
    bench.stop().await;
}

/// What the kubelet does to a mounted ConfigMap that has both files.
#[tokio::test]
async fn a_config_map_brings_plugin_and_configuration_together() {
    let bench = Bench::start();
    let directory = bench.directory();
    let publish = |generation: &str, plugin: &[u8], configuration: &[u8]| {
        let fresh = directory.join(format!("..{generation}"));
        fs::create_dir(&fresh).expect("a directory");
        fs::write(fresh.join("hello.wasm"), plugin).expect("a file");
        fs::write(fresh.join("hello.yaml"), configuration).expect("a file");
        let link = directory.join("..data_tmp");
        std::os::unix::fs::symlink(format!("..{generation}"), &link).expect("a link");
        fs::rename(link, directory.join("..data")).expect("a rename");
    };
    publish("one", &hello(), &yaml("limits: {attempts: 1}"));
    for name in ["hello.wasm", "hello.yaml"] {
        let target = format!("..data/{name}");
        std::os::unix::fs::symlink(target, directory.join(name)).expect("a link");
    }
    let attempts = |status: Option<&PluginStatus>| {
        shown(status, "configuration")["limits.attempts"]["value"].clone()
    };
    bench.until("hello", |status| is(status, "running") && attempts(status) == "1").await;
    publish("two", &hello(), &yaml("limits: {attempts: 2}"));
    bench.until("hello", |status| attempts(status) == "2").await;
    let before = shown(bench.status("hello").as_ref(), "sha256");
    publish("three", &hello_again(2), &yaml("limits: {attempts: 3}"));
    let changed = |status: Option<&PluginStatus>| shown(status, "sha256") != before;
    bench.until("hello", |status| attempts(status) == "3" && changed(status)).await;
    let reloads = bench.status("hello").expect("it runs").to_json()["counters"]["reloads"].clone();
    assert_eq!(reloads, 2, "what comes together is loaded together");
    bench.stop().await;
}

#[tokio::test]
async fn a_configuration_without_a_plugin_is_named_and_left_alone() {
    let bench = Bench::start();
    bench.drop_in("lonely.yaml", b"]");
    bench.drop_in("hello.wasm", &hello());
    bench.drop_in("hello.yml", b"]");
    bench.until("hello", |status| is(status, "running")).await;
    let told = |name: &str| {
        let problems = bench.plugins.problems();
        problems.into_iter().find(|(path, _)| path.ends_with(name)).map(|(_, text)| text)
    };
    bench.until("hello", |_| told("lonely.yaml").is_some() && told("hello.yml").is_some()).await;
    let expect = "is not used: beside it is no lonely.wasm that can be loaded";
    assert_eq!(told("lonely.yaml").as_deref(), Some(expect));
    let expect = "is not read: a plugin's configuration is called hello.yaml";
    assert_eq!(told("hello.yml").as_deref(), Some(expect));
    bench.stop().await;
}

#[tokio::test]
async fn a_name_in_the_hosts_own_file_is_a_problem_until_a_plugin_has_it_or_it_is_gone() {
    let names_hello = || host("hello: {limits: {attempts: 2}}");
    let problem = |bench: &Bench| {
        let problems = bench.plugins.problems();
        let about_names = |text: &String| text.contains("no plugin has this name");
        problems.into_iter().map(|(_, text)| text).find(about_names)
    };
    let bench = Bench::start_configured(None, names_hello());
    bench.drop_in("hallo.wasm", &hello());
    let meant = "did you mean \"hallo\"?";
    let is_told = |_: Option<&PluginStatus>| problem(&bench).is_some_and(|it| it.ends_with(meant));
    bench.until("hallo", is_told).await;
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |_| problem(&bench).is_none()).await;
    fs::remove_file(bench.directory().join("hello.wasm")).expect("the file was there");
    bench.until("hello", is_told).await;
    bench.configurations.send_replace(Arc::new(host("{}")));
    bench.until("hello", |_| problem(&bench).is_none()).await;
    bench.configurations.send_replace(Arc::new(names_hello()));
    bench.until("hello", is_told).await;
    bench.stop().await;
}

/// Invariant 40.
#[tokio::test]
async fn a_running_file_with_another_hash_than_the_configured_one_gets_nothing_more() {
    let bench = Bench::start_configured(None, host("{}"));
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| handled(status) == 1).await;
    let pinned = |hash: &str| Arc::new(host(&format!("hello: {{sha256: {hash}}}")));
    bench.configurations.send_replace(pinned(&"a".repeat(64)));
    let why = "the version that runs has no permission any more";
    bench.until("hello", |status| restricted(status).contains(why)).await;
    bench.source.add(&pod("b"));
    bench.until("hello", |status| told(status).contains("sha256 is to be aaaa")).await;
    assert_eq!(handled(bench.status("hello").as_ref()), 1);

    // The event waited.
    let running = bench.status("hello").expect("it runs").to_json()["sha256"].clone();
    bench.configurations.send_replace(pinned(running.as_str().expect("a hash")));
    bench.until("hello", |status| handled(status) == 2 && restricted(status).is_empty()).await;
    bench.stop().await;
}

/// So many pods with a plugin that is told of two a second, and what else is said of it.
async fn slow_plugin(pods: usize, more: &str) -> Bench {
    let bench = Bench::start();
    for number in 0..pods {
        bench.source.add(&pod(&format!("p{number}")));
    }
    let slow = "rateLimit: {eventsPerSecond: 2, burst: 1}";
    bench.drop_in("hello.yaml", &yaml(&format!("{slow}\n{more}")));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| handled(status) >= 1).await;
    bench
}

#[tokio::test]
async fn events_of_one_object_wait_for_each_other_and_are_told_as_one() {
    let bench = Bench::start();
    bench.drop_in("hello.yaml", &yaml("debounce: 3s"));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running")).await;
    bench.source.add(&pod("a"));
    for _ in 0..5 {
        bench.source.modify(&pod("a"));
    }
    let told = |status: Option<&PluginStatus>| {
        (handled(status), shown(status, "counters")["coalesced"].clone())
    };
    bench.until("hello", |status| told(status) == (1, 5.into())).await;
    bench.stop().await;
}

#[tokio::test]
async fn calls_are_made_at_their_rate() {
    let began = Instant::now();
    let bench = slow_plugin(4, "").await;
    let limited = |status: Option<&PluginStatus>| shown(status, "queue")["isRateLimited"] == true;
    bench.until("hello", limited).await;
    bench.until("hello", |status| handled(status) == 4 && !limited(status)).await;
    assert!(began.elapsed() >= Duration::from_millis(1_400), "{:?}", began.elapsed());
    bench.stop().await;
}

#[tokio::test]
async fn what_waits_is_told_before_a_removed_plugin_ends() {
    let bench = slow_plugin(8, "limits: {drainTime: 40s}").await;
    let counters = bench.status("hello").expect("it runs").counters;
    fs::remove_file(bench.directory().join("hello.wasm")).expect("the file was there");
    bench.until("hello", |status| is(status, "draining")).await;
    bench.source.add(&pod("late"));
    bench.until("hello", |status| status.is_none()).await;
    assert_eq!(counters.ok.load(Relaxed), 8, "all that waited, and nothing that came later");
    bench.stop().await;
}

#[tokio::test]
async fn a_replay_goes_on_to_its_end_before_a_removed_plugin_ends() {
    let bench = Bench::start();
    (0..1_500).for_each(|number| _ = bench.source.add(&pod(&format!("p{number:04}"))));
    let slow = "rateLimit: {eventsPerSecond: 500, burst: 1}\nlimits: {drainTime: 40s}";
    bench.drop_in("hello.yaml", &yaml(slow));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| handled(status) >= 1).await;
    let counters = bench.status("hello").expect("it runs").counters;
    fs::remove_file(bench.directory().join("hello.wasm")).expect("the file was there");
    bench.until("hello", |status| is(status, "draining")).await;
    // What happens now is not told.
    bench.source.modify(&pod("p1499"));
    bench.until("hello", |status| status.is_none()).await;
    let told = counters.ok.load(Relaxed);
    assert!((1_499..=1_500).contains(&told), "{told}");
    bench.stop().await;
}

#[tokio::test]
async fn a_file_that_comes_back_while_what_waits_is_told_goes_on_with_its_queue() {
    let bench = slow_plugin(8, "limits: {drainTime: 40s}").await;
    let file = bench.directory().join("hello.wasm");
    fs::remove_file(&file).expect("the file was there");
    bench.until("hello", |status| is(status, "draining")).await;
    bench.source.add(&pod("late"));
    bench.drop_in("hello.wasm", &hello_again(2));
    bench.until("hello", |status| is(status, "running") && handled(status) == 9).await;
    bench.stop().await;
}

#[tokio::test]
async fn what_cannot_be_told_in_time_is_dropped_and_so_is_all_where_that_is_wanted() {
    for more in ["limits: {drainTime: 1ms}", "onRemoval: drop"] {
        let bench = slow_plugin(40, more).await;
        let counters = bench.status("hello").expect("it runs").counters;
        fs::remove_file(bench.directory().join("hello.wasm")).expect("the file was there");
        bench.until("hello", |status| status.is_none()).await;
        assert!(counters.ok.load(Relaxed) < 40, "{more}");
        bench.stop().await;
    }
}

#[tokio::test]
async fn time_in_host_functions_is_counted() {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| handled(status) == 1).await;
    let counters = bench.status("hello").expect("it runs").counters;
    let [called, handled] =
        [counters.host_call_nanoseconds.load(Relaxed) as f64 / 1e9, counters.handle_seconds.sum()];
    assert!(called > 0.0 && called <= handled, "it logs: {called} s of {handled} s");
    bench.stop().await;
}
