//! The read side of a Kubernetes API over a trait.

pub mod table;
