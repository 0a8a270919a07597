//! A plugin that acts as a service account. With the output of `rbac` for the host and the account, it reads and
//! writes as the account. Without the account's part it does not.
//!
//! The embedded cluster has no roles: a user has all rights that a test has not taken away. So only the real API
//! server shows that the printed rules are enough, and that the host needs the rights to review and to impersonate.

use http::{Method, header};
use informant_e2e::cluster::{TestCluster, User};
use informant_e2e::host::{Host, Line, run_to_end};
use informant_e2e::skip;
use serde_json::{Value, json};

use crate::host::bench::{CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, host_fact};

const NAME: &str = "writer";
const RBAC: &str = "rbac.authorization.k8s.io";

/// The fact's host, and the service account of its plugin.
struct Acting<'a> {
    bench: &'a HostBench<'a>,
    directory: tempfile::TempDir,
}

impl<'a> Acting<'a> {
    fn new(bench: &'a HostBench<'a>) -> Self {
        let namespace = &bench.namespace;
        let rule = |resource: &str, verbs: &str| {
            format!("{{resources: [{resource}], verbs: [{verbs}], namespaces: [{namespace}]}}")
        };
        let rules = [
            rule("v1/pods", "patch, create"),
            rule("v1/configmaps", "create, update, delete"),
            rule("events.k8s.io/v1/events", "create"),
        ];
        let directory = tempfile::tempdir().expect("a directory");
        let text = format!(
            "{HEAD}HostConfiguration\nplugins:\n  {NAME}:\n    limits: {{attempts: 1000}}\n    serviceAccount: {namespace}/limited\n    writes: [{}]\n",
            rules.join(", ")
        );
        std::fs::write(directory.path().join("informant.yaml"), text).expect("a file");
        bench.drop_plugin(NAME, NAME);
        Self { bench, directory }
    }

    fn own(&self) -> String {
        self.directory.path().join("informant.yaml").display().to_string()
    }

    /// The account's user name on the API server.
    fn user(&self) -> String {
        format!("system:serviceaccount:{}:limited", self.bench.namespace)
    }

    fn is_embedded(&self) -> bool {
        matches!(&*self.bench.cluster, TestCluster::Embedded(_))
    }

    /// The printed objects of `rbac`: those for the account, or those for the host, which is a user here.
    fn printed(&self, of_account: bool) -> Vec<String> {
        let plugin = self.bench.plugins.join(format!("{NAME}.wasm")).display().to_string();
        let own = self.own();
        let arguments = ["rbac", &plugin, "--config", &own, "--name", NAME];
        let output = run_to_end(&self.bench.program, &arguments).expect("it runs");
        let text = String::from_utf8(output.stdout).expect("it is text");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let subject = "- kind: ServiceAccount\n  name: \"informant\"\n  namespace: \"default\"\n";
        let user = format!("- apiGroup: {RBAC}\n  kind: User\n  name: {}\n", User::Reader.name());
        let documents = format!("{}\n", text.trim_end()).replace(subject, &user);
        let of_the_account = format!("name: \"{NAME}:{}:limited\"", self.bench.namespace);
        let documents = documents.split("---\n").map(str::to_owned);
        documents.filter(|it| it.contains(&of_the_account) == of_account).collect()
    }

    /// Creates these objects unchanged.
    async fn apply(&self, documents: &[String]) {
        for document in documents {
            let line = |key: &str| {
                let begin = format!("{key}: ");
                let line = document.lines().find_map(|it| it.trim().strip_prefix(&begin));
                line.map(|it| it.trim_matches('"').to_owned())
            };
            let kind = line("kind").expect("a kind").to_lowercase();
            let place = line("namespace").filter(|_| !kind.starts_with("cluster"));
            let place = place.map_or(String::new(), |it| format!("namespaces/{it}/"));
            let path = format!("/apis/{RBAC}/v1/{place}{kind}s?fieldValidation=Strict");
            let yaml = [(header::CONTENT_TYPE, "application/yaml")];
            let body = document.as_bytes().to_vec();
            let made = self.bench.api.call(Method::POST, &path, &yaml, body).await;
            let status = made.status.as_u16();
            let said = String::from_utf8_lossy(&made.body);
            assert!([201, 409].contains(&status), "{path}: {status} {said}\n{document}");
        }
    }

    /// Sets whether the account may list and watch pods.
    async fn may_read(&self, may: bool) {
        match (&*self.bench.cluster, may) {
            (TestCluster::Embedded(cluster), true) => {
                cluster.dev_cluster().faults().allow(&self.user(), "pods", None);
            }
            (TestCluster::Embedded(cluster), false) => {
                cluster.dev_cluster().faults().forbid(&self.user(), "pods", None);
            }
            (TestCluster::Real(_), true) => self.apply(&self.printed(true)).await,
            (TestCluster::Real(_), false) => {
                let name = format!("{NAME}:{}:limited", self.bench.namespace);
                let path = format!("/apis/{RBAC}/v1/clusterrolebindings/{name}");
                let gone = self.bench.api.delete(&path).await.status.as_u16();
                assert!([200, 404].contains(&gone), "{gone}");
            }
        }
    }

    /// Sets whether the account may write ConfigMaps, and on the real server also the plugin's other writes.
    async fn may_write(&self, may: bool) {
        if let TestCluster::Embedded(cluster) = &*self.bench.cluster {
            let faults = cluster.dev_cluster().faults();
            return match may {
                true => faults.allow(&self.user(), "configmaps", None),
                false => faults.forbid(&self.user(), "configmaps", None),
            };
        }
        if !may {
            return;
        }
        let path = format!("/apis/{RBAC}/v1/namespaces/{}", self.bench.namespace);
        let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
        let role = json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": {"name": "limited"},
            "rules": [
                rule("", "pods", &["patch"]),
                rule("", "configmaps", &["create", "update", "delete"]),
                rule("events.k8s.io", "events", &["create", "patch"]),
            ],
        });
        let subject =
            json!({"kind": "ServiceAccount", "name": "limited", "namespace": self.bench.namespace});
        let binding = json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": {"name": "limited"},
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "limited"}, "subjects": [subject],
        });
        for (collection, object) in [("roles", role), ("rolebindings", binding)] {
            self.bench.api.create(&format!("{path}/{collection}"), &object).await.expect(201);
        }
    }

    /// Starts the host as a user with the printed rights. On the embedded cluster this is the administrator.
    async fn start(&self) -> Host {
        let user = if self.is_embedded() { User::Admin } else { User::Reader };
        let own = self.own();
        let more = ["--config", &own, "--access-review-period", "1"];
        let host = self.bench.start_unready(user, &more).await;
        host.await_ready().await.unwrap();
        host
    }
}

/// Whether the plugin gets no events, for this reason.
fn is_refused(plugin: &Value, why: &str) -> bool {
    let refused = &plugin["serviceAccount"]["refused"][0];
    refused["state"] == "denied" && refused["reason"].as_str().is_some_and(|it| it.contains(why))
}

#[test]
fn it_reads_and_writes_as_its_service_account() {
    host_fact(async |bench| {
        let acting = Acting::new(&bench);
        acting.apply(&acting.printed(false)).await;
        acting.may_read(false).await;
        acting.may_write(false).await;
        let host = acting.start().await;
        let why = "v1/pods in all namespaces by the service account ";
        let refused = |plugin: &Value| is_refused(plugin, why);
        host.await_plugin(NAME, "to be refused to read pods", refused).await.unwrap();
        bench.create_pods(&["writer".to_owned()]).await;

        acting.may_read(true).await;
        let user = acting.user();
        let forbidden = |plugin: &Value| {
            let error = plugin["lastError"]["message"].as_str().unwrap_or_default();
            error.contains(&format!("User \"{user}\" cannot"))
        };
        host.await_plugin(NAME, "to be forbidden to write as the account", forbidden)
            .await
            .unwrap();
        let wrote = |about: &str| {
            let expect = format!("wrote about {}/{about}", bench.namespace);
            move |line: &Line| line.message() == expect
        };
        assert!(!host.lines_of(NAME).iter().any(wrote("writer")), "{}", host.tail());
        acting.may_write(true).await;
        host.await_line("the plugin to have written", LINES_DEADLINE, wrote("writer"))
            .await
            .unwrap();

        acting.may_read(false).await;
        host.await_plugin(NAME, "to be refused again", refused).await.unwrap();
        bench.create_pods(&["writer-2".to_owned()]).await;
        let metrics = || host.get("/metrics").expect("an answer").body;
        let gauge = format!("informant_plugin_refused_reads{{plugin=\"{NAME}\"}} 1");
        assert!(metrics().contains(&gauge), "{}", metrics());
        assert!(!host.lines_of(NAME).iter().any(wrote("writer-2")), "{}", host.tail());
        acting.may_read(true).await;
        let wrote = wrote("writer-2");
        host.await_line("what was missed to be told", LINES_DEADLINE, wrote).await.unwrap();
        assert!(metrics().contains("informant_access_reviews_total{result=\"denied\"}"));
    });
}

#[test]
fn a_host_that_may_not_ask_or_not_impersonate_says_so() {
    host_fact(async |bench| {
        let acting = Acting::new(&bench);
        if acting.is_embedded() {
            return skip::say("the embedded cluster has no roles; `make e2e` tests it");
        }
        let printed = acting.printed(false);
        let role = printed.iter().find(|it| it.contains("\nkind: ClusterRole\n")).expect("a role");
        let reviews = "subjectaccessreviews";
        assert!(role.contains(reviews), "{role}");
        let others = |it: &&String| !it.contains("\nkind: Role") && *it != role;
        let without: Vec<String> = printed.iter().filter(others).cloned().collect();
        acting.apply(&[role.replace(reviews, "nothing")]).await;
        acting.apply(&without).await;
        acting.may_read(true).await;
        acting.may_write(true).await;
        let host = acting.start().await;
        let asking = |plugin: &Value| {
            let refused = &plugin["serviceAccount"]["refused"][0];
            let why = refused["reason"].as_str().unwrap_or_default();
            refused["state"] == "asking"
                && why.contains("may not ask")
                && why.contains("informant rbac")
        };
        host.await_plugin(NAME, "to wait for a review", asking).await.unwrap();

        // The host may now review, and still may not impersonate.
        let path = format!("/apis/{RBAC}/v1/clusterroles/{NAME}");
        bench.api.delete(&path).await.expect(200);
        acting.apply(std::slice::from_ref(role)).await;
        bench.create_pods(&[NAME.to_owned()]).await;
        let user = User::Reader.name();
        let forbidden = |plugin: &Value| {
            let error = plugin["lastError"]["message"].as_str().unwrap_or_default();
            // Since 1.36, separate verbs constrain the writes in another user's name.
            error.contains(&format!("User \"{user}\" cannot impersonate"))
        };
        host.await_plugin(NAME, "to be told that nobody is impersonated", forbidden).await.unwrap();
    });
}
