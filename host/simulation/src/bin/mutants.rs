//! Puts each deliberate mistake of `mutations/` into a copy of the sources, and builds the simulation from the copy.
//! Finds the seeds that notice the mistake. Fails if no seed notices one of the mistakes.

use clap::Parser;
use informant_simulation::Mutation;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::time::{Duration, Instant};

/// A mistake can also keep a run from ending. It counts as noticed if the run takes this many times as long as with
/// the correct core.
const TIMES_AS_LONG: u32 = 10;
/// The largest time of the correct core. A longer run is an error.
const SOUND_MAX: Duration = Duration::from_secs(1200);

/// The exit code of `timeout` when it had to end a run.
const TIMED_OUT: i32 = 124;

/// Shows that deliberate mistakes in the core are noticed.
#[derive(Parser)]
struct Arguments {
    /// Seeds that a mistake has to be noticed in.
    #[arg(long, default_value_t = 200)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only mutations whose names contain this.
    #[arg(long, default_value = "")]
    only: String,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("mutants: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    let mutations = Mutation::read_all(&root.join("host/simulation/mutations"))?;
    let place =
        Place { tree: root.join("target/mutants/tree"), build: root.join("target/mutants/build") };
    copy(&root, &place.tree).map_err(|error| format!("sources cannot be copied: {error}"))?;
    let sound = place.simulate(arguments, SOUND_MAX)?;
    if let Some(noticed) = sound.noticed {
        return Err(format!("without any mistake the simulation fails: {noticed}"));
    }
    let time = sound.took * TIMES_AS_LONG;
    say(&format!("{:<36} noticed", "mistake"));
    let mut all_noticed = true;
    for mutation in mutations.iter().filter(|one| one.name.contains(&arguments.only)) {
        let path = place.tree.join(&mutation.file);
        let source = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let mutated = mutation.apply(&source)?;
        std::fs::write(&path, mutated).map_err(|error| error.to_string())?;
        let noticed = place.simulate(arguments, time)?.noticed;
        std::fs::write(&path, source).map_err(|error| error.to_string())?;
        all_noticed &= noticed.is_some();
        let noticed = noticed.unwrap_or_else(|| "NOT AT ALL".to_owned());
        say(&format!("{:<36} {noticed}", mutation.name));
    }
    Ok(all_noticed)
}

/// The result of a run.
struct Run {
    took: Duration,
    /// The check that noticed the mistake. `None` if none did.
    noticed: Option<String>,
}

/// The paths of the copy and of its build.
struct Place {
    tree: PathBuf,
    build: PathBuf,
}

impl Place {
    fn simulate(&self, arguments: &Arguments, time: Duration) -> Result<Run, String> {
        let build = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "-p",
                "informant-simulation",
                "--bin",
                "informant-simulation",
            ])
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.build)
            .output()
            .map_err(|error| format!("cargo cannot be run: {error}"))?;
        if !build.status.success() {
            return Err(format!("it does not build:\n{}", String::from_utf8_lossy(&build.stderr)));
        }
        let seconds = (time.as_secs() + 1).to_string();
        let began = Instant::now();
        let output = Command::new("timeout")
            .arg(seconds)
            .arg(self.build.join("debug/informant-simulation"))
            .args(["--any-mix", "--seed", &arguments.seed.to_string()])
            .args(["--seeds", &arguments.seeds.to_string()])
            .output()
            .map_err(|error| format!("the simulation cannot be run: {error}"))?;
        Ok(Run { took: began.elapsed(), noticed: noticed(&output) })
    }
}

fn noticed(output: &Output) -> Option<String> {
    if output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("seed ") && line.contains(" broke an "));
    Some(match line {
        Some(line) => line.replace(" broke an invariant", ""),
        None if output.status.code() == Some(TIMED_OUT) => "the run did not end".to_owned(),
        None => format!("the run ended with {}", output.status),
    })
}

/// Copies the present sources. Unchanged files keep their time, so that they are not built again.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name.to_string_lossy().starts_with('.') {
            continue;
        }
        let (source, copied) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            copy(&source, &copied)?;
        } else if std::fs::read(&copied).ok() != std::fs::read(&source).ok() {
            std::fs::copy(&source, &copied)?;
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the program's output")]
fn say(text: &str) {
    println!("{text}");
}
