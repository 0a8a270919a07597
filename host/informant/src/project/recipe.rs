//! The commands of a project's build: steps with their arguments, computed from the project and the installed tools.

use super::language::Language;
use super::recognition::Project;
use super::toolchain::Toolchain;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The purpose of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// For production: small and fast.
    Release,
    /// For a trial: built as fast as possible.
    Dev,
}

impl Mode {
    /// The folder below `build` for this mode's tools. Each mode has its own folder.
    pub(crate) fn stage(self) -> &'static str {
        match self {
            Self::Release => ".release",
            Self::Dev => ".dev",
        }
    }
}

/// One program to run in the project's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// For messages, such as `cargo build`.
    pub(crate) what: &'static str,
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(&'static str, OsString)>,
    /// Whether standard output contains cargo's JSON messages, which are not for people.
    pub(crate) is_cargo: bool,
}

/// The steps that fetch a language's packages. They run once for each content of the file that names the packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fetch {
    pub(crate) steps: Vec<Step>,
    /// The file that names the packages.
    pub(crate) named_by: &'static str,
    /// The file that keeps the content of `named_by` after a successful fetch.
    pub(crate) stamp: PathBuf,
}

/// How a project is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recipe {
    pub(crate) fetch: Option<Fetch>,
    pub(crate) build: Step,
}

/// The steps that write the plugin to `out`. cargo chooses and reports its own path.
pub(crate) fn recipe(project: &Project, tools: &Toolchain, mode: Mode, out: &Path) -> Recipe {
    let settings = &project.settings;
    match tools {
        Toolchain::Rust { cargo } => Recipe { fetch: None, build: rust(cargo, mode) },
        Toolchain::Go { go } => Recipe { fetch: None, build: self::go(go, out) },
        Toolchain::Js { node, npm } => {
            let entry = settings.entry.as_deref().unwrap_or("plugin.js");
            let script = "node_modules/.bin/informant-plugin";
            let arguments = [script.into(), entry.into(), out.into()];
            let mut build = step("informant-plugin", node, arguments);
            build.environment.extend(of_dev(mode));
            Recipe { fetch: Some(npm_install(npm)), build }
        }
        Toolchain::Python { python } => {
            let sdk = settings.sdk.as_deref().unwrap_or("sdk");
            let arguments = [format!("{sdk}/python/build.py").into(), out.into()];
            let program = project.folder.join(".venv/bin/python");
            let fetch = pip_install(python, &project.folder);
            let mut build = step("componentize-py", &program, arguments);
            build.environment.extend(of_dev(mode));
            Recipe { fetch: Some(fetch), build }
        }
        Toolchain::Zig { zig } => {
            let source = settings.entry.as_deref().unwrap_or_default();
            Recipe { fetch: None, build: self::zig(zig, source, mode, out) }
        }
        Toolchain::AssemblyScript { node, npm } => {
            let entry = settings.entry.as_deref().unwrap_or("assembly/index.ts");
            let script = "node_modules/.bin/informant-plugin-as";
            let arguments = [script.into(), entry.into(), out.into()];
            Recipe {
                fetch: Some(npm_install(npm)),
                build: step("informant-plugin-as", node, arguments),
            }
        }
        Toolchain::C { compiler } => {
            let sources = settings.sources.iter().map(OsString::from);
            let flags = C_FLAGS.iter().map(OsString::from);
            let arguments = compiler[1..].iter().cloned().chain(flags);
            let arguments = arguments.chain(["sdk/c/informant.c".into()]).chain(sources);
            let arguments = arguments.chain(["-o".into(), out.into()]);
            Recipe {
                fetch: None,
                build: step("the C compiler", Path::new(&compiler[0]), arguments),
            }
        }
    }
}

/// Freestanding: the plugin contains only its own files and the SDK's.
pub(crate) const C_FLAGS: [&str; 11] = [
    "-O2",
    "-g0",
    "-std=c11",
    "-Wall",
    "-Wextra",
    // Otherwise only the linker finds a misspelt name, and it reports it in a temporary file.
    "-Werror=implicit-function-declaration",
    "-Werror=int-conversion",
    "-nostdlib",
    "-Isdk/c",
    "-Wl,--no-entry",
    "-Wl,-z,stack-size=65536",
];

fn step(what: &'static str, program: &Path, arguments: impl IntoIterator<Item = OsString>) -> Step {
    let arguments = arguments.into_iter().collect();
    Step { what, program: program.into(), arguments, environment: Vec::new(), is_cargo: false }
}

fn rust(cargo: &Path, mode: Mode) -> Step {
    let target = ["build", "--lib", "--target", "wasm32-unknown-unknown"];
    let messages = "--message-format=json-render-diagnostics";
    let release = (mode == Mode::Release).then_some("--release");
    let arguments = target.into_iter().chain([messages]).chain(release).map(OsString::from);
    Step { is_cargo: true, ..step("cargo build", cargo, arguments) }
}

fn go(go: &Path, out: &Path) -> Step {
    let arguments = ["build", "-buildmode=c-shared", "-ldflags=-s -w", "-o"].map(OsString::from);
    let arguments = arguments.into_iter().chain([out.into(), ".".into()]);
    let environment = vec![("GOOS", "wasip1".into()), ("GOARCH", "wasm".into())];
    Step { environment, ..step("go build", go, arguments) }
}

/// Release: small, with checks for undefined behaviour. Dev: with names in traces, and a faster build.
fn zig(zig: &[OsString], source: &str, mode: Mode, out: &Path) -> Step {
    let of_mode: &[&str] = match mode {
        Mode::Release => &["-O", "safe", "-fstrip"],
        Mode::Dev => &["-O", "debug"],
    };
    let flags = ["build-exe", source, "-target", "wasm32-freestanding", "-fno-entry", "-rdynamic"];
    let flags = flags.iter().chain(&["--stack", "131072"]).chain(of_mode).map(OsString::from);
    let mut emit = OsString::from("-femit-bin=");
    emit.push(out);
    let arguments = zig[1..].iter().cloned().chain(flags).chain([emit]);
    step("zig build-exe", Path::new(&zig[0]), arguments)
}

fn npm_install(npm: &Path) -> Fetch {
    let arguments = ["install", "--no-audit", "--no-fund"].map(OsString::from);
    let steps = vec![step("npm install", npm, arguments)];
    Fetch { steps, named_by: "package.json", stamp: "node_modules/.informant".into() }
}

/// For builds that are quick rather than good. An environment variable instead of an argument: the project's SDK may be
/// older than this argument.
fn of_dev(mode: Mode) -> Option<(&'static str, OsString)> {
    (mode == Mode::Dev).then(|| ("INFORMANT_DEV", "1".into()))
}

fn pip_install(python: &Path, folder: &Path) -> Fetch {
    let venv =
        step("python -m venv", python, ["-m", "venv", "--clear", ".venv"].map(OsString::from));
    let install = ["-m", "pip", "install", "--disable-pip-version-check", "-r", "requirements.txt"];
    // Systems differ in the folder in which they look for a relative program.
    let python = folder.join(".venv/bin/python");
    let install = step("pip install", &python, install.map(OsString::from));
    Fetch {
        steps: vec![venv, install],
        named_by: "requirements.txt",
        stamp: ".venv/.informant".into(),
    }
}

/// The path of the library that cargo built for the package with this manifest.
pub(crate) fn cargo_artifact(message: &str, manifest: &Path) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let is_ours = message["reason"] == "compiler-artifact"
        && message["manifest_path"].as_str().map(Path::new) == Some(manifest)
        && message["target"]["crate_types"].as_array()?.iter().any(|kind| kind == "cdylib");
    let files = message["filenames"].as_array()?;
    let wasm = files.iter().filter_map(|file| file.as_str()).find(|file| file.ends_with(".wasm"));
    wasm.filter(|_| is_ours).map(PathBuf::from)
}

/// Advice for a project in which cargo built no library.
pub(crate) fn no_artifact(language: Language) -> &'static str {
    match language {
        Language::Rust => "a plugin is a library: Cargo.toml needs [lib] crate-type = [\"cdylib\"]",
        _ => "its tool has said why, or is another than this program knows",
    }
}

#[cfg(test)]
mod tests {
    use super::super::recognition::Settings;
    use super::*;

    fn line(step: &Step) -> String {
        let environment =
            step.environment.iter().map(|(key, value)| format!("{key}={}", value.display()));
        let words = [&step.program]
            .into_iter()
            .chain(&step.arguments)
            .map(|word| word.display().to_string());
        environment.chain(words).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn check(
        language: Language,
        tools: &Toolchain,
        settings: Settings,
        mode: Mode,
        expect: &[&str],
    ) {
        let project =
            Project { folder: "/p".into(), language, name: "pods".parse().unwrap(), settings };
        let recipe = recipe(&project, tools, mode, Path::new("/o/pods.wasm"));
        let fetch = recipe.fetch.iter().flat_map(|fetch| &fetch.steps);
        let lines: Vec<String> = fetch.chain([&recipe.build]).map(line).collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn rust_is_built_small_to_be_kept_and_fast_to_be_tried() {
        let tools = Toolchain::Rust { cargo: "/bin/cargo".into() };
        let line = "/bin/cargo build --lib --target wasm32-unknown-unknown --message-format=json-render-diagnostics";
        check(Language::Rust, &tools, Settings::default(), Mode::Dev, &[line]);
        check(
            Language::Rust,
            &tools,
            Settings::default(),
            Mode::Release,
            &[&format!("{line} --release")],
        );
    }

    #[test]
    fn other_languages_are_built_with_their_own_tools() {
        let go = Toolchain::Go { go: "go".into() };
        let line =
            "GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags=-s -w -o /o/pods.wasm .";
        check(Language::Go, &go, Settings::default(), Mode::Dev, &[line]);
        let c = Toolchain::C { compiler: vec!["zig".into(), "cc".into()] };
        let settings = Settings { sources: vec!["pods.c".into()], ..Settings::default() };
        let line = format!("zig cc {} sdk/c/informant.c pods.c -o /o/pods.wasm", C_FLAGS.join(" "));
        check(Language::C, &c, settings, Mode::Release, &[&line]);
    }

    #[test]
    fn zig_is_built_with_checks_to_be_kept_and_with_names_to_be_tried() {
        let tools = Toolchain::Zig { zig: vec!["python3".into(), "-m".into(), "ziglang".into()] };
        let settings = || Settings { entry: Some("pods.zig".into()), ..Settings::default() };
        let line = |of_mode: &str| {
            format!(
                "python3 -m ziglang build-exe pods.zig -target wasm32-freestanding -fno-entry -rdynamic --stack 131072 {of_mode} -femit-bin=/o/pods.wasm"
            )
        };
        check(Language::Zig, &tools, settings(), Mode::Release, &[&line("-O safe -fstrip")]);
        check(Language::Zig, &tools, settings(), Mode::Dev, &[&line("-O debug")]);
    }

    #[test]
    fn package_managers_bring_what_is_missing_into_the_project() {
        let js = Toolchain::Js { node: "node".into(), npm: "npm".into() };
        let install = "npm install --no-audit --no-fund";
        let build = |dev: &str| {
            format!("{dev}node node_modules/.bin/informant-plugin plugin.js /o/pods.wasm")
        };
        let check_js = |mode, dev| {
            check(Language::Js, &js, Settings::default(), mode, &[install, &build(dev)]);
        };
        check_js(Mode::Dev, "INFORMANT_DEV=1 ");
        check_js(Mode::Release, "");
        let tools = Toolchain::AssemblyScript { node: "node".into(), npm: "npm".into() };
        let build = "node node_modules/.bin/informant-plugin-as assembly/index.ts /o/pods.wasm";
        let settings = Settings::default();
        check(Language::AssemblyScript, &tools, settings, Mode::Dev, &[install, build]);
        let python = Toolchain::Python { python: "python3".into() };
        let settings = Settings { sdk: Some("../s".into()), ..Settings::default() };
        let expect = [
            "python3 -m venv --clear .venv",
            "/p/.venv/bin/python -m pip install --disable-pip-version-check -r requirements.txt",
            "INFORMANT_DEV=1 /p/.venv/bin/python ../s/python/build.py /o/pods.wasm",
        ];
        check(Language::Python, &python, settings, Mode::Dev, &expect);
    }

    #[test]
    fn only_the_packages_own_library_is_the_plugin() {
        let message = |reason: &str, manifest: &str, kind: &str| {
            serde_json::json!({"reason": reason, "manifest_path": manifest, "target": {"crate_types": [kind]},
                "filenames": ["/t/pods.d", "/t/pods.wasm"]})
            .to_string()
        };
        let check = |message: &str, expect: Option<&str>| {
            assert_eq!(
                cargo_artifact(message, Path::new("/p/Cargo.toml")),
                expect.map(PathBuf::from),
                "{message}"
            );
        };
        check(&message("compiler-artifact", "/p/Cargo.toml", "cdylib"), Some("/t/pods.wasm"));
        check(&message("compiler-artifact", "/p/sdk/Cargo.toml", "cdylib"), None);
        check(&message("compiler-artifact", "/p/Cargo.toml", "bin"), None);
        check(&message("build-finished", "/p/Cargo.toml", "cdylib"), None);
        check("no JSON", None);
    }
}
