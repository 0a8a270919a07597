//! Where the record is kept. Answers to client-go's `resourcelock.Interface`.

use super::record::{LeaderElectionRecord, VersionedRecord};
use futures::future::BoxFuture;

/// A read or write of the record that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// There is no record: create it.
    #[error("lock does not exist")]
    NotFound,
    /// Somebody else wrote it, or created it: read it again.
    #[error("lock was changed by somebody else")]
    Conflict,
    /// The server refuses for good: somebody must change that.
    #[error("lock is refused: {message}")]
    Refused {
        /// What the server said.
        message: String,
    },
    /// It may or may not have been done: try again.
    #[error("lock cannot be reached: {message}")]
    Unavailable {
        /// What is known of it.
        message: String,
    },
}

/// A record that is changed by whoever knows its last version, and by nobody else.
///
/// Reads are of the newest state, never of a cache. Futures may be dropped at any time; a write may then happen all the
/// same, also later, unless its version is gone by then.
pub trait ResourceLock: Send + Sync + 'static {
    /// The record.
    fn get(&self) -> BoxFuture<'_, Result<VersionedRecord, LockError>>;
    /// Writes the first record; `Conflict` where there is one.
    fn create(
        &self,
        record: LeaderElectionRecord,
    ) -> BoxFuture<'_, Result<VersionedRecord, LockError>>;
    /// Replaces the record of this version; `Conflict` where it is another one.
    fn update(
        &self,
        record: LeaderElectionRecord,
        resource_version: String,
    ) -> BoxFuture<'_, Result<VersionedRecord, LockError>>;
    /// What it is, for logs: `default/my-controller`.
    fn describe(&self) -> String;
}
