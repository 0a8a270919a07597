//! Follows one project for `informant dev`: builds it, gives the result to the host, and builds again after every
//! save. [`rebuild`](super::rebuild) decides the effect of a save, and [`own_writes`](super::watch::own_writes)
//! decides which changes are saves. This module carries the decisions out.

use super::artifact::{Placed, place, place_or_remove};
use super::build::{Build, BuildError, Built, ShownLines};
use super::build_lock::BuildLock;
use super::rebuild::{Input, Order, State};
use super::recipe::Mode;
use super::recognition::Project;
use super::toolchain::Toolchain;
use super::watch::SourceWatch;
use super::watch::own_writes::ToolWrites;
use super::watch::sources::Change;
use anyhow::{Context, Result, bail};
use informant_runtime::configuration::{ConfigurationError, Layer};
use informant_runtime::{PluginName, Plugins};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// How long the host may take to load a built plugin. The largest plugins take a minute to compile.
const LOAD_TIME_MAX: Duration = Duration::from_secs(300);
const LOAD_LOOK: Duration = Duration::from_millis(10);

/// A project that is followed.
pub(crate) struct Builder {
    order: Arc<BuildOrder>,
    watch: SourceWatch,
    state: State,
    own: ToolWrites,
    running: Option<Running>,
    /// Waits until the host has loaded the last built plugin.
    loading: Option<JoinHandle<()>>,
    /// The last save, or the start before the first save.
    since: (&'static str, Instant),
    /// Keeps other processes from following the project into the same directory.
    _lock: BuildLock,
}

/// The options that all builds of the project share.
struct BuildOrder {
    project: Project,
    tools: Toolchain,
    /// The directory that the host watches.
    plugins: PathBuf,
    time_max: Duration,
    shown: ShownLines,
}

struct Running {
    task: JoinHandle<Result<Built, BuildError>>,
    stop: CancellationToken,
}

impl Builder {
    /// Finds the project's tools and sources, and creates the directory for the host. The directory is empty, so that
    /// the host runs only the present sources.
    pub(crate) async fn new(
        project: Project,
        time_max: Duration,
        shown: ShownLines,
        stop: &CancellationToken,
    ) -> Result<Self> {
        let tools = Toolchain::find(&project, stop).await?;
        let plugins = project.build_folder().join("dev");
        let Some(lock) = BuildLock::try_take(&project.build_folder(), "dev")? else {
            bail!("another informant dev follows {}: end that one first", project.folder.display());
        };
        emptied(&plugins).with_context(|| format!("{} cannot be made anew", plugins.display()))?;
        let watch = SourceWatch::new(&project.folder)?;
        let order = Arc::new(BuildOrder { project, tools, plugins, time_max, shown });
        Ok(Self::of(order, watch, lock))
    }

    fn of(order: Arc<BuildOrder>, watch: SourceWatch, lock: BuildLock) -> Self {
        let (state, own, since) = (State::Idle, ToolWrites::default(), ("start", Instant::now()));
        Self { order, watch, state, own, running: None, loading: None, since, _lock: lock }
    }

    /// The directory that the host is to watch.
    pub(crate) fn plugins(&self) -> &Path {
        &self.order.plugins
    }

    /// The plugin's name.
    pub(crate) fn name(&self) -> &PluginName {
        &self.order.project.name
    }

    /// Builds, and builds again after every save, until `stop`.
    pub(crate) async fn run(mut self, loads: Loads, stop: CancellationToken) {
        self.configure().await;
        self.step(Input::Saved, None, &loads).await;
        loop {
            let (changes, outcome) = tokio::select! {
                () = stop.cancelled() => break,
                // Files that the build wrote before its end are its own writes, although no scan has seen them yet.
                outcome = ended(&mut self.running) => (self.watch.look().await, Some(outcome)),
                changes = self.watch.changed() => (changes, None),
            };
            if self.is_saved(changes).await {
                self.step(Input::Saved, None, &loads).await;
            }
            if let Some(outcome) = outcome {
                self.running = None;
                let input = if outcome.is_ok() { Input::Built } else { Input::Failed };
                self.step(input, Some(outcome), &loads).await;
            }
        }
        if let Some(running) = self.running.take() {
            running.stop.cancel();
            // The builder ends, so the result of the build does not matter.
            let _ = running.task.await;
        }
        if let Some(loading) = self.loading.take() {
            loading.abort();
        }
    }

    /// Whether one of these changes needs a build. A change of the plugin's configuration needs none: the host gets
    /// the configuration at once.
    async fn is_saved(&mut self, changes: Vec<Change>) -> bool {
        let name = self.order.project.name.clone();
        let configuration = PathBuf::from(format!("{name}.yaml"));
        let (of_plugin, of_build): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| change.path == configuration);
        if !of_plugin.is_empty() {
            self.configure().await;
        }
        let saves = self.own.changed(of_build, self.running.is_some());
        for file in saves.own {
            warn!(
                plugin = name.as_str(),
                "{} is another one after each build: what changes in it during a build starts no other; have it made in build, which is not followed",
                file.display()
            );
        }
        if let Some(file) = saves.saved.first() {
            info!(plugin = name.as_str(), "{} has changed", file.display());
            self.since = ("save", Instant::now());
        }
        !saves.saved.is_empty()
    }

    /// Gives the plugin's configuration to the host. Before there is a plugin, this only checks the configuration; the
    /// host then gets it with the plugin.
    async fn configure(&mut self) {
        let (order, name) = (self.order.clone(), self.order.project.name.as_str());
        if !order.project.plugin_file(&order.plugins).exists() {
            let checked = tokio::task::spawn_blocking(move || order.check_configuration()).await;
            if let Ok(Err(problem)) = checked {
                error!(plugin = name, "{problem}");
            }
            return;
        }
        let placed = tokio::task::spawn_blocking(move || order.configure()).await;
        match placed.map_err(io::Error::other).flatten() {
            Ok(()) => info!(plugin = name, "{name}.yaml has changed"),
            Err(error) => error!(plugin = name, "{name}.yaml cannot be handed over: {error}"),
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
            (Order::Build, _) => {
                self.own.begin();
                self.running = Some(self.order.start());
            }
            (Order::End, _) => self.running.iter().for_each(|running| running.stop.cancel()),
            (Order::Take, Some(Ok(built))) => self.take(built, loads).await,
            (Order::Tell, Some(Err(error))) => {
                let then = self.order.after_failure();
                error!(plugin = name, "not built: {error}; {then}");
            }
            (Order::Nothing | Order::Take | Order::Tell, _) => {}
        }
    }

    /// Gives a plugin to the host, and logs when the plugin runs. No build writes to the file meanwhile.
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
                let (name, loads, since) = (name.clone(), loads.clone(), self.since);
                let tell = async move { loads.tell(&name, &sha256, took, since).await };
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
            let again = order.clone();
            let project = tokio::task::spawn_blocking(move || again.project_now()).await;
            let project =
                project.map_err(anyhow::Error::from).flatten().map_err(BuildError::Project)?;
            let BuildOrder { tools, time_max, shown, .. } = &*order;
            let (project, time_max, shown) = (&project, *time_max, *shown);
            Build { project, tools, mode: Mode::Dev, time_max, shown }.run(&stopped).await
        });
        Running { task, stop }
    }

    /// What follows a failed build, for the log.
    fn after_failure(&self) -> &'static str {
        match self.project.plugin_file(&self.plugins).exists() {
            true => "the version before goes on",
            false => "nothing runs yet; save to build again",
        }
    }

    /// The project as its files describe it now. The settings of its build may have changed.
    fn project_now(&self) -> Result<Project> {
        let project = Project::open(&self.project.folder)?;
        let known = |it: &Project| (it.language.facts().title, it.name.clone());
        let ((language, name), now) = (known(&self.project), known(&project));
        if (language, &name) != (now.0, &now.1) {
            bail!(
                "it is {} in {} now, and was {name} in {language}: start informant dev again",
                now.1,
                now.0
            );
        }
        Ok(project)
    }

    /// A file that cannot be read is reported when it is given to the host.
    fn check_configuration(&self) -> Result<(), ConfigurationError> {
        let Ok(text) = std::fs::read(self.project.configuration()) else { return Ok(()) };
        Layer::of_sidecar(&format!("{}.yaml", self.project.name), &text).map(|_| ())
    }

    fn configure(&self) -> io::Result<()> {
        let beside = self.plugins.join(format!("{}.yaml", self.project.name));
        place_or_remove(&self.project.configuration(), &beside)
    }

    /// The hash of the file that is now in the host's directory. `None` if the file has not changed.
    fn place(&self, built: &Built) -> io::Result<Option<String>> {
        self.configure()?;
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

/// Runs the builders beside their host. They end at the stop, while the host still drains: at a second signal the process
/// ends at once, and would leave the tools of a build behind.
pub(crate) async fn build_beside<T>(
    host: impl Future<Output = T>,
    builders: Vec<Builder>,
    loads: Loads,
    stop: &CancellationToken,
) -> Result<T, JoinError> {
    let ended = stop.child_token();
    let mut tasks = JoinSet::new();
    for builder in builders {
        tasks.spawn(builder.run(loads.clone(), ended.clone()));
    }
    let result = host.await;
    ended.cancel();
    while let Some(task) = tasks.join_next().await {
        task?;
    }
    Ok(result)
}

/// The last load of a plugin, as `lastLoad` in `/plugins`. `None` if the plugin is not known.
type LastLoad = dyn Fn(&PluginName) -> Option<Value> + Send + Sync;

/// Reads the results of loads.
#[derive(Clone)]
pub(crate) struct Loads(Arc<LastLoad>);

impl Loads {
    /// The loads of a running host.
    pub(crate) fn of(plugins: Plugins) -> Self {
        Self(Arc::new(move |name| {
            let mut status = plugins.status().into_iter();
            status
                .find(|plugin| plugin.name == *name)
                .map(|plugin| plugin.to_json()["lastLoad"].take())
        }))
    }

    /// Logs when the host has loaded a file, or why it has not.
    async fn tell(
        &self,
        name: &PluginName,
        sha256: &str,
        built: Duration,
        (event, at): (&str, Instant),
    ) {
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
        let (built, until_placed, name) = (seconds(built), placed - at, name.as_str());
        match tokio::time::timeout(LOAD_TIME_MAX, loaded).await {
            Ok(true) => {
                let load = placed.elapsed();
                let (load, total) = (seconds(load), seconds(until_placed + load));
                info!(
                    plugin = name,
                    "built in {built}, loaded in {load}: runs {total} after the {event}"
                );
            }
            Ok(false) => {
                warn!(plugin = name, "built in {built}, but not loaded: the error is above");
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

/// Whether the host loaded this file. `None` if the last load was of another file.
fn outcome(last_load: &Value, sha256: &str) -> Option<bool> {
    (last_load["sha256"] == sha256).then(|| last_load["result"] == "ok")
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

/// Empties the folder.
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
    use std::ffi::OsString;

    #[track_caller]
    fn check(last_load: Value, expect: Option<bool>) {
        assert_eq!(outcome(&last_load, "ab"), expect, "{last_load}");
    }

    #[test]
    fn only_the_load_of_what_was_built_counts() {
        check(json!(null), None);
        check(json!({"sha256": "cd", "result": "ok", "reason": null}), None);
        check(json!({"sha256": "ab", "result": "ok", "reason": null}), Some(true));
        let failed = json!({"sha256": "ab", "result": "failed", "reason": "start failed"});
        check(failed, Some(false));
    }

    /// A builder whose compiler is a shell script. The script records its run, runs `more`, and copies the source that
    /// contains `plugin_describe(`.
    fn builder(folder: &Path, more: &str) -> Builder {
        let script = format!("for out; do :; done; echo >> build/runs; {more}; cp pods.c $out");
        let compiler = ["/bin/sh", "-c", &script].map(OsString::from).to_vec();
        let project = Project::open(folder).unwrap();
        let (plugins, time_max, shown) =
            (folder.join("build/dev"), Duration::from_secs(600), ShownLines::Log);
        let order =
            BuildOrder { project, tools: Toolchain::C { compiler }, plugins, time_max, shown };
        let lock = BuildLock::try_take(&folder.join("build"), "dev").unwrap().unwrap();
        Builder::of(Arc::new(order), SourceWatch::new(folder).unwrap(), lock)
    }

    fn source(folder: &Path, text: &str) {
        std::fs::write(folder.join("pods.c"), format!("plugin_describe( {text}")).unwrap();
    }

    /// The number of builds that have begun.
    fn runs(folder: &Path) -> usize {
        std::fs::read_to_string(folder.join("build/runs")).map_or(0, |text| text.lines().count())
    }

    /// The running builder, the files that each check for a load finds in the host's directory, and the token that
    /// ends the builder.
    fn follow(
        builder: Builder,
    ) -> (JoinHandle<()>, tokio::sync::mpsc::Receiver<String>, CancellationToken) {
        let (placed, looks) = tokio::sync::mpsc::channel(1);
        let file = builder.plugins().join("pods.wasm");
        let loads = Loads(Arc::new(move |_| {
            let text = std::fs::read_to_string(&file).unwrap();
            let _ = placed.try_send(text.trim_start_matches("plugin_describe( ").to_owned());
            Some(json!({"sha256": sha256(text.as_bytes()), "result": "ok"}))
        }));
        let stop = CancellationToken::new();
        (tokio::spawn(builder.run(loads, stop.clone())), looks, stop)
    }

    #[tokio::test]
    async fn newer_save_ends_the_build_and_only_what_it_brings_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        source(folder.path(), "slow");
        let slow = "grep -q slow pods.c && sleep 60";
        let (builder, mut looks, stop) = follow(builder(folder.path(), slow));
        let begun = async |builds| {
            while runs(folder.path()) < builds {
                tokio::time::sleep(LOAD_LOOK).await;
            }
        };
        begun(1).await;
        source(folder.path(), "quick");
        let begin = Instant::now();
        assert_eq!(looks.recv().await.as_deref(), Some("quick"));
        assert!(begin.elapsed() < Duration::from_secs(30), "the slow build went on to its end");
        // A running build ends with the builder.
        source(folder.path(), "slow once more");
        begun(3).await;
        stop.cancel();
        builder.await.unwrap();
        assert!(begin.elapsed() < Duration::from_secs(30), "the slow build went on to its end");
    }

    #[tokio::test]
    async fn builds_end_while_their_host_drains() {
        let folder = tempfile::tempdir().unwrap();
        source(folder.path(), "slow");
        let builders = vec![builder(folder.path(), "sleep 600")];
        let (stop, loads) = (CancellationToken::new(), Loads(Arc::new(|_| None)));
        let host = async {
            while runs(folder.path()) == 0 {
                tokio::time::sleep(LOAD_LOOK).await;
            }
            stop.cancel();
            // The builder has the lock until its build has ended.
            let lock = || BuildLock::try_take(&folder.path().join("build"), "dev").unwrap();
            while lock().is_none() {
                tokio::time::sleep(LOAD_LOOK).await;
            }
        };
        let host = tokio::time::timeout(Duration::from_secs(60), host);
        let drained = build_beside(host, builders, loads, &stop).await.unwrap();
        assert!(drained.is_ok(), "the build goes on");
    }

    /// Each build runs `writes`, which writes into the sources. Checks the number of builds until the host gets the
    /// first plugin, and that the next save adds one.
    async fn check_writing(writes: &str, builds: usize) {
        let folder = tempfile::tempdir().unwrap();
        source(folder.path(), "one");
        let (builder, mut looks, stop) = follow(builder(folder.path(), writes));
        assert_eq!(looks.recv().await.as_deref(), Some("one"), "{writes}");
        assert_eq!(runs(folder.path()), builds, "{writes}");
        source(folder.path(), "two");
        assert_eq!(looks.recv().await.as_deref(), Some("two"), "{writes}");
        assert_eq!(runs(folder.path()), builds + 1, "{writes}");
        stop.cancel();
        builder.await.unwrap();
    }

    #[tokio::test]
    async fn what_a_build_writes_into_the_sources_is_built_once_and_not_for_ever() {
        check_writing("echo same > made.h", 2).await;
        check_writing("mkdir -p deep; echo same > deep/made.h", 2).await;
        check_writing("cat build/runs > made.h", 8).await;
    }

    #[tokio::test]
    async fn what_the_plugin_runs_with_and_is_built_from_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let configuration =
            |text: &str| std::fs::write(folder.path().join("pods.yaml"), text).unwrap();
        source(folder.path(), "one");
        configuration("shards: 2");
        // The compiler gets the names of all C files.
        let (builder, mut looks, stop) =
            follow(builder(folder.path(), "echo $* > build/arguments"));
        assert_eq!(looks.recv().await.as_deref(), Some("one"));
        let placed = || std::fs::read_to_string(folder.path().join("build/dev/pods.yaml")).ok();
        let becomes = async |text: Option<&str>| {
            while placed().as_deref() != text {
                tokio::time::sleep(LOAD_LOOK).await;
            }
        };
        becomes(Some("shards: 2")).await;
        configuration("shards: 3");
        becomes(Some("shards: 3")).await;
        std::fs::remove_file(folder.path().join("pods.yaml")).unwrap();
        becomes(None).await;
        assert_eq!(runs(folder.path()), 1, "nothing was built for that");
        std::fs::write(folder.path().join("more.c"), "").unwrap();
        source(folder.path(), "two");
        assert_eq!(looks.recv().await.as_deref(), Some("two"));
        let arguments = std::fs::read_to_string(folder.path().join("build/arguments")).unwrap();
        assert!(arguments.contains("more.c"), "{arguments}");
        stop.cancel();
        builder.await.unwrap();
    }

    #[tokio::test]
    async fn a_project_that_has_become_another_is_not_built() {
        let folder = tempfile::tempdir().unwrap();
        source(folder.path(), "one");
        let builder = builder(folder.path(), "true");
        std::fs::rename(folder.path().join("pods.c"), folder.path().join("nodes.c")).unwrap();
        let error = builder.order.project_now().unwrap_err().to_string();
        assert_eq!(error, "it is nodes in C now, and was pods in C: start informant dev again");
    }

    #[tokio::test]
    async fn a_failed_build_says_what_runs_now() {
        let folder = tempfile::tempdir().unwrap();
        source(folder.path(), "one");
        let order = builder(folder.path(), "true").order;
        std::fs::create_dir_all(&order.plugins).unwrap();
        assert_eq!(order.after_failure(), "nothing runs yet; save to build again");
        std::fs::write(order.plugins.join("pods.wasm"), "").unwrap();
        assert_eq!(order.after_failure(), "the version before goes on");
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
