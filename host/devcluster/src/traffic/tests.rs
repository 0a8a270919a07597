use jiff::Timestamp;
use serde_json::{Value, json};

use super::binding::Binding;
use super::simulation::Simulation;
use super::world::{Key, Kind};
use super::*;
use crate::store::{DeleteOptions, Store, Target, WriteOptions};

/// A cluster with traffic, whose time the test controls.
struct Bench {
    store: Store,
    simulation: Simulation,
    binding: Binding,
    now: Timestamp,
    /// The number of changes so far, by all clients.
    changes: usize,
}

impl Bench {
    fn new(options: TrafficOptions) -> Self {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let mut bench = Self {
            store: Store::new(options.seed, now),
            simulation: Simulation::new(options),
            binding: Binding::default(),
            now,
            changes: 0,
        };
        let operations = bench.simulation.install(now);
        Binding::apply(&mut bench.store, &mut bench.simulation, &operations, now);
        bench
    }

    /// Controllers alone, with their nodes.
    fn quiet() -> Self {
        let mut bench =
            Self::new(TrafficOptions { kubernetes_events: false, ..Default::default() });
        bench.pass(1_000);
        bench
    }

    /// Lets time pass in the steps of the driver.
    fn pass(&mut self, milliseconds: i64) {
        let end = time::later(self.now, milliseconds);
        while self.now < end {
            self.now = time::later(self.now, 50);
            let before = self.store.resource_version();
            self.binding.pump(&self.store, &mut self.simulation, self.now);
            let operations = self.simulation.step(self.now);
            Binding::apply(&mut self.store, &mut self.simulation, &operations, self.now);
            self.changes += (self.store.resource_version() - before) as usize;
        }
        self.simulation.check_invariants();
    }

    fn create(&mut self, kind: Kind, namespace: &str, object: Value) {
        let resource = self.store.catalogue().find(&kind.resource()).cloned().expect("served");
        let options = WriteOptions::at(self.now);
        self.store.create(&resource, Some(namespace), object, options).expect("it is valid");
    }

    fn change(&mut self, kind: Kind, name: &str, change: impl FnOnce(&mut Value)) {
        self.change_subresource(kind, name, None, change);
    }

    fn change_subresource(
        &mut self,
        kind: Kind,
        name: &str,
        subresource: Option<&str>,
        change: impl FnOnce(&mut Value),
    ) {
        let resource = &self.store.catalogue().find(&kind.resource()).cloned().expect("served");
        let namespace = resource.namespaced.then_some("default");
        let mut object = self.get(kind, name).expect("it is there");
        change(&mut object);
        let target = Target { resource, namespace, name, subresource };
        self.store.update(&target, object, WriteOptions::at(self.now)).expect("it is valid");
    }

    fn delete(&mut self, kind: Kind, name: &str) {
        let resource = &self.store.catalogue().find(&kind.resource()).cloned().expect("served");
        let namespace = resource.namespaced.then_some("default");
        let target = Target { resource, namespace, name, subresource: None };
        let options = WriteOptions::at(self.now);
        self.store.delete(&target, &DeleteOptions::default(), options).expect("it is there");
    }

    fn get(&self, kind: Kind, name: &str) -> Option<Value> {
        self.list(kind).into_iter().find(|object| object["metadata"]["name"] == name)
    }

    /// All objects of a kind in the default namespace, or without a namespace.
    fn list(&self, kind: Kind) -> Vec<Value> {
        let all = self.list_everywhere(kind).into_iter();
        let here = |object: &Value| {
            object["metadata"]["namespace"].as_str().is_none_or(|name| name == "default")
        };
        all.filter(here).collect()
    }

    fn list_everywhere(&self, kind: Kind) -> Vec<Value> {
        let resource = self.store.catalogue().find(&kind.resource()).expect("served");
        let objects = self.store.initial(resource, &Default::default()).expect("a list");
        objects.iter().map(|object| object.to_value()).collect()
    }

    /// The pods in kubectl's format: ready, status, restarts, sorted.
    fn pods(&self) -> String {
        let options = informant_apiserver::table::TableOptions {
            include_object: Default::default(),
            no_headers: true,
            now: self.now,
        };
        let resource = Kind::Pod.resource();
        let pods =
            self.list(Kind::Pod).iter().map(|pod| pod.to_string().into()).collect::<Vec<_>>();
        let table = informant_apiserver::table::render(&resource, None, json!({}), &pods, &options);
        let table: Value = serde_json::from_slice(&table).expect("it is JSON");
        let rows = edit::entries(&table["rows"]).iter().map(|row| {
            let cell = |index: usize| row["cells"][index].as_str().unwrap_or_default().to_owned();
            let restarts = cell(3);
            format!("{} {} {}", cell(1), cell(2), restarts.split(' ').next().unwrap_or_default())
        });
        let mut rows: Vec<String> = rows.collect();
        rows.sort();
        rows.join(", ")
    }

    /// Checks a deployment's numbers: desired, current, updated, ready, available.
    #[track_caller]
    fn check_deployment(&self, name: &str, expect: [i64; 5]) {
        let deployment = self.get(Kind::Deployment, name).expect("the deployment is there");
        let status = &deployment["status"];
        let members = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
        let mut numbers = vec![deployment["spec"]["replicas"].as_i64().unwrap_or(-1)];
        numbers.extend(members.map(|member| status[member].as_i64().unwrap_or(0)));
        assert_eq!(numbers, expect, "{status}");
        let generation = &deployment["metadata"]["generation"];
        assert_eq!(&status["observedGeneration"], generation);
    }
}

fn web(replicas: i64) -> Value {
    json!({
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "nginx", "image": "nginx"}]},
            },
        },
    })
}

fn bare(policy: &str) -> Value {
    json!({
        "metadata": {"name": "bare"},
        "spec": {"restartPolicy": policy, "containers": [{"name": "c", "image": "busybox"}]},
    })
}

/// Ends the pod's only container.
fn end_container(bench: &mut Bench, name: &str, exit_code: i64) {
    let at = time::seconds(bench.now);
    bench.change_subresource(Kind::Pod, name, Some("status"), |pod| {
        pod["status"]["containerStatuses"][0]["state"] =
            json!({"terminated": {"exitCode": exit_code, "reason": "Error", "finishedAt": at}});
        pod["status"]["containerStatuses"][0]["ready"] = false.into();
    });
}

#[test]
fn nodes_are_ready_and_renew_their_leases() {
    let mut bench = Bench::quiet();
    let renewed = |bench: &Bench| {
        let leases = bench.list_everywhere(Kind::Lease);
        leases.iter().map(|lease| lease["spec"]["renewTime"].to_string()).collect::<Vec<_>>()
    };
    assert!(bench.list(Kind::Node).iter().all(|node| conditions::holds(node, "Ready")));
    let before = renewed(&bench);
    assert_eq!(before.len(), 4);
    bench.pass(11_000);
    let after = renewed(&bench);
    assert!(before.iter().zip(&after).all(|(before, after)| before < after));
}

#[test]
fn a_deployment_gets_running_pods_within_two_seconds() {
    let mut bench = Bench::quiet();
    bench.create(Kind::Deployment, "default", web(3));
    bench.pass(2_000);
    assert_eq!(bench.pods(), "1/1 Running 0, 1/1 Running 0, 1/1 Running 0");
    bench.check_deployment("web", [3, 3, 3, 3, 3]);
    let deployment = bench.get(Kind::Deployment, "web").expect("it is there");
    assert!(conditions::holds(&deployment, "Available"));
    let reason = &conditions::find(&deployment, "Progressing").expect("a condition")["reason"];
    assert_eq!(reason, "NewReplicaSetAvailable");
    let set = &bench.list(Kind::ReplicaSet)[0];
    assert_eq!(set["metadata"]["ownerReferences"][0]["uid"], deployment["metadata"]["uid"]);
    for pod in bench.list(Kind::Pod) {
        assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], set["metadata"]["uid"]);
        assert!(pod["spec"]["nodeName"].as_str().is_some_and(|node| node.starts_with("worker")));
        assert!(pod["status"]["podIP"].is_string());
    }
}

#[test]
fn what_has_settled_is_left_alone() {
    let mut bench = Bench::quiet();
    bench.create(Kind::Deployment, "default", web(3));
    bench.create(Kind::Pod, "default", bare("Always"));
    bench.pass(5_000);
    let pods = bench.list(Kind::Pod);
    let sets = bench.list(Kind::ReplicaSet);
    let deployments = bench.list(Kind::Deployment);
    bench.pass(60_000);
    assert_eq!(bench.list(Kind::Pod), pods);
    assert_eq!(bench.list(Kind::ReplicaSet), sets);
    assert_eq!(bench.list(Kind::Deployment), deployments);
}

#[test]
fn scaling_adds_and_takes_away_pods() {
    let mut bench = Bench::quiet();
    bench.create(Kind::Deployment, "default", web(1));
    bench.pass(2_000);
    bench.change(Kind::Deployment, "web", |web| web["spec"]["replicas"] = 5.into());
    bench.pass(2_000);
    bench.check_deployment("web", [5, 5, 5, 5, 5]);
    bench.change(Kind::Deployment, "web", |web| web["spec"]["replicas"] = 0.into());
    bench.pass(2_000);
    bench.check_deployment("web", [0, 0, 0, 0, 0]);
    assert_eq!(bench.pods(), "");
}

#[test]
fn deleting_a_deployment_takes_its_pods_along() {
    let mut bench = Bench::quiet();
    bench.create(Kind::Deployment, "default", web(2));
    bench.pass(2_000);
    bench.delete(Kind::Deployment, "web");
    bench.pass(1_000);
    assert_eq!(bench.list(Kind::ReplicaSet).len() + bench.list(Kind::Pod).len(), 0);
}

#[test]
fn a_new_template_is_rolled_out_without_a_gap() {
    let mut bench = Bench::quiet();
    bench.create(Kind::Deployment, "default", web(4));
    bench.pass(3_000);
    bench.change(Kind::Deployment, "web", |web| {
        web["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2".into();
    });
    for _ in 0..200 {
        bench.pass(50);
        let mut pods = bench.list(Kind::Pod);
        // Pods that are being deleted do not count.
        pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        let ready = pods.iter().filter(|pod| conditions::holds(pod, "Ready")).count();
        assert!(pods.len() <= 5, "no more than a quarter above: {}", pods.len());
        assert!(ready >= 3, "no more than a quarter missing: {ready}");
    }
    bench.check_deployment("web", [4, 4, 4, 4, 4]);
    let images: Vec<Value> = bench
        .list(Kind::Pod)
        .iter()
        .map(|pod| pod["spec"]["containers"][0]["image"].clone())
        .collect();
    assert_eq!(images, vec![json!("nginx:2"); 4]);
    let revision = "deployment.kubernetes.io/revision";
    let web = bench.get(Kind::Deployment, "web").expect("it is there");
    assert_eq!(web["metadata"]["annotations"][revision], "2");
}

#[test]
fn going_back_to_a_former_template_uses_its_replica_set_again() {
    let mut bench = Bench::quiet();
    bench.create(Kind::Deployment, "default", web(1));
    for image in ["nginx:2", "nginx"] {
        bench.pass(5_000);
        bench.change(Kind::Deployment, "web", |web| {
            web["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
        });
    }
    bench.pass(5_000);
    assert_eq!(bench.list(Kind::ReplicaSet).len(), 2);
    bench.check_deployment("web", [1, 1, 1, 1, 1]);
    let web = bench.get(Kind::Deployment, "web").expect("it is there");
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "3");
}

#[test]
fn recreate_takes_the_old_pods_away_first() {
    let mut bench = Bench::quiet();
    let mut deployment = web(2);
    deployment["spec"]["strategy"] = json!({"type": "Recreate"});
    bench.create(Kind::Deployment, "default", deployment);
    bench.pass(3_000);
    bench.change(Kind::Deployment, "web", |web| {
        web["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2".into();
    });
    for _ in 0..100 {
        bench.pass(50);
        let pods = bench.list(Kind::Pod);
        let image = |pod: &Value| pod["spec"]["containers"][0]["image"].to_string();
        let mut images: Vec<String> = pods.iter().map(image).collect();
        images.dedup();
        assert!(images.len() <= 1, "old and new never run side by side");
    }
    bench.check_deployment("web", [2, 2, 2, 2, 2]);
}

#[test]
fn a_deleted_pod_is_replaced_and_a_bare_one_is_not() {
    let mut bench = Bench::quiet();
    bench.create(Kind::Deployment, "default", web(1));
    bench.create(Kind::Pod, "default", bare("Always"));
    bench.pass(2_000);
    assert_eq!(bench.pods(), "1/1 Running 0, 1/1 Running 0");
    for pod in bench.list(Kind::Pod) {
        bench.delete(Kind::Pod, pod["metadata"]["name"].as_str().expect("a name"));
    }
    bench.pass(2_000);
    assert_eq!(bench.pods(), "1/1 Running 0");
}

#[test]
fn a_container_that_keeps_ending_is_backed_off_from_and_heals() {
    let mut bench = Bench::quiet();
    bench.create(Kind::Pod, "default", bare("Always"));
    bench.pass(2_000);
    end_container(&mut bench, "bare", 1);
    bench.pass(1_500);
    assert_eq!(bench.pods(), "1/1 Running 1");
    end_container(&mut bench, "bare", 1);
    bench.pass(1_000);
    assert_eq!(bench.pods(), "0/1 CrashLoopBackOff 1");
    bench.pass(4_000);
    assert_eq!(bench.pods(), "1/1 Running 2");
}

#[test]
fn a_pod_that_never_restarts_ends_with_its_container() {
    for (exit_code, expect) in [(0, "Succeeded"), (1, "Failed")] {
        let mut bench = Bench::quiet();
        bench.create(Kind::Pod, "default", bare("Never"));
        bench.pass(2_000);
        end_container(&mut bench, "bare", exit_code);
        bench.pass(1_000);
        assert_eq!(bench.list(Kind::Pod)[0]["status"]["phase"], expect);
    }
}

#[test]
fn a_job_runs_its_pods_to_the_end() {
    let mut bench = Bench::quiet();
    let job = json!({
        "metadata": {"name": "sum"},
        "spec": {
            "completions": 3,
            "parallelism": 2,
            "template": {"spec": {"restartPolicy": "Never",
                "containers": [{"name": "c", "image": "busybox"}]}},
        },
    });
    bench.create(Kind::Job, "default", job);
    bench.pass(2_000);
    assert_eq!(bench.list(Kind::Pod).len(), 2, "no more side by side than asked for");
    bench.pass(8_000);
    let job = bench.get(Kind::Job, "sum").expect("it is there");
    assert!(conditions::holds(&job, "Complete"), "{}", job["status"]);
    assert_eq!(job["status"]["succeeded"], 3);
    assert_eq!(bench.pods(), "0/1 Completed 0, 0/1 Completed 0, 0/1 Completed 0");
    bench.delete(Kind::Job, "sum");
    bench.pass(1_000);
    assert_eq!(bench.pods(), "");
}

#[test]
fn a_daemon_set_has_a_pod_on_every_node_that_takes_it() {
    let mut bench = Bench::quiet();
    let mut daemons = web(1);
    edit::remove(&mut daemons["spec"], "replicas");
    bench.create(Kind::DaemonSet, "default", daemons);
    bench.pass(3_000);
    let nodes = |bench: &Bench| {
        let pods = bench.list(Kind::Pod).into_iter();
        let mut nodes: Vec<String> = pods
            .filter(|pod| conditions::holds(pod, "Ready"))
            .filter_map(|pod| pod["spec"]["nodeName"].as_str().map(str::to_owned))
            .collect();
        nodes.sort();
        nodes
    };
    assert_eq!(nodes(&bench), ["worker-1", "worker-2", "worker-3"]);
    bench.delete(Kind::Node, "worker-2");
    bench.change(Kind::DaemonSet, "web", |web| {
        web["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2".into();
    });
    bench.pass(1_500);
    for _ in 0..100 {
        assert!(!nodes(&bench).is_empty(), "one is replaced after the other");
        bench.pass(50);
    }
    assert_eq!(nodes(&bench), ["worker-1", "worker-3"]);
    let set = bench.get(Kind::DaemonSet, "web").expect("it is there");
    assert_eq!(set["status"]["updatedNumberScheduled"], 2, "{}", set["status"]);
    assert_eq!(set["status"]["numberReady"], 2, "{}", set["status"]);
}

#[test]
fn a_stateful_set_goes_up_and_down_one_by_one() {
    let mut bench = Bench::quiet();
    bench.create(Kind::StatefulSet, "default", web(3));
    for _ in 0..60 {
        bench.pass(50);
        let pods = bench.list(Kind::Pod);
        let unready = pods.iter().filter(|pod| !conditions::holds(pod, "Ready")).count();
        assert!(unready <= 1, "each waits for the one before it");
    }
    bench.pass(2_000);
    let names = |bench: &Bench| {
        let pods = bench.list(Kind::Pod).into_iter();
        pods.map(|pod| pod["metadata"]["name"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&bench), ["web-0", "web-1", "web-2"]);
    bench.change(Kind::StatefulSet, "web", |web| web["spec"]["replicas"] = 1.into());
    bench.pass(3_000);
    assert_eq!(names(&bench), ["web-0"]);
    bench.change(Kind::StatefulSet, "web", |web| {
        web["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2".into();
    });
    bench.pass(4_000);
    assert_eq!(bench.list(Kind::Pod)[0]["spec"]["containers"][0]["image"], "nginx:2");
    let set = bench.get(Kind::StatefulSet, "web").expect("it is there");
    assert_eq!(set["status"]["readyReplicas"], 1, "{}", set["status"]);
    assert_eq!(set["status"]["currentRevision"], set["status"]["updateRevision"]);
}

#[test]
fn pods_wait_for_a_node_that_takes_them() {
    let mut bench = Bench::quiet();
    let mut pod = bare("Always");
    pod["spec"]["nodeSelector"] = json!({"disk": "fast"});
    bench.create(Kind::Pod, "default", pod);
    bench.pass(5_000);
    assert_eq!(bench.pods(), "0/1 Pending 0");
    bench.change(Kind::Node, "worker-2", |node| {
        node["metadata"]["labels"]["disk"] = "fast".into();
    });
    bench.pass(6_000);
    assert_eq!(bench.pods(), "1/1 Running 0");
    assert_eq!(bench.list(Kind::Pod)[0]["spec"]["nodeName"], "worker-2");
}

#[test]
fn pods_leave_with_their_node() {
    let mut bench = Bench::quiet();
    bench.create(Kind::Deployment, "default", web(6));
    bench.pass(3_000);
    bench.delete(Kind::Node, "worker-1");
    bench.pass(3_000);
    let on = |pod: &Value| pod["spec"]["nodeName"] == "worker-1";
    assert!(!bench.list(Kind::Pod).iter().any(on));
    bench.check_deployment("web", [6, 6, 6, 6, 6]);
}

#[test]
fn what_makes_no_sense_harms_nobody() {
    let mut bench = Bench::quiet();
    bench.create(Kind::Deployment, "default", web(1));
    bench.pass(2_000);
    let status = Some("status");
    bench.change_subresource(Kind::Deployment, "web", status, |web| {
        web["status"] = json!({"conditions": "odd", "replicas": "x"})
    });
    let pod = bench.list(Kind::Pod)[0]["metadata"]["name"].as_str().expect("a name").to_owned();
    bench.change_subresource(Kind::Pod, &pod, status, |pod| {
        pod["status"] = json!({"containerStatuses": [3, "x", {"state": []}], "conditions": 7});
    });
    bench.pass(3_000);
    bench.create(Kind::Pod, "default", bare("Always"));
    bench.pass(2_000);
    assert!(bench.pods().contains("1/1 Running 0"), "{}", bench.pods());
}

fn lively(seed: u64, events_per_second: f64) -> Bench {
    Bench::new(TrafficOptions {
        seed,
        events_per_second,
        background: true,
        kubernetes_events: false,
        ..TrafficOptions::default()
    })
}

#[test]
fn equal_seeds_live_equal_lives() {
    let run = |seed| {
        let mut bench = lively(seed, 20.0);
        bench.pass(4_000);
        bench.list_everywhere(Kind::Pod)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn the_cluster_has_what_its_documents_name() {
    let mut bench = lively(1, 0.0);
    bench.pass(5_000);
    let deployments = bench.list_everywhere(Kind::Deployment);
    let dns = deployments.iter().find(|it| it["metadata"]["labels"]["k8s-app"] == "kube-dns");
    assert_eq!(dns.expect("there is a DNS")["metadata"]["namespace"], "kube-system");
    let pods = bench.list_everywhere(Kind::Pod);
    assert!(pods.iter().all(|pod| conditions::holds(pod, "Ready")));
    let own = pods.iter().filter(|pod| pod["spec"]["hostNetwork"] != true);
    let addresses: Vec<String> = own.map(|pod| pod["status"]["podIP"].to_string()).collect();
    let distinct: std::collections::BTreeSet<&String> = addresses.iter().collect();
    assert_eq!(distinct.len(), addresses.len(), "every pod has an address of its own");
    let shop = pods.iter().filter(|pod| pod["metadata"]["namespace"] == "shop");
    let sizes: Vec<usize> = shop.map(|pod| pod.to_string().len()).collect();
    let mean = sizes.iter().sum::<usize>() / sizes.len();
    assert!((5_000..7_500).contains(&mean), "pods are as large as real ones: {mean} bytes");
    for pod in pods.iter().filter(|pod| pod["spec"]["hostNetwork"] != true) {
        let managers = edit::entries(&pod["metadata"]["managedFields"]).iter();
        let managers: Vec<&str> = managers.filter_map(|entry| entry["manager"].as_str()).collect();
        assert_eq!(managers, ["kube-controller-manager", "kubelet"]);
    }
}

#[test]
fn the_rate_is_about_what_was_asked_for() {
    for (rate, seconds) in [(2.0, 30), (20.0, 10), (100.0, 2)] {
        let mut bench = lively(3, rate);
        bench.pass(5_000);
        let before = bench.changes;
        bench.pass(seconds * 1_000);
        let per_second = (bench.changes - before) as f64 / seconds as f64;
        // Leases are also renewed, and an action begins before its number of changes is known.
        let expect = rate * 0.6..rate * 1.4 + 2.0;
        assert!(expect.contains(&per_second), "{per_second} a second for {rate}");
    }
}

#[test]
fn everything_that_can_happen_happens_and_heals() {
    let mut bench = lively(11, 30.0);
    let mut seen = std::collections::BTreeSet::new();
    let mut lost = std::collections::BTreeSet::new();
    let expect = [
        "Completed",
        "ContainerCreating",
        "CrashLoopBackOff",
        "Error",
        "Evicted",
        "NotReady and back",
        "OOMKilled",
    ];
    for _ in 0..240 {
        bench.pass(500);
        for (_, pod) in bench.simulation.world().of_kind(Kind::Pod) {
            seen.extend(reasons_of(pod));
        }
        for (key, node) in bench.simulation.world().of_kind(Kind::Node) {
            if !conditions::holds(node, "Ready") {
                lost.insert(key.name.clone());
            } else if lost.remove(&key.name) {
                seen.insert("NotReady and back".to_owned());
            }
        }
        if seen.len() == expect.len() {
            break;
        }
    }
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), expect);
    bench.pass(30_000);
    assert!(bench.list_everywhere(Kind::Pod).len() < 100, "nothing piles up");
    // Without background changes, all pods become ready again.
    let quiet = TrafficOptions { kubernetes_events: false, ..Default::default() };
    bench.simulation = Simulation::new(quiet);
    bench.binding = Binding::default();
    bench.pass(130_000);
    for deployment in bench.list_everywhere(Kind::Deployment) {
        let status = &deployment["status"];
        assert_eq!(status["availableReplicas"], deployment["spec"]["replicas"], "{deployment}");
    }
    assert!(bench.list_everywhere(Kind::Node).iter().all(|node| conditions::holds(node, "Ready")));
}

/// The reasons for the present or last state of the pod and its containers.
fn reasons_of(pod: &Value) -> Vec<String> {
    let mut reasons = vec![&pod["status"]["reason"]];
    for status in edit::entries(&pod["status"]["containerStatuses"]) {
        reasons.push(&status["state"]["waiting"]["reason"]);
        reasons.push(&status["state"]["terminated"]["reason"]);
        reasons.push(&status["lastState"]["terminated"]["reason"]);
    }
    reasons.into_iter().filter_map(|reason| reason.as_str().map(str::to_owned)).collect()
}

#[test]
fn a_compacted_history_is_read_anew() {
    let mut bench = Bench::quiet();
    bench.create(Kind::Deployment, "default", web(2));
    bench.store.compact();
    bench.pass(3_000);
    bench.check_deployment("web", [2, 2, 2, 2, 2]);
    bench.delete(Kind::Deployment, "web");
    bench.delete(Kind::Node, "worker-1");
    bench.store.compact();
    bench.pass(3_000);
    assert_eq!(bench.pods(), "");
}

#[test]
fn controllers_tell_what_they_do_and_old_news_is_dropped() {
    let mut bench = Bench::new(TrafficOptions::default());
    bench.create(Kind::Deployment, "default", web(1));
    bench.pass(3_000);
    let reasons = |bench: &Bench| {
        let events = bench.list(Kind::Event);
        let mut reasons: Vec<String> =
            events.iter().filter_map(|event| event["reason"].as_str().map(str::to_owned)).collect();
        reasons.sort();
        reasons
    };
    let expect =
        ["Created", "Pulled", "ScalingReplicaSet", "Scheduled", "Started", "SuccessfulCreate"];
    assert_eq!(reasons(&bench), expect);
    bench.pass(601_000);
    assert_eq!(bench.list(Kind::Event).len(), 0);
}

#[test]
fn events_are_bounded() {
    let mut bench = Bench::new(TrafficOptions::default());
    bench.create(Kind::Deployment, "default", web(520));
    bench.pass(3_000);
    bench.check_deployment("web", [520, 520, 520, 520, 520]);
    assert_eq!(bench.list(Kind::Event).len(), 2_000);
}

/// A client that writes the status or an old resource may write every number.
#[test]
fn numbers_beyond_int32_stop_no_controller() {
    let mut bench = Bench::quiet();
    bench.create(Kind::Deployment, "default", web(1));
    bench.pass(2_000);
    let revision = "deployment.kubernetes.io/revision";
    for kind in [Kind::ReplicaSet, Kind::Deployment] {
        let name = bench.list(kind)[0]["metadata"]["name"].as_str().expect("a name").to_owned();
        bench.change(kind, &name, |object| {
            object["metadata"]["annotations"][revision] = i64::MAX.to_string().into();
        });
    }
    bench.change(Kind::Deployment, "web", |object| {
        object["spec"]["strategy"]["rollingUpdate"]["maxSurge"] = i64::MAX.into();
        object["spec"]["template"]["metadata"]["labels"]["tier"] = "new".into();
    });
    bench.pass(4_000);
    let set = bench.list(Kind::ReplicaSet).into_iter().find(|set| set["spec"]["replicas"] == 1);
    let set = set.expect("the new one");
    assert_eq!(set["metadata"]["annotations"][revision], i64::MAX.to_string());
}

#[tokio::test]
async fn a_failure_of_the_traffic_is_told() {
    let traffic = Traffic::running(CancellationToken::new(), async { panic!("a defect") });
    traffic.ended().await;
    let failure = traffic.shutdown().await.expect_err("it failed").to_string();
    assert!(failure.contains("controllers of the embedded cluster failed"), "{failure}");
}

#[test]
fn keys_are_ordered_by_kind_first() {
    assert!(Key::new(Kind::Node, "z", "z") < Key::new(Kind::Pod, "", "a"));
}

#[tokio::test]
async fn traffic_runs_in_a_served_cluster_and_stops() {
    let cluster = Cluster::new(Store::new(1, Timestamp::now()));
    let traffic = Traffic::start(cluster.clone(), TrafficOptions::default()).await;
    cluster.create(&Kind::Deployment.resource(), Some("default"), web(2)).expect("it is valid");
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    loop {
        let pods = cluster.list(&Kind::Pod.resource(), Some("default")).expect("a list");
        let ready = pods.iter().filter(|pod| conditions::holds(&pod.to_value(), "Ready")).count();
        if ready == 2 {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "the pods run in time");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    traffic.shutdown().await.expect("it ran until the stop");
    let version = cluster.resource_version();
    cluster.delete(&Kind::Deployment.resource(), Some("default"), "web").expect("it is there");
    assert_eq!(cluster.resource_version(), version + 1, "nobody acts on it any more");
}
