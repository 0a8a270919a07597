//! Builds a project: fetches its packages, runs its tools, and checks the result.

use super::artifact::place;
use super::build_lock::BuildLock;
use super::process::{self, ProcessError, Stream};
use super::recipe::{self, Fetch, Mode, Step, recipe};
use super::recognition::Project;
use super::toolchain::Toolchain;
use crate::logging::{self, Stdout};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// The number of characters of a tool's line that an error quotes.
const QUOTED_CHARS_MAX: usize = 300;
/// The time between two checks whether another build has ended.
const LOCK_LOOK: Duration = Duration::from_millis(50);

/// How a tool's lines are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShownLines {
    /// Unchanged, for people.
    Plain,
    /// As lines of the log, for machines.
    Log,
}

/// The options of a build.
#[derive(Clone, Copy)]
pub(crate) struct Build<'a> {
    pub(crate) project: &'a Project,
    pub(crate) tools: &'a Toolchain,
    pub(crate) mode: Mode,
    /// The time for all steps together.
    pub(crate) time_max: Duration,
    pub(crate) shown: ShownLines,
}

/// The result of a build.
#[derive(Debug)]
pub(crate) struct Built {
    /// `NAME.wasm` in the build's own folder.
    pub(crate) file: PathBuf,
    pub(crate) took: Duration,
    /// While this value exists, no other build of the project touches the file.
    _lock: BuildLock,
}

/// Why a build has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    #[error("{what} {error}")]
    Process { what: &'static str, error: ProcessError },
    #[error("{what} failed ({status}){said}")]
    Failed { what: &'static str, status: ExitStatus, said: String },
    #[error("{what} has left no plugin; {}", recipe::no_artifact(*.language))]
    Nothing { what: &'static str, language: super::Language },
    #[error("{} cannot be read or written: {error}", .path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{0:#}")]
    Project(anyhow::Error),
    #[error("another build of this project has not ended after {} s: end it, or see why it takes so long", .0.as_secs())]
    Busy(Duration),
    #[error("it was ended before it began")]
    Stopped,
}

impl BuildError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { path, error }
    }
}

impl Build<'_> {
    /// Runs the project's tools in its folder, until they end or `stop`.
    pub(crate) async fn run(&self, stop: &CancellationToken) -> Result<Built, BuildError> {
        let lock = self.lock(stop).await?;
        let begin = Instant::now();
        let stage = self.project.build_folder().join(self.mode.stage());
        let file = self.project.plugin_file(&stage);
        std::fs::create_dir_all(&stage).map_err(BuildError::file(&stage))?;
        // The file of an earlier build must not count as the result of this build.
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(BuildError::File { path: file, error });
            }
            _ => {}
        }
        let recipe = recipe(self.project, self.tools, self.mode, &file);
        if let Some(fetch) = &recipe.fetch {
            self.fetch(fetch, begin, stop).await?;
        }
        let artifact = self.step(&recipe.build, begin, stop).await?;
        if let Some(artifact) = artifact {
            place(&artifact, &file).map_err(BuildError::file(&artifact))?;
        }
        if !file.is_file() {
            let (what, language) = (recipe.build.what, self.project.language);
            return Err(BuildError::Nothing { what, language });
        }
        Ok(Built { file, took: begin.elapsed(), _lock: lock })
    }

    /// Waits for other builds of the project, also those of other processes. All of them work in the same folders.
    async fn lock(&self, stop: &CancellationToken) -> Result<BuildLock, BuildError> {
        let folder = self.project.build_folder();
        let try_take = || BuildLock::try_take(&folder, "build").map_err(BuildError::file(&folder));
        if let Some(lock) = try_take()? {
            return Ok(lock);
        }
        self.show("another build of this project runs: waiting for its end");
        let wait = async {
            loop {
                tokio::time::sleep(LOCK_LOOK).await;
                if let Some(lock) = try_take()? {
                    return Ok(lock);
                }
            }
        };
        tokio::select! {
            waited = tokio::time::timeout(self.time_max, wait) => waited.unwrap_or(Err(BuildError::Busy(self.time_max))),
            () = stop.cancelled() => Err(BuildError::Stopped),
        }
    }

    /// Fetches packages if the file that names them has changed since the last fetch.
    async fn fetch(
        &self,
        fetch: &Fetch,
        begin: Instant,
        stop: &CancellationToken,
    ) -> Result<(), BuildError> {
        let named_by = self.project.folder.join(fetch.named_by);
        let stamp = self.project.folder.join(&fetch.stamp);
        let named = std::fs::read(&named_by).map_err(BuildError::file(&named_by))?;
        if std::fs::read(&stamp).is_ok_and(|there| there == named) {
            return Ok(());
        }
        for step in &fetch.steps {
            self.step(step, begin, stop).await?;
        }
        std::fs::write(&stamp, named).map_err(BuildError::file(&stamp))
    }

    /// Runs one program. Returns the path of the library that cargo has built.
    async fn step(
        &self,
        step: &Step,
        begin: Instant,
        stop: &CancellationToken,
    ) -> Result<Option<PathBuf>, BuildError> {
        let what = step.what;
        let folder = &self.project.folder;
        let mut command = Command::new(&step.program);
        command.args(&step.arguments).envs(step.environment.iter().cloned()).current_dir(folder);
        if self.is_coloured() {
            command.env("CARGO_TERM_COLOR", "always");
        }
        let manifest = folder.join("Cargo.toml");
        let (mut artifact, mut words) = (None, Words::default());
        let mut hear = |stream: Stream, line: &str| {
            if step.is_cargo && stream == Stream::Output {
                let found = recipe::cargo_artifact(line, &manifest);
                artifact = artifact.take().or(found);
                return;
            }
            self.show(line);
            words.hear(line);
        };
        let time_max = self.time_max.saturating_sub(begin.elapsed());
        let status = process::run(&mut command, &mut hear, time_max, stop).await;
        let status = status.map_err(|error| match error {
            // The deadline is that of all steps together.
            ProcessError::Deadline(_) => ProcessError::Deadline(self.time_max),
            other => other,
        });
        let status = status.map_err(|error| BuildError::Process { what, error })?;
        if !status.success() {
            let said = words.said().map_or_else(String::new, |said| format!(": {said}"));
            return Err(BuildError::Failed { what, status, said });
        }
        Ok(artifact)
    }

    fn is_coloured(&self) -> bool {
        self.shown == ShownLines::Plain && logging::is_coloured()
    }

    fn show(&self, line: &str) {
        match self.shown {
            // If the reader has closed standard output, the line is lost.
            ShownLines::Plain => drop(writeln!(Stdout, "{line}")),
            ShownLines::Log => {
                info!(target: "build", plugin = self.project.name.as_str(), "{line}")
            }
        }
    }
}

/// The line of a tool that an error quotes. If a line names an error, it is the first such line, because later lines
/// count errors or follow from the first. Otherwise it is the last line.
#[derive(Default)]
struct Words {
    error: Option<String>,
    /// Whether the last line is `error`.
    is_error_last: bool,
    place: Option<String>,
    last: Option<String>,
}

impl Words {
    fn hear(&mut self, line: &str) {
        let line = quoted(line);
        if line.is_empty() {
            return;
        }
        let marks = ["error: ", "error[", "error TS", "[ERROR] "];
        let names_error = marks.iter().any(|mark| line.contains(mark));
        // rustc and esbuild name the place on the line after the error.
        if let Some(place) = line.strip_prefix("--> ").or_else(|| only_place(&line))
            && self.is_error_last
        {
            self.place = Some(place.to_owned());
        }
        self.is_error_last = self.error.is_none() && names_error;
        if self.is_error_last {
            self.error = Some(line);
        } else {
            self.last = Some(line);
        }
    }

    fn said(self) -> Option<String> {
        let place = self.place.map_or_else(String::new, |place| format!("{place}: "));
        self.error.map(|error| place + &error).or(self.last)
    }
}

/// The place if the line has nothing else, as `src/plugin.ts:3:5:`.
fn only_place(line: &str) -> Option<&str> {
    let place = line.strip_suffix(':')?;
    let mut numbers = place.rsplit(':').take(2).map(|it| it.parse::<u32>());
    let is_place = numbers.next()?.is_ok() && numbers.next()?.is_ok();
    is_place.then_some(place)
}

/// A line without colours. A long line is cut.
fn quoted(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|it: char| it.is_ascii_digit() || it == ';');
        rest = rest.get(1..).unwrap_or_default();
    }
    plain.push_str(rest);
    plain.trim().chars().take(QUOTED_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::super::recognition::Settings;
    use super::*;
    use crate::project::Language;
    use std::ffi::OsString;

    const LONG: Duration = Duration::from_secs(600);

    fn c_project(folder: &Path) -> Project {
        let (name, settings) = ("pods".parse().unwrap(), Settings::default());
        Project { folder: folder.to_owned(), language: Language::C, name, settings }
    }

    fn build<'a>(project: &'a Project, tools: &'a Toolchain) -> Build<'a> {
        Build { project, tools, mode: Mode::Dev, time_max: LONG, shown: ShownLines::Log }
    }

    /// Writes the file of an earlier build.
    fn left_before(project: &Project) -> PathBuf {
        let file = project.plugin_file(&project.build_folder().join(Mode::Dev.stage()));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "of an earlier build").unwrap();
        file
    }

    /// Checks the result of a build in which a shell script replaces the C compiler.
    async fn check(script: &str, time_max: Duration, expect: &str) {
        let folder = tempfile::tempdir().unwrap();
        let project = c_project(folder.path());
        let compiler = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
        let tools = Toolchain::C { compiler };
        let build = Build { time_max, ..build(&project, &tools) };
        left_before(&project);
        let told = match build.run(&CancellationToken::new()).await {
            Ok(built) => {
                let try_take = BuildLock::try_take(&project.build_folder(), "build");
                assert!(try_take.unwrap().is_none(), "nobody else builds before it is taken");
                std::fs::read_to_string(built.file).unwrap()
            }
            Err(error) => error.to_string(),
        };
        assert!(told.contains(expect), "{told:?} has no {expect:?}");
    }

    #[tokio::test]
    async fn what_the_tool_leaves_is_the_plugin() {
        // The last argument is the path of the output file.
        check("for out; do :; done; printf mine > $out", LONG, "mine").await;
    }

    #[tokio::test]
    async fn failure_has_the_tools_own_words() {
        check(
            "echo; echo 'no such header' >&2; echo; exit 3",
            LONG,
            "exit status: 3): no such header",
        )
        .await;
        let compiler =
            "echo 'a.c:1:2: error: expected a }'; echo ' ^~~'; echo 'cc: error: 2 of them'; exit 1";
        check(compiler, LONG, "exit status: 1): a.c:1:2: error: expected a }").await;
        let rustc = "echo 'error[E0425]: no pod'; echo '  --> src/lib.rs:3:5'; echo 'error: 2 of them'; \
            echo ' --> src/lib.rs:9:1'; exit 1";
        check(rustc, LONG, "exit status: 1): src/lib.rs:3:5: error[E0425]: no pod").await;
        let esbuild = "echo '[ERROR] Unexpected \"%\"'; echo; echo '    a.ts:3:28:'; echo '      3 | %%:'; exit 1";
        check(esbuild, LONG, "exit status: 1): a.ts:3:28: [ERROR] Unexpected \"%\"").await;
        let tsc =
            "echo 'a.ts(1,2): error TS1: no pod'; echo 'a.ts(3,2): error TS2: no node'; exit 1";
        check(tsc, LONG, "exit status: 1): a.ts(1,2): error TS1: no pod").await;
        check("exit 4", LONG, "the C compiler failed (exit status: 4)").await;
        check("exit 0", LONG, "the C compiler has left no plugin").await;
        check("sleep 60", Duration::from_millis(50), "the C compiler was ended after 0 s").await;
    }

    /// Checks the result of a build while another build of the project runs.
    #[tokio::test(start_paused = true)]
    async fn builds_of_one_project_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let project = c_project(folder.path());
        let tools = Toolchain::C { compiler: vec!["/bin/false".into()] };
        let build = build(&project, &tools);
        let file = left_before(&project);
        let other = BuildLock::try_take(&project.build_folder(), "build").unwrap().unwrap();
        let stop = CancellationToken::new();
        let told = build.run(&stop).await.unwrap_err().to_string();
        assert!(
            told.starts_with("another build of this project has not ended after 600 s"),
            "{told}"
        );
        stop.cancel();
        let told = build.run(&stop).await.unwrap_err().to_string();
        assert_eq!(told, "it was ended before it began");
        let left = std::fs::read_to_string(&file).unwrap();
        assert_eq!(left, "of an earlier build", "the other build may still have use for it");
        drop(other);
        assert!(build.lock(&CancellationToken::new()).await.is_ok(), "it is this one's turn");
    }

    #[test]
    fn quoted_line_has_no_colours_and_an_end() {
        let check = |line: &str, expect: &str| assert_eq!(quoted(line), expect, "{line:?}");
        check("\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m: no\u{1b}[0m", "error: no");
        check("  plain ", "plain");
        check("\u{1b}[", "");
        check(&"ä".repeat(QUOTED_CHARS_MAX + 1), &"ä".repeat(QUOTED_CHARS_MAX));
    }

    /// A shell script replaces npm and counts its calls.
    #[tokio::test]
    async fn packages_are_brought_once_for_what_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("npm"), "#!/bin/sh\necho x >> called\nmkdir -p node_modules\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(at("npm"), mode).unwrap();
        let project = |text: &str| {
            std::fs::write(at("package.json"), text).unwrap();
            Project::open(folder.path()).unwrap()
        };
        let tools = Toolchain::Js { node: "/bin/true".into(), npm: at("npm") };
        for (text, calls) in
            [(r#"{"name": "a"}"#, 1), (r#"{"name": "a"}"#, 1), (r#"{"name": "a" }"#, 2)]
        {
            let project = project(text);
            // The script does not build a plugin, so the build fails here, after it has fetched the packages.
            build(&project, &tools).run(&CancellationToken::new()).await.unwrap_err();
            assert_eq!(
                std::fs::read_to_string(at("called")).unwrap().lines().count(),
                calls,
                "{text}"
            );
        }
    }
}
