//! The thread that owns the file. A transaction has all changes that came during the transaction
//! before, except those of plugins above their rate (`paces.rs`).

use super::handle::{Archive, ArchiveRequest, ArchiveShared, Then};
use super::store::{ArchiveStore, FilePlace};
use super::{Kept, StateDirectoryError, StateDirectoryOptions};
use crate::plugin_name::PluginName;
use informant_cache::workqueue::exponential;
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tracing::{error, info};

/// The first pause after a disk error. It doubles up to `RETRY_MAX`.
const RETRY_BASE: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(60);
/// The interval of the search for data to remove.
const LOOK_INTERVAL: Duration = Duration::from_secs(3_600);

/// The thread. Dropping it lets the thread end by itself.
pub(crate) struct ArchiveThread {
    archive: Archive,
    thread: Option<JoinHandle<()>>,
}

/// Opens the state directory and closes it again. Reports its problem as [`PluginHost::new`](crate::PluginHost::new)
/// does.
pub fn check_state_directory(options: &StateDirectoryOptions) -> Result<(), StateDirectoryError> {
    ArchiveStore::open(&options.directory).map(drop)
}

fn state_thread() -> Builder {
    Builder::new().name("state".to_owned())
}

impl ArchiveThread {
    /// Opens the directory's file and starts the thread.
    pub(crate) fn start(options: StateDirectoryOptions) -> Result<Self, StateDirectoryError> {
        Self::start_as(state_thread(), options)
    }

    fn start_as(
        thread: Builder,
        options: StateDirectoryOptions,
    ) -> Result<Self, StateDirectoryError> {
        let StateDirectoryOptions { directory, keep_removed } = options;
        let store = ArchiveStore::open(&directory)?;
        let (of_open, place) = (directory.clone(), store.place().cloned());
        let open = move || {
            // Another file has not what this one had.
            place.iter().try_for_each(FilePlace::check)?;
            ArchiveStore::open(&of_open).map_err(|error| error.to_string())
        };
        Self::over(thread, store, Box::new(open), keep_removed)
            .map_err(|error| StateDirectoryError::no_thread(directory, &error))
    }

    /// Starts the thread over a store. `open` opens the store again after a failure.
    fn over(
        thread: Builder,
        store: ArchiveStore,
        open: OpenStore,
        keep_removed: Duration,
    ) -> std::io::Result<Self> {
        let archive = Archive::new();
        let shared = archive.shared.clone();
        let written = store.written();
        let writer = ArchiveWriter {
            open,
            keep_removed,
            written: *written.as_ref().unwrap_or(&0),
            // An unreadable store is opened again.
            store: written.is_ok().then_some(store),
            shared,
            failures: 0,
            gone_is_noted: false,
        };
        let thread = thread.spawn(move || writer.run())?;
        Ok(Self { archive, thread: Some(thread) })
    }

    pub(crate) fn archive(&self) -> Archive {
        self.archive.clone()
    }

    /// Writes the waiting changes, if the disk takes them, and ends the thread.
    pub(crate) async fn stop(mut self) {
        self.archive.stop();
        let Some(thread) = self.thread.take() else { return };
        let ended = tokio::task::spawn_blocking(move || thread.join()).await;
        if !matches!(ended, Ok(Ok(()))) {
            error!("the state directory's thread ended early; what changed last may not be kept");
        }
    }
}

impl Drop for ArchiveThread {
    fn drop(&mut self) {
        self.archive.stop();
    }
}

type OpenStore = Box<dyn Fn() -> Result<ArchiveStore, String> + Send>;

struct ArchiveWriter {
    open: OpenStore,
    keep_removed: Duration,
    /// `None` after a failure: the store is opened again.
    store: Option<ArchiveStore>,
    /// The number of the last transaction that is known to be in the file.
    written: u64,
    shared: Arc<ArchiveShared>,
    /// The number of failures in a row.
    failures: u32,
    /// Whether the file has noted the plugins that were gone when the host began.
    gone_is_noted: bool,
}

/// So no caller waits for ever, even after a panic.
impl Drop for ArchiveWriter {
    fn drop(&mut self) {
        let mut inbox = self.shared.inbox.lock();
        inbox.ended = true;
        let asks = std::mem::take(&mut inbox.asks);
        if !inbox.stopping {
            let problem =
                "the thread that writes has ended by a defect of ours; start the host anew";
            error!("the state directory is written no more: {problem}");
            inbox.status.error = Some(problem.to_owned());
        }
        drop(inbox);
        drop(asks);
    }
}

impl ArchiveWriter {
    fn run(mut self) {
        let mut next_look = Instant::now() + LOOK_INTERVAL;
        loop {
            let stopping = self.next(next_look);
            self.write(stopping);
            if stopping {
                return;
            }
            if !self.gone_is_noted || Instant::now() >= next_look {
                next_look = Instant::now() + LOOK_INTERVAL;
                self.look();
            }
        }
    }

    /// Waits for work. After a failure only a request, and the end, shorten the wait. Returns whether the thread is to
    /// end.
    fn next(&self, next_look: Instant) -> bool {
        let mut until = next_look;
        if self.failures > 0 {
            let wait = exponential(RETRY_BASE, self.failures - 1, RETRY_MAX);
            until = until.min(Instant::now() + wait);
        }
        let mut inbox = self.shared.inbox.lock();
        loop {
            let now = Instant::now();
            let wait = inbox.pending.wait(now).filter(|_| self.failures == 0);
            let is_looked_for =
                !self.gone_is_noted && inbox.pending.present().is_some() && self.failures == 0;
            let is_due = is_looked_for || wait.is_some_and(|wait| wait.is_zero());
            let is_asked = inbox.has_due_ask(self.failures > 0);
            if is_due || is_asked || inbox.stopping || now >= until {
                break;
            }
            let next = wait.map_or(until, |wait| until.min(now + wait));
            self.shared.changed.wait_until(&mut inbox, next);
        }
        inbox.try_asks();
        inbox.stopping
    }

    /// Writes the due changes, or all of them, and answers the requests that need no more.
    fn write(&mut self, everything: bool) {
        let mut ready = Vec::new();
        let written = self.try_write(everything, &mut ready);
        let is_written = written.is_ok();
        match written {
            Ok(()) => {
                if self.failures > 0 {
                    info!("the state directory takes what is written to it again");
                }
                self.failures = 0;
            }
            Err(problem) => self.failed(problem),
        }
        for ArchiveRequest { plugin, then, .. } in ready {
            match then {
                Then::Written(reply) => _ = reply.send(is_written),
                Then::Read(reply) => self.read(plugin, reply),
            }
        }
        if self.failures > 0 {
            self.answer_failed();
        }
    }

    fn answer_failed(&self) {
        let failed = self.shared.inbox.lock().take_failed();
        for ask in failed {
            if let Then::Written(reply) = ask.then {
                // The caller may be gone.
                let _ = reply.send(false);
            }
        }
    }

    fn try_write(
        &mut self,
        everything: bool,
        ready: &mut Vec<ArchiveRequest>,
    ) -> Result<(), String> {
        let store = match self.store.take() {
            Some(store) => store,
            None => self.open_anew()?,
        };
        let store = self.store.insert(store);
        let (mut inbox, now) = (self.shared.inbox.lock(), Instant::now());
        let is_due = inbox.pending.wait(now).is_some_and(|wait| everything || wait.is_zero());
        if !is_due && self.failures == 0 {
            *ready = inbox.take_ready();
            return Ok(());
        }
        let changes = inbox.pending.take(everything, now);
        *ready = inbox.take_ready();
        drop(inbox);
        store.write(&changes, self.written + 1).map_err(text)?;
        // Invariant 23. A file that was removed takes writes until it is closed.
        store.place().map_or(Ok(()), FilePlace::check)?;
        self.written += 1;
        let mut inbox = self.shared.inbox.lock();
        inbox.pending.written(Instant::now());
        inbox.status.written += 1;
        inbox.status.error = None;
        Ok(())
    }

    /// Opens the store again. The file shows whether the transaction at the failure is in it.
    fn open_anew(&mut self) -> Result<ArchiveStore, String> {
        let store = (self.open)()?;
        let written = store.written().map_err(text)?;
        let mut inbox = self.shared.inbox.lock();
        match written > self.written {
            true => inbox.pending.written(Instant::now()),
            false => inbox.pending.put_back(),
        }
        drop(inbox);
        self.written = written;
        Ok(store)
    }

    /// Answers a request for kept data. After an error it waits until the disk works again.
    fn read(&mut self, plugin: PluginName, reply: oneshot::Sender<Kept>) {
        match self.store.as_ref().map(|store| store.read(&plugin)) {
            Some(Ok(kept)) => {
                self.shared.inbox.lock().pending.found(&plugin, &kept);
                // The caller may be gone.
                let _ = reply.send(kept);
            }
            read => {
                self.shared.inbox.lock().put_back(plugin, reply);
                if let Some(Err(problem)) = read {
                    self.failed(text(problem));
                }
            }
        }
    }

    /// Removes data that was kept for long enough.
    fn look(&mut self) {
        let present = self.shared.inbox.lock().pending.present().cloned();
        let (Some(present), Some(store)) = (present, &self.store) else { return };
        match self.remove_gone(store, &present) {
            Ok(plugins) => {
                self.gone_is_noted = true;
                for plugin in plugins {
                    info!(plugin, "its file is gone for long, and what was kept of it is removed");
                }
            }
            Err(problem) => self.failed(text(problem)),
        }
    }

    fn remove_gone(
        &self,
        store: &ArchiveStore,
        present: &BTreeSet<PluginName>,
    ) -> Result<Vec<String>, redb::Error> {
        let now = Timestamp::now();
        if !self.gone_is_noted {
            store.note_gone(present, now)?;
        }
        // The configured time may be longer than the clock's range.
        let Ok(before) = now.checked_sub(self.keep_removed) else { return Ok(Vec::new()) };
        store.remove_gone(present, before)
    }

    /// Notes a failure: the disk gets a pause.
    fn failed(&mut self, problem: String) {
        if self.failures == 0 {
            error!(
                "the state directory cannot be used, events go on and what changes may not outlive the host: {problem}"
            );
        }
        self.failures = self.failures.saturating_add(1);
        self.store = None;
        let mut inbox = self.shared.inbox.lock();
        inbox.status.failed += 1;
        inbox.status.error = Some(problem);
    }
}

fn text(error: redb::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests;
