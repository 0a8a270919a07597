//! A host under siege: the real program with a plugin that does its work, and generated files, requests, state and recordings thrown at it, while a
//! watchdog looks whether it lives, answers, stays small and tells the good plugin everything in time.
//!
//! The embedded cluster is in this process. Every input is made of the siege's seed, its kind and its number, so that it can be made again; when
//! something is amiss the inputs that were under way, and the last ones before, are kept as files.

mod callers;
mod copies;
mod documents;
mod files;
mod good;
mod grammar;
mod ground;
pub mod input;
mod modules;
mod mutants;
mod replays;
mod requests;
mod restarts;
mod samples;
mod watchdog;

use crate::cluster::{EmbeddedCluster, User};
use crate::host::Host;
use crate::soak::traffic::SoakTraffic;
use crate::{poll, process_stats};
use anyhow::Context;
use good::Good;
use ground::Ground;
pub use ground::{Sample, SiegeReport};
use input::AttackKind;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;
use watchdog::Watchdog;

/// How often lines are read.
const LOOK: Duration = Duration::from_millis(250);
/// Between the start and the first input: what the host takes now is what it is held against.
const WARM_UP: Duration = Duration::from_secs(5);
/// A host ends within its grace.
const END_MAX: Duration = Duration::from_secs(30);
/// The time in which a host settles after the last input, at most. Informers that a request started end ten minutes after the
/// last request.
const SETTLE_MAX: Duration = Duration::from_secs(12 * 60);
/// What a host may keep of a siege when everything is gone.
const KEPT_BYTES_MAX: u64 = 50 << 20;
/// Changes a second.
const CHANGES: u32 = 20;

/// What a siege is.
#[derive(Clone, Debug)]
pub struct SiegeOptions {
    /// The host.
    pub program: PathBuf,
    /// Where the test guests are.
    pub guests: PathBuf,
    /// Where the shipped plugins are.
    pub plugins: PathBuf,
    /// Decides every input.
    pub seed: u64,
    /// For so long inputs are thrown.
    pub time: Duration,
    /// What is thrown.
    pub kinds: Vec<AttackKind>,
    /// The number of the first input of each kind.
    pub from: u64,
    /// How many of each.
    pub inputs: u64,
    /// Where inputs are kept that something went wrong with.
    pub keep: PathBuf,
}

/// Lays the siege.
pub async fn run(options: &SiegeOptions) -> anyhow::Result<SiegeReport> {
    let cluster = EmbeddedCluster::start().await?;
    let traffic = SoakTraffic::new(cluster.dev_cluster().cluster().clone())?;
    let directory = tempfile::tempdir()?;
    std::fs::copy(options.guests.join("witness.wasm"), directory.path().join("good.wasm"))
        .context("read the good plugin")?;
    let kubeconfig = cluster.kubeconfig(User::Admin);
    let ground = Arc::new(Ground::new(options.clone()));
    let samples = samples::make(options, &kubeconfig).await?;

    let configuration = configuration()?;
    let own = configuration.path().display().to_string();
    let more = ["--config", own.as_str(), "--metrics-bind-address", "127.0.0.1:0"];
    let mut host = Host::start(&options.program, &kubeconfig, directory.path(), &more).await?;
    host.await_ready().await?;
    let runs = |plugin: &serde_json::Value| plugin["state"] == "running";
    host.await_plugin("good", "it to run", runs).await?;
    let mut good = Good::new(traffic.written());
    let traffic = traffic.go_on(CHANGES, ground.no_more_changes());
    poll::pause(WARM_UP).await;
    let before = process_stats::resident(host.id())?;
    ground.report().before = before;

    let watchdog = Watchdog::start(&host, before, &ground)?;
    let mut throwers = files::start(&ground, directory.path(), host.address())?;
    throwers.extend(callers::start(&ground, &host));
    throwers.extend(replays::start(&ground, &samples)?);
    throwers.extend(restarts::start(&ground, &kubeconfig, &samples));
    watch(&ground, &host, &mut good, &throwers).await;
    ground.stop();
    for thrower in throwers {
        anyhow::ensure!(thrower.join().is_ok(), "a thread that throws inputs has panicked");
    }
    settle(&ground, &mut host, &mut good, before).await?;
    ground.end_changes();
    traffic.await??;
    good.catch_up(&host, &ground).await;
    watchdog.end();
    end(&ground, &mut host);
    good.conclude(&ground);
    ground.keep_inputs()?;
    Ok(ground.take_report())
}

/// The host's own: a file beside a plugin may have everything that one can have without a word of the host's.
fn configuration() -> anyhow::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile()?;
    let head = "apiVersion: informant.dev/v1alpha1\nkind: HostConfiguration";
    writeln!(file, "{head}\ndefaults: {{limits: {{queueEvents: 1000}}}}").context("write it")?;
    Ok(file)
}

/// Until the time is over, everything is thrown or something is amiss.
async fn watch(ground: &Ground, host: &Host, good: &mut Good, throwers: &[JoinHandle<()>]) {
    let began = Instant::now();
    let goes_on = || {
        let throws = throwers.iter().any(|thrower| !thrower.is_finished());
        throws && began.elapsed() < ground.options.time && !ground.is_stopped()
    };
    while goes_on() {
        good.read(host, ground);
        poll::pause(LOOK).await;
    }
    ground.report().lasted = began.elapsed();
}

/// What was thrown is gone; the host must get back to what it was.
async fn settle(
    ground: &Ground,
    host: &mut Host,
    good: &mut Good,
    before: u64,
) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        good.read(host, ground);
        if let Err(error) = host.check_running() {
            ground.complain(format!("{error:#}"));
            return Ok(());
        }
        let kept = process_stats::resident(host.id())?.saturating_sub(before);
        let is_gone = host
            .get("/plugins")
            .is_ok_and(|it| it.json().as_array().is_some_and(|it| it.len() == 1));
        if (kept <= KEPT_BYTES_MAX && is_gone) || ground.has_complaints() {
            ground.report().kept = kept;
            return Ok(());
        }
        if began.elapsed() > SETTLE_MAX {
            ground.report().kept = kept;
            let what = if is_gone { "memory" } else { "plugins whose files are gone" };
            ground.complain(format!(
                "after {SETTLE_MAX:?} the host keeps {what}: {} MiB more than before",
                kept >> 20
            ));
            return Ok(());
        }
        poll::pause(LOOK).await;
    }
}

fn end(ground: &Ground, host: &mut Host) {
    let asked = Instant::now();
    match host.terminate(END_MAX) {
        Ok(status) if status.success() => ground.report().end = asked.elapsed(),
        Ok(status) => {
            ground.complain(format!("after SIGTERM it ended with {status}: {}", host.tail()))
        }
        Err(error) => ground.complain(format!("{error:#}")),
    }
}
