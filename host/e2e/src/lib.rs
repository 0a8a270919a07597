//! What the behaviour suite stands on: clusters to test against, an API client that hides nothing, and
//! the host as a child process.
//!
//! The facts themselves are in `tests/it`. The same facts run against either cluster; `INFORMANT_E2E`
//! chooses ([`cluster::ClusterKind`]). Where the two disagree, the embedded one is wrong.

pub mod api;
pub mod child;
pub mod cluster;
pub mod described;
pub mod election;
pub mod host;
pub mod http;
pub mod kubectl;
mod line;
pub mod paths;
pub mod percentiles;
pub mod permissions;
pub mod poll;
pub mod printed;
pub mod process_stats;
pub mod promises;
pub mod proxy;
pub mod siege;
pub mod skip;
pub mod soak;
pub mod stalls;
pub mod storm;
pub mod user;
