//! A wait for an instant that may be missing.

use std::time::Instant;

/// Waits until this time; for ever without one.
pub(crate) async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
