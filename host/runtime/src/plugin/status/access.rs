//! The entry in `/plugins` about a plugin's service account.

use super::PluginStatus;
use super::json::namespaces;
use crate::plugin::core::RefusedRead;
use serde_json::{Value, json};

impl PluginStatus {
    /// The number of subscriptions and `reads` that the plugin's service account may not read.
    pub fn refused_reads(&self) -> usize {
        self.access.as_ref().map_or(0, |shown| shown.refused.len())
    }

    /// Null if the plugin has no service account and uses the host's own user.
    pub(super) fn access_json(&self) -> Value {
        self.access.as_ref().map_or(Value::Null, |shown| {
            let refused: Vec<Value> = shown.refused.iter().map(refused_json).collect();
            json!({ "name": shown.account.to_string(), "refused": refused })
        })
    }
}

fn refused_json(refused: &RefusedRead) -> Value {
    json!({
        "subscription": refused.subscription,
        "resource": refused.resource,
        "namespaces": namespaces(refused.namespaces.iter()),
        "state": if refused.is_denied { "denied" } else { "asking" },
        "reason": refused.why,
    })
}
