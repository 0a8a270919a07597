//! Facts about `informant-cache` as a library: what informers and their handlers make of a cluster that is real in
//! everything but its size. No plugin is involved.
//!
//! Informers speak through a proxy that facts cut and open, facts speak to the cluster directly.

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
