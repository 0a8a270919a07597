//! The version and the configuration of each plugin that the directories ask for: scans go in,
//! loads and removals come out. Synchronous; the time is an argument.
//!
//! A scan sees one moment, and files change over a while. So content counts when it rests, or when
//! a file event said that its writer closed the file. A file that is missing counts as removed
//! after a while. A file that could not be read stays as it was.

mod changing;

use super::debounce::Finished;
use super::file_id::FileId;
use super::plugin_files::{KnownFile, KnownFiles, PluginFile, Scan, Unread, UnreadCause};
use super::problem::Problem;
use crate::plugin_name::PluginName;
use informant_cache::workqueue::exponential;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// New content without an event for its end counts when it has been the same for this long: a user who copies a file
/// may pause for a moment.
const REST: Duration = Duration::from_secs(1);
/// A file that is missing for less than this was only being replaced, as editors and deployments do.
const REMOVAL_GRACE: Duration = Duration::from_secs(1);
/// The time until the next scan while a change waits.
const LOOK_AGAIN: Duration = Duration::from_millis(300);
/// A file that changes for ever is read less and less often, down to this interval.
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(30);

/// The wanted files.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    entries: BTreeMap<FileId, WantedFile>,
    /// Whether a scan has run. Before the first scan no plugin runs that a half-written file could harm.
    looked: bool,
}

#[derive(Debug, Default)]
struct WantedFile {
    /// The number of the directory that its file was last seen in.
    directory: usize,
    /// The file whose content counted last; `None` before the first.
    counted: Option<KnownFile>,
    /// Newer content, and since when it is unchanged.
    resting: Option<(String, Instant)>,
    /// Looks in a row that found the file changing.
    changing: u32,
    /// No scan has found the content at rest since then.
    changing_since: Option<Instant>,
    missing_since: Option<Instant>,
    /// Whether the file was last reported as unreadable.
    unreadable: bool,
    again: LoadAgain,
    /// For a plugin file: the plugin has another configuration, for which no scan has brought the content yet.
    configured: bool,
}

/// Whether a caller wants the file's content loaded once more, even if it is the same.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum LoadAgain {
    #[default]
    No,
    /// No scan has begun since the request.
    Asked,
    /// The current scan is to bring the content.
    Sought,
}

/// The decision after a scan.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    pub(crate) changes: Vec<PluginChange>,
    /// Probable mistakes of the user; all of them, after each scan.
    pub(crate) problems: Vec<Problem>,
    /// A change waits that may send no event: scan again after this time.
    pub(crate) look_again: Option<Duration>,
}

#[derive(Debug)]
pub(crate) enum PluginChange {
    /// The plugin's next load, which follows, is to use this configuration.
    Configure(PluginName, ConfigurationFile),
    /// This content of the file is wanted under this name.
    Load(PluginName, PluginFile),
    /// No content can be loaded under this name, for this reason: no scan could read the file so far.
    Refuse(PluginName, &'static str),
    /// The name has no wanted file any more.
    Remove(PluginName),
}

/// The file beside a plugin's.
#[derive(Debug)]
pub(crate) enum ConfigurationFile {
    /// The file is gone.
    Gone,
    /// The content of the file.
    Read(PluginFile),
    /// No scan could read the file since the plugin exists, for this reason.
    Unreadable(&'static str),
}

impl Wanted {
    /// A scan begins. Returns the files that it need not read again.
    pub(crate) fn known(&mut self) -> KnownFiles {
        let known = |(id, entry): (&FileId, &mut WantedFile)| {
            if entry.again != LoadAgain::No {
                entry.again = LoadAgain::Sought;
            }
            let is_asked_for = entry.again != LoadAgain::No || entry.configured;
            let counted = entry.counted.clone()?;
            // A file to load again exists, and no content is the known one.
            let forgotten = || KnownFile {
                path: counted.path.clone(),
                sha256: String::new(),
                fingerprint: None,
            };
            let known = if is_asked_for { forgotten() } else { counted };
            Some((id.clone(), known))
        };
        self.entries.iter_mut().filter_map(known).collect()
    }

    /// The next scan must read the file once more, and its content is loaded even if it is the same.
    pub(crate) fn load_again(&mut self, name: &PluginName) {
        if let Some(entry) = self.entries.get_mut(&FileId::plugin(name)) {
            entry.again = LoadAgain::Asked;
        }
    }

    /// The next scan must bring the file's content, for a plugin with another configuration.
    pub(crate) fn configured(&mut self, name: &PluginName) {
        if let Some(entry) = self.entries.get_mut(&FileId::plugin(name)) {
            entry.configured = true;
        }
    }

    /// Whether the scan for [`load_again`](Self::load_again) has not ended.
    pub(crate) fn is_to_load_again(&self, name: &PluginName) -> bool {
        self.entries.get(&FileId::plugin(name)).is_some_and(|entry| entry.again != LoadAgain::No)
    }

    /// Decides after a scan. `finished` has the files that events reported as finished when the scan began.
    pub(crate) fn decide(&mut self, scan: Scan, finished: &Finished, now: Instant) -> Decision {
        let mut decision = Decision { problems: scan.problems, ..Decision::default() };
        let hidden = |directory: usize| scan.unreadable.contains(&directory);
        let (files, unread) = (scan.files, scan.unread);
        self.missing(now, hidden, &mut decision, |id| {
            files.contains_key(id) || unread.contains_key(id)
        });
        if scan.crowded > 0
            && decision.changes.iter().any(|it| matches!(it, PluginChange::Remove(_)))
        {
            decision.look_again_after(LOOK_AGAIN);
        }
        for (id, unread) in unread {
            self.unread(id, unread, now, &mut decision);
        }
        let first = !std::mem::replace(&mut self.looked, true);
        let mut loads = Vec::new();
        for (id, file) in files {
            let finished = first || finished.contains(&file.path);
            if !id.is_plugin() && !self.is_beside_plugin(&id, file.directory) {
                continue;
            }
            let entry = self.entries.entry(id.clone()).or_default();
            // The file in the earlier directory counts, and its state is unknown.
            let shadowed = entry.counted.is_some()
                && entry.directory < file.directory
                && hidden(entry.directory);
            if shadowed {
                continue;
            }
            let (path, directory) = (file.path.clone(), file.directory);
            match entry.found(file, finished, now, &mut decision) {
                Some(file) if id.is_plugin() => loads.push((id.name, file)),
                Some(file) => {
                    let file = ConfigurationFile::Read(file);
                    decision.changes.push(PluginChange::Configure(id.name, file));
                }
                None => entry.say_changes(&id, (&path, directory), now, &mut decision),
            }
        }
        decision.problems.sort();
        self.load(loads, &mut decision);
        decision
    }

    /// Loads plugins with new content, the smallest first, and plugins with a new configuration. A plugin waits while
    /// its configuration exists and is not read yet.
    fn load(&mut self, mut loads: Vec<(PluginName, PluginFile)>, decision: &mut Decision) {
        // The first file has the compiler at once, before it can choose among those that wait.
        loads.sort_by_key(|(_, file)| file.content.as_ref().map(|content| content.len()));
        let configured = decision.changes.iter().filter_map(|change| match change {
            PluginChange::Configure(name, _) => Some(name.clone()),
            _ => None,
        });
        let mut again: BTreeMap<PluginName, Duration> =
            configured.map(|name| (name, Duration::ZERO)).collect();
        for (name, file) in loads {
            again.remove(&name);
            let id = FileId::configuration(&name);
            let configuration = self.entries.get(&id);
            if configuration.is_some_and(|entry| entry.is_to_be_read(file.directory)) {
                again.insert(name, LOOK_AGAIN);
                continue;
            }
            // The configuration belongs to the file of this name that counted before.
            if configuration.is_some_and(|entry| entry.directory != file.directory) {
                self.entries.remove(&id);
                let gone = PluginChange::Configure(name.clone(), ConfigurationFile::Gone);
                decision.changes.push(gone);
            }
            decision.changes.push(PluginChange::Load(name, file));
        }
        for (name, wait) in again {
            if let Some(plugin) = self.entries.get_mut(&FileId::plugin(&name)) {
                plugin.configured = true;
                decision.look_again_after(wait);
            }
        }
    }

    /// Whether a configuration is beside the plugin file that counts.
    fn is_beside_plugin(&self, id: &FileId, directory: usize) -> bool {
        self.entries.get(&id.of_plugin()).is_some_and(|plugin| plugin.directory == directory)
    }

    fn missing(
        &mut self,
        now: Instant,
        hidden: impl Fn(usize) -> bool,
        decision: &mut Decision,
        is_there: impl Fn(&FileId) -> bool,
    ) {
        self.entries.retain(|id, entry| {
            // While a directory cannot be read, it is unknown which files were removed from it.
            if hidden(entry.directory) {
                // A caller that wants the file loaded again gets the error of the directory.
                entry.again = LoadAgain::No;
            }
            if is_there(id) || hidden(entry.directory) {
                entry.missing_since = None;
                return true;
            }
            (entry.resting, entry.changing_since) = (None, None);
            let since = *entry.missing_since.get_or_insert(now);
            let left = REMOVAL_GRACE.saturating_sub(now.duration_since(since));
            if entry.counted.is_none() && !entry.unreadable {
                return false;
            }
            if left.is_zero() {
                let name = id.name.clone();
                decision.changes.push(match id.is_plugin() {
                    true => PluginChange::Remove(name),
                    false => PluginChange::Configure(name, ConfigurationFile::Gone),
                });
                return false;
            }
            decision.look_again_after(left);
            true
        });
        let plugins = self.entries.keys().filter(|id| id.is_plugin());
        let plugins: BTreeSet<PluginName> = plugins.map(|id| id.name.clone()).collect();
        self.entries.retain(|id, _| {
            let stays = plugins.contains(&id.name);
            if !stays {
                let gone = PluginChange::Configure(id.name.clone(), ConfigurationFile::Gone);
                decision.changes.push(gone);
            }
            stays
        });
    }

    fn unread(&mut self, id: FileId, unread: Unread, now: Instant, decision: &mut Decision) {
        let entry = self.entries.entry(id.clone()).or_default();
        let Unread { directory, path, cause } = unread;
        if entry.counted.is_none() {
            entry.directory = directory;
        }
        match cause {
            UnreadCause::Writing => {
                let wait = exponential(LOOK_AGAIN, entry.changing, LOOK_AGAIN_MAX);
                decision.look_again_after(wait);
                entry.changing += 1;
                entry.changing_since.get_or_insert(now);
                entry.say_changes(&id, (&path, directory), now, decision);
            }
            UnreadCause::NoRoom => decision.look_again_after(LOOK_AGAIN),
            UnreadCause::Refused => {
                entry.changing_since = None;
                entry.again = LoadAgain::No;
                if !id.is_plugin() {
                    entry.refuse(&id, directory, "it cannot be read; the log says why", decision);
                }
            }
        }
    }
}

impl WantedFile {
    /// Whether the directory has a configuration whose present content was not read yet.
    fn is_to_be_read(&self, directory: usize) -> bool {
        let is_read =
            self.counted.is_some() && self.directory == directory && self.resting.is_none();
        !is_read && !self.unreadable && self.missing_since.is_none()
    }

    /// The file, if it has new content that counts.
    fn found(
        &mut self,
        file: PluginFile,
        finished: bool,
        now: Instant,
        decision: &mut Decision,
    ) -> Option<PluginFile> {
        self.changing = 0;
        if self.again == LoadAgain::Asked {
            // This scan had begun before the request.
            decision.look_again_after(Duration::ZERO);
        }
        if file.content.is_none() {
            (self.resting, self.changing_since) = (None, None);
            self.count(&file);
            return None;
        }
        let since = match self.resting.take() {
            Some((sha256, since)) if sha256 == file.sha256 => since,
            _ => now,
        };
        let rested = file.age.is_some_and(|age| age >= REST) || now.duration_since(since) >= REST;
        if !finished && !rested {
            self.resting = Some((file.sha256, since));
            self.changing_since.get_or_insert(now);
            if self.counted.is_none() {
                self.directory = file.directory;
            }
            decision.look_again_after(LOOK_AGAIN);
            return None;
        }
        self.count(&file);
        self.changing_since = None;
        self.configured = false;
        if self.again == LoadAgain::Sought {
            self.again = LoadAgain::No;
        }
        Some(file)
    }

    fn count(&mut self, file: &PluginFile) {
        (self.directory, self.unreadable) = (file.directory, false);
        let (path, sha256) = (file.path.clone(), file.sha256.clone());
        self.counted = Some(KnownFile { path, sha256, fingerprint: file.fingerprint });
    }
}

impl Decision {
    fn look_again_after(&mut self, wait: Duration) {
        self.look_again = Some(self.look_again.map_or(wait, |before| before.min(wait)));
    }
}

#[cfg(test)]
mod tests;
