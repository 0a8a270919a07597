//! A wait for an instant that may be missing.

use std::time::Instant;

/// Never without a time.
pub(crate) async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
