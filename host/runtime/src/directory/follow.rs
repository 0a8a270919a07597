//! Follows the plugin directories: waits for file events, starts scans, and passes on the changes
//! to make. Blocking steps run beside it, so a file system that does not answer holds up nothing
//! else.

use super::content::{CONTENT_BYTES_MAX, ContentRoom};
use super::debounce::{Debounce, Finished, Hint};
use super::plugin_files::{Look, Scan, scan};
use super::wanted::{Decision, Wanted};
use super::watch::DirectoryWatch;
use crate::plugin_name::PluginName;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::error;

/// The interval of scans without file events: some file systems send none, and the target of a link changes without
/// one.
const RESCAN: Duration = Duration::from_secs(30);
/// Hints that wait during a scan.
const HINTS_MAX: usize = 1_024;

/// The watched directories.
pub(crate) struct Directories {
    directories: Arc<[PathBuf]>,
    room: ContentRoom,
    debounce: Debounce,
    wanted: Wanted,
    hint_sender: mpsc::Sender<Hint>,
    hints: mpsc::Receiver<Hint>,
    /// `None` while a scan has it.
    watch: Option<DirectoryWatch>,
    look: Option<UnderWay>,
    next_rescan: Instant,
    look_again: Option<Instant>,
}

struct UnderWay {
    look: JoinHandle<(DirectoryWatch, Scan)>,
    finished: Finished,
}

impl Directories {
    /// No scan begins before [`next`](Self::next).
    pub(crate) fn new(directories: Vec<PathBuf>) -> Self {
        let (hint_sender, hints) = mpsc::channel(HINTS_MAX);
        Self {
            directories: directories.into(),
            room: ContentRoom::new(CONTENT_BYTES_MAX),
            debounce: Debounce::default(),
            wanted: Wanted::default(),
            hint_sender,
            hints,
            watch: None,
            look: None,
            next_rescan: Instant::now(),
            look_again: None,
        }
    }

    /// The decision of the next scan. Dropping this future and calling again loses nothing.
    pub(crate) async fn next(&mut self) -> Decision {
        loop {
            let Some(under_way) = &mut self.look else {
                let due = self.due();
                tokio::select! {
                    Some(hint) = self.hints.recv() => self.debounce.hint(hint, Instant::now()),
                    () = tokio::time::sleep_until(due.into()) => self.begin(),
                }
                continue;
            };
            // Hints wait in their channel meanwhile, for the scan after this one.
            let ended = (&mut under_way.look).await;
            let Some(UnderWay { finished, .. }) = self.look.take() else { continue };
            match ended {
                Ok((watch, scan)) => {
                    self.watch = Some(watch);
                    let now = Instant::now();
                    let decision = self.wanted.decide(scan, &finished, now);
                    self.look_again = decision.look_again.map(|wait| now + wait);
                    return decision;
                }
                Err(error) => error!("looking at the plugin directories failed: {error}"),
            }
        }
    }

    /// Scans at once, and loads the plugin's file even if its content is the same.
    pub(crate) fn load_again(&mut self, name: &PluginName) {
        self.wanted.load_again(name);
        self.look_again = Some(Instant::now());
    }

    /// Scans at once, because the plugin has another configuration.
    pub(crate) fn configured(&mut self, name: &PluginName) {
        self.wanted.configured(name);
        self.look_again = Some(Instant::now());
    }

    /// Whether the scan for [`load_again`](Self::load_again) has not ended.
    pub(crate) fn is_to_load_again(&self, name: &PluginName) -> bool {
        self.wanted.is_to_load_again(name)
    }

    fn due(&self) -> Instant {
        let hinted = self.debounce.due().into_iter().chain(self.look_again);
        hinted.fold(self.next_rescan, Instant::min)
    }

    fn begin(&mut self) {
        let now = Instant::now();
        let (directories, known, room) =
            (self.directories.clone(), self.wanted.known(), self.room.clone());
        if now >= self.next_rescan {
            self.next_rescan = now + RESCAN;
        }
        self.look_again = None;
        let (watch, hints) = (self.watch.take(), self.hint_sender.clone());
        let look = tokio::task::spawn_blocking(move || {
            let mut watch = watch.unwrap_or_else(|| DirectoryWatch::new(&directories, hints));
            // Before the scan, so that later changes send an event.
            watch.arm();
            let look = Look {
                directories: &directories,
                known: &known,
                room: &room,
                now: SystemTime::now(),
            };
            let scan = scan(&look);
            (watch, scan)
        });
        self.look = Some(UnderWay { look, finished: self.debounce.take() });
    }
}
