//! The election's record. As client-go's `LeaderElectionRecord` (`tools/leaderelection/resourcelock/interface.go`).

use std::time::{Duration, SystemTime};

/// The election's record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaderElectionRecord {
    /// Empty without a leader.
    pub holder_identity: String,
    /// How long others wait after they saw a change; whole seconds.
    pub lease_duration: Duration,
    /// When the holder took the lease, by the holder's clock.
    pub acquire_time: Option<SystemTime>,
    /// When the holder last wrote the record, by the holder's clock.
    pub renew_time: Option<SystemTime>,
    /// How often the holder changed.
    pub leader_transitions: u32,
}

/// A record as it was read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionedRecord {
    /// The record.
    pub record: LeaderElectionRecord,
    /// Changes with every write; an update names the one that it replaces.
    pub resource_version: String,
}
