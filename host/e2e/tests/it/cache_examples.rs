//! Runs the examples of `informant-cache` without their command lines: each against a cluster, with its lines and
//! answers compared.
//!
//! This test compiles the examples' own files, so that it runs exactly their code.

mod programs;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use programs::pod_bandwidth_controller::{self, Bandwidth, Network, Settings};
use programs::{any_resource, controller, deployments_by_label, event_printer, node_informer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::bench::{Bench, deployment, fact, labelled_pod, pod};
use informant_e2e::api::{self, Patch};
use informant_e2e::http::{self, Answer};
use informant_e2e::poll;

/// The time for an example's work, including a change of the leader, on a busy machine.
const DEADLINE: Duration = Duration::from_secs(90);

type Outcome = anyhow::Result<()>;

/// The lines of an example.
#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<String>>>);

impl Screen {
    fn output(&self) -> Arc<dyn Fn(String) + Send + Sync> {
        let lines = self.0.clone();
        Arc::new(move |line| lines.lock().push(line))
    }

    /// Whether a line begins with this text.
    fn has(&self, line: &str) -> bool {
        self.0.lock().iter().any(|one| one.starts_with(line))
    }

    async fn await_line(&self, line: &str) {
        let shown = async || self.has(line).then_some(());
        let what = format!("a line that begins with {line:?}");
        if let Err(error) = poll::until(&what, DEADLINE, shown).await {
            panic!("{error}; there are {:#?}", self.0.lock());
        }
    }
}

/// A running example.
struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Outcome>,
}

impl Running {
    fn start<R>(run: impl FnOnce(BoxedShutdown) -> R) -> Self
    where
        R: Future<Output = Outcome> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(run(Box::pin(async { drop(stopped.await) })));
        Self { stop, task }
    }

    /// Asks the example to end, and checks that it ends without an error.
    async fn stop(self) {
        drop(self.stop);
        let ended = tokio::time::timeout(DEADLINE, self.task).await.expect("it ends in time");
        ended.expect("it does not panic").expect("it ends well");
    }
}

type BoxedShutdown = futures::future::BoxFuture<'static, ()>;

async fn client(bench: &Bench) -> kube::Client {
    api::client(&bench.kubeconfigs[0]).await.expect("a client")
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it has an address");
    (listener, address)
}

/// Sends requests until the answer is the expected one.
async fn await_answer(address: SocketAddr, path: &str, is: impl Fn(&Answer) -> bool) -> Value {
    let ask = async || http::get(address, path).ok().filter(|answer| is(answer));
    match poll::until(&format!("the answer to {path}"), DEADLINE, ask).await {
        Ok(answer) => answer.json(),
        Err(error) => panic!("{error}; it is {:?}", http::get(address, path)),
    }
}

#[track_caller]
fn check_refused(address: SocketAddr, path: &str, status: u16, text: &str) {
    let answer = http::get(address, path).expect("an answer");
    let message = answer.json()["msg"].as_str().unwrap_or_default().to_owned();
    assert_eq!(answer.status, status, "{path}: {message}");
    assert!(message.contains(text), "{path}: {message}");
}

#[test]
fn event_printer_prints_what_is_there_and_what_happens() {
    fact(async |bench| {
        let [first, second] = ["first", "second"].map(|name| format!("{name}-{}", bench.namespace));
        let pods = bench.core("pods");
        bench.create(&pods, &pod(&first)).await;
        let screen = Screen::default();
        let (client, out) = (client(bench).await, screen.output());
        let running = Running::start(|stop| event_printer::run(client, out, stop));
        screen.await_line(&format!("namespace: {}, name: {first}", bench.namespace)).await;
        screen.await_line(&format!("AddFunc: {first}")).await;

        bench.create(&pods, &pod(&second)).await;
        screen.await_line(&format!("AddFunc: {second}")).await;
        let labels = json!({"metadata": {"labels": {"a": "b"}}});
        let path = format!("{pods}/{second}");
        bench.api.patch(&path, Patch::Merge, &labels).await.expect(200);
        screen.await_line(&format!("old: {second}")).await;
        screen.await_line(&format!("new: {second}")).await;
        bench.api.delete(&format!("{path}?gracePeriodSeconds=0")).await;
        screen.await_line(&format!("deleteFunc: {second}")).await;
        running.stop().await;
    });
}

#[test]
fn controller_labels_sandboxes_and_nothing_else() {
    fact(async |bench| {
        let [sandbox, other] =
            ["sandbox", "other"].map(|name| format!("{name}-{}", bench.namespace));
        let namespace = |name: &str, labels: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
        bench.create("/api/v1/namespaces", &namespace(&other, json!({}))).await;
        let client = client(bench).await;
        let running = Running::start(|stop| controller::run(client, stop));
        bench.create("/api/v1/namespaces", &namespace(&sandbox, json!({"sandbox": ""}))).await;
        let level = async |name: &str| {
            let found = bench.api.get(&format!("/api/v1/namespaces/{name}")).await.expect(200);
            found["metadata"]["labels"]["pod-security.kubernetes.io/enforce"].clone()
        };
        let labelled = async || (level(&sandbox).await == "restricted").then_some(());
        poll::until("the label", DEADLINE, labelled).await.expect("it is set");
        assert_eq!(level(&other).await, Value::Null);
        running.stop().await;
        for name in [sandbox, other] {
            bench.api.delete(&format!("/api/v1/namespaces/{name}")).await.expect(200);
        }
    });
}

#[test]
fn readme_of_the_cache_shows_the_controller() {
    let at =
        |path: &str| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cache").join(path);
    let read = |path| std::fs::read_to_string(at(path)).expect("a file");
    let block = format!("```rust\n{}```", read("examples/controller.rs"));
    assert!(
        read("README.md").contains(&block),
        "host/cache/README.md has another text than examples/controller.rs"
    );
}

#[test]
fn node_informer_prints_the_nodes_and_those_that_join() {
    fact(async |bench| {
        let node =
            |name: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
        let [first, second] = ["one", "two"].map(|name| format!("{name}-{}", bench.namespace));
        bench.create("/api/v1/nodes", &node(&first)).await;
        let screen = Screen::default();
        let (client, out) = (client(bench).await, screen.output());
        let running = Running::start(|stop| node_informer::run(client, out, stop));
        screen.await_line(&format!("add a node: {first}")).await;
        screen.await_line(&format!("node: {first}, kubelet: ")).await;
        bench.create("/api/v1/nodes", &node(&second)).await;
        screen.await_line(&format!("add a node: {second}")).await;
        running.stop().await;
        for name in [first, second] {
            bench.api.delete(&format!("/api/v1/nodes/{name}")).await.expect(200);
        }
    });
}

#[test]
fn deployments_by_label_answers_what_the_labels_select() {
    fact(async |bench| {
        let app = format!("app-{}", bench.namespace);
        let mut labelled = deployment("labelled", 1);
        labelled["metadata"]["labels"] = json!({"k8s-app": app, "tier": "x"});
        bench.create(&bench.apps("deployments"), &labelled).await;
        let (client, (listener, address)) = (client(bench).await, listener().await);
        let running = Running::start(|stop| deployments_by_label::run(client, listener, stop));

        let path = format!("/deploy?labels[k8s-app]={app}");
        let found = await_answer(address, &path, |answer| answer.status == 200).await;
        let names: Vec<_> = found["data"].as_array().expect("a list").iter().collect();
        assert_eq!(names.len(), 1, "{found}");
        assert_eq!(names[0]["metadata"]["name"], "labelled");
        assert_eq!(names[0]["kind"], "Deployment");
        let both = format!("/deploy?labels%5Bk8s-app%5D={app}&labels[tier]=y");
        assert_eq!(http::get(address, &both).expect("an answer").json(), json!({"data": []}));
        let all = http::get(address, "/deploy").expect("an answer").json();
        assert!(!all["data"].as_array().expect("a list").is_empty());
        check_refused(address, "/deploy?label=x", 400, "unknown parameter");
        check_refused(address, "/deploy?labels[a]=b,!c", 400, "not one label");
        running.stop().await;
    });
}

#[test]
fn any_resource_answers_what_the_cluster_has() {
    fact(async |bench| {
        let name = format!("web-{}", bench.namespace);
        bench.create(&bench.core("pods"), &labelled_pod(&name, &[])).await;
        let (client, (listener, address)) = (client(bench).await, listener().await);
        let running = Running::start(|stop| any_resource::run(client, listener, stop));

        let has = |answer: &Answer| answer.status == 200 && answer.body.contains(&name);
        let pods = await_answer(address, "/core/v1/pods", has).await;
        assert!(pods["msg"].is_array());
        let deployments = await_answer(address, "/apps/v1/deployments", |a| a.status == 200).await;
        assert!(deployments["msg"].is_array());
        check_refused(address, "/core/v1/nothings", 404, "there is no resource v1/nothings");
        check_refused(address, "/nowhere.example/v1/pods", 404, "there is no resource");
        check_refused(address, "/core/v1/secrets", 403, "not served");
        check_refused(address, "/core/v1/PODS", 400, "resource");
        running.stop().await;
    });
}

/// The bandwidths that the network was given, in order.
#[derive(Default)]
struct Told(Mutex<Vec<(String, Bandwidth)>>);

impl Network for Told {
    fn set_bandwidth(&self, pod: &str, bandwidth: Bandwidth) -> Result<(), String> {
        let mut told = self.0.lock();
        let seen = told.iter().any(|(one, _)| one == pod);
        told.push((pod.to_owned(), bandwidth));
        // The first request fails, so that the controller must retry.
        if seen { Ok(()) } else { Err("network is down".to_owned()) }
    }
}

impl Told {
    fn of(&self, pod: &str) -> Vec<Bandwidth> {
        self.0
            .lock()
            .iter()
            .filter(|(one, _)| one == pod)
            .map(|(_, bandwidth)| *bandwidth)
            .collect()
    }
}

struct Replica {
    running: Running,
    screen: Screen,
    told: Arc<Told>,
}

impl Replica {
    async fn start(bench: &Bench, enable_podlimit: bool) -> Self {
        let (screen, told) = (Screen::default(), Arc::new(Told::default()));
        let lease_namespace = bench.namespace.clone();
        let settings = Settings { enable_podlimit, workers: 2, lease_namespace };
        let (client, out, network) = (client(bench).await, screen.output(), told.clone());
        let running = Running::start(|stop| {
            pod_bandwidth_controller::run(client, settings, network, out, stop)
        });
        Self { running, screen, told }
    }
}

fn limits(ingress: &str) -> Value {
    json!({"metadata": {"annotations": {"kubernetes.io/ingress-bandwidth": ingress}}})
}

#[test]
fn pod_bandwidth_controller_sets_what_changed_while_it_leads() {
    fact(async |bench| {
        let (pods, key) = (bench.core("pods"), format!("{}/web", bench.namespace));
        bench.create(&pods, &pod("web")).await;
        let leader = Replica::start(bench, true).await;
        leader.screen.await_line("leading, term 0").await;
        let second = Replica::start(bench, true).await;

        let path = format!("{pods}/web");
        bench.api.patch(&path, Patch::Merge, &limits("10M")).await.expect(200);
        let limit = Bandwidth { ingress: Some(10_000_000), egress: None };
        let set = async || (leader.told.of(&key) == [limit, limit]).then_some(());
        poll::until("the limit to be set, at the second try", DEADLINE, set).await.expect("it is");

        bench.api.patch(&path, Patch::Merge, &limits("fast")).await.expect(200);
        let complaint = "\"fast\" is no quantity, such as 64Mi, 10M or 4096: it does not begin with a number, or with a negative one";
        leader.screen.await_line(&format!("pod {key}: {complaint}")).await;
        bench.api.patch(&path, Patch::Merge, &limits("20M")).await.expect(200);
        let limit = Bandwidth { ingress: Some(20_000_000), egress: None };
        let set = async || (leader.told.of(&key).last() == Some(&limit)).then_some(());
        poll::until("the new limit to be set", DEADLINE, set).await.expect("it is");
        assert_eq!(second.told.of(&key), [], "it does not lead");

        leader.running.stop().await;
        assert!(leader.screen.has("stopped with 0 pods left over"));
        second.screen.await_line("leading, term 1").await;
        let set = async || (second.told.of(&key).last() == Some(&limit)).then_some(());
        poll::until("the next leader to look at every pod", DEADLINE, set).await.expect("it does");
        second.running.stop().await;
        let lease = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{}/leases/pod-bandwidth-controller",
            bench.namespace
        );
        let lease = bench.api.get(&lease).await.expect(200);
        assert_eq!(lease["spec"]["holderIdentity"].as_str().unwrap_or_default(), "");
    });
}

#[test]
fn pod_bandwidth_controller_does_nothing_unless_it_is_switched_on() {
    fact(async |bench| {
        let (pods, key) = (bench.core("pods"), format!("{}/web", bench.namespace));
        let mut limited = pod("web");
        limited["metadata"]["annotations"] = limits("10M")["metadata"]["annotations"].clone();
        bench.create(&pods, &limited).await;
        let off = Replica::start(bench, false).await;
        off.screen.await_line("leading, term 0").await;
        bench.api.patch(&format!("{pods}/web"), Patch::Merge, &limits("20M")).await.expect(200);
        off.running.stop().await;
        assert_eq!(off.told.of(&key), []);
    });
}
