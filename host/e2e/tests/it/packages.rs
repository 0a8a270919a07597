//! The packed crates in an empty directory: the README's controller is built from them, and runs beside the embedded
//! cluster. A plugin is built from the packed Rust SDK.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::bench::runtime;
use crate::host::commands::page;
use crate::host::embedded::announced_cluster;
use informant_e2e::api::Api;
use informant_e2e::child::Child;
use informant_e2e::host::{self, Host};
use informant_e2e::{paths, poll, skip};

/// `make package` sets this variable to the folder of the packed crates.
const PACKAGES_VARIABLE: &str = "INFORMANT_PACKAGES";
/// The time for a build of Kubernetes' types on a busy machine.
const BUILD_DEADLINE: Duration = Duration::from_secs(1_800);
const DEADLINE: Duration = Duration::from_secs(60);
const README: &str = "host/cache/README.md";
/// The line of README that names the repository, because no release is published.
const UNRELEASED: &str =
    r#"informant-cache = { git = "https://github.com/informant-dev/informant" }"#;

/// An empty directory with the unpacked crates in it.
struct Place {
    directory: tempfile::TempDir,
    program: PathBuf,
    /// The names and versions of the crates.
    crates: Vec<(String, String)>,
}

fn place() -> Option<Place> {
    let Some(packages) = std::env::var_os(PACKAGES_VARIABLE) else {
        skip::say("`make package` makes the crates first");
        return None;
    };
    let program = host::program().expect("the program that is named exists");
    let program = program.expect("`make package` builds it");
    let directory = tempfile::tempdir().expect("a directory");
    let mut place = Place { directory, program, crates: Vec::new() };
    for entry in std::fs::read_dir(&packages).expect("a folder of crates") {
        let path = entry.expect("an entry").path();
        let (Some(name), true) = (path.file_stem(), path.extension() == Some("crate".as_ref()))
        else {
            continue;
        };
        place.run(Command::new("tar").arg("-xzf").arg(&path));
        let name = name.to_string_lossy();
        let (name, version) = name.rsplit_once('-').expect("a name and a version");
        place.crates.push((name.to_owned(), version.to_owned()));
    }
    Some(place)
}

impl Place {
    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The line of a manifest for one of the crates, as if the registry had it.
    fn dependency(&self, name: &str) -> String {
        let found = self.crates.iter().find(|(it, _)| it == name);
        let (name, version) = found.expect("it is packed");
        format!("{name} = \"{version}\"")
    }

    /// Runs a command to its end in the directory.
    #[track_caller]
    fn run(&self, command: &mut Command) {
        let target = paths::target_directory().join("tmp/packages");
        command.current_dir(self.path()).env("CARGO_TARGET_DIR", target);
        // The repository's own lints are not those of its users.
        command.env_remove("RUSTC_WORKSPACE_WRAPPER");
        let log = self.path().join("log");
        let mut child = Child::spawn_logged("a command", command, &log).expect("it starts");
        let status = child.wait(BUILD_DEADLINE).expect("its end");
        assert!(status.success(), "{command:?}: {}", child.log_tail());
    }

    /// Builds a program or plugin of this manifest and these files, with the versions that the repository is tested
    /// with. The packed crates stand for those of the registry.
    #[track_caller]
    fn build(&self, dependencies: &str, files: &[(&str, &str)], arguments: &[&str]) {
        let patch = |(name, version): &(String, String)| {
            format!("{name} = {{ path = \"{name}-{version}\" }}\n")
        };
        let patches: String = self.crates.iter().map(patch).collect();
        let head = "[package]\nname = \"example\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        let manifest = format!("{head}{dependencies}\n[patch.crates-io]\n{patches}");
        std::fs::create_dir_all(self.path().join("src")).expect("a folder");
        for (name, text) in files.iter().chain([&("Cargo.toml", &*manifest)]) {
            std::fs::write(self.path().join(name), text).expect("a file");
        }
        let lock = paths::root().join("Cargo.lock");
        std::fs::copy(lock, self.path().join("Cargo.lock")).expect("a file");
        self.run(Command::new("cargo").arg("build").args(arguments));
    }
}

/// The first two blocks of a language in the README.
fn blocks(language: &str) -> [String; 2] {
    let fence = format!("\n```{language}\n");
    let page = page(README);
    let block = |rest: &str| rest.split_once("```").expect("the end of a block").0.to_owned();
    let all: Vec<String> = page.split(&fence).skip(1).map(block).collect();
    <[String; 2]>::try_from(all).expect("two blocks")
}

#[test]
fn controller_of_the_readme_is_built_from_packages_and_runs() {
    let Some(place) = place() else { return };
    let ([toml, runtime_feature], [controller, recorder]) = (blocks("toml"), blocks("rust"));
    let lines = controller.lines().count();
    assert!(lines <= 60, "the controller has {lines} lines");
    assert!(toml.contains(UNRELEASED), "{toml}");
    let released = place.dependency("informant-cache");
    let dependencies = format!("{}{runtime_feature}", toml.replace(UNRELEASED, &released));
    let files = [("src/main.rs", &*controller), ("src/lib.rs", &*recorder)];
    place.build(&dependencies, &files, &[]);
    runtime().block_on(run(&place));
}

/// Runs the controller until it has labelled a sandbox.
async fn run(place: &Place) {
    let kubeconfig = place.path().join("kubeconfig");
    let path = kubeconfig.display().to_string();
    let arguments = ["cluster", "--log-format", "json", "--write-kubeconfig", &path];
    let arguments = arguments.map(str::to_owned);
    let cluster = Host::spawn(&place.program, &arguments, announced_cluster).await;
    let mut cluster = cluster.expect("the embedded cluster");
    let is_written = async || kubeconfig.exists().then_some(());
    poll::until("the kubeconfig", DEADLINE, is_written).await.expect("it is written");
    let api = Api::from_kubeconfig(&kubeconfig).await.expect("a client");

    let example = paths::target_directory().join("tmp/packages/debug/example");
    let mut command = Command::new(example);
    command.env("KUBECONFIG", &kubeconfig).current_dir(place.path());
    let log = place.path().join("example.log");
    let mut controller = Child::spawn_logged("the controller", &mut command, &log).expect("it");
    let sandbox = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "sandbox", "labels": {"sandbox": ""}}});
    api.create("/api/v1/namespaces", &sandbox).await.expect(201);
    let labelled = async || {
        let found = api.get("/api/v1/namespaces/sandbox").await.expect(200);
        let level = &found["metadata"]["labels"]["pod-security.kubernetes.io/enforce"];
        (level == "restricted").then_some(())
    };
    let done = poll::until("the label", DEADLINE, labelled).await;
    done.unwrap_or_else(|error| panic!("{error}: {}", controller.log_tail()));
    controller.signal("INT").expect("it runs");
    let status = controller.wait(DEADLINE).expect("its end");
    assert!(status.success(), "{}", controller.log_tail());
    cluster.terminate(DEADLINE).expect("its end");
}

#[test]
fn plugin_is_built_from_the_packed_sdk() {
    let Some(place) = place() else { return };
    let dependencies = format!(
        "[lib]\ncrate-type = [\"cdylib\"]\n[dependencies]\n{}\nserde = {{ version = \"1\", features = [\"derive\"] }}\n",
        place.dependency("informant-plugin")
    );
    let source = page("examples/hello/src/lib.rs");
    let arguments = ["--release", "--target", "wasm32-unknown-unknown"];
    place.build(&dependencies, &[("src/lib.rs", &source)], &arguments);
    let built =
        paths::target_directory().join("tmp/packages/wasm32-unknown-unknown/release/example.wasm");
    place.run(Command::new(&place.program).args(["plugin", "check"]).arg(built));
}
