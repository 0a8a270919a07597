//! Which pods a list or a watch has: those of a namespace, and those that a label selector selects. Both are the same for all
//! pods of a template.

use std::collections::BTreeMap;

use anyhow::Context;
use informant_apimachinery::LabelSelector;
use serde_json::Value;

/// Where the pods of a template are, and their labels.
#[derive(Debug)]
pub(crate) struct Place {
    namespace: String,
    labels: BTreeMap<String, String>,
}

impl Place {
    /// Of a pod in JSON, and what the keys of the template's pods begin with.
    pub fn of(pod: &str) -> anyhow::Result<(Self, String)> {
        let pod: Value = serde_json::from_str(pod).context("a template is no JSON")?;
        let metadata = &pod["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let key = format!("{}/{}", text("namespace"), text("generateName"));
        let labels = metadata["labels"].as_object().into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.into())));
        Ok((Self { namespace: text("namespace").to_owned(), labels: labels.collect() }, key))
    }
}

/// The templates whose pods are selected; all of them without a choice.
#[derive(Debug, Default)]
pub(crate) struct Selection(Option<Vec<bool>>);

impl Selection {
    /// What these two leave of all templates.
    pub fn of(places: &[Place], namespace: Option<&str>, labels: &LabelSelector) -> Self {
        if namespace.is_none() && labels.is_everything() {
            return Self(None);
        }
        let has = |place: &Place| {
            namespace.is_none_or(|namespace| namespace == place.namespace)
                && labels.matches(|key| place.labels.get(key).map(String::as_str))
        };
        Self(Some(places.iter().map(has).collect()))
    }

    /// Whether it has the pod of this number.
    pub fn has(&self, pod: u32) -> bool {
        self.0.as_ref().is_none_or(|templates| templates[pod as usize % templates.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(namespace: Option<&str>, labels: &str, expect: [bool; 4]) {
        let pod = |namespace: &str, app: &str| {
            let labels = format!(r#"{{"app":"{app}"}}"#);
            let metadata =
                format!(r#"{{"namespace":"{namespace}","generateName":"x-","labels":{labels}}}"#);
            Place::of(&format!(r#"{{"metadata":{metadata}}}"#)).expect("a pod").0
        };
        let places = [pod("a", "web"), pod("b", "web"), pod("a", "db")];
        let selection = Selection::of(&places, namespace, &labels.parse().expect("a selector"));
        assert_eq!([0, 1, 2, 3].map(|pod| selection.has(pod)), expect, "{namespace:?} {labels}");
    }

    #[test]
    fn pods_are_selected_by_the_namespace_and_the_labels_of_their_template() {
        check(None, "", [true; 4]);
        check(Some("a"), "", [true, false, true, true]);
        check(None, "app=web", [true, true, false, true]);
        check(Some("a"), "app=web", [true, false, false, true]);
        check(Some("c"), "", [false; 4]);
    }
}
