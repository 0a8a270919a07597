//! A version that is ready on a host that does not lead yet.

use crate::guest::reads::Reads;
use crate::plugin::loads::Load;
use crate::plugin::prepare::Prepared;
use informant_cache::InformerLease;

/// A version that takes over when this host leads.
pub(crate) struct Standby {
    pub(crate) load: Load,
    pub(crate) prepared: Prepared,
}

/// Keeps informers running until a standby version has its own subscriptions.
pub(crate) struct Warm {
    pub(crate) _reads: Reads,
    pub(crate) _subscriptions: Vec<InformerLease>,
}
