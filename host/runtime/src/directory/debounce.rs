//! The time of the next scan after file events, and the files that were finished by then. Synchronous.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The wait after a rename or the close of a written file: the file is most likely complete.
const QUIET_FINISHED: Duration = Duration::from_millis(50);
/// The wait after any other event: a write may be under way.
const QUIET_WRITING: Duration = Duration::from_millis(250);
/// The longest wait, however many events come.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// The most files with their own hints until the next scan. With more, no file is known to be finished, and each has
/// to rest first.
const FILES_MAX: usize = 1_024;

/// A hint about a change in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hint {
    /// The end of a change of this file: a rename, a removal, or the close of a written file.
    Finished(PathBuf),
    /// The end of a change of all files at once, for example the swap of a mounted ConfigMap.
    AllFinished,
    /// A write of the file has begun or goes on.
    Writing(PathBuf),
    /// An event that shows no change of content: other rights, another time.
    Touched,
    /// An unknown change: events were lost.
    Unknown,
}

/// Collects hints until no more hints come for long enough.
#[derive(Debug, Default)]
pub(crate) struct Debounce {
    due: Option<Due>,
    finished: Finished,
}

#[derive(Debug, Clone, Copy)]
struct Due {
    since: Instant,
    quiet_until: Instant,
}

/// The files that were finished when the scan began.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    all: bool,
    files: HashMap<PathBuf, bool>,
}

impl Debounce {
    /// Notes a hint.
    pub(crate) fn hint(&mut self, hint: Hint, now: Instant) {
        let before = self.due.map(|due| due.quiet_until);
        let quiet_until = match hint {
            Hint::Finished(_) | Hint::AllFinished => now + QUIET_FINISHED,
            Hint::Writing(_) | Hint::Unknown => now + QUIET_WRITING,
            Hint::Touched => before.max(Some(now + QUIET_FINISHED)).unwrap_or(now),
        };
        self.due = Some(Due { since: self.due.map_or(now, |due| due.since), quiet_until });
        self.finished.note(hint);
    }

    /// When to scan; `None` without a hint.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due.map(|due| due.quiet_until.min(due.since + WAIT_MAX))
    }

    /// A scan begins. Returns the finished files.
    pub(crate) fn take(&mut self) -> Finished {
        self.due = None;
        std::mem::take(&mut self.finished)
    }
}

impl Finished {
    /// Whether no writer was writing this file any more, according to the events.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.files.get(path).copied().unwrap_or(self.all)
    }

    fn note(&mut self, hint: Hint) {
        let (path, finished) = match hint {
            Hint::Finished(path) => (path, true),
            Hint::Writing(path) => (path, false),
            Hint::Touched => return,
            Hint::AllFinished => {
                self.files.clear();
                self.all = true;
                return;
            }
            Hint::Unknown => return *self = Self::default(),
        };
        if self.files.len() >= FILES_MAX && !self.files.contains_key(&path) {
            return *self = Self::default();
        }
        self.files.insert(path, finished);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(name: &str) -> Hint {
        Hint::Finished(name.into())
    }

    fn writing(name: &str) -> Hint {
        Hint::Writing(name.into())
    }

    /// Hints with their time in ms, then the time of the scan, and which of the files a and b are finished.
    #[track_caller]
    fn check(hints: impl IntoIterator<Item = (u64, Hint)>, due: Option<u64>, done: &[&str]) {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        for (ms, hint) in hints {
            debounce.hint(hint, start + Duration::from_millis(ms));
        }
        let due_ms = debounce.due().map(|due| (due - start).as_millis() as u64);
        assert_eq!(due_ms, due);
        let taken = debounce.take();
        let names = ["a", "b"].into_iter().filter(|name| taken.contains(Path::new(name)));
        assert_eq!(names.collect::<Vec<_>>(), done);
        assert_eq!(debounce.due(), None, "a look takes everything");
    }

    #[test]
    fn it_waits_for_quiet_but_not_for_ever() {
        check([], None, &[]);
        check([(0, finished("a"))], Some(50), &["a"]);
        check([(0, writing("a"))], Some(250), &[]);
        check([(0, finished("a")), (10, writing("b"))], Some(260), &["a"]);
        check((0..30).map(|n| (n * 100, writing("a"))), Some(2_000), &[]);
    }

    #[test]
    fn what_happened_last_to_a_file_counts() {
        check([(0, writing("a")), (100, writing("a")), (200, finished("a"))], Some(250), &["a"]);
        check([(0, finished("a")), (10, writing("a"))], Some(260), &[]);
        check([(0, Hint::AllFinished)], Some(50), &["a", "b"]);
        check([(0, Hint::AllFinished), (10, writing("b"))], Some(260), &["a"]);
        check([(0, writing("b")), (10, Hint::AllFinished)], Some(60), &["a", "b"]);
    }

    #[test]
    fn other_rights_or_times_do_not_begin_a_write() {
        check([(0, finished("a")), (10, Hint::Touched)], Some(60), &["a"]);
        check([(0, writing("a")), (10, Hint::Touched)], Some(250), &[]);
        check([(0, Hint::Touched)], Some(50), &[]);
    }

    #[test]
    fn lost_events_leave_nothing_finished() {
        check([(0, finished("a")), (10, Hint::Unknown)], Some(260), &[]);
        let many = (0..=FILES_MAX).map(|n| (0, finished(&format!("{n}"))));
        check(many.chain([(0, finished("b"))]), Some(50), &["b"]);
    }
}
