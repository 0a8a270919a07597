//! The secure address: callers with a token of the cluster, and the rights of each.
//!
//! The embedded cluster has no roles: there a caller may do what a test has not forbidden it. So only the real API
//! server shows that a role is enough, and that the host needs no more than the ClusterRole that the help names.

use std::net::SocketAddr;
use std::time::Duration;

use http::{HeaderName, Method, header};
use serde_json::{Value, json};

use crate::bench::labelled_pod;
use crate::host::bench::{HostBench, host_fact};
use informant_e2e::api::{Api, Reply, write_kubeconfig};
use informant_e2e::cluster::TestCluster;
use informant_e2e::host::{Host, run_to_end};
use informant_e2e::{paths, poll};

/// More than the 10 s for which answers about callers count, on a busy machine.
const REVOKED_DEADLINE: Duration = Duration::from_secs(60);
pub const PAGES: [&str; 8] = [
    "/ui/",
    "/plugins",
    "/plugins/nobody/logs",
    "/informers",
    "/problems",
    "/metrics",
    "/openapi.json",
    "/why?kind=pods&namespace=default&name=a",
];

/// A file of the certificate of `server.test`: `server.pem`, `server.key` or `authority.pem`.
pub fn certificate(file: &str) -> String {
    let path = paths::root().join("host/informant/src/outbound/testdata").join(file);
    path.display().to_string()
}

/// A file of the callers' certificates.
pub fn client_certificate(file: &str) -> String {
    let path = paths::root().join("host/informant/src/http/testdata").join(file);
    path.display().to_string()
}

/// The options of the secure address.
pub fn options<'a>(certificate: &'a str, key: &'a str) -> [&'a str; 6] {
    let address = "--secure-listen-address";
    [address, "127.0.0.1:0", "--tls-cert-file", certificate, "--tls-private-key-file", key]
}

/// A host with a secure address.
async fn start(bench: &HostBench<'_>) -> Host {
    bench.start(&options(&certificate("server.pem"), &certificate("server.key"))).await
}

/// A caller of a host that may read the Pods of the fact's namespace, of which one is `web`, and nothing else.
pub struct Caller<'a> {
    bench: &'a HostBench<'a>,
    address: SocketAddr,
    /// The file of its certificate. None: it is a service account, with a token.
    certificate: Option<&'static str>,
    directory: tempfile::TempDir,
}

impl<'a> Caller<'a> {
    pub async fn new(bench: &'a HostBench<'a>, host: &Host) -> Self {
        Self::with(bench, host, None).await
    }

    /// The user `jane` of the group `readers`, with the certificate of this file.
    pub async fn certified(bench: &'a HostBench<'a>, host: &Host, file: &'static str) -> Self {
        Self::with(bench, host, Some(file)).await
    }

    async fn with(
        bench: &'a HostBench<'a>,
        host: &Host,
        certificate: Option<&'static str>,
    ) -> Self {
        bench.create_pods(&["web".to_owned()]).await;
        let address = host.secure_address().expect("it is announced");
        let address = SocketAddr::from(([127, 0, 0, 1], address.port()));
        let directory = tempfile::tempdir().expect("a directory");
        let this = Self { bench, address, certificate, directory };
        this.grant().await;
        this
    }

    /// It reads that, and is refused everything else in its own name.
    pub async fn check(&self) {
        let client = match self.certificate {
            Some(file) => self.client_with(file).await,
            None => self.client(&self.token().await).await,
        };
        for path in self.own() {
            assert_eq!(code(&client, &path).await, 200, "{path}");
        }
        let others = [
            "/core/v1/namespaces/default/pods",
            "/core/v1/pods?namespace=default",
            "/core/v1/namespaces/default/pods?watch=true",
            "/core/v1/namespaces/default/pods/web",
            "/api/v1/namespaces/default/pods",
            "/api/v1/namespaces/default/pods?watch=true",
            "/deploy",
            "/apps/v1/deployments",
            "/apis/apps/v1/deployments",
        ];
        for path in others.into_iter().chain(PAGES) {
            let reply = client.get(path).await;
            assert_eq!(reply.status.as_u16(), 403, "{path}");
            assert!(message(&reply).contains(&self.user()), "{path}: {}", message(&reply));
        }
        let watch = client.get("/core/v1/pods?namespace=default&watch=true").await;
        assert!(message(&watch).contains("cannot watch resource"), "{}", message(&watch));
        for path in ["/livez", "/readyz"] {
            assert_eq!(code(&client, path).await, 200, "{path}");
        }
        let as_admin = [(HeaderName::from_static("impersonate-user"), "admin")];
        let path = self.own()[0].clone();
        let reply = client.call(Method::GET, &path, &as_admin, Vec::new()).await;
        assert_eq!(reply.status.as_u16(), 403, "{}", message(&reply));
    }

    pub fn user(&self) -> String {
        if self.certificate.is_some() {
            return "jane".to_owned();
        }
        format!("system:serviceaccount:{}:caller", self.bench.namespace)
    }

    /// Makes the caller, with its right to Pods.
    async fn grant(&self) {
        let namespace = &self.bench.namespace;
        if let TestCluster::Embedded(cluster) = &*self.bench.cluster {
            let faults = cluster.dev_cluster().faults();
            faults.forbid(&self.user(), "pods", Some("default"));
            let pages = [
                "/ui/",
                "/plugins",
                "/plugins/nobody/logs",
                "/informers",
                "/problems",
                "/metrics",
                "/openapi.json",
                "/why",
            ];
            for resource in pages.into_iter().chain(["deployments"]) {
                faults.forbid(&self.user(), resource, None);
            }
            return;
        }
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "caller"},
        });
        let group = "rbac.authorization.k8s.io";
        let role = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"name": "caller"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}],
        });
        let subject = match self.certificate {
            Some(_) => json!({"apiGroup": group, "kind": "Group", "name": "readers"}),
            None => json!({"kind": "ServiceAccount", "name": "caller", "namespace": namespace}),
        };
        let binding = json!({
            "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": "caller"},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "caller"}, "subjects": [subject],
        });
        let core = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        let roles = format!("/apis/{group}/v1/namespaces/{namespace}");
        for (path, object) in [
            (core, account),
            (format!("{roles}/roles"), role),
            (format!("{roles}/rolebindings"), binding),
        ] {
            self.bench.api.create(&path, &object).await.expect(201);
        }
    }

    /// Lets the caller use these paths of the host with this verb. Beside the embedded cluster a caller may use all other paths but those
    /// that are refused here.
    pub async fn grant_paths(&self, verb: &str, paths: &[&str], refused: &[&str]) {
        if let TestCluster::Embedded(cluster) = &*self.bench.cluster {
            let faults = cluster.dev_cluster().faults();
            paths.iter().for_each(|path| faults.allow(&self.user(), path, None));
            refused.iter().for_each(|path| faults.forbid(&self.user(), path, None));
            return;
        }
        let group = "rbac.authorization.k8s.io";
        let (api, version) = (format!("/apis/{group}/v1"), format!("{group}/v1"));
        let name = format!("{}-{verb}", self.bench.namespace);
        let role = json!({
            "apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"nonResourceURLs": paths, "verbs": [verb]}],
        });
        let account =
            json!({"kind": "ServiceAccount", "name": "caller", "namespace": self.bench.namespace});
        let binding = json!({
            "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name}, "subjects": [account],
        });
        self.bench.api.create(&format!("{api}/clusterroles"), &role).await.expect(201);
        self.bench.api.create(&format!("{api}/clusterrolebindings"), &binding).await.expect(201);
    }

    /// Takes the right away.
    async fn revoke(&self) {
        let namespace = &self.bench.namespace;
        match &*self.bench.cluster {
            TestCluster::Embedded(cluster) => {
                cluster.dev_cluster().faults().forbid(&self.user(), "pods", None);
            }
            TestCluster::Real(_) => {
                let path = format!(
                    "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/caller"
                );
                self.bench.api.delete(&path).await.expect(200);
            }
        }
    }

    pub async fn token(&self) -> String {
        if let TestCluster::Embedded(_) = &*self.bench.cluster {
            return format!("token-of-{}", self.user());
        }
        let namespace = &self.bench.namespace;
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/caller/token");
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600},
        });
        let answer = self.bench.api.create(&path, &request).await.expect(201);
        answer["status"]["token"].as_str().expect("a token").to_owned()
    }

    /// A client of the secure address with a token.
    pub async fn client(&self, token: &str) -> Api {
        self.client_of(&json!({"token": token})).await
    }

    /// A client of the secure address with the certificate of a file.
    pub async fn client_with(&self, file: &str) -> Api {
        let user = json!({
            "client-certificate": client_certificate(file),
            "client-key": client_certificate("client.key"),
        });
        self.client_of(&user).await
    }

    /// A client of the secure address, as a kubeconfig describes it.
    async fn client_of(&self, user: &Value) -> Api {
        let server = format!("https://{}", self.address);
        let path = self.directory.path().join("kubeconfig");
        let authority = certificate("authority.pem");
        let cluster = json!({
            "server": server, "certificate-authority": authority, "tls-server-name": "server.test",
        });
        write_kubeconfig(&path, &cluster, user).expect("a file");
        Api::from_kubeconfig(&path).await.expect("a client")
    }

    /// Every path of objects of the fact's namespace.
    pub fn own(&self) -> [String; 5] {
        let namespace = &self.bench.namespace;
        [
            format!("/core/v1/namespaces/{namespace}/pods"),
            format!("/core/v1/pods?namespace={namespace}"),
            format!("/core/v1/namespaces/{namespace}/pods/web"),
            format!("/api/v1/namespaces/{namespace}/pods"),
            format!("/api/v1/namespaces/{namespace}/pods/web"),
        ]
    }
}

pub async fn code(api: &Api, path: &str) -> u16 {
    api.get(path).await.status.as_u16()
}

fn message(reply: &Reply) -> String {
    let body: Value = serde_json::from_slice(&reply.body).expect("a Status");
    assert_eq!(body["kind"], "Status", "{body}");
    body["message"].as_str().unwrap_or_default().to_owned()
}

/// Invariant 42.
#[test]
fn a_caller_reads_what_it_may_read_from_the_cluster_and_nothing_else() {
    host_fact(async |bench| {
        let host = start(&bench).await;
        Caller::new(&bench, &host).await.check().await;
    });
}

#[test]
fn a_watch_through_the_secure_address_has_the_changes() {
    host_fact(async |bench| {
        let host = start(&bench).await;
        let caller = Caller::new(&bench, &host).await;
        let caller = caller.client(&caller.token().await).await;
        let path = format!("{}?watch=true", bench.pods());
        let mut watch = caller.watch(&path).await.expect("it may");
        assert_eq!(watch.event().await.object["metadata"]["name"], "web");
        bench.api.create(&bench.pods(), &labelled_pod("later", &[])).await.expect(201);
        assert_eq!(watch.event().await.object["metadata"]["name"], "later");
    });
}

#[test]
fn without_a_valid_token_nothing_but_probes_is_served() {
    host_fact(async |bench| {
        let host = start(&bench).await;
        let caller = Caller::new(&bench, &host).await;
        for token in ["", "of-nobody"] {
            let stranger = caller.client(token).await;
            for path in caller.own().iter().map(String::as_str).chain(PAGES).chain(["/api", "/x"]) {
                let reply = stranger.get(path).await;
                assert_eq!(reply.status.as_u16(), 401, "{path}");
                let asks = reply.headers.get(header::WWW_AUTHENTICATE);
                assert_eq!(asks.map(|value| value.as_bytes()), Some(b"Bearer".as_slice()));
            }
            assert_eq!(code(&stranger, "/livez").await, 200);
        }
        let refused = host.get("/metrics").expect("it serves").body;
        let line = "informant_http_callers_refused_total{reason=\"unauthenticated\"} 30";
        assert!(refused.contains(line), "{refused}");
    });
}

/// Invariant 42.
#[test]
fn a_revoked_right_ends_within_seconds() {
    host_fact(async |bench| {
        let host = start(&bench).await;
        let caller = Caller::new(&bench, &host).await;
        let client = caller.client(&caller.token().await).await;
        let path = &caller.own()[0];
        assert_eq!(code(&client, path).await, 200);
        caller.revoke().await;
        let refused = poll::until("the refusal", REVOKED_DEADLINE, async || {
            (code(&client, path).await == 403).then_some(())
        });
        refused.await.expect("it is revoked");
    });
}

#[test]
fn a_certificate_that_cannot_be_used_ends_the_host_with_its_option() {
    host_fact(async |bench| {
        let check = |options: &[&str], expect: &str| {
            let directory = bench.plugins.display().to_string();
            let kubeconfig = bench.cluster.kubeconfig(informant_e2e::cluster::User::Admin);
            let kubeconfig = kubeconfig.display().to_string();
            let fixed = ["run", "--plugins", &directory, "--kubeconfig", &kubeconfig];
            let arguments: Vec<&str> = fixed.into_iter().chain(options.iter().copied()).collect();
            let output = run_to_end(&bench.program, &arguments).expect("it runs");
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && text.contains(expect), "{text}");
        };
        let [certificate, key] = ["server.pem", "server.key"].map(certificate);
        check(&options(&certificate, &key)[..2], "--tls-cert-file");
        let absent = options("/nowhere/tls.crt", &key);
        check(&absent, "--tls-cert-file /nowhere/tls.crt cannot be read");
        let without_key = options(&certificate, &certificate);
        check(&without_key, &format!("--tls-private-key-file {certificate} has no private key"));
        let both = options(&certificate, &key);
        let with_clients = [&both[..], &["--client-ca-file", &key]].concat();
        check(&with_clients, &format!("--client-ca-file {key} has no certificate"));
    });
}
