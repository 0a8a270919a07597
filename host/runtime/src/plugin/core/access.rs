//! The service account of a plugin, and the resources that it may not read.

use super::PluginCore;
use crate::contract::descriptor::NamespaceSet;
use crate::outside::service_account::ServiceAccount;

/// The plugin's service account, and the reads that the account may not make.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AccessShown {
    pub(crate) account: ServiceAccount,
    pub(crate) refused: Vec<RefusedRead>,
}

/// A subscription, or one of a descriptor's `reads`, that the plugin does not get now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RefusedRead {
    /// The subscription's name; `None` for one of `reads`.
    pub(crate) subscription: Option<String>,
    pub(crate) resource: String,
    /// Empty: all namespaces.
    pub(crate) namespaces: NamespaceSet,
    /// Whether the API server denied the read. Otherwise the answer is not known yet.
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
    /// Sets the shown access, and returns the earlier one.
    pub(crate) fn shows_access(&self, shown: Option<AccessShown>) -> Option<AccessShown> {
        std::mem::replace(&mut *self.access.lock(), shown)
    }
}
