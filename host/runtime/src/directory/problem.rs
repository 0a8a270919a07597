//! Problems in the plugin directories: for readers the first ones, and in the log each once. A directory may have 65,536
//! entries, and every one of them may be a problem.

use crate::one_line::one_line;
use crate::plugin_name::PluginName;
use crate::token_bucket::TokenBucket;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Problems of a scan's files that are kept one by one. More are counted, and become one problem.
pub(super) const PROBLEMS_MAX: usize = 100;
/// The most bytes of a problem's text: the host's longest sentence, with two names of a file system.
const TEXT_BYTES_MAX: usize = 1 << 10;
/// The most bytes of a path in the log: the system's longest.
const PATH_BYTES_MAX: usize = 4 << 10;

/// Lines at once, and so many a second, about new problems: all of two scans, and then at most 51 KB a second.
const LINES_AT_ONCE: u32 = 2 * PROBLEMS_MAX as u32;
const LINES_PER_SECOND: u32 = 10;

/// A file or setting that is probably a mistake of the user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// The number of files that have the problem.
    pub(crate) files: usize,
    /// The plugin whose file or configuration cannot be read because of it.
    pub(crate) of: Option<PluginName>,
}

impl Problem {
    pub(crate) fn new(path: &Path, text: impl AsRef<str>) -> Self {
        // It may have the name of a file, or a link's target, which is any text.
        let text = one_line(text.as_ref(), TEXT_BYTES_MAX).into_owned();
        Self { path: path.to_owned(), text, files: 1, of: None }
    }

    /// The same, of this plugin.
    pub(super) fn of(self, name: &PluginName) -> Self {
        Self { of: Some(name.clone()), ..self }
    }

    pub(super) fn about(self, files: usize) -> Self {
        Self { files, ..self }
    }
}

/// As the log has it.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", one_line(&self.path.to_string_lossy(), PATH_BYTES_MAX), self.text)
    }
}

/// The problems of a scan.
#[derive(Debug, Default)]
pub(super) struct FoundProblems {
    /// Of whole directories: at most two of each.
    of_directories: Vec<Problem>,
    /// Of files, in the order of the scan.
    of_files: Vec<Problem>,
    /// Problems of files that were not kept.
    more: usize,
}

impl FoundProblems {
    pub(super) fn of_directory(&mut self, problem: Problem) {
        self.of_directories.push(problem);
    }

    /// Makes the problem of a file, if there is room for it. Otherwise counts it.
    pub(super) fn of_file(&mut self, problem: impl FnOnce() -> Problem) {
        match self.of_files.len() < PROBLEMS_MAX {
            true => self.of_files.push(problem()),
            false => self.more += 1,
        }
    }

    /// All problems in a fixed order, so that two scans can be compared. `first` is the first directory.
    pub(super) fn sorted(self, first: Option<&Path>) -> Vec<Problem> {
        let Self { of_directories: mut all, of_files, more } = self;
        all.extend(of_files);
        all.sort();
        if let Some(first) = first.filter(|_| more > 0) {
            let text = format!("and others have {more} problems more like these");
            all.push(Problem::new(first, text).about(more));
        }
        all
    }
}

/// The problems that the log has. A problem that is still there when the rate allows no line is logged later.
pub(crate) struct LoggedProblems {
    logged: BTreeSet<Problem>,
    rate: TokenBucket,
    /// Whether a present problem has found no room yet.
    is_behind: bool,
}

impl LoggedProblems {
    pub(crate) fn new(now: Instant) -> Self {
        let rate = TokenBucket::new(LINES_PER_SECOND.into(), LINES_AT_ONCE.into(), now);
        Self { logged: BTreeSet::new(), rate, is_behind: false }
    }

    /// Whether a present problem still waits for a line.
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// The lines to log now, of the present problems.
    pub(crate) fn lines(&mut self, present: &[Problem], now: Instant) -> Vec<String> {
        // A problem that comes back is a new one.
        self.logged.retain(|problem| present.contains(problem));
        let mut lines = Vec::new();
        self.is_behind = false;
        for problem in present {
            if self.logged.contains(problem) {
                continue;
            }
            if self.rate.take(now).is_err() {
                self.is_behind = true;
                break;
            }
            self.logged.insert(problem.clone());
            lines.push(problem.to_string());
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Looks at so many milliseconds, with the numbers of the present problems; expects the number of new lines.
    #[track_caller]
    fn check(looks: &[(u64, std::ops::Range<usize>, usize)]) {
        let start = Instant::now();
        let mut logged = LoggedProblems::new(start);
        for (number, (at, present, expect)) in looks.iter().enumerate() {
            let problem = |number| Problem::new(Path::new("/p"), format!("is {number}"));
            let present: Vec<Problem> = present.clone().map(problem).collect();
            let lines = logged.lines(&present, start + Duration::from_millis(*at));
            assert_eq!(lines.len(), *expect, "look {number}: {:?}", lines.first());
        }
    }

    #[test]
    fn the_log_has_each_problem_once() {
        check(&[(0, 0..100, 100), (1, 0..100, 0), (2, 0..101, 1), (3, 50..101, 0)]);
    }

    #[test]
    fn a_problem_that_comes_back_is_a_new_one() {
        check(&[(0, 0..2, 2), (1, 0..1, 0), (2, 0..2, 1)]);
    }

    #[test]
    fn new_problems_have_a_bounded_number_of_lines() {
        check(&[(0, 0..100, 100), (60, 100..200, 100), (120, 200..300, 1), (180, 300..400, 0)]);
    }

    #[test]
    fn a_problem_that_found_no_room_in_the_log_comes_later_if_it_is_still_there() {
        check(&[(0, 0..205, 200), (0, 0..205, 0), (450, 0..205, 4), (1_000, 0..205, 1)]);
    }

    #[track_caller]
    fn check_line(path: &str, text: &str, expect: &str) {
        assert_eq!(Problem::new(Path::new(path), text).to_string(), expect);
    }

    #[test]
    fn the_parts_of_a_line_are_cut_one_by_one() {
        check_line("/p/a\nb.wasm", "is\tno file", "/p/a\\nb.wasm is\\tno file");
        let most = "x".repeat(TEXT_BYTES_MAX);
        check_line("/p", &format!("{most}y"), &format!("/p {most} … (1 bytes more)"));
        let most = "x".repeat(PATH_BYTES_MAX);
        check_line(
            &format!("{most}y"),
            "is no file",
            &format!("{most} … (1 bytes more) is no file"),
        );
    }

    #[test]
    fn problems_of_directories_are_kept_whatever_their_files_have() {
        let (mut found, path) = (FoundProblems::default(), Path::new("/p"));
        let mut made = 0;
        for _ in 0..65_000 {
            found.of_file(|| {
                made += 1;
                Problem::new(path, "is no file")
            });
        }
        found.of_directory(Problem::new(path, "has more"));
        let problems = found.sorted(Some(path));
        let texts: Vec<&str> = problems.iter().map(|it| it.text.as_str()).collect();
        assert_eq!((made, texts.len(), texts[0]), (PROBLEMS_MAX, PROBLEMS_MAX + 2, "has more"));
        assert_eq!(texts[PROBLEMS_MAX + 1], "and others have 64900 problems more like these");
        assert_eq!(problems.iter().map(|it| it.files).sum::<usize>(), 65_001);
    }
}
