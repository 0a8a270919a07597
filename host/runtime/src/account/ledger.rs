//! The parts of a plugin's account that no other counter has.

use super::held::Overdraft;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The part of the account that a plugin's indexes have.
pub(crate) const INDEXES: &str = "indexes";

/// A part with the life time of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holding {
    /// Linear memories, instance data and tables of all instances.
    Instances,
    /// The stacks of their calls.
    Stacks,
    /// Compiled code of all kept versions.
    Code,
    /// Descriptors and configurations of these versions.
    Documents,
    /// Bodies of the requests that wait for answers, and room for those answers.
    Requests,
}

/// An object that holds memory for a plugin. If several plugins share the object, each is charged for it.
pub(crate) trait Weighed: Send + Sync {
    /// The part of the account.
    fn part(&self) -> &'static str;
    /// Its bytes now. An estimate.
    fn bytes(&self) -> u64;
}

/// The ledger of one plugin's account. It belongs to the plugin's name.
#[derive(Default)]
pub(crate) struct Ledger {
    /// By [`Holding`].
    held: [AtomicU64; 5],
    /// The bytes of all other parts but indexes at the last reading, at most a second ago.
    read: AtomicU64,
    /// The bytes of indexes at that reading.
    indexes_read: AtomicU64,
    /// Indexes, possibly shared with other plugins, and recordings.
    weighed: Mutex<Vec<Weak<dyn Weighed>>>,
    /// Nanoseconds of its selectors, pointers and indexes in informers' tasks, and of its filters.
    evaluation: AtomicU64,
    /// Nanoseconds of processors.
    processor: AtomicU64,
    /// Nanoseconds, by the clock, of checking and compiling its files.
    compile: AtomicU64,
    log_bytes: AtomicU64,
    /// The sum of all parts that the last refused request would have reached.
    wanted: AtomicU64,
    /// The reason for which an instance in charge could not grow.
    refused: Mutex<Option<String>>,
}

impl Holding {
    /// In the order of their numbers.
    pub(crate) const ALL: [Self; 5] =
        [Self::Instances, Self::Stacks, Self::Code, Self::Documents, Self::Requests];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Instances => "instances",
            Self::Stacks => "stacks",
            Self::Code => "code",
            Self::Documents => "documents",
            Self::Requests => "requests",
        }
    }
}

impl Ledger {
    pub(super) fn add(&self, holding: Holding, bytes: u64) {
        self.held[holding as usize].fetch_add(bytes, Relaxed);
    }

    pub(super) fn remove(&self, holding: Holding, bytes: u64) {
        self.held[holding as usize].fetch_sub(bytes, Relaxed);
    }

    /// Bytes that are held now.
    pub(crate) fn held(&self, holding: Holding) -> u64 {
        self.held[holding as usize].load(Relaxed)
    }

    /// The held bytes and the last reading of the other parts, by part.
    pub(super) fn parts(&self) -> Vec<(&'static str, u64)> {
        let held = Holding::ALL.map(|holding| (holding.name(), self.held(holding)));
        let indexes = self.indexes_read.load(Relaxed);
        held.into_iter().chain(self.others()).chain([(INDEXES, indexes)]).collect()
    }

    fn others(&self) -> [(&'static str, u64); 1] {
        [("others", self.read.load(Relaxed))]
    }

    /// Notes the bytes of indexes, and those of all other parts, for requests before the next reading.
    pub(crate) fn note_read(&self, indexes: u64, others: u64) {
        self.indexes_read.store(indexes, Relaxed);
        self.read.store(others, Relaxed);
    }

    /// Charges the object to the plugin while it lives. May be called again.
    pub(crate) fn weighs(&self, one: Weak<dyn Weighed>) {
        let mut weighed = self.weighed.lock();
        weighed.retain(|other| other.strong_count() > 0 && !Weak::ptr_eq(other, &one));
        weighed.push(one);
    }

    /// Bytes of all weighed objects of this part.
    pub(crate) fn weighed_bytes(&self, part: &str) -> u64 {
        let weighed = self.weighed.lock();
        let of_part = weighed.iter().filter_map(Weak::upgrade).filter(|one| one.part() == part);
        of_part.map(|one| one.bytes()).sum()
    }

    /// Whether all parts together may have what they have, with the newest size of the indexes.
    pub(crate) fn check_indexes(&self, most: u64) -> Result<(), Overdraft> {
        let held = Holding::ALL.map(|holding| (holding.name(), self.held(holding)));
        let indexes = [(INDEXES, self.weighed_bytes(INDEXES))];
        let parts: Vec<_> = held.into_iter().chain(self.others()).chain(indexes).collect();
        let sum = parts.iter().map(|(_, bytes)| *bytes).sum();
        if sum <= most {
            return Ok(());
        }
        self.wants(sum);
        Err(Overdraft::new(sum, most, &parts))
    }

    /// Notes the time of an evaluation, in an informer's task or before a call.
    pub(crate) fn evaluated(&self, time: Duration) {
        self.evaluation.fetch_add(nanoseconds(time), Relaxed);
    }

    /// Notes the processor time of an actor's turn.
    pub(crate) fn computed(&self, time: Duration) {
        self.processor.fetch_add(nanoseconds(time), Relaxed);
    }

    /// Processor time of all turns of its actors: of the guest, of host functions and of its queue.
    pub(crate) fn processor(&self) -> Duration {
        Duration::from_nanos(self.processor.load(Relaxed))
    }

    pub(crate) fn evaluation(&self) -> Duration {
        Duration::from_nanos(self.evaluation.load(Relaxed))
    }

    /// Notes the time of checking and compiling a file.
    pub(crate) fn compiled(&self, time: Duration) {
        self.compile.fetch_add(nanoseconds(time), Relaxed);
    }

    pub(crate) fn compile(&self) -> Duration {
        Duration::from_nanos(self.compile.load(Relaxed))
    }

    /// Notes the bytes of a log line.
    pub(crate) fn logged(&self, bytes: usize) {
        self.log_bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(crate) fn log_bytes(&self) -> u64 {
        self.log_bytes.load(Relaxed)
    }

    pub(super) fn wants(&self, bytes: u64) {
        self.wanted.store(bytes, Relaxed);
    }

    /// The sum of all parts that the last refused request would have reached.
    pub(crate) fn wanted(&self) -> u64 {
        self.wanted.load(Relaxed)
    }

    /// Notes that an instance in charge could not grow: the plugin is to be stopped.
    pub(crate) fn refused(&self, reason: String) {
        self.refused.lock().get_or_insert(reason);
    }

    /// Takes the reason for which an instance in charge could not grow.
    pub(crate) fn take_refused(&self) -> Option<String> {
        self.refused.lock().take()
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("held", &self.held).finish_non_exhaustive()
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
