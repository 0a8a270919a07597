//! What a client's `Accept` header asks for.

use crate::table::IncludeObject;

/// How objects are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    /// As they are.
    Object,
    /// As rows of a `meta.k8s.io/v1` Table.
    Table(IncludeObject),
    /// Nothing but their metadata.
    PartialMetadata,
}

/// The media type that everything is served in.
pub const JSON: &str = "application/json";

/// The media type of the aggregated discovery document.
pub const AGGREGATED_DISCOVERY: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Alternatives of a header that are read.
pub(crate) const CLAUSES_MAX: usize = 64;
/// Parameters of an alternative that are read.
const PARAMETERS_MAX: usize = 16;

/// The first representation in the header that is served; `None` if none is. No header accepts anything.
pub fn representation(accept: Option<&str>, include: IncludeObject) -> Option<Representation> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
        return Some(Representation::Object);
    };
    accept.split(',').take(CLAUSES_MAX).find_map(|clause| {
        let clause = Clause::parse(clause);
        if !clause.is_json() {
            return None;
        }
        match (clause.parameter("as"), clause.parameter("g"), clause.parameter("v")) {
            (None, _, _) => Some(Representation::Object),
            (Some("Table"), Some("meta.k8s.io"), Some("v1")) => {
                Some(Representation::Table(include))
            }
            (
                Some("PartialObjectMetadata" | "PartialObjectMetadataList"),
                Some("meta.k8s.io"),
                Some("v1"),
            ) => Some(Representation::PartialMetadata),
            _ => None,
        }
    })
}

/// Whether the client asks for the aggregated discovery document before the plain one.
pub fn wants_aggregated_discovery(accept: Option<&str>) -> bool {
    let clauses = accept.unwrap_or_default().split(',').take(CLAUSES_MAX);
    let first = clauses.map(Clause::parse).find_map(|clause| {
        let known = (clause.parameter("as"), clause.parameter("g"), clause.parameter("v"));
        match known {
            (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => Some(true),
            (None, _, _) if clause.is_json() => Some(false),
            _ => None,
        }
    });
    first == Some(true)
}

/// One of the header's alternatives.
struct Clause<'a> {
    media_type: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let parameters = parts.take(PARAMETERS_MAX);
        let parameters = parameters.filter_map(|part| part.split_once('=')).collect();
        Self { media_type, parameters }
    }

    fn is_json(&self) -> bool {
        matches!(self.media_type, "application/json" | "application/*" | "*/*")
    }

    fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(accept: &str, expect: Option<Representation>) {
        let accept = Some(accept).filter(|accept| !accept.is_empty());
        assert_eq!(representation(accept, IncludeObject::Metadata), expect);
    }

    #[track_caller]
    fn check_discovery(accept: &str, aggregated: bool) {
        assert_eq!(wants_aggregated_discovery(Some(accept)), aggregated);
    }

    #[test]
    fn the_first_that_is_served_wins() {
        let table = Some(Representation::Table(IncludeObject::Metadata));
        check("", Some(Representation::Object));
        check("*/*", Some(Representation::Object));
        check("application/json", Some(Representation::Object));
        check(
            "application/vnd.kubernetes.protobuf, application/json",
            Some(Representation::Object),
        );
        check("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", table);
        check(
            "application/json;as=Table;g=meta.k8s.io;v=v1beta1, application/json;as=Table;g=meta.k8s.io;v=v1",
            table,
        );
        check(
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            Some(Representation::PartialMetadata),
        );
        check("application/vnd.kubernetes.protobuf", None);
        let late = |others| "a/b,".repeat(others) + "application/json";
        check(&late(CLAUSES_MAX - 1), Some(Representation::Object));
        check(&late(CLAUSES_MAX), None);
        check("application/json;as=Table;g=meta.k8s.io;v=v9", None);
    }

    #[test]
    fn aggregated_discovery_is_served_to_those_who_ask_first() {
        let v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
        check_discovery(&format!("{v2},{beta},application/json"), true);
        check_discovery(&format!("{beta},application/json"), false);
        check_discovery(&format!("application/json,{v2}"), false);
        check_discovery("*/*", false);
    }
}
