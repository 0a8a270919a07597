//! A project as `informant plugin new` makes it, built and loaded by the program alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::Language;

/// What projects and their plugins are called.
const NAME: &str = "hello";

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
        let place = directory.join(language.key());
        let folder = place.join(NAME);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).context("remove the project of the last run")?;
        }
        std::fs::create_dir_all(&place).context("make a directory for the project")?;
        let program = |arguments: &[&str], from: &Path| {
            let mut command = Command::new(informant);
            // What Rust compiles is kept between runs, away from the repository's own.
            command.args(arguments).current_dir(from);
            command.env("CARGO_TARGET_DIR", directory.join("cargo")).output()
        };
        let new = ["plugin", "new", NAME, "--lang", language.key()];
        let made = program(&new, &place).context("start the program")?;
        ensure!(made.status.success(), "{}", last_words(&made));
        let built = program(&["plugin", "build"], &folder).context("start the program")?;
        if !built.status.success() {
            return Ok(Err(last_words(&built)));
        }
        let file = folder.join("build").join(format!("{NAME}.wasm"));
        ensure!(file.exists(), "{} was not built", file.display());
        Ok(Ok(Self { language, folder, file }))
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    pub(super) fn bytes(&self) -> anyhow::Result<f64> {
        Ok(self.file.metadata().context("look at the plugin's file")?.len() as f64)
    }

    /// What the tools say that they are; those that say nothing are left out.
    pub(super) fn toolchain(&self) -> Vec<String> {
        let said = |tool: &&str| {
            let shell =
                Command::new("/bin/sh").args(["-c", tool]).current_dir(&self.folder).output();
            let output = shell.ok().filter(|output| output.status.success())?;
            let line = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned();
            (!line.is_empty()).then_some(line)
        };
        self.language.tools().iter().filter_map(said).collect()
    }

    /// How long the program takes from its start to its end to check the file, compile it or take its code from the cache, and describe it.
    pub(super) fn load(&self, informant: &Path, code: &Path) -> anyhow::Result<Duration> {
        let mut command = Command::new(informant);
        command.args(["plugin", "check"]).arg(&self.file).arg("--code-cache").arg(code);
        let begin = Instant::now();
        let checked = command.output().context("start the program")?;
        let took = begin.elapsed();
        ensure!(checked.status.success(), "{}", last_words(&checked));
        Ok(took)
    }
}

/// The last line that says something.
fn last_words(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or("it said nothing").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn the_last_line_that_says_something_is_why() {
        let output = |stdout: &str, stderr: &str| Output {
            status: std::process::ExitStatus::from_raw(1),
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        assert_eq!(last_words(&output("compiling\n", "error: no clang\n\n")), "error: no clang");
        assert_eq!(last_words(&output("", "\n")), "it said nothing");
    }
}
