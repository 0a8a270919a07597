//! The words for resources that kubectl takes, from the discovery of the running host. Synchronous.

use crate::resource_words::means;
use informant_apimachinery::{GroupVersionResource, nearest};
use kube::core::discovery::v2::{APIGroupDiscovery, APIGroupDiscoveryList, APIResourceDiscovery};

/// A resource that the host serves.
#[derive(Clone, Debug)]
pub(super) struct ServedKind {
    pub(super) resource: GroupVersionResource,
    pub(super) kind: String,
    pub(super) is_namespaced: bool,
    /// The plural, the singular, the kind and the short names, in small letters.
    words: Vec<String>,
}

/// The resources, the preferred version of each group first.
pub(super) struct ServedKinds(Vec<ServedKind>);

/// A resource, and perhaps the name of an object.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) kind: &'a ServedKind,
    pub(super) name: Option<&'a str>,
}

impl ServedKinds {
    pub(super) fn new(documents: impl IntoIterator<Item = APIGroupDiscoveryList>) -> Self {
        let groups = documents.into_iter().flat_map(|document| document.items);
        Self(groups.flat_map(kinds).chain([secrets()]).collect())
    }

    /// The resource of a word, or of a word and a name: `pods`, `po/web`, `deployments.apps`, `apps/v1/deployments`.
    ///
    /// # Errors
    /// The text of kubectl, and the nearest word that is served.
    pub(super) fn asked<'a>(&'a self, text: &'a str) -> Result<Asked<'a>, String> {
        let path = text.strip_prefix("core/").unwrap_or(text);
        if let Some(kind) = self.0.iter().find(|kind| kind.resource.to_string() == path) {
            return Ok(Asked { kind, name: None });
        }
        let (word, name) = match text.split_once('/') {
            Some((word, name)) => (word, Some(name)),
            None => (text, None),
        };
        let kind = self.0.iter().find(|kind| kind.is_meant(&word.to_lowercase()));
        kind.map(|kind| Asked { kind, name }).ok_or_else(|| self.unknown(word))
    }

    fn unknown(&self, word: &str) -> String {
        let unknown = format!("the server doesn't have a resource type {word:?}");
        if word.contains(',') {
            return format!("{unknown}; ask for one resource at a time");
        }
        if ["plugin", "plugins"].contains(&&*word.to_lowercase()) {
            return format!("{unknown}; `informant plugin list` shows the plugins");
        }
        let words: Vec<&str> =
            self.0.iter().flat_map(|kind| &kind.words).map(String::as_str).collect();
        let near = nearest(&word.to_lowercase(), &words);
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        unknown + &near
    }
}

impl ServedKind {
    /// Whether a word in small letters means this resource.
    fn is_meant(&self, word: &str) -> bool {
        means(word, &self.resource, |name| self.words.iter().any(|known| known == name))
    }

    #[cfg(test)]
    pub(super) fn of_test(resource: &str) -> Self {
        let resource: GroupVersionResource = resource.parse().expect("a resource");
        let kind = match resource.resource.as_str() {
            "deployments" => "Deployment",
            _ => "Node",
        };
        let is_namespaced = resource.resource != "nodes";
        Self { resource, kind: kind.to_owned(), is_namespaced, words: Vec::new() }
    }

    /// The prefix of an object in `-o name`: the kind and its group.
    pub(super) fn name_prefix(&self) -> String {
        let kind = self.kind.to_lowercase();
        match self.resource.group.as_str() {
            "" => kind,
            group => format!("{kind}.{group}"),
        }
    }
}

/// Discovery does not have them. So a question for them gets the host's reason in place of another kind's name.
fn secrets() -> ServedKind {
    ServedKind {
        resource: GroupVersionResource::new("", "v1", "secrets"),
        kind: "Secret".to_owned(),
        is_namespaced: true,
        words: ["secrets", "secret"].map(str::to_owned).to_vec(),
    }
}

fn kinds(group: APIGroupDiscovery) -> Vec<ServedKind> {
    let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
    let versions = group.versions.into_iter();
    let resources = versions.flat_map(|version| {
        let name = version.version.unwrap_or_default();
        version.resources.into_iter().map(move |resource| (name.clone(), resource))
    });
    resources.filter_map(|(version, resource)| kind(&name, &version, resource)).collect()
}

fn kind(group: &str, version: &str, resource: APIResourceDiscovery) -> Option<ServedKind> {
    let plural = resource.resource?;
    let kind = resource.response_kind?.kind?;
    let singular = resource.singular_resource.unwrap_or_default();
    let words = [plural.clone(), singular, kind.to_lowercase()].into_iter();
    let words = words.filter(|word| !word.is_empty()).chain(resource.short_names).collect();
    Some(ServedKind {
        resource: GroupVersionResource::new(group, version, plural),
        kind,
        is_namespaced: resource.scope.as_deref() == Some("Namespaced"),
        words,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn served() -> ServedKinds {
        let resource = |plural: &str, kind: &str, short: &[&str]| {
            json!({
                "resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced",
                "singularResource": kind.to_lowercase(), "shortNames": short,
            })
        };
        let group = |name: Value, versions: Value| json!({"metadata": name, "versions": versions});
        let document = |items: Value| serde_json::from_value(json!({"items": items})).expect("it");
        let pods = [resource("pods", "Pod", &["po"]), resource("events", "Event", &["ev"])];
        let deployments = [resource("deployments", "Deployment", &["deploy"])];
        let events = [resource("events", "Event", &["ev"])];
        ServedKinds::new([
            document(json!([group(json!({}), json!([{"version": "v1", "resources": pods}]))])),
            document(json!([
                group(
                    json!({"name": "apps"}),
                    json!([
                        {"version": "v1", "resources": deployments},
                        {"version": "v1beta1", "resources": deployments},
                    ])
                ),
                group(
                    json!({"name": "events.k8s.io"}),
                    json!([
                        {"version": "v1", "resources": events},
                    ])
                ),
            ])),
        ])
    }

    #[track_caller]
    fn check(text: &str, expect: Result<&str, &str>) {
        let served = served();
        let found = served.asked(text).map(|Asked { kind, name }| {
            let name = name.map_or_else(String::new, |name| format!(" {name}"));
            format!("{} {}{name}", kind.resource, kind.name_prefix())
        });
        assert_eq!(
            found.as_deref(),
            expect.map_err(str::to_owned).as_ref().map(|it| *it),
            "{text}"
        );
    }

    #[test]
    fn a_word_means_a_resource_as_for_kubectl() {
        for word in ["pods", "pod", "po", "Pod", "v1/pods", "core/v1/pods"] {
            check(word, Ok("v1/pods pod"));
        }
        for word in ["deploy", "deployments.apps", "deployments.v1.apps", "apps/v1/deployments"] {
            check(word, Ok("apps/v1/deployments deployment.apps"));
        }
        check("deployments.v1beta1.apps", Ok("apps/v1beta1/deployments deployment.apps"));
        check("ev", Ok("v1/events event"));
        check("events.events.k8s.io", Ok("events.k8s.io/v1/events event.events.k8s.io"));
        check("pod/web", Ok("v1/pods pod web"));
        check("deploy.apps/web", Ok("apps/v1/deployments deployment.apps web"));
        check("secret", Ok("v1/secrets secret"));
    }

    #[test]
    fn an_unknown_word_comes_with_the_nearest_that_is_served() {
        let unknown = "the server doesn't have a resource type";
        check("podz", Err(&format!("{unknown} \"podz\"; did you mean pod?")));
        check("Deploymnts", Err(&format!("{unknown} \"Deploymnts\"; did you mean deployments?")));
        check("zzz", Err(&format!("{unknown} \"zzz\"")));
        for words in ["pods,deploy", "deploy,pods/web"] {
            let word = words.split('/').next().unwrap_or_default();
            let one = format!("{unknown} {word:?}; ask for one resource at a time");
            check(words, Err(&one));
        }
        let list = "`informant plugin list` shows the plugins";
        check("plugins", Err(&format!("{unknown} \"plugins\"; {list}")));
        check("Plugin/hello", Err(&format!("{unknown} \"Plugin\"; {list}")));
        check("pods.apps", Err(&format!("{unknown} \"pods.apps\"; did you mean pods?")));
    }
}
