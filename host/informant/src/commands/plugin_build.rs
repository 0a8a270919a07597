//! `informant plugin build`: builds a project's plugin file with the tools of its language, and checks it as a host
//! would.

use super::ask::print;
use crate::cli::BuildArgs;
use crate::compiler;
use crate::host_configuration;
use crate::project::{Build, Mode, Project, ShownLines, Toolchain, place, place_or_remove};
use anyhow::{Context, Result, bail};
use informant_runtime::{PluginChecker, PluginName, PluginReport};
use std::path::{Component, Path};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// A host compiles a smaller file within a second or two.
const LARGE_BYTES: u64 = 5_000_000;

/// Builds and checks the file, and only then replaces the previous one.
pub(crate) fn build(args: BuildArgs) -> Result<()> {
    let project = Project::open(&args.project)?;
    let own = || {
        project
            .plugin_file(&args.project.join("build"))
            .components()
            .skip_while(|it| *it == Component::CurDir)
            .collect()
    };
    let output = args.output.clone().unwrap_or_else(own);
    check_file_name(&output)?;
    let configurations = host_configuration::load(args.config.config.as_deref())?;
    let checker = PluginChecker::new(
        compiler::options(&args.compiler, compiler::Use::Plugins)?,
        configurations,
    )?;
    super::run_until_signal(async |stop| run(&args, &project, &output, &checker, &stop.asked).await)
}

async fn run(
    args: &BuildArgs,
    project: &Project,
    output: &Path,
    checker: &PluginChecker,
    stop: &CancellationToken,
) -> Result<()> {
    let tools = Toolchain::find(project, stop).await?;
    let (mode, time_max, shown) = (Mode::Release, args.time.build_time(), ShownLines::Plain);
    let build = Build { project, tools: &tools, mode, time_max, shown };
    let built = build.run(stop).await.with_context(|| format!("{} was not built", project.name))?;
    // NAME.yaml counts as it will for a host.
    let configuration = project.configuration();
    let beside = |file: &Path| file.with_file_name(format!("{}.yaml", project.name));
    place_or_remove(&configuration, &beside(&built.file))?;
    let bytes = std::fs::metadata(&built.file).map_or(0, |it| it.len());
    if bytes >= LARGE_BYTES {
        print(&format!(
            "checking {} MB as a host does: it compiles all of it, which takes seconds to minutes",
            bytes / 1_000_000
        ));
    }
    let begin = Instant::now();
    let checked = tokio::select! {
        checked = checker.check(&built.file) => checked,
        () = stop.cancelled() => bail!("ended before the built component was checked; {} was left as it was", output.display()),
    };
    let report = match checked {
        Ok(report) => report,
        Err(error) => bail!(
            "the built component {} cannot be a plugin of this host: {}; {} was left as it was",
            built.file.display(),
            error.shown(),
            output.display()
        ),
    };
    let took = begin.elapsed();
    if args.output.is_none() {
        place_or_remove(&configuration, &beside(output))?;
    }
    place(&built.file, output)
        .with_context(|| format!("{} cannot be written", output.display()))?;
    let times = [built.took, took].map(|it| it.as_secs_f64());
    print(&summary(output, &report, times));
    let file = project.folder.join("host.yaml");
    print_grants(&report, args.config.config.is_none() && file.is_file());
    Ok(())
}

/// The lines of a configuration that grant what is missing. `has_file`: the project has such a file, which was not named.
fn print_grants(report: &PluginReport, has_file: bool) {
    if report.not_granted.is_none() {
        return;
    }
    if has_file {
        print("host.yaml in this project did not count: name it with --config host.yaml");
    }
    print("lines of the host's own file (kind HostConfiguration) that grant all of it:");
    print(&format!("plugins:\n  {}:\n    {}", report.name, report.grant.join("\n    ")));
}

/// A host takes the plugin's name from the name of its file.
fn check_file_name(path: &Path) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(name) = name.strip_suffix(".wasm") else {
        bail!("{} is no plugin file: it must end in .wasm, in small letters", path.display());
    };
    name.parse::<PluginName>()?;
    Ok(())
}

fn summary(output: &Path, report: &PluginReport, [built, checked]: [f64; 2]) -> String {
    let resources = report.descriptor.subscriptions.iter().map(|it| it.resource.to_string());
    let resources: Vec<String> = resources.collect();
    let subscribed = match resources.is_empty() {
        true => String::new(),
        false => format!(", subscribes to {}", resources.join(", ")),
    };
    let schedules = report.descriptor.schedules.iter().map(|it| it.name.to_string());
    let schedules: Vec<String> = schedules.collect();
    let scheduled = match schedules.is_empty() {
        true => String::new(),
        false => format!(", has the schedules {}", schedules.join(", ")),
    };
    let idle = match resources.is_empty() && schedules.is_empty() {
        true => ", has neither subscriptions nor schedules: the host never calls it",
        false => "",
    };
    let waits = report
        .not_granted
        .as_ref()
        .map_or(String::new(), |why| format!("\na host does not load it yet: {why}"));
    format!(
        "{}: {} bytes, version {}{subscribed}{scheduled}{idle}; built in {built:.2} s, checked in {checked:.2} s{waits}",
        output.display(),
        report.bytes,
        report.descriptor.version
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, problem: Option<&str>) {
        let error = check_file_name(Path::new(path)).err().map(|error| error.to_string());
        match problem {
            None => assert_eq!(error, None, "{path}"),
            Some(words) => {
                assert!(error.as_ref().is_some_and(|it| it.contains(words)), "{path}: {error:?}")
            }
        }
    }

    #[test]
    fn output_is_a_file_that_a_host_would_take() {
        check("plugins/pods.wasm", None);
        check("Pods.v1.wasm", None);
        check("pods", Some("must end in .wasm"));
        check("pods.WASM", Some("must end in .wasm"));
        check("plugins/", Some("must end in .wasm"));
        check(".wasm", Some("1 to 63"));
        check("a b.wasm", Some("1 to 63"));
    }
}
