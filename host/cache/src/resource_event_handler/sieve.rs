//! The question of many handlers about an update, asked once for all of them.

use super::Cause;
use crate::object::Object;
use crate::places::SievePlaces;
use std::sync::Arc;

/// Refuses updates for the handlers in its places, so that a thousand handlers that refuse an update cost little more
/// than one. Called in the informer's task: it must not block.
pub trait Sieve: Send + Sync + 'static {
    /// Removes the places from `places` whose handlers refuse the update: they would do nothing but note that. The sieve
    /// notes it for them.
    fn sift(&self, update: [&Object; 2], cause: Cause, places: &mut SievePlaces);
}

/// A handler's place in a sieve.
#[derive(Clone)]
pub struct SievePlace {
    /// The sieve.
    pub sieve: Arc<dyn Sieve>,
    /// The place. No other handler has it.
    pub place: usize,
}

impl PartialEq for SievePlace {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.sieve, &other.sieve) && self.place == other.place
    }
}

impl Eq for SievePlace {}

impl std::fmt::Debug for SievePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SievePlace").field("place", &self.place).finish_non_exhaustive()
    }
}
