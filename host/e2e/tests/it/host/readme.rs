//! The examples of `README.md` work unchanged: the plugin, the file beside it, the host's own file, and the commands
//! that run plugins.

use informant_e2e::api::Patch;
use informant_e2e::host::Line;
use informant_e2e::poll;
use serde_json::{Value, json};

use crate::host::bench::{HostBench, LINES_DEADLINE, host_fact, pod_names};
use crate::host::commands::{Place, page, steps};

const HELLO: &str = "examples/hello";
const CONTROLLER: &str = "examples/default-deny";

/// The fenced blocks of this language, in the page's order.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("\n```{language}\n");
    let block = |rest: &str| rest.split_once("\n```").expect("the end of a block").0.to_owned();
    page.split(&fence).skip(1).map(|rest| block(rest) + "\n").collect()
}

/// Puts README's plugins and files at the paths of its commands. Returns the path of the host's own file.
fn install(bench: &HostBench<'_>, directory: &tempfile::TempDir) -> String {
    let [own, beside] = <[String; 2]>::try_from(blocks(&page("README.md"), "yaml"))
        .expect("README has two files of configuration");
    std::fs::write(bench.plugins.join("hello.yaml"), beside).expect("a file");
    let file = directory.path().join("informant.yaml");
    std::fs::write(&file, own).expect("a file");
    bench.drop_plugin("hello", "hello");
    bench.drop_plugin("default-deny", "default-deny");
    file.display().to_string()
}

#[test]
fn readme_shows_the_files_of_the_examples() {
    let readme = page("README.md");
    let [whole, part] = <[String; 2]>::try_from(blocks(&readme, "rust")).expect("two plugins");
    assert_eq!(whole, page(&format!("{HELLO}/src/lib.rs")));
    let controller = page(&format!("{CONTROLLER}/src/lib.rs"));
    assert!(controller.contains(&part), "{CONTROLLER} has no such part: {part}");
    let files = [format!("{CONTROLLER}/informant.yaml"), format!("{HELLO}/hello.yaml")];
    assert_eq!(blocks(&readme, "yaml"), files.map(|file| page(&file)));
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

        // Without the grant, the controller would wait.
        let controller = host.await_plugin("default-deny", "it to run", is_running).await.unwrap();
        let from = &controller["configuration"]["writes"]["from"];
        assert_eq!(from, &json!(format!("{own} line 6")), "{controller}");
        check_policy_follows_label(&bench, "true", 200).await;
        check_opened_policy_is_closed(&bench).await;
        check_policy_follows_label(&bench, "false", 404).await;

        bench.create_pods(&pod_names(0..1)).await;
        let greeting = format!("hello: added pod {}/pod-0000", bench.namespace);
        let greets = |line: &Line| line.message() == greeting;
        host.await_line(&greeting, LINES_DEADLINE, greets).await.unwrap();
    });
}

/// Checks whether the policy exists in the fact's namespace with this value of the label.
async fn check_policy_follows_label(bench: &HostBench<'_>, label: &str, expect: u16) {
    let namespace = &bench.namespace;
    let labels = json!({"metadata": {"labels": {"default-deny": label}}});
    let path = format!("/api/v1/namespaces/{namespace}");
    bench.api.patch(&path, Patch::Merge, &labels).await.expect(200);
    let path = policy_path(bench);
    let is_so = async || (bench.api.get(&path).await.status == expect).then_some(());
    let change = format!("the policy after default-deny={label}");
    poll::until(&change, LINES_DEADLINE, is_so).await.unwrap();
}

/// A rule that another client adds to the policy is removed again.
async fn check_opened_policy_is_closed(bench: &HostBench<'_>) {
    let path = policy_path(bench);
    let open = json!({"spec": {"ingress": [{}]}});
    bench.api.patch(&path, Patch::Merge, &open).await.expect(200);
    let is_closed = async || {
        let policy = bench.api.get(&path).await.expect(200);
        policy["spec"]["ingress"].is_null().then_some(())
    };
    poll::until("the policy without the rule", LINES_DEADLINE, is_closed).await.unwrap();
}

fn policy_path(bench: &HostBench<'_>) -> String {
    let namespace = &bench.namespace;
    format!("/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/default-deny")
}

/// README's section on running plugins.
fn section() -> String {
    let readme = page("README.md");
    let (_, section) = readme.split_once("\n## Run it\n").expect("the section");
    section.split_once("\n### ").expect("its end").0.to_owned()
}

#[test]
fn readme_commands_run_as_they_stand() {
    host_fact(async |bench| {
        let commands = Place::new(&bench).carry_out(&steps(&section())).await;
        assert!(commands > 12, "{commands}");
    });
}
