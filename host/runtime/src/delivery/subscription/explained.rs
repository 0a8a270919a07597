//! The questions of a subscription about an object, for `informant why`: the same view and the same pointers as in the
//! informer's task.

use super::SubscriptionHandler;
use crate::delivery::view::View;
use informant_cache::Object;

impl SubscriptionHandler {
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// The values that `onlyIfChanged` names, in its order.
    pub(crate) fn concerning(&self, object: &Object) -> Vec<Option<String>> {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        self.asked.concern(object, |value| value.map(text))
    }
}
