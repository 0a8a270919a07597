//! A cluster of pods that costs its server next to nothing, so that what is measured is the client.
//!
//! Pods are templates with holes of fixed width (`template.rs`): to send one is to copy some kilobytes and fill in what
//! differs. It speaks discovery, lists in pages, watches with initial events and bookmarks, in JSON and protobuf. It is
//! read-only; a port of its own takes the commands that change pods. It is no model of a cluster: for that there is
//! the embedded one.

mod cluster;
mod control;
mod field;
mod list;
mod managed_fields;
mod protobuf;
mod selection;
mod server;
mod template;
mod watch;
mod workload;

pub use cluster::Report;
pub use server::{Options, other_resource, run};
pub use workload::{CHOSEN_LABEL, Layout, namespace};

/// The annotation that carries the time of an update, in nanoseconds since 1970, always 19 digits.
pub const STAMP_ANNOTATION: &str = "bench.informant.dev/stamp";
