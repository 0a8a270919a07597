//! Whether a caller gets pages that may have values of Secrets: logs and dead letters of plugins, and `why` for a Secret.

/// The layer of each listener says it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretAccess {
    /// To the host's user, or to a caller with the right to the path.
    Served,
    /// Any user of this machine may be the caller.
    Refused,
}
