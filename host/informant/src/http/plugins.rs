//! `GET /plugins`: every plugin, and for each of its subscriptions how its informer is doing, because a
//! plugin that hears nothing is running all the same. A subscription keeps its resource's one informer, so resource and namespaces are
//! enough to find that out by.

use super::answers::busy;
use axum::Json;
use axum::response::{IntoResponse as _, Response};
use informant_apiserver::aside;
use informant_cache::{InformerState, Part, Scope, SharedInformerFactory};
use informant_runtime::{PluginStatus, Plugins, first_texts};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// The parts of a view on the page, each with so many bytes. A plugin has up to 128 views, and an informer has a part for each
/// namespace, with selectors of two kilobytes.
const PARTS_MAX: usize = 16;
const PART_BYTES_MAX: usize = 512;

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
    let state = |resource: &str, scope: &Scope| Some(informers.get(resource)?.state_in(scope));
    let shown = |resource: &str, scope: &Scope| {
        let informer = informers.get(resource)?;
        Some((informer.state_in(scope), informer.parts()))
    };
    let state_directory = plugins.state_directory().unwrap_or_default();
    let entry = |plugin: &PluginStatus| {
        let mut why = plugin.why(state);
        let mut entry = plugin.to_json();
        add_informers(&mut entry["subscriptions"], plugin.subscribed_scopes(), shown);
        add_informers(&mut entry["reads"], plugin.read_scopes(), shown);
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

/// Puts `informer: {state, message, parts}` into each of these views whose informer is there. The parts are those of its
/// namespaces.
fn add_informers(
    views: &mut Value,
    scopes: Vec<(String, Scope)>,
    shown: impl Fn(&str, &Scope) -> Option<(InformerState, Vec<Part>)>,
) {
    let views = views.as_array_mut().into_iter().flatten();
    for (view, (resource, scope)) in views.zip(scopes) {
        let Some((state, parts)) = shown(&resource, &scope) else { continue };
        let is_of =
            |part: &&Part| part.namespace.as_deref().is_none_or(|it| scope.covers_namespace(it));
        let parts: Vec<String> = parts.iter().filter(is_of).map(ToString::to_string).collect();
        let parts = first_texts(parts.iter(), PARTS_MAX, PART_BYTES_MAX);
        view["informer"] =
            json!({ "state": state.as_str(), "message": state.message(), "parts": parts });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_show_their_informers() {
        let mut views = json!([
            {"name": "a", "resource": "v1/pods", "namespaces": ["shop"]},
            {"name": "b", "resource": "v1/nodes", "namespaces": []},
        ]);
        let scopes = vec![
            ("v1/pods".to_owned(), Scope::namespace("shop")),
            ("v1/nodes".to_owned(), Scope::all()),
        ];
        add_informers(&mut views, scopes, |resource, scope| {
            let message = format!("{resource} is forbidden in {scope}");
            let parts = vec![Part::namespace("shop"), Part::namespace("other")];
            (resource == "v1/pods").then_some((InformerState::Forbidden { message }, parts))
        });
        let informer = json!({
            "state": "forbidden", "message": "v1/pods is forbidden in namespaces shop",
            "parts": ["namespace shop"],
        });
        let expect = json!([
            {"name": "a", "resource": "v1/pods", "namespaces": ["shop"], "informer": informer},
            {"name": "b", "resource": "v1/nodes", "namespaces": []},
        ]);
        assert_eq!(views, expect);
    }

    #[test]
    fn parts_of_a_view_are_shown_up_to_their_bounds() {
        let mut views = json!([{}]);
        let selector = "a".repeat(900);
        let parts = (0..PARTS_MAX + 200).map(|number| {
            let part = Part::namespace(format!("n{number}"));
            Part { label_selector: selector.clone(), ..part }
        });
        let parts: Vec<Part> = parts.collect();
        add_informers(&mut views, vec![("v1/pods".to_owned(), Scope::all())], |_, _| {
            Some((InformerState::Synced, parts.clone()))
        });
        let shown = views[0]["informer"]["parts"].as_array().expect("a list");
        assert_eq!((shown.len(), &shown[PARTS_MAX]), (PARTS_MAX + 1, &json!("(200 more)")));
        let is_short = |part: &Value| part.as_str().is_some_and(|it| it.len() < 2 * PART_BYTES_MAX);
        assert!(shown.iter().all(is_short), "{views}");
    }
}
