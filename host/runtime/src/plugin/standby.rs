//! A version that is ready on a host that does not lead yet.

use crate::plugin::loads::Load;
use crate::plugin::prepare::Prepared;
use informant_cache::InformerLease;

/// A version that takes over when this host leads.
pub(crate) struct Standby {
    pub(crate) load: Load,
    pub(crate) prepared: Prepared,
}

/// Keeps the informers of a standby version running until the version has its own leases.
pub(crate) struct Warm {
    pub(crate) _leases: Vec<InformerLease>,
}
