//! Plugin files without a host: their declarations, and the grants that they need.

use crate::host::bench::{CONFIGURATION_HEAD as HEAD, HostBench, host_fact};
use crate::host::outbound::Server;
use informant_e2e::host::run_to_end;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::path::Path;
use std::process::Command;

/// The program's output about the files, and whether it succeeded.
fn said(bench: &HostBench<'_>, arguments: &[&str]) -> (bool, String) {
    let output = run_to_end(&bench.program, arguments).expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).expect("it is text"))
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    host_fact(async |bench| {
        // The text of the second is kept in memory in part, until the end.
        for arguments in [&["version"][..], &["completion", "bash"]] {
            let full = OpenOptions::new().write(true).open("/dev/full").expect("a device");
            let mut command = Command::new(&bench.program);
            let output = command.args(arguments).stdout(full).output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            let expect =
                "error: standard output cannot be written: No space left on device (os error 28)\n";
            assert_eq!((output.status.code(), &*said), (Some(1), expect), "{arguments:?}");
        }
    });
}

#[test]
fn plugin_files_are_looked_at_without_a_host() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        bench.limit_plugin("event-printer", "memory: 16Mi");
        std::fs::write(bench.plugins.join("broken.wasm"), b"#!/bin/sh").expect("a file");
        let file = |name: &str| bench.plugins.join(name).display().to_string();
        let (good, broken) = (file("event-printer.wasm"), file("broken.wasm"));

        let (success, text) = said(&bench, &["plugin", "check", &good, "-o", "json"]);
        assert!(success, "{text}");
        let looked: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(looked[0]["name"], "event-printer");
        assert_eq!(looked[0]["contract"], "informant:plugin@0.1.0");
        assert_eq!(looked[0]["limits"], json!({ "memory": "16Mi" }));
        assert_eq!(looked[0]["notGranted"], Value::Null);
        let list = |key: &str| looked[0][key].as_array().cloned().unwrap_or_default();
        assert!(list("exports").contains(&"handler".into()), "{text}");
        assert!(list("imports").contains(&"log".into()), "{text}");

        let (success, text) = said(&bench, &["plugin", "check", &good, &broken]);
        assert!(!success, "{text}");
        let expect = "broken.wasm: not a plugin of this host: not a WebAssembly file";
        assert!(text.contains(expect) && text.contains("1 of 2 files"), "{text}");

        std::fs::remove_file(&broken).expect("it is there");
        let plugins = bench.plugins.display().to_string();
        let (success, text) = said(&bench, &["rbac", &plugins, "--name", "printer"]);
        assert!(success && text.contains("name: \"printer\""), "{text}");
        let rules = list("rbac");
        let resources =
            rules.iter().flat_map(|rule| rule["resources"].as_array().into_iter().flatten());
        for resource in resources {
            assert!(text.contains(&resource.to_string()), "{resource} is in {text}");
        }
        assert!(!rules.is_empty());
    });
}

/// A plugin that writes, and sends HTTP requests to this server by its name.
struct Asking<'a> {
    bench: &'a HostBench<'a>,
    own: &'a Path,
    config: Value,
}

impl Asking<'_> {
    /// Writes the host's own file with these grants, each as a line of YAML.
    fn grant(&self, lines: &[String]) {
        let lines: String = lines.iter().map(|line| format!("    {line}\n")).collect();
        let text = format!(
            "{HEAD}HostConfiguration\nplugins:\n  asking:\n    config: {}\n{lines}",
            self.config
        );
        std::fs::write(self.own, text).expect("it is written");
    }

    /// The output of `check` for the plugin with the host's own file.
    fn report(&self) -> Value {
        let file = self.bench.plugins.join("asking.wasm").display().to_string();
        let own = self.own.display().to_string();
        let (_, text) =
            said(self.bench, &["plugin", "check", &file, "--config", &own, "-o", "json"]);
        let report: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
        report[0].clone()
    }
}

/// The grants that `check` prints are enough: with them in the host's own file, the plugin runs, writes, and reaches a
/// server behind a name without a public address.
#[test]
fn grants_that_are_printed_suffice() {
    host_fact(async |bench| {
        let server = Server::start(String::new());
        let namespace = &bench.namespace;
        let objects = format!("/api/v1/namespaces/{namespace}/configmaps");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mood"}});
        bench.api.create(&objects, &object).await.expect(201);
        let own = tempfile::NamedTempFile::new().expect("a file");
        let config = json!({
            "as": "controller", "resource": "v1/configmaps", "namespace": namespace,
            "mood": "asks", "writes": true,
            "origin": format!("http://localhost:{}", server.address.port()),
        });
        let asking = Asking { bench: &bench, own: own.path(), config };
        asking.grant(&[]);
        bench.drop_plugin("moods", "asking");
        let own = own.path().display().to_string();
        let host = bench.start(&["--config", &own]).await;
        let waits = |plugin: &Value| plugin["state"] == "waiting";
        host.await_plugin("asking", "to wait for grants", waits).await.unwrap();

        let report = asking.report();
        assert!(report["notGranted"].is_string(), "{report}");
        let lines = report["grant"].as_array().into_iter().flatten();
        let lines: Vec<String> = lines.filter_map(Value::as_str).map(str::to_owned).collect();
        asking.grant(&lines);
        assert_eq!(asking.report()["notGranted"], Value::Null, "{lines:?}");
        let works = |plugin: &Value| {
            plugin["counters"]["keysOk"].as_u64() > Some(0) && plugin["why"] == json!([])
        };
        host.await_plugin("asking", "to do all that it asks for", works).await.unwrap();
        assert_eq!(server.asked()[0], "GET /ok -");
    });
}
