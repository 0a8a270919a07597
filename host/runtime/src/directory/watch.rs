//! File events of the plugin directories, as hints that something changed.
//!
//! Directories are watched, never files: a watch on a file goes silent when the file is replaced. The
//! parent is watched as well, because a directory that is removed and made again falls silent too.

use super::debounce::Hint;
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc;
use tracing::warn;

/// Watches directories for as long as it lives.
pub(crate) struct DirectoryWatch {
    watcher: Option<RecommendedWatcher>,
    /// A directory itself was removed or renamed, and its watch with it. Device and inode do not show that: a
    /// directory that is made right after may get the same ones.
    lost: Arc<AtomicBool>,
    directories: Vec<Watched>,
    parents: Vec<Watched>,
}

struct Watched {
    path: PathBuf,
    /// Device and inode that the watch is on.
    armed: Option<(u64, u64)>,
    /// Whether the log has reported that the directory cannot be watched.
    complained: bool,
}

impl DirectoryWatch {
    /// Without file events of the system, only the periodic scans remain. Blocks on the file system.
    pub(crate) fn new(directories: &[PathBuf], hints: mpsc::Sender<Hint>) -> Self {
        let ours: Vec<PathBuf> = directories.iter().flat_map(spellings).collect();
        let lost = Arc::new(AtomicBool::new(false));
        let noted = lost.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let told = match event {
                Ok(event) if ends_watch(&event, &ours) => {
                    noted.store(true, Ordering::Release);
                    self::hints(&event, &ours)
                }
                Ok(event) => self::hints(&event, &ours),
                Err(_) => vec![Hint::Unknown],
            };
            for hint in told {
                // A full channel means that a scan is due anyway. Files that are not known to be finished then rest
                // first.
                let _ = hints.try_send(hint);
            }
        });
        let watcher = watcher
            .inspect_err(|error| {
                warn!(
                    "file events are not available, directories are looked at every 30 s: {error}"
                );
            })
            .ok();
        let watched = |path: PathBuf| Watched { path, armed: None, complained: false };
        let parents = directories.iter().filter_map(|path| parent(path)).map(watched).collect();
        let directories = directories.iter().cloned().map(watched).collect();
        Self { watcher, lost, directories, parents }
    }

    /// Watches directories that have no watch, or that were made again. Call this before every scan. Blocks on the
    /// file system.
    pub(crate) fn arm(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let lost = self.lost.swap(false, Ordering::AcqRel);
        // The parents come first, so that a directory that is made later sends an event. An unwatchable parent is not
        // reported: the periodic scan finds its child.
        for parent in &mut self.parents {
            let _ = parent.arm(watcher, false);
        }
        for directory in &mut self.directories {
            match directory.arm(watcher, lost) {
                Ok(()) => directory.complained = false,
                Err(error) if !directory.complained => {
                    let path = directory.path.display();
                    warn!("{path} gives no file events, it is looked at every 30 s: {error}");
                    directory.complained = true;
                }
                Err(_) => {}
            }
        }
    }
}

impl Watched {
    fn arm(&mut self, watcher: &mut RecommendedWatcher, anew: bool) -> notify::Result<()> {
        let found = std::fs::metadata(&self.path).ok();
        let found = found.map(|metadata| (metadata.dev(), metadata.ino()));
        if found == self.armed && !anew {
            return Ok(());
        }
        // There may be no watch to remove.
        let _ = watcher.unwatch(&self.path);
        self.armed = None;
        if found.is_some() {
            watcher.watch(&self.path, RecursiveMode::NonRecursive)?;
            self.armed = found;
        }
        Ok(())
    }
}

fn parent(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok()?.parent().map(Path::to_owned)
}

/// A directory as it was named and as an absolute path: events may have either.
fn spellings(directory: &PathBuf) -> Vec<PathBuf> {
    let absolute = std::path::absolute(directory);
    [Ok(directory.clone()), absolute].into_iter().flatten().collect()
}

/// Whether a directory itself was removed or renamed.
fn ends_watch(event: &notify::Event, directories: &[PathBuf]) -> bool {
    let goes = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
    goes && event.paths.iter().any(|path| directories.contains(path))
}

/// The hints of an event about the watched directories and their files.
fn hints(event: &notify::Event, directories: &[PathBuf]) -> Vec<Hint> {
    if event.need_rescan() || event.paths.is_empty() {
        return vec![Hint::Unknown];
    }
    let ours = |path: &&PathBuf| directories.iter().any(|directory| path.starts_with(directory));
    event.paths.iter().filter(ours).filter_map(|path| hint(event.kind, path, directories)).collect()
}

fn hint(kind: EventKind, path: &Path, directories: &[PathBuf]) -> Option<Hint> {
    let file = || path.to_owned();
    let everything = directories.iter().any(|directory| directory == path) || swaps_all(path);
    match kind {
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => {
            Some(Hint::Finished(file()))
        }
        EventKind::Modify(ModifyKind::Name(_)) if everything => Some(Hint::AllFinished),
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Modify(ModifyKind::Name(_)) => Some(Hint::Finished(file())),
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Metadata(_)) => Some(Hint::Touched),
        _ => Some(Hint::Writing(file())),
    }
}

/// The kubelet swaps a volume's files all at once, by renaming `..data`.
fn swaps_all(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::Event;
    use notify::event::{CreateKind, DataChange, Flag, MetadataKind, RemoveKind};

    #[track_caller]
    fn check(kind: EventKind, paths: &[&str], expect: &[Hint]) {
        let event =
            Event { kind, paths: paths.iter().map(Into::into).collect(), ..Event::default() };
        assert_eq!(hints(&event, &["/p".into()]), expect, "{kind:?} {paths:?}");
    }

    fn renamed(mode: RenameMode) -> EventKind {
        EventKind::Modify(ModifyKind::Name(mode))
    }

    fn finished(path: &str) -> Hint {
        Hint::Finished(path.into())
    }

    #[test]
    fn a_write_is_finished_when_its_file_is_closed() {
        let file = "/p/a.wasm";
        let write = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let close = EventKind::Access(AccessKind::Close(AccessMode::Write));
        check(EventKind::Create(CreateKind::File), &[file], &[Hint::Writing(file.into())]);
        check(write, &[file], &[Hint::Writing(file.into())]);
        check(close, &[file], &[finished(file)]);
        check(EventKind::Access(AccessKind::Close(AccessMode::Read)), &[file], &[]);
        check(
            EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)),
            &[file],
            &[Hint::Touched],
        );
    }

    #[test]
    fn a_rename_finishes_what_it_names() {
        let (from, to) = ("/p/.a.tmp", "/p/a.wasm");
        check(renamed(RenameMode::Both), &[from, to], &[finished(from), finished(to)]);
        check(renamed(RenameMode::To), &[to], &[finished(to)]);
        check(EventKind::Remove(RemoveKind::File), &[to], &[finished(to)]);
    }

    #[test]
    fn a_swap_of_all_files_finishes_all() {
        let swap = ["/p/..data_tmp", "/p/..data"];
        check(renamed(RenameMode::Both), &swap, &[Hint::AllFinished, Hint::AllFinished]);
        check(renamed(RenameMode::To), &["/p"], &[Hint::AllFinished]);
    }

    #[test]
    fn what_happens_beside_the_directory_is_nobodys_business() {
        check(EventKind::Remove(RemoveKind::File), &["/q/a.wasm"], &[]);
        check(EventKind::Create(CreateKind::Folder), &["/pq"], &[]);
    }

    #[test]
    fn lost_events_say_that_anything_may_have_happened() {
        let event = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(hints(&event, &["/p".into()]), [Hint::Unknown]);
    }
}
