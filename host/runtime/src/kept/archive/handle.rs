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
    /// Requests of callers that wait: at most one for each plugin's load and for each request to the host, which are
    /// bounded.
    pub(super) asks: Vec<ArchiveRequest>,
    pub(super) stopping: bool,
    /// Whether the thread has ended: then no request gets an answer.
    pub(super) ended: bool,
    pub(super) status: StateDirectoryStatus,
}

/// A request about one plugin. It waits until the plugin's earlier changes are on the disk, at the plugin's rate: else
/// callers would let a plugin write above its rate.
pub(super) struct ArchiveRequest {
    pub(super) plugin: PluginName,
    pub(super) then: Then,
    /// Whether changes of the plugin waited when the request came.
    awaits: bool,
    /// Whether a write has begun since.
    is_tried: bool,
}

impl ArchiveRequest {
    fn is_ready(&self, pending: &Pending) -> bool {
        !self.awaits || !pending.has(&self.plugin)
    }

    /// Whether the caller is gone.
    fn is_closed(&self) -> bool {
        match &self.then {
            Then::Written(reply) => reply.is_closed(),
            Then::Read(reply) => reply.is_closed(),
        }
    }
}

/// What follows once the changes are written.
pub(super) enum Then {
    /// Whether they could be written.
    Written(oneshot::Sender<bool>),
    Read(oneshot::Sender<Kept>),
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

impl Inbox {
    pub(super) fn push(&mut self, plugin: PluginName, then: Then) {
        let awaits = self.pending.has(&plugin);
        self.asks.retain(|ask| !ask.is_closed());
        self.asks.push(ArchiveRequest { plugin, then, awaits, is_tried: false });
    }

    /// The file could not be read for the request.
    pub(super) fn put_back(&mut self, plugin: PluginName, reply: oneshot::Sender<Kept>) {
        let then = Then::Read(reply);
        self.asks.push(ArchiveRequest { plugin, then, awaits: true, is_tried: true });
    }

    /// Whether a request is worth a look now. While the disk fails, a request for kept data waits.
    pub(super) fn has_due_ask(&self, disk_fails: bool) -> bool {
        self.asks.iter().any(|ask| match disk_fails {
            true => !ask.awaits || matches!(ask.then, Then::Written(_)),
            false => ask.is_ready(&self.pending),
        })
    }

    /// Takes the requests that need no more changes than those that were taken.
    pub(super) fn take_ready(&mut self) -> Vec<ArchiveRequest> {
        let is_ready = |ask: &mut ArchiveRequest| ask.is_ready(&self.pending);
        self.asks.extract_if(.., is_ready).collect()
    }

    /// The next write is the answer to these requests, if it fails.
    pub(super) fn try_asks(&mut self) {
        self.asks.iter_mut().for_each(|ask| ask.is_tried = true);
    }

    /// The disk has failed: takes the tried requests that are answered with that. Others wait, except those of callers
    /// that are gone.
    pub(super) fn take_failed(&mut self) -> Vec<ArchiveRequest> {
        let is_failed = |ask: &mut ArchiveRequest| {
            ask.awaits |= ask.is_tried;
            match &ask.then {
                Then::Written(_) => ask.is_tried,
                Then::Read(_) => ask.is_closed(),
            }
        };
        self.asks.extract_if(.., is_failed).collect()
    }
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

    /// Whether all earlier changes of the plugin are on the disk, once they are or that has failed.
    pub(crate) async fn written(&self, plugin: &PluginName) -> bool {
        let (reply, answer) = oneshot::channel();
        self.ask(plugin, Then::Written(reply));
        answer.await.unwrap_or(false)
    }

    /// The kept data of a plugin, as soon as the disk can be read; `None` if the thread has ended.
    pub(crate) async fn read(&self, plugin: &PluginName) -> Option<Kept> {
        let (reply, answer) = oneshot::channel();
        self.ask(plugin, Then::Read(reply));
        answer.await.ok()
    }

    /// Sets the present plugins: the data of others is kept for a limited time.
    pub(crate) fn present(&self, plugins: BTreeSet<PluginName>) {
        let mut inbox = self.shared.inbox.lock();
        let is_first = inbox.pending.present().is_none();
        inbox.pending.set_present(plugins);
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

    pub(super) fn ask(&self, plugin: &PluginName, then: Then) {
        let mut inbox = self.shared.inbox.lock();
        if inbox.ended {
            drop(inbox);
            return drop(then);
        }
        inbox.push(plugin.clone(), then);
        drop(inbox);
        self.shared.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        self.shared.inbox.lock().stopping = true;
        self.shared.changed.notify_all();
    }
}
