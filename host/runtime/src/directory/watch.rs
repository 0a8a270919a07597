//! File events of the plugin directories, as hints that something changed.
//!
//! Directories are watched, never files: a watch on a file goes silent when the file is replaced. The
//! parent is watched as well, because a directory that is removed and made again falls silent too.

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc;
use tracing::warn;

/// Something happened in a directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hint {
    /// It was the end of a change: a rename, or the close of a written file.
    pub(crate) complete: bool,
}

/// Hints that wait; when it is full the look that they ask for is due anyway.
const HINTS_MAX: usize = 64;

/// Watches directories for as long as it lives.
pub(crate) struct DirectoryWatch {
    watcher: Option<RecommendedWatcher>,
    /// A directory itself was removed or renamed, and its watch with it. Device and inode do not tell:
    /// a directory made right after may get the same ones.
    lost: Arc<AtomicBool>,
    directories: Vec<Watched>,
    pub(crate) hints: mpsc::Receiver<Hint>,
}

struct Watched {
    path: PathBuf,
    /// Device and inode that the watch is on.
    armed: Option<(u64, u64)>,
}

impl DirectoryWatch {
    /// Where the system has no file events left to give, the periodic look is all there is.
    pub(crate) fn new(directories: &[PathBuf]) -> Self {
        let (sender, hints) = mpsc::channel(HINTS_MAX);
        let ours: Vec<PathBuf> = directories.iter().flat_map(spellings).collect();
        let lost = Arc::new(AtomicBool::new(false));
        let noted = lost.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.as_ref().is_ok_and(|event| ends_watch(event, &ours)) {
                noted.store(true, Ordering::Release);
            }
            if let Some(hint) = hint(event, &ours) {
                // Full is as good as sent.
                let _ = sender.try_send(hint);
            }
        });
        let watcher = watcher
            .inspect_err(|error| {
                warn!(
                    "file events are not available, directories are looked at every 30 s: {error}"
                );
            })
            .ok();
        let watched = |path: &PathBuf| Watched { path: path.clone(), armed: None };
        let directories = directories.iter().map(watched).collect();
        let mut watch = Self { watcher, lost, directories, hints };
        watch.watch_parents();
        watch.arm();
        watch
    }

    fn watch_parents(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for directory in &self.directories {
            if let Some(parent) = parent(&directory.path) {
                // Without it a directory made anew is found by the periodic look.
                let _ = watcher.watch(&parent, RecursiveMode::NonRecursive);
            }
        }
    }

    /// Puts watches on directories that have none, or that were made anew. Call it at every look.
    pub(crate) fn arm(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let lost = self.lost.swap(false, Ordering::AcqRel);
        for directory in &mut self.directories {
            let found = std::fs::metadata(&directory.path).ok();
            let found = found.map(|metadata| (metadata.dev(), metadata.ino()));
            if found == directory.armed && !lost {
                continue;
            }
            let _ = watcher.unwatch(&directory.path);
            directory.armed = None;
            if found.is_some() {
                match watcher.watch(&directory.path, RecursiveMode::NonRecursive) {
                    Ok(()) => directory.armed = found,
                    Err(error) => warn!(
                        "{} gives no file events, it is looked at every 30 s: {error}",
                        directory.path.display()
                    ),
                }
            }
        }
    }
}

fn parent(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok()?.parent().map(Path::to_owned)
}

/// A directory as it was named and as an absolute path: events come with either.
fn spellings(directory: &PathBuf) -> Vec<PathBuf> {
    let absolute = std::path::absolute(directory);
    [Ok(directory.clone()), absolute].into_iter().flatten().collect()
}

/// Whether a directory itself went.
fn ends_watch(event: &notify::Event, directories: &[PathBuf]) -> bool {
    let goes = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
    goes && event.paths.iter().any(|path| directories.contains(path))
}

fn hint(event: notify::Result<notify::Event>, directories: &[PathBuf]) -> Option<Hint> {
    let Ok(event) = event else { return Some(Hint { complete: false }) };
    let concerns = |path: &PathBuf| directories.iter().any(|directory| path.starts_with(directory));
    if !event.need_rescan() && !event.paths.is_empty() && !event.paths.iter().any(concerns) {
        return None;
    }
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Modify(ModifyKind::Name(_))
        | EventKind::Remove(_) => Some(Hint { complete: true }),
        EventKind::Access(_) => None,
        _ => Some(Hint { complete: false }),
    }
}
