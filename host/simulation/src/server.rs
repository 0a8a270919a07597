//! The model API server: the embedded cluster's store as etcd, replicas of it that are behind, and the present faults.

mod bodies;
mod replica;
mod state;
mod wire;

pub(crate) use wire::Wire;

use crate::faults::{Fault, Faults};
use crate::history::History;
use crate::journal::Journal;
use crate::signal::Signal;
use informant_apimachinery::GroupVersionResource;
use informant_devcluster::store::{Backup, GroupResource, Store};
use parking_lot::{Mutex, MutexGuard};
use state::timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The number of replicas of the API server.
const REPLICAS: usize = 3;
/// A client with more requests than this for one collection in ten seconds does not wait between requests.
const REQUESTS_IN_TEN_SECONDS_MAX: usize = 60;

/// The probabilities of faults, and the server's options.
#[derive(Clone, Debug)]
pub(crate) struct Temper {
    /// The probability of a fault for a request.
    pub(crate) request_fault: f64,
    /// The probability of a fault for a line of a watch, or a chunk of a list.
    pub(crate) line_fault: f64,
    /// Whether replicas follow each write at once.
    pub(crate) prompt: bool,
    /// The largest page, whatever the client asks for. 0: the page size of the client.
    pub(crate) page_max: usize,
    /// The time between bookmarks. A time longer than the run means none.
    pub(crate) bookmarks: Duration,
}

/// One API server with several replicas. Cheap to clone; clones share the server.
#[derive(Clone)]
pub(crate) struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<ModelServerState>,
    /// Wakes watches after a change.
    changed: Signal,
    /// Breaks all connections.
    cut: Signal,
    journal: Journal,
    faults: Faults,
}

pub(crate) struct ModelServerState {
    store: Store,
    began: Instant,
    pub(crate) temper: Temper,
    random: fastrand::Rng,
    tracked: Vec<Tracked>,
    /// The resourceVersion up to which each replica shows the store.
    visible: [u64; REPLICAS],
    /// Each backup with the resourceVersion at which it was made.
    backups: Vec<(u64, Backup)>,
    rewinds: u64,
    /// Until then, the server does not listen.
    down_until: Instant,
    /// 403 or 401 until then.
    closed: BTreeMap<GroupVersionResource, (Fault, Instant)>,
    no_watch_lists_until: Instant,
    /// Until then, lists are answered and watches are not.
    withheld: BTreeMap<GroupVersionResource, (Fault, Instant)>,
    requests: BTreeMap<String, Vec<Instant>>,
    /// The number of lists in pages that are being answered or read.
    lists: usize,
    /// The largest number of these lists that the client promises.
    lists_max: usize,
}

/// A list that a client has not finished.
pub(super) struct OpenList(Server);

impl Drop for OpenList {
    fn drop(&mut self) {
        self.0.state().lists -= 1;
    }
}

struct Tracked {
    gvr: GroupVersionResource,
    key: GroupResource,
    seen: u64,
    history: History,
}

impl Server {
    pub(crate) fn new(
        mut random: fastrand::Rng,
        temper: Temper,
        resources: &[GroupVersionResource],
        lists_max: usize,
        journal: Journal,
        faults: Faults,
    ) -> Self {
        let now = Instant::now();
        let store = Store::new(random.u64(..), timestamp(Duration::ZERO));
        let visible = [store.resource_version(); REPLICAS];
        let tracked = resources.iter().map(|gvr| Tracked {
            gvr: gvr.clone(),
            key: GroupResource::of(gvr),
            seen: 0,
            history: History::default(),
        });
        let state = ModelServerState {
            store,
            began: now,
            temper,
            random,
            tracked: tracked.collect(),
            visible,
            backups: Vec::new(),
            rewinds: 0,
            down_until: now,
            closed: BTreeMap::new(),
            no_watch_lists_until: now,
            withheld: BTreeMap::new(),
            requests: BTreeMap::new(),
            lists: 0,
            lists_max,
        };
        let shared = Shared {
            state: Mutex::new(state),
            changed: Signal::default(),
            cut: Signal::default(),
            journal,
            faults,
        };
        let server = Self { shared: Arc::new(shared) };
        server.write(|_| ());
        server
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, ModelServerState> {
        self.shared.state.lock()
    }

    fn wake(&self) {
        self.shared.changed.send();
    }

    /// Counts a list that a client has begun.
    fn open_list(&self) -> OpenList {
        let mut state = self.state();
        state.lists += 1;
        let (lists, max) = (state.lists, state.lists_max);
        drop(state);
        self.shared.journal.check(lists <= max, "no more lists run at once than may", || {
            format!("{lists} of {max}")
        });
        OpenList(self.clone())
    }

    /// Changes the store, records the changes, and wakes the watches.
    pub(crate) fn write<T>(&self, write: impl FnOnce(&mut ModelServerState) -> T) -> T {
        let mut state = self.state();
        let outcome = write(&mut state);
        state.track();
        if state.temper.prompt {
            state.visible = [state.store.resource_version(); REPLICAS];
        }
        drop(state);
        self.wake();
        outcome
    }

    /// Advances one replica, by all or a part of the changes that it lacks.
    pub(crate) fn replicate(&self, all: bool) {
        let mut state = self.state();
        let replica = state.random.usize(..REPLICAS);
        let (from, to) = (state.visible[replica], state.store.resource_version());
        if from < to {
            state.visible[replica] = if all { to } else { state.random.u64(from..=to) };
            let at = state.visible[replica];
            self.shared.journal.note(format_args!("replica {replica} is at {at} of {to}"));
        }
        drop(state);
        self.wake();
    }

    /// Advances all replicas to the newest state. A replica that serves a new resource has begun with a list of it.
    pub(crate) fn catch_up(&self) {
        let mut state = self.state();
        state.visible = [state.store.resource_version(); REPLICAS];
        drop(state);
        self.wake();
    }

    /// Forgets the history. A replica that still needed it starts again.
    pub(crate) fn compact(&self) {
        self.shared.faults.meet(Fault::Compaction);
        let mut state = self.state();
        state.store.compact();
        drop(state);
        self.catch_up();
    }

    pub(crate) fn back_up(&self) {
        let mut state = self.state();
        let backup = (state.store.resource_version(), state.store.backup());
        state.backups.push(backup);
        if state.backups.len() > 2 {
            state.backups.remove(0);
        }
    }

    /// Sets the store back to an older backup, if there is one. The server does not listen meanwhile: no etcd is
    /// restored under a running server.
    pub(crate) fn rewind(&self, down: Duration) {
        let mut state = self.state();
        let now = state.store.resource_version();
        let behind = state.backups.iter().rposition(|(version, _)| *version < now);
        let Some(behind) = behind else { return };
        let (to, backup) = state.backups.remove(behind);
        // Later backups are no longer part of the history.
        state.backups.truncate(behind);
        state.store.restore(&backup);
        state.rewinds += 1;
        state.down_until = Instant::now() + down;
        state.visible = [to; REPLICAS];
        state.track_restored();
        drop(state);
        self.shared.faults.meet(Fault::Rewind);
        self.shared.journal.note(format_args!("the store is set back from {now} to {to}"));
        self.cut_all();
        self.wake();
    }

    /// Breaks all connections.
    pub(crate) fn cut_all(&self) {
        self.shared.cut.send();
    }

    pub(crate) fn restart(&self, down: Duration) {
        self.shared.faults.meet(Fault::Restart);
        self.state().down_until = Instant::now() + down;
        self.cut_all();
    }

    /// Answers requests for a resource with 403 or 401 for a while.
    pub(crate) fn close(&self, gvr: &GroupVersionResource, fault: Fault, time: Duration) {
        self.state().closed.insert(gvr.clone(), (fault, Instant::now() + time));
        self.cut_all();
    }

    pub(crate) fn refuse_watch_lists(&self, time: Duration) {
        self.state().no_watch_lists_until = Instant::now() + time;
    }

    /// Answers lists but not watches of a resource for a while.
    pub(crate) fn withhold_watches(
        &self,
        gvr: &GroupVersionResource,
        fault: Fault,
        time: Duration,
    ) {
        self.state().withheld.insert(gvr.clone(), (fault, Instant::now() + time));
        self.cut_all();
    }

    /// Ends all faults except outages, which end at their own time: the restoration of an etcd takes its time. The
    /// replicas advance to the newest state and stay there.
    pub(crate) fn heal(&self) {
        let now = Instant::now();
        let mut state = self.state();
        state.temper.request_fault = 0.0;
        state.temper.line_fault = 0.0;
        state.temper.prompt = true;
        state.closed.clear();
        state.no_watch_lists_until = now;
        state.withheld.clear();
        drop(state);
        self.catch_up();
    }

    /// Reads the history of a resource.
    pub(crate) fn with_history<T>(
        &self,
        gvr: &GroupVersionResource,
        look: impl FnOnce(&History) -> T,
    ) -> T {
        let state = self.state();
        let tracked = state.tracked.iter().find(|tracked| tracked.gvr == *gvr);
        look(&tracked.expect("only tracked resources are asked for").history)
    }
}
