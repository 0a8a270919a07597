//! The fields of a request's or a subscription's selector: those that Kubernetes supports, and that the host can
//! evaluate.

use informant_apimachinery::{
    FieldRequirement, FieldSelector, GroupVersionResource, METADATA_FIELDS, nearest,
    selectable_fields,
};
use informant_cache::Scope;

/// Refuses a selector with a field that the resource does not support. The error has the nearest supported field, or
/// all of them.
pub fn check_fields(gvr: &GroupVersionResource, selector: &FieldSelector) -> Result<(), String> {
    let known: Vec<&str> =
        METADATA_FIELDS.iter().chain(selectable_fields(gvr)).copied().filter(evaluable).collect();
    let mut asked = selector.requirements().iter().map(|requirement| requirement.field.as_str());
    let Some(field) = asked.find(|field| !known.contains(field)) else { return Ok(()) };
    let advice = match meant(field, &known) {
        Some(meant) => format!("did you mean {meant}? Supported are"),
        None => "supported are".to_owned(),
    };
    let known = known.join(", ");
    Err(format!("{gvr} cannot be selected by the field {field:?}; {advice} {known}"))
}

/// The field that the author may have meant. Only the ends of the paths are compared: most paths begin with the same
/// steps.
fn meant<'a>(field: &str, known: &[&'a str]) -> Option<&'a str> {
    let end = |path: &'a str| path.rsplit('.').next().unwrap_or(path);
    let ends: Vec<&str> = known.iter().map(|field| end(field)).collect();
    let nearest = nearest(field.rsplit('.').next()?, &ends)?;
    known.iter().copied().find(|known| end(known) == nearest)
}

/// Whether a host can evaluate the field: only the API server can compute a few of them.
fn evaluable(field: &&str) -> bool {
    let requirement =
        FieldRequirement { field: (*field).to_owned(), value: String::new(), equal: true };
    Scope::all().with_fields(FieldSelector::new([requirement])).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(resource: &str, selector: &str, expect: Result<(), &str>) {
        let gvr = resource.parse().expect("a resource");
        let found = check_fields(&gvr, &selector.parse().expect("a selector"));
        assert_eq!(found.as_ref().map_err(String::as_str), expect.as_ref().map_err(|it| *it));
    }

    #[test]
    fn fields_are_those_of_kubernetes() {
        check("v1/pods", "spec.nodeName=a,metadata.namespace!=b", Ok(()));
        check(
            "v1/pods",
            "spec.nodename=a",
            Err("v1/pods cannot be selected by the field \"spec.nodename\"; did you mean \
                 spec.nodeName? Supported are metadata.name, metadata.namespace, spec.nodeName, \
                 spec.restartPolicy, spec.schedulerName, spec.serviceAccountName, \
                 spec.hostNetwork, status.phase, status.podIP, \
                 status.nominatedNodeName"),
        );
        check(
            "v1/namespaces",
            "spec.foo=a",
            Err("v1/namespaces cannot be selected by the field \"spec.foo\"; supported are \
                 metadata.name, metadata.namespace, status.phase"),
        );
        check(
            "apps/v1/deployments",
            "metadata.name=a,spec.replicas=2",
            Err(
                "apps/v1/deployments cannot be selected by the field \"spec.replicas\"; supported \
                 are metadata.name, metadata.namespace",
            ),
        );
    }

    #[test]
    fn a_field_that_only_the_api_server_works_out_is_not_supported() {
        let error = check_fields(
            &"v1/events".parse().expect("a resource"),
            &"source=kubelet".parse().expect("a selector"),
        );
        let error = error.expect_err("it is refused");
        assert!(error.contains("\"source\"") && error.contains("involvedObject.name"), "{error}");
        assert!(!error.contains(", source"), "{error}");
    }
}
