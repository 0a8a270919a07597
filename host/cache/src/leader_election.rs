//! Leader election: of several processes, one leads. Client-go's `tools/leaderelection` for Rust.
//!
//! A Lease names the leader, which renews it. Another process may take the Lease when it has not changed for the lease
//! duration. Each process counts that time on its own clock, from when it saw the last change. The times in the record
//! are for people and are never compared with a clock.
//!
//! **Fencing.** [`Leadership::is_leader`] is computed from the clock at each call. It is true until `renew_deadline`
//! has passed since *before the last successful renewal was sent*. Every other process waits for `lease_duration`
//! since it saw that renewal, which was after it was sent, and `renew_deadline` is the shorter time. So it turns false
//! before another process can lead, even if this process is starved or an answer comes late. This holds as long as the
//! rates of the clocks do not differ by more than `lease_duration / renew_deadline` (1.5 by default). It has three
//! limits. A call that began while this process led may still be under way when it no longer does; for that,
//! [`Leadership::term`] has a number that rises with each new leader. A clock that stands still, as on a machine that
//! sleeps, does not show the time. And if a user deletes or edits the Lease itself, another process can take it at
//! once: then this turns false when the next renewal is refused.
//!
//! Differences from client-go: losing does not end the elector, which goes on as a candidate. Nothing is called back
//! at the end of a process that never led. A request that hangs is given up after half the renew deadline. Candidates
//! for coordinated election (`LeaseCandidate`) are not made, though a Lease of such an election is respected as any
//! other.
//!
//! ```
//! use informant_cache::leader_election::testing::FakeLock;
//! use informant_cache::leader_election::{LeaderElectionConfig, LeaderElector, unique_identity};
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = LeaderElectionConfig::new(unique_identity("web-0"));
//! let lock = Arc::new(FakeLock::default()); // in a cluster: `apiserver.lease_lock("default", "my-controller")`
//! let elector = LeaderElector::new(lock, config)?;
//! let leadership = elector.leadership();
//!
//! let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
//! let electing = tokio::spawn(elector.run(async { drop(stopped.await) }));
//!
//! // Ends when the work does, or is dropped when this process leads no more.
//! let worked = leadership.while_leading(async || "done").await;
//! assert_eq!(worked, Some("done"));
//!
//! drop(stop); // now the lease is released
//! electing.await?;
//! assert!(!leadership.is_leader());
//! # Ok(()) }
//! ```

mod config;
mod elector;
mod leadership;
mod record;
mod resource_lock;
mod state;
pub mod testing;

pub use config::{LeaderElectionConfig, LeaderElectionConfigError, unique_identity};
pub use elector::LeaderElector;
pub use leadership::{Leadership, LeaseOverdue, Term};
pub use record::{LeaderElectionRecord, VersionedRecord};
pub use resource_lock::{LockError, ResourceLock};

#[cfg(test)]
mod simulation_tests;
