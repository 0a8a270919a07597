//! The load server as a child, and its commands.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use informant_e2e::child::Child;
use informant_e2e::http;
use serde_json::Value;

use crate::first_line;
use crate::load_server::{Layout, Report};

/// A running load server.
pub struct Load {
    _child: Child,
    control: SocketAddr,
    kubeconfig: PathBuf,
}

impl Load {
    /// Starts it; its kubeconfig goes to the directory. Without an encoder it speaks JSON only.
    pub fn start(
        program: &Path,
        encoder: Option<&Path>,
        layout: Layout,
        directory: &Path,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        let Layout { namespaces, chosen } = layout;
        command.args(["--namespaces", &namespaces.to_string(), "--chosen", &chosen.to_string()]);
        if let Some(encoder) = encoder {
            command.arg("--encoder").arg(encoder);
        }
        Self::launch(command, directory)
    }

    /// One that has so many resources beside pods, each with so many objects, in JSON only.
    pub fn start_with_resources(
        program: &Path,
        resources: u32,
        objects: u32,
        directory: &Path,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(["--resources", &resources.to_string(), "--objects", &objects.to_string()]);
        Self::launch(command, directory)
    }

    fn launch(mut command: Command, directory: &Path) -> anyhow::Result<Self> {
        command.stdout(Stdio::piped());
        let mut child = Child::spawn("the load server", &mut command)?;
        let line = first_line(&mut child)?;
        let addresses = line.strip_prefix("READY ").and_then(|rest| rest.split_once(' '));
        let (api, control) = addresses.with_context(|| format!("not two addresses: {line}"))?;
        let kubeconfig = directory.join("kubeconfig");
        std::fs::write(&kubeconfig, kubeconfig_for(api)).context("write the kubeconfig")?;
        Ok(Self { _child: child, control: control.parse()?, kubeconfig })
    }

    /// How to reach it.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Sets the number of pods.
    pub fn pods(&self, count: u32) -> anyhow::Result<Report> {
        self.post(&format!("/pods?count={count}"))
    }

    /// Makes as many updates at once.
    pub fn burst(&self, updates: u64) -> anyhow::Result<Report> {
        self.post(&format!("/burst?updates={updates}"))
    }

    /// Makes updates at a rate, and returns when they are made.
    pub fn rate(&self, per_second: u32, time: Duration) -> anyhow::Result<Report> {
        let seconds = time.as_secs_f64();
        self.post(&format!("/rate?perSecond={per_second}&seconds={seconds}"))
    }

    /// Changes so many pods, of which no watch is told, and ends all watches with 410.
    pub fn expire(&self, changed: u64) -> anyhow::Result<Report> {
        self.post(&format!("/expire?changed={changed}"))
    }

    /// What it has done.
    pub fn report(&self) -> anyhow::Result<Report> {
        self.post("/report")
    }

    fn post(&self, path: &str) -> anyhow::Result<Report> {
        let answer = http::post(self.control, path, &Value::Null)?;
        ensure!(answer.status == 200, "{path}: {} {}", answer.status, answer.body);
        serde_json::from_str(&answer.body).with_context(|| format!("{path}: {}", answer.body))
    }
}

/// No TLS and no credentials: they would cost everybody the same, and the server most.
fn kubeconfig_for(api: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: bench\n\
         clusters: [{{name: bench, cluster: {{server: \"http://{api}\"}}}}]\n\
         users: [{{name: bench, user: {{}}}}]\n\
         contexts: [{{name: bench, context: {{cluster: bench, user: bench}}}}]\n"
    )
}
