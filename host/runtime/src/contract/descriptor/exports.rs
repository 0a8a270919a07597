//! Compares a plugin's descriptor with its exports.

use super::{Descriptor, DescriptorError, error};
use crate::contract::component::Exported;

impl Descriptor {
    /// Checks that the plugin exports the functions that its descriptor needs.
    pub(crate) fn check_exports(&self, exported: Exported) -> Result<(), DescriptorError> {
        for subscription in &self.subscriptions {
            let problem = match subscription.enqueue.is_empty() {
                true if !exported.handler => {
                    "no `enqueue` rules, and the plugin exports no handler"
                }
                false if !exported.reconciler => {
                    "`enqueue` rules, and the plugin exports no reconciler"
                }
                _ => continue,
            };
            let name = &subscription.name;
            return Err(error("subscriptions", format!("{name:?} has {problem}")));
        }
        match self.schedules.is_empty() || exported.timer {
            true => Ok(()),
            false => Err(error("schedules", "there are some, and the plugin exports no timer")),
        }
    }
}
