//! Shared informers: client-go's `tools/cache` for Rust.

mod object;
mod resource_event_handler;

pub use object::{Object, ObjectKey};
pub use resource_event_handler::{Cause, FinalState, Reason, ResourceEventHandler};
