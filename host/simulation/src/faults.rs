//! The faults of a run, counted. A run of many seeds proves nothing about a fault that never happened.

use crate::journal::Journal;
use parking_lot::Mutex;
use std::sync::Arc;

macro_rules! faults {
    ($($(#[doc = $doc:literal])* $name:ident = $word:literal,)*) => {
        /// A fault of the API server, of the network, or of a handler.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $($(#[doc = $doc])* $name,)* }

        impl Fault {
            /// All faults.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in reports.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

faults! {
    /// A watch ends without an error.
    CutCleanly = "stream cut cleanly",
    /// A connection breaks, often within a line.
    CutWithError = "stream cut with an error",
    /// A watch-list ends before its end bookmark.
    CutWithinInitialEvents = "cut within the initial events",
    /// A list ends early.
    CutWithinList = "cut within a list",
    /// Half-open: no bytes for a long time, or forever.
    Stall = "stalled stream",
    /// The same event twice in a row.
    Duplicate = "duplicated event",
    /// Initial events in another order than that of the keys, which the API allows. Later events of a watch always
    /// come in the order of their resourceVersions.
    Reordered = "initial events in another order",
    /// An error instead of a page after the first.
    PageError = "error on a later page",
    /// 410 for a continue token.
    ExpiredToken = "expired continue token",
    /// 410 as the answer to a watch or list.
    ExpiredAtStart = "410 at the start",
    /// 410 as an event of a watch.
    ExpiredInStream = "410 in mid-stream",
    /// 429 with Retry-After.
    TooManyRequests = "429 with Retry-After",
    /// 429 as an event of a watch.
    TooManyRequestsInStream = "429 in mid-stream",
    /// 500 as an answer.
    InternalError = "500",
    /// 500 as an event of a watch.
    InternalErrorInStream = "500 in mid-stream",
    /// 503 as an answer.
    Unavailable = "503",
    /// A line that is not JSON, or an event of an unknown type.
    Garbage = "garbage line",
    /// An object without a name, in a list or a watch.
    Malformed = "malformed object",
    /// A watch-list whose end bookmark never comes.
    NoEndBookmark = "no end bookmark",
    /// A watch-list whose end bookmark has the value `false`.
    FalseEndBookmark = "end bookmark that says false",
    /// A server without watch-lists.
    NoWatchLists = "watch-lists refused",
    /// All connections break, and no new one is accepted for a while.
    Restart = "server restart",
    /// A request while the server does not listen.
    ConnectionRefused = "connection refused",
    /// A replica that does not reach the requested version.
    TooLargeVersion = "resourceVersion too large",
    /// The store is set back to a backup, and later changes get the same resourceVersions again.
    Rewind = "rewind",
    /// 403 for a while.
    Forbidden = "403",
    /// 403 for all namespaces at once for a while.
    ForbiddenWhole = "403 for all namespaces",
    /// 401 for a while.
    Unauthorized = "401",
    /// 403 to watches, for a while or forever, while lists are answered.
    WatchForbidden = "403 to watches",
    /// 405, in the same way.
    WatchNotAllowed = "405 to watches",
    /// 404, in the same way.
    WatchAbsent = "404 to watches",
    /// 502 from a proxy, in the same way.
    WatchBadGateway = "502 to watches",
    /// Each watch ends at once.
    WatchEndsAtOnce = "watches that end at once",
    /// The resource is not served for a while.
    Absent = "resource absent",
    /// An answer or a part of one that takes a long time.
    Slow = "slow answer",
    /// The history is forgotten.
    Compaction = "compaction",
    /// A replica that is behind answers a request.
    Behind = "replica that is behind",
    /// A handler panics.
    HandlerPanics = "handler panics",
}

/// The faults that leave lists and end watches.
pub(crate) const WITHOUT_WATCHES: [Fault; 5] = [
    Fault::WatchForbidden,
    Fault::WatchNotAllowed,
    Fault::WatchAbsent,
    Fault::WatchBadGateway,
    Fault::WatchEndsAtOnce,
];

/// The number of times that each fault was met.
#[derive(Clone, Debug, Default)]
pub struct FaultCounts {
    counts: Vec<u64>,
}

impl FaultCounts {
    /// The number of times that this fault was met.
    pub fn of(&self, fault: Fault) -> u64 {
        self.counts.get(fault as usize).copied().unwrap_or(0)
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        self.counts.resize(Fault::ALL.len(), 0);
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// The faults that were never met.
    pub fn never_met(&self) -> Vec<Fault> {
        Fault::ALL.iter().copied().filter(|fault| self.of(*fault) == 0).collect()
    }
}

/// The counter of a run. Cheap to clone; clones share the counts.
#[derive(Clone)]
pub(crate) struct Faults {
    counts: Arc<Mutex<FaultCounts>>,
    journal: Journal,
}

impl Faults {
    pub(crate) fn new(journal: Journal) -> Self {
        let counts = FaultCounts { counts: vec![0; Fault::ALL.len()] };
        Self { counts: Arc::new(Mutex::new(counts)), journal }
    }

    /// Counts a fault that a client met.
    pub(crate) fn meet(&self, fault: Fault) {
        self.counts.lock().counts[fault as usize] += 1;
        self.journal.note(format_args!("fault: {}", fault.as_str()));
    }

    pub(crate) fn counts(&self) -> FaultCounts {
        self.counts.lock().clone()
    }
}
