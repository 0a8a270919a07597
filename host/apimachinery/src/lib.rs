//! What both ends of the Kubernetes wire share. No I/O happens here.

mod group_version_resource;

pub use group_version_resource::{GroupVersionResource, ParseGroupVersionResourceError};
