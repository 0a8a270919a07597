//! etcd and kube-apiserver as child processes on free loopback ports: no kubelet, no controllers. Pods
//! stay `Pending` until a test writes their status, which is what an informer test needs.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;

use crate::api::{Api, DEADLINE};
use crate::child::Child;
use crate::cluster::User;
use crate::poll;

/// Ready takes 2 seconds alone and much longer while the machine compiles.
const START_DEADLINE: Duration = Duration::from_secs(120);

/// Somebody else may take a port between our finding it free and the child's listening on it.
const START_ATTEMPTS: usize = 3;

/// A real API server with its own etcd.
pub struct RealCluster {
    // The processes go before the directory they write to: fields are dropped in this order.
    apiserver: Option<Child>,
    /// None only while its data is copied.
    etcd: Option<Child>,
    ports: Ports,
    tools: Tools,
    dir: tempfile::TempDir,
}

struct Ports {
    etcd_client: u16,
    etcd_peer: u16,
    apiserver: u16,
}

struct Tools {
    etcd: PathBuf,
    apiserver: PathBuf,
}

impl RealCluster {
    /// Starts both and waits for `/readyz`.
    pub async fn start() -> anyhow::Result<Self> {
        let tools = Tools::find()?;
        let mut attempt = 1;
        loop {
            match Self::try_start(&tools).await {
                Ok(cluster) => return Ok(cluster),
                Err(error) if attempt == START_ATTEMPTS => return Err(error),
                Err(_) => attempt += 1,
            }
        }
    }

    async fn try_start(tools: &Tools) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("informant-e2e-").tempdir()?;
        let ports = Ports::pick()?;
        write_tokens(dir.path())?;
        tools.write_signing_key(&dir.path().join("sa.key"))?;
        let etcd = start_etcd(tools, &ports, dir.path())?;
        let tools = Tools { etcd: tools.etcd.clone(), apiserver: tools.apiserver.clone() };
        let mut cluster = Self { apiserver: None, etcd: Some(etcd), ports, tools, dir };
        cluster.start_apiserver().await?;
        Ok(cluster)
    }

    /// Starts the API server, again after [`RealCluster::kill_apiserver`], on the same port and data.
    pub async fn start_apiserver(&mut self) -> anyhow::Result<()> {
        anyhow::ensure!(self.apiserver.is_none(), "the API server is running already");
        let mut command = self.apiserver_command();
        let log = self.dir.path().join("apiserver.log");
        self.apiserver = Some(Child::spawn_logged("kube-apiserver", &mut command, &log)?);
        self.await_ready().await
    }

    /// kill -9.
    pub fn kill_apiserver(&mut self) {
        self.apiserver = None;
    }

    /// The kubeconfig of this user.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        self.dir.path().join(format!("{}.kubeconfig", user.name()))
    }

    /// Compacts etcd up to its present revision, through its JSON gateway.
    pub async fn compact_etcd(&mut self) -> anyhow::Result<()> {
        self.etcd.as_mut().context("etcd was stopped")?.check_running()?;
        // Any key will do: the header of every answer carries the present revision.
        let range = self.etcd_call("/v3/kv/range", &json!({"key": "AA=="}))?;
        let revision = range["header"]["revision"].as_str().context("etcd gave no revision")?;
        let compaction = json!({"revision": revision, "physical": true});
        self.etcd_call("/v3/kv/compaction", &compaction)?;
        Ok(())
    }

    /// Stops both, copies etcd's data, and starts both again.
    pub async fn take_backup(&mut self) -> anyhow::Result<()> {
        self.with_etcd_stopped(copy_directory).await
    }

    /// Stops both, puts the copy in the place of etcd's data, and starts both again.
    pub async fn restore_backup(&mut self) -> anyhow::Result<()> {
        self.with_etcd_stopped(|data, backup| {
            anyhow::ensure!(backup.exists(), "there is no backup");
            std::fs::remove_dir_all(data).context("remove etcd's data")?;
            copy_directory(backup, data)
        })
        .await
    }

    /// kill -9 for both: etcd's log is all in the file system, and it starts from what is there.
    async fn with_etcd_stopped(
        &mut self,
        change: impl FnOnce(&Path, &Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.kill_apiserver();
        self.etcd = None;
        change(&self.dir.path().join("etcd"), &self.dir.path().join("etcd-backup"))?;
        self.etcd = Some(start_etcd(&self.tools, &self.ports, self.dir.path())?);
        self.start_apiserver().await
    }

    fn etcd_call(&self, path: &str, body: &serde_json::Value) -> anyhow::Result<serde_json::Value> {
        let address = (Ipv4Addr::LOCALHOST, self.ports.etcd_client).into();
        let answer = crate::http::post(address, path, body)?;
        anyhow::ensure!(answer.status == 200, "etcd {path}: {} {}", answer.status, answer.body);
        Ok(answer.json())
    }

    fn apiserver_command(&self) -> Command {
        let dir = self.dir.path();
        let mut command = Command::new(&self.tools.apiserver);
        let mut flag = |name: &str, value: String| {
            command.arg(format!("--{name}={value}"));
        };
        flag("etcd-servers", format!("http://127.0.0.1:{}", self.ports.etcd_client));
        flag("bind-address", "127.0.0.1".into());
        flag("secure-port", self.ports.apiserver.to_string());
        // Never spoken to; without it a machine that has no default route cannot start one.
        flag("advertise-address", "192.0.2.1".into());
        flag("cert-dir", dir.join("certs").display().to_string());
        flag("token-auth-file", dir.join("tokens.csv").display().to_string());
        flag("authorization-mode", "RBAC".into());
        flag("service-account-key-file", dir.join("sa.key").display().to_string());
        flag("service-account-signing-key-file", dir.join("sa.key").display().to_string());
        flag("service-account-issuer", "https://kubernetes.default.svc".into());
        flag("service-cluster-ip-range", "10.96.0.0/16".into());
        // It would wait for service accounts that only a controller makes.
        flag("disable-admission-plugins", "ServiceAccount".into());
        command
    }

    async fn await_ready(&mut self) -> anyhow::Result<()> {
        let port = self.ports.apiserver;
        let what = format!("the API server on port {port} to be ready");
        let certificate = self.dir.path().join("certs/apiserver.crt");
        let ready = poll::until(&what, START_DEADLINE, async || {
            if let Some(Err(error)) = self.apiserver.as_mut().map(Child::check_running) {
                return Some(Err(error));
            }
            // The server writes its certificate itself when it first starts.
            let trusted = std::fs::read(&certificate).ok().filter(|text| !text.is_empty())?;
            self.write_kubeconfigs(&trusted).ok()?;
            let api = Api::from_kubeconfig(&self.kubeconfig(User::Admin)).await.ok()?;
            let answer = api.send(http::Method::GET, "/readyz", &[], Vec::new());
            let reply = tokio::time::timeout(DEADLINE, answer).await.ok()?.ok()?;
            (reply.status == 200).then_some(Ok(()))
        });
        let ready = ready.await;
        let log = self.apiserver.as_ref().map(Child::log_tail).unwrap_or_default();
        ready.with_context(|| format!("the end of its log:\n{log}"))?
    }

    fn write_kubeconfigs(&self, certificate: &[u8]) -> anyhow::Result<()> {
        let trusted = encode_base64(certificate);
        for user in User::ALL {
            let text = kubeconfig(self.ports.apiserver, &trusted, user);
            let path = self.kubeconfig(user);
            // A reader must never see half of it: tests hand the path to other processes.
            let partial = path.with_extension("partial");
            std::fs::write(&partial, text)?;
            std::fs::rename(partial, path)?;
        }
        Ok(())
    }
}

impl Ports {
    /// Three free ports. They are held together, so that they differ.
    fn pick() -> anyhow::Result<Self> {
        let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("find a free port");
        let held = [free()?, free()?, free()?];
        let port = |index: usize| anyhow::Ok(held[index].local_addr()?.port());
        Ok(Self { etcd_client: port(0)?, etcd_peer: port(1)?, apiserver: port(2)? })
    }
}

impl Tools {
    fn find() -> anyhow::Result<Self> {
        let dir = crate::paths::target_directory().join("e2e");
        let tools = Self { etcd: dir.join("etcd"), apiserver: dir.join("kube-apiserver") };
        for tool in [&tools.etcd, &tools.apiserver] {
            anyhow::ensure!(tool.exists(), "{} is missing: run `make e2e-tools`", tool.display());
        }
        Ok(tools)
    }

    fn write_signing_key(&self, path: &Path) -> anyhow::Result<()> {
        let output = Command::new(&self.apiserver).arg("signing-key").arg(path).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "no signing key was made: {error}");
        Ok(())
    }
}

fn start_etcd(tools: &Tools, ports: &Ports, dir: &Path) -> anyhow::Result<Child> {
    let client = format!("http://127.0.0.1:{}", ports.etcd_client);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    let mut command = Command::new(&tools.etcd);
    // Also tells its guard what to remove if we are gone first.
    command.current_dir(dir);
    command.arg("--data-dir").arg(dir.join("etcd"));
    command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
    command.args(["--listen-peer-urls", &peer, "--log-level", "error"]);
    // Nothing here has to survive a power failure, and a busy disk must not fail a test.
    command.arg("--unsafe-no-fsync");
    Child::spawn_logged("etcd", &mut command, &dir.join("etcd.log"))
}

/// Files and directories; etcd's data has nothing else.
fn copy_directory(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("create {}", to.display()))?;
    for entry in from.read_dir().with_context(|| format!("read {}", from.display()))? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_directory(&source, &target)?;
        } else {
            std::fs::copy(&source, &target)
                .with_context(|| format!("copy {}", source.display()))?;
        }
    }
    Ok(())
}

/// Known to whoever can read the temporary directory, which is us.
fn token(user: User) -> String {
    format!("{}-of-process-{}", user.name(), std::process::id())
}

fn write_tokens(dir: &Path) -> anyhow::Result<()> {
    let lines: Vec<String> = User::ALL
        .map(|user| {
            let groups = if user == User::Admin { ",system:masters" } else { "" };
            format!("{},{name},{name}{groups}", token(user), name = user.name())
        })
        .into();
    std::fs::write(dir.join("tokens.csv"), lines.join("\n")).context("write the tokens")
}

/// JSON is valid YAML.
fn kubeconfig(port: u16, certificate_base64: &str, user: User) -> String {
    let cluster = json!({
        "server": format!("https://127.0.0.1:{port}"),
        "certificate-authority-data": certificate_base64,
    });
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": user.name(), "user": {"token": token(user)}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user.name()}}],
        "current-context": "e2e",
    })
    .to_string()
}

fn encode_base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
