//! The behaviour suite: one integration binary, one file per feature, one test per fact.
//!
//! `make behaviour` runs it against the embedded cluster, `make e2e` against a real
//! Kubernetes API server. `make test` ignores facts that take more than 20 s. A fact about the API is the same for both. Where they disagree, the embedded
//! cluster is wrong.

mod bench;
mod burst;

mod api;
mod attacks;
mod cache;
mod cache_examples;
mod compare;
mod deployment;

mod host;
mod kubectl;
mod packages;
