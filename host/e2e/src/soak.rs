//! Good plugins beside every plugin that misbehaves, for a long while, in one host: what the good ones are told and how soon, what the
//! host's memory does, and what `/plugins` says of each.
//!
//! The embedded cluster is in this process and the host is the real program. Good plugins are copies of one guest, `witness`, that holds
//! its own events against what was promised; here they are held against what was written.

mod story;
pub(crate) mod traffic;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use serde_json::Value;
use tempfile::NamedTempFile;
use tokio_util::sync::CancellationToken;

use crate::child::Child;
use crate::cluster::{EmbeddedCluster, User};
use crate::host::Host;
use crate::{poll, process_stats};
use story::{PluginEnd, SINNERS};
use traffic::{SoakTraffic, Written};

/// The good ones' names begin with it.
const WITNESS: &str = "witness";

/// How often lines are read and memory is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Events that wait in order for a plugin whose breaker is open. With this few the bound is reached soon, and memory can be asked to be flat.
const QUEUE_EVENTS: u32 = 1_000;

/// For what must happen, on a machine that is busy with something else.
const DEADLINE: Duration = Duration::from_secs(120);

/// How long of a soak.
#[derive(Clone, Debug)]
pub struct SoakOptions {
    /// The host.
    pub program: PathBuf,
    /// Where the test guests are.
    pub guests: PathBuf,
    /// How many good plugins.
    pub good: usize,
    /// Changes a second once all good plugins run, each told to every plugin.
    pub changes_per_second: u32,
    /// How long the good plugins run before the others come. Other programs spin meanwhile, as misbehaving plugins do
    /// later: so both times are those of a machine with one quick processor.
    pub before: Duration,
    /// How long all are together once every sinner has come to its end.
    pub together: Duration,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct SoakReport {
    /// From just before a change is written to a good plugin's line of it, shortest first: before the sinners came, until the last sinner came
    /// to its end, and after.
    pub before: Vec<Duration>,
    /// See [`Self::before`].
    pub until_ended: Vec<Duration>,
    /// See [`Self::before`].
    pub after: Vec<Duration>,
    /// From the sinners' files to the last breaker that opened.
    pub tripped_after: Duration,
    /// From the sinners' files to the last one's end, refusals and reloads included.
    pub ended_after: Duration,
    /// The host's resident memory in bytes, with the time since the begin.
    pub memory: Vec<(Duration, u64)>,
    /// The time of [`Self::memory`] at which the last sinner had come to its end.
    pub ended_at: Duration,
    /// Lines that the host wrote.
    pub lines: u64,
    /// What is not as it must be.
    pub complaints: Vec<String>,
}

/// Lets all of it happen.
pub async fn run(options: &SoakOptions) -> anyhow::Result<SoakReport> {
    let cluster = EmbeddedCluster::start().await?;
    let traffic = SoakTraffic::new(cluster.dev_cluster().cluster().clone())?;
    let directory = tempfile::tempdir()?;
    let mut soak = Soak {
        directory: directory.path(),
        guests: &options.guests,
        written: traffic.written(),
        began: Instant::now(),
        told: vec![Vec::new(); options.good],
        report: SoakReport::default(),
    };
    for number in 0..options.good {
        soak.put(WITNESS, &format!("{WITNESS}-{number:02}"), number as u8)?;
    }
    let kubeconfig = cluster.kubeconfig(User::Admin);
    let configuration = configuration()?;
    let own = configuration.path().display().to_string();
    let more = ["--config", own.as_str()];
    let mut host = Host::start(&options.program, &kubeconfig, directory.path(), &more).await?;
    host.await_ready().await?;
    for number in 0..options.good {
        let runs = |plugin: &Value| plugin["state"] == "running" && plugin["queue"]["depth"] == 0;
        host.await_plugin(&format!("{WITNESS}-{number:02}"), "it to run", runs).await?;
    }

    let stop = CancellationToken::new();
    let traffic = traffic.go_on(options.changes_per_second, stop.clone());
    let soaked = soak.all(options, &host).await;
    stop.cancel();
    traffic.await??;
    soaked?;
    soak.settle(&host).await?;
    if let Err(error) = host.check_running() {
        soak.report.complaints.push(format!("{error:#}"));
    }
    Ok(soak.report)
}

/// The host's own.
fn configuration() -> anyhow::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile()?;
    let limits = format!("{{limits: {{queueEvents: {QUEUE_EVENTS}}}}}");
    let head = "apiVersion: informant.dev/v1alpha1\nkind: HostConfiguration";
    writeln!(file, "{head}\ndefaults: {limits}").context("write the host's configuration")?;
    Ok(file)
}

/// Programs that take as much of the machine as the host's threads for slow plugins may, with their priority.
fn spinning_programs() -> anyhow::Result<Vec<Child>> {
    let processors = std::thread::available_parallelism().context("count the processors")?.get();
    // A host has at most four threads for quick plugins.
    let spinning = (1..processors.clamp(2, 4)).map(|number| {
        let mut command = Command::new("nice");
        command.args(["-n", "10", "sh", "-c", "while :; do :; done"]);
        Child::spawn(&format!("spinning program {number}"), &mut command)
    });
    spinning.collect()
}

struct Soak<'a> {
    directory: &'a Path,
    guests: &'a Path,
    written: Written,
    began: Instant,
    /// What each good plugin was told: version and time.
    told: Vec<Vec<(u64, Timestamp)>>,
    report: SoakReport,
}

impl Soak<'_> {
    /// Puts a guest into the directory; `version` makes it another file with the same code.
    fn put(&self, guest: &str, name: &str, version: u8) -> anyhow::Result<()> {
        let built = self.guests.join(format!("{guest}.wasm"));
        let mut content =
            std::fs::read(&built).with_context(|| format!("read {}", built.display()))?;
        if content.starts_with(b"\0asm") {
            // A section that nobody reads.
            content.extend([0, 3, 1, b'v', version]);
        }
        let file = self.directory.join(format!("{name}.wasm"));
        let partial = file.with_extension("partial");
        std::fs::write(&partial, content).context("write a plugin")?;
        std::fs::rename(&partial, &file).context("rename a plugin into place")
    }

    async fn all(&mut self, options: &SoakOptions, host: &Host) -> anyhow::Result<()> {
        let spinning = spinning_programs()?;
        self.go_on_for(options.before, host).await?;
        drop(spinning);
        let before_until = Timestamp::now();

        let dropped = Instant::now();
        for sinner in &SINNERS {
            self.put(sinner.guest, sinner.name, 0)?;
        }
        self.end_all(dropped, host).await?;
        let ended = Timestamp::now();
        self.report.ended_after = dropped.elapsed();
        self.report.ended_at = self.began.elapsed();
        self.go_on_for(options.together, host).await?;

        let written = self.written.lock().clone();
        for (version, at) in self.told.iter().flatten() {
            let Some(&Some(since)) = written.get(version) else { continue };
            let latency = Duration::try_from(at.duration_since(since)).unwrap_or_default();
            let of = match since {
                _ if since < before_until => &mut self.report.before,
                _ if since < ended => &mut self.report.until_ended,
                _ => &mut self.report.after,
            };
            of.push(latency);
        }
        let SoakReport { before, until_ended, after, .. } = &mut self.report;
        [before, until_ended, after].into_iter().for_each(|latencies| latencies.sort_unstable());
        Ok(())
    }

    /// Waits until every sinner has come to its end; those that sin in a reload get theirs once they run.
    async fn end_all(&mut self, dropped: Instant, host: &Host) -> anyhow::Result<()> {
        let mut reloaded = BTreeMap::new();
        let mut tripped = false;
        while dropped.elapsed() < DEADLINE {
            let plugins = plugins(host)?;
            for sinner in SINNERS.iter().filter(|it| it.end == PluginEnd::RunsAfterReload) {
                let runs = story::entry(sinner.name, &plugins)
                    .is_ok_and(|entry| entry["state"] == "running");
                if runs && !reloaded.contains_key(sinner.name) {
                    self.put(sinner.guest, sinner.name, 1)?;
                    reloaded.insert(sinner.name, ());
                }
            }
            let mut trippers = SINNERS.iter().filter(|it| it.end == PluginEnd::Tripped);
            if !tripped && trippers.all(|it| story::has_ended(it, &plugins)) {
                tripped = true;
                self.report.tripped_after = dropped.elapsed();
            }
            if SINNERS.iter().all(|sinner| story::complaint(sinner, &plugins).is_none()) {
                return Ok(());
            }
            self.go_on_for(LOOK, host).await?;
        }
        // They are told of at the end.
        Ok(())
    }

    async fn go_on_for(&mut self, time: Duration, host: &Host) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            self.read(host)?;
            let resident = process_stats::resident(host.id())?;
            self.report.memory.push((self.began.elapsed(), resident));
            if began.elapsed() >= time {
                return Ok(());
            }
            poll::pause(LOOK.min(time)).await;
        }
    }

    /// Reads what the host wrote.
    fn read(&mut self, host: &Host) -> anyhow::Result<()> {
        for line in host.take_lines() {
            self.report.lines += 1;
            let number = line.field("plugin").and_then(|name| name.strip_prefix("witness-"));
            let Some(number) = number else { continue };
            let told = self.told.get_mut(number.parse::<usize>()?).context("it is one of ours")?;
            let Some(version) = line.message().strip_prefix("told ") else { continue };
            let at = line.field("timestamp").context("a line has its time")?.parse()?;
            told.push((version.parse()?, at));
        }
        Ok(())
    }

    /// Waits for the last lines, and looks at everything once more.
    async fn settle(&mut self, host: &Host) -> anyhow::Result<()> {
        let written: Vec<u64> = self.written.lock().keys().copied().collect();
        let newest = written.last().copied().context("something was written")?;
        let deadline = Instant::now() + DEADLINE;
        let is_told = |told: &Vec<(u64, _)>| told.iter().any(|(version, _)| *version == newest);
        while !self.told.iter().all(is_told) && Instant::now() < deadline {
            self.read(host)?;
            poll::pause(LOOK).await;
        }
        let plugins = plugins(host)?;
        let complaints = &mut self.report.complaints;
        complaints.extend(SINNERS.iter().filter_map(|sinner| story::complaint(sinner, &plugins)));
        for (number, told) in self.told.iter_mut().enumerate() {
            let name = format!("{WITNESS}-{number:02}");
            told.sort_unstable();
            let told: Vec<u64> = told.iter().map(|(version, _)| *version).collect();
            if told != written {
                let (told, written) = (told.len(), written.len());
                complaints.push(format!("{name} was told {told} times of {written} changes"));
            }
            let entry = story::entry(&name, &plugins)?;
            let unhurt = entry["state"] == "running"
                && entry["counters"]["restarts"] == serde_json::json!({});
            if !unhurt {
                complaints.push(format!("{name} was hurt: {entry}"));
            }
        }
        Ok(())
    }
}

fn plugins(host: &Host) -> anyhow::Result<Vec<Value>> {
    let answer = host.get("/plugins")?;
    let list = answer.json();
    let list = list.as_array().with_context(|| format!("/plugins: {}", answer.body))?;
    Ok(list.clone())
}
