//! The shipped plugins, as `make plugins` builds them, each with its shipped file, and with a user that has exactly
//! the printed role.

mod config_reloader;
mod event_printer;
mod node_watcher;
mod offline;
mod orphan_finder;
mod restart_alert;

use std::path::{Path, PathBuf};

use http::{Method, header};
use informant_e2e::cluster::User;
use informant_e2e::host::{Host, Line, run_to_end};
use informant_e2e::{paths, skip};
use serde_json::{Value, json};

use crate::host::bench::{
    CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, drop_file, host_fact,
};
use crate::host::sdk::is_asked_for;

const RBAC: &str = "rbac.authorization.k8s.io";

/// A shipped plugin in the plugin directory, and the host's own file.
struct Shipped<'a> {
    bench: HostBench<'a>,
    name: &'static str,
    /// Also for other files of a fact.
    directory: tempfile::TempDir,
}

/// A fact about a plugin. `edit` changes the shipped file beside it. Skipped with a message if the plugin is not
/// built.
fn shipped_fact(
    name: &'static str,
    language: &str,
    edit: impl Fn(String) -> String,
    fact: impl AsyncFnOnce(Shipped<'_>),
) {
    let built = paths::target_directory().join("plugins").join(format!("{name}.wasm"));
    if !built.exists() {
        assert!(!is_asked_for(language), "make plugins has not built {name}");
        return skip::say(&format!("{name} is not built; `make {language}-plugins` builds it"));
    }
    host_fact(async |bench| {
        let beside = format!("plugins/{name}/{name}.yaml");
        let text = std::fs::read_to_string(paths::root().join(beside)).expect("it is shipped");
        std::fs::write(bench.plugins.join(format!("{name}.yaml")), edit(text)).expect("a file");
        drop_file(&built, &bench.plugins.join(format!("{name}.wasm")));
        let directory = tempfile::tempdir().expect("a directory");
        fact(Shipped { bench, name, directory }).await;
    });
}

/// The shipped file with these lines of `config`. Each line replaces the comment that begins with its key.
#[track_caller]
fn with_config(text: &str, lines: &[&str]) -> String {
    let mut text = text.replacen("config: {}\n", "config:\n", 1);
    for line in lines {
        let key = line.split(':').next().expect("a key");
        let commented = text.lines().find(|shown| shown.starts_with(&format!("  # {key}:")));
        let commented = commented.unwrap_or_else(|| panic!("the file shows no {key}")).to_owned();
        text = text.replacen(&commented, &format!("  {line}"), 1);
    }
    text
}

impl Shipped<'_> {
    /// The host's own file.
    fn own(&self) -> PathBuf {
        self.directory.path().join("informant.yaml")
    }

    /// Writes this text into the host's own file, below its head.
    fn configure(&self, text: &str) {
        std::fs::write(self.own(), format!("{HEAD}HostConfiguration\n{text}")).expect("a file");
    }

    /// The program's output about the plugin, and whether it succeeded.
    fn said(&self, command: &[&str]) -> (bool, String) {
        let [plugin, own] =
            [self.bench.plugins.join(format!("{}.wasm", self.name)), self.own()].map(shown);
        let more = [plugin.as_str(), "--config", &own];
        let output = run_to_end(&self.bench.program, &[command, &more].concat()).expect("it runs");
        let text = String::from_utf8(output.stdout).expect("it is text");
        let problem = String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text + &problem)
    }

    /// The output of `plugin check` for the configured plugin.
    fn check(&self) -> Value {
        let (success, text) = self.said(&["plugin", "check", "-o", "json"]);
        assert!(success, "{text}");
        serde_json::from_str::<Value>(&text).expect("it is JSON")[0].take()
    }

    /// Starts the host as a user that has only the role that `rbac` prints, and waits until the plugin runs.
    async fn start(&self, more: &[&str]) -> Host {
        assert_eq!(self.check()["notGranted"], Value::Null);
        let (success, text) = self.said(&["rbac", "--name", self.name]);
        assert!(success, "{text}");
        let role = text.split("---\n").find(|document| document.contains("\nkind: ClusterRole\n"));
        bind(&self.bench, self.name, role.unwrap_or_else(|| panic!("no ClusterRole: {text}")))
            .await;
        let own = shown(self.own());
        let arguments = [&["--config", own.as_str()], more].concat();
        let host = self.bench.start_unready(User::Reader, &arguments).await;
        host.await_plugin(self.name, "it to run", |plugin| plugin["state"] == "running")
            .await
            .unwrap();
        host
    }

    /// Waits for a line of the plugin that contains all of these words.
    async fn says(&self, host: &Host, words: &[&str]) -> Line {
        let has = |line: &Line| {
            line.field("plugin") == Some(self.name)
                && words.iter().all(|word| line.text.contains(word))
        };
        let what = format!("{} to say {words:?}", self.name);
        host.await_line(&what, LINES_DEADLINE, has).await.unwrap()
    }
}

fn shown(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}

/// The value of a series that contains all of these words. Whole numbers only.
fn measured(host: &Host, series: &str, words: &[&str]) -> Option<u64> {
    let metrics = host.get("/metrics").ok()?.body;
    let begin = format!("{series}{{");
    let mut lines = metrics.lines().filter(|line| line.starts_with(&begin));
    let line = lines.find(|line| words.iter().all(|word| line.contains(word)))?;
    line.rsplit(' ').next()?.trim_end_matches(".0").parse().ok()
}

/// Gives this role to the user of the host, and removes the previous one.
pub async fn bind(bench: &HostBench<'_>, name: &str, role: &str) {
    let collection = |kind: &str| format!("/apis/{RBAC}/v1/{kind}");
    let (roles, bindings) = (collection("clusterroles"), collection("clusterrolebindings"));
    bench.api.delete(&format!("{roles}/{name}")).await;
    let yaml = [(header::CONTENT_TYPE, "application/yaml")];
    let path = format!("{roles}?fieldValidation=Strict");
    let made = bench.api.call(Method::POST, &path, &yaml, role.as_bytes().to_vec()).await;
    assert_eq!(made.status, 201, "{role}: {}", String::from_utf8_lossy(&made.body));
    let subject = json!({"apiGroup": RBAC, "kind": "User", "name": User::Reader.name()});
    let binding = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}, "subjects": [subject],
    });
    let bound = bench.api.create(&bindings, &binding).await;
    assert!([201, 409].contains(&bound.status.as_u16()), "{}", bound.status);
}
