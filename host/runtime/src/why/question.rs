//! A question about an object.

use crate::plugin_name::PluginName;
use informant_apimachinery::GroupVersionResource;
use informant_cache::{Object, ObjectKey, Part, SharedInformerFactory};
use std::time::Duration;

/// How long an answer waits for an object that the informer leaves out.
const LOOK_UP_TIME_MAX: Duration = Duration::from_secs(5);

/// The object, and the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyQuestion {
    /// The object's resource.
    pub resource: GroupVersionResource,
    /// The object.
    pub key: ObjectKey,
    /// `None`: every plugin.
    pub plugin: Option<PluginName>,
    /// Whether the answer may have values of labels of the object's namespace.
    pub shows_namespace: bool,
}

impl WhyQuestion {
    /// The object as the API server has it, if the informer's selectors leave it out. There is none without an answer in
    /// time, or if `turn`, which waits for the turn of such a question, says no.
    pub async fn left_out(
        &self,
        informers: &SharedInformerFactory,
        turn: impl AsyncFnOnce() -> bool,
    ) -> Option<Object> {
        let informers = informers.informers();
        let informer = informers.iter().find(|it| *it.resource() == self.resource)?;
        let is_cached = informer.indexer().get(&self.key).is_some();
        if is_cached || !informer.parts().iter().any(|part| self.may_be_left_out(part)) {
            return None;
        }
        if !turn().await {
            return None;
        }
        let found = tokio::time::timeout(LOOK_UP_TIME_MAX, informer.look_up(&self.key)).await;
        // One that a part selects is only on its way.
        found.ok()?.ok()?.filter(|object| !informer.selects(object))
    }

    /// Whether a part of the informer may leave the object out by its selectors.
    pub(super) fn may_be_left_out(&self, part: &Part) -> bool {
        let selects = !part.label_selector.is_empty() || !part.field_selector.is_empty();
        selects && part.namespace.as_deref().is_none_or(|it| it == self.key.namespace())
    }
}
