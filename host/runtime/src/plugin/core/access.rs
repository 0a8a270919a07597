//! The service account of a plugin, and the resources that it may not read.

use super::PluginCore;
use crate::outside::service_account::ServiceAccount;

/// Whom it acts as, and what that one may not read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AccessShown {
    pub(crate) account: ServiceAccount,
    pub(crate) refused: Vec<RefusedRead>,
}

/// A subscription, or one of a descriptor's `reads`, that is not for the plugin now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RefusedRead {
    /// Its name; none for one of `reads`.
    pub(crate) subscription: Option<String>,
    pub(crate) resource: String,
    /// Empty: all.
    pub(crate) namespaces: Vec<String>,
    /// Else nobody knows yet.
    pub(crate) is_denied: bool,
    pub(crate) why: String,
}

impl RefusedRead {
    pub(crate) fn is_of_the_same(&self, other: &Self) -> bool {
        let of = |it: &Self| (it.subscription.clone(), it.resource.clone(), it.namespaces.clone());
        of(self) == of(other)
    }
}

impl PluginCore {
    /// Answers what was shown before.
    pub(crate) fn shows_access(&self, shown: Option<AccessShown>) -> Option<AccessShown> {
        std::mem::replace(&mut *self.access.lock(), shown)
    }
}
