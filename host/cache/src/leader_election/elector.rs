//! Carries out the actions of the election's state machine, one request at a time. As client-go's `LeaderElector.Run`.

use super::config::{LeaderElectionConfig, LeaderElectionConfigError};
use super::leadership::{Leadership, now};
use super::resource_lock::{LockError, ResourceLock};
use super::state::{ElectionAction, ElectionInput, ElectionState};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One process's elector.
pub struct LeaderElector {
    lock: Arc<dyn ResourceLock>,
    config: LeaderElectionConfig,
    leadership: Leadership,
}

impl LeaderElector {
    /// An elector, which takes no part before [`LeaderElector::run`].
    pub fn new(
        lock: Arc<dyn ResourceLock>,
        config: LeaderElectionConfig,
    ) -> Result<Self, LeaderElectionConfigError> {
        config.validate()?;
        Ok(Self { lock, config, leadership: Leadership::new() })
    }

    /// The handle that shows the leader.
    pub fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// Takes part until `shutdown` is ready: tries to lead, renews, and tries again after a loss. Then this process no
    /// longer leads, and the lease is given back. That takes up to `renew_deadline` if the server does not answer.
    ///
    /// Dropping this ends the renewals: this process leads until its term is over, and others wait for the lease.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let (mut election, mut action) = ElectionState::new(self.config.clone());
        let mut log = Log { lock: self.lock.describe(), led: false, failure: None };
        tokio::pin!(shutdown);
        let mut cancelled = false;
        loop {
            self.leadership.publish(&election, &self.config.identity);
            log.tell(&election, &self.leadership);
            // The shutdown first: an answer in the same moment no longer matters.
            let input = tokio::select! {
                biased;
                () = &mut shutdown, if !cancelled => {
                    cancelled = true;
                    ElectionInput::Cancelled
                }
                input = self.carry_out(action) => match input {
                    Some(input) => input,
                    None => return,
                },
            };
            action = election.step(input, now(), SystemTime::now());
        }
    }

    /// `None` at the end.
    async fn carry_out(&self, action: ElectionAction) -> Option<ElectionInput> {
        let timeout = self.config.request_timeout();
        Some(match action {
            ElectionAction::Finish => return None,
            ElectionAction::Wait(wait) => {
                tokio::time::sleep(wait).await;
                ElectionInput::Elapsed
            }
            ElectionAction::Get => ElectionInput::Read(within(timeout, self.lock.get()).await),
            ElectionAction::Create(record) => {
                ElectionInput::Written(within(timeout, self.lock.create(record)).await)
            }
            ElectionAction::Update(record, resource_version) => ElectionInput::Written(
                within(timeout, self.lock.update(record, resource_version)).await,
            ),
        })
    }
}

async fn within<T>(
    timeout: Duration,
    request: impl Future<Output = Result<T, LockError>>,
) -> Result<T, LockError> {
    tokio::time::timeout(timeout, request).await.unwrap_or_else(|_| {
        Err(LockError::Unavailable { message: format!("no answer within {timeout:?}") })
    })
}

/// Logs each change once.
struct Log {
    lock: String,
    led: bool,
    failure: Option<LockError>,
}

impl Log {
    fn tell(&mut self, election: &ElectionState, leadership: &Leadership) {
        let leads = leadership.is_leader();
        match (std::mem::replace(&mut self.led, leads), leads) {
            (false, true) => tracing::info!(lock = self.lock, "became leader"),
            (true, false) => tracing::info!(lock = self.lock, "stopped leading"),
            (false, false) | (true, true) => {}
        }
        let failure = election.failure();
        if self.failure.as_ref() != failure {
            if let Some(error) = failure {
                tracing::warn!(lock = self.lock, %error, "leader election's request failed; trying again");
            }
            self.failure = failure.cloned();
        }
    }
}

#[cfg(test)]
mod tests;
