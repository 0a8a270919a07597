//! Follows the files that `informant dev` watches: a project's sources (`sources.rs`). A file event
//! only starts a scan, which compares the files with the scan before. Where there are no file
//! events, a scan runs every few seconds.

pub(super) mod own_writes;
pub(super) mod sources;

use self::sources::{Change, Sources};
use anyhow::{Context, Result};
use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::warn;

/// An editor's writes and renames of one save end within this time.
const QUIET: Duration = Duration::from_millis(50);
/// A save counts after this time, even if writes go on.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// Some file systems give no events.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// A project's sources, with their state at the last scan.
pub(crate) struct SourceWatch {
    folder: PathBuf,
    seen: Arc<Sources>,
    hints: mpsc::Receiver<()>,
    /// None where the system gives no events.
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    quiet: Quiet,
    /// The last error of a scan that was logged. The same error is logged once.
    complaint: Option<String>,
}

impl SourceWatch {
    /// Scans once. Blocks.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let seen = Sources::look(folder, &Sources::default());
        let seen = seen
            .with_context(|| format!("the sources in {} cannot be followed", folder.display()))?;
        // One hint is as good as many.
        let (hint, hints) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.as_ref().map_or(true, |event| says_something(&event.kind)) {
                let _ = hint.try_send(());
            }
        });
        let every = LOOK_EVERY.as_secs();
        let watcher = watcher.inspect_err(|error| {
            warn!("no file events, sources are looked at every {every} s: {error}")
        });
        let mut watch = Self {
            folder: folder.to_owned(),
            seen: Arc::new(seen),
            hints,
            watcher: watcher.ok(),
            watched: BTreeSet::new(),
            quiet: Quiet::default(),
            complaint: None,
        };
        watch.arm();
        Ok(watch)
    }

    /// Waits for a pause in the file events, up to [`WAIT_MAX`], then scans. Returns when sources have changed, with
    /// the changes. Dropping the future loses no file event.
    pub(crate) async fn changed(&mut self) -> Vec<Change> {
        loop {
            let due = self.quiet.due().unwrap_or_else(|| Instant::now() + LOOK_EVERY);
            tokio::select! {
                Some(()) = self.hints.recv() => {
                    self.quiet.hint(Instant::now());
                    continue;
                }
                () = tokio::time::sleep_until(due) => {}
            }
            let changes = self.look().await;
            if !changes.is_empty() {
                return changes;
            }
        }
    }

    /// Scans now. Returns the files that changed since the last scan, by paths in the project's
    /// folder.
    pub(crate) async fn look(&mut self) -> Vec<Change> {
        let (folder, before) = (self.folder.clone(), self.seen.clone());
        let looked = tokio::task::spawn_blocking(move || Sources::look(&folder, &before)).await;
        self.quiet = Quiet::default();
        match looked {
            Ok(Ok(now)) => {
                self.complaint = None;
                let mut changes = now.changes_since(&self.seen);
                self.seen = Arc::new(now);
                self.arm();
                for change in &mut changes {
                    if let Ok(path) = change.path.strip_prefix(&self.folder) {
                        change.path = path.to_owned();
                    }
                }
                changes
            }
            Ok(Err(error)) => self.complain(error.to_string()),
            Err(error) => self.complain(error.to_string()),
        }
    }

    /// Watches the folders that contain sources, and no others. The folders that tools write to are large and change
    /// often.
    fn arm(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for gone in self.watched.difference(&self.seen.folders) {
            // If the folder is gone, its watch is gone, too.
            let _ = watcher.unwatch(gone);
        }
        let armed = |folder: &&PathBuf| watcher.watch(folder, RecursiveMode::NonRecursive).is_ok();
        let new: Vec<PathBuf> =
            self.seen.folders.difference(&self.watched).filter(armed).cloned().collect();
        self.watched.retain(|folder| self.seen.folders.contains(folder));
        self.watched.extend(new);
    }

    /// Logs the error. Returns no changes.
    fn complain(&mut self, text: String) -> Vec<Change> {
        if self.complaint.as_ref() != Some(&text) {
            warn!("{} cannot be looked at: {text}", self.folder.display());
            self.complaint = Some(text);
        }
        Vec::new()
    }
}

/// Whether a file event can mean a change. Compilers read sources, which is not a change.
fn says_something(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

/// Decides when to scan after file events. Synchronous.
#[derive(Debug, Default)]
struct Quiet {
    first_and_last: Option<(Instant, Instant)>,
}

impl Quiet {
    fn hint(&mut self, now: Instant) {
        let first = self.first_and_last.map_or(now, |(first, _)| first);
        self.first_and_last = Some((first, now));
    }

    fn due(&self) -> Option<Instant> {
        self.first_and_last.map(|(first, last)| (last + QUIET).min(first + WAIT_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When the next scan is due after hints at these milliseconds.
    #[track_caller]
    fn check(hints: &[u64], expect: Option<u64>) {
        let begin = Instant::now();
        let mut quiet = Quiet::default();
        hints.iter().for_each(|at| quiet.hint(begin + Duration::from_millis(*at)));
        assert_eq!(quiet.due(), expect.map(|at| begin + Duration::from_millis(at)), "{hints:?}");
    }

    #[test]
    fn look_comes_when_it_has_been_quiet_but_not_too_late() {
        check(&[], None);
        check(&[0], Some(50));
        check(&[0, 40, 60], Some(110));
        check(&[0, 100, 200, 300, 400, 440], Some(490));
        check(&[0, 100, 200, 300, 400, 451], Some(500));
    }

    #[test]
    fn reading_is_no_change() {
        use notify::event::{CreateKind, ModifyKind};
        assert!(!says_something(&EventKind::Access(AccessKind::Open(AccessMode::Read))));
        assert!(!says_something(&EventKind::Access(AccessKind::Close(AccessMode::Read))));
        assert!(says_something(&EventKind::Access(AccessKind::Close(AccessMode::Write))));
        assert!(says_something(&EventKind::Create(CreateKind::File)));
        assert!(says_something(&EventKind::Modify(ModifyKind::Any)));
    }

    #[tokio::test]
    async fn save_is_seen_also_in_a_folder_that_is_new() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.go"), "one").unwrap();
        let mut watch = SourceWatch::new(folder.path()).unwrap();
        let other = |path: &str| [Change { path: path.into(), is_other: true }];
        std::fs::write(folder.path().join("a.go"), "three").unwrap();
        assert_eq!(watch.changed().await, other("a.go"));
        std::fs::create_dir_all(folder.path().join("build")).unwrap();
        std::fs::write(folder.path().join("build/b.go"), "").unwrap();
        std::fs::create_dir_all(folder.path().join("deep/er")).unwrap();
        std::fs::write(folder.path().join("deep/er/c.go"), "").unwrap();
        assert_eq!(watch.changed().await, other("deep/er/c.go"));
        std::fs::write(folder.path().join("deep/er/c.go"), "more").unwrap();
        assert_eq!(watch.changed().await, other("deep/er/c.go"));
        std::fs::write(folder.path().join("a.go"), "four").unwrap();
        assert_eq!(watch.look().await, other("a.go"), "nobody need wait for that");
        assert_eq!(watch.look().await, [], "once is enough");
    }
}
