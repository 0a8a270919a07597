//! Follows the host's own configuration file. It reads the file again and again, because that works with every editor,
//! deployment and file system. A new content counts once it has been the same for a while, so that half of a file
//! never counts. A content that cannot be used changes nothing: the last good content stays in force, and the reason
//! is reported. The same holds for a file that changes all the time.

use super::parse;
use informant_runtime::configuration::Configurations;
use informant_runtime::read_configuration;
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// So many reads of a file of at most a few kilobytes take less than a thousandth of a processor's time.
const LOOK: Duration = Duration::from_millis(250);
/// The same time as for the files beside plugins.
const REST: Duration = Duration::from_secs(1);
/// A file that has no content for [`REST`] for so long is reported. The same time as for the files beside plugins.
const CHANGES_MAX: Duration = Duration::from_secs(5);

/// The state of the file, for pages and metrics.
#[derive(Debug, Default)]
pub(crate) struct ConfigurationStatus {
    /// Why the last content that counted is not in force.
    problem: Mutex<Option<(PathBuf, String)>>,
    /// The file, if it changes too often for a content to count.
    changing: Mutex<Option<PathBuf>>,
    /// The number of new contents that took effect.
    pub(crate) taken: AtomicU64,
    /// The number of new contents that could not be used.
    pub(crate) refused: AtomicU64,
}

impl ConfigurationStatus {
    /// Why the file's present content is not in force.
    pub(crate) fn problem(&self) -> Option<(PathBuf, String)> {
        let changing = || self.changing.lock().clone().map(|path| (path, CHANGING.to_owned()));
        changing().or_else(|| self.problem.lock().clone())
    }
}

const CHANGING: &str = "for five seconds it has changed within each second; the content before stays in force; write the file less often";

/// Follows one file.
pub(crate) struct Follower {
    path: PathBuf,
    looks: Looks,
    say: watch::Sender<Arc<Configurations>>,
    status: Arc<ConfigurationStatus>,
}

/// The content of the file, or why the file could not be read.
type FileContent = Result<Vec<u8>, String>;

/// Decides which content of the file counts. Synchronous; time is a parameter.
struct Looks {
    /// The content that counted last.
    counted: FileContent,
    /// A different content, and the time since when the file has had it.
    resting: Option<(FileContent, Instant)>,
    /// The time since when the file has had other contents than the one that counted.
    differs_since: Option<Instant>,
}

/// The result of a look at the file.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    /// The content that counts is in the file, or another one for a short time.
    Nothing,
    /// The file's contents change too often for one of them to count.
    Changes,
    /// This new content counts from now on.
    Counts(FileContent),
}

impl Looks {
    fn new(text: Vec<u8>) -> Self {
        Self { counted: Ok(text), resting: None, differs_since: None }
    }

    /// Takes the result of a read.
    fn look(&mut self, found: FileContent, now: Instant) -> Look {
        if found == self.counted {
            (self.resting, self.differs_since) = (None, None);
            return Look::Nothing;
        }
        let differs_since = *self.differs_since.get_or_insert(now);
        let since = match self.resting.take() {
            Some((before, since)) if before == found => since,
            _ => now,
        };
        if now.duration_since(since) < REST {
            self.resting = Some((found, since));
            let is_reported = now.duration_since(differs_since) >= CHANGES_MAX;
            return if is_reported { Look::Changes } else { Look::Nothing };
        }
        (self.counted, self.differs_since) = (found.clone(), None);
        Look::Counts(found)
    }
}

impl Follower {
    pub(super) fn new(
        path: &Path,
        text: Vec<u8>,
        say: watch::Sender<Arc<Configurations>>,
        status: Arc<ConfigurationStatus>,
    ) -> Self {
        Self { path: path.to_owned(), looks: Looks::new(text), say, status }
    }

    /// Follows the file until `shutdown`.
    pub(crate) async fn run(mut self, shutdown: CancellationToken) {
        warn_of(&self.say.borrow());
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            let path = self.path.clone();
            // A file system that does not answer blocks no other task, nor the end of the host.
            let read = tokio::task::spawn_blocking(move || read(&path));
            let found = tokio::select! {
                () = shutdown.cancelled() => return,
                found = read => found.unwrap_or_else(|error| Err(error.to_string())),
            };
            let look = self.looks.look(found, Instant::now());
            self.report_changes(look == Look::Changes);
            if let Look::Counts(found) = look {
                let path = self.path.clone();
                let parsed = tokio::task::spawn_blocking(move || parsed(&path, found)).await;
                self.take(parsed.unwrap_or_else(|error| Err(error.to_string())));
            }
        }
    }

    /// Reports a file that changes too often, and its end.
    fn report_changes(&self, is_changing: bool) {
        let mut changing = self.status.changing.lock();
        if is_changing && changing.is_none() {
            error!("{}: {CHANGING}", self.path.display());
        }
        *changing = is_changing.then(|| self.path.clone());
    }

    /// Puts the file's content in force, or reports why it cannot be used.
    fn take(&self, parsed: Result<Configurations, String>) {
        match parsed {
            Ok(configurations) => {
                let file = self.path.display();
                info!("{file} says something else, which is in force from here on");
                warn_of(&configurations);
                self.status.taken.fetch_add(1, Relaxed);
                *self.status.problem.lock() = None;
                let configurations = match self.say.borrow().grants_requests() {
                    true => configurations.granting_requests(),
                    false => configurations,
                };
                self.say.send_replace(Arc::new(configurations));
            }
            Err(problem) => {
                let file = self.path.display();
                error!(
                    "what the host's own configuration said before stays in force: {file} {problem}"
                );
                self.status.refused.fetch_add(1, Relaxed);
                let text = format!("{problem}; what it said before stays in force");
                *self.status.problem.lock() = Some((self.path.clone(), text));
            }
        }
    }
}

/// The configurations in the file, or the problem without the file's name. A large file takes tens of milliseconds.
fn parsed(path: &Path, found: FileContent) -> Result<Configurations, String> {
    let text = found.map_err(|error| format!("cannot be read: {error}"))?;
    parse(&path.display().to_string(), &text).map_err(|error| error.without_file())
}

fn read(path: &Path) -> FileContent {
    read_configuration(path).map_err(|error| error.to_string())
}

fn warn_of(configurations: &Configurations) {
    for warning in configurations.warnings() {
        warn!("{warning}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contents that count, at tenths of a second. With `3:a` a read at 3 finds `a`; with `3:!x` it fails.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let start = Instant::now();
        let mut looks = Looks::new(b"a".to_vec());
        let mut counted = Vec::new();
        for step in steps.split(' ') {
            let (at, what) = step.split_once(':').expect("a time and what is found");
            let found = match what.strip_prefix('!') {
                Some(problem) => Err(problem.to_owned()),
                None => Ok(what.as_bytes().to_vec()),
            };
            let now = start + Duration::from_millis(100) * at.parse().expect("a number");
            match looks.look(found, now) {
                Look::Counts(_) => counted.push(step.to_owned()),
                Look::Changes => counted.push(format!("changes at {at}")),
                Look::Nothing => {}
            }
        }
        assert_eq!(counted.join(" "), expect, "{steps}");
    }

    #[test]
    fn what_is_new_counts_once_it_has_rested() {
        check("1:a 20:a", "");
        check("1:b 10:b 11:b 12:b", "11:b");
        check("1:b 10:c 12:c 20:c", "20:c");
        check("1:b 5:a 12:b 20:b 22:b", "22:b");
        check("1:b 11:b 12:a 22:a", "11:b 22:a");
    }

    #[test]
    fn a_file_that_changes_all_the_time_is_reported() {
        check(
            "1:b 9:c 18:d 27:e 36:f 45:g 50:h 51:i 60:i 61:i",
            "changes at 51 changes at 60 61:i",
        );
        check("1:b 9:c 18:d 27:e 36:a 45:g 51:h 60:i", "");
    }

    #[test]
    fn the_report_ends_with_the_changes_and_a_refused_content_stays_reported() {
        let (follower, _said) = follower("");
        let problem = || follower.status.problem().map(|(_, text)| text).unwrap_or_default();
        follower.take_content(Err("no such file".to_owned()));
        follower.report_changes(true);
        assert_eq!(problem(), CHANGING);
        follower.report_changes(false);
        assert!(problem().starts_with("cannot be read"), "{}", problem());
    }

    #[test]
    fn a_file_that_is_away_for_a_moment_is_only_being_replaced() {
        check("1:!gone 5:a 30:a", "");
        check("1:!gone 5:b 15:b", "15:b");
        check("1:!gone 11:!gone 12:a 22:a", "11:!gone 22:a");
    }

    impl Follower {
        fn take_content(&self, found: FileContent) {
            self.take(parsed(&self.path, found));
        }
    }

    /// A follower of a file with this text, and the receiver of its configurations.
    fn follower(text: &str) -> (Follower, watch::Receiver<Arc<Configurations>>) {
        let (say, said) = watch::channel(Arc::default());
        let status = Arc::default();
        (Follower::new(Path::new("informant.yaml"), text.as_bytes().to_vec(), say, status), said)
    }

    #[test]
    fn what_cannot_be_used_changes_nothing_and_says_why() {
        let (follower, mut said) = follower("");
        let head = "apiVersion: informant.dev/v1alpha1\nkind: HostConfiguration\n";
        let problem = || follower.status.problem().map(|(_, text)| text).unwrap_or_default();
        follower
            .take_content(Ok(format!("{head}defaults: {{limits: {{memroy: 1Mi}}}}").into_bytes()));
        let expect = "line 3: defaults.limits: unknown key \"memroy\"; did you mean \"memory\"?; what it said before stays in force";
        assert_eq!(problem(), expect);
        assert!(!said.has_changed().expect("the follower is there"));
        follower.take_content(Err("no such file".to_owned()));
        assert!(problem().starts_with("cannot be read: no such file;"));
        follower
            .take_content(Ok(format!("{head}defaults: {{limits: {{memory: 1Mi}}}}").into_bytes()));
        assert_eq!(problem(), "");
        assert!(said.has_changed().expect("the follower is there"));
        let counts = [&follower.status.taken, &follower.status.refused].map(|it| it.load(Relaxed));
        assert_eq!(counts, [1, 2]);
        said.mark_unchanged();
    }

    /// No entry in the file's place holds a read up, so that what is taken away later is taken away.
    #[test]
    fn a_large_file_or_a_pipe_in_its_place_is_a_failed_reload_and_the_next_file_counts() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let path = root.path().join("informant.yaml");
        let (follower, said) = follower("");
        let problem = || follower.status.problem().map(|(_, text)| text).unwrap_or_default();
        let holes = std::fs::File::create(&path).expect("a file");
        holes.set_len(600 << 20).expect("a file of holes");
        follower.take_content(read(&path));
        assert!(problem().contains("cannot be read: it has 629145600 bytes"), "{}", problem());
        std::fs::remove_file(&path).expect("it is there");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)
            .expect("a pipe");
        follower.take_content(read(&path));
        assert!(problem().contains("cannot be read: it is a pipe and no file"), "{}", problem());
        std::fs::remove_file(&path).expect("it is there");
        let text = "apiVersion: informant.dev/v1alpha1\nkind: HostConfiguration\n";
        std::fs::write(&path, text).expect("a file");
        follower.take_content(read(&path));
        assert_eq!(problem(), "");
        assert!(said.has_changed().expect("the follower is there"));
        let counts = [&follower.status.taken, &follower.status.refused].map(|it| it.load(Relaxed));
        assert_eq!(counts, [1, 2]);
    }
}
