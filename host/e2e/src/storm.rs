//! A plugin's file is replaced again and again, by good versions and bad ones, while its objects change without pause; then what
//! the plugin was told is held against what the cluster went through.
//!
//! The embedded cluster is in this process and the host is the real program. One seed decides every change and every version; what
//! meets when depends on the machine.

mod history;
mod oracle;
mod timing;
mod told;
mod version;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cluster::{EmbeddedCluster, User};
use crate::host::Host;
use crate::poll;
use history::{History, Traffic};
pub use oracle::Verdict;
pub use timing::Times;
use told::{Entry, What};
use version::{Fails, Version};

/// Where the objects are.
const NAMESPACE: &str = "storm";

/// The plugin's name.
const PLUGIN: &str = "storm";

/// Changes are made this often, as many as are due.
const TICK: Duration = Duration::from_millis(5);

/// For what must happen, on a machine that is busy with something else.
const DEADLINE: Duration = Duration::from_secs(90);

/// One replacement in so many follows at once, without waiting for what becomes of the one before.
const HURRIED: u8 = 8;

/// How much of a storm.
#[derive(Clone, Debug)]
pub struct Options {
    /// The host.
    pub program: PathBuf,
    /// The guest `storm` as it was built.
    pub guest: PathBuf,
    /// What everything follows from.
    pub seed: u64,
    /// Names that objects come and go under.
    pub objects: usize,
    /// Changes a second.
    pub changes_per_second: u32,
    /// Replacements of the file.
    pub replacements: u32,
    /// Between one replacement's end and the next there is a time up to this.
    pub pause_max: Duration,
}

/// What came of it.
#[derive(Debug)]
pub struct Report {
    /// What the oracle says.
    pub verdict: Verdict,
    /// How long replacements took.
    pub times: Times,
    /// Changes that were made.
    pub changes: usize,
    /// For how long.
    pub lasted: Duration,
    /// Files that were not loaded.
    pub not_loaded: usize,
}

/// Lets it rage, and looks at what it left.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    let cluster = EmbeddedCluster::start().await?;
    let traffic =
        Traffic::new(cluster.dev_cluster().cluster().clone(), options.objects, options.seed)?;
    let directory = tempfile::tempdir()?;
    let mut storm = Storm {
        guest: std::fs::read(&options.guest).context("read the built guest")?,
        file: directory.path().join(format!("{PLUGIN}.wasm")),
        versions: BTreeMap::new(),
        complete: BTreeMap::new(),
        told: Vec::new(),
        ended: 0,
    };
    storm.replace(Version::first())?;
    let kubeconfig = cluster.kubeconfig(User::Admin);
    // A version that was seen in an earlier storm is compiled all the same.
    let more = ["--code-cache", "off"];
    let host = Host::start(&options.program, &kubeconfig, directory.path(), &more).await?;
    host.await_ready().await?;

    let (began, stop) = (Instant::now(), CancellationToken::new());
    let traffic = go_on(traffic, options.changes_per_second, stop.clone());
    let raged = storm.rage(options, &host).await;
    stop.cancel();
    let history = traffic.await??;
    let lasted = began.elapsed();
    raged?;
    storm.settle(&host, &history).await?;
    let is_not_loaded = |entry: &&Entry| matches!(entry.what, What::NotLoaded);
    Ok(Report {
        verdict: oracle::check(&storm.versions, &storm.told, &history),
        times: timing::times(&storm.told, &storm.complete),
        changes: history.changes(),
        lasted,
        not_loaded: storm.told.iter().filter(is_not_loaded).count(),
    })
}

/// Changes at this rate until it is told to stop.
fn go_on(
    mut traffic: Traffic,
    per_second: u32,
    stop: CancellationToken,
) -> JoinHandle<anyhow::Result<History>> {
    tokio::spawn(async move {
        let (began, mut made) = (Instant::now(), 0);
        let mut ticks = tokio::time::interval(TICK);
        while !stop.is_cancelled() {
            ticks.tick().await;
            let due = (began.elapsed().as_secs_f64() * f64::from(per_second)) as u64;
            for _ in made..due {
                traffic.step()?;
            }
            made = due;
        }
        Ok(traffic.history)
    })
}

/// The plugin's file and what is known of it.
struct Storm {
    guest: Vec<u8>,
    file: PathBuf,
    versions: BTreeMap<u32, Version>,
    /// When each version's file was whole.
    complete: BTreeMap<u32, Timestamp>,
    told: Vec<Entry>,
    /// Loads of which the host has said how they ended.
    ended: usize,
}

impl Storm {
    /// Replaces the file as an installer does.
    fn replace(&mut self, version: Version) -> anyhow::Result<()> {
        let partial = self.file.with_extension("partial");
        write(&partial, &version.file(&self.guest)?)?;
        self.complete.insert(version.number, Timestamp::now());
        std::fs::rename(&partial, &self.file).context("rename the plugin into place")?;
        self.versions.insert(version.number, version);
        Ok(())
    }

    async fn rage(&mut self, options: &Options, host: &Host) -> anyhow::Result<()> {
        let mut random = fastrand::Rng::with_seed(options.seed);
        for number in 2..options.replacements + 2 {
            let mut version = Version::draw(number, &mut random);
            let is_last = number == options.replacements + 1;
            if is_last {
                version.fails = Fails::Never;
            }
            let ended = self.ended;
            self.replace(version)?;
            if is_last || random.u8(..HURRIED) > 0 {
                let what = format!("the end of version {number}'s load");
                self.read_until(host, &what, |storm| storm.ended > ended).await?;
            }
            let pause = options.pause_max.mul_f64(random.f64());
            poll::pause(pause).await;
        }
        Ok(())
    }

    /// Reads what is left to be told.
    async fn settle(&mut self, host: &Host, history: &History) -> anyhow::Result<()> {
        let newest = history.newest();
        let is_newest = |entry: &Entry| matches!(&entry.what, What::Event(event) if event.version >= newest && &*event.subscription == "all");
        self.read_until(host, "the last change to be told", |storm| {
            storm.told.iter().rev().take(1000).any(is_newest)
        })
        .await?;
        let is_idle = |plugin: &serde_json::Value| {
            plugin["queue"]["depth"] == 0 && plugin["replays"].as_array().is_some_and(Vec::is_empty)
        };
        host.await_plugin(PLUGIN, "an empty queue", is_idle).await?;
        let before = self.told.len();
        self.read_until(host, "the last lines", |storm| storm.told.len() >= before).await
    }

    /// Reads the host's lines until they are as wanted.
    async fn read_until(
        &mut self,
        host: &Host,
        what: &str,
        wanted: impl Fn(&Self) -> bool,
    ) -> anyhow::Result<()> {
        let waited = poll::until(what, DEADLINE, async || match self.read(host) {
            Ok(()) => wanted(self).then_some(Ok(())),
            Err(error) => Some(Err(error)),
        });
        waited.await.with_context(|| format!("/plugins says {:?}", host.plugin(PLUGIN)))?
    }

    fn read(&mut self, host: &Host) -> anyhow::Result<()> {
        for line in host.take_lines() {
            if line.field("plugin") == Some(PLUGIN) {
                let entry = told::entry(&line)?;
                let ended = matches!(entry.what, What::InCharge(_) | What::NotLoaded);
                self.ended += usize::from(ended);
                self.told.push(entry);
            }
        }
        Ok(())
    }
}

/// Whole on the disk's side of things, or an error.
fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, content).with_context(|| format!("write {}", path.display()))
}
