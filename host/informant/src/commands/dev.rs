//! `informant dev`: host and embedded cluster in one process, with plugins that are built from their sources after
//! every save.

mod summary;

use crate::cli::{ConnectionArgs, DevArgs, HostArgs};
use crate::compiler::Use;
use crate::host_configuration::HostConfiguration;
use crate::logging::{self, LogFormat, Stdout};
use crate::manager::{Manager, ManagerOptions};
use crate::project::{Builder, Loads, Project, ShownLines, build_beside, projects_in};
use anyhow::{Context, Result, bail};
use informant_devcluster::traffic::{Traffic, TrafficOptions};
use informant_devcluster::{DevCluster, DevClusterOptions};
use informant_runtime::PluginName;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

/// Runs until a signal stops it.
pub(crate) fn dev(args: DevArgs) -> Result<()> {
    logging::init(&args.host.serve.log);
    let (directories, projects) = followed(&args.paths)?;
    let (own_hint, next) = (hint(&directories, &projects), next_step(&projects));
    let args = DevArgs { hint: Some(args.hint.unwrap_or(own_hint)), ..args };
    super::run_until_signal(async |stop| {
        let builders = builders(projects, &args, &stop.asked).await?;
        let built = builders.iter().map(|builder| builder.plugins().to_owned());
        let paths = directories.into_iter().chain(built).collect();
        if args.host.connection.kubeconfig.is_some() || args.host.connection.context.is_some() {
            let args = DevArgs { paths, ..args };
            return shown(args, next, builders, None, &stop.asked).await;
        }
        let embedded = Embedded::start(args.traffic).await?;
        let kubeconfig = Some(embedded.kubeconfig.clone());
        let connection = ConnectionArgs { kubeconfig, context: None };
        let args = DevArgs { paths, host: HostArgs { connection, ..args.host }, ..args };
        // If the controllers fail, the host ends too.
        let until = stop.asked.child_token();
        let host = async {
            let result = shown(args, next, builders, Some(&embedded.kubeconfig), &until).await;
            until.cancel();
            result
        };
        let traffic = async {
            tokio::select! {
                () = embedded.traffic.ended() => {
                    error!("the controllers of the embedded cluster have failed; stopping");
                    until.cancel();
                }
                () = until.cancelled() => {}
            }
        };
        let (result, ()) = tokio::join!(host, traffic);
        // The failure of the controllers is in the log by now.
        let stopped = embedded.stop().await;
        result.and(stopped)
    })
}

/// Sorts the paths into directories of plugin files, and projects.
fn followed(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<Project>)> {
    let (mut directories, mut projects) = (Vec::new(), Vec::new());
    for path in paths {
        super::check_directory(path)?;
        let found = projects_in(path)?;
        if found.is_empty() {
            directories.push(path.clone());
        }
        projects.extend(found);
    }
    Ok((directories, projects))
}

async fn builders(
    projects: Vec<Project>,
    args: &DevArgs,
    stop: &CancellationToken,
) -> Result<Vec<Builder>> {
    let shown = match args.host.serve.log.log_format {
        LogFormat::Text => ShownLines::Plain,
        LogFormat::Json => ShownLines::Log,
    };
    let mut builders = Vec::with_capacity(projects.len());
    for project in projects {
        builders.push(Builder::new(project, args.time.build_time(), shown, stop).await?);
    }
    Ok(builders)
}

/// The text that stays visible: how to change the plugins.
fn hint(directories: &[PathBuf], projects: &[Project]) -> String {
    let mut lines = Vec::new();
    if !projects.is_empty() {
        let names: Vec<&str> = projects.iter().map(|project| project.name.as_str()).collect();
        let names = names.join(", ");
        lines.push(format!("Save a source file of {names}: the plugin is built and reloaded."));
    }
    if !directories.is_empty() {
        let names: Vec<String> = directories.iter().map(|it| it.display().to_string()).collect();
        let names = names.join(", ");
        lines.push(format!(
            "Add, replace or remove a .wasm file in {names}: it takes effect without a restart."
        ));
    }
    lines.push("Ctrl-C ends with a summary.".to_owned());
    lines.join("\n")
}

/// The last line of the summary. `None` for authors of plugins.
fn next_step(projects: &[Project]) -> Option<String> {
    let program = std::env::args().next().unwrap_or_else(|| "informant".to_owned());
    projects.is_empty().then(|| {
        format!("Next, a plugin of your own:\n  {program} plugin new hello --lang rust && {program} dev hello")
    })
}

/// Runs the host. People see the hint at the start and the summary at the end.
async fn shown(
    args: DevArgs,
    next: Option<String>,
    builders: Vec<Builder>,
    embedded: Option<&Path>,
    stop: &CancellationToken,
) -> Result<()> {
    let is_text = args.host.serve.log.log_format == LogFormat::Text;
    let hint = args.hint.clone().unwrap_or_default();
    let began = Instant::now();
    let awaited = builders.iter().map(|builder| builder.name().clone()).collect();
    let manager = start(args, awaited, embedded).await?;
    // The first lines have these too, and scroll away.
    let dashboard = manager.dashboard().map(|url| format!("\ndashboard  {url}"));
    let kubectl = embedded.map(|file| format!("\nkubectl    --kubeconfig {}", file.display()));
    let places = [dashboard, kubectl].map(Option::unwrap_or_default).concat();
    // If the reader has closed standard output, these texts are lost.
    if is_text && !logging::pin(&format!("{hint}{places}")) {
        let _ = writeln!(Stdout, "{hint}");
    }
    let plugins = manager.plugins().clone();
    run(manager, builders, stop).await?;
    if is_text {
        logging::unpin();
        let next = next.map_or_else(String::new, |next| format!("{next}\n"));
        let _ = write!(Stdout, "{}{next}", summary::summary(began.elapsed(), &plugins.status()));
    }
    Ok(())
}

/// Starts the host. `embedded` is the kubeconfig of the embedded cluster.
async fn start(
    args: DevArgs,
    awaited: Vec<PluginName>,
    embedded: Option<&Path>,
) -> Result<Manager> {
    let config = args.host.config.config.as_deref();
    let configuration = HostConfiguration::load(config, args.grant_all)?;
    let options = args.host.options(configuration, args.paths, Use::Versions).await?;
    let is_cluster_embedded = embedded.is_some();
    let options = ManagerOptions { is_cluster_embedded, awaited, ..options };
    let manager = Manager::start(options).await?;
    if let Some(kubeconfig) = embedded {
        info!("try: kubectl --kubeconfig {} get pods -A", kubeconfig.display());
    }
    Ok(manager)
}

/// Runs the host and the builders until they end.
async fn run(manager: Manager, builders: Vec<Builder>, stop: &CancellationToken) -> Result<()> {
    let loads = Loads::of(manager.plugins().clone());
    let built = build_beside(manager.run_until(stop, None), builders, loads, stop);
    built.await.context("a project's builder failed; please report this")?
}

/// The embedded cluster with its workloads and a kubeconfig, in its own directory. Dropping it removes the directory.
struct Embedded {
    cluster: DevCluster,
    traffic: Traffic,
    kubeconfig: PathBuf,
    _directory: TempDir,
}

/// A directory that only this user can open, with a random name. It is for a kubeconfig that gives all rights in the
/// cluster.
fn private_directory() -> std::io::Result<TempDir> {
    let permissions = std::fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix("informant-dev-").permissions(permissions).tempdir()
}

impl Embedded {
    async fn start(events_per_second: f64) -> Result<Self> {
        let options = DevClusterOptions::default();
        let cluster =
            DevCluster::start(options).await.context("the embedded cluster cannot start")?;
        let traffic =
            Traffic::start(cluster.cluster().clone(), traffic_options(events_per_second)?).await;
        let directory = private_directory().with_context(|| {
            let parent = std::env::temp_dir();
            format!("no directory for the kubeconfig can be made in {}", parent.display())
        })?;
        let kubeconfig = directory.path().join("kubeconfig");
        cluster
            .write_kubeconfig(&kubeconfig)
            .with_context(|| format!("{} cannot be written", kubeconfig.display()))?;
        Ok(Self { cluster, traffic, kubeconfig, _directory: directory })
    }

    async fn stop(self) -> Result<()> {
        let result = self.traffic.shutdown().await;
        self.cluster.shutdown().await;
        Ok(result?)
    }
}

/// Controllers always run, so that objects that people create with kubectl change as in a real cluster.
pub(super) fn traffic_options(events_per_second: f64) -> Result<TrafficOptions> {
    if !(0.0..=TrafficOptions::RATE_MAX).contains(&events_per_second) {
        bail!("--traffic {events_per_second} is not between 0 and {}", TrafficOptions::RATE_MAX);
    }
    Ok(TrafficOptions {
        events_per_second,
        background: events_per_second > 0.0,
        controllers: true,
        ..TrafficOptions::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_the_kubeconfig_is_its_users_alone() {
        let [one, other] =
            [private_directory(), private_directory()].map(|it| it.expect("it is made"));
        assert_ne!(one.path(), other.path());
        let metadata = std::fs::symlink_metadata(one.path()).expect("it is there");
        assert_eq!((metadata.is_dir(), metadata.permissions().mode() & 0o777), (true, 0o700));
    }
}
