//! A host beside a separate cluster, with pods for its plugins.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Method;
use serde_json::json;

use crate::bench::{fact_with_own_cluster, labelled_pod};
use crate::burst::{Burst, JSON, MERGE};
use informant_e2e::api::Api;
use informant_e2e::cluster::{TestCluster, User};
use informant_e2e::host::{self, Host};
pub use informant_e2e::printed::{told, told_line};
use informant_e2e::{paths, poll, skip};

/// How long a test waits for lines, on a busy machine.
pub const LINES_DEADLINE: Duration = Duration::from_secs(300);

/// The resources of a fact about the host. The host watches all namespaces.
pub struct HostBench<'a> {
    pub cluster: &'a mut TestCluster,
    pub api: Api,
    pub namespace: String,
    pub program: PathBuf,
    /// The watched directory. It is empty at first.
    pub plugins: PathBuf,
}

/// The first lines of every configuration file, up to its kind.
pub const CONFIGURATION_HEAD: &str = "apiVersion: informant.dev/v1alpha1\nkind: ";

/// The content of the Secret that a fact creates, as the API server shows it, and as text.
pub const SECRET: &str = "eHl6enkh";
pub const SECRET_TEXT: &str = "xyzzy!";

/// Runs a fact with a cluster and an empty plugin directory. Skipped with a message if the program is not built.
pub fn host_fact(run: impl AsyncFnOnce(HostBench<'_>)) {
    let Some(program) = host::program().expect("the program that is named exists") else {
        let why = "target/debug/informant is not built; `cargo build -p informant` builds it";
        return skip::say(why);
    };
    fact_with_own_cluster(async |cluster, namespace| {
        let dir = tempfile::tempdir().expect("a directory for plugins");
        let api = cluster.api(User::Admin).await.expect("a client");
        let plugins = dir.path().to_owned();
        let namespace = namespace.to_owned();
        run(HostBench { cluster, api, namespace, program, plugins }).await;
    });
}

impl HostBench<'_> {
    /// Puts a built plugin into the directory under this name, by rename.
    pub fn drop_plugin(&self, built: &str, name: &str) {
        drop_file(&built_plugin(built), &self.plugins.join(format!("{name}.wasm")));
    }

    /// Writes the file beside a plugin with its limits: lines of YAML like `memory: 16Mi`.
    pub fn limit_plugin(&self, name: &str, limits: &str) {
        let text = format!("{CONFIGURATION_HEAD}PluginConfiguration\nlimits:\n  {limits}\n");
        std::fs::write(self.plugins.join(format!("{name}.yaml")), text).expect("a file");
    }

    /// Starts the host as the administrator and waits until it is ready.
    pub async fn start(&self, more: &[&str]) -> Host {
        let host = self.start_unready(User::Admin, more).await;
        host.await_ready().await.unwrap();
        host
    }

    /// Starts the host. It serves when this returns.
    pub async fn start_unready(&self, user: User, more: &[&str]) -> Host {
        let kubeconfig = self.cluster.kubeconfig(user);
        Host::start(&self.program, &kubeconfig, &self.plugins, more).await.unwrap()
    }

    /// The pods of the fact's namespace.
    pub fn pods(&self) -> String {
        format!("/api/v1/namespaces/{}/pods", self.namespace)
    }

    /// Creates the Secret `password` with [`SECRET`]. Returns the path of its collection.
    pub async fn create_secret(&self) -> String {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "password"},
            "data": {"password": SECRET},
        });
        let collection = format!("/api/v1/namespaces/{}/secrets", self.namespace);
        self.api.create(&collection, &secret).await.expect(201);
        collection
    }

    /// Creates these pods, many of them at once.
    pub async fn create_pods(&self, names: &[String]) {
        let body = |name: &str| labelled_pod(name, &[("app", "burst")]).to_string();
        let burst = self.burst(Method::POST, JSON, &[201, 409]);
        burst.send(names, |name| (self.pods(), body(name))).await;
    }

    /// Changes a label of each pod, many of them at once.
    pub async fn label_pods(&self, names: &[String]) {
        let patch = json!({"metadata": {"labels": {"app": "labelled"}}}).to_string();
        let burst = self.burst(Method::PATCH, MERGE, &[200]);
        burst.send(names, |name| (format!("{}/{name}", self.pods()), patch.clone())).await;
    }

    /// Deletes each pod, many of them at once.
    pub async fn delete_pods(&self, names: &[String]) {
        let burst = self.burst(Method::DELETE, JSON, &[200, 404]);
        burst.send(names, |name| (format!("{}/{name}", self.pods()), String::new())).await;
    }

    fn burst<'a>(
        &'a self,
        method: Method,
        content_type: &'static str,
        done: &'a [u16],
    ) -> Burst<'a> {
        Burst { api: &self.api, method, content_type, done }
    }
}

/// A plugin or test guest that make has built.
pub fn built_plugin(name: &str) -> PathBuf {
    let target = paths::target_directory();
    let file = format!("{name}.wasm");
    let places = [target.join("plugins").join(&file), target.join("test-guests").join(&file)];
    let found = places.iter().find(|place| place.exists());
    found.unwrap_or_else(|| panic!("no {file}: run `make plugins test-guests`")).clone()
}

/// Writes the file as an installer does: as a copy beside the old file, and then by rename.
pub fn drop_file(from: &Path, to: &Path) {
    let partial = to.with_extension("partial");
    std::fs::copy(from, &partial).expect("the plugin can be copied");
    std::fs::rename(&partial, to).expect("the plugin can be renamed into place");
}

/// `pod-0000` and so on.
pub fn pod_names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("pod-{number:04}")).collect()
}

/// Waits until event-printer has logged `change` for this number of pods.
pub async fn await_told(host: &Host, namespace: &str, change: &str, pods: usize) {
    let plugin = "event-printer";
    // Each line is looked at once, however often it is asked.
    let (mut seen, mut names) = (0, BTreeSet::new());
    let enough = async || {
        for line in host.new_lines_of(plugin, &mut seen) {
            if let Some((told, name)) = told_line(line.message(), namespace)
                && told == change
            {
                names.insert(name.to_owned());
            }
        }
        (names.len() >= pods).then_some(())
    };
    let what = format!("{plugin} to tell `{change}` of {pods} pods");
    if let Err(error) = poll::until(&what, LINES_DEADLINE, enough).await {
        panic!("{error}: it was told of {}; last lines:\n{}", names.len(), host.tail());
    }
}
