//! The shown state of plugins is correct: each kind of plugin in each state, in `informant plugin list`, `/plugins`,
//! the metrics and `/readyz`.

mod page;
mod row;
mod rows;

use std::time::Duration;

use informant_apimachinery::GroupVersionResource;
use informant_e2e::cluster::{TestCluster, User};
use informant_e2e::host::Host;
use informant_e2e::poll;
use serde_json::{Value, json};

use crate::host::admin::check as check_said;
use crate::host::bench::{
    CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, drop_file, host_fact, pod_names,
};
use page::Page;
use row::{Kind, Row, Step, is, row};
use rows::MANY;

/// A plugin that goes through the stages of its row.
struct Walk<'a> {
    row: &'a Row,
    kind: Kind,
    stage: usize,
}

impl<'a> Walk<'a> {
    fn each(rows: &'a [Row]) -> Vec<Self> {
        let of_row =
            |row: &'a Row| row.kinds.iter().map(|kind| Walk { row, kind: *kind, stage: 0 });
        rows.iter().flat_map(of_row).collect()
    }

    /// Puts the plugin and the file beside it into the host's directory.
    fn drop(&self, bench: &HostBench<'_>) {
        self.write_beside(bench, &self.row.beside);
        bench.drop_plugin("moods", &self.row.plugin(self.kind));
    }

    fn write_beside(&self, bench: &HostBench<'_>, lines: &str) {
        let Row { resource, config, .. } = self.row;
        let (kind, namespace) = (self.kind.name(), &bench.namespace);
        let config =
            format!("{{as: {kind}, resource: {resource}, namespace: {namespace}, {config}}}");
        let text = format!("{HEAD}PluginConfiguration\nconfig: {config}\n{lines}\n");
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, text).expect("it is written");
        drop_file(file.path(), &self.file(bench, "yaml"));
    }

    fn file(&self, bench: &HostBench<'_>, extension: &str) -> std::path::PathBuf {
        bench.plugins.join(format!("{}.{extension}", self.row.plugin(self.kind)))
    }

    fn carry_out(&self, bench: &HostBench<'_>, host: &Host) {
        let name = self.row.plugin(self.kind);
        match self.row.stages[self.stage].0 {
            Step::Nothing => {}
            Step::Pause => check_said(bench, host, &["plugin", "pause", &name], "paused"),
            Step::Resume => check_said(bench, host, &["plugin", "resume", &name], "resumed"),
            Step::Replace(content) => {
                let file = tempfile::NamedTempFile::new().expect("a file");
                std::fs::write(&file, content).expect("it is written");
                drop_file(file.path(), &self.file(bench, "wasm"));
            }
            Step::Beside(lines) => self.write_beside(bench, lines),
            Step::NoFileBeside => {
                let file = self.file(bench, "yaml");
                std::fs::remove_file(&file).expect("it is there");
                std::fs::create_dir(&file).expect("a directory");
            }
        }
    }

    /// Compares the plugin with the page. Returns the first difference. Without a difference, starts the next step.
    /// Returns `None` after the last step.
    fn look(&mut self, page: &Page, bench: &HostBench<'_>, host: &Host) -> Option<String> {
        let (_, shown) = &self.row.stages[self.stage];
        if let Some(lie) = page.lie(self.row, self.kind, shown) {
            return Some(lie);
        }
        self.stage += 1;
        if self.stage == self.row.stages.len() {
            return None;
        }
        self.carry_out(bench, host);
        Some(format!("{} has come to stage {}", self.row.plugin(self.kind), self.stage))
    }
}

/// Waits until each of these plugins was shown correctly in each of its states. `/readyz` must answer with this
/// status.
async fn check(bench: &HostBench<'_>, host: &Host, rows: &[Row], status: u16) {
    let (mut walks, mut lies) = (Walk::each(rows), Vec::new());
    let is_so = async || {
        // A page has everything that the host shows of all plugins, and costs both of them much.
        poll::pause(Duration::from_millis(400)).await;
        let page = Page::of(bench, host, status);
        lies.clear();
        walks.retain_mut(|walk| {
            let lie = walk.look(&page, bench, host);
            lies.extend(lie.clone());
            lie.is_some()
        });
        walks.is_empty().then_some(())
    };
    let shown = poll::until("all to be shown", LINES_DEADLINE, is_so).await;
    assert!(shown.is_ok(), "{}\n{}", lies.join("\n"), host.tail());
}

/// Checks a series of the host itself.
#[track_caller]
fn check_series(host: &Host, series: &str, is_so: impl Fn(f64) -> bool) {
    let value = host.get("/metrics").expect("an answer").series(series);
    assert!(value.is_some_and(is_so), "{series} {value:?}");
}

/// Creates objects for which the plugins are called.
async fn create_objects(bench: &HostBench<'_>) {
    let path = format!("/api/v1/namespaces/{}/configmaps", bench.namespace);
    for number in 0..5 {
        let name = format!("object-{number}");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        bench.api.create(&path, &object).await.expect(201);
    }
}

/// Lets the host's user read all resources but one, and review the account's permissions.
async fn allow(bench: &HostBench<'_>) {
    let (permissions, namespace) = (bench.cluster.permissions(), &bench.namespace);
    let widgets = GroupVersionResource::new("late.example.com", "v1", "widgets");
    let granted =
        [("", "configmaps"), ("", "configmap"), ("", "pods"), (&*widgets.group, "widgets")];
    for (group, resource) in granted {
        permissions.grant(&bench.api, namespace, group, resource).await;
    }
    permissions.revoke(&bench.api, namespace, "services").await;
    permissions.let_review(&bench.api).await;
}

/// An account without permissions, as `namespace/name`.
fn account(bench: &HostBench<'_>) -> String {
    if let TestCluster::Embedded(cluster) = &*bench.cluster {
        let user = format!("system:serviceaccount:{}:limited", bench.namespace);
        cluster.dev_cluster().faults().forbid(&user, "configmaps", None);
    }
    format!("{}/limited", bench.namespace)
}

#[test]
fn every_kind_of_plugin_is_shown_as_it_is_in_every_state() {
    host_fact(async |bench| {
        allow(&bench).await;
        create_objects(&bench).await;
        let account = account(&bench);
        let own = tempfile::NamedTempFile::new().expect("a file");
        let text = format!("{HEAD}HostConfiguration\nceiling: {{serviceAccounts: [{account}]}}\n");
        std::fs::write(&own, text).expect("it is written");
        let (first, later) = (rows::first(), rows::later(&account));
        Walk::each(&first).iter().for_each(|walk| walk.drop(&bench));
        let own = own.path().display().to_string();
        let host = bench.start_unready(User::Reader, &["--config", &own]).await;
        host.await_ready().await.unwrap();
        check(&bench, &host, &first, 200).await;
        Walk::each(&later).iter().for_each(|walk| walk.drop(&bench));
        // A replay waits for its handler, so only later events can wait too long.
        for walk in Walk::each(&later).iter().filter(|walk| walk.row.resource == MANY) {
            let runs = |plugin: &Value| plugin["state"] == "running";
            let name = walk.row.plugin(walk.kind);
            host.await_plugin(&name, "it to run", runs).await.unwrap();
        }
        bench.create_pods(&pod_names(0..100)).await;
        check(&bench, &host, &later, 200).await;
        // One file beside a plugin of each kind.
        check_series(&host, "informant_files_not_loaded{}", |files| files == 3.0);

        bench.cluster.kill().await.unwrap();
        check(&bench, &host, &rows::away(), 503).await;
        let failures =
            "informant_informer_failures_total{resource=\"v1/configmaps\",kind=\"list-or-watch\"}";
        check_series(&host, failures, |failures| failures > 0.0);
        assert_eq!(host.get("/livez").unwrap().status, 200, "a cluster that is away kills no host");
        bench.cluster.restart().await.unwrap();
        check(&bench, &host, &first[..1], 200).await;
    });
}

#[test]
fn plugins_of_a_host_that_does_not_lead_are_shown_to_wait() {
    host_fact(async |bench| {
        create_objects(&bench).await;
        let fine = [row("fine", "mood: fine").shows(is("running").and(&["list {CALLS} > 0"]))];
        let standby = [row("fine", "mood: fine").shows(
            is("waiting").because(&["version  … is ready and on standby: "]).and(&[
                "list WAITING = 0",
                "json {ok} = 0",
                "metric load_refused = 0",
            ]),
        )];
        Walk::each(&fine).iter().for_each(|walk| walk.drop(&bench));
        let namespace = bench.namespace.clone();
        let elect = ["--leader-elect", "--leader-elect-resource-namespace", &namespace];
        let leader = bench.start(&elect).await;
        check(&bench, &leader, &fine, 200).await;
        let other = bench.start(&elect).await;
        check(&bench, &other, &standby, 200).await;
        let leads = "leader_election_master_status{name=\"informant\"}";
        check_series(&leader, leads, |leads| leads == 1.0);
        check_series(&other, leads, |leads| leads == 0.0);
    });
}

/// Waits until `/readyz` answers with this status and these lines.
async fn check_ready(host: &Host, status: u16, lines: &[&str]) {
    let mut last = String::new();
    let is_so = async || {
        let answer = host.get("/readyz?verbose").ok()?;
        let has_all = lines.iter().all(|line| answer.body.contains(line));
        last = answer.body;
        (answer.status == status && has_all).then_some(())
    };
    let ready = poll::until("the probe", LINES_DEADLINE, is_so).await;
    assert!(ready.is_ok(), "no {status} with {lines:?} in {last}\n{}", host.tail());
}

#[test]
fn a_host_is_ready_for_as_long_as_it_follows_anything() {
    host_fact(async |bench| {
        let permissions = bench.cluster.permissions();
        let namespace = bench.namespace.clone();
        for resource in ["configmaps", "pods"] {
            permissions.grant(&bench.api, &namespace, "", resource).await;
        }
        let rows = [row("fine", "mood: fine"), row("other", "mood: fine").watching(MANY)];
        Walk::each(&rows).iter().for_each(|walk| walk.drop(&bench));
        let host = bench.start_unready(User::Reader, &[]).await;
        host.await_ready().await.unwrap();
        // On a real server, a revoked permission ends no watch. The server's restart does.
        permissions.revoke(&bench.api, &namespace, "pods").await;
        restart(bench.cluster).await;
        let pods_lost = "[+]informer v1/pods forbidden: ";
        check_ready(&host, 200, &["[+]informer v1/configmaps ok\n", pods_lost]).await;
        permissions.revoke(&bench.api, &namespace, "configmaps").await;
        restart(bench.cluster).await;
        let lost = ["[-]informer v1/configmaps forbidden: ", "[-]informer v1/pods forbidden: "];
        check_ready(&host, 503, &lost).await;
        permissions.grant(&bench.api, &namespace, "", "configmaps").await;
        check_ready(&host, 200, &["[+]informer v1/configmaps ok\n", pods_lost]).await;
    });
}

async fn restart(cluster: &mut TestCluster) {
    cluster.kill().await.unwrap();
    cluster.restart().await.unwrap();
}
