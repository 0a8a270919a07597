//! Programs of other libraries that use Informant as their API server: a shared informer of client-go and a reflector of
//! kube-rs, those of the benchmark. Each counts the events of its handler, and keeps a hash of each event's object.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use informant_e2e::api::write_kubeconfig;
use informant_e2e::child::Child;
use informant_e2e::cluster::User;
use informant_e2e::host::Host;
use informant_e2e::{http, paths, poll, skip};
use serde_json::{Map, Value, json};

use crate::host::bench::{HostBench, LINES_DEADLINE, host_fact, pod_names};

/// A running program, and the address at which it tells its counts.
struct Counting {
    child: Child,
    counts: SocketAddr,
}

impl Counting {
    async fn start(program: &Path, kubeconfig: &Path, arguments: &[&str]) -> Self {
        let log = kubeconfig.with_extension("log");
        std::fs::write(&log, "").expect("a file");
        let mut command = Command::new(program);
        command.arg("--compare").arg("--kubeconfig").arg(kubeconfig);
        command.args(arguments).stdin(Stdio::null());
        let name = program.display().to_string();
        let child = Child::spawn_logged(&name, &mut command, &log).expect("it starts");
        let ready = async || {
            let text = std::fs::read_to_string(&log).expect("its log");
            let line = text.lines().find_map(|line| line.strip_prefix("READY "))?;
            line.trim().parse().ok()
        };
        let counts = poll::until("its address", LINES_DEADLINE, ready).await;
        let counts = counts.unwrap_or_else(|error| panic!("{error:#}: {}", child.log_tail()));
        Self { child, counts }
    }

    /// Its counts once the handler had so many deletions: added, updated, deleted.
    async fn counts(&self, deleted: u64) -> [u64; 3] {
        let mut last = json!(null);
        let there = async || {
            last = http::get(self.counts, "/counts").ok()?.json();
            let counts = ["added", "updated", "deleted"].map(|key| last[key].as_u64());
            let [added, updated, Some(found)] = counts else { return None };
            let is_there = last["synced"] == true && found == deleted && added > Some(0);
            is_there.then_some([added?, updated?, found])
        };
        let counts = poll::until("the counts", LINES_DEADLINE, there).await;
        counts.unwrap_or_else(|error| panic!("{error:#}: {last}: {}", self.child.log_tail()))
    }
}

/// By object and in order: each event's kind, version and object, as a hash.
fn events(counting: &Counting) -> Map<String, Value> {
    let answer = http::get(counting.counts, "/events").expect("the events").json();
    answer.as_object().expect("events by object").clone()
}

/// A kubeconfig that names Informant as the API server.
fn kubeconfig(host: &Host, directory: &Path) -> PathBuf {
    let path = directory.join("kubeconfig");
    let cluster = json!({"server": format!("http://{}", host.address())});
    write_kubeconfig(&path, &cluster, &json!({})).expect("a file");
    path
}

/// Shows a rate with `--nocapture`.
#[allow(clippy::print_stdout)] // The harness keeps it.
fn show_rate(program: &Path, arguments: &[&str], changes: f64, start: Instant) {
    let rate = changes / start.elapsed().as_secs_f64();
    println!("{} {arguments:?}: {rate:.0} changes a second", program.display());
}

/// Changes pods beside two of these programs: one reads from the API server, the other from Informant. The last event is
/// a deletion, so a program that has all deletions has all events.
async fn check(bench: &HostBench<'_>, program: &Path, arguments: &[&str]) {
    let host = bench.start(&[]).await;
    bench.create_pods(&pod_names(0..100)).await;
    let directory = tempfile::tempdir().expect("a directory");
    let server = directory.path().join("server");
    std::fs::copy(bench.cluster.kubeconfig(User::Admin), &server).expect("a copy");
    let theirs = Counting::start(program, &server, arguments).await;
    let ours = kubeconfig(&host, directory.path());
    let ours = Counting::start(program, &ours, arguments).await;
    for counting in [&theirs, &ours] {
        counting.counts(0).await;
    }
    let start = Instant::now();
    bench.create_pods(&pod_names(100..900)).await;
    bench.label_pods(&pod_names(0..700)).await;
    bench.delete_pods(&pod_names(50..350)).await;
    show_rate(program, arguments, 1_800.0, start);
    let counts = (theirs.counts(300).await, ours.counts(300).await);
    assert_eq!(counts.1, counts.0, "{}", program.display());
    assert!(counts.1.iter().sum::<u64>() >= 1_900, "{counts:?}");
    let (theirs, ours) = (events(&theirs), events(&ours));
    assert!(ours.len() >= 900, "{} objects", ours.len());
    for (key, theirs) in &theirs {
        assert_eq!(ours.get(key), Some(theirs), "{key}");
    }
    bench.delete_pods(&pod_names(0..900)).await;
}

/// The first of these programs that is there; a make target builds it.
fn built(files: &[&str], target: &str) -> Option<PathBuf> {
    let mut programs = files.iter().map(|file| paths::target_directory().join(file));
    let program = programs.find(|program| program.exists());
    if program.is_none() {
        skip::say(&format!("{} is not built; `make {target}` builds it", files[0]));
    }
    program
}

#[test]
fn an_informer_of_client_go_counts_every_change() {
    let Some(program) = built(&["bench/client-go"], "bench-client-go") else { return };
    host_fact(async |bench| {
        for encoding in ["json", "protobuf"] {
            check(&bench, &program, &["--encoding", encoding]).await;
        }
    });
}

#[test]
fn a_reflector_of_kube_rs_counts_every_change() {
    let files = ["debug/bench-kube-rs", "release/bench-kube-rs"];
    let Some(program) = built(&files, "bench-kube-rs-everyday") else { return };
    host_fact(async |bench| {
        for list in ["stream", "pages"] {
            check(&bench, &program, &["--initial-list", list]).await;
        }
    });
}
