//! `GET /plugins`: every plugin, and for each of its subscriptions how its informer is doing, because a
//! plugin that hears nothing is running all the same. A subscription keeps its resource's one informer, so resource and namespaces are
//! enough to find that out by.

use informant_cache::{InformerState, SharedInformerFactory};
use informant_runtime::{Plugins, watched_scope};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The whole answer.
pub(crate) fn list(plugins: &Plugins, informers: &SharedInformerFactory) -> Value {
    let informers = informers.informers();
    let state = |resource: &str, namespaces: &BTreeSet<String>| {
        let mut informers = informers.iter();
        let informer = informers.find(|informer| informer.resource().to_string() == resource)?;
        Some(informer.state_in(&watched_scope(namespaces)))
    };
    let mut list: Vec<Value> = plugins.status().iter().map(|plugin| plugin.to_json()).collect();
    let state_directory = plugins.state_directory().unwrap_or_default();
    for plugin in &mut list {
        add_informers(plugin, state);
        if plugin["kept"].is_object() {
            plugin["kept"]["waitingToBeWritten"] = state_directory.waiting.into();
            plugin["kept"]["error"] = state_directory.error.clone().into();
        }
    }
    list.into()
}

/// Puts `informer: {state, message}` into each subscription whose informer is there.
fn add_informers(
    plugin: &mut Value,
    state: impl Fn(&str, &BTreeSet<String>) -> Option<InformerState>,
) {
    let subscriptions = plugin["subscriptions"].as_array_mut();
    for subscription in subscriptions.into_iter().flatten() {
        let resource = subscription["resource"].as_str().unwrap_or_default();
        let namespaces = subscription["namespaces"].as_array().into_iter().flatten();
        let namespaces = namespaces.filter_map(Value::as_str).map(str::to_owned).collect();
        if let Some(state) = state(resource, &namespaces) {
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
            {"name": "a", "resource": "v1/pods", "namespaces": ["shop"]},
            {"name": "b", "resource": "v1/nodes", "namespaces": []},
        ]});
        add_informers(&mut plugin, |resource, namespaces| {
            let message = format!("pods is forbidden in {namespaces:?}");
            (resource == "v1/pods").then_some(InformerState::Forbidden { message })
        });
        let expect = json!({"subscriptions": [
            {
                "name": "a", "resource": "v1/pods", "namespaces": ["shop"],
                "informer": {"state": "forbidden", "message": "pods is forbidden in {\"shop\"}"},
            },
            {"name": "b", "resource": "v1/nodes", "namespaces": []},
        ]});
        assert_eq!(plugin, expect);
    }
}
