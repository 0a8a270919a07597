//! Fuzz targets: what clients write into a request line and its headers.

use crate::list_options::{ListOptions, QueryParameters};
use crate::negotiation::{CLAUSES_MAX, Representation, representation, wants_aggregated_discovery};
use crate::route::{ResourcePath, Route};
use crate::table::IncludeObject;
use informant_fuzz::Target;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

fn target(name: &'static str) -> Target {
    Target::new(env!("CARGO_MANIFEST_DIR"), name)
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[test]
fn list_query() {
    let words = &[
        "watch=1",
        "&allowWatchBookmarks=true",
        "&sendInitialEvents=true",
        "&resourceVersion=7",
        "&resourceVersionMatch=NotOlderThan",
        "&resourceVersionMatch=Exact",
        "&limit=500",
        "&continue=",
        "&timeoutSeconds=300",
        "&labelSelector=a%3Db",
        "&fieldSelector=metadata.name%3Dx",
        "18446744073709551616",
        "%",
        "+",
    ];
    target("list_query").words(words).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let query = QueryParameters::parse(Some(text));
        let Ok(options) = ListOptions::parse(&query) else { return };
        let (list, watch) = (options.list_at(), options.watch_start());
        for refusal in [list.as_ref().err(), watch.as_ref().err()].into_iter().flatten() {
            assert!(
                matches!(refusal.code, 400 | 422) && !refusal.message.is_empty(),
                "{refusal:?}"
            );
        }
        // The same, written by a client that escapes whatever it can.
        let known = [
            "watch",
            "allowWatchBookmarks",
            "sendInitialEvents",
            "resourceVersion",
            "resourceVersionMatch",
            "limit",
            "continue",
            "timeoutSeconds",
            "labelSelector",
            "fieldSelector",
        ];
        let has = |key: &&str| query.all(key).next().is_some();
        let pair = |key: &str| format!("{}={}", encode(key), encode(query.text(key)));
        let escaped: Vec<String> = known.into_iter().filter(has).map(pair).collect();
        let again = QueryParameters::parse(Some(&escaped.join("&")));
        assert_eq!(ListOptions::parse(&again), Ok(options), "{escaped:?}");
    });
}

#[test]
fn path() {
    let words = &[
        "/api/v1",
        "/apis/apps/v1",
        "/namespaces",
        "/default",
        "/pods",
        "/web",
        "/status",
        "/scale",
        "/finalize",
        "%2F",
        "%2f..",
        "/..",
        "//",
        "/openapi/v3",
        "%ff",
    ];
    target("path").words(words).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let Route::Resource(resource) = Route::parse(text) else { return };
        let ResourcePath { gvr, namespace, name, subresource } = &resource;
        let parts = [namespace.as_deref(), name.as_deref(), subresource.as_deref()];
        assert!(parts.into_iter().flatten().all(|part| !part.is_empty()), "{resource:?}");
        assert!(subresource.is_none() || name.is_some(), "a subresource is one of an object");
        // The path that a client of ours would write leads to the same place.
        let root = match gvr.group.as_str() {
            "" => format!("/api/{}", encode(&gvr.version)),
            group => format!("/apis/{}/{}", encode(group), encode(&gvr.version)),
        };
        let namespace = namespace.as_deref().map(|one| format!("/namespaces/{}", encode(one)));
        let namespace = namespace.unwrap_or_default();
        let mut path = format!("{root}{namespace}/{}", encode(&gvr.resource));
        for part in [name.as_deref(), subresource.as_deref()].into_iter().flatten() {
            path = format!("{path}/{}", encode(part));
        }
        assert_eq!(Route::parse(&path), Route::Resource(resource), "{path}");
    });
}

#[test]
fn accept_header() {
    let words = &[
        "application/json",
        ";as=Table",
        ";v=v1",
        ";g=meta.k8s.io",
        ";as=PartialObjectMetadataList",
        "application/vnd.kubernetes.protobuf",
        ";as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
        "*/*",
        ",",
        ";q=0.8",
        ";q=0",
    ];
    target("accept_header").words(words).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let include = IncludeObject::Metadata;
        let found = representation(Some(text), include);
        // It has the least weight, so it is the last choice.
        let with_json = format!("{text},application/json;q=1e-45");
        let is_read = text.split(',').count() < CLAUSES_MAX;
        let expected = found.or(is_read.then_some(Representation::Object));
        assert_eq!(representation(Some(&with_json), include), expected, "JSON is always served");
        if wants_aggregated_discovery(Some(text)) {
            assert!(text.contains("APIGroupDiscoveryList"), "nobody is given it unasked");
        }
    });
}
