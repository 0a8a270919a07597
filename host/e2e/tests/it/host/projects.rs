//! Plugin projects in every language, with the commands of the READMEs in an empty directory. They are made, tested,
//! built and run beside the embedded cluster, and changed while they run.

mod languages;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::bench::runtime;
use crate::host::embedded::{create_pod, kubeconfig};
use informant_e2e::child::Child;
use informant_e2e::host::{self, Host, Line, announced_address};
use informant_e2e::{paths, skip};

/// The time for scripts that fetch and compile, on a busy machine.
const DEADLINE: Duration = Duration::from_secs(900);
/// The time for one build and load. Python's are the longest.
const LINE_DEADLINE: Duration = Duration::from_secs(240);

/// A language with a change of its template.
struct Language {
    /// Its folder in `plugin-sdk`.
    key: &'static str,
    /// The plugin's line about a pod, without the pod's name.
    says: &'static str,
    file: &'static str,
    /// A text in that file, and its replacement for another version.
    from: &'static str,
    to: &'static str,
    /// The tool's error for a file that is not a valid source.
    refuses: &'static str,
}

/// A folder outside of the repository, with the requirements of the README's commands.
struct Place {
    program: PathBuf,
    folder: tempfile::TempDir,
    /// The value of `PATH`, with `informant` in it.
    path: std::ffi::OsString,
}

/// A folder for fetched and compiled files that all runs share.
fn kept(name: &str) -> PathBuf {
    let folder = paths::target_directory().join("tmp/projects").join(name);
    std::fs::create_dir_all(&folder).expect("a folder below target");
    folder
}

/// A folder with the program as `informant`, and the developer's own `PATH` behind it.
fn place(more: &[PathBuf]) -> Option<Place> {
    let Some(program) = host::program().expect("the program that is named exists") else {
        skip::say("target/debug/informant is not built; `cargo build -p informant` builds it");
        return None;
    };
    let own = std::env::var_os("PATH").unwrap_or_default();
    let go = PathBuf::from("/usr/local/go/bin");
    let program_folder = program.parent().map(Path::to_owned);
    let folders = program_folder.into_iter().chain(more.iter().cloned());
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&own)).chain([go]));
    let folder = tempfile::tempdir().expect("a directory");
    Some(Place { program, folder, path: path.expect("folders without colons") })
}

impl Place {
    fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-euxc", script]).current_dir(self.folder.path());
        command.env("PATH", &self.path).env("CARGO_TARGET_DIR", kept("cargo"));
        command.env("XDG_CACHE_HOME", paths::target_directory().join("e2e/cache"));
        command
    }

    /// Runs a script until its end. Returns its exit code and its output.
    fn run(&self, script: &str) -> (Option<i32>, String) {
        let log = self.folder.path().join("log");
        let _ = std::fs::remove_file(&log);
        let mut child = Child::spawn_logged("sh", &mut self.shell(script), &log).expect("a shell");
        let status = child.wait(DEADLINE).expect("its end");
        (status.code(), std::fs::read_to_string(&log).expect("what it said"))
    }

    /// Whether this machine has the tools of a language.
    fn has(&self, script: &str) -> bool {
        self.run(script).0 == Some(0)
    }
}

/// The first commands of a README: a fenced block of `sh`, without comments.
fn commands(readme: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(readme).expect("a README");
    let (_, rest) = text.split_once("\n```sh\n").expect("a block of commands");
    let (block, _) = rest.split_once("\n```").expect("its end");
    let plain = |line: &str| line.split(" #").next().unwrap_or_default().trim().to_owned();
    block.lines().map(plain).collect()
}

fn readme(language: &str) -> PathBuf {
    paths::root().join("plugin-sdk").join(language).join("README.md")
}

/// Runs the README's commands, changes the source, and breaks it.
fn check(language: &Language, place: &Place) {
    let commands = commands(&readme(language.key));
    let (last, first) = commands.split_last().expect("commands");
    let new = format!("informant plugin new hello --lang {}", language.key);
    assert_eq!((first[0].as_str(), last.as_str()), (&*new, "informant dev ."));
    let (code, said) = place.run(&first.join("\n"));
    assert_eq!(code, Some(0), "{said}");
    let project = place.folder.path().join("hello");
    assert!(project.join("build/hello.wasm").exists(), "{said}");
    assert_eq!(project.join("build/hello.yaml").exists(), project.join("hello.yaml").exists());
    let between = &first[2..];
    check_template(language.key, "controller", between, place, "1 of 3");
    check_template(language.key, "timer", between, place, "pending");
    runtime().block_on(follow(language, place, &project));
}

/// Makes a project of another kind, runs the README's commands in it, and then the plugin over two objects for a minute.
fn check_template(language: &str, kind: &str, commands: &[String], place: &Place, says: &str) {
    let commands = commands.join("\n").replace("hello", kind);
    let script = format!(
        "informant plugin new {kind} --lang {language} --template {kind} && cd {kind}\n{commands}\nmkdir objects\n\
         echo '{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: shop}}, spec: {{replicas: 3}}, status: {{availableReplicas: 1}}}}' >objects/web.yaml\n\
         echo '{{apiVersion: v1, kind: Pod, metadata: {{name: web-1, namespace: shop}}, status: {{phase: Pending}}}}' >objects/pod.yaml\n\
         echo '{{\"wait\": \"61s\"}}' >events.jsonl\n\
         informant plugin test build/{kind}.wasm --objects objects --events events.jsonl"
    );
    let (code, said) = place.run(&script);
    assert_eq!(code, Some(0), "{said}");
    let times = said.lines().filter(|line| line.contains("log level=") && line.contains(says));
    assert!(times.count() > 0, "{said}");
}

async fn follow(language: &Language, place: &Place, project: &Path) {
    let path = place.path.to_string_lossy();
    let (folder, program) = (project.display(), place.program.display());
    let target = kept("cargo");
    let script = format!(
        "cd '{folder}' && PATH='{path}' CARGO_TARGET_DIR='{}' exec '{program}' dev . --log-format json --listen 127.0.0.1:0",
        target.display()
    );
    let arguments = ["-c".to_owned(), script];
    let mut dev = Host::spawn(Path::new("/bin/sh"), &arguments, announced_address).await.unwrap();
    let line = dev.await_line("how to look in", LINE_DEADLINE, |line| kubeconfig(line).is_some());
    let cluster = kubeconfig(&line.await.unwrap()).expect("it was there a moment ago");
    says(&dev, &["built in", "loaded in", "after the start"]).await;
    create_pod(&cluster, "by-hand").await;
    says(&dev, &[language.says, "default/by-hand"]).await;

    dev.take_lines();
    let source = project.join(language.file);
    let text = std::fs::read_to_string(&source).expect("a source");
    assert_eq!(text.matches(language.from).count(), 1, "{} in {text}", language.from);
    std::fs::write(&source, text.replace(language.from, language.to)).expect("a save");
    let runs = says(&dev, &["built in", "loaded in", "after the save"]).await;
    // Written directly to standard error, because the harness hides the output of passing tests and the time of a save
    // is useful.
    let _ = writeln!(std::io::stderr(), "{}: {}", language.key, runs.message());
    create_pod(&cluster, "after").await;
    says(&dev, &[", again", "default/after"]).await;

    std::fs::write(&source, format!("%%% no source\n{text}")).expect("a save");
    let failed = says(&dev, &["not built: ", "the version before goes on"]).await;
    assert_eq!(failed.field("level"), Some("ERROR"), "{}", failed.text);
    let told = |line: &Line| line.text.contains(language.refuses);
    dev.await_line("the tool's own words", LINE_DEADLINE, told).await.unwrap();
    create_pod(&cluster, "later").await;
    says(&dev, &[", again", "default/later"]).await;

    // Two versions at once: a newer save overtakes the first, which never runs.
    std::fs::write(&source, text.replace(language.from, language.to)).expect("a save");
    std::fs::write(&source, &text).expect("a save");
    dev.take_lines();
    says(&dev, &["built in"]).await;
    create_pod(&cluster, "at-last").await;
    let line = says(&dev, &[language.says, "default/at-last"]).await;
    assert!(!line.text.contains(", again"), "{}", line.text);
    let status = dev.terminate(LINE_DEADLINE).unwrap();
    assert_eq!(status.code(), Some(0), "{}", dev.tail());
}

/// Waits for a line about or of the plugin that contains all of these words.
async fn says(dev: &Host, words: &[&str]) -> Line {
    let has = |line: &Line| {
        let is_ours = line.field("plugin") == Some("hello");
        is_ours && words.iter().all(|word| line.text.contains(word))
    };
    dev.await_line(&format!("hello to say {words:?}"), LINE_DEADLINE, has).await.unwrap()
}

#[test]
fn first_commands_are_the_same_everywhere() {
    let of_all = commands(&paths::root().join("plugin-sdk/README.md"));
    assert_eq!(of_all, commands(&readme("go")));
}

/// Checks that `informant` with these arguments fails with these words.
fn check_refused(place: &Place, arguments: &str, expect: &str) {
    let (code, said) = place.run(&format!("exec informant {arguments}"));
    assert_ne!(code, Some(0), "{arguments}: {said}");
    assert!(said.contains(expect), "{arguments}: {said}");
}

#[test]
fn what_cannot_be_a_project_is_refused_with_what_to_do() {
    let Some(place) = place(&[]) else { return };
    check_refused(&place, "plugin new ../up --lang go", "cannot be a plugin's name");
    check_refused(&place, "plugin new Hello --lang go", "small letters");
    check_refused(
        &place,
        "plugin new hello --lang cobol",
        "possible values: rust, go, js, typescript, python, c, zig, assemblyscript",
    );
    check_refused(&place, "plugin new hello", "--lang");
    check_refused(&place, "plugin build", "is no plugin project");
    check_refused(&place, "plugin build no-such-folder", "no-such-folder cannot be read");
    assert_eq!(place.run("informant plugin new hello --lang rust").0, Some(0));
    check_refused(&place, "plugin new hello --lang go", "hello is there and not empty");
    check_refused(&place, "plugin build hello -o hello.txt", "must end in .wasm");
    let nowhere = "-c 'PATH=/nowhere HOME=/nowhere exec \"$0\" plugin build hello'";
    let (code, said) = place.run(&format!("exec sh {nowhere} '{}'", place.program.display()));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cargo is missing: there is none on PATH; install Rust: curl"), "{said}");
    let (code, said) = place.run("informant plugin new --list");
    assert!(code == Some(0) && said.contains("python          Python"), "{said}");
}

/// A plugin file that cannot run does not replace the previous one.
#[test]
fn what_a_host_would_not_take_replaces_nothing() {
    let tools = tempfile::tempdir().expect("a directory");
    let Some(place) = place(&[tools.path().to_owned()]) else { return };
    let zig = "#!/bin/sh\nfor out; do :; done\ntest \"$out\" = /dev/null || printf '\\0asm\\1\\0\\0\\0' > \"$out\"\n";
    std::fs::write(tools.path().join("clang"), zig).expect("a file");
    let script =
        format!("chmod +x '{}/clang'; informant plugin new hello --lang c", tools.path().display());
    assert_eq!(place.run(&script).0, Some(0));
    let built = place.folder.path().join("hello/build/hello.wasm");
    std::fs::create_dir_all(built.parent().expect("a folder")).expect("a folder");
    std::fs::write(&built, "the one before").expect("a file");
    check_refused(&place, "plugin build hello", "cannot be a plugin of this host");
    assert_eq!(std::fs::read_to_string(&built).expect("it is there"), "the one before");
}
