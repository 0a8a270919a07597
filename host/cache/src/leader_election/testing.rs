//! A lock in memory for tests of elections: a server's conflicts, and failures, delays and lost answers on demand. As
//! the fake clientset with reactors of client-go's `leaderelection_test.go`.

use super::record::{LeaderElectionRecord, VersionedRecord};
use super::resource_lock::{LockError, ResourceLock};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// A request to the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`ResourceLock::get`].
    Get,
    /// [`ResourceLock::create`].
    Create,
    /// [`ResourceLock::update`].
    Update,
}

/// The fault of one request.
#[derive(Clone, Debug, Default)]
pub struct Fault {
    /// The request takes so long to arrive.
    pub request_delay: Duration,
    /// The request gets this answer and is not carried out.
    pub error: Option<LockError>,
    /// The answer takes so long.
    pub answer_delay: Duration,
    /// The answer never comes, though the request is carried out.
    pub answer_lost: bool,
}

/// A lock in memory. Cheap to clone; clones share the lock.
#[derive(Clone, Default)]
pub struct FakeLock {
    inner: Arc<Mutex<LockState>>,
}

#[derive(Default)]
struct LockState {
    stored: Option<VersionedRecord>,
    version: u64,
    calls: Vec<Call>,
    faults: VecDeque<(Call, Fault)>,
}

impl FakeLock {
    /// Writes a record, as another process would.
    pub fn put(&self, record: LeaderElectionRecord) {
        self.inner.lock().write(record);
    }

    /// Deletes the record.
    pub fn delete(&self) {
        self.inner.lock().stored = None;
    }

    /// The record, if there is one.
    pub fn record(&self) -> Option<LeaderElectionRecord> {
        self.inner.lock().stored.as_ref().map(|stored| stored.record.clone())
    }

    /// Every request since the last call of this, in order.
    pub fn take_calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.inner.lock().calls)
    }

    /// Gives this fault to the next request of this kind without one.
    pub fn fail_next(&self, call: Call, fault: Fault) {
        self.inner.lock().faults.push_back((call, fault));
    }

    async fn answer(
        &self,
        call: Call,
        act: impl FnOnce(&mut LockState) -> Result<VersionedRecord, LockError>,
    ) -> Result<VersionedRecord, LockError> {
        let fault = self.inner.lock().begin(call);
        if !fault.request_delay.is_zero() {
            tokio::time::sleep(fault.request_delay).await;
        }
        let answer = match fault.error {
            Some(error) => Err(error),
            None => act(&mut self.inner.lock()),
        };
        if fault.answer_lost {
            return std::future::pending().await;
        }
        if !fault.answer_delay.is_zero() {
            tokio::time::sleep(fault.answer_delay).await;
        }
        answer
    }
}

impl LockState {
    fn begin(&mut self, call: Call) -> Fault {
        self.calls.push(call);
        let place = self.faults.iter().position(|(of, _)| *of == call);
        place
            .and_then(|place| self.faults.remove(place))
            .map(|(_, fault)| fault)
            .unwrap_or_default()
    }

    fn write(&mut self, record: LeaderElectionRecord) -> VersionedRecord {
        self.version += 1;
        let stored = VersionedRecord { record, resource_version: self.version.to_string() };
        self.stored = Some(stored.clone());
        stored
    }
}

impl ResourceLock for FakeLock {
    fn get(&self) -> BoxFuture<'_, Result<VersionedRecord, LockError>> {
        Box::pin(self.answer(Call::Get, |inner| inner.stored.clone().ok_or(LockError::NotFound)))
    }

    fn create(
        &self,
        record: LeaderElectionRecord,
    ) -> BoxFuture<'_, Result<VersionedRecord, LockError>> {
        Box::pin(self.answer(Call::Create, |inner| match inner.stored {
            Some(_) => Err(LockError::Conflict),
            None => Ok(inner.write(record)),
        }))
    }

    fn update(
        &self,
        record: LeaderElectionRecord,
        resource_version: String,
    ) -> BoxFuture<'_, Result<VersionedRecord, LockError>> {
        Box::pin(self.answer(Call::Update, move |inner| match &inner.stored {
            None => Err(LockError::NotFound),
            Some(stored) if stored.resource_version == resource_version => Ok(inner.write(record)),
            Some(_) => Err(LockError::Conflict),
        }))
    }

    fn describe(&self) -> String {
        "lock in memory".to_owned()
    }
}
