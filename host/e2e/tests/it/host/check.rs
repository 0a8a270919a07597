//! Plugin files without a host: what they are, and what a host that runs them needs.

use crate::host::bench::{HostBench, host_fact};
use informant_e2e::host::run_to_end;
use serde_json::{Value, json};

/// What the program says of the files, and whether it succeeded.
fn said(bench: &HostBench<'_>, arguments: &[&str]) -> (bool, String) {
    let output = run_to_end(&bench.program, arguments).expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).expect("it is text"))
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
