//! A question about an object.

use crate::plugin_name::PluginName;
use informant_apimachinery::GroupVersionResource;
use informant_cache::ObjectKey;

/// The object, and the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyQuestion {
    /// The object's resource.
    pub resource: GroupVersionResource,
    /// The object.
    pub key: ObjectKey,
    /// `None`: every plugin.
    pub plugin: Option<PluginName>,
}
