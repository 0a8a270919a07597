//! A Kubernetes API in memory for kubectl and other clients: the embedded cluster of the demo and of tests. Its
//! synchronous [`store`] is the model server of simulations.
//!
//! It keeps objects and reports their changes; it runs no controllers and no admission. `informant-apiserver` answers
//! clients' reads from the store, and this crate carries out their writes.

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
