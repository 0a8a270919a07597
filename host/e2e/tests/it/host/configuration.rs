//! The configuration of a plugin: the file beside it, and the host's own file.

use crate::host::bench::{
    CONFIGURATION_HEAD as HEAD, LINES_DEADLINE, await_told, host_fact, pod_names,
};
use informant_e2e::cluster::User;
use informant_e2e::host::{Line, run_to_end};
use informant_e2e::poll;
use serde_json::{Value, json};

fn is_running(plugin: &Value) -> bool {
    plugin["state"] == "running"
}

#[test]
fn file_beside_a_plugin_and_the_hosts_own_are_in_force() {
    host_fact(async |bench| {
        let directory = tempfile::tempdir().expect("a directory");
        let own = directory.path().join("informant.yaml");
        let text = format!("{HEAD}HostConfiguration\nceiling: {{limits: {{memory: 32Mi}}}}\n");
        std::fs::write(&own, text).expect("a file");
        let own = own.display().to_string();
        bench.limit_plugin("event-printer", "memory: 16Mi");
        bench.drop_plugin("event-printer", "event-printer");
        let host = bench.start(&["--config", &own]).await;
        let plugin = host.await_plugin("event-printer", "it to run", is_running).await.unwrap();
        let expect = json!({
            "limits.memory": { "value": "16Mi", "from": "event-printer.yaml line 4" },
        });
        assert_eq!(plugin["configuration"], expect);
        let metrics = host.get("/metrics").expect("an answer").body;
        let line = r#"informant_plugin_limit{plugin="event-printer",limit="memory",unit="bytes"} 16777216.0"#;
        assert!(metrics.contains(line), "{metrics}");

        bench.limit_plugin("event-printer", "memory: 64Mi");
        let refused = |plugin: &Value| plugin["lastLoad"]["result"] == "failed";
        let plugin = host.await_plugin("event-printer", "a refusal", refused).await.unwrap();
        let expect = "event-printer.yaml line 4: limits.memory is 64Mi, and the ceiling of this host is 32Mi";
        assert_eq!(plugin["lastLoad"]["reason"], expect);
        assert!(is_running(&plugin), "{plugin}");
        bench.create_pods(&pod_names(0..1)).await;
        await_told(&host, &bench.namespace, "added", 1).await;
    });
}

#[test]
fn the_hosts_own_file_is_followed_while_it_runs() {
    host_fact(async |bench| {
        let directory = tempfile::tempdir().expect("a directory");
        let own = directory.path().join("informant.yaml");
        let says = |text: &str| {
            // As a deployment does it: the file is written beside its place and then renamed.
            let next = own.with_extension("next");
            std::fs::write(&next, format!("{HEAD}HostConfiguration\n{text}\n")).expect("a file");
            std::fs::rename(&next, &own).expect("it takes the other's place");
        };
        says("ceiling: {limits: {memory: 32Mi}}");
        bench.drop_plugin("event-printer", "event-printer");
        let host = bench.start(&["--config", &own.display().to_string()]).await;
        host.await_plugin("event-printer", "it to run", is_running).await.unwrap();

        says(
            "plugins: {event-printer: {limits: {memory: 48Mi}}, other: {reads: [{resources: [v1/secrets]}]}}",
        );
        let memory = |size: &'static str| {
            move |plugin: &Value| plugin["configuration"]["limits.memory"]["value"] == size
        };
        host.await_plugin("event-printer", "its new limit", memory("48Mi")).await.unwrap();
        let warned = |line: &Line| line.message().contains("plugins.other.reads has v1/secrets");
        host.await_line("a warning of Secrets", LINES_DEADLINE, warned).await.unwrap();

        says("plugins: {event-printer: {limits: {memroy: 64Mi}}}");
        let problem = async || {
            let problems = host.get("/problems").ok()?.json();
            let text = problems[0]["text"].as_str()?.to_owned();
            text.contains("unknown key \"memroy\"").then_some(text)
        };
        let text =
            poll::until("what is wrong with the file", LINES_DEADLINE, problem).await.unwrap();
        assert!(text.ends_with("what it said before stays in force"), "{text}");
        let metric = |line: &str| {
            let metrics = host.get("/metrics").expect("an answer").body;
            assert!(metrics.contains(line), "{metrics}");
        };
        metric("informant_configuration_in_force{} 0.0");
        let plugin = host.plugin("event-printer").unwrap();
        assert!(is_running(&plugin) && memory("48Mi")(&plugin), "{plugin}");

        says("plugins: {event-printer: {limits: {memory: 40Mi}}}");
        host.await_plugin("event-printer", "its third limit", memory("40Mi")).await.unwrap();
        metric("informant_configuration_in_force{} 1.0");
        metric("informant_configuration_reloads_total{result=\"ok\"} 2");
        bench.create_pods(&pod_names(0..1)).await;
        await_told(&host, &bench.namespace, "added", 1).await;
    });
}

#[test]
fn grants_beside_a_plugin_that_the_host_does_not_let_it_have_are_in_the_log_when_they_are_read() {
    host_fact(async |bench| {
        let beside = bench.plugins.join("event-printer.yaml");
        let grant = |verb: &str| {
            let rule = format!("writes: [{{resources: [v1/pods], verbs: [{verb}]}}]");
            let text = format!("{HEAD}PluginConfiguration\n{rule}\n");
            std::fs::write(&beside, text).expect("a file");
        };
        grant("patch");
        bench.drop_plugin("event-printer", "event-printer");
        let host = bench.start(&[]).await;
        for verb in ["patch", "delete"] {
            grant(verb);
            let expect = format!("not in force: writes ({verb} of v1/pods)");
            let is_said = |line: &Line| {
                line.field("plugin") == Some("event-printer") && line.message().contains(&expect)
            };
            let line = host.await_line(&expect, LINES_DEADLINE, is_said).await.unwrap();
            assert_eq!(line.field("level"), Some("WARN"), "{line:?}");
        }
    });
}

#[test]
fn host_does_not_start_with_a_configuration_that_it_does_not_understand() {
    host_fact(async |bench| {
        let directory = tempfile::tempdir().expect("a directory");
        let own = directory.path().join("informant.yaml");
        let text = format!("{HEAD}HostConfiguration\ndefaults:\n  limits: {{memroy: 32Mi}}\n");
        std::fs::write(&own, text).expect("a file");
        let kubeconfig = bench.cluster.kubeconfig(User::Admin).display().to_string();
        let (plugins, own) = (bench.plugins.display().to_string(), own.display().to_string());
        let arguments =
            ["run", "--kubeconfig", &kubeconfig, "--plugins", &plugins, "--config", &own];
        let output = run_to_end(&bench.program, &arguments).unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let expect = "informant.yaml line 4: defaults.limits: unknown key \"memroy\"; did you mean \"memory\"?";
        assert!(said.contains(expect), "{said}");
        assert_eq!(output.status.code(), Some(1), "{said}");
    });
}
