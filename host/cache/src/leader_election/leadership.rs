//! Who leads, for everybody else in the process. Answers to `IsLeader`, `GetLeader`, `Check` and the callbacks of
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
    /// How often the holder of the lease had changed when this process took it. It rises with each new leader, as long as nobody
    /// deletes the Lease: a fencing token for whom keeps the highest one it saw.
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

/// Who leads, as one elector knows it. Cheap to clone; a clone sees the same.
#[derive(Clone, Debug)]
pub struct Leadership {
    shared: Arc<LeadershipShared>,
}

#[derive(Debug)]
struct LeadershipShared {
    known: Mutex<KnownTerm>,
    /// The term was set, moved or ended.
    changed: Notify,
    leader: watch::Sender<Option<Box<str>>>,
}

#[derive(Debug, Default)]
struct KnownTerm {
    term: Option<Term>,
    /// Why the last request failed.
    failure: Option<LockError>,
    /// Until when the lease lasts that this process holds by the record.
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

    /// Whether this process leads at this moment of its own clock. It turns false before another process can
    /// lead, even if the elector's task does not run.
    pub fn is_leader(&self) -> bool {
        self.term().is_some()
    }

    /// The term, while this process leads.
    pub fn term(&self) -> Option<Term> {
        let term = self.shared.known.lock().term;
        term.filter(|term| now() < term.valid_until)
    }

    /// Who held the lease when it was last looked at; none before that, or when nobody did. What is true of this process
    /// says [`Leadership::is_leader`] alone.
    pub fn leader(&self) -> Option<Box<str>> {
        self.shared.leader.borrow().clone()
    }

    /// Why the election's last request to the API server failed; none if it did not.
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
    pub async fn lost(&self) {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let Some(term) = self.term() else { return };
            // Any order will do: both lead to the same look.
            tokio::select! {
                biased;
                () = changed => {}
                () = tokio::time::sleep_until(term.valid_until.into()) => {}
            }
        }
    }

    /// Waits until this process leads, then works; none if it lost the lead, at which the work is dropped. Call it in a loop to
    /// work in every term.
    pub async fn while_leading<T>(&self, work: impl AsyncFnOnce() -> T) -> Option<T> {
        self.acquired().await;
        // The loss first: what is ready at that moment was worked out by one that led no more.
        tokio::select! {
            biased;
            () = self.lost() => None,
            worked = work() => Some(worked),
        }
    }

    /// For a health check: an error when this process holds the lease by the record but has let it run out more than `tolerance` ago,
    /// that is, when it hangs. client-go's `LeaderElector.Check`.
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
