//! What `/plugins` shows of a plugin that acts as a service account.

use super::{PluginStatus, StatusCell};
use crate::service_account::ServiceAccount;
use serde_json::{Value, json};

/// Whom it acts as, and what that one may not read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AccessShown {
    pub(crate) account: ServiceAccount,
    pub(crate) refused: Vec<Refused>,
}

/// A subscription, or one of a descriptor's `reads`, that is not for the plugin now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refused {
    /// Its name; none for one of `reads`.
    pub(crate) subscription: Option<String>,
    pub(crate) resource: String,
    /// Empty: all.
    pub(crate) namespaces: Vec<String>,
    /// Else nobody knows yet.
    pub(crate) is_denied: bool,
    pub(crate) why: String,
}

impl Refused {
    pub(crate) fn is_of_the_same(&self, other: &Self) -> bool {
        let of = |it: &Self| (it.subscription.clone(), it.resource.clone(), it.namespaces.clone());
        of(self) == of(other)
    }

    fn to_json(&self) -> Value {
        json!({
            "subscription": self.subscription,
            "resource": self.resource,
            "namespaces": self.namespaces,
            "state": if self.is_denied { "denied" } else { "asking" },
            "reason": self.why,
        })
    }
}

impl StatusCell {
    /// Answers what was shown before.
    pub(crate) fn shows_access(&self, shown: Option<AccessShown>) -> Option<AccessShown> {
        std::mem::replace(&mut *self.access.lock(), shown)
    }
}

impl PluginStatus {
    /// How many of its subscriptions and `reads` the service account that it acts as may not read.
    pub fn refused_reads(&self) -> usize {
        self.access.as_ref().map_or(0, |shown| shown.refused.len())
    }

    /// Null where it acts as the host's own user.
    pub(super) fn access_json(&self) -> Value {
        self.access.as_ref().map_or(Value::Null, |shown| {
            let refused: Vec<Value> = shown.refused.iter().map(Refused::to_json).collect();
            json!({ "name": shown.account.to_string(), "refused": refused })
        })
    }
}
