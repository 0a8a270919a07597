//! What a path means: a resource, a discovery document, or something else. Follows apiserver's
//! `RequestInfoFactory.NewRequestInfo`.

use informant_apimachinery::GroupVersionResource;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// What a request's path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// `/api`: the versions of the core group.
    CoreVersions,
    /// `/apis`: the other groups.
    Groups,
    /// `/apis/{group}`.
    Group(String),
    /// `/api/v1` or `/apis/{group}/{version}`.
    GroupVersion {
        /// Empty for the core group.
        group: String,
        /// For example `v1`.
        version: String,
    },
    /// A collection, an object or a subresource.
    Resource(ResourcePath),
    /// `/version`.
    Version,
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`: which documents there are.
    OpenApiV3Index,
    /// `/openapi/v3/api/v1`, `/openapi/v3/apis/{group}/{version}`.
    OpenApiV3 {
        /// Empty for the core group.
        group: String,
        /// For example `v1`.
        version: String,
    },
    /// `/healthz`, `/livez` or `/readyz`.
    Health,
    /// Anything else.
    Unknown,
}

/// A path below a group and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePath {
    /// The resource; whether it is served is another question.
    pub gvr: GroupVersionResource,
    /// The namespace in the path. For the `namespaces` resource itself it is `None`.
    pub namespace: Option<String>,
    /// The object, if the path names one.
    pub name: Option<String>,
    /// What follows the name, for example `scale`; deeper paths keep their slashes.
    pub subresource: Option<String>,
}

impl Route {
    /// Reads a path as it came in the request, without the query.
    pub fn parse(path: &str) -> Self {
        let Some(parts) = segments(path) else { return Self::Unknown };
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["api"] => Self::CoreVersions,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group((*group).to_owned()),
            ["api", version] => group_version("", version),
            ["apis", group, version] => group_version(group, version),
            ["api", version, rest @ ..] => resource("", version, rest),
            ["apis", group, version, rest @ ..] => resource(group, version, rest),
            ["version"] => Self::Version,
            ["openapi", "v2"] => Self::OpenApiV2,
            ["openapi", "v3"] => Self::OpenApiV3Index,
            ["openapi", "v3", "api", version] => {
                Self::OpenApiV3 { group: String::new(), version: (*version).to_owned() }
            }
            ["openapi", "v3", "apis", group, version] => {
                Self::OpenApiV3 { group: (*group).to_owned(), version: (*version).to_owned() }
            }
            ["healthz" | "livez" | "readyz", ..] => Self::Health,
            _ => Self::Unknown,
        }
    }
}

/// The decoded parts between the slashes; `None` if one is empty or not UTF-8.
fn segments(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let decoded = |part: &str| percent_decode_str(part).decode_utf8().ok().map(Cow::into_owned);
    path.split('/').map(|part| decoded(part).filter(|part| !part.is_empty())).collect()
}

fn group_version(group: &str, version: &str) -> Route {
    Route::GroupVersion { group: group.to_owned(), version: version.to_owned() }
}

fn resource(group: &str, version: &str, parts: &[&str]) -> Route {
    let (namespace, parts) = match parts {
        // The namespace object's own subresources.
        ["namespaces", _, "status" | "finalize"] => (None, parts),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        parts => (None, parts),
    };
    let [plural, rest @ ..] = parts else { return Route::Unknown };
    let (name, subresource) = match rest {
        [] => (None, None),
        [name] => (Some((*name).to_owned()), None),
        [name, subresource @ ..] => (Some((*name).to_owned()), Some(subresource.join("/"))),
    };
    Route::Resource(ResourcePath {
        gvr: GroupVersionResource::new(group, version, *plural),
        namespace: namespace.map(str::to_owned),
        name,
        subresource,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expect` is resource, namespace, name and subresource, `-` for what is absent.
    #[track_caller]
    fn check_resource(path: &str, expect: &str) {
        let Route::Resource(resource) = Route::parse(path) else {
            panic!("{path} is {:?}", Route::parse(path));
        };
        let shown = |part: &Option<String>| part.clone().unwrap_or_else(|| "-".to_owned());
        let ResourcePath { gvr, namespace, name, subresource } = &resource;
        let seen = format!("{gvr} {} {} {}", shown(namespace), shown(name), shown(subresource));
        assert_eq!(seen, expect, "{path}");
    }

    #[track_caller]
    fn check(path: &str, expect: &Route) {
        assert_eq!(&Route::parse(path), expect, "{path}");
    }

    #[test]
    fn collections_objects_and_subresources() {
        check_resource("/api/v1/pods", "v1/pods - - -");
        check_resource("/api/v1/namespaces/default/pods", "v1/pods default - -");
        check_resource("/api/v1/namespaces/default/pods/", "v1/pods default - -");
        check_resource("/api/v1/namespaces/default/pods/web", "v1/pods default web -");
        check_resource("/api/v1/namespaces/a/pods/web/status", "v1/pods a web status");
        check_resource("/api/v1/namespaces/a/pods/web/proxy/x/y", "v1/pods a web proxy/x/y");
        check_resource("/api/v1/nodes/n1", "v1/nodes - n1 -");
        check_resource("/apis/apps/v1/deployments", "apps/v1/deployments - - -");
        check_resource(
            "/apis/apps/v1/namespaces/a/deployments/web/scale",
            "apps/v1/deployments a web scale",
        );
    }

    #[test]
    fn the_namespaces_resource_is_not_a_namespace_in_the_path() {
        check_resource("/api/v1/namespaces", "v1/namespaces - - -");
        check_resource("/api/v1/namespaces/a", "v1/namespaces - a -");
        check_resource("/api/v1/namespaces/a/status", "v1/namespaces - a status");
        check_resource("/api/v1/namespaces/a/finalize", "v1/namespaces - a finalize");
    }

    #[test]
    fn names_are_decoded() {
        check_resource(
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
            "rbac.authorization.k8s.io/v1/clusterroles - system:node -",
        );
        check("/api/v1/pods/%ff", &Route::Unknown);
    }

    #[test]
    fn documents() {
        check("/api", &Route::CoreVersions);
        check("/apis/", &Route::Groups);
        check("/apis/apps", &Route::Group("apps".to_owned()));
        check("/api/v1", &group_version("", "v1"));
        check("/apis/apps/v1", &group_version("apps", "v1"));
        check("/version", &Route::Version);
        check("/openapi/v3", &Route::OpenApiV3Index);
        check("/readyz/ping", &Route::Health);
        check("/", &Route::Unknown);
        check("/api/", &Route::CoreVersions);
        check("/apis//apps", &Route::Unknown);
        check("/ui", &Route::Unknown);
    }
}
