//! The scope of an informer or of a view: namespaces, selectors, and whether metadata are enough.
//!
//! client-go has one namespace and one tweak of the list options for a whole factory. Here each
//! caller has its own scope, and several callers may have different ones on the same resource: an
//! informer covers their union. On the wire a scope is made of [`Part`]s; the host evaluates it on
//! objects.

use crate::json::JsonPointer;
use crate::list_watch::Part;
use crate::object::Object;
use bytes::Bytes;
use informant_apimachinery::{FieldSelector, LabelSelector};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;

pub(crate) mod union;

/// The namespaces of a [`Scope`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Namespaces {
    /// All namespaces, and the only choice for a resource without namespaces.
    #[default]
    All,
    /// These namespaces. Each is listed and watched individually, so that a permission in these namespaces is enough.
    Set(BTreeSet<Box<str>>),
}

/// Objects in the namespaces that both selectors select, whole or their metadata alone. The default is everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    namespaces: Namespaces,
    labels: LabelSelector,
    fields: FieldSelector,
    /// The paths of the fields in `fields`, in the same order.
    paths: Vec<FieldPath>,
    metadata_only: bool,
}

/// An invalid scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// The API server computes this field by its own rules. So a host that serves several scopes from one store cannot
    /// evaluate it.
    #[error(
        "field {0:?} cannot be evaluated outside of the API server; select by another field or by labels"
    )]
    Field(String),
    /// The factory covers less.
    #[error(
        "scope {asked} goes beyond the factory's, {allowed}; ask for less or widen the factory's"
    )]
    BeyondFactory {
        /// The requested scope.
        asked: String,
        /// The factory's scope.
        allowed: String,
    },
}

/// The place of a field selector's field in an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum FieldPath {
    Name,
    Namespace,
    /// The string, number or boolean there, or `absent` without one.
    Value {
        pointer: JsonPointer,
        absent: &'static str,
    },
}

/// Fields that differ from the value at their path: the API server fills in defaults (`ToSelectableFields` of each
/// resource in kubernetes `pkg/registry`).
const WITH_DEFAULT: [(&str, &str, &str); 5] = [
    ("spec.unschedulable", "/spec/unschedulable", "false"),
    ("spec.hostNetwork", "/spec/hostNetwork", "false"),
    ("status.replicas", "/status/replicas", "0"),
    ("status.successful", "/status/succeeded", "0"),
    ("reportingComponent", "/reportingComponent", ""),
];

/// The JSON pointer of a field selector's field, and the text that stands for an absent value.
pub fn field_pointer(field: &str) -> (String, &'static str) {
    match WITH_DEFAULT.iter().find(|(name, _, _)| *name == field) {
        Some((_, pointer, absent)) => ((*pointer).to_owned(), absent),
        None => (format!("/{}", field.replace('.', "/")), ""),
    }
}

impl FieldPath {
    fn of(field: &str) -> Result<Self, ScopeError> {
        let refused = || ScopeError::Field(field.to_owned());
        match field {
            "metadata.name" => return Ok(Self::Name),
            "metadata.namespace" => return Ok(Self::Namespace),
            // An event's source is one of two fields.
            "source" => return Err(refused()),
            _ => {}
        }
        let (pointer, absent) = field_pointer(field);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_');
        if !pointer.chars().all(plain) || pointer.contains("//") || pointer.ends_with('/') {
            return Err(refused());
        }
        Ok(Self::Value { pointer: pointer.parse().map_err(|_| refused())?, absent })
    }

    /// `json` has the object's bytes, which are unpacked once for all paths.
    fn value(&self, object: &Object, json: &OnceCell<Bytes>) -> String {
        match self {
            Self::Name => object.key().name().to_owned(),
            Self::Namespace => object.key().namespace().to_owned(),
            Self::Value { pointer, absent } => {
                let json = json.get_or_init(|| object.json());
                let found = pointer.values(json).into_iter().next();
                found.unwrap_or_else(|| (*absent).to_owned())
            }
        }
    }
}

impl Scope {
    /// The scope of a part. A part's selectors come from a scope, so they can be parsed; an unparsable one is ignored.
    pub(crate) fn of_part(part: &Part) -> Self {
        let scope = part.namespace.clone().map_or_else(Self::all, Self::namespace);
        let labels: LabelSelector = part.label_selector.parse().unwrap_or_default();
        let fields: FieldSelector = part.field_selector.parse().unwrap_or_default();
        let scope = Self { metadata_only: part.metadata_only, ..scope.with_labels(labels) };
        scope.clone().with_fields(fields).unwrap_or(scope)
    }

    /// Everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// Everything in one namespace.
    pub fn namespace(namespace: impl Into<Box<str>>) -> Self {
        Self::namespaces([namespace])
    }

    /// Everything in these namespaces; an empty set covers nothing.
    pub fn namespaces(namespaces: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        let namespaces = Namespaces::Set(namespaces.into_iter().map(Into::into).collect());
        Self { namespaces, ..Self::default() }
    }

    /// The part of the scope in one namespace that it covers.
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<Box<str>>) -> Self {
        Self { namespaces: Namespaces::Set([namespace.into()].into()), ..self }
    }

    /// Restricts the scope to objects that this selector selects by labels.
    #[must_use]
    pub fn with_labels(self, labels: LabelSelector) -> Self {
        Self { labels, ..self }
    }

    /// Restricts the scope to objects that this selector selects by fields. Supported are `metadata.name`,
    /// `metadata.namespace`, and paths to a string, number or boolean, such as `spec.nodeName`. A field that the API
    /// server computes is refused.
    pub fn with_fields(self, fields: FieldSelector) -> Result<Self, ScopeError> {
        let paths =
            fields.requirements().iter().map(|requirement| FieldPath::of(&requirement.field));
        Ok(Self { paths: paths.collect::<Result<_, _>>()?, fields, ..self })
    }

    /// Takes the objects' metadata as enough ([`Object::is_metadata_only`]). If all requests for a namespace do so, the
    /// API server sends metadata alone, and the cache has no more. Otherwise the objects may be whole. A scope with a
    /// field selector beyond name and namespace gets whole objects all the same, because the selector reads them.
    #[must_use]
    pub fn metadata_only(self) -> Self {
        Self { metadata_only: true, ..self }
    }

    /// Whether metadata are enough.
    pub fn is_metadata_only(&self) -> bool {
        let is_of_metadata = |path: &FieldPath| !matches!(path, FieldPath::Value { .. });
        self.metadata_only && self.paths.iter().all(is_of_metadata)
    }

    /// Whether every object belongs.
    pub fn is_everything(&self) -> bool {
        self.namespaces == Namespaces::All && self.selects_everything()
    }

    /// Whether the object belongs, and is whole if the scope needs that. Fields that a transform removed do not count.
    pub fn contains(&self, object: &Object) -> bool {
        self.takes(object) && self.selects(object)
    }

    /// Whether the object has what the scope needs: metadata alone are not enough for each.
    pub fn takes(&self, object: &Object) -> bool {
        !object.is_metadata_only() || self.is_metadata_only()
    }

    /// Whether namespaces and selectors have the object, whole or not.
    pub(crate) fn selects(&self, object: &Object) -> bool {
        self.selects_by(object, |_| true)
    }

    /// Whether the object belongs by its namespace, its labels and the fields of these paths.
    fn selects_by(&self, object: &Object, is_one: impl Fn(&FieldPath) -> bool) -> bool {
        let json = OnceCell::new();
        let mut fields = self.fields.requirements().iter().zip(&self.paths);
        self.covers_namespace(object.key().namespace())
            && (self.labels.is_everything() || self.labels.matches(|key| object.label(key)))
            && fields.all(|(requirement, path)| {
                !is_one(path)
                    || (path.value(object, &json) == requirement.value) == requirement.equal
            })
    }

    /// As [`Scope::selects`], as far as the object's metadata say.
    pub(crate) fn may_select(&self, object: &Object) -> bool {
        self.selects_by(object, |path| !matches!(path, FieldPath::Value { .. }))
    }

    /// Whether objects of this namespace can belong.
    pub fn covers_namespace(&self, namespace: &str) -> bool {
        match &self.namespaces {
            Namespaces::All => true,
            Namespaces::Set(set) => set.contains(namespace),
        }
    }

    /// Its namespaces.
    pub fn covered_namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    /// Whether this scope surely covers `other`: it has the other's namespaces, no requirement beside the other's, and
    /// whole objects if the other needs them.
    pub fn covers(&self, other: &Self) -> bool {
        other.is_covered_by(std::iter::once(self))
    }

    /// Whether this scope has no less of the objects that `other` selects: each of its requirements is one of the
    /// other's, and whole objects serve all.
    pub(crate) fn selects_no_less(&self, other: &Self) -> bool {
        let (labels, fields) = (other.labels.requirements(), other.fields.requirements());
        (!self.is_metadata_only() || other.is_metadata_only())
            && self.labels.requirements().iter().all(|one| labels.contains(one))
            && self.fields.requirements().iter().all(|one| fields.contains(one))
    }

    /// Whether these scopes of parts together cover it.
    pub(crate) fn is_covered_by<'a>(&self, parts: impl Iterator<Item = &'a Self> + Clone) -> bool {
        // In this order: namespaces are compared in less time than selectors.
        let mut in_all = parts.clone().filter(|part| part.namespaces == Namespaces::All);
        in_all.any(|part| part.selects_no_less(self))
            || match &self.namespaces {
                Namespaces::All => false,
                Namespaces::Set(names) => names.iter().all(|name| {
                    let mut there = parts.clone().filter(|part| part.covers_namespace(name));
                    there.any(|part| part.selects_no_less(self))
                }),
            }
    }

    pub(crate) fn selects_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }
}

/// As text for people: `all namespaces`, `namespaces a, b, labels app=web`.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespaces {
            Namespaces::All => f.write_str("all namespaces")?,
            Namespaces::Set(set) => {
                let names: Vec<&str> = set.iter().map(|name| &**name).collect();
                write!(f, "namespaces {}", names.join(", "))?;
            }
        }
        if !self.labels.is_everything() {
            write!(f, ", labels {}", self.labels)?;
        }
        if !self.fields.is_everything() {
            write!(f, ", fields {}", self.fields)?;
        }
        if self.is_metadata_only() {
            f.write_str(", metadata only")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(namespace: &str, rest: &str) -> Object {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"{namespace}","name":"a","labels":{{"app":"web"}}}}{rest}}}"#
        );
        Object::decode(json.as_bytes(), None).expect("it decodes")
    }

    fn labels(text: &str) -> LabelSelector {
        text.parse().expect("a selector")
    }

    fn fields(text: &str) -> FieldSelector {
        text.parse().expect("a selector")
    }

    #[test]
    fn an_object_belongs_by_namespace_labels_and_fields() {
        let pod = object("x", r#","spec":{"nodeName":"n1","priority":5}"#);
        assert!(Scope::all().contains(&pod));
        assert!(Scope::namespaces(["x", "y"]).contains(&pod));
        assert!(!Scope::namespace("y").contains(&pod));
        assert!(Scope::all().with_labels(labels("app=web")).contains(&pod));
        assert!(!Scope::all().with_labels(labels("app!=web")).contains(&pod));
        let by = |text| Scope::all().with_fields(fields(text)).expect("evaluable").contains(&pod);
        assert!(by("metadata.name=a,metadata.namespace=x,spec.nodeName=n1,spec.priority=5"));
        assert!(by("spec.nodeName!=n2,status.phase="));
        assert!(!by("spec.nodeName="));
    }

    #[test]
    fn metadata_alone_belong_where_they_are_enough() {
        let pod = object("x", r#","spec":{"nodeName":"n1"}"#);
        let metadata = pod.metadata_only();
        assert!(!Scope::all().contains(&metadata) && Scope::all().selects(&metadata));
        let scope = Scope::all().metadata_only();
        assert!(scope.contains(&metadata) && scope.contains(&pod));
        let by_name = scope.clone().with_fields(fields("metadata.name=a")).expect("evaluable");
        assert!(by_name.is_metadata_only() && by_name.contains(&metadata));
        let by_node = scope.with_fields(fields("spec.nodeName=n1")).expect("evaluable");
        assert!(!by_node.is_metadata_only() && by_node.contains(&pod));
        assert!(!by_node.selects(&metadata) && by_node.may_select(&metadata));
        assert!(!Scope::namespace("y").may_select(&metadata));
        assert_eq!(by_node.to_string(), "all namespaces, fields spec.nodeName=n1");
    }

    #[test]
    fn a_field_that_the_server_fills_in_has_its_default() {
        let by = |text| Scope::all().with_fields(fields(text)).expect("evaluable");
        assert!(by("spec.unschedulable=false").contains(&object("", "")));
        let cordoned = object("", r#","spec":{"unschedulable":true}"#);
        assert!(by("spec.unschedulable=true").contains(&cordoned));
        assert!(by("status.successful=0").contains(&object("", "")));
        assert_eq!(
            Scope::all().with_fields(fields("source=kubelet")),
            Err(ScopeError::Field("source".to_owned()))
        );
    }

    #[test]
    fn parts_cover_a_scope_by_namespace_and_selector() {
        let web = Scope::namespace("x").with_labels(labels("app=web"));
        let covered = |scope: &Scope, by: &Scope| by.covers(scope);
        assert!(covered(&web, &Scope::all()) && covered(&web, &Scope::namespaces(["x", "y"])));
        assert!(covered(&web, &web) && !covered(&Scope::namespace("x"), &web));
        assert!(!covered(&Scope::all(), &Scope::namespace("x")));
        let narrow = web.clone().with_labels(labels("tier,app=web"));
        assert!(covered(&narrow, &web) && !covered(&web, &narrow));
        let metadata = web.clone().metadata_only();
        assert!(covered(&metadata, &web) && !covered(&web, &metadata));
        assert!(covered(&metadata, &metadata));
        let each = [Scope::namespace("x"), Scope::namespace("y")];
        assert!(Scope::namespaces(["x", "y"]).is_covered_by(each.iter()));
    }
}
