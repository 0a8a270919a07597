//! Questions of a caller's rights, as a `SubjectAccessReview` has them.

use informant_apimachinery::GroupVersionResource;
use informant_apiserver::ResourcePath;
use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReviewSpec,
};

/// What a request reads or changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access<'a> {
    /// A page of the host.
    Path(&'a str),
    /// The path of an action on a plugin.
    Action(&'a str),
    /// Objects.
    Objects {
        verb: &'a str,
        resource: &'a GroupVersionResource,
        subresource: Option<&'a str>,
        /// None: objects of all namespaces, or of the cluster.
        namespace: Option<&'a str>,
        /// None: all objects.
        name: Option<&'a str>,
    },
}

impl<'a> Access<'a> {
    /// The objects of a path of the Kubernetes API.
    pub(crate) fn of_path(path: &'a ResourcePath, verb: &'a str) -> Self {
        let ResourcePath { gvr, namespace, name, subresource } = path;
        Self::Objects {
            verb,
            resource: gvr,
            subresource: subresource.as_deref(),
            namespace: namespace.as_deref(),
            name: name.as_deref(),
        }
    }

    /// The verb. That of a path is the request's method, as an API server has it.
    fn verb(self) -> &'a str {
        match self {
            Self::Path(_) => "get",
            Self::Action(_) => "post",
            Self::Objects { verb, .. } => verb,
        }
    }

    /// The question about a user.
    pub(super) fn question(self, user: &UserInfo) -> SubjectAccessReviewSpec {
        let text = |part: Option<&str>| part.filter(|part| !part.is_empty()).map(str::to_owned);
        let mut question = SubjectAccessReviewSpec {
            user: user.username.clone(),
            uid: user.uid.clone(),
            groups: user.groups.clone(),
            extra: user.extra.clone(),
            ..SubjectAccessReviewSpec::default()
        };
        match self {
            Self::Path(path) | Self::Action(path) => {
                question.non_resource_attributes = Some(NonResourceAttributes {
                    path: Some(path.to_owned()),
                    verb: Some(self.verb().to_owned()),
                });
            }
            Self::Objects { verb, resource, subresource, namespace, name } => {
                // A Namespace is an object of its own namespace (apiserver, `RequestInfoFactory.NewRequestInfo`).
                let is_namespace = resource.group.is_empty() && resource.resource == "namespaces";
                let namespace = if is_namespace { name } else { namespace };
                question.resource_attributes = Some(ResourceAttributes {
                    verb: text(Some(verb)),
                    group: text(Some(&resource.group)),
                    version: text(Some(&resource.version)),
                    resource: text(Some(&resource.resource)),
                    subresource: text(subresource),
                    namespace: text(namespace),
                    name: text(name),
                    ..ResourceAttributes::default()
                });
            }
        }
        question
    }

    /// The refusal's text, in the words of an API server.
    pub(super) fn refusal(self, user: &UserInfo, reason: &str) -> String {
        let user = user.username.as_deref().unwrap_or_default();
        let mut text = match self {
            Self::Path(path) | Self::Action(path) => {
                format!("User {user:?} cannot {} path {path:?}", self.verb())
            }
            Self::Objects { verb, resource, subresource, namespace, name } => {
                let GroupVersionResource { group, resource, .. } = resource;
                let name = name.map_or(String::new(), |name| format!(" {name:?}"));
                let part = subresource.map_or(String::new(), |part| format!("/{part}"));
                let place = match namespace.filter(|namespace| !namespace.is_empty()) {
                    Some(namespace) => format!("in the namespace {namespace:?}"),
                    None => "at the cluster scope".to_owned(),
                };
                format!(
                    "{resource}{part}{name} is forbidden: User {user:?} cannot {verb} resource {:?} \
                     in API group {group:?} {place}",
                    format!("{resource}{part}")
                )
            }
        };
        if !reason.is_empty() {
            text.push_str(": ");
            text.push_str(reason);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_apiserver::Route;
    use serde_json::{Value, json};

    fn user() -> UserInfo {
        UserInfo {
            username: Some("jane".to_owned()),
            uid: Some("7".to_owned()),
            groups: Some(vec!["developers".to_owned()]),
            extra: Some([("scopes".to_owned(), vec!["read".to_owned()])].into()),
        }
    }

    /// The attributes of the question that a path of the Kubernetes API leads to.
    #[track_caller]
    fn check(path: &str, query: Option<&str>, expect: Value) {
        let Route::Resource(parsed) = Route::parse(path) else { panic!("{path} is no resource") };
        let access = Access::of_path(&parsed, parsed.verb(query));
        let question = access.question(&user()).resource_attributes;
        assert_eq!(serde_json::to_value(question).expect("it is JSON"), expect, "{path} {query:?}");
    }

    #[test]
    fn a_path_of_the_kubernetes_api_is_asked_for_as_an_api_server_reads_it() {
        let pods = |verb: &str| json!({"verb": verb, "version": "v1", "resource": "pods"});
        check("/api/v1/pods", None, pods("list"));
        check("/api/v1/pods", Some("watch=true"), pods("watch"));
        check("/api/v1/pods", Some("watch"), pods("watch"));
        check("/api/v1/pods", Some("watch=0"), pods("list"));
        let web = json!({
            "verb": "get", "version": "v1", "resource": "pods", "namespace": "shop", "name": "web",
        });
        check("/api/v1/namespaces/shop/pods/web", Some("watch=true"), web);
        let status = json!({
            "verb": "get", "group": "apps", "version": "v1", "resource": "deployments",
            "subresource": "status", "namespace": "shop", "name": "web",
        });
        check("/apis/apps/v1/namespaces/shop/deployments/web/status", None, status);
        let namespace = json!({
            "verb": "get", "version": "v1", "resource": "namespaces", "namespace": "shop", "name": "shop",
        });
        check("/api/v1/namespaces/shop", None, namespace);
    }

    #[test]
    fn a_question_has_all_that_is_known_of_the_user() {
        let question = Access::Path("/plugins").question(&user());
        let expect = json!({
            "user": "jane", "uid": "7", "groups": ["developers"], "extra": {"scopes": ["read"]},
            "nonResourceAttributes": {"path": "/plugins", "verb": "get"},
        });
        assert_eq!(serde_json::to_value(question).expect("it is JSON"), expect);
        let question = Access::Action("/plugins/a/pause").question(&user());
        let expect = json!({"path": "/plugins/a/pause", "verb": "post"});
        let asked = serde_json::to_value(question.non_resource_attributes).expect("it is JSON");
        assert_eq!(asked, expect);
    }

    #[test]
    fn a_refusal_has_the_words_of_an_api_server() {
        let refusal = |path: &str, reason: &str| {
            let Route::Resource(parsed) = Route::parse(path) else { panic!("{path}") };
            Access::of_path(&parsed, "get").refusal(&user(), reason)
        };
        assert_eq!(
            refusal("/api/v1/namespaces/shop/pods/web", ""),
            r#"pods "web" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "shop""#
        );
        assert_eq!(
            refusal("/apis/apps/v1/deployments", "no"),
            r#"deployments is forbidden: User "jane" cannot get resource "deployments" in API group "apps" at the cluster scope: no"#
        );
        let page = Access::Path("/why").refusal(&user(), "");
        assert_eq!(page, r#"User "jane" cannot get path "/why""#);
        let action = Access::Action("/plugins/a/pause").refusal(&user(), "no");
        assert_eq!(action, r#"User "jane" cannot post path "/plugins/a/pause": no"#);
    }
}
