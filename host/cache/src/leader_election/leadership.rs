//! The present leader, for the rest of the process. As `IsLeader`, `GetLeader`, `Check` and the callbacks of
//! client-go's `LeaderElector`.

use super::resource_lock::LockError;
use super::state::ElectionState;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// A time for which this process leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// How often the holder of the lease had changed when this process took it. It rises with each new leader, as long
    /// as the Lease is not deleted. It is a fencing token for a receiver that remembers the highest one.
    pub transitions: u32,
    /// This process leads before this time of its own clock; a renewal moves it.
    pub valid_until: Instant,
}

/// This process holds the lease and has not renewed it for too long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "lease was not renewed for {overdue:?} longer than it lasts; the process should be restarted"
)]
pub struct LeaseOverdue {
    /// How long ago the lease ran out.
    pub overdue: Duration,
}

/// The leader, as one elector knows it. Cheap to clone; clones share the state.
#[derive(Clone, Debug)]
pub struct Leadership {
    shared: Arc<LeadershipShared>,
}

#[derive(Debug)]
struct LeadershipShared {
    known: Mutex<KnownTerm>,
    /// Notified when the term was set, moved or ended.
    changed: Notify,
    leader: watch::Sender<Option<Box<str>>>,
}

#[derive(Debug, Default)]
struct KnownTerm {
    term: Option<Term>,
    /// The error of the last request.
    failure: Option<LockError>,
    /// The end of the lease that this process holds by the record.
    held_until: Option<Instant>,
}

impl Leadership {
    pub(super) fn new() -> Self {
        let leader = watch::Sender::new(None);
        let shared = LeadershipShared { known: Mutex::default(), changed: Notify::new(), leader };
        Self { shared: Arc::new(shared) }
    }

    pub(super) fn publish(&self, election: &ElectionState, identity: &str) {
        let observed = election.observed();
        let holder = observed.map(|observed| &*observed.versioned.record.holder_identity);
        let held = observed.filter(|_| holder == Some(identity));
        let held_until =
            held.map(|observed| observed.at + observed.versioned.record.lease_duration);
        let failure = election.failure().cloned();
        let known = KnownTerm { term: election.term(), failure, held_until };
        let moved = {
            let mut old = self.shared.known.lock();
            let moved = old.term != known.term;
            *old = known;
            moved
        };
        if moved {
            self.shared.changed.notify_waiters();
        }
        let holder = holder.filter(|holder| !holder.is_empty());
        self.shared.leader.send_if_modified(|leader| {
            let changed = leader.as_deref() != holder;
            if changed {
                *leader = holder.map(Into::into);
            }
            changed
        });
    }

    /// Whether this process leads at this moment of its own clock. It turns false before another process can lead,
    /// even if the elector's task does not run.
    pub fn is_leader(&self) -> bool {
        self.term().is_some()
    }

    /// The term, while this process leads.
    pub fn term(&self) -> Option<Term> {
        let term = self.shared.known.lock().term;
        term.filter(|term| now() < term.valid_until)
    }

    /// The holder of the lease at the last read; `None` before that, or without a holder. Only
    /// [`Leadership::is_leader`] decides about this process.
    pub fn leader(&self) -> Option<Box<str>> {
        self.shared.leader.borrow().clone()
    }

    /// The error of the election's last request to the API server; `None` after a success.
    pub fn failure(&self) -> Option<LockError> {
        self.shared.known.lock().failure.clone()
    }

    /// Every change of [`Leadership::leader`]: client-go's `OnNewLeader`.
    pub fn subscribe(&self) -> watch::Receiver<Option<Box<str>>> {
        self.shared.leader.subscribe()
    }

    /// Waits until this process leads: client-go's `OnStartedLeading`.
    pub async fn acquired(&self) -> Term {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(term) = self.term() {
                return term;
            }
            changed.await;
        }
    }

    /// Waits until this process does not lead: at once if it never did. client-go's `OnStoppedLeading`.
    ///
    /// From the first poll on, another leader in between is noticed, even if nobody polls again until this process leads
    /// anew.
    pub async fn lost(&self) {
        let Some(term) = self.term() else { return };
        self.ended(term).await;
    }

    async fn ended(&self, begun: Term) {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let same = self.term().filter(|term| term.transitions == begun.transitions);
            let Some(term) = same else { return };
            // Any order works: both lead to the same check.
            tokio::select! {
                biased;
                () = changed => {}
                () = tokio::time::sleep_until(term.valid_until.into()) => {}
            }
        }
    }

    /// Waits until this process leads, then runs `work`. `None` if it lost the lead, which drops the work. Call it in
    /// a loop to work in every term.
    pub async fn while_leading<T>(&self, work: impl AsyncFnOnce() -> T) -> Option<T> {
        let term = self.acquired().await;
        // The loss first: a result at that moment was computed by a process that no longer led.
        tokio::select! {
            biased;
            () = self.ended(term) => None,
            worked = work() => Some(worked),
        }
    }

    /// For a health check: an error if this process holds the lease by the record, and the lease ended more than
    /// `tolerance` ago. The process then hangs. client-go's `LeaderElector.Check`.
    pub fn check(&self, tolerance: Duration) -> Result<(), LeaseOverdue> {
        let Some(held_until) = self.shared.known.lock().held_until else { return Ok(()) };
        let overdue = now().saturating_duration_since(held_until);
        if overdue > tolerance { Err(LeaseOverdue { overdue }) } else { Ok(()) }
    }
}

/// Tokio's clock, so that paused time is the election's time too.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
