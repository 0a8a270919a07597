//! A plugin's file is replaced again and again, by good versions and bad ones, while its objects change without pause; then what
//! the plugin was told is held against what the cluster went through. If that is wanted the host is killed in the midst of it, again and again.
//!
//! The embedded cluster is in this process and the host is the real program. One seed decides every change and every version; what
//! meets when depends on the machine.

mod history;
pub mod lives;
mod oracle;
mod timing;
mod told;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cluster::{EmbeddedCluster, User};
use crate::host::{Host, Line, run_to_end};
use crate::poll;
use history::{History, StormTraffic};
use lives::{Life, Proof};
pub use oracle::StormVerdict;
pub use timing::Times;
use told::{LogEntry, LogKind};
use version::{EventFailures, Fails, Version};

/// Where the objects are.
const NAMESPACE: &str = "storm";

/// The plugin's name.
const PLUGIN: &str = "storm";

/// Changes are made this often, as many as are due.
const TICK: Duration = Duration::from_millis(5);

/// A host that is to be killed is so within this time: a replacement takes about half of it.
const DEATH_MAX: Duration = Duration::from_millis(1_500);

/// For what must happen, on a machine that is busy with something else.
const DEADLINE: Duration = Duration::from_secs(90);

/// For what is on its way when nothing waits any more.
const LATE_MAX: Duration = Duration::from_secs(10);

/// One replacement in so many follows at once, without waiting for what becomes of the one before.
const HURRIED: u8 = 8;

/// How much of a storm.
#[derive(Clone, Debug)]
pub struct StormOptions {
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
    /// In how many instances the plugin runs; more than one for the guest `storm-in-shards`.
    pub shards: usize,
    /// How often the host is killed in the midst of a replacement and another goes on with its state directory; the guest fails now and then, too.
    /// At most once for each replacement but the last.
    pub kills: u32,
}

/// What came of it.
#[derive(Debug)]
pub struct StormReport {
    /// What the oracle says of a host that nobody killed.
    pub verdict: StormVerdict,
    /// How long its replacements took.
    pub times: Times,
    /// What it says of hosts that were killed.
    pub kills: Option<lives::LivesVerdict>,
    /// Changes that were made.
    pub changes: usize,
    /// For how long.
    pub lasted: Duration,
    /// Files that were not loaded.
    pub not_loaded: usize,
}

/// Lets it rage, and looks at what it left.
pub async fn run(options: &StormOptions) -> anyhow::Result<StormReport> {
    let cluster = EmbeddedCluster::start().await?;
    let traffic =
        StormTraffic::new(cluster.dev_cluster().cluster().clone(), options.objects, options.seed)?;
    let site = Site::new(options, cluster.kubeconfig(User::Admin))?;
    let mut storm = Storm::new(options, &site)?;
    storm.replace(Version::first(storm.failures))?;
    let host = site.start().await?;
    host.await_ready().await?;

    let (began, stop) = (Instant::now(), CancellationToken::new());
    let traffic = go_on(traffic, options.changes_per_second, stop.clone());
    let raged = storm.rage(options, &site, host).await;
    stop.cancel();
    let history = traffic.await??;
    let lasted = began.elapsed();
    storm.settle(&raged?, &history).await?;
    Ok(storm.report(options, &history, lasted))
}

/// Changes at this rate until it is told to stop.
fn go_on(
    mut traffic: StormTraffic,
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

/// Where the hosts run, one after the other.
struct Site {
    program: PathBuf,
    kubeconfig: PathBuf,
    plugins: TempDir,
    /// What outlives them.
    state: Option<TempDir>,
}

impl Site {
    fn new(options: &StormOptions, kubeconfig: PathBuf) -> anyhow::Result<Self> {
        let (program, plugins) = (options.program.clone(), tempfile::tempdir()?);
        let state = (options.kills > 0).then(tempfile::tempdir).transpose()?;
        // It tells of every change.
        let (shards, head) = (options.shards, "apiVersion: informant.dev/v1alpha1");
        let text = format!(
            "{head}\nkind: PluginConfiguration\nlimits: {{logLines: 20000}}\nshards: {shards}\n"
        );
        write(&plugins.path().join(format!("{PLUGIN}.yaml")), text.as_bytes())?;
        Ok(Self { program, kubeconfig, plugins, state })
    }

    async fn start(&self) -> anyhow::Result<Host> {
        let state = self.state.as_ref().map(|state| state.path().join("state"));
        let state = state.map(|state| state.display().to_string());
        // A version that was seen in an earlier storm is compiled all the same.
        let mut more = vec!["--code-cache", "off"];
        if let Some(state) = &state {
            more.extend(["--state-dir", state.as_str()]);
        }
        Host::start(&self.program, &self.kubeconfig, self.plugins.path(), &more).await
    }
}

/// The plugin's file and what is known of it.
struct Storm {
    guest: Vec<u8>,
    file: PathBuf,
    /// What fails in all versions.
    failures: Option<EventFailures>,
    versions: BTreeMap<u32, Version>,
    /// When each version's file was whole.
    complete: BTreeMap<u32, Timestamp>,
    /// What each host wrote, the one that runs last.
    lives: Vec<Life>,
    /// Loads of which a host has said how they ended.
    ended: usize,
    kills_left: u32,
}

impl Storm {
    fn new(options: &StormOptions, site: &Site) -> anyhow::Result<Self> {
        Ok(Self {
            guest: std::fs::read(&options.guest).context("read the built guest")?,
            file: site.plugins.path().join(format!("{PLUGIN}.wasm")),
            failures: (options.kills > 0).then(|| EventFailures::at(options.changes_per_second)),
            versions: BTreeMap::new(),
            complete: BTreeMap::new(),
            lives: vec![Life::default()],
            ended: 0,
            kills_left: options.kills,
        })
    }

    fn life(&mut self) -> &mut Life {
        self.lives.last_mut().expect("there is a first one")
    }

    /// Replaces the file as an installer does.
    fn replace(&mut self, version: Version) -> anyhow::Result<()> {
        let partial = self.file.with_extension("partial");
        write(&partial, &version.file(&self.guest)?)?;
        self.complete.insert(version.number, Timestamp::now());
        std::fs::rename(&partial, &self.file).context("rename the plugin into place")?;
        self.versions.insert(version.number, version);
        Ok(())
    }

    async fn rage(
        &mut self,
        options: &StormOptions,
        site: &Site,
        mut host: Host,
    ) -> anyhow::Result<Host> {
        let mut random = fastrand::Rng::with_seed(options.seed);
        for number in 2..options.replacements + 2 {
            let mut version = Version::draw(number, self.failures, &mut random);
            let left = options.replacements + 1 - number;
            if left == 0 {
                version.fails = Fails::Never;
            }
            if self.kills_left > 0 && random.u32(..left.max(1)) < self.kills_left && left > 0 {
                host = self.kill(site, host, version, &mut random).await?;
            } else {
                let ended = self.ended;
                self.replace(version)?;
                if left == 0 || random.u8(..HURRIED) > 0 {
                    self.await_load(&host, number, ended).await?;
                }
            }
            let pause = options.pause_max.mul_f64(random.f64());
            poll::pause(pause).await;
        }
        Ok(host)
    }

    async fn await_load(&mut self, host: &Host, number: u32, ended: usize) -> anyhow::Result<()> {
        let what = format!("the end of version {number}'s load");
        self.read_until(host, &what, |storm| storm.ended > ended).await
    }

    /// Replaces the file and kills the host at some moment of the time after that; maybe the one that follows it, too.
    async fn kill(
        &mut self,
        site: &Site,
        mut host: Host,
        version: Version,
        random: &mut fastrand::Rng,
    ) -> anyhow::Result<Host> {
        self.prove(site, &host).await?;
        let number = version.number;
        self.replace(version)?;
        loop {
            poll::pause(DEATH_MAX.mul_f64(random.f64())).await;
            let lines = host.kill();
            self.take(&lines)?;
            self.lives.push(Life::default());
            self.kills_left = self.kills_left.saturating_sub(1);
            let ended = self.ended;
            host = site.start().await?;
            if self.kills_left == 0 || random.u8(..3) > 0 {
                self.await_load(&host, number, ended).await?;
                return Ok(host);
            }
        }
    }

    /// Has the host say what is on the disk.
    async fn prove(&mut self, site: &Site, host: &Host) -> anyhow::Result<()> {
        let is_there = |plugin: &Value| plugin["state"] != "loading";
        host.await_plugin(PLUGIN, "what is kept of it to be read", is_there).await?;
        self.read(host)?;
        let read = self.life().told.len();
        let socket = host.admin_socket().display().to_string();
        let arguments = ["dlq", "list", PLUGIN, "-o", "json", "--admin-socket", &socket];
        let output = run_to_end(&site.program, &arguments)?;
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "{arguments:?} said: {said}");
        let letters: Vec<Value> = serde_json::from_slice(&output.stdout)?;
        let letters: BTreeSet<u64> =
            letters.iter().filter_map(|letter| letter["id"].as_u64()).collect();
        let kept =
            host.plugin(PLUGIN)?["kept"]["deadLetters"].as_u64().unwrap_or_default() as usize;
        let shown = letters.len();
        anyhow::ensure!(kept >= shown, "{shown} letters were shown and {kept} are on the disk");
        self.life().proofs.push(Proof { read, letters, kept });
        Ok(())
    }

    /// Reads what is left to be told.
    async fn settle(&mut self, host: &Host, history: &History) -> anyhow::Result<()> {
        let newest = history.newest();
        let is_newest = |entry: &LogEntry| matches!(&entry.what, LogKind::Event(event) if event.version >= newest && &*event.subscription == "all");
        self.read_until(host, "the last change to be told", |storm| {
            storm.lives.last().is_some_and(|it| it.told.iter().rev().take(1000).any(is_newest))
        })
        .await?;
        let is_idle = |plugin: &Value| {
            let queue = &plugin["queue"];
            // A retry in flight does not wait, and may come again.
            let is_empty = queue["depth"] == 0 && queue["inFlight"] == 0;
            is_empty && plugin["replays"].as_array().is_some_and(Vec::is_empty)
        };
        host.await_plugin(PLUGIN, "an empty queue", is_idle).await?;
        // The informer tells one subscription after the other: the last change may be on its way to some of them. What is lost never comes.
        let rest = async || match self.read(host) {
            Ok(()) => self.complaints(history).is_empty().then_some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        poll::until("the rest of the last change", LATE_MAX, rest).await.unwrap_or(Ok(()))
    }

    /// What is missing or wrong so far.
    fn complaints(&self, history: &History) -> Vec<String> {
        match self.failures {
            Some(_) => lives::check(&self.lives, history).complaints,
            None => oracle::check(&self.versions, self.told(), history).complaints,
        }
    }

    /// Everything that the first host wrote.
    fn told(&self) -> &[LogEntry] {
        self.lives.first().map_or(&[][..], |life| &life.told)
    }

    fn report(self, options: &StormOptions, history: &History, lasted: Duration) -> StormReport {
        let is_not_loaded = |entry: &&LogEntry| matches!(entry.what, LogKind::NotLoaded);
        let entries = self.lives.iter().flat_map(|life| &life.told);
        let not_loaded = entries.filter(is_not_loaded).count();
        let changes = history.changes();
        if options.kills > 0 {
            let kills = lives::check(&self.lives, history);
            let (verdict, times) = (StormVerdict::default(), Times::default());
            return StormReport { verdict, times, kills: Some(kills), changes, lasted, not_loaded };
        }
        StormReport {
            verdict: oracle::check(&self.versions, self.told(), history),
            times: timing::times(self.told(), &self.complete),
            kills: None,
            changes,
            lasted,
            not_loaded,
        }
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
        self.take(&host.take_lines())
    }

    fn take(&mut self, lines: &[Line]) -> anyhow::Result<()> {
        for line in lines.iter().filter(|line| line.field("plugin") == Some(PLUGIN)) {
            let entry = told::entry(line)?;
            let ended = matches!(entry.what, LogKind::InCharge(_) | LogKind::NotLoaded);
            self.ended += usize::from(ended);
            self.life().told.push(entry);
        }
        Ok(())
    }
}

/// Whole on the disk's side of things, or an error.
fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, content).with_context(|| format!("write {}", path.display()))
}
