//! One round of one plugin: a host of its own that loads it, keeps it idle, and tells it of events.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use informant_e2e::host::Host;
use informant_e2e::poll;
use informant_e2e::process_stats::{cpu, resident};
use tempfile::TempDir;

use super::{LanguagesScale, Measure};
use crate::contender::handled_by_plugins;
use crate::load::Load;
use crate::programs::Programs;

/// For the slowest of them to be compiled, in a build that is not optimised and beside other work.
const LOAD_DEADLINE: Duration = Duration::from_secs(300);
/// For a burst to be told.
const EVENTS_DEADLINE: Duration = Duration::from_secs(120);
/// Updates at once: far below what may wait before events are merged, in number and in bytes.
const BURST: u32 = 2_000;
/// A line for each event: as many as the host lets plugins write by itself.
const LOGS_MUCH: &str = "apiVersion: informant.dev/v1alpha1\nkind: HostConfiguration\n\
    defaults: {limits: {logLines: 20000}}\n";
/// How compiled code is called in the cache.
const CODE_ENDING: &str = "code";

/// What is measured in a round; of some of it there are several values.
pub(super) async fn measure(
    file: &Path,
    scale: &LanguagesScale,
    programs: &Programs,
    load: &Load,
) -> anyhow::Result<Vec<(Measure, f64)>> {
    // Nothing is told before the plugins have been looked at as they are without events.
    load.pods(0)?;
    let plugin = std::fs::read(file).with_context(|| format!("read {}", file.display()))?;
    let mut measured = vec![(Measure::FileBytes, plugin.len() as f64)];
    let mut bench = LanguageBench::start(plugin, scale, programs, load).await?;
    measured.extend(bench.loads().await?);
    load.pods(scale.pods)?;
    bench.told += u64::from(scale.pods);
    bench.settled().await?;
    measured.extend(bench.single_updates(load).await?);
    measured.extend(bench.updates_in_a_row(load).await?);
    Ok(measured)
}

/// A host, and how many events its first plugin was to be told of.
struct LanguageBench<'a> {
    host: Host,
    /// Plugins, and the code cache.
    scratch: TempDir,
    plugin: Vec<u8>,
    scale: &'a LanguagesScale,
    told: u64,
}

/// What the host's metrics say of the first plugin.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    calls: f64,
    seconds: f64,
    linear: f64,
}

impl<'a> LanguageBench<'a> {
    async fn start(
        plugin: Vec<u8>,
        scale: &'a LanguagesScale,
        programs: &Programs,
        load: &Load,
    ) -> anyhow::Result<Self> {
        let scratch = tempfile::tempdir().context("a directory for plugins and code")?;
        let [plugins, code] = ["plugins", "code"].map(|name| scratch.path().join(name));
        std::fs::create_dir(&plugins).context("make a directory for plugins")?;
        // Not in files beside the plugins: those count only once they have rested, and that would be in the loads.
        let configuration = scratch.path().join("host.yaml");
        std::fs::write(&configuration, LOGS_MUCH).context("write the host's configuration")?;
        let [code, configuration] = [code, configuration].map(|path| path.display().to_string());
        let arguments = ["--code-cache", &code, "--config", &configuration];
        let host =
            Host::start(&programs.informant(), load.kubeconfig(), &plugins, &arguments).await?;
        Ok(Self { host, scratch, plugin, scale, told: 0 })
    }

    fn place(&self, number: u32) -> PathBuf {
        self.scratch.path().join("plugins").join(format!("{}.wasm", name(number)))
    }

    /// Puts a plugin in its place. Answers how long it took from then until the host said that it runs.
    async fn load(&self, number: u32) -> anyhow::Result<Duration> {
        let (name, place) = (name(number), self.place(number));
        let partial = self.scratch.path().join("partial");
        std::fs::write(&partial, &self.plugin).context("write the plugin")?;
        let begin = Instant::now();
        std::fs::rename(&partial, &place).context("rename the plugin into place")?;
        let is_over = |line: &informant_e2e::host::Line| {
            let says = line.message();
            line.field("plugin") == Some(name.as_str())
                && (says == "running" || says.starts_with("not loaded"))
        };
        let line = self.host.await_line(&format!("{name} to run"), LOAD_DEADLINE, is_over).await?;
        ensure!(line.message() == "running", "{name}: {}", line.message());
        Ok(line.at.saturating_duration_since(begin))
    }

    /// The first is compiled; the others are files of their own with the same content, whose code the cache has. They go again.
    async fn loads(&self) -> anyhow::Result<Vec<(Measure, f64)>> {
        let compiled = self.load(0).await?;
        let code = code_bytes(&self.scratch.path().join("code"))?;
        ensure!(code > 0, "the code cache has no code");
        let idle = self.settled().await?.linear;
        ensure!(idle > 0.0, "the host does not say what memory the plugin has");
        let alone = resident(self.host.id())?;
        let mut loads = Vec::new();
        for number in 1..=self.scale.more {
            loads.push(self.load(number).await?.as_secs_f64());
        }
        self.settled().await?;
        let together = resident(self.host.id())?;
        for number in 1..=self.scale.more {
            std::fs::remove_file(self.place(number)).context("remove a plugin")?;
        }
        let alone_again = async || {
            let plugins = self.host.get("/plugins").ok()?.json();
            (plugins.as_array()?.len() == 1).then_some(())
        };
        poll::measured("the added plugins to be gone", EVENTS_DEADLINE, alone_again).await?;
        let mean = loads.iter().sum::<f64>() / loads.len() as f64;
        let each = (together as f64 - alone as f64) / f64::from(self.scale.more);
        let mut measured = vec![
            (Measure::CodeBytes, code as f64),
            (Measure::CompileSeconds, compiled.as_secs_f64() - mean),
            (Measure::IdleBytes, idle),
            (Measure::ResidentBytes, each),
        ];
        measured.extend(loads.into_iter().map(|load| (Measure::LoadSeconds, load)));
        Ok(measured)
    }

    /// Each is awaited before the next is made: the sum of all calls' times has grown by this one's.
    async fn single_updates(&mut self, load: &Load) -> anyhow::Result<Vec<(Measure, f64)>> {
        let mut before = self.handled().await?;
        let mut measured = Vec::new();
        for _ in 0..self.scale.singles {
            load.burst(1)?;
            self.told += 1;
            let after = self.handled().await?;
            measured.push((Measure::CallSeconds, after.seconds - before.seconds));
            before = after;
        }
        Ok(measured)
    }

    /// As many as the plugin takes, in bursts of which each is awaited.
    async fn updates_in_a_row(&mut self, load: &Load) -> anyhow::Result<Vec<(Measure, f64)>> {
        let before = self.handled().await?;
        let used = cpu(self.host.id())?;
        let mut left = self.scale.events;
        while left > 0 {
            let burst = left.min(BURST);
            load.burst(burst.into())?;
            self.told += u64::from(burst);
            self.handled().await?;
            left -= burst;
        }
        let used = cpu(self.host.id())? - used;
        let after = self.settled().await?;
        let events = f64::from(self.scale.events);
        Ok(vec![
            (Measure::RowSeconds, (after.seconds - before.seconds) / events),
            (Measure::ProcessorSeconds, used.as_secs_f64() / events),
            (Measure::LaterBytes, after.linear),
        ])
    }

    /// Once the plugin was told of all that it was to be told of, and a while has passed.
    async fn settled(&self) -> anyhow::Result<Figures> {
        self.handled().await?;
        poll::pause(self.scale.settle).await;
        self.handled().await
    }

    /// Once the plugin was told of all that it was to be told of: each by itself, or what was measured is worth nothing.
    async fn handled(&self) -> anyhow::Result<Figures> {
        let told = self.told;
        let look = async || {
            let found = self.figures().transpose()?;
            let is_over = match &found {
                Ok(found) => found.calls >= told as f64,
                Err(_) => true,
            };
            is_over.then_some(found)
        };
        let waited =
            poll::measured(&format!("{told} events to be told"), EVENTS_DEADLINE, look).await;
        let figures =
            waited.with_context(|| format!("the host's last lines:\n{}", self.host.tail()))??;
        if figures.calls > told as f64 {
            bail!("it was told of {} events instead of {told}", figures.calls);
        }
        Ok(figures)
    }

    /// None as long as the metrics do not name the plugin.
    fn figures(&self) -> anyhow::Result<Option<Figures>> {
        let metrics = self.host.get("/metrics")?.body;
        let handled = handled_by_plugins(&metrics)?;
        ensure!(handled.coalesced == 0, "{} events were merged", handled.coalesced);
        Ok(Figures::read(&metrics, &name(0)))
    }
}

impl Figures {
    fn read(metrics: &str, plugin: &str) -> Option<Self> {
        let value = |series: &str| {
            let begin = format!("informant_plugin_{series}{{plugin=\"{plugin}\"}} ");
            metrics.lines().find_map(|line| line.strip_prefix(&*begin))?.parse().ok()
        };
        Some(Self {
            // A plugin that was never called has no such series.
            calls: value("handle_seconds_count").unwrap_or_default(),
            seconds: value("handle_seconds_sum").unwrap_or_default(),
            linear: value("memory_bytes")?,
        })
    }
}

fn name(number: u32) -> String {
    format!("hello-{number}")
}

/// Of all that is kept in a code cache.
fn code_bytes(cache: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(cache).context("read the code cache")? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|ending| ending == CODE_ENDING) {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = "# TYPE informant_plugin_handle_seconds histogram\n\
        informant_plugin_handle_seconds_sum{plugin=\"hello-0\"} 0.0125\n\
        informant_plugin_handle_seconds_count{plugin=\"hello-0\"} 250\n\
        informant_plugin_handle_seconds_count{plugin=\"hello-1\"} 7\n\
        informant_plugin_memory_bytes{plugin=\"hello-0\"} 1179648.0\n";

    #[test]
    fn figures_are_of_one_plugin() {
        let expect = Figures { calls: 250.0, seconds: 0.0125, linear: 1_179_648.0 };
        assert_eq!(Figures::read(METRICS, "hello-0"), Some(expect));
        assert_eq!(Figures::read(METRICS, "hello-1"), None);
        assert_eq!(Figures::read("", "hello-0"), None);
    }

    #[test]
    fn only_code_counts_as_code() {
        let cache = tempfile::tempdir().expect("a directory");
        for (name, bytes) in [("a.code", 5), ("b.code", 7), ("key", 32), ("c.unfinished", 9)] {
            std::fs::write(cache.path().join(name), vec![0; bytes]).expect("a file");
        }
        assert_eq!(code_bytes(cache.path()).expect("it can be read"), 12);
    }
}
