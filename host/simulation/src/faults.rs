//! What goes wrong in a run, counted: a run of many seeds in which one of them never happened proves nothing
//! about it.

use crate::journal::Journal;
use parking_lot::Mutex;
use std::sync::Arc;

macro_rules! faults {
    ($($(#[doc = $doc:literal])* $name:ident = $word:literal,)*) => {
        /// A misbehaviour of the API server, of the network, or of a handler.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $($(#[doc = $doc])* $name,)* }

        impl Fault {
            /// Every one.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// As reports name it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

faults! {
    /// A watch ends without a word.
    CutCleanly = "stream cut cleanly",
    /// A connection breaks, often within a line.
    CutWithError = "stream cut with an error",
    /// A watch-list ends before its end bookmark.
    CutWithinInitialEvents = "cut within the initial events",
    /// A list ends before its end.
    CutWithinList = "cut within a list",
    /// Half-open: no bytes for long, or ever.
    Stall = "stalled stream",
    /// The same event twice in a row.
    Duplicate = "duplicated event",
    /// Initial events in another order than the keys', which the API allows; later events of one watch come in
    /// the order of their resourceVersions, always.
    Reordered = "initial events in another order",
    /// An error in the place of a page after the first.
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
    /// A line that is no JSON, or an event of no known type.
    Garbage = "garbage line",
    /// An object without a name, in a list or a watch.
    Malformed = "malformed object",
    /// A watch-list whose end bookmark never comes.
    NoEndBookmark = "no end bookmark",
    /// A watch-list whose end bookmark says `false`.
    FalseEndBookmark = "end bookmark that says false",
    /// A server that does not know watch-lists.
    NoWatchLists = "watch-lists refused",
    /// All connections break, and none is accepted for a while.
    Restart = "server restart",
    /// A request while nobody listens.
    ConnectionRefused = "connection refused",
    /// A replica that does not get as far as it is asked to.
    TooLargeVersion = "resourceVersion too large",
    /// The store is set back to a backup; resourceVersions are handed out again.
    Rewind = "rewind",
    /// 403 for a while.
    Forbidden = "403",
    /// 403 for all namespaces at once for a while.
    ForbiddenWhole = "403 for all namespaces",
    /// 401 for a while.
    Unauthorized = "401",
    /// 403 to watches for a while or for good, while lists are answered.
    WatchForbidden = "403 to watches",
    /// 405 in the same way.
    WatchNotAllowed = "405 to watches",
    /// 404 in the same way.
    WatchAbsent = "404 to watches",
    /// 502 in the same way, of a proxy.
    WatchBadGateway = "502 to watches",
    /// Each watch ends at once.
    WatchEndsAtOnce = "watches that end at once",
    /// The resource is not served for a while.
    Absent = "resource absent",
    /// An answer or a part of one that takes long.
    Slow = "slow answer",
    /// The past is forgotten.
    Compaction = "compaction",
    /// A request that a replica answers which is behind.
    Behind = "replica that is behind",
    /// A handler panics.
    HandlerPanics = "handler panics",
}

/// The ways in which there are lists and no watches.
pub(crate) const WITHOUT_WATCHES: [Fault; 5] = [
    Fault::WatchForbidden,
    Fault::WatchNotAllowed,
    Fault::WatchAbsent,
    Fault::WatchBadGateway,
    Fault::WatchEndsAtOnce,
];

/// How often each fault was met.
#[derive(Clone, Debug, Default)]
pub struct FaultCounts {
    counts: Vec<u64>,
}

impl FaultCounts {
    /// How often.
    pub fn of(&self, fault: Fault) -> u64 {
        self.counts.get(fault as usize).copied().unwrap_or(0)
    }

    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        self.counts.resize(Fault::ALL.len(), 0);
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// Those that were never met.
    pub fn never_met(&self) -> Vec<Fault> {
        Fault::ALL.iter().copied().filter(|fault| self.of(*fault) == 0).collect()
    }
}

/// Where a run counts. Cheap to clone; a clone is the same.
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

    /// A fault is met by a client.
    pub(crate) fn meet(&self, fault: Fault) {
        self.counts.lock().counts[fault as usize] += 1;
        self.journal.note(format_args!("fault: {}", fault.as_str()));
    }

    pub(crate) fn counts(&self) -> FaultCounts {
        self.counts.lock().clone()
    }
}
