//! The path of a request of `informant get`. Synchronous.

use super::kinds::ServedKind;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// The objects that the command line names.
#[derive(Clone, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) kind: &'a ServedKind,
    pub(super) name: Option<&'a str>,
    /// None: all namespaces, or objects without a namespace.
    pub(super) namespace: Option<&'a str>,
    pub(super) labels: Option<&'a str>,
    pub(super) fields: Option<&'a str>,
}

impl Wanted<'_> {
    /// The path of the object, or of the list.
    pub(super) fn path(&self) -> String {
        let name = self.name.map_or_else(String::new, |name| format!("/{}", encoded(name)));
        let query = query(&[("labelSelector", self.labels), ("fieldSelector", self.fields)]);
        format!("{}{name}{query}", self.collection())
    }

    /// The path of the list, also for one object.
    pub(super) fn list_path(&self) -> String {
        let fields = self.fields();
        let selectors = [("labelSelector", self.labels), ("fieldSelector", fields.as_deref())];
        format!("{}{}", self.collection(), query(&selectors))
    }

    /// The path of the changes after a resourceVersion.
    pub(super) fn watch_path(&self, after: &str) -> String {
        let fields = self.fields();
        let query = query(&[
            ("labelSelector", self.labels),
            ("fieldSelector", fields.as_deref()),
            ("watch", Some("true")),
            ("allowWatchBookmarks", Some("true")),
            ("resourceVersion", Some(after)),
        ]);
        format!("{}{query}", self.collection())
    }

    /// The selector of fields, for an object by its name.
    fn fields(&self) -> Option<String> {
        let named = self.name.map(|name| format!("metadata.name={name}"));
        named.or_else(|| self.fields.map(str::to_owned))
    }

    fn collection(&self) -> String {
        self.kind.resource.path(self.namespace.map(encoded).as_deref())
    }

    /// The text for a list without objects, as kubectl has it.
    pub(super) fn nothing(&self) -> String {
        match self.namespace {
            Some(namespace) => format!("No resources found in {namespace} namespace."),
            None => "No resources found".to_owned(),
        }
    }
}

fn query(pairs: &[(&str, Option<&str>)]) -> String {
    let given = pairs.iter().filter_map(|(key, value)| Some((key, (*value)?)));
    let given = given.map(|(key, value)| format!("{key}={}", encoded(value)));
    match given.collect::<Vec<_>>().join("&") {
        query if query.is_empty() => query,
        query => format!("?{query}"),
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(resource: &str, name: Option<&str>, namespace: Option<&str>, expect: [&str; 3]) {
        let kind = ServedKind::of_test(resource);
        let (labels, fields) = (name.is_none().then_some("a=b"), None);
        let wanted = Wanted { kind: &kind, name, namespace, labels, fields };
        assert_eq!([wanted.path(), wanted.list_path(), wanted.watch_path("7")], expect);
    }

    #[test]
    fn paths_are_those_of_the_kubernetes_api() {
        let watch = "watch=true&allowWatchBookmarks=true&resourceVersion=7";
        check(
            "apps/v1/deployments",
            Some("w/b"),
            Some("shop"),
            [
                "/apis/apps/v1/namespaces/shop/deployments/w%2Fb",
                "/apis/apps/v1/namespaces/shop/deployments?fieldSelector=metadata%2Ename%3Dw%2Fb",
                &format!(
                    "/apis/apps/v1/namespaces/shop/deployments?fieldSelector=metadata%2Ename%3Dw%2Fb&{watch}"
                ),
            ],
        );
        check(
            "v1/nodes",
            None,
            None,
            [
                "/api/v1/nodes?labelSelector=a%3Db",
                "/api/v1/nodes?labelSelector=a%3Db",
                &format!("/api/v1/nodes?labelSelector=a%3Db&{watch}"),
            ],
        );
    }
}
