//! A Kubernetes API in memory that kubectl works against: the embedded cluster of demo and tests, and with
//! its synchronous [`store`] the model server of simulations.
//!
//! It keeps objects and tells of their changes; it runs no controllers and no admission. What a client reads
//! is answered by `informant-apiserver` over the store, what it writes by this crate.

mod body;
mod built_in;
mod cluster;
mod conformance;
mod faults;
#[cfg(test)]
mod fuzz;
mod kubeconfig;
pub mod patch;
mod protobuf;
mod reviews;
mod server;
pub mod store;
pub mod traffic;
mod writer;

pub use built_in::stored as built_in_resources;
pub use cluster::Cluster;
pub use faults::Faults;
pub use server::{DevCluster, DevClusterError, DevClusterOptions};
