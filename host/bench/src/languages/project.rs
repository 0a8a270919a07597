//! A project as `informant plugin new` makes it, with the bench's plugin in it, built by the program alone.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, ensure};
use informant_e2e::paths;

use super::Language;

/// What projects and their plugins are called.
const NAME: &str = "hello";

/// What package managers have brought into a project, which the next one of its language gets. No part of it is measured.
const BROUGHT: [&str; 4] =
    [".venv", "node_modules", "sdk/js/node_modules", "sdk/assemblyscript/node_modules"];

/// What `informant plugin build` says to run where there is neither a C compiler nor Zig.
const BRING_ZIG: &str = "python3 -m venv .venv && .venv/bin/python -m pip install --quiet --disable-pip-version-check ziglang==0.17.0";

/// Of why there is nothing, what a page quotes.
const QUOTED_CHARS_MAX: usize = 300;

/// A project that was built.
pub(super) struct Project {
    language: Language,
    folder: PathBuf,
    file: PathBuf,
}

impl Project {
    /// Makes it anew and builds it. Where its tools are not there or cannot fetch what they need, the inner error says so.
    pub(super) fn build(
        language: Language,
        informant: &Path,
        directory: &Path,
    ) -> anyhow::Result<Result<Self, String>> {
        let folder = directory.join(language.key()).join(NAME);
        let file = folder.join("build").join(format!("{NAME}.wasm"));
        if language == Language::Wat {
            assemble(&file)?;
            return Ok(Ok(Self { language, folder, file }));
        }
        renew(&folder, language, informant)?;
        // What Rust compiles is kept between runs, away from the repository's own.
        let build = || {
            let mut command = Command::new(informant);
            command.args(["plugin", "build"]).current_dir(&folder);
            command.env("CARGO_TARGET_DIR", directory.join("cargo")).output()
        };
        let mut built = build().context("start the program")?;
        let takes_zig = [Language::C, Language::Zig].contains(&language);
        if takes_zig && !built.status.success() {
            let brought = shell(BRING_ZIG, &folder)?;
            if !brought.status.success() {
                let why = format!("{}, and pip brings no Zig: {}", why(&built), why(&brought));
                return Ok(Err(why));
            }
            built = build().context("start the program")?;
        }
        if !built.status.success() {
            return Ok(Err(why(&built)));
        }
        ensure!(file.exists(), "{} was not built", file.display());
        Ok(Ok(Self { language, folder, file }))
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// What the tools say that they are; those that say nothing are left out.
    pub(super) fn toolchain(&self) -> Vec<String> {
        let said = |tool: &&str| {
            let output = shell(tool, &self.folder).ok().filter(|it| it.status.success())?;
            let line = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned();
            (!line.is_empty()).then_some(line)
        };
        self.language.tools().iter().filter_map(said).collect()
    }
}

/// The shipped text plugin.
fn assemble(file: &Path) -> anyhow::Result<()> {
    let text = paths::root().join("plugins/hello-wat/hello-wat.wat");
    let plugin = wat::parse_file(&text).with_context(|| format!("assemble {}", text.display()))?;
    let folder = file.parent().context("the plugin is in no folder")?;
    fs::create_dir_all(folder).context("make a folder for the plugin")?;
    fs::write(file, plugin).with_context(|| format!("write {}", file.display()))
}

/// A new project in the place of the last run's, with what that one had fetched.
fn renew(folder: &Path, language: Language, informant: &Path) -> anyhow::Result<()> {
    let place = folder.parent().context("the project is nowhere")?;
    let kept = place.join("kept");
    fs::create_dir_all(&kept).context("make a folder for what was fetched")?;
    let in_kept = |number: usize| kept.join(number.to_string());
    for (number, brought) in BROUGHT.iter().enumerate() {
        carry(&folder.join(brought), &in_kept(number))?;
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).context("remove the project of the last run");
        }
        _ => {}
    }
    let new = ["plugin", "new", NAME, "--lang", language.key()];
    let made = Command::new(informant).args(new).current_dir(place).output();
    let made = made.context("start the program")?;
    ensure!(made.status.success(), "no project was made: {}", why(&made));
    for (number, brought) in BROUGHT.iter().enumerate() {
        carry(&in_kept(number), &folder.join(brought))?;
    }
    if let Some((place, text)) = language.source() {
        let place = folder.join(place);
        // Otherwise the template would be measured, beside a file that nobody reads.
        ensure!(place.exists(), "the template has no {}", place.display());
        fs::write(&place, text).with_context(|| format!("write {}", place.display()))?;
    }
    Ok(())
}

/// Renames a folder, if it is there and the other place is free.
fn carry(from: &Path, to: &Path) -> anyhow::Result<()> {
    if !from.exists() || to.exists() {
        return Ok(());
    }
    fs::rename(from, to).with_context(|| format!("rename {}", from.display()))
}

fn shell(command: &str, folder: &Path) -> anyhow::Result<Output> {
    let output = Command::new("/bin/sh").args(["-c", command]).current_dir(folder).output();
    output.context("start a shell")
}

/// The program's own error, or else the last line that says something.
fn why(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let last = lines.clone().next().unwrap_or("it said nothing");
    let said = lines.find_map(|line| line.strip_prefix("error: ")).unwrap_or(last);
    said.chars().take(QUOTED_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn the_programs_error_is_why_or_the_last_line() {
        let check = |stdout: &str, stderr: &str, expect: &str| {
            let status = std::process::ExitStatus::from_raw(1);
            let output = Output { status, stdout: stdout.into(), stderr: stderr.into() };
            assert_eq!(why(&output), expect);
        };
        check("compiling\n", "error: no clang\n\n", "no clang");
        check("", "error: it is not there\nmore of it\n", "it is not there");
        check("", "pip has no network\n", "pip has no network");
        check("", "\n", "it said nothing");
        check(&"x".repeat(301), "", &"x".repeat(300));
    }

    #[test]
    fn what_was_fetched_is_carried_on_and_nothing_in_its_way_is_lost() {
        let scratch = tempfile::tempdir().expect("a directory");
        let [from, to] = ["from", "to"].map(|name| scratch.path().join(name));
        carry(&from, &to).expect("there is nothing to carry");
        fs::create_dir(&from).expect("a folder");
        fs::write(from.join("old"), "").expect("a file");
        carry(&from, &to).expect("it can be renamed");
        assert!(to.join("old").exists() && !from.exists());
        fs::create_dir(&from).expect("a folder");
        carry(&from, &to).expect("it stays where it is");
        assert!(to.join("old").exists() && from.exists());
    }
}
