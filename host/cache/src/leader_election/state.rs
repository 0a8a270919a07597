//! The election as one process sees it: its knowledge, and its next action. Pure: no I/O, no clock.
//!
//! As `tryAcquireOrRenew`, `renew` and `release` of client-go's `tools/leaderelection/leaderelection.go`. The driver
//! (`elector.rs`) carries out one action at a time and returns its result.

use super::config::{JITTER_FACTOR, LeaderElectionConfig};
use super::leadership::Term;
use super::record::{LeaderElectionRecord, VersionedRecord};
use super::resource_lock::LockError;
use std::time::{Duration, Instant, SystemTime};

/// The result of the last action.
#[derive(Clone, Debug)]
pub(super) enum ElectionInput {
    /// The wait is over.
    Elapsed,
    /// The get is answered.
    Read(Result<VersionedRecord, LockError>),
    /// The create or update is answered.
    Written(Result<VersionedRecord, LockError>),
    /// The process is to end; the current action was dropped.
    Cancelled,
}

/// The next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ElectionAction {
    Get,
    Create(LeaderElectionRecord),
    /// Replaces the record of this version.
    Update(LeaderElectionRecord, String),
    Wait(Duration),
    Finish,
}

/// The current action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ElectionPhase {
    Waiting,
    Getting,
    /// `sent` is from before the request; `read` says whether it follows a get of the same round.
    Writing {
        sent: Instant,
        read: bool,
    },
    /// The lease is being given back, until `end`.
    Releasing {
        end: Instant,
    },
    Finished,
}

/// The last seen record.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) versioned: VersionedRecord,
    /// When this version was first seen, after its answer came.
    pub(super) at: Instant,
}

impl Observed {
    fn record(&self) -> &LeaderElectionRecord {
        &self.versioned.record
    }

    /// Whether its holder may still lead.
    fn is_valid(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < self.record().lease_duration
    }
}

#[derive(Clone, Debug)]
pub(super) struct ElectionState {
    config: LeaderElectionConfig,
    random: fastrand::Rng,
    phase: ElectionPhase,
    observed: Option<Observed>,
    /// Set only by a successful write, until `valid_until`.
    term: Option<Term>,
    /// The last error; `None` after a success.
    failure: Option<LockError>,
}

impl ElectionState {
    /// Begins with a get.
    pub(super) fn new(config: LeaderElectionConfig) -> (Self, ElectionAction) {
        let random = fastrand::Rng::with_seed(config.seed);
        let phase = ElectionPhase::Getting;
        (
            Self { config, random, phase, observed: None, term: None, failure: None },
            ElectionAction::Get,
        )
    }

    pub(super) fn term(&self) -> Option<Term> {
        self.term
    }

    pub(super) fn observed(&self) -> Option<&Observed> {
        self.observed.as_ref()
    }

    pub(super) fn failure(&self) -> Option<&LockError> {
        self.failure.as_ref()
    }

    /// `now` is the local clock, and `wall` is written into the record for people.
    pub(super) fn step(
        &mut self,
        input: ElectionInput,
        now: Instant,
        wall: SystemTime,
    ) -> ElectionAction {
        self.term = self.term.filter(|term| now < term.valid_until);
        match (self.phase, input) {
            (ElectionPhase::Releasing { end }, input) => self.release(end, input, now, wall),
            (ElectionPhase::Finished, _) => ElectionAction::Finish,
            (_, ElectionInput::Cancelled) => self.cancel(now),
            (ElectionPhase::Waiting, _) => self.begin(now, wall),
            (ElectionPhase::Getting, ElectionInput::Read(Ok(versioned))) => {
                self.observe(versioned, now);
                self.acquire_or_renew(now, wall)
            }
            (ElectionPhase::Getting, ElectionInput::Read(Err(LockError::NotFound))) => {
                self.create(now, wall)
            }
            (ElectionPhase::Writing { sent, .. }, ElectionInput::Written(Ok(versioned))) => {
                self.won(sent, versioned, now)
            }
            // The fast path had old knowledge.
            (
                ElectionPhase::Writing { read: false, .. },
                ElectionInput::Written(Err(LockError::Conflict | LockError::NotFound)),
            ) => {
                self.phase = ElectionPhase::Getting;
                ElectionAction::Get
            }
            (_, ElectionInput::Read(Err(error)) | ElectionInput::Written(Err(error))) => {
                self.failure = Some(error);
                self.wait(now)
            }
            // Answers to requests that were not made: the driver never gives them.
            (ElectionPhase::Getting | ElectionPhase::Writing { .. }, _) => self.wait(now),
        }
    }

    /// Begins a round. The holder of a valid lease renews it without a get.
    fn begin(&mut self, now: Instant, wall: SystemTime) -> ElectionAction {
        match &self.observed {
            Some(observed) if self.holds(observed) && observed.is_valid(now) => {
                self.phase = ElectionPhase::Writing { sent: now, read: false };
                ElectionAction::Update(
                    self.record(wall),
                    observed.versioned.resource_version.clone(),
                )
            }
            Some(_) | None => {
                self.phase = ElectionPhase::Getting;
                ElectionAction::Get
            }
        }
    }

    fn acquire_or_renew(&mut self, now: Instant, wall: SystemTime) -> ElectionAction {
        let Some(observed) = &self.observed else { return self.wait(now) };
        self.failure = None;
        if self.is_anothers(observed, now) {
            return self.wait(now);
        }
        let resource_version = observed.versioned.resource_version.clone();
        self.phase = ElectionPhase::Writing { sent: now, read: true };
        ElectionAction::Update(self.record(wall), resource_version)
    }

    /// Deleting a Lease does not end its holder's term: a process that saw it waits until it would have run out.
    fn create(&mut self, now: Instant, wall: SystemTime) -> ElectionAction {
        if self.observed.as_ref().is_some_and(|observed| self.is_anothers(observed, now)) {
            return self.wait(now);
        }
        self.phase = ElectionPhase::Writing { sent: now, read: true };
        ElectionAction::Create(self.record(wall))
    }

    fn won(&mut self, sent: Instant, versioned: VersionedRecord, now: Instant) -> ElectionAction {
        self.failure = None;
        let valid_until = sent + self.config.renew_deadline;
        let transitions = versioned.record.leader_transitions;
        self.observe(versioned, now);
        self.term = (now < valid_until).then_some(Term { transitions, valid_until });
        self.wait(now)
    }

    /// Any write is a change.
    fn observe(&mut self, versioned: VersionedRecord, now: Instant) {
        let known = self.observed.as_ref();
        let known = known.map(|observed| &observed.versioned.resource_version);
        if known != Some(&versioned.resource_version) {
            let observed = Observed { versioned, at: now };
            // Its Lease was deleted or edited: another process may lead already.
            self.term = self.term.filter(|_| self.holds(&observed));
            self.observed = Some(observed);
        }
    }

    fn holds(&self, observed: &Observed) -> bool {
        observed.record().holder_identity == self.config.identity
    }

    /// Whether another process may still lead.
    fn is_anothers(&self, observed: &Observed, now: Instant) -> bool {
        let free = observed.record().holder_identity.is_empty();
        !free && !self.holds(observed) && observed.is_valid(now)
    }

    /// The record with which this process leads: renewed if it leads already, else taken.
    fn record(&self, wall: SystemTime) -> LeaderElectionRecord {
        let old = self.observed.as_ref();
        let held = old.filter(|observed| self.holds(observed)).map(Observed::record);
        let transitions = |observed: &Observed| {
            let taken = u32::from(!self.holds(observed));
            observed.record().leader_transitions.saturating_add(taken)
        };
        LeaderElectionRecord {
            holder_identity: self.config.identity.clone(),
            lease_duration: self.config.lease_duration,
            acquire_time: held.map_or(Some(wall), |record| record.acquire_time),
            renew_time: Some(wall),
            leader_transitions: old.map_or(0, transitions),
        }
    }

    fn wait(&mut self, now: Instant) -> ElectionAction {
        self.phase = ElectionPhase::Waiting;
        let period = self.config.retry_period;
        let leads = self.term.is_some_and(|term| now < term.valid_until);
        let stretch = if leads { 0.0 } else { JITTER_FACTOR * self.random.f64() };
        ElectionAction::Wait(period.mul_f64(1.0 + stretch))
    }

    /// From here on this process does not lead, whatever the result of the release.
    fn cancel(&mut self, now: Instant) -> ElectionAction {
        self.term = None;
        let may_hold = matches!(self.phase, ElectionPhase::Writing { .. })
            || self.observed.as_ref().is_some_and(|observed| self.holds(observed));
        if !self.config.release_on_cancel || !may_hold {
            self.phase = ElectionPhase::Finished;
            return ElectionAction::Finish;
        }
        self.phase = ElectionPhase::Releasing { end: now + self.config.renew_deadline };
        ElectionAction::Get
    }

    fn release(
        &mut self,
        end: Instant,
        input: ElectionInput,
        now: Instant,
        wall: SystemTime,
    ) -> ElectionAction {
        let left = end.saturating_duration_since(now);
        let action = match input {
            _ if left.is_zero() => ElectionAction::Finish,
            ElectionInput::Read(Ok(versioned)) => {
                self.observe(versioned, now);
                self.released(wall)
            }
            ElectionInput::Written(Err(LockError::Conflict)) | ElectionInput::Elapsed => {
                ElectionAction::Get
            }
            ElectionInput::Written(Ok(versioned)) => {
                self.observe(versioned, now);
                ElectionAction::Finish
            }
            ElectionInput::Read(Err(LockError::NotFound))
            | ElectionInput::Written(Err(LockError::NotFound)) => ElectionAction::Finish,
            ElectionInput::Read(Err(error)) | ElectionInput::Written(Err(error)) => {
                self.failure = Some(error);
                ElectionAction::Wait(self.config.retry_period.min(left))
            }
            ElectionInput::Cancelled => ElectionAction::Get,
        };
        if action == ElectionAction::Finish {
            self.phase = ElectionPhase::Finished;
        }
        action
    }

    /// An empty holder and a lease of one second, if this process still holds it.
    fn released(&self, wall: SystemTime) -> ElectionAction {
        match &self.observed {
            Some(observed) if self.holds(observed) => {
                let record = LeaderElectionRecord {
                    holder_identity: String::new(),
                    lease_duration: Duration::from_secs(1),
                    acquire_time: Some(wall),
                    renew_time: Some(wall),
                    leader_transitions: observed.record().leader_transitions,
                };
                ElectionAction::Update(record, observed.versioned.resource_version.clone())
            }
            Some(_) | None => ElectionAction::Finish,
        }
    }
}

#[cfg(test)]
mod tests;
