//! Facts about `informant-cache` as a library: informers and their handlers against a cluster that is real except for
//! its size. No plugin is involved.
//!
//! Informers connect through a proxy that facts cut and open. Facts connect to the cluster directly.

mod bench;
mod replay;

pub mod custom_resources;
mod leader_election;
mod relist;
mod restarts;
mod rewind;
mod same_bytes;
mod scopes;
mod typed_listers;
mod withdrawn_permission;
