//! The surroundings of the clients of a run.

use crate::faults::Faults;
use crate::journal::Journal;
use crate::server::Server;

/// The state that all clients of a run share.
#[derive(Clone)]
pub(crate) struct Around {
    pub(crate) server: Server,
    pub(crate) journal: Journal,
    pub(crate) faults: Faults,
    /// Whether some handlers see only a part of a resource.
    pub(crate) views: bool,
    /// Whether some of these parts have selectors.
    pub(crate) selectors: bool,
    /// Whether most of them are of metadata alone.
    pub(crate) mostly_metadata: bool,
}
