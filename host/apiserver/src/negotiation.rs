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

/// The representation that the header prefers among those that are served; `None` if none is. No header accepts anything.
pub fn representation(accept: Option<&str>, include: IncludeObject) -> Option<Representation> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
        return Some(Representation::Object);
    };
    clauses(accept).find_map(|clause| {
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
    let first = clauses(accept.unwrap_or_default()).find_map(|clause| {
        let known = (clause.parameter("as"), clause.parameter("g"), clause.parameter("v"));
        match known {
            (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => Some(true),
            (None, _, _) if clause.is_json() => Some(false),
            _ => None,
        }
    });
    first == Some(true)
}

/// The header's alternatives by their weight, and those of one weight in their order. A weight of 0 is a refusal (RFC 9110).
fn clauses(accept: &str) -> impl Iterator<Item = Clause<'_>> {
    let clauses = accept.split(',').take(CLAUSES_MAX).map(Clause::parse);
    let mut clauses: Vec<_> = clauses.filter(|clause| clause.weight > 0.0).collect();
    clauses.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    clauses.into_iter()
}

/// One of the header's alternatives.
struct Clause<'a> {
    media_type: &'a str,
    /// A weight that is no number is 0, as in kube-apiserver's `goautoneg`.
    weight: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let parameters = parts.take(PARAMETERS_MAX);
        let parameters: Vec<_> = parameters.filter_map(|part| part.split_once('=')).collect();
        let weight = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case("q"));
        let weight = weight.map_or(1.0, |(_, weight)| weight.trim().parse().unwrap_or(0.0));
        Self { media_type, weight, parameters }
    }

    fn is_json(&self) -> bool {
        let known = ["application/json", "application/*", "*/*"];
        known.iter().any(|known| self.media_type.eq_ignore_ascii_case(known))
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
    fn the_highest_weight_wins_and_a_weight_of_zero_is_a_refusal() {
        let table = Some(Representation::Table(IncludeObject::Metadata));
        let whole = Some(Representation::Object);
        let rows = "application/json;as=Table;v=v1;g=meta.k8s.io";
        check(&format!("application/json;q=0.5,{rows}"), table);
        check(&format!("{rows};q=0.5,*/*;q=0.5"), table);
        check(&format!("{rows};Q=0.2 , Application/JSON; q=0.3"), whole);
        check(&format!("{rows};q=0,application/*;q=0.001"), whole);
        check("application/json;q=0.0", None);
        check("application/json;q=much", None);
        check("application/json;q=NaN", None);
        let v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        check_discovery(&format!("application/json;q=0.9,{v2}"), true);
        check_discovery(&format!("{v2};q=0,application/json"), false);
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
