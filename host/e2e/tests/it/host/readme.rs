//! The examples of `README.md` work as they stand: the plugin, the file beside it and the host's own file.

use informant_e2e::host::Line;
use informant_e2e::paths;
use serde_json::{Value, json};

use crate::host::bench::{HostBench, LINES_DEADLINE, host_fact, pod_names};

const EXAMPLE: &str = "examples/hello";

fn text(path: &str) -> String {
    let found = std::fs::read_to_string(paths::root().join(path));
    found.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fenced blocks of this language, in the page's order.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("\n```{language}\n");
    let block = |rest: &str| rest.split_once("\n```").expect("the end of a block").0.to_owned();
    page.split(&fence).skip(1).map(|rest| block(rest) + "\n").collect()
}

/// Puts README's files where its commands have them. The result is the path of the host's own file.
fn install(bench: &HostBench<'_>, directory: &tempfile::TempDir) -> String {
    let [beside, own] = <[String; 2]>::try_from(blocks(&text("README.md"), "yaml"))
        .expect("README has two files of configuration");
    std::fs::write(bench.plugins.join("hello.yaml"), beside).expect("a file");
    let file = directory.path().join("informant.yaml");
    std::fs::write(&file, own).expect("a file");
    bench.drop_plugin("hello", "hello");
    bench.drop_plugin("bandwidth", "bandwidth");
    file.display().to_string()
}

#[test]
fn readme_shows_the_files_of_the_example() {
    let readme = text("README.md");
    let file = |name: &str| text(&format!("{EXAMPLE}/{name}"));
    assert_eq!(blocks(&readme, "rust"), [file("src/lib.rs")]);
    assert_eq!(blocks(&readme, "yaml"), [file("hello.yaml"), file("informant.yaml")]);
}

#[test]
fn readme_examples_run_with_their_grants() {
    host_fact(async |bench| {
        let directory = tempfile::tempdir().expect("a directory");
        let own = install(&bench, &directory);
        let host = bench.start(&["--config", &own]).await;
        let is_running = |plugin: &Value| plugin["state"] == "running";
        let hello = host.await_plugin("hello", "it to run", is_running).await.unwrap();
        for (setting, value, place) in [
            ("limits.memory", json!("32Mi"), "hello.yaml line 4"),
            ("limits.handleTime", json!("500ms"), "hello.yaml line 4"),
            ("shards", json!("4"), "hello.yaml line 5"),
            ("reads", json!([{"resources": ["v1/pods"]}]), "hello.yaml line 6"),
        ] {
            let found = &hello["configuration"][setting];
            assert_eq!((&found["value"], &found["from"]), (&value, &json!(place)), "{hello}");
        }
        assert_eq!(hello["shards"].as_array().map(Vec::len), Some(4), "{hello}");

        // It says whom it asks: without the grant it would wait.
        let bandwidth = host.await_plugin("bandwidth", "it to run", is_running).await.unwrap();
        let from = &bandwidth["configuration"]["http"]["from"];
        assert_eq!(from, &json!(format!("{own} line 10")), "{bandwidth}");

        bench.create_pods(&pod_names(0..1)).await;
        let greeting = format!("hello: added pod {}/pod-0000", bench.namespace);
        let greets = |line: &Line| line.message() == greeting;
        host.await_line(&greeting, LINES_DEADLINE, greets).await.unwrap();
    });
}
