//! The reasons for which a read has no answer.

use informant_cache::IndexerError;

/// The reason for which a read has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// The plugin has not asked for the read.
    NotGranted(String),
    /// The plugin has asked for the read, and a grant of the configuration or a permission of its service account is
    /// missing.
    Withdrawn(String),
    UnknownIndex(String),
    NotSynced(String),
    Invalid(String),
    /// The call's time is over.
    DeadlineExceeded,
}

impl ReadError {
    /// Whether the cluster or a grant was missing: the same read may succeed later.
    pub(crate) fn is_hindrance(&self) -> bool {
        match self {
            Self::Withdrawn(_) | Self::NotSynced(_) => true,
            Self::NotGranted(_)
            | Self::UnknownIndex(_)
            | Self::Invalid(_)
            | Self::DeadlineExceeded => false,
        }
    }
}

impl From<IndexerError> for ReadError {
    fn from(error: IndexerError) -> Self {
        match error {
            IndexerError::UnknownIndex(_) => Self::UnknownIndex(error.to_string()),
            IndexerError::IndexExists(_) | IndexerError::InvalidCursor(_) => {
                Self::Invalid(error.to_string())
            }
        }
    }
}
