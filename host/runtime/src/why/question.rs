//! A question, as its words stand.

use crate::plugin_name::PluginName;
use informant_apimachinery::GroupVersionResource;
use informant_cache::ObjectKey;

/// Which object, and of which plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyQuestion {
    /// The object's resource.
    pub resource: GroupVersionResource,
    /// The object.
    pub key: ObjectKey,
    /// None: every plugin.
    pub plugin: Option<PluginName>,
}
