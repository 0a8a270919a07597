//! Bounds the lists and watches for one plugin's views; each is a connection to the API server.

use super::{Descriptor, DescriptorError, error, json};
use crate::contract::coverage::watched_namespaces;
use std::collections::{BTreeMap, BTreeSet};

/// The most lists and watches of one plugin: eight resources in as many namespaces as are watched individually. Each
/// is an open file, of which a process has 1,024 by default.
pub(crate) const WATCHES_MAX: usize = 512;

impl Descriptor {
    /// The lists and watches for the descriptor's views, if no other plugin has any.
    pub(crate) fn watches(&self) -> usize {
        let subscribed = self.subscriptions.iter().map(|it| (&it.resource, &it.namespaces));
        let views = subscribed.chain(self.reads.iter().map(|it| (&it.resource, &it.namespaces)));
        // `None`: all namespaces at once.
        let mut watched: BTreeMap<_, Option<BTreeSet<&String>>> = BTreeMap::new();
        for (resource, named) in views {
            let all = watched.entry(resource).or_insert_with(|| Some(BTreeSet::new()));
            match (watched_namespaces(named), &mut *all) {
                (Some(named), Some(all)) => all.extend(named),
                (None, _) | (_, None) => *all = None,
            }
        }
        let views: usize = watched.values().map(|it| it.as_ref().map_or(1, BTreeSet::len)).sum();
        views + usize::from(self.needs_namespaces())
    }

    /// Whether a view needs the labels of namespaces, which are one more list and watch.
    pub fn needs_namespaces(&self) -> bool {
        let subscribed = self.subscriptions.iter().map(|it| &it.namespace_selector);
        let read = self.reads.iter().map(|it| &it.namespace_selector);
        subscribed.chain(read).any(Option::is_some)
    }

    pub(super) fn check_watches(&self) -> Result<(), DescriptorError> {
        let found = self.watches();
        if found <= WATCHES_MAX {
            return Ok(());
        }
        let problem = format!(
            "names so many resources and namespaces that {found} lists and watches are needed, at most {WATCHES_MAX} are allowed; leave namespaces out, or make several plugins of it"
        );
        Err(error(json::WHOLE, problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problem with views of so many namespaces, in this list of the descriptor.
    fn problem(list: &str, namespaces: &[usize]) -> String {
        let view = |(number, count): (usize, &usize)| {
            let names: Vec<String> = (0..*count).map(|name| format!("\"n{name}\"")).collect();
            format!(
                r#"{{"resource":"example.com/v1/r{number}","namespaces":[{}]}}"#,
                names.join(",")
            )
        };
        let views: Vec<String> = namespaces.iter().enumerate().map(view).collect();
        let json = format!(r#"{{"version":"1","{list}":[{}]}}"#, views.join(","));
        Descriptor::parse(json.as_bytes()).err().map(|it| it.to_string()).unwrap_or_default()
    }

    #[test]
    fn lists_and_watches_of_a_plugin_are_bounded() {
        for list in ["subscriptions", "reads"] {
            assert_eq!(problem(list, &[64; 8]), "");
            let text = problem(list, &[64, 64, 64, 64, 64, 64, 64, 64, 1]);
            assert!(text.contains("513 lists and watches are needed, at most 512"), "{text}");
            // All namespaces at once count as one.
            assert_eq!(problem(list, &[65; 60]), "");
            assert_eq!(problem(list, &[0; 64]), "");
        }
    }

    #[test]
    fn namespaces_of_several_views_of_a_resource_count_once() {
        let view = |name: usize, from: usize| {
            let names: Vec<String> = (from..from + 64).map(|it| format!("\"n{it}\"")).collect();
            let resource = if name < 8 { "pods" } else { "services" };
            format!(
                r#"{{"name":"{name}","resource":"v1/{resource}","namespaces":[{}]}}"#,
                names.join(",")
            )
        };
        let parse = |from: fn(usize) -> usize| {
            let views: Vec<String> = (0..9).map(|number| view(number, from(number))).collect();
            let json = format!(r#"{{"version":"1","subscriptions":[{}]}}"#, views.join(","));
            Descriptor::parse(json.as_bytes()).is_ok()
        };
        assert!(parse(|_| 0));
        assert!(!parse(|number| number * 64));
    }
}
