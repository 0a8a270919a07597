//! What plugins cost that have nothing to do, and what is left of it when they are gone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use informant_e2e::host::Host;
use informant_e2e::poll;
use informant_e2e::process_stats::proportional;

use crate::contender::Contender;
use crate::load::Load;
use crate::programs::Programs;
use crate::results::{Metric, Run};
use crate::stolen::ProcessorTime;
use crate::subject::Subject;

/// Kinds of plugins, as tables call them.
pub const KINDS: [(Subject, &str); 3] = [
    (Subject::IdleRust, "Rust, with the SDK"),
    (Subject::IdleText, "WebAssembly text, by hand"),
    (Subject::IdleC, "C"),
];

/// Compiling is done one at a time, by a process each.
const LOAD_DEADLINE: Duration = Duration::from_secs(240);

/// A host that has one plugin, then so many more, then one again. Each is another file with the same code, and shares nothing with the others.
pub async fn idle(
    load: &Load,
    programs: &Programs,
    subject: Subject,
    (pods, plugins): (u32, u32),
    settle: Duration,
) -> anyhow::Result<Run> {
    load.pods(pods)?;
    let begin = ProcessorTime::now()?;
    let scratch = tempfile::tempdir().context("a directory for plugins and code")?;
    let (directory, code) = (scratch.path().join("plugins"), scratch.path().join("code"));
    std::fs::create_dir(&directory).context("make a directory for plugins")?;
    let built = programs.idle_plugin(subject).context("that is no kind of plugin")?;
    let built = std::fs::read(&built).with_context(|| format!("read {}", built.display()))?;
    put(&directory, 0, &built)?;
    let cache = code.display().to_string();
    let arguments = ["--code-cache", &cache];
    let host =
        Host::start(&programs.informant(), load.kubeconfig(), &directory, &arguments).await?;
    let (alone, code_alone) = settled(&host, 1, &code, settle).await?;
    for number in 1..=plugins {
        put(&directory, number, &built)?;
    }
    let (together, code_together) = settled(&host, plugins as usize + 1, &code, settle).await?;
    ensure!(code_together > code_alone, "no compiled code is kept: are the plugins all the same?");
    for number in 1..=plugins {
        std::fs::remove_file(file(&directory, number)).context("remove a plugin")?;
    }
    let (left, _) = settled(&host, 1, &code, settle).await?;
    let more = |after: u64, before: u64| after as f64 - before as f64;
    let metrics = BTreeMap::from([
        (Metric::IdlePlugins, more(together, alone)),
        (Metric::IdleCode, more(code_together, code_alone)),
        (Metric::IdleLeft, more(left, alone)),
        (Metric::Stolen, ProcessorTime::now()?.stolen_since(begin)),
    ]);
    let contender = Contender::Informant;
    Ok(Run { contender, subject, pods, handlers: plugins, metrics, series: Vec::new() })
}

fn file(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("idle-{number}.wasm"))
}

/// The plugin as this number, with a custom section that nobody reads: its kind, its size, the size of its name, its name.
fn put(directory: &Path, number: u32, built: &[u8]) -> anyhow::Result<()> {
    let mut section = vec![0, 5, 4];
    section.extend(number.to_le_bytes().map(|byte| byte & 0x7f));
    let (place, partial) = (file(directory, number), directory.join("partial"));
    std::fs::write(&partial, [built, &section].concat()).context("write a plugin")?;
    std::fs::rename(&partial, &place).context("rename a plugin into place")
}

/// Resident bytes and bytes of compiled code once so many plugins run and a while has passed.
async fn settled(
    host: &Host,
    plugins: usize,
    code: &Path,
    settle: Duration,
) -> anyhow::Result<(u64, u64)> {
    let what = format!("{plugins} plugins to run and wait");
    let run = async || {
        let all = host.get("/plugins").ok()?.json();
        let all = all.as_array()?;
        let idle = |plugin: &&serde_json::Value| {
            plugin["state"] == "running" && plugin["queue"]["depth"] == 0
        };
        (all.len() == plugins && all.iter().filter(idle).count() == plugins).then_some(())
    };
    poll::measured(&what, LOAD_DEADLINE, run).await?;
    tokio::time::sleep(settle).await;
    Ok((proportional(host.id())?, bytes(code)?))
}

fn bytes(directory: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory).context("read the code cache")? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}
