//! Follows one project for `informant dev`: builds it, lets the host have what was built, and builds again after every save. What a save does
//! says [`rebuild`](super::rebuild); this carries it out.

use super::artifact::{Placed, place, place_or_remove};
use super::build::{Build, BuildError, Built, Shown};
use super::rebuild::{Input, Order, State};
use super::recipe::Mode;
use super::recognition::Project;
use super::toolchain::Toolchain;
use super::watch::SourceWatch;
use anyhow::{Context, Result};
use informant_runtime::{PluginName, Plugins};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// For a host to load what was built: the largest plugins take a minute to compile.
const LOAD_TIME_MAX: Duration = Duration::from_secs(300);
const LOAD_LOOK: Duration = Duration::from_millis(10);

/// A project that is followed.
pub(crate) struct Builder {
    order: Arc<BuildOrder>,
    watch: SourceWatch,
    state: State,
    running: Option<Running>,
    /// Waits for the host to have loaded what was built last.
    loading: Option<JoinHandle<()>>,
    /// When the sources changed last.
    saved: Instant,
}

/// What every build of the project is made with.
struct BuildOrder {
    project: Project,
    tools: Toolchain,
    /// The directory that the host watches.
    plugins: PathBuf,
    time_max: Duration,
    shown: Shown,
}

struct Running {
    task: JoinHandle<Result<Built, BuildError>>,
    stop: CancellationToken,
}

impl Builder {
    /// Looks for the project's tools and sources, and makes the directory for the host, empty: what runs is what stands in the sources.
    pub(crate) async fn new(
        project: Project,
        time_max: Duration,
        shown: Shown,
        stop: &CancellationToken,
    ) -> Result<Self> {
        let tools = Toolchain::find(&project, stop).await?;
        let plugins = project.build_folder().join("dev");
        emptied(&plugins).with_context(|| format!("{} cannot be made anew", plugins.display()))?;
        let watch = SourceWatch::new(&project.folder)?;
        let order = Arc::new(BuildOrder { project, tools, plugins, time_max, shown });
        let (state, saved) = (State::Idle, Instant::now());
        Ok(Self { order, watch, state, running: None, loading: None, saved })
    }

    /// The directory that the host is to watch.
    pub(crate) fn plugins(&self) -> &Path {
        &self.order.plugins
    }

    /// Builds, and builds again after every save, until `stop`.
    pub(crate) async fn run(mut self, loads: Loads, stop: CancellationToken) {
        let name = self.order.project.name.clone();
        self.step(Input::Saved, None, &loads).await;
        loop {
            let (input, outcome) = tokio::select! {
                () = stop.cancelled() => break,
                outcome = ended(&mut self.running) => {
                    self.running = None;
                    (if outcome.is_ok() { Input::Built } else { Input::Failed }, Some(outcome))
                }
                file = self.watch.changed() => {
                    info!(plugin = name.as_str(), "{} has changed", file.display());
                    self.saved = Instant::now();
                    (Input::Saved, None)
                }
            };
            self.step(input, outcome, &loads).await;
        }
        if let Some(running) = self.running.take() {
            running.stop.cancel();
            // How it ended concerns nobody any more.
            let _ = running.task.await;
        }
        if let Some(loading) = self.loading.take() {
            loading.abort();
        }
    }

    async fn step(
        &mut self,
        input: Input,
        outcome: Option<Result<Built, BuildError>>,
        loads: &Loads,
    ) {
        let (state, order) = self.state.step(input);
        self.state = state;
        let name = self.order.project.name.as_str();
        match (order, outcome) {
            (Order::Build, _) => self.running = Some(self.order.start()),
            (Order::End, _) => self.running.iter().for_each(|running| running.stop.cancel()),
            (Order::Take, Some(Ok(built))) => self.take(built, loads).await,
            (Order::Tell, Some(Err(error))) => {
                error!(plugin = name, "not built: {error}; what ran before goes on");
            }
            (Order::Nothing | Order::Take | Order::Tell, _) => {}
        }
    }

    /// Lets the host have a plugin, and has it said when that runs. No build writes meanwhile.
    async fn take(&mut self, built: Built, loads: &Loads) {
        if let Some(before) = self.loading.take() {
            before.abort();
        }
        let (order, name) = (self.order.clone(), &self.order.project.name);
        let (took, shown) = (built.took, name.as_str());
        let placed = tokio::task::spawn_blocking(move || order.place(&built)).await;
        match placed.map_err(io::Error::other).flatten() {
            Ok(None) => {
                let took = seconds(took);
                info!(plugin = shown, "built in {took}: the same as before, so nothing is loaded");
            }
            Ok(Some(sha256)) => {
                let (name, loads, saved) = (name.clone(), loads.clone(), self.saved);
                let tell = async move { loads.tell(&name, &sha256, took, saved).await };
                self.loading = Some(tokio::spawn(tell));
            }
            Err(error) => error!(plugin = shown, "what was built cannot be handed over: {error}"),
        }
    }
}

impl BuildOrder {
    fn start(self: &Arc<Self>) -> Running {
        let (order, stop) = (self.clone(), CancellationToken::new());
        let stopped = stop.clone();
        info!(plugin = self.project.name.as_str(), "building");
        let task = tokio::spawn(async move {
            let BuildOrder { project, tools, time_max, shown, .. } = &*order;
            let build =
                Build { project, tools, mode: Mode::Dev, time_max: *time_max, shown: *shown };
            build.run(&stopped).await
        });
        Running { task, stop }
    }

    /// The hash of what lies there now; none if it did before.
    fn place(&self, built: &Built) -> io::Result<Option<String>> {
        let beside = self.plugins.join(format!("{}.yaml", self.project.name));
        place_or_remove(&self.project.configuration(), &beside)?;
        let placed = place(&built.file, &self.project.plugin_file(&self.plugins))?;
        let hash = || std::fs::read(&built.file).map(|bytes| sha256(&bytes));
        (placed == Placed::New).then(hash).transpose()
    }
}

async fn ended(running: &mut Option<Running>) -> Result<Built, BuildError> {
    let Some(running) = running else { return std::future::pending().await };
    let ended = (&mut running.task).await;
    ended.unwrap_or_else(|error| {
        let error = io::Error::other(error);
        Err(BuildError::File { path: "the build's task".into(), error })
    })
}

/// The last load of a plugin, as `lastLoad` in `/plugins`; none of one that is not known.
type LastLoad = dyn Fn(&PluginName) -> Option<Value> + Send + Sync;

/// Hears what became of loads.
#[derive(Clone)]
pub(crate) struct Loads(Arc<LastLoad>);

impl Loads {
    /// Of a running host.
    pub(crate) fn of(plugins: Plugins) -> Self {
        Self(Arc::new(move |name| {
            let mut status = plugins.status().into_iter();
            status
                .find(|plugin| plugin.name == *name)
                .map(|plugin| plugin.to_json()["lastLoad"].take())
        }))
    }

    /// Says when the host has loaded a file, or why it has not.
    async fn tell(&self, name: &PluginName, sha256: &str, built: Duration, saved: Instant) {
        let placed = Instant::now();
        let loaded = async {
            loop {
                let last = self.0(name);
                if let Some(loaded) = last.and_then(|last| outcome(&last, sha256)) {
                    return loaded;
                }
                tokio::time::sleep(LOAD_LOOK).await;
            }
        };
        let (built, until_placed, name) = (seconds(built), placed - saved, name.as_str());
        match tokio::time::timeout(LOAD_TIME_MAX, loaded).await {
            Ok(Ok(())) => {
                let load = placed.elapsed();
                let (load, total) = (seconds(load), seconds(until_placed + load));
                info!(
                    plugin = name,
                    "built in {built}, loaded in {load}: runs {total} after the save"
                );
            }
            // The host has said why.
            Ok(Err(reason)) => {
                warn!(plugin = name, "built in {built}, but not loaded: {reason}")
            }
            Err(_) => {
                let waited = LOAD_TIME_MAX.as_secs();
                warn!(
                    plugin = name,
                    "built in {built}, and not loaded within {waited} s: see /plugins"
                );
            }
        }
    }
}

/// What became of the load of this file, if that was the last one.
fn outcome(last_load: &Value, sha256: &str) -> Option<Result<(), String>> {
    let is_it = last_load["sha256"] == sha256;
    let reason = || last_load["reason"].as_str().unwrap_or("no reason is known").to_owned();
    is_it.then(|| if last_load["result"] == "ok" { Ok(()) } else { Err(reason()) })
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

/// The folder without anything in it.
fn emptied(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir_all(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::super::language::Language;
    use super::super::recognition::Settings;
    use super::*;
    use serde_json::json;
    use std::ffi::OsString;

    #[track_caller]
    fn check(last_load: Value, expect: Option<Result<(), String>>) {
        assert_eq!(outcome(&last_load, "ab"), expect, "{last_load}");
    }

    #[test]
    fn only_the_load_of_what_was_built_counts() {
        check(json!(null), None);
        check(json!({"sha256": "cd", "result": "ok", "reason": null}), None);
        check(json!({"sha256": "ab", "result": "ok", "reason": null}), Some(Ok(())));
        let failed = json!({"sha256": "ab", "result": "failed", "reason": "start failed"});
        check(failed, Some(Err("start failed".to_owned())));
    }

    /// A builder whose compiler is a shell: it copies the source, and a source that says so takes a minute.
    fn builder(folder: &Path) -> Builder {
        let script = "for out; do :; done; grep -q slow pods.c && echo >> build/started && sleep 60; cp pods.c $out";
        let compiler = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
        let (name, settings) = ("pods".parse().unwrap(), Settings::default());
        let project = Project { folder: folder.to_owned(), language: Language::C, name, settings };
        let (plugins, time_max, shown) =
            (folder.join("build/dev"), Duration::from_secs(600), Shown::Log);
        let order =
            BuildOrder { project, tools: Toolchain::C { compiler }, plugins, time_max, shown };
        let watch = SourceWatch::new(folder).unwrap();
        let (state, saved) = (State::Idle, Instant::now());
        Builder { order: Arc::new(order), watch, state, running: None, loading: None, saved }
    }

    #[tokio::test]
    async fn newer_save_ends_the_build_and_only_what_it_brings_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("pods.c");
        std::fs::write(&source, "slow").unwrap();
        // Whoever looks for a load finds what was placed.
        let (placed, mut looks) = tokio::sync::mpsc::channel(1);
        let file = folder.path().join("build/dev/pods.wasm");
        let loads = Loads(Arc::new(move |_| {
            let text = std::fs::read_to_string(&file).unwrap();
            let _ = placed.try_send(text.clone());
            Some(json!({"sha256": sha256(text.as_bytes()), "result": "ok"}))
        }));
        let stop = CancellationToken::new();
        let builder = tokio::spawn(builder(folder.path()).run(loads, stop.clone()));
        while !folder.path().join("build/started").exists() {
            tokio::time::sleep(LOAD_LOOK).await;
        }
        std::fs::write(&source, "quick").unwrap();
        let begin = Instant::now();
        assert_eq!(looks.recv().await.as_deref(), Some("quick"));
        assert!(begin.elapsed() < Duration::from_secs(30), "the slow build went on to its end");
        // A build that runs ends with the builder.
        std::fs::write(&source, "slow once more").unwrap();
        let lines = || {
            std::fs::read_to_string(folder.path().join("build/started")).unwrap().lines().count()
        };
        while lines() < 2 {
            tokio::time::sleep(LOAD_LOOK).await;
        }
        stop.cancel();
        builder.await.unwrap();
        assert!(begin.elapsed() < Duration::from_secs(30), "the slow build went on to its end");
    }

    #[test]
    fn folder_is_emptied_with_what_other_builds_have_left() {
        let folder = tempfile::tempdir().unwrap();
        let dev = folder.path().join("build/dev");
        for _ in 0..2 {
            emptied(&dev).unwrap();
            assert_eq!(std::fs::read_dir(&dev).unwrap().count(), 0);
            std::fs::write(dev.join("another.wasm"), "").unwrap();
        }
    }
}
