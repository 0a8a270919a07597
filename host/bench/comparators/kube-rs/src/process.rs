//! A process for each event, as shell-operator and its like run hooks: a shell that reads the event's JSON and ends. It
//! shows what starting a process costs and no more; a real hook also starts `jq` or `kubectl`.

use std::process::Stdio;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube_runtime::watcher::Event;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

pub(crate) async fn run(event: &Event<Pod>) -> anyhow::Result<()> {
    let (Event::Apply(pod) | Event::Delete(pod) | Event::InitApply(pod)) = event else {
        return Ok(());
    };
    let json = serde_json::to_vec(pod)?;
    let mut child = Command::new("/bin/sh")
        .args(["-c", "cat >/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("start the shell")?;
    let mut stdin = child.stdin.take().context("the shell has no standard input")?;
    stdin.write_all(&json).await.context("write to the shell")?;
    drop(stdin);
    let status = child.wait().await?;
    ensure!(status.success(), "the shell failed: {status}");
    Ok(())
}
