//! The tools that build a language's plugins: finds the installed ones, and names the command that installs a missing
//! one.

use super::language::Language;
use super::process;
use super::recipe::C_FLAGS;
use super::recognition::Project;
use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

/// How long a tool may take to print its version. Zig compiles its own libraries at its first start.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(120);
/// Folders of installers that may be missing in `PATH`.
const USUAL_PLACES: [&str; 2] = [".cargo/bin", "/usr/local/go/bin"];

/// The tools that build a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Toolchain {
    Rust {
        cargo: PathBuf,
    },
    Go {
        go: PathBuf,
    },
    Js {
        node: PathBuf,
        npm: PathBuf,
    },
    Python {
        python: PathBuf,
    },
    /// A compiler for wasm32 with its first arguments.
    C {
        compiler: Vec<OsString>,
    },
    /// The program, or Python with the module's name.
    Zig {
        zig: Vec<OsString>,
    },
    AssemblyScript {
        node: PathBuf,
        npm: PathBuf,
    },
}

impl Toolchain {
    /// Finds the project's tools, until `stop`. An error says which tool is missing and how to install it.
    pub(crate) async fn find(project: &Project, stop: &CancellationToken) -> Result<Self> {
        tokio::select! {
            found = Self::look(project) => found.with_context(|| format!("{} cannot be built", project.name)),
            () = stop.cancelled() => bail!("ended before the tools of {} were found", project.name),
        }
    }

    async fn look(project: &Project) -> Result<Self> {
        let search = Search::of_this_process();
        let folder = &project.folder;
        match project.language {
            Language::Rust => rust(&search, folder).await,
            Language::Go => {
                let get = "install Go 1.24 or newer from https://go.dev/dl";
                let go = search.need("go", get)?;
                at_least(&go, &["env", "GOVERSION"], folder, (1, 24), get).await?;
                Ok(Self::Go { go })
            }
            Language::Js | Language::TypeScript => {
                let (node, npm) = node_and_npm(&search, folder).await?;
                Ok(Self::Js { node, npm })
            }
            Language::Python => {
                let get = "install Python 3.10 or newer, with venv, from https://python.org (Debian, Ubuntu: sudo apt-get install python3-venv)";
                let python = search.need("python3", get)?;
                at_least(&python, &["--version"], folder, (3, 10), get).await?;
                Ok(Self::Python { python })
            }
            Language::C => c(&search, folder).await,
            Language::Zig => zig(&search, folder).await,
            Language::AssemblyScript => {
                let (node, npm) = node_and_npm(&search, folder).await?;
                Ok(Self::AssemblyScript { node, npm })
            }
        }
    }
}

async fn node_and_npm(search: &Search, folder: &Path) -> Result<(PathBuf, PathBuf)> {
    let get = "install Node.js 20.6 or newer, with npm, from https://nodejs.org";
    let (node, npm) = (search.need("node", get)?, search.need("npm", get)?);
    at_least(&node, &["--version"], folder, (20, 6), get).await?;
    Ok((node, npm))
}

async fn rust(search: &Search, folder: &Path) -> Result<Toolchain> {
    let get = "install Rust: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh";
    let (cargo, rustc) = (search.need("cargo", get)?, search.need("rustc", get)?);
    let renew = "run: rustup update stable && rustup default stable";
    at_least(&rustc, &["--version"], folder, (1, 95), renew).await?;
    let library = ["--print", "target-libdir", "--target", "wasm32-unknown-unknown"];
    let library = answer(&rustc, &library, folder).await.unwrap_or_default();
    if !Path::new(library.trim()).is_dir() {
        bail!(
            "Rust's library for wasm32-unknown-unknown is missing; run: rustup target add wasm32-unknown-unknown"
        );
    }
    Ok(Toolchain::Rust { cargo })
}

/// A compiler counts only if it can compile and link a test file. Many clang packages lack the wasm backend or the
/// linker.
async fn c(search: &Search, folder: &Path) -> Result<Toolchain> {
    let clang = search.find("clang").map(|clang| (clang, &["--target=wasm32"][..]));
    let zig = search.find("zig").map(|zig| (zig, &["cc", "-target", "wasm32-freestanding"][..]));
    let module = &["-m", "ziglang", "cc", "-target", "wasm32-freestanding"][..];
    let pythons = pythons(search, folder).map(|python| (python, module));
    for (program, arguments) in [clang, zig].into_iter().flatten().chain(pythons) {
        let probe: Vec<&str> = arguments.iter().chain(&C_FLAGS).copied().collect();
        let probe = [&probe[..], &["-x", "c", "/dev/null", "-o", "/dev/null"]].concat();
        if answer(&program, &probe, folder).await.is_some() {
            let arguments = arguments.iter().map(OsString::from);
            return Ok(Toolchain::C {
                compiler: [program.into()].into_iter().chain(arguments).collect(),
            });
        }
    }
    bail!(
        "there is no C compiler that makes WebAssembly: neither a clang with wasm-ld nor Zig; \
         run: python3 -m venv .venv && .venv/bin/pip install ziglang==0.17.0 (Debian, Ubuntu: sudo apt-get install clang lld)"
    )
}

/// The version of Zig. The language is not finished: the next version may reject the code of this one.
const ZIG: &str = "0.17";

async fn zig(search: &Search, folder: &Path) -> Result<Toolchain> {
    let module = &["-m", "ziglang"][..];
    let pythons = pythons(search, folder).map(|python| (python, module));
    let mut others = Vec::new();
    for (program, arguments) in
        search.find("zig").map(|zig| (zig, &[][..])).into_iter().chain(pythons)
    {
        let asked = [arguments, &["version"]].concat();
        let Some(said) = answer(&program, &asked, folder).await else { continue };
        let patch = said.trim().strip_prefix(ZIG).and_then(|rest| rest.strip_prefix('.'));
        // Versions that are not released yet have a suffix after the number.
        if patch.is_some_and(|patch| patch.parse::<u32>().is_ok()) {
            let arguments = arguments.iter().map(OsString::from);
            return Ok(Toolchain::Zig {
                zig: [program.into()].into_iter().chain(arguments).collect(),
            });
        }
        others.push(format!(" ({} is {})", program.display(), said.trim()));
    }
    bail!(
        "there is no Zig {ZIG}{}; run: python3 -m venv .venv && .venv/bin/pip install ziglang=={ZIG}.0 (or get it from https://ziglang.org/download)",
        others.concat()
    )
}

/// The Pythons that may have pip's packages: the project's own, and the one in `PATH`.
fn pythons(search: &Search, folder: &Path) -> impl Iterator<Item = PathBuf> {
    let own = folder.join(".venv/bin/python");
    [own.exists().then_some(own), search.find("python3")].into_iter().flatten()
}

/// The folders in which programs are searched for.
struct Search(Vec<PathBuf>);

impl Search {
    fn of_this_process() -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        Self::new(&std::env::var_os("PATH").unwrap_or_default(), &home)
    }

    fn new(path: &OsStr, home: &Path) -> Self {
        let usual = USUAL_PLACES.iter().map(|place| home.join(place));
        // An empty entry means the present folder. That is not a folder of tools.
        let named = std::env::split_paths(path).filter(|place| place.is_absolute());
        Self(named.chain(usual).collect())
    }

    fn find(&self, program: &str) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| {
            path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
        };
        self.0.iter().map(|place| place.join(program)).find(is_program)
    }

    fn need(&self, program: &str, get: &str) -> Result<PathBuf> {
        match self.find(program) {
            Some(found) => Ok(found),
            None => bail!("{program} is missing: there is none on PATH; {get}"),
        }
    }
}

/// An error if the tool is older than `least`.
async fn at_least(
    program: &Path,
    ask: &[&str],
    folder: &Path,
    least: (u32, u32),
    get: &str,
) -> Result<()> {
    let said = answer(program, ask, folder).await.unwrap_or_default();
    if version(&said).is_none_or(|found| found < least) {
        let (said, (major, minor)) = (said.trim(), least);
        bail!("{} is {said:?}, and {major}.{minor} or newer is needed; {get}", program.display());
    }
    Ok(())
}

/// The first two numbers: `go1.26.8`, `v20.20.2`, `Python 3.11.7`.
fn version(text: &str) -> Option<(u32, u32)> {
    let begin = text.find(|it: char| it.is_ascii_digit())?;
    let mut numbers = text[begin..].split(|it: char| !it.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// A tool's standard output. `None` if the tool fails.
async fn answer(program: &Path, arguments: &[&str], folder: &Path) -> Option<String> {
    let mut said = String::new();
    let mut hear = |stream, line: &str| {
        if stream == process::Stream::Output && said.len() < 4_096 {
            said.push_str(line);
            said.push('\n');
        }
    };
    let mut command = Command::new(program);
    let command = command.args(arguments).current_dir(folder);
    let status = process::run(command, &mut hear, ANSWER_TIME_MAX, &CancellationToken::new()).await;
    status.ok().filter(std::process::ExitStatus::success).map(|_| said)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a program that is a shell script.
    fn put(folder: &Path, name: &str, script: &str, mode: u32) {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[track_caller]
    fn check(said: &str, expect: Option<(u32, u32)>) {
        assert_eq!(version(said), expect, "{said:?}");
    }

    #[test]
    fn versions_are_read_as_tools_write_them() {
        check("go1.26.8\n", Some((1, 26)));
        check("v20.20.2", Some((20, 20)));
        check("Python 3.11.7", Some((3, 11)));
        check("rustc 1.95.0-nightly (abc 2026-01-02)", Some((1, 95)));
        check("devel", None);
        check("go1", None);
    }

    #[test]
    fn only_programs_on_the_path_are_found() {
        let [first, second, home] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        put(first.path(), "tool", "", 0o644);
        put(second.path(), "tool", "", 0o755);
        std::fs::create_dir_all(home.path().join(".cargo/bin")).unwrap();
        put(&home.path().join(".cargo/bin"), "cargo-of-home", "", 0o755);
        let path = std::env::join_paths([Path::new(""), first.path(), second.path()]).unwrap();
        let search = Search::new(&path, home.path());
        assert_eq!(search.find("tool"), Some(second.path().join("tool")));
        assert_eq!(
            search.find("cargo-of-home"),
            Some(home.path().join(".cargo/bin/cargo-of-home"))
        );
        let error = search.need("no-such-tool", "install it so").unwrap_err().to_string();
        assert_eq!(error, "no-such-tool is missing: there is none on PATH; install it so");
    }

    /// The chosen Zig if the programs print these versions: in `PATH`, in the project, and as a module of the Python
    /// in `PATH`.
    async fn zig_of(on_path: &str, own: &str, module: &str) -> Result<String> {
        let [path, project] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let says = |version: &str| match version {
            "" => "exit 1".to_owned(),
            version => format!("echo {version}"),
        };
        put(path.path(), "zig", &says(on_path), 0o755);
        put(path.path(), "python3", &says(module), 0o755);
        let venv = project.path().join(".venv/bin");
        std::fs::create_dir_all(&venv).unwrap();
        put(&venv, "python", &says(own), 0o755);
        let search = Search::new(path.path().as_os_str(), Path::new("/nowhere"));
        let Toolchain::Zig { zig } = zig(&search, project.path()).await? else { panic!("no Zig") };
        let words = zig.iter().map(|word| Path::new(word).file_name().unwrap_or(word));
        Ok(words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" "))
    }

    #[tokio::test]
    async fn zig_is_taken_from_where_the_right_version_is() {
        let check = async |tools: [&str; 3], expect: &str| {
            let found = zig_of(tools[0], tools[1], tools[2]).await;
            let found = found.unwrap_or_else(|error| error.to_string());
            assert!(found.contains(expect), "{tools:?}: {found}");
        };
        check(["0.17.0", "0.17.0", "0.17.0"], "zig").await;
        check(["0.16.1", "0.17.2", "0.17.0"], "python -m ziglang").await;
        check(["", "", "0.17.0"], "python3 -m ziglang").await;
        check(["0.18.0", "", ""], "zig is 0.18.0); run: python3 -m venv").await;
        check(["0.17.0-dev.12+abc", "", ""], "there is no Zig 0.17 (").await;
        check(["0.170.0", "", ""], "there is no Zig 0.17 (").await;
        check(["", "", ""], "there is no Zig 0.17; run").await;
    }

    #[tokio::test]
    async fn tool_that_is_too_old_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "old", "echo go1.23.4", 0o755);
        put(folder.path(), "new", "echo go1.24", 0o755);
        put(folder.path(), "broken", "echo go1.30; exit 1", 0o755);
        let asked = async |name: &str| {
            let program = folder.path().join(name);
            let asked =
                at_least(&program, &["version"], folder.path(), (1, 24), "get a newer one").await;
            asked.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(asked("new").await, "");
        let old = asked("old").await;
        assert!(
            old.ends_with("is \"go1.23.4\", and 1.24 or newer is needed; get a newer one"),
            "{old}"
        );
        assert!(asked("broken").await.contains("is \"\""));
    }
}
