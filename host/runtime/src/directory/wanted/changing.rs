//! Files that change at every scan, for example a link into `/proc`, or a file that a process writes all the time. A
//! caller that waits for such a file gets an error.

use super::{ConfigurationFile, Decision, LoadAgain, PluginChange, WantedFile};
use crate::directory::file_id::FileId;
use crate::directory::problem::Problem;
use std::path::Path;
use std::time::{Duration, Instant};

/// A file that no scan has found at rest for so long counts as changing. This includes a file that is copied slowly,
/// until it is complete.
const CHANGING_MAX: Duration = Duration::from_secs(5);
/// The problem of such a file.
const CHANGES: &str = "changes at every look; write it under another name and rename it";
/// The same in a text that does not name the file.
const IT_CHANGES: &str = "it changes at every look; write it under another name and rename it";

impl WantedFile {
    /// Reports a file that changes at every scan. A plugin without another file or configuration is refused, and does
    /// not go on waiting.
    pub(super) fn say_changes(
        &mut self,
        id: &FileId,
        (path, directory): (&Path, usize),
        now: Instant,
        decision: &mut Decision,
    ) {
        let time = self.changing_since.map(|since| now.duration_since(since));
        if time.is_none_or(|time| time < CHANGING_MAX) {
            return;
        }
        decision.problems.push(Problem::new(path, CHANGES).of(&id.name));
        self.again = LoadAgain::No;
        self.refuse(id, directory, IT_CHANGES, decision);
    }

    /// Notes that the file cannot be read. The content that was read before stays: without a configuration, a plugin
    /// might get more permissions.
    pub(super) fn refuse(
        &mut self,
        id: &FileId,
        directory: usize,
        reason: &'static str,
        decision: &mut Decision,
    ) {
        let is_new = self.counted.is_none() || self.directory != directory;
        if !is_new || self.unreadable {
            return;
        }
        let name = id.name.clone();
        if !id.is_plugin() {
            (self.unreadable, self.counted, self.directory) = (true, None, directory);
            let file = ConfigurationFile::Unreadable(reason);
            decision.changes.push(PluginChange::Configure(name, file));
        } else if self.counted.is_none() {
            self.unreadable = true;
            decision.changes.push(PluginChange::Refuse(name, reason));
        }
    }
}
