//! `GET /plugins`: every plugin, and for each of its subscriptions how its informer is doing, because a
//! plugin that hears nothing is running all the same. A subscription keeps its resource's one informer, so the
//! resource is enough to find it by.

use informant_cache::{InformerState, SharedInformerFactory};
use informant_runtime::Plugins;
use serde_json::{Value, json};

/// The whole answer.
pub(crate) fn list(plugins: &Plugins, informers: &SharedInformerFactory) -> Value {
    let states: Vec<(String, InformerState)> = informers
        .informers()
        .iter()
        .map(|informer| (informer.resource().to_string(), informer.state()))
        .collect();
    let mut list: Vec<Value> = plugins.status().iter().map(|plugin| plugin.to_json()).collect();
    let state_directory = plugins.state_directory().unwrap_or_default();
    for plugin in &mut list {
        add_informers(plugin, &states);
        if plugin["kept"].is_object() {
            plugin["kept"]["waitingToBeWritten"] = state_directory.waiting.into();
            plugin["kept"]["error"] = state_directory.error.clone().into();
        }
    }
    list.into()
}

/// Puts `informer: {state, message}` into each subscription whose informer is there.
fn add_informers(plugin: &mut Value, states: &[(String, InformerState)]) {
    let subscriptions = plugin["subscriptions"].as_array_mut();
    for subscription in subscriptions.into_iter().flatten() {
        let state = states.iter().find(|(resource, _)| subscription["resource"] == **resource);
        if let Some((_, state)) = state {
            let informer = json!({ "state": state.as_str(), "message": state.message() });
            subscription["informer"] = informer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscription_shows_its_informer() {
        let mut plugin = json!({"subscriptions": [
            {"name": "a", "resource": "v1/pods"},
            {"name": "b", "resource": "v1/nodes"},
        ]});
        let message = "pods is forbidden".to_owned();
        add_informers(&mut plugin, &[("v1/pods".to_owned(), InformerState::Forbidden { message })]);
        let expect = json!({"subscriptions": [
            {
                "name": "a", "resource": "v1/pods",
                "informer": {"state": "forbidden", "message": "pods is forbidden"},
            },
            {"name": "b", "resource": "v1/nodes"},
        ]});
        assert_eq!(plugin, expect);
    }
}
