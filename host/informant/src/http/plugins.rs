//! `GET /plugins`: every plugin, and for each of its subscriptions how its informer is doing, because a
//! plugin that hears nothing is running all the same. A subscription keeps its resource's one informer, so resource and namespaces are
//! enough to find that out by.

use super::json_array::respond_array;
use axum::response::Response;
use informant_cache::{InformerState, Part, Scope, SharedIndexInformer, SharedInformerFactory};
use informant_runtime::{PluginName, Plugins, StateDirectoryStatus, first_texts};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The parts of a view on the page, each with so many bytes. A plugin has up to 128 views, and an informer has a part for each
/// namespace, with selectors of two kilobytes.
const PARTS_MAX: usize = 16;
const PART_BYTES_MAX: usize = 512;

/// The answer, plugin by plugin: it may have some thousand values for each of many.
pub(crate) fn respond(plugins: &Plugins, informers: &SharedInformerFactory) -> Response {
    let (page, names) = (PluginsPage::new(plugins, informers), plugins.names());
    // A plugin may be gone meanwhile.
    let plugins = names.into_iter().filter_map(move |name| Some(Ok(page.entry(&name)?)));
    respond_array(plugins)
}

struct PluginsPage {
    plugins: Plugins,
    /// By their resources: each plugin may ask for the state of a hundred of them, and of some thousand.
    informers: HashMap<String, SharedIndexInformer>,
    state_directory: StateDirectoryStatus,
}

impl PluginsPage {
    fn new(plugins: &Plugins, informers: &SharedInformerFactory) -> Self {
        let informers = informers.informers().into_iter();
        Self {
            plugins: plugins.clone(),
            informers: informers.map(|it| (it.resource().to_string(), it)).collect(),
            state_directory: plugins.state_directory().unwrap_or_default(),
        }
    }

    fn entry(&self, name: &PluginName) -> Option<Value> {
        let plugin = self.plugins.status_of(name)?;
        let informer = |resource: &str| self.informers.get(resource);
        let shown = |resource: &str, scope: &Scope| {
            let informer = informer(resource)?;
            Some((informer.state_in(scope), informer.parts()))
        };
        let mut why =
            plugin.why(|resource, scope: &Scope| Some(informer(resource)?.state_in(scope)));
        let mut entry = plugin.to_json();
        add_informers(&mut entry["subscriptions"], plugin.subscribed_scopes(), shown);
        add_informers(&mut entry["reads"], plugin.read_scopes(), shown);
        if entry["kept"].is_object() {
            entry["kept"]["waitingToBeWritten"] = self.state_directory.waiting.into();
            entry["kept"]["error"] = self.state_directory.error.clone().into();
            let error = self.state_directory.error.iter();
            why.extend(error.map(|error| format!("nothing is kept on the disk now: {error}")));
        }
        entry["why"] = why.into();
        Some(entry)
    }
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
