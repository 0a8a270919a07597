//! A Kubernetes API in memory that kubectl works against.

pub mod patch;
