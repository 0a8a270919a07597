//! The query of the resource endpoints: which objects of a resource are asked for.
//!
//! `labels[KEY]=VALUE` is one equality; the other parameters have Kubernetes' names and syntax. All of
//! them must hold.

use super::field_paths::field_paths;
use super::parameters::{Given, Parameter, Values, flag, unknown};
use informant_apimachinery::{
    ContinueToken, FieldRequirement, FieldSelector, GroupVersionResource, LabelRequirement,
    LabelSelector,
};
use informant_cache::{ObjectKey, Part, Projection};
use informant_runtime::selectors::{
    SELECTOR_BYTES_MAX, check_fields, field_selector, label_selector,
};
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// More than anybody writes by hand.
pub(super) const PARAMETERS_MAX: usize = 32;
/// A query's bytes: two selectors at their bounds.
pub(super) const QUERY_BYTES_MAX: usize = 8 * 1024;

/// The objects of a page.
const LIMITS: RangeInclusive<usize> = 1..=10_000;

/// The objects of a page, as [`LIMITS`] has them.
const PAGE: Values = Values::Whole(*LIMITS.start() as u64, *LIMITS.end() as u64);

/// The parameters.
pub(super) static PARAMETERS: [Parameter; 10] = [
    Parameter::new("labels", Values::Equalities, "Objects with this label: `labels[KEY]=VALUE`."),
    Parameter::new(
        "labelSelector",
        Values::UpTo(SELECTOR_BYTES_MAX),
        "A label selector in Kubernetes' syntax, with at most 64 requirements.",
    )
    .like("app in (web,api),!canary"),
    Parameter::new(
        "fieldSelector",
        Values::UpTo(SELECTOR_BYTES_MAX),
        "A field selector with the fields that Kubernetes supports for the resource, with at most 32 requirements.",
    )
    .like("metadata.name!=web"),
    Parameter::new("namespace", Values::Pattern(NAMESPACE_PATTERN), "Objects of one namespace.")
        .like("default"),
    Parameter::new("name", Values::Text, "Objects of this name.").like("web"),
    Parameter::new("limit", PAGE, "A page of at most so many objects."),
    Parameter::new("continue", Values::Text, "The next page, with the token of the page before."),
    Parameter::new("fields", Values::Text, "Of each object these fields alone, with commas between.")
        .like("metadata.name,status.phase"),
    Parameter::new("watch", Values::Flag, "Events instead of a list."),
    Parameter::new(
        "resourceVersion",
        Values::Whole(0, u64::MAX),
        "With `watch`: the changes after this version.",
    ),
];

/// The namespace of a path or a query.
pub(super) const NAMESPACE_PATTERN: &str = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$";

/// The objects that are asked for. The default is all of a resource.
#[derive(Debug, Default)]
pub(crate) struct Query {
    /// None: all namespaces.
    pub(crate) namespace: Option<String>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    /// What is answered of each object; none: all of it.
    pub(crate) projection: Option<Projection>,
    /// At most so many of them; none: all.
    pub(crate) limit: Option<usize>,
    /// Only objects behind this one, by namespace and name.
    pub(crate) after: Option<ObjectKey>,
    /// Whether changes are asked for; none: it does not say.
    pub(crate) watch: Option<bool>,
    /// The version after which changes are asked for.
    pub(crate) resource_version: Option<u64>,
}

/// The namespace and the name that a path names.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InPath<'a> {
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
}

impl Query {
    /// Reads a query's text. Namespace and name of the path count as its parameters.
    pub(crate) fn parse(
        gvr: &GroupVersionResource,
        path: InPath<'_>,
        query: Option<&str>,
    ) -> Result<Self, String> {
        let (mut given, equalities) = read(path, query.unwrap_or_default())?;
        let namespace = given.take("namespace");
        if let Some(namespace) = &namespace
            && !Part::namespace(namespace.as_str()).has_valid_namespace()
        {
            return Err(format!("namespace {namespace:?} cannot be the name of a namespace"));
        }
        let equalities = label_selector(&equalities.join(","))
            .map_err(|problem| format!("labels: {problem}"))?;
        let selector = label_selector(&given.take("labelSelector").unwrap_or_default())
            .map_err(|problem| format!("labelSelector: {problem}"))?;
        let fields = field_selector(&given.take("fieldSelector").unwrap_or_default())
            .map_err(|problem| format!("fieldSelector: {problem}"))?;
        check_fields(gvr, &fields)?;
        let requirements =
            |it: &LabelSelector| -> Vec<LabelRequirement> { it.requirements().to_vec() };
        let name = given.take("name").map(|value| {
            let field = "metadata.name".to_owned();
            FieldRequirement { field, value, equal: true }
        });
        Ok(Self {
            namespace,
            labels: LabelSelector::new(
                [requirements(&equalities), requirements(&selector)].concat(),
            ),
            fields: FieldSelector::new(fields.requirements().iter().cloned().chain(name)),
            projection: given.take("fields").as_deref().map(field_paths).transpose()?,
            limit: given.take("limit").as_deref().map(limit).transpose()?,
            after: given.take("continue").as_deref().map(after).transpose()?,
            watch: given.take("watch").as_deref().map(watch).transpose()?,
            resource_version: given.take("resourceVersion").as_deref().map(version).transpose()?,
        })
    }
}

/// The values of a query, and its equalities of labels.
fn read(path: InPath<'_>, query: &str) -> Result<(Given, Vec<String>), String> {
    let given = Given::default().with("namespace", path.namespace).with("name", path.name);
    let mut equalities = Vec::new();
    let mut unlisted = |key: &str, value: String| {
        equalities.push(equality(key, &value)?);
        Ok(())
    };
    let bounds = (QUERY_BYTES_MAX, PARAMETERS_MAX);
    let given = Given::read(&PARAMETERS, given, query, bounds, &mut unlisted)?;
    Ok((given, equalities))
}

/// The requirement of `labels[KEY]=VALUE`.
fn equality(key: &str, value: &str) -> Result<String, String> {
    let label = key.strip_prefix("labels[").and_then(|rest| rest.strip_suffix(']'));
    let Some(label) = label else { return Err(unknown(&PARAMETERS, key)) };
    // The selector's own characters would make something else of it than an equality.
    let plain =
        |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._/".contains(&b));
    if label.is_empty() || !plain(label) || !plain(value) {
        return Err(format!(
            "labels[{label}]={value} is not one label and one value; labelSelector takes the rest"
        ));
    }
    Ok(format!("{label}={value}"))
}

fn limit(text: &str) -> Result<usize, String> {
    let (least, most) = (LIMITS.start(), LIMITS.end());
    let number = text.parse().ok().filter(|number| LIMITS.contains(number));
    number.ok_or_else(|| format!("limit is {text:?}; it is a whole number from {least} to {most}"))
}

fn watch(text: &str) -> Result<bool, String> {
    flag(text).ok_or_else(|| format!("watch is {text:?}; it is true or false"))
}

fn version(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("resourceVersion is {text:?}; it is a whole number"))
}

/// The object after which the page of a token begins.
fn after(token: &str) -> Result<ObjectKey, String> {
    let token = ContinueToken::decode(token).map_err(|error| error.to_string())?;
    let (namespace, name) = token
        .start_after()
        .split_once('/')
        .filter(|(_, name)| !name.is_empty())
        .ok_or("continue key is not valid: it names no object; list again without it")?;
    Ok(ObjectKey::new(namespace, name))
}

/// The token for the page that begins after this object.
pub(super) fn continue_after(key: &ObjectKey) -> String {
    let start_after = format!("{}/{}", key.namespace(), key.name());
    ContinueToken::inconsistent(start_after).encode()
}

/// The parameters of a query, decoded.
pub(super) fn form_pairs(query: &str) -> impl Iterator<Item = Result<(String, String), String>> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decode(key)?, decode(value)?))
    })
}

fn decode(text: &str) -> Result<String, String> {
    let spaced = text.replace('+', " ");
    let decoded = percent_encoding::percent_decode_str(&spaced).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| format!("{text:?} does not decode to UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_runtime::selectors::{FIELD_REQUIREMENTS_MAX, LABEL_REQUIREMENTS_MAX};

    fn parse(path: InPath<'_>, query: &str) -> Result<String, String> {
        let pods = "v1/pods".parse().expect("a resource");
        let query = Query::parse(&pods, path, Some(query))?;
        let namespace = query.namespace.unwrap_or_else(|| "*".to_owned());
        Ok(format!("{namespace} {} {}", query.labels, query.fields).trim_end().to_owned())
    }

    /// Namespace (`*`: all), labels and fields of a query, or why it is refused.
    #[track_caller]
    fn check(query: &str, expect: Result<&str, &str>) {
        check_in_path(InPath::default(), query, expect);
    }

    #[track_caller]
    fn check_in_path(path: InPath<'_>, query: &str, expect: Result<&str, &str>) {
        match (parse(path, query), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{query}"),
            (Err(found), Err(expect)) => assert!(found.contains(expect), "{query}: {found}"),
            (found, expect) => panic!("{query}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn labels_become_an_equality_selector() {
        check("", Ok("*"));
        check("labels[k8s-app]=kube-dns", Ok("* k8s-app=kube-dns"));
        check("labels%5Bapp.kubernetes.io%2Fname%5D=web", Ok("* app.kubernetes.io/name=web"));
        check("labels[a]=b&labels[c]=d", Ok("* a=b,c=d"));
        check("labels[a]=", Ok("* a="));
    }

    #[test]
    fn labels_are_one_label_and_one_value() {
        check("labels[a]=b,c", Err("one value"));
        check("labels[a]=b,!c", Err("one value"));
        check("labels[a,b]=c", Err("one label"));
        check("labels[!a]=", Err("one label"));
        check("labels[]=b", Err("one label"));
    }

    #[test]
    fn a_label_selector_has_the_syntax_of_kubernetes() {
        check("labelSelector=a+in+(x,y),!b,c!=d", Ok("* a in (x,y),!b,c!=d"));
        check("labelSelector=a%3Db&labels[c]=d", Ok("* c=d,a=b"));
        check("labelSelector=a+in+(x", Err("cannot be read"));
        check("labelSelector=", Err("labelSelector is empty"));
    }

    #[test]
    fn a_field_selector_names_fields_of_the_resource() {
        check("fieldSelector=status.phase!%3DRunning", Ok("*  status.phase!=Running"));
        check(
            "fieldSelector=spec.nodeName=a,metadata.name=b",
            Ok("*  spec.nodeName=a,metadata.name=b"),
        );
        check("fieldSelector=spec.foo=bar", Err("\"spec.foo\""));
        check("fieldSelector=spec.foo", Err("none of the operators"));
    }

    #[test]
    fn a_namespace_and_a_name_stand_in_the_query_or_in_the_path() {
        check("namespace=shop&name=web-1", Ok("shop  metadata.name=web-1"));
        let path = InPath { namespace: Some("shop"), name: Some("web-1") };
        check_in_path(path, "", Ok("shop  metadata.name=web-1"));
        check_in_path(path, "labels[a]=b", Ok("shop a=b metadata.name=web-1"));
        check_in_path(path, "namespace=shop", Err("namespace is given twice"));
        check("namespace=..%2f..", Err("cannot be the name of a namespace"));
        check("namespace=a&namespace=b", Err("given twice"));
        check("name=", Err("name is empty"));
    }

    #[test]
    fn an_unknown_parameter_is_refused_with_the_nearest() {
        check("label[a]=b", Err("did you mean labels[KEY]=VALUE?"));
        check("labels[a=b", Err("did you mean labels[KEY]=VALUE?"));
        check("labelselector=a=b", Err("did you mean labelSelector=VALUE?"));
        check("limits=5", Err("did you mean limit=VALUE?"));
        check("watching=1", Err("did you mean watch=VALUE?"));
        check("watch=yes", Err("it is true or false"));
        check("resourceVersion=new", Err("it is a whole number"));
        check("field=metadata.name", Err("did you mean fields=VALUE?"));
        check("namespaces=shop", Err("did you mean namespace=VALUE?"));
        check("color=red", Err("known are labels[KEY]=VALUE, "));
    }

    /// Limit and start of a page, or why it is refused.
    #[track_caller]
    fn check_page(query: &str, expect: Result<&str, &str>) {
        let pods = "v1/pods".parse().expect("a resource");
        let found = Query::parse(&pods, InPath::default(), Some(query));
        let found = found.map(|query| format!("{:?} {:?}", query.limit, query.after));
        match (found, expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{query}"),
            (Err(found), Err(expect)) => assert!(found.contains(expect), "{query}: {found}"),
            (found, expect) => panic!("{query}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn a_page_has_a_limit_and_a_start() {
        check_page("", Ok("None None"));
        check_page("limit=1", Ok("Some(1) None"));
        check_page("limit=10000", Ok("Some(10000) None"));
        for limit in ["0", "10001", "-1", "many", "99999999999999999999"] {
            check_page(&format!("limit={limit}"), Err("it is a whole number from 1 to 10000"));
        }
        check_page("limit=", Err("limit is empty"));
        let keys = [ObjectKey::new("shop", "web"), ObjectKey::new("", "node")];
        for key in keys {
            let token = continue_after(&key);
            check_page(&format!("continue={token}"), Ok(&format!("None {:?}", Some(key))));
        }
        let nowhere = ContinueToken::inconsistent("web").encode();
        for token in ["shop", "%20", &nowhere] {
            check_page(&format!("continue={token}"), Err("continue key is not valid"));
        }
    }

    #[test]
    fn a_query_has_a_bound() {
        let labels = |count| format!("labelSelector={}", vec!["a"; count].join(","));
        check(&labels(LABEL_REQUIREMENTS_MAX + 1), Err("labelSelector: it has 65 requirements"));
        let names = |count| format!("fieldSelector={}", vec!["metadata.name=a"; count].join(","));
        check(&names(FIELD_REQUIREMENTS_MAX + 1), Err("fieldSelector: it has 33 requirements"));
        assert!(parse(InPath::default(), &labels(LABEL_REQUIREMENTS_MAX)).is_ok());
        assert!(parse(InPath::default(), &names(FIELD_REQUIREMENTS_MAX)).is_ok());
        check(&format!("name={}", "x".repeat(QUERY_BYTES_MAX)), Err("longer than"));
        assert!(parse(InPath::default(), &"labels[a]=b&".repeat(PARAMETERS_MAX)).is_ok());
        check(&"labels[a]=b&".repeat(PARAMETERS_MAX + 1), Err("more than 32 parameters"));
        check("name=%ff", Err("\"%ff\" does not decode to UTF-8"));
    }

    #[test]
    fn descriptions_have_the_bounds() {
        let check = |name: &str, bound: usize| {
            let found = PARAMETERS.iter().find(|one| one.name == name).expect("a parameter");
            assert!(found.description.contains(&format!("at most {bound} ")), "{found:?}");
        };
        check("labelSelector", LABEL_REQUIREMENTS_MAX);
        check("fieldSelector", FIELD_REQUIREMENTS_MAX);
    }
}
