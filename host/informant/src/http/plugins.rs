//! `GET /plugins`: every plugin, and for each of its subscriptions how its informer is doing, because a
//! plugin that hears nothing is running all the same. A subscription keeps its resource's one informer, so resource and namespaces are
//! enough to find that out by.

use super::answers::busy;
use super::aside::aside;
use axum::Json;
use axum::response::{IntoResponse as _, Response};
use informant_cache::{InformerState, SharedInformerFactory};
use informant_runtime::{PluginStatus, Plugins, watched_scope};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The answer, made aside: it may have some thousand values for each of many plugins.
pub(crate) async fn respond(plugins: &Plugins, informers: &Arc<SharedInformerFactory>) -> Response {
    let (plugins, informers) = (plugins.clone(), informers.clone());
    let answer = aside(move || Json(list(&plugins, &informers)).into_response()).await;
    answer.unwrap_or_else(|| busy("the host stops"))
}

fn list(plugins: &Plugins, informers: &SharedInformerFactory) -> Value {
    // Each plugin may ask for the state of a hundred of them, and of some thousand.
    let informers = informers.informers().into_iter();
    let informers: HashMap<String, _> =
        informers.map(|informer| (informer.resource().to_string(), informer)).collect();
    let state = |resource: &str, namespaces: &BTreeSet<String>| {
        let informer = informers.get(resource)?;
        Some(informer.state_in(&watched_scope(namespaces)))
    };
    let parts = |resource: &str, namespaces: &BTreeSet<String>| {
        let parts = informers.get(resource).map(|informer| informer.parts()).unwrap_or_default();
        let is_of = |name: &str| namespaces.is_empty() || namespaces.contains(name);
        let parts = parts.iter().filter(|part| part.namespace.as_deref().is_none_or(is_of));
        parts.map(ToString::to_string).collect()
    };
    let state_directory = plugins.state_directory().unwrap_or_default();
    let entry = |plugin: &PluginStatus| {
        let mut why = plugin.why(state);
        let mut entry = plugin.to_json();
        add_informers(&mut entry, state, parts);
        if entry["kept"].is_object() {
            entry["kept"]["waitingToBeWritten"] = state_directory.waiting.into();
            entry["kept"]["error"] = state_directory.error.clone().into();
            let error = state_directory.error.iter();
            why.extend(error.map(|error| format!("nothing is kept on the disk now: {error}")));
        }
        entry["why"] = why.into();
        entry
    };
    plugins.status().iter().map(entry).collect()
}

/// Puts `informer: {state, message, parts}` into each subscription and each read whose informer is there.
fn add_informers(
    plugin: &mut Value,
    state: impl Fn(&str, &BTreeSet<String>) -> Option<InformerState>,
    parts: impl Fn(&str, &BTreeSet<String>) -> Vec<String>,
) {
    for key in ["subscriptions", "reads"] {
        let views = plugin.get_mut(key).and_then(Value::as_array_mut);
        views.into_iter().flatten().for_each(|view| add_informer(view, &state, &parts));
    }
}

fn add_informer(
    view: &mut Value,
    state: &impl Fn(&str, &BTreeSet<String>) -> Option<InformerState>,
    parts: &impl Fn(&str, &BTreeSet<String>) -> Vec<String>,
) {
    let resource = view["resource"].as_str().unwrap_or_default();
    let namespaces = view["namespaces"].as_array().into_iter().flatten();
    let namespaces = namespaces.filter_map(Value::as_str).map(str::to_owned).collect();
    if let Some(state) = state(resource, &namespaces) {
        let parts = parts(resource, &namespaces);
        view["informer"] =
            json!({ "state": state.as_str(), "message": state.message(), "parts": parts });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_and_reads_show_their_informers() {
        let mut plugin = json!({"subscriptions": [
            {"name": "a", "resource": "v1/pods", "namespaces": ["shop"]},
            {"name": "b", "resource": "v1/nodes", "namespaces": []},
        ], "reads": [{"resource": "v1/pods", "namespaces": []}]});
        add_informers(
            &mut plugin,
            |resource, namespaces| {
                let message = format!("pods is forbidden in {namespaces:?}");
                (resource == "v1/pods").then_some(InformerState::Forbidden { message })
            },
            |_, _| vec!["all namespaces, labels app=web".to_owned()],
        );
        let expect = json!({"subscriptions": [
            {
                "name": "a", "resource": "v1/pods", "namespaces": ["shop"],
                "informer": {"state": "forbidden", "message": "pods is forbidden in {\"shop\"}",
                    "parts": ["all namespaces, labels app=web"]},
            },
            {"name": "b", "resource": "v1/nodes", "namespaces": []},
        ], "reads": [{
            "resource": "v1/pods", "namespaces": [],
            "informer": {"state": "forbidden", "message": "pods is forbidden in {}",
                "parts": ["all namespaces, labels app=web"]},
        }]});
        assert_eq!(plugin, expect);
    }
}
