//! Separates saves of a person from the writes of a build's own tools, such as lock files and generated code.
//! Synchronous.
//!
//! A file that is written with the same content while a build runs is not a save, because tools write such files in
//! each build. So if a tool writes the same content for the same sources, its new content costs one more build.
//!
//! A file that gets different content ends the running build and starts another, because the change may be a save. But
//! a file that changes during each of many builds in a row is not a save: a person also saves between builds now and
//! then. Such a file belongs to its tool, until it changes while no build runs.

use super::sources::Change;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The number of builds in a row during which a tool's own file has changed. The change ended each of these builds.
const IN_A_ROW: u32 = 8;

#[derive(Debug, Default)]
pub(crate) struct ToolWrites {
    /// Files that changed during each of this number of the last builds.
    in_a_row: BTreeMap<PathBuf, u32>,
    /// Files that have changed during this build.
    during: BTreeSet<PathBuf>,
}

/// The meaning of changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Saves {
    /// Files that a person has saved.
    pub(crate) saved: Vec<PathBuf>,
    /// Files that are found to be a tool's own: each build writes them with different content.
    pub(crate) own: Vec<PathBuf>,
}

impl ToolWrites {
    /// A build begins.
    pub(crate) fn begin(&mut self) {
        let during = std::mem::take(&mut self.during);
        self.in_a_row.retain(|path, builds| *builds >= IN_A_ROW || during.contains(path));
        for path in during {
            *self.in_a_row.entry(path).or_default() += 1;
        }
    }

    /// These files have changed, with or without a running build.
    pub(crate) fn changed(&mut self, changes: Vec<Change>, is_building: bool) -> Saves {
        let mut saves = Saves::default();
        for Change { path, is_other } in changes {
            if !is_building {
                self.in_a_row.remove(&path);
                self.during.remove(&path);
                saves.saved.push(path);
            } else if is_other {
                let before = self.in_a_row.get(&path).copied().unwrap_or_default();
                let is_first = self.during.insert(path.clone());
                match before {
                    IN_A_ROW.. => {}
                    _ if is_first && before + 1 == IN_A_ROW => {
                        self.in_a_row.insert(path.clone(), IN_A_ROW);
                        saves.own.push(path);
                    }
                    _ => saves.saved.push(path),
                }
            }
        }
        saves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps in words: `build`, `end`, and changed files. `a` gets different content; `=a` is written with the
    /// same content.
    #[track_caller]
    fn check(happens: &str, expect: &str) {
        let (mut own, mut is_building, mut shown) = (ToolWrites::default(), false, Vec::new());
        for word in happens.split(' ') {
            match word {
                "build" | "end" => {
                    is_building = word == "build";
                    if is_building {
                        own.begin();
                    }
                }
                file => {
                    let (path, is_other) =
                        (file.trim_start_matches('=').into(), !file.starts_with('='));
                    let saves = own.changed(vec![Change { path, is_other }], is_building);
                    shown.extend(saves.saved.iter().map(|it| format!("save {}", it.display())));
                    shown.extend(saves.own.iter().map(|it| format!("own {}", it.display())));
                }
            }
        }
        assert_eq!(shown.join(", "), expect, "{happens}");
    }

    #[test]
    fn every_save_counts_while_nothing_is_built() {
        check("a =a b", "save a, save a, save b");
        check("build end a =a", "save a, save a");
    }

    #[test]
    fn what_is_written_as_it_was_while_it_is_built_is_no_save() {
        check("build =a =a a =b", "save a");
        check("build a end build =a end build =a", "save a");
    }

    /// Repeats `build a` this number of times, and then runs the steps `then`.
    #[track_caller]
    fn check_row(builds: usize, then: &str, saves: usize, expect: &str) {
        let happens = format!("{}{then}", "build a ".repeat(builds));
        let expect = format!("{}{expect}", "save a, ".repeat(saves));
        check(&happens, expect.trim_end_matches(", "));
    }

    #[test]
    fn what_differs_after_each_of_many_builds_is_its_tools_own() {
        check_row(7, "end", 7, "");
        check_row(8, "end", 7, "own a");
        check_row(8, "a a build a b build a a", 7, "own a, save b");
        check_row(7, "a a", 9, "");
        check_row(8, "end build end build a", 7, "own a");
    }

    #[test]
    fn a_file_that_is_saved_between_builds_is_somebodys() {
        check_row(7, "end build end build a build a", 9, "");
        check_row(7, "end a build a build a", 10, "");
        check_row(8, "end a build a", 7, "own a, save a, save a");
    }
}
