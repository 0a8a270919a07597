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
    pub(crate) async fn new(project: Project, time_max: Duration, shown: Shown) -> Result<Self> {
        let tools = Toolchain::find(&project).await?;
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
        self.step(Input::Saved, None, &loads);
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
            self.step(input, outcome, &loads);
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

    fn step(&mut self, input: Input, outcome: Option<Result<Built, BuildError>>, loads: &Loads) {
        let (state, order) = self.state.step(input);
        self.state = state;
        let name = self.order.project.name.as_str();
        match (order, outcome) {
            (Order::Build, _) => self.running = Some(self.order.start()),
            (Order::End, _) => self.running.iter().for_each(|running| running.stop.cancel()),
            (Order::Take, Some(Ok(built))) => self.take(built, loads),
            (Order::Tell, Some(Err(error))) => {
                error!(plugin = name, "not built: {error}; what ran before goes on");
            }
            (Order::Nothing | Order::Take | Order::Tell, _) => {}
        }
    }

    /// Lets the host have a plugin, and says when it runs.
    fn take(&mut self, built: Built, loads: &Loads) {
        if let Some(before) = self.loading.take() {
            before.abort();
        }
        let (order, loads, saved) = (self.order.clone(), loads.clone(), self.saved);
        self.loading = Some(tokio::spawn(async move {
            let name = order.project.name.clone();
            let placing = tokio::task::spawn_blocking(move || {
                order.place(&built).map(|placed| (placed, built))
            });
            let placed = placing.await.map_err(io::Error::other).flatten();
            let name = name.as_str();
            match placed {
                Ok((None, built)) => {
                    let took = seconds(built.took);
                    info!(
                        plugin = name,
                        "built in {took}: the same as before, so nothing is loaded"
                    );
                }
                Ok((Some(sha256), built)) => loads.tell(name, &sha256, built.took, saved).await,
                Err(error) => {
                    error!(plugin = name, "what was built cannot be handed over: {error}")
                }
            }
        }));
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

/// Hears what became of loads.
#[derive(Clone)]
pub(crate) struct Loads(pub(crate) Plugins);

impl Loads {
    /// Says when the host has loaded a file, or why it has not.
    async fn tell(&self, name: &str, sha256: &str, built: Duration, saved: Instant) {
        let placed = Instant::now();
        let loaded = async {
            loop {
                if let Some(loaded) = self.of(name, sha256) {
                    return loaded;
                }
                tokio::time::sleep(LOAD_LOOK).await;
            }
        };
        let (built, total) = (seconds(built), saved.elapsed());
        match tokio::time::timeout(LOAD_TIME_MAX, loaded).await {
            Ok(Ok(())) => {
                let (load, total) = (seconds(placed.elapsed()), seconds(total + placed.elapsed()));
                info!(
                    plugin = name,
                    "built in {built}, loaded in {load}: runs {total} after the save"
                );
            }
            // The host has said why.
            Ok(Err(reason)) => warn!(plugin = name, "built in {built}, but not loaded: {reason}"),
            Err(_) => {
                let waited = LOAD_TIME_MAX.as_secs();
                warn!(
                    plugin = name,
                    "built in {built}, and not loaded within {waited} s: see /plugins"
                );
            }
        }
    }

    /// What became of the load of this file, if that was the last one.
    fn of(&self, name: &str, sha256: &str) -> Option<Result<(), String>> {
        let name: PluginName = name.parse().ok()?;
        let status = self.0.status().into_iter().find(|plugin| plugin.name == name)?.to_json();
        outcome(&status["lastLoad"], sha256)
    }
}

fn outcome(last_load: &serde_json::Value, sha256: &str) -> Option<Result<(), String>> {
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
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(last_load: serde_json::Value, expect: Option<Result<(), String>>) {
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
