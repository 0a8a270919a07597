//! Bad input leads at once to a clear error and an exit code.

use std::net::TcpListener;
use std::process::Output;

use crate::host::admin::check as check_said;
use crate::host::bench::host_fact;
use informant_e2e::cluster::User;
use informant_e2e::host::{Line, run_to_end};

/// Checks the exit code, and that the error contains all these words.
#[track_caller]
fn check(output: &Output, code: i32, words: &[&str]) {
    let error = String::from_utf8_lossy(&output.stderr);
    let said = format!("{error}{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "no {word:?} in:\n{said}");
    }
    assert!(!said.contains("panicked at"), "{said}");
    assert!(!said.contains("stack backtrace"), "{said}");
}

#[test]
fn missing_plugin_directory() {
    host_fact(async |bench| {
        let kubeconfig = bench.cluster.kubeconfig(User::Admin).display().to_string();
        let plugins = bench.plugins.join("nowhere").display().to_string();
        let arguments = ["run", "--kubeconfig", &kubeconfig, "--plugins", &plugins];
        let output = run_to_end(&bench.program, &arguments).unwrap();
        check(&output, 1, &[&plugins]);
    });
}

#[test]
fn plugin_directory_that_is_a_file() {
    host_fact(async |bench| {
        let kubeconfig = bench.cluster.kubeconfig(User::Admin).display().to_string();
        let plugins = bench.plugins.join("file");
        std::fs::write(&plugins, "").unwrap();
        let plugins = plugins.display().to_string();
        let arguments = ["run", "--kubeconfig", &kubeconfig, "--plugins", &plugins];
        check(&run_to_end(&bench.program, &arguments).unwrap(), 1, &[&plugins]);
    });
}

#[test]
fn kubeconfig_that_is_missing_or_garbage() {
    host_fact(async |bench| {
        let plugins = bench.plugins.display().to_string();
        let garbage = bench.plugins.join("garbage.yaml");
        std::fs::write(&garbage, "clusters: [").unwrap();
        for path in [bench.plugins.join("nowhere.yaml"), garbage] {
            let path = path.display().to_string();
            let arguments = ["run", "--kubeconfig", &path, "--plugins", &plugins];
            check(&run_to_end(&bench.program, &arguments).unwrap(), 1, &[&path]);
        }
    });
}

#[test]
fn context_that_the_kubeconfig_lacks() {
    host_fact(async |bench| {
        let kubeconfig = bench.cluster.kubeconfig(User::Admin).display().to_string();
        let plugins = bench.plugins.display().to_string();
        let arguments =
            ["run", "--kubeconfig", &kubeconfig, "--context", "nowhere", "--plugins", &plugins];
        check(&run_to_end(&bench.program, &arguments).unwrap(), 1, &["nowhere"]);
    });
}

#[test]
fn address_that_is_in_use() {
    host_fact(async |bench| {
        let kubeconfig = bench.cluster.kubeconfig(User::Admin).display().to_string();
        let plugins = bench.plugins.display().to_string();
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let arguments =
            ["run", "--kubeconfig", &kubeconfig, "--plugins", &plugins, "--listen", &address];
        check(&run_to_end(&bench.program, &arguments).unwrap(), 1, &[&address, "in use"]);
    });
}

#[test]
fn flags_that_are_wrong() {
    host_fact(async |bench| {
        let plugins = bench.plugins.display().to_string();
        for wrong in [
            vec!["run", "--plugins", &plugins, "--listen", "nonsense"],
            vec!["run", "--plugins", &plugins, "--log-format", "xml"],
            vec!["run", "--no-such-flag"],
            vec!["no-such-command"],
        ] {
            let output = run_to_end(&bench.program, &wrong).unwrap();
            check(&output, 2, &[wrong.last().unwrap()]);
        }
    });
}

#[test]
fn fatal_errors_keep_the_format_of_the_log() {
    host_fact(async |bench| {
        let plugins = bench.plugins.join("nowhere").display().to_string();
        let arguments = ["run", "--log-format", "json", "--plugins", &plugins];
        let output = run_to_end(&bench.program, &arguments).unwrap();
        check(&output, 1, &[&plugins]);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let lines = String::from_utf8(output.stdout).expect("it is text");
        let lines: Vec<Line> = lines.lines().map(Line::of).collect();
        let last = lines.last().expect("a line");
        assert_eq!(last.field("level"), Some("ERROR"), "{lines:?}");
        assert!(last.message().contains(&plugins), "{lines:?}");
    });
}

/// The largest number of plugins of one host.
const PLUGINS_MAX: usize = 2048;

#[test]
fn plugin_files_above_the_bound_are_said_to_be_too_many() {
    host_fact(async |bench| {
        for number in 0..=PLUGINS_MAX {
            std::fs::write(bench.plugins.join(format!("p{number}.wasm")), "no").expect("a file");
        }
        let host = bench.start(&[]).await;
        let plugins = host.get("/plugins").expect("an answer").json();
        assert_eq!(plugins.as_array().map(Vec::len), Some(PLUGINS_MAX));
        let expect =
            "has more plugin files than are loaded, by 1: one host runs at most 2048 plugins";
        let problems = host.get("/problems").expect("an answer").body;
        assert!(problems.contains(expect), "{problems}");
        check_said(&bench, &host, &["plugin", "list"], expect);
        let metrics = host.get("/metrics").expect("an answer").body;
        let line = metrics.lines().find(|line| line.starts_with("informant_files_not_loaded{}"));
        assert_eq!(line, Some("informant_files_not_loaded{} 1.0"));
    });
}
