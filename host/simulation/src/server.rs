//! The model API server: the embedded cluster's store as etcd, replicas of it that are behind, and what is
//! wrong with them at the moment.

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

/// Replicas of the API server.
const REPLICAS: usize = 3;
/// More requests than this for one collection in ten seconds are a client that does not wait.
const REQUESTS_IN_TEN_SECONDS_MAX: usize = 60;

/// How often things go wrong by themselves, and how the server answers.
#[derive(Clone, Debug)]
pub(crate) struct Temper {
    /// Of a request.
    pub(crate) request_fault: f64,
    /// Of a line of a watch, or a chunk of a list.
    pub(crate) line_fault: f64,
    /// Replicas follow each write at once.
    pub(crate) prompt: bool,
    /// The largest page, whatever the client asks for; 0 for as asked.
    pub(crate) page_max: usize,
    /// Between bookmarks; longer than a run for none.
    pub(crate) bookmarks: Duration,
}

/// One API server of several replicas. Cheap to clone; a clone is the same.
#[derive(Clone)]
pub(crate) struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<ModelServerState>,
    /// Wakes watches: something changed.
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
    /// How far each replica shows the store.
    visible: [u64; REPLICAS],
    /// With the resourceVersions at which they were made.
    backups: Vec<(u64, Backup)>,
    rewinds: u64,
    /// Until when nobody listens.
    down_until: Instant,
    /// 403 or 401 until then.
    closed: BTreeMap<GroupVersionResource, (Fault, Instant)>,
    no_watch_lists_until: Instant,
    /// Lists are answered and watches are not, until then.
    withheld: BTreeMap<GroupVersionResource, (Fault, Instant)>,
    requests: BTreeMap<String, Vec<Instant>>,
    /// Lists in pages that are being answered or read.
    lists: usize,
    /// As the client promises.
    lists_max: usize,
}

/// A list that a client has not done with.
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

    /// A client asks for a list.
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

    /// Changes the store, writes down what changed, and wakes the watches.
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

    /// One replica gets on, by all or by a part of what it lacks.
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

    /// Every replica gets to the newest state: one that serves a new resource has begun with a list of it.
    pub(crate) fn catch_up(&self) {
        let mut state = self.state();
        state.visible = [state.store.resource_version(); REPLICAS];
        drop(state);
        self.wake();
    }

    /// Forgets the past; a replica that still needed it starts anew.
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

    /// Sets the store back to a backup, if there is one that is behind. Nobody listens while that is done: no etcd is
    /// restored under a server that goes on.
    pub(crate) fn rewind(&self, down: Duration) {
        let mut state = self.state();
        let now = state.store.resource_version();
        let behind = state.backups.iter().rposition(|(version, _)| *version < now);
        let Some(behind) = behind else { return };
        let (to, backup) = state.backups.remove(behind);
        // What comes after it never happened.
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

    /// Answers lists of a resource and no watches for a while.
    pub(crate) fn withhold_watches(
        &self,
        gvr: &GroupVersionResource,
        fault: Fault,
        time: Duration,
    ) {
        self.state().withheld.insert(gvr.clone(), (fault, Instant::now() + time));
        self.cut_all();
    }

    /// Ends everything that is wrong, but for what is down and comes back in its time: an etcd is not restored faster for being the
    /// last one. The replicas get to the newest state and stay there.
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

    /// A look at the history of a resource.
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
