//! The scope of an informer or of a view: namespaces and selectors.
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

/// The namespaces of a [`Scope`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// All namespaces, and the only choice for a resource without namespaces.
    #[default]
    All,
    /// These namespaces. Each is listed and watched individually, so that a permission in these namespaces is enough.
    Set(BTreeSet<Box<str>>),
}

/// Objects in the namespaces that both selectors select. The default is everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    namespaces: Namespaces,
    labels: LabelSelector,
    fields: FieldSelector,
    /// The paths of the fields in `fields`, in the same order.
    paths: Vec<FieldPath>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
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
        let known = WITH_DEFAULT.iter().find(|(name, _, _)| *name == field);
        let (pointer, absent) = match known {
            Some((_, pointer, absent)) => ((*pointer).to_owned(), *absent),
            None => (format!("/{}", field.replace('.', "/")), ""),
        };
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
        let scope = scope.with_labels(labels);
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

    /// Whether every object belongs.
    pub fn is_everything(&self) -> bool {
        self.namespaces == Namespaces::All && self.selects_everything()
    }

    /// Whether the object belongs. Fields that a transform removed do not count.
    pub fn contains(&self, object: &Object) -> bool {
        let json = OnceCell::new();
        self.covers_namespace(object.key().namespace())
            && (self.labels.is_everything() || self.labels.matches(|key| object.label(key)))
            && self.fields.requirements().iter().zip(&self.paths).all(|(requirement, path)| {
                (path.value(object, &json) == requirement.value) == requirement.equal
            })
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

    /// Whether this scope surely covers `other`: it has the other's namespaces, and the same selectors or none.
    pub fn covers(&self, other: &Self) -> bool {
        let namespaces = match (&self.namespaces, &other.namespaces) {
            (Namespaces::All, _) => true,
            (Namespaces::Set(_), Namespaces::All) => false,
            (Namespaces::Set(here), Namespaces::Set(there)) => there.is_subset(here),
        };
        let same = |here: &str, there: &str| here.is_empty() || here == there;
        let (labels, fields) = (self.labels.to_string(), self.fields.to_string());
        namespaces
            && same(&labels, &other.labels.to_string())
            && same(&fields, &other.fields.to_string())
    }

    /// The smallest scope that covers all of these, among those that the API server supports: selectors are kept only
    /// if all agree. `None` for no scopes.
    pub(crate) fn union<'a>(scopes: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut scopes = scopes.into_iter();
        let first = scopes.next()?.clone();
        Some(scopes.fold(first, |union, scope| {
            let namespaces = match (union.namespaces, &scope.namespaces) {
                (Namespaces::Set(mut set), Namespaces::Set(more)) => {
                    set.extend(more.iter().cloned());
                    Namespaces::Set(set)
                }
                (Namespaces::All, _) | (_, Namespaces::All) => Namespaces::All,
            };
            if union.labels == scope.labels && union.fields == scope.fields {
                Self { namespaces, ..union }
            } else {
                Self { namespaces, ..Self::default() }
            }
        }))
    }

    /// The same in all namespaces.
    pub(crate) fn everywhere(self) -> Self {
        Self { namespaces: Namespaces::All, ..self }
    }

    /// The parts to list and watch for it.
    pub(crate) fn parts(&self) -> BTreeSet<Part> {
        let part = |namespace| Part {
            namespace,
            label_selector: self.labels.to_string(),
            field_selector: self.fields.to_string(),
        };
        match &self.namespaces {
            Namespaces::All => [part(None)].into(),
            Namespaces::Set(set) => set.iter().map(|name| part(Some(name.clone()))).collect(),
        }
    }

    /// Whether these parts together cover it.
    pub(crate) fn is_covered_by<'a>(&self, parts: impl Iterator<Item = &'a Part> + Clone) -> bool {
        let (labels, fields) = (self.labels.to_string(), self.fields.to_string());
        let selects = |part: &Part| {
            (part.label_selector.is_empty() || part.label_selector == labels)
                && (part.field_selector.is_empty() || part.field_selector == fields)
        };
        let parts = parts.filter(|part| selects(part));
        let covered = |namespace: Option<&str>| {
            parts
                .clone()
                .any(|part| part.namespace.is_none() || part.namespace.as_deref() == namespace)
        };
        match &self.namespaces {
            Namespaces::All => covered(None),
            Namespaces::Set(set) => set.iter().all(|namespace| covered(Some(namespace))),
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
    fn selectors_reach_the_server_only_where_all_agree() {
        let web = Scope::namespace("x").with_labels(labels("app=web"));
        let union = |scopes: &[Scope]| Scope::union(scopes).expect("not empty").to_string();
        let more = Scope::namespace("y").with_labels(labels("app=web"));
        assert_eq!(union(&[web.clone(), more]), "namespaces x, y, labels app=web");
        assert_eq!(union(&[web.clone(), Scope::namespace("y")]), "namespaces x, y");
        assert_eq!(union(&[web, Scope::all()]), "all namespaces");
        assert_eq!(Scope::union([]), None);
    }

    #[test]
    fn parts_cover_a_scope_by_namespace_and_selector() {
        let parts = |scope: &Scope| scope.parts();
        let web = Scope::namespace("x").with_labels(labels("app=web"));
        let covered = |scope: &Scope, by: &Scope| scope.is_covered_by(parts(by).iter());
        assert!(covered(&web, &Scope::all()) && covered(&web, &Scope::namespaces(["x", "y"])));
        assert!(covered(&web, &web) && !covered(&Scope::namespace("x"), &web));
        assert!(!covered(&Scope::all(), &Scope::namespace("x")));
        assert!(Scope::all().covers(&web) && !web.covers(&Scope::namespace("x")));
    }
}
