//! Plugins in other languages, as `make sdk-go` and its like build them: the template of each SDK, and a plugin that
//! fails in every way that its language has.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::bench::labelled_pod;
use crate::host::bench::{CONFIGURATION_HEAD, HostBench, LINES_DEADLINE, drop_file, host_fact};
use informant_e2e::host::{Host, Line, run_to_end};
use informant_e2e::{paths, skip};

/// Whether the make target of this language's SDK runs the facts. Its plugins must be built then.
pub fn is_asked_for(language: &str) -> bool {
    std::env::var("INFORMANT_SDK").is_ok_and(|named| named == language)
}

/// A fact about the plugins of a language: `fails`, and the template as `hello`. Skipped with a message if they are
/// not built.
fn sdk_fact(language: &str, fact: impl AsyncFnOnce(HostBench<'_>, Host)) {
    let built = |name: &str| -> PathBuf {
        paths::target_directory().join("sdk").join(format!("{name}-{language}.wasm"))
    };
    let (hello, fails) = (built("hello"), built("fails"));
    if !hello.exists() || !fails.exists() {
        assert!(
            !is_asked_for(language),
            "make sdk-{language} has built neither or not both plugins"
        );
        return skip::say(&format!("its plugins are not built; `make sdk-{language}` builds them"));
    }
    host_fact(async |bench| {
        let greeting = "config: {greeting: good morning}";
        let text = format!("{CONFIGURATION_HEAD}PluginConfiguration\n{greeting}\n");
        std::fs::write(bench.plugins.join("hello.yaml"), text).expect("a file");
        bench.limit_plugin("fails", "attempts: 5");
        let runs = |plugin: &Value| plugin["state"] == "running";
        drop_file(&hello, &bench.plugins.join("hello.wasm"));
        let host = bench.start(&[]).await;
        host.await_plugin("hello", "it to run", runs).await.unwrap();
        // One after the other: a large file takes long to compile.
        drop_file(&fails, &bench.plugins.join("fails.wasm"));
        host.await_plugin("fails", "it to run", runs).await.unwrap();
        fact(bench, host).await;
    });
}

/// Creates a pod with an order for the plugin.
async fn create(bench: &HostBench<'_>, name: &str, does: &str) {
    let mut pod = labelled_pod(name, &[("app", "sdk")]);
    pod["metadata"]["annotations"] = json!({ "does": does });
    bench.api.create(&bench.pods(), &pod).await.expect(201);
}

/// Waits for a line of a plugin that contains all of these words. Returns the line.
async fn says(host: &Host, plugin: &str, words: &[&str]) -> String {
    let has = |line: &Line| {
        line.field("plugin") == Some(plugin) && words.iter().all(|word| line.text.contains(word))
    };
    let what = format!("{plugin} to say {words:?}");
    host.await_line(&what, LINES_DEADLINE, has).await.unwrap().text
}

fn last_error(plugin: &Value) -> &str {
    plugin["lastError"]["message"].as_str().unwrap_or_default()
}

/// The common behaviour of all languages: the template logs its greeting, a returned error is a failed event with its
/// words, and the instance continues.
async fn check_failure(bench: &HostBench<'_>, host: &Host) {
    create(bench, "web", "").await;
    let pod = format!("pod={}/web", bench.namespace);
    says(host, "hello", &["good morning", "change=added", &pod]).await;
    says(host, "fails", &["well", &pod]).await;

    create(bench, "failing", "fail").await;
    let is_dead = |plugin: &Value| {
        plugin["deadLetters"] == 1 && last_error(plugin) == "the plugin answered: asked to fail"
    };
    host.await_plugin("fails", "a dead letter", is_dead).await.unwrap();
    check_goes_on(bench, host, "after-failure").await;
    check_carries(bench, host).await;
}

/// The next version begins with the state of the previous one. Another file is another version.
async fn check_carries(bench: &HostBench<'_>, host: &Host) {
    let file = bench.plugins.join("fails.wasm");
    let mut next = std::fs::read(&file).expect("it was dropped there");
    // A section without meaning: its kind, its size, the size of its name, and its name.
    next.extend([0, 2, 1, b'n']);
    let place = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&place, next).expect("it is written");
    drop_file(place.path(), &file);
    says(host, "fails", &["restored", "from=0.1.0"]).await;
    create(bench, "after-swap", "").await;
    says(host, "fails", &["well", "/after-swap"]).await;
}

/// Checks the plugin's runs without a cluster, by a word of the output for each order. The clock of such a run does
/// not wait between attempts.
fn check_offline(bench: &HostBench<'_>, sins: &[(&str, &str)]) {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(place.path().join("cluster")).expect("a directory");
    let events = sins.iter().map(|(does, _)| {
        let mut pod = labelled_pod(does, &[]);
        pod["metadata"]["namespace"] = json!("default");
        pod["metadata"]["annotations"] = json!({ "does": does });
        let event = json!({ "resource": "v1/pods", "change": "added", "object": pod });
        // The breaker opens and closes meanwhile.
        format!("{event}\n{}\n", json!({ "wait": "5m" }))
    });
    std::fs::write(place.path().join("events.jsonl"), events.collect::<String>()).expect("a file");
    let shown = |path: PathBuf| path.display().to_string();
    let plugin = shown(bench.plugins.join("fails.wasm"));
    let [objects, events] = ["cluster", "events.jsonl"].map(|name| shown(place.path().join(name)));
    let run = ["plugin", "test", &plugin, "--objects", &objects, "--events", &events];
    let output = run_to_end(&bench.program, &run).expect("it runs");
    let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("it is text");
    assert_eq!(output.status.success(), !text.contains(" gave up\n"), "{text}");
    for (does, words) in sins {
        let key = format!("change=added key=default/{does}");
        let own = text.split(&key).skip(1).find(|own| own.contains(words));
        assert!(own.is_some(), "{does} has no {words}: {text}");
    }
}

/// Checks that the same instance handles the next event.
async fn check_goes_on(bench: &HostBench<'_>, host: &Host, name: &str) {
    create(bench, name, "").await;
    says(host, "fails", &["well", &format!("/{name}")]).await;
    let plugin = host.plugin("fails").unwrap();
    assert_eq!(plugin["counters"]["restarts"], json!({}), "the instance goes on: {plugin}");
}

/// The common behaviour of languages that catch panics and have WASI.
async fn check(bench: &HostBench<'_>, host: &mut Host, panic: &str) {
    check_failure(bench, host).await;
    create(bench, "panicking", "panic").await;
    let failed = |plugin: &Value| last_error(plugin).contains(panic);
    host.await_plugin("fails", "an event that failed", failed).await.unwrap();
    check_goes_on(bench, host, "after").await;

    create(bench, "looking", "look").await;
    says(host, "fails", &["looked", "environment=0"]).await;
    let empty = host.plugin("fails").unwrap()["wasi"]["empty"].clone();
    assert!(empty.as_array().is_some_and(|empty| empty.contains(&"files".into())), "{empty}");
    host.check_running().unwrap();
}

/// Checks the answer to `use`, in lower case: the plugin called the whole contract, and calls without a grant were
/// refused.
fn check_used(used: &str) {
    let used = used.to_lowercase();
    for word in [
        "none=true",
        "found=true",
        "value=2",
        "keys=1",
        "pods=true",
        "synced=true",
        "leader=true",
        "plugin=fails",
        "old=true",
    ] {
        assert!(used.contains(word), "{word} is not in {used}");
    }
    for word in ["refused", "denied", "closed"] {
        assert!(used.contains(&format!("{word}=")), "{word} is not in {used}");
        assert!(!used.contains(&format!("{word}=none")), "{used}");
    }
}

/// The common behaviour of languages without exceptions: a panic is logged with its reason and traps. The event's
/// failure contains these words. Only this instance ends, and the next one continues.
async fn check_traps(bench: &HostBench<'_>, host: &mut Host, language: &str, panic: &str) {
    says(host, "fails", &["synced", "subscription=0"]).await;
    says(host, "fails", &["fired", "schedule=soon"]).await;
    check_failure(bench, host).await;
    create(bench, "using", "use").await;
    check_used(&says(host, "fails", &["used", "using"]).await);
    says(host, "fails", &["reconciled", "attempt=1", "waiting=0"]).await;
    counts(host, language);

    create(bench, "panicking", "panic").await;
    says(host, "fails", &["handle ended its instance: trap: ", panic]).await;
    create(bench, "after", "").await;
    says(host, "fails", &["well", "/after"]).await;
    let is_dead = |plugin: &Value| plugin["deadLetters"] == 2 && last_error(plugin).contains(panic);
    host.await_plugin("fails", "to be given up", is_dead).await.unwrap();
    let hello = host.plugin("hello").unwrap();
    assert_eq!(hello["counters"]["restarts"], json!({}), "it is no other's matter: {hello}");
    host.check_running().unwrap();
}

/// Checks that the host has the plugin's counter.
fn counts(host: &Host, language: &str) {
    let metrics = host.get("/metrics").unwrap().body;
    let mut series = metrics.lines().filter(|line| line.starts_with("sdk_total{"));
    let language = format!("language=\"{language}\"");
    assert!(series.any(|line| line.contains(&language) && line.contains("} 1")), "{metrics}");
}

/// The common behaviour of languages with exceptions.
async fn check_exceptions(bench: &HostBench<'_>, host: &mut Host, language: &str, panic: &str) {
    says(host, "fails", &["synced", "subscription=0"]).await;
    says(host, "fails", &["fired", "schedule=soon"]).await;
    check(bench, host, panic).await;
    says(host, "fails", &[panic, "stack="]).await;
    create(bench, "using", "use").await;
    check_used(&says(host, "fails", &["used", "using"]).await);
    says(host, "fails", &["reconciled", "attempt=1", "waiting=0"]).await;
    counts(host, language);
}

#[test]
fn js() {
    sdk_fact("js", async |bench, mut host| {
        check_exceptions(&bench, &mut host, "js", "asked to panic by panicking").await;
        says(&host, "fails", &["looked", "clock=true", "random=true"]).await;
    });
}

/// The same with types, and with the lines of the source in a stack.
#[test]
fn typescript() {
    sdk_fact("typescript", async |bench, mut host| {
        check_exceptions(&bench, &mut host, "typescript", "asked to panic by panicking").await;
        says(&host, "fails", &["asked to panic by panicking", &panicking_line()]).await;
        says(&host, "fails", &["used", "swapped=true", "shard=0/1"]).await;
    });
}

/// The place of the panic in the source, as a stack has it.
fn panicking_line() -> String {
    let source = paths::root().join("plugin-sdk/typescript/fails/src/plugin.ts");
    let text = std::fs::read_to_string(source).expect("a source");
    let line = text.lines().position(|line| line.contains("asked to panic by")).expect("a line");
    format!("src/plugin.ts:{})", line + 1)
}

#[test]
fn python() {
    sdk_fact("python", async |bench, mut host| {
        let panic = "ValueError: asked to panic by panicking";
        check_exceptions(&bench, &mut host, "python", panic).await;
        let looked = says(&host, "fails", &["looked", "file=False", "slept=True"]).await;
        assert!(looked.contains("environment=0"), "{looked}");
        says(&host, "fails", &["printed True", "stream=stdout"]).await;

        create(&bench, "exiting", "exit").await;
        let failed = |plugin: &Value| last_error(plugin).contains("SystemExit: 3");
        host.await_plugin("fails", "an event that failed", failed).await.unwrap();
        let plugin = host.plugin("fails").unwrap();
        assert_eq!(plugin["counters"]["restarts"], json!({}), "the instance goes on: {plugin}");
    });
}

#[test]
fn go() {
    sdk_fact("go", async |bench, mut host| {
        says(&host, "fails", &["synced", "subscription=0"]).await;
        says(&host, "fails", &["fired", "schedule=soon", "ago=true"]).await;
        check(&bench, &mut host, "panic: asked to panic by panicking").await;
        says(&host, "fails", &["looked", "slept=true", "file=open /etc/passwd"]).await;

        create(&bench, "using", "use").await;
        check_used(&says(&host, "fails", &["used", "name=using", "ok=true", "swapped=true"]).await);
        says(&host, "fails", &["reconciled", "attempt=1", "waiting=0"]).await;
        counts(&host, "go");

        create(&bench, "exiting", "exit").await;
        says(&host, "fails", &["that was all", "stream=stdout"]).await;
        // The first WASI has exit codes. The second only has success and failure.
        says(&host, "fails", &["handle ended its instance", "it called exit(1)"]).await;
        let runs = |plugin: &Value| plugin["state"] == "running";
        host.await_plugin("hello", "it to go on", runs).await.unwrap();
        host.check_running().unwrap();
    });
}

/// JavaScript as `informant dev` builds it, with a smaller QuickJS and its source written into a component.
#[test]
fn js_dev() {
    sdk_fact("js-dev", async |bench, mut host| {
        check_exceptions(&bench, &mut host, "js", "asked to panic by panicking").await;
        let place = "js/fails/plugin.js:";
        says(&host, "fails", &["asked to panic by panicking", place]).await;
    });
}

#[test]
fn c() {
    sdk_fact("c", async |bench, mut host| {
        check_traps(&bench, &mut host, "c", "asked to panic by panicking").await;
        check_offline(&bench, &[("exhaust", "more than 64 MiB of memory were asked for")]);
    });
}

#[test]
fn zig() {
    sdk_fact("zig", async |bench, mut host| {
        check_traps(&bench, &mut host, "zig", "panic: asked to panic by panicking").await;
        let sins = [
            ("overflow", "trap: panic: integer overflow (wasm `unreachable`"),
            ("recurse", "trap: out of bounds memory access"),
            ("exhaust", "more than 64 MiB of memory were asked for"),
            ("look", "message=looked"),
        ];
        check_offline(&bench, &sins);
    });
}

#[test]
fn assemblyscript() {
    sdk_fact("assemblyscript", async |bench, mut host| {
        check_traps(&bench, &mut host, "assemblyscript", "asked to panic by panicking").await;
        says(&host, "fails", &["asked to panic by panicking", "at=assembly/index.ts:"]).await;
        let sins = [
            ("look", "message=looked fields=\"environment=0 clock=true random=true\""),
            ("wait", "\"againAfterMs\":50"),
            ("overrun", "trap: Index out of range (wasm `unreachable`"),
            ("recurse", "trap: stack overflow: functions call each other too deep (wasm"),
            ("spin", "the deadline of 1000 ms was exceeded"),
            ("hoard", "more than 64 MiB of memory were asked for"),
        ];
        check_offline(&bench, &sins);
    });
}
