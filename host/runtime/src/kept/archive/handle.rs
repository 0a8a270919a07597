//! The handle that passes changes to the thread that owns the file. Only a caller that asks for it
//! waits for the disk.

use super::pending::{OnDisk, Pending};
use super::{Changes, Kept};
use crate::plugin_name::PluginName;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The handle to the data that outlives the host. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Archive {
    pub(super) shared: Arc<ArchiveShared>,
}

pub(super) struct ArchiveShared {
    pub(super) inbox: Mutex<Inbox>,
    pub(super) changed: Condvar,
}

#[derive(Default)]
pub(super) struct Inbox {
    pub(super) pending: Pending,
    /// Requests of waiting callers: at most one for each plugin's load and for each request to the host, which are
    /// bounded.
    pub(super) asks: Vec<ArchiveRequest>,
    /// The present plugins: the data of others is kept for a limited time. `None` before the first scan of the
    /// directories.
    pub(super) present: Option<BTreeSet<PluginName>>,
    pub(super) stopping: bool,
    /// Whether the thread has ended: then no request gets an answer.
    pub(super) ended: bool,
    pub(super) status: StateDirectoryStatus,
}

pub(super) enum ArchiveRequest {
    /// Called once all earlier changes are on the disk, or could not be written.
    Written(WrittenCallback),
    Read(ArchiveRead),
}

/// A function that is called once, with `false` if this value is dropped: so no caller waits for ever.
pub(super) struct WrittenCallback(Option<Box<dyn FnOnce(bool) + Send>>);

impl WrittenCallback {
    pub(super) fn call(mut self, is_written: bool) {
        if let Some(then) = self.0.take() {
            then(is_written);
        }
    }
}

impl Drop for WrittenCallback {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            then(false);
        }
    }
}

/// A request for the kept data of a plugin.
pub(super) struct ArchiveRead {
    pub(super) plugin: PluginName,
    pub(super) reply: oneshot::Sender<Kept>,
}

/// The condition of the state directory.
#[derive(Debug, Clone, Default)]
pub struct StateDirectoryStatus {
    /// Transactions that were written.
    pub written: u64,
    /// Transactions that could not be written. Each is tried again.
    pub failed: u64,
    /// Changes that were refused because the writing thread has ended: they do not outlive the host.
    pub refused: u64,
    /// Changes that wait for the disk now.
    pub waiting: usize,
    /// Bytes of these changes.
    pub waiting_bytes: usize,
    /// The error of the disk, while it takes no writes.
    pub error: Option<String>,
}

impl Archive {
    /// A handle without a thread: changes wait.
    pub(crate) fn new() -> Self {
        let shared = ArchiveShared { inbox: Mutex::default(), changed: Condvar::new() };
        Self { shared: Arc::new(shared) }
    }

    /// Takes changes that belong together, and that a caller will wait for. Never waits.
    pub(crate) fn put(&self, changes: Changes) {
        self.put_at(u32::MAX, changes);
    }

    /// Takes changes of one plugin that belong together. The plugin's changes are written at this rate. Never waits.
    /// Invariant 23.
    pub(crate) fn put_at(&self, bytes_per_second: u32, changes: Changes) {
        if changes.is_empty() {
            return;
        }
        let mut inbox = self.shared.inbox.lock();
        match inbox.ended {
            true => inbox.status.refused += changes.len() as u64,
            false => inbox.pending.put(changes, bytes_per_second),
        }
        drop(inbox);
        self.shared.changed.notify_all();
    }

    /// Calls `then` once all earlier changes are on the disk, or with `false` if that fails.
    pub(crate) fn when_written(&self, then: impl FnOnce(bool) + Send + 'static) {
        self.ask(ArchiveRequest::Written(WrittenCallback(Some(Box::new(then)))));
    }

    /// The kept data of a plugin, as soon as the disk can be read; `None` if the thread has ended.
    pub(crate) async fn read(&self, plugin: &PluginName) -> Option<Kept> {
        let (reply, answer) = oneshot::channel();
        self.ask(ArchiveRequest::Read(ArchiveRead { plugin: plugin.clone(), reply }));
        answer.await.ok()
    }

    /// Sets the present plugins: the data of others is kept for a limited time.
    pub(crate) fn present(&self, plugins: BTreeSet<PluginName>) {
        let mut inbox = self.shared.inbox.lock();
        let is_first = inbox.present.replace(plugins).is_none();
        drop(inbox);
        if is_first {
            self.shared.changed.notify_all();
        }
    }

    /// The plugin's records on the disk, which outlive a host that is killed now.
    pub(crate) fn on_disk(&self, plugin: &PluginName) -> OnDisk {
        self.shared.inbox.lock().pending.on_disk(plugin)
    }

    pub(crate) fn status(&self) -> StateDirectoryStatus {
        let inbox = self.shared.inbox.lock();
        let (waiting, waiting_bytes) = inbox.pending.size();
        StateDirectoryStatus { waiting, waiting_bytes, ..inbox.status.clone() }
    }

    /// Takes the waiting changes. With `disk_works` they count as written.
    #[cfg(test)]
    pub(crate) fn take_unwritten(&self, disk_works: bool) -> Arc<Changes> {
        let (mut inbox, now) = (self.shared.inbox.lock(), std::time::Instant::now());
        let changes = inbox.pending.take(true, now);
        match disk_works {
            true => inbox.pending.written(now),
            false => inbox.pending.put_back(),
        }
        changes
    }

    #[cfg(test)]
    pub(crate) fn found(&self, plugin: &PluginName, kept: &Kept) {
        self.shared.inbox.lock().pending.found(plugin, kept);
    }

    pub(super) fn ask(&self, ask: ArchiveRequest) {
        let mut inbox = self.shared.inbox.lock();
        if inbox.ended {
            drop(inbox);
            return drop(ask);
        }
        inbox.asks.push(ask);
        drop(inbox);
        self.shared.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        self.shared.inbox.lock().stopping = true;
        self.shared.changed.notify_all();
    }
}
