//! The bandwidth controller with exactly the grants of `plugin check` and the role of `rbac`. With these the plugin
//! works. Without a part of them, its error names the missing part.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use informant_e2e::api::Patch;
use informant_e2e::cluster::{ClusterKind, User};
use informant_e2e::host::{Line, run_to_end};
use informant_e2e::{paths, poll, skip};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::bench::labelled_pod;
use crate::host::bench::{CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, host_fact};
use crate::host::shipped::bind;

const NAME: &str = "bandwidth";
const INGRESS: &str = "kubernetes.io/ingress-bandwidth";
const EGRESS: &str = "kubernetes.io/egress-bandwidth";

/// The received requests: path and body.
type Puts = Arc<Mutex<Vec<(String, Value)>>>;

/// A server that sets bandwidths.
struct Endpoint {
    address: SocketAddr,
    puts: Puts,
    serving: JoinHandle<()>,
}

impl Endpoint {
    async fn start() -> Self {
        let puts = Puts::default();
        let router = axum::Router::new().fallback(put).with_state(puts.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self { address, puts, serving }
    }

    /// Waits until this is the last request for the pod.
    async fn await_put(&self, path: &str, body: &Value) {
        let last = || {
            let puts = self.puts.lock();
            puts.iter().rev().find(|(of, _)| of == path).is_some_and(|(_, put)| put == body)
        };
        let what = format!("{body} to be put at {path}; {:?}", self.puts.lock());
        poll::until(&what, LINES_DEADLINE, async || last().then_some(())).await.unwrap();
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn put(State(puts): State<Puts>, request: Request) -> Json<Value> {
    let path = format!("{} {}", request.method(), request.uri().path());
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.expect("a body");
    puts.lock().push((path, serde_json::from_slice(&body).expect("it is JSON")));
    Json(json!({}))
}

/// The host's own file, with the settings of the plugin.
struct Configured<'a> {
    bench: &'a HostBench<'a>,
    file: PathBuf,
    endpoint: SocketAddr,
}

impl Configured<'_> {
    /// Writes the file with these lines below the plugin's name.
    fn write(&self, lines: &[String]) {
        let endpoint = format!("http://{}/v1", self.endpoint);
        let config = json!({"enabled": true, "endpoint": endpoint, "addresses": "loopback"});
        let lines: String = lines.iter().map(|line| format!("    {line}\n")).collect();
        let text =
            format!("{HEAD}HostConfiguration\nplugins:\n  {NAME}:\n    config: {config}\n{lines}");
        std::fs::write(&self.file, text).expect("a file");
    }

    fn said(&self, command: &[&str]) -> (bool, String) {
        let [plugin, file] = [self.bench.plugins.join(format!("{NAME}.wasm")), self.file.clone()]
            .map(|path| path.display().to_string());
        let more = [plugin.as_str(), "--config", &file];
        let output = run_to_end(&self.bench.program, &[command, &more].concat()).expect("it runs");
        let text = String::from_utf8(output.stdout).expect("it is text");
        let problem = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), text + &problem)
    }

    /// The output of `plugin check` for the plugin with these lines.
    fn check(&self, lines: &[String]) -> Value {
        self.write(lines);
        let (success, text) = self.said(&["plugin", "check", "-o", "json"]);
        assert!(success, "{text}");
        serde_json::from_str::<Value>(&text).expect("it is JSON")[0].take()
    }

    /// The role that `rbac` prints, unchanged.
    fn role(&self) -> String {
        let (success, text) = self.said(&["rbac", "--name", NAME]);
        assert!(success, "{text}");
        let role = text.split("---\n").find(|document| document.contains("\nkind: ClusterRole\n"));
        role.unwrap_or_else(|| panic!("no ClusterRole: {text}")).to_owned()
    }
}

/// The line with this part replaced.
#[track_caller]
fn without(line: &str, part: &str, by: &str) -> String {
    assert!(line.contains(part), "{part} is in {line}");
    line.replace(part, by)
}

#[test]
fn it_runs_with_what_is_printed_for_it_and_nothing_more() {
    host_fact(async |bench| {
        let beside = paths::root().join("plugins/bandwidth/bandwidth.yaml");
        std::fs::copy(beside, bench.plugins.join("bandwidth.yaml")).expect("it is shipped");
        bench.drop_plugin(NAME, NAME);
        let endpoint = Endpoint::start().await;
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("informant.yaml");
        let configured = Configured { bench: &bench, file, endpoint: endpoint.address };
        let wants = configured.check(&[]);
        let list = |key: &str| wants[key].as_array().cloned().unwrap_or_default();
        let grant: Vec<String> =
            list("grant").iter().filter_map(|line| line.as_str().map(str::to_owned)).collect();
        assert_eq!(grant.len(), 2, "{wants}");
        assert_eq!(configured.check(&grant)["notGranted"], Value::Null);
        bind(&bench, NAME, &configured.role()).await;

        let own = configured.file.display().to_string();
        let host = bench.start_unready(User::Reader, &["--config", &own]).await;
        host.await_ready().await.unwrap();
        let mut pod = labelled_pod("web", &[("app", "web")]);
        pod["metadata"]["annotations"] = json!({INGRESS: "10M"});
        assert_eq!(bench.api.create(&bench.pods(), &pod).await.status, 201);
        let path = format!("PUT /v1/namespaces/{}/pods/web", bench.namespace);
        endpoint.await_put(&path, &json!({"ingress": 10_000_000, "egress": null})).await;
        for (annotations, expect) in [
            (json!({INGRESS: "1.5k", EGRESS: "1Gi"}), json!({"ingress": 1500, "egress": 1 << 30})),
            (json!({INGRESS: null, EGRESS: null}), json!({"ingress": null, "egress": null})),
        ] {
            let patch = json!({"metadata": {"annotations": annotations}});
            let web = format!("{}/web", bench.pods());
            assert_eq!(bench.api.patch(&web, Patch::Merge, &patch).await.status, 200);
            endpoint.await_put(&path, &expect).await;
        }
        let timed = |line: &Line| {
            let text = &line.text;
            line.message().starts_with("set pod ") && text.contains("queue=podUpdateQueue took=")
        };
        host.await_line("a line with its duration", LINES_DEADLINE, timed).await.unwrap();
        let workers = host.plugin(NAME).unwrap()["shards"].as_array().map(Vec::len);
        assert_eq!(workers, Some(4));
        // The plugin ignores pods of other namespaces.
        assert!(endpoint.puts.lock().iter().all(|(put, _)| *put == path));
    });
}

#[test]
fn each_part_that_is_missing_is_named() {
    host_fact(async |bench| {
        bench.drop_plugin(NAME, NAME);
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("informant.yaml");
        let endpoint = SocketAddr::from(([127, 0, 0, 1], 8099));
        let configured = Configured { bench: &bench, file, endpoint };
        let reads = "reads: [{resources: [v1/pods]}]".to_owned();
        let http = format!(
            "http: [{{origins: [\"http://{endpoint}\"], methods: [PUT], paths: [\"/v1\"], addresses: [loopback]}}]"
        );
        assert_eq!(configured.check(&[reads.clone(), http.clone()])["notGranted"], Value::Null);
        let no_pods = "reads: [{resources: [v1/nodes]}]".to_owned();
        for (lines, names) in [
            (vec![reads.clone()], "PUT http://127.0.0.1:8099 below /v1 at loopback addresses"),
            (vec![reads.clone(), without(&http, "8099", "8098")], "http://127.0.0.1:8099"),
            (vec![reads.clone(), without(&http, "PUT", "POST")], "PUT http://127.0.0.1:8099"),
            (vec![reads.clone(), without(&http, "\"/v1\"", "\"/v2\"")], "below /v1"),
            (vec![reads, without(&http, ", addresses: [loopback]", "")], "at loopback addresses"),
            (vec![no_pods, http], "v1/pods"),
        ] {
            let looked = configured.check(&lines);
            let why = looked["notGranted"].as_str().unwrap_or_default();
            assert!(why.contains(names) && why.contains("to grant"), "{lines:?}: {looked}");
        }
    });
}

#[test]
fn a_role_without_a_verb_is_named_by_its_host() {
    host_fact(async |bench| {
        if bench.cluster.kind() == ClusterKind::Embedded {
            return skip::say("the embedded cluster has no roles; `make e2e` tests it");
        }
        bench.drop_plugin(NAME, NAME);
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("informant.yaml");
        let endpoint = SocketAddr::from(([127, 0, 0, 1], 8099));
        let configured = Configured { bench: &bench, file, endpoint };
        let grant = configured.check(&[])["grant"].clone();
        let lines = grant.as_array().expect("lines").iter();
        configured
            .write(&lines.map(|line| line.as_str().expect("text").to_owned()).collect::<Vec<_>>());
        let role = configured.role();
        bind(&bench, NAME, &without(&role, "list, watch", "list")).await;
        let own = configured.file.display().to_string();
        let host = bench.start_unready(User::Reader, &["--config", &own]).await;
        let forbidden = |plugin: &Value| {
            let shown = plugin.to_string();
            shown.contains("forbidden") && shown.contains("cannot watch")
        };
        host.await_plugin(NAME, "to be shown as forbidden to watch", forbidden).await.unwrap();
    });
}
