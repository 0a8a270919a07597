//! The place of the record. As client-go's `resourcelock.Interface`.

use super::record::{LeaderElectionRecord, VersionedRecord};
use futures::future::BoxFuture;

/// A failed read or write of the record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// There is no record: create it.
    #[error("lock does not exist")]
    NotFound,
    /// Another process wrote or created it: read it again.
    #[error("lock was changed by somebody else")]
    Conflict,
    /// The server refuses for good, until its configuration changes.
    #[error("lock is refused: {message}")]
    Refused {
        /// The server's message.
        message: String,
    },
    /// The request may or may not have been done: try again.
    #[error("lock cannot be reached: {message}")]
    Unavailable {
        /// The known cause.
        message: String,
    },
}

/// A record that only a process with its last version can change.
///
/// Reads give the newest state, never a cached one. Futures may be dropped at any time. A write may then still happen,
/// also later, unless its version is gone by then.
pub trait ResourceLock: Send + Sync + 'static {
    /// The record.
    fn get(&self) -> BoxFuture<'_, Result<VersionedRecord, LockError>>;
    /// Writes the first record; `Conflict` if there is one.
    fn create(
        &self,
        record: LeaderElectionRecord,
    ) -> BoxFuture<'_, Result<VersionedRecord, LockError>>;
    /// Replaces the record of this version; `Conflict` if the version differs.
    fn update(
        &self,
        record: LeaderElectionRecord,
        resource_version: String,
    ) -> BoxFuture<'_, Result<VersionedRecord, LockError>>;
    /// Its name for logs: `default/my-controller`.
    fn describe(&self) -> String;
}
