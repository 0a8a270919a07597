//! The thread that owns the file, and the handle with which everybody else tells it what changed. Nobody waits for the disk but who
//! asks for that: changes are taken into memory, and all that came while one transaction was written is the next one.

use super::pending::Pending;
use super::store::Store;
use super::{Changes, Kept, StateDirectoryError, StateDirectoryOptions};
use crate::plugin_name::PluginName;
use jiff::Timestamp;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tracing::{error, info};

/// How long a disk that failed is left alone at first, doubled up to the second.
const RETRY_BASE: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(60);
/// How often it is looked for what is to be kept no more.
const LOOK_INTERVAL: Duration = Duration::from_secs(3_600);

/// The way to what outlives the host. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Archive {
    shared: Arc<Shared>,
}

struct Shared {
    inbox: Mutex<Inbox>,
    changed: Condvar,
}

#[derive(Default)]
struct Inbox {
    pending: Pending,
    /// What somebody waits for: at most one of each plugin's load and of each request to the host, which are bounded.
    asks: Vec<Ask>,
    /// The plugins that are there: the others' things are kept for a while only. None before somebody has looked.
    present: Option<BTreeSet<PluginName>>,
    stopping: bool,
    /// The thread is no more: nobody answers.
    ended: bool,
    status: StateDirectoryStatus,
}

enum Ask {
    /// Told once what was put before is on the disk, or could not be written.
    Written(Written),
    Read(Read),
}

/// What is called back once, with false where it is dropped: nobody waits for an answer that does not come.
struct Written(Option<Box<dyn FnOnce(bool) + Send>>);

impl Written {
    fn call(mut self, is_written: bool) {
        if let Some(then) = self.0.take() {
            then(is_written);
        }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            then(false);
        }
    }
}

/// Somebody waits for what is kept of a plugin.
struct Read {
    plugin: PluginName,
    reply: oneshot::Sender<Kept>,
}

/// How the state directory is doing.
#[derive(Debug, Clone, Default)]
pub struct StateDirectoryStatus {
    /// Transactions that were written.
    pub written: u64,
    /// Transactions that could not be written. Each is tried again.
    pub failed: u64,
    /// Changes that were not taken because too much waited for the disk already: they would not outlive the host.
    pub refused: u64,
    /// Changes that wait for the disk now.
    pub waiting: usize,
    /// Bytes of those changes.
    pub waiting_bytes: usize,
    /// Why the disk takes nothing at the moment.
    pub error: Option<String>,
}

/// The thread. Dropping it lets the thread end by itself.
pub(crate) struct ArchiveThread {
    archive: Archive,
    thread: Option<JoinHandle<()>>,
}

/// Opens the state directory and closes it again: says what is wrong with it, as [`PluginHost::new`](crate::PluginHost::new) does.
pub fn check_state_directory(options: &StateDirectoryOptions) -> Result<(), StateDirectoryError> {
    Store::open(&options.directory).map(drop)
}

impl ArchiveThread {
    /// Opens the directory's file and starts the thread.
    pub(crate) fn start(options: StateDirectoryOptions) -> Result<Self, StateDirectoryError> {
        let StateDirectoryOptions { directory, keep_removed } = options;
        let store = Store::open(&directory)?;
        let open = move || Store::open(&directory).map_err(|error| error.to_string());
        Ok(Self::over(store, Box::new(open), keep_removed))
    }

    /// Starts the thread over a store, which is opened anew so if it fails.
    fn over(store: Store, open: Open, keep_removed: Duration) -> Self {
        let shared = Shared { inbox: Mutex::default(), changed: Condvar::new() };
        let archive = Archive { shared: Arc::new(shared) };
        let shared = archive.shared.clone();
        let writer = Writer {
            open,
            keep_removed,
            store: Some(store),
            shared,
            failures: 0,
            reads: Vec::new(),
            gone_is_noted: false,
        };
        let thread = std::thread::Builder::new().name("state".to_owned());
        let thread = thread.spawn(move || writer.run()).expect("the system has a thread left");
        Self { archive, thread: Some(thread) }
    }

    pub(crate) fn archive(&self) -> Archive {
        self.archive.clone()
    }

    /// Writes what waits, if the disk takes it, and ends the thread.
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

impl Archive {
    /// Takes changes that belong together, or none of them where too much waits already. Never waits.
    pub(crate) fn put(&self, changes: Changes) -> bool {
        if changes.is_empty() {
            return true;
        }
        let mut inbox = self.shared.inbox.lock();
        let count = changes.len();
        let taken = !inbox.ended && inbox.pending.put(changes);
        if !taken {
            inbox.status.refused += count as u64;
        }
        drop(inbox);
        self.shared.changed.notify_all();
        taken
    }

    /// Calls back once everything that was put so far is on the disk, or with false if that fails now.
    pub(crate) fn when_written(&self, then: impl FnOnce(bool) + Send + 'static) {
        self.ask(Ask::Written(Written(Some(Box::new(then)))));
    }

    /// What is kept of a plugin, as soon as the disk lets it be read; none if nobody reads it any more.
    pub(crate) async fn read(&self, plugin: &PluginName) -> Option<Kept> {
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Read(Read { plugin: plugin.clone(), reply }));
        answer.await.ok()
    }

    /// These plugins are there now, and no others: the others' things are kept for a while only.
    pub(crate) fn present(&self, plugins: BTreeSet<PluginName>) {
        self.shared.inbox.lock().present = Some(plugins);
        self.shared.changed.notify_all();
    }

    pub(crate) fn status(&self) -> StateDirectoryStatus {
        let inbox = self.shared.inbox.lock();
        let (waiting, waiting_bytes) = inbox.pending.size();
        StateDirectoryStatus { waiting, waiting_bytes, ..inbox.status.clone() }
    }

    /// One without a thread: what was put is for the test to look at.
    #[cfg(test)]
    pub(crate) fn unwritten() -> Self {
        let shared = Shared { inbox: Mutex::default(), changed: Condvar::new() };
        Self { shared: Arc::new(shared) }
    }

    #[cfg(test)]
    pub(crate) fn take_unwritten(&self) -> Changes {
        let mut inbox = self.shared.inbox.lock();
        let changes = inbox.pending.take();
        inbox.pending.written();
        changes
    }

    fn ask(&self, ask: Ask) {
        let mut inbox = self.shared.inbox.lock();
        if inbox.ended {
            drop(inbox);
            return drop(ask);
        }
        inbox.asks.push(ask);
        drop(inbox);
        self.shared.changed.notify_all();
    }

    fn stop(&self) {
        self.shared.inbox.lock().stopping = true;
        self.shared.changed.notify_all();
    }
}

type Open = Box<dyn Fn() -> Result<Store, String> + Send>;

struct Writer {
    open: Open,
    keep_removed: Duration,
    /// None after a failure: it is opened anew.
    store: Option<Store>,
    shared: Arc<Shared>,
    /// In a row.
    failures: u32,
    /// Who waits until the disk can be read again: at most one load of each plugin.
    reads: Vec<Read>,
    /// Which plugins were gone when the host began is in the file.
    gone_is_noted: bool,
}

/// Also after a panic nobody waits for an answer that does not come.
impl Drop for Writer {
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

impl Writer {
    fn run(mut self) {
        let mut next_look = Instant::now() + LOOK_INTERVAL;
        loop {
            let (changes, asks, stopping) = self.next(next_look);
            let is_written = self.write(changes);
            for ask in asks {
                match ask {
                    Ask::Written(then) => then.call(is_written),
                    Ask::Read(read) => self.reads.push(read),
                }
            }
            if stopping {
                return;
            }
            self.answer_reads();
            if !self.gone_is_noted || Instant::now() >= next_look {
                next_look = Instant::now() + LOOK_INTERVAL;
                self.look();
            }
        }
    }

    /// Waits for something to do. After a failure only somebody who asks, and the end, cut the wait short.
    fn next(&self, next_look: Instant) -> (Changes, Vec<Ask>, bool) {
        let mut until = next_look;
        if self.failures > 0 {
            let wait = RETRY_BASE.saturating_mul(2u32.saturating_pow(self.failures - 1));
            until = until.min(Instant::now() + wait.min(RETRY_MAX));
        }
        let mut inbox = self.shared.inbox.lock();
        let idle = |inbox: &MutexGuard<'_, Inbox>| {
            let is_looked_for = !self.gone_is_noted && inbox.present.is_some();
            let nothing = self.failures > 0 || (inbox.pending.is_empty() && !is_looked_for);
            nothing && inbox.asks.is_empty() && !inbox.stopping
        };
        while idle(&inbox) {
            if self.shared.changed.wait_until(&mut inbox, until).timed_out() {
                break;
            }
        }
        let (changes, asks) = (inbox.pending.take(), std::mem::take(&mut inbox.asks));
        (changes, asks, inbox.stopping)
    }

    /// Whether everything that was put by then is on the disk.
    fn write(&mut self, changes: Changes) -> bool {
        if changes.is_empty() && self.failures == 0 {
            return true;
        }
        let written = self.store().and_then(|store| store.write(&changes).map_err(text));
        let mut inbox = self.shared.inbox.lock();
        match written {
            Ok(()) => {
                inbox.pending.written();
                inbox.status.written += 1;
                inbox.status.error = None;
                drop(inbox);
                if self.failures > 0 {
                    info!("the state directory takes what is written to it again");
                }
                self.failures = 0;
                true
            }
            Err(problem) => {
                inbox.pending.put_back(changes);
                drop(inbox);
                self.failed(problem);
                false
            }
        }
    }

    fn store(&mut self) -> Result<&Store, String> {
        let store = match self.store.take() {
            Some(store) => store,
            None => (self.open)()?,
        };
        Ok(self.store.insert(store))
    }

    /// Whoever cannot be answered now is answered when the disk works again.
    fn answer_reads(&mut self) {
        while self.failures == 0
            && let Some(Read { plugin, reply }) = self.reads.pop()
        {
            let kept = self.store().and_then(|store| store.read(&plugin).map_err(text));
            match kept {
                // Whoever asked may have gone.
                Ok(kept) => _ = reply.send(kept),
                Err(problem) => {
                    self.reads.push(Read { plugin, reply });
                    self.failed(problem);
                }
            }
        }
    }

    /// Removes what was kept for long enough.
    fn look(&mut self) {
        let present = self.shared.inbox.lock().present.clone();
        let Some(present) = present.filter(|_| self.failures == 0) else { return };
        let now = Timestamp::now();
        let is_noted = self.gone_is_noted;
        let keep_removed = self.keep_removed;
        let removed = self.store().and_then(|store| {
            if !is_noted {
                store.note_gone(&present, now).map_err(text)?;
            }
            // Somebody may want it kept for longer than there is time.
            let Ok(before) = now.checked_sub(keep_removed) else { return Ok(Vec::new()) };
            store.remove_gone(&present, before).map_err(text)
        });
        match removed {
            Ok(plugins) => {
                self.gone_is_noted = true;
                for plugin in plugins {
                    info!(plugin, "its file is gone for long, and what was kept of it is removed");
                }
            }
            Err(problem) => self.failed(problem),
        }
    }

    /// The disk is left alone for a while.
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
mod tests {
    use super::super::disk::Disk;
    use super::super::{Content, Place};
    use super::*;
    use bytes::Bytes;

    fn plugin() -> PluginName {
        "p".parse().expect("a name")
    }

    /// Megabytes at a key.
    fn put(archive: &Archive, key: &str, megabytes: usize) -> bool {
        let content = Content::State(Bytes::from(vec![1; megabytes << 20]));
        archive.put([((plugin(), Place::State(key.into())), Some(content))].into())
    }

    /// Whether everything that was put is on the disk.
    async fn is_written(archive: &Archive) -> bool {
        let (reply, answer) = oneshot::channel();
        archive.when_written(move |is_written| _ = reply.send(is_written));
        answer.await.expect("everybody is answered")
    }

    fn shown(kept: &Kept) -> String {
        let keys = kept.state.keys().map(|key| &**key);
        keys.collect::<Vec<_>>().join(" ")
    }

    async fn keys(archive: &Archive) -> Option<String> {
        archive.read(&plugin()).await.map(|kept| shown(&kept))
    }

    fn start(disk: &Disk) -> ArchiveThread {
        let on = disk.clone();
        ArchiveThread::over(disk.open(), Box::new(move || on.try_open()), Duration::MAX)
    }

    #[tokio::test]
    async fn a_disk_that_fails_is_told_of_and_written_when_it_works_again() {
        let disk = Disk::default();
        let thread = start(&disk);
        let archive = thread.archive();
        assert!(put(&archive, "a", 0) && is_written(&archive).await);
        disk.fail_after(0);
        assert!(put(&archive, "b", 0) && !is_written(&archive).await);
        let status = archive.status();
        assert!(status.failed > 0 && status.waiting == 1, "{status:?}");
        assert!(status.error.is_some_and(|error| error.contains("no storage space")), "the reason");
        let (reply, mut answer) = oneshot::channel();
        archive.ask(Ask::Read(Read { plugin: plugin(), reply }));
        // Memory is bounded: what is too much is refused, and the rest is not forgotten.
        assert!(put(&archive, "c", 15) && !put(&archive, "d", 2) && !is_written(&archive).await);
        disk.heal();
        assert!(answer.try_recv().is_err(), "what is there cannot be said");
        assert!(is_written(&archive).await);
        assert_eq!(keys(&archive).await.as_deref(), Some("a b c"));
        assert_eq!(answer.await.map(|kept| shown(&kept)).as_deref(), Ok("a b c"), "in the end");
        let status = archive.status();
        assert_eq!((status.error, status.waiting, status.refused), (None, 0, 1));
        thread.stop().await;
    }

    #[tokio::test]
    async fn what_was_put_before_the_end_is_written() {
        let disk = Disk::default();
        let thread = start(&disk);
        let archive = thread.archive();
        for key in ["a", "b", "c"] {
            assert!(put(&archive, key, 1));
        }
        thread.stop().await;
        let kept = disk.after(true).open().read(&plugin()).expect("it can be read");
        assert_eq!(kept.state.len(), 3);
        assert!(!put(&archive, "d", 0), "nobody is there who would write it");
        assert!(keys(&archive).await.is_none(), "nor anybody who would answer");
    }

    #[tokio::test]
    async fn a_thread_that_ends_by_a_defect_is_told_of_and_nobody_waits_for_it() {
        let disk = Disk::default();
        let store = disk.open();
        let open = || panic!("a defect of ours");
        let thread = ArchiveThread::over(store, Box::new(open), Duration::MAX);
        let archive = thread.archive();
        disk.fail_after(0);
        assert!(put(&archive, "a", 0) && !is_written(&archive).await);
        assert!(!is_written(&archive).await, "who asks what it cannot do any more is answered");
        assert!(!is_written(&archive).await && !put(&archive, "b", 0), "as is who comes later");
        assert!(keys(&archive).await.is_none());
        let error = archive.status().error.expect("it is told");
        assert!(error.contains("start the host anew"), "{error}");
    }

    #[tokio::test]
    async fn what_is_gone_is_noted_when_the_disk_works_again() {
        let disk = Disk::default();
        let keep = Duration::from_secs(60);
        let on = disk.clone();
        let open: Open = Box::new(move || on.try_open());
        let thread = ArchiveThread::over(disk.open(), open, keep);
        let archive = thread.archive();
        let head = Content::Head(crate::archive::Head::default());
        assert!(archive.put([((plugin(), Place::Head), Some(head))].into()));
        assert!(is_written(&archive).await);
        disk.fail_after(0);
        assert!(put(&archive, "a", 0) && !is_written(&archive).await);
        archive.present(BTreeSet::new());
        assert!(!is_written(&archive).await);
        disk.heal();
        assert!(is_written(&archive).await && is_written(&archive).await);
        thread.stop().await;
        let kept = disk.open().read(&plugin()).expect("it can be read");
        assert!(kept.head.is_some_and(|head| head.gone.is_some()), "it is noted");
    }
}
