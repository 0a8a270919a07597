//! How long a host takes that starts with many plugins, whose code is compiled, until all of them run, and what each of them adds.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use informant_e2e::host::Host;
use informant_e2e::poll;
use informant_e2e::process_stats::proportional;

use crate::contender::{Contender, handled_by_plugins};
use crate::crowd::Crowd;
use crate::load::Load;
use crate::programs::Programs;
use crate::results::{Metric, Run};
use crate::stolen::ProcessorTime;
use crate::subject::Subject;

const START_DEADLINE: Duration = Duration::from_secs(240);
/// Between two looks at whether all run: the answer of a host with many plugins is long.
const LOOK: Duration = Duration::from_millis(50);

/// A host with one plugin, then one with so many copies of it. All have the same code.
pub async fn started(
    load: &Load,
    programs: &Programs,
    crowd: Crowd,
    settle: Duration,
) -> anyhow::Result<Run> {
    let Crowd { handlers, pods, .. } = crowd;
    load.pods(pods)?;
    let begin = ProcessorTime::now()?;
    let scratch = tempfile::tempdir().context("a directory for plugins and code")?;
    let directory = scratch.path().join("plugins");
    std::fs::create_dir(&directory).context("make a directory for plugins")?;
    let code = scratch.path().join("code").display().to_string();
    let arguments = ["--code-cache", &code];
    let start = async || {
        Host::start(&programs.informant(), load.kubeconfig(), &directory, &arguments).await
    };
    put(programs, &directory, 0)?;
    // Compiles it.
    all_run(&start().await?, 1).await?;
    let alone = start().await?;
    all_run(&alone, 1).await?;
    // What is free goes back to the system within some seconds.
    let settle = settle * 3;
    tokio::time::sleep(settle).await;
    let before = proportional(alone.id())?;
    drop(alone);
    for number in 1..handlers {
        put(programs, &directory, number)?;
    }
    let since = Instant::now();
    let together = start().await?;
    all_run(&together, handlers as usize).await?;
    let seconds = since.elapsed().as_secs_f64();
    let events = f64::from(handlers) * f64::from(pods);
    poll::measured("the first list in all plugins", START_DEADLINE, async || {
        let handled = handled_by_plugins(&together.get("/metrics").ok()?.body).ok()?;
        (handled.events as f64 >= events).then_some(())
    })
    .await?;
    tokio::time::sleep(settle).await;
    let added = proportional(together.id())? as f64 - before as f64;
    let metrics = BTreeMap::from([
        (Metric::AllRun, seconds),
        (Metric::IdlePlugins, added),
        (Metric::Stolen, ProcessorTime::now()?.stolen_since(begin)),
    ]);
    let (contender, subject) = (Contender::Informant, Subject::Started);
    Ok(Run { contender, subject, pods, handlers, metrics, series: Vec::new() })
}

fn put(programs: &Programs, directory: &Path, number: u32) -> anyhow::Result<()> {
    let place = directory.join(format!("started-{number}.wasm"));
    std::fs::copy(programs.subscriber(), place).context("copy the plugin")?;
    Ok(())
}

async fn all_run(host: &Host, plugins: usize) -> anyhow::Result<()> {
    let run = async || {
        let metrics = host.get("/metrics").ok()?.body;
        let up = metrics.lines().filter_map(|line| line.strip_prefix("informant_plugin_up{"));
        let up = up.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
        if up.filter(|value| *value == 1.0).count() == plugins {
            return Some(());
        }
        tokio::time::sleep(LOOK).await;
        None
    };
    poll::measured(&format!("{plugins} plugins to run"), START_DEADLINE, run).await
}
