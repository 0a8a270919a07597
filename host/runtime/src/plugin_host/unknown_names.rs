//! Names in the host's own configuration that no plugin file has. Most are misspelt.

use super::PluginHost;
use crate::contract::configuration::nearest;
use crate::directory::{LoggedProblems, Problem};
use crate::plugin_name::PluginName;
use std::path::Path;
use std::time::Instant;
use tracing::warn;

/// The problems that `GET /problems` shows.
pub(super) struct Problems {
    /// Problems of the files in the directories.
    pub(super) of_directories: Vec<Problem>,
    /// Configured names that no plugin has.
    of_names: Vec<Problem>,
    /// Whether a file exists that no scan has read yet: it may belong to a configured name.
    pub(super) is_file_awaited: bool,
    /// Plugins whose files are still to be built.
    awaited: Vec<PluginName>,
    logged: LoggedProblems,
}

impl Problems {
    pub(super) fn before_first_scan(awaited: Vec<PluginName>) -> Self {
        Self {
            of_directories: Vec::new(),
            of_names: Vec::new(),
            is_file_awaited: true,
            awaited,
            logged: LoggedProblems::new(Instant::now()),
        }
    }

    fn all(&self) -> Vec<Problem> {
        self.of_directories.iter().chain(&self.of_names).cloned().collect()
    }

    fn log(&mut self, all: &[Problem]) {
        for line in self.logged.lines(all, Instant::now()) {
            warn!("{line}");
        }
    }

    /// Whether a configured name has no plugin, and will get none.
    fn is_unknown(&self, name: &PluginName, plugins: &[&str]) -> bool {
        !plugins.contains(&name.as_str()) && !self.awaited.contains(name)
    }
}

impl PluginHost {
    /// Reports probable mistakes in the directories, and names in the host's own configuration without a plugin. While
    /// a file is unread, no new names are reported.
    pub(super) fn tell_problems(&mut self) {
        if !self.problems.is_file_awaited {
            let names: Vec<&str> = self.plugins.keys().map(PluginName::as_str).collect();
            let named = self.configuration.of_host.named();
            let unnamed = named.filter(|(name, _)| self.problems.is_unknown(name, &names));
            let problem = |(name, (file, line)): (&PluginName, (&str, u64))| {
                problem(name.as_str(), (file, line), &names)
            };
            self.problems.of_names = unnamed.map(problem).collect();
        }
        let all = self.problems.all();
        self.problems.log(&all);
        self.view.scanned(all);
    }

    /// Logs the problems that found no room in the log when they were new.
    pub(super) fn log_waiting_problems(&mut self) {
        if self.problems.logged.is_behind() {
            let all = self.problems.all();
            self.problems.log(&all);
        }
    }
}

fn problem(name: &str, (file, line): (&str, u64), names: &[&str]) -> Problem {
    let line = if line > 0 { format!("line {line}: ") } else { String::new() };
    let meant = match nearest(name, names) {
        Some(meant) => format!("did you mean {meant:?}?"),
        None => format!("what is said of it waits for a file {name}.wasm"),
    };
    let text = format!("{line}plugins.{name}: no plugin has this name; {meant}");
    Problem { files: 0, ..Problem::new(Path::new(file), text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_that_is_still_to_be_built_is_known() {
        let name = |name: &str| name.parse::<PluginName>().expect("a name");
        let problems = Problems::before_first_scan(vec![name("built-soon")]);
        let check = |text: &str, expect| {
            assert_eq!(problems.is_unknown(&name(text), &["counter"]), expect, "{text}");
        };
        check("counter", false);
        check("built-soon", false);
        check("couter", true);
    }

    #[test]
    fn a_name_that_no_plugin_has_comes_with_the_nearest() {
        let check = |name: &str, expect: &str| {
            let problem = problem(name, ("informant.yaml", 4), &["bandwidth", "counter"]);
            assert_eq!((problem.text.as_str(), problem.files), (expect, 0));
        };
        check(
            "bandwith",
            r#"line 4: plugins.bandwith: no plugin has this name; did you mean "bandwidth"?"#,
        );
        check(
            "zzz",
            "line 4: plugins.zzz: no plugin has this name; what is said of it waits for a file zzz.wasm",
        );
    }
}
