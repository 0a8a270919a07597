//! The objects of a resource that belong to a subscription.

use crate::contract::descriptor::{NamespaceSet, ReadSpec, SubscriptionSpec};
use crate::delivery::namespaces::FollowedNamespaces;
use crate::namespace_labels::NamespaceLabels;
use informant_apimachinery::{
    FieldSelector, GroupVersionResource, LabelRequirement, LabelSelector, LabelTest,
    selectable_fields,
};
use informant_cache::{Indexer, Interest, Object, ObjectKey, Projection, field_pointer};
use std::sync::Arc;

/// Namespaces and selectors. An object that enters the view is `added`, and one that leaves it is `deleted`.
///
/// Cheap tests come first: namespace and name, then labels, which are at hand. The tests of the object's bytes come
/// last; they take some microseconds.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// Empty: all namespaces.
    pub(crate) namespaces: NamespaceSet,
    selected: SelectedNamespaces,
    key: Vec<KeyTest>,
    labels: LabelSelector,
    fields: Vec<FieldTest>,
    /// A pointer for each of `fields`.
    projection: Projection,
}

/// The namespaces that a `namespaceSelector` selects.
#[derive(Debug, Clone)]
enum SelectedNamespaces {
    /// There is no selector, or another view evaluates it.
    All,
    /// By their present labels.
    Now(NamespaceLabels),
    /// As far as a subscription has followed their labels.
    Followed(Arc<FollowedNamespaces>),
}

/// The part of a view that an object does not match.
#[derive(Debug)]
pub(crate) enum Unmet<'a> {
    Namespaces,
    NamespaceLabels,
    /// A field selector's requirement on namespace or name.
    Key(&'a KeyTest),
    Label(&'a LabelRequirement),
    Field(&'a FieldTest),
}

/// A field selector's requirement on namespace or name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyTest {
    pub(crate) is_name: bool,
    pub(crate) value: String,
    pub(crate) equal: bool,
}

/// A field selector's requirement on a value in the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldTest {
    pub(crate) field: String,
    pub(crate) pointer: String,
    pub(crate) value: String,
    pub(crate) equal: bool,
    /// Stands for an absent value.
    pub(crate) absent: &'static str,
}

/// Without the `namespaceSelector`: it needs the labels of namespaces.
impl From<&SubscriptionSpec> for View {
    fn from(subscription: &SubscriptionSpec) -> Self {
        let namespaces = subscription.namespaces.clone();
        let (resource, labels) = (&subscription.resource, subscription.label_selector.clone());
        Self::new(resource, namespaces, labels, &subscription.field_selector)
    }
}

/// Without the `namespaceSelector`, as above.
impl From<&ReadSpec> for View {
    fn from(read: &ReadSpec) -> Self {
        let (labels, fields) = (LabelSelector::default(), FieldSelector::default());
        Self::new(&read.resource, read.namespaces.clone(), labels, &fields)
    }
}

impl View {
    fn new(
        resource: &GroupVersionResource,
        namespaces: NamespaceSet,
        labels: LabelSelector,
        selector: &FieldSelector,
    ) -> Self {
        // Fields of a custom resource have no values that the API server fills in.
        let is_built_in = |field: &str| selectable_fields(resource).contains(&field);
        let (mut key, mut fields) = (Vec::new(), Vec::new());
        for requirement in selector.requirements() {
            let (value, equal) = (requirement.value.clone(), requirement.equal);
            match requirement.field.as_str() {
                "metadata.name" => key.push(KeyTest { is_name: true, value, equal }),
                "metadata.namespace" => key.push(KeyTest { is_name: false, value, equal }),
                field => {
                    let (pointer, absent) = match is_built_in(field) {
                        true => field_pointer(field),
                        false => (format!("/{}", field.replace('.', "/")), ""),
                    };
                    let field = field.to_owned();
                    fields.push(FieldTest { field, pointer, value, equal, absent });
                }
            }
        }
        let projection = Projection::new(fields.iter().map(|field| &field.pointer));
        let selected = SelectedNamespaces::All;
        Self { namespaces, selected, key, labels, fields, projection }
    }

    /// Adds the `namespaceSelector`, if there is one: the present labels decide.
    pub(crate) fn in_labelled(
        self,
        selector: Option<&LabelSelector>,
        namespaces: &Indexer,
    ) -> Self {
        let labels = |selector| NamespaceLabels::new(selector, namespaces.clone());
        match selector.map(labels) {
            Some(labels) => Self { selected: SelectedNamespaces::Now(labels), ..self },
            None => self,
        }
    }

    /// Adds the `namespaceSelector` of a subscription that follows the labels.
    pub(crate) fn following(self, followed: Arc<FollowedNamespaces>) -> Self {
        Self { selected: SelectedNamespaces::Followed(followed), ..self }
    }

    pub(crate) fn followed(&self) -> Option<&FollowedNamespaces> {
        match &self.selected {
            SelectedNamespaces::Followed(followed) => Some(followed),
            SelectedNamespaces::All | SelectedNamespaces::Now(_) => None,
        }
    }

    /// Whether the view contains the object.
    pub(crate) fn contains(&self, object: &Object) -> bool {
        self.may_contain(object)
            && (self.fields.is_empty() || self.unmet_field_of(&object.json()).is_none())
    }

    /// Whether the view contains the object, as far as the tests without bytes say. Takes well below a microsecond.
    pub(crate) fn may_contain(&self, object: &Object) -> bool {
        self.unmet_without_bytes(object).is_none()
    }

    /// The first part that an object does not match, in the order of the tests.
    pub(crate) fn unmet(&self, object: &Object) -> Option<Unmet<'_>> {
        self.unmet_without_bytes(object)
            .or_else(|| self.unmet_field_of(&object.json()).map(Unmet::Field))
    }

    fn unmet_field_of(&self, json: &[u8]) -> Option<&FieldTest> {
        let values = self.projection.values(json);
        self.unmet_field(|number| values[number])
    }

    #[inline]
    fn unmet_without_bytes(&self, object: &Object) -> Option<Unmet<'_>> {
        let key = object.key();
        if !self.covers_namespace(key.namespace()) {
            return Some(Unmet::Namespaces);
        }
        if !self.selects_namespace(key) {
            return Some(Unmet::NamespaceLabels);
        }
        let key_test = self.key.iter().find(|test| {
            let value = if test.is_name { key.name() } else { key.namespace() };
            (value == test.value) != test.equal
        });
        key_test
            .map(Unmet::Key)
            .or_else(|| self.labels.unmet(|key| object.label(key)).map(Unmet::Label))
    }

    /// The JSON pointers of the values that only the bytes have.
    pub(crate) fn pointers(&self) -> impl ExactSizeIterator<Item = &str> {
        self.fields.iter().map(|field| field.pointer.as_str())
    }

    /// Whether the fields of an object match for which [`View::may_contain`] holds. The argument returns the value of
    /// the pointer with this number, in the order of [`View::pointers`].
    pub(crate) fn fields_match<'a>(&self, value: impl Fn(usize) -> Option<&'a [u8]>) -> bool {
        self.unmet_field(value).is_none()
    }

    fn unmet_field<'a>(&self, value: impl Fn(usize) -> Option<&'a [u8]>) -> Option<&FieldTest> {
        let mut tests = self.fields.iter().enumerate();
        let unmet = tests.find(|(number, test)| {
            let value = value(*number).unwrap_or(test.absent.as_bytes());
            is_text(value, &test.value) != test.equal
        });
        unmet.map(|(_, test)| test)
    }

    /// The objects whose changes can concern the view, by its namespaces or else by one of its labels.
    pub(crate) fn interest(&self) -> Interest {
        if !self.namespaces.is_empty() {
            return Interest::Namespaces(self.namespaces.clone());
        }
        let values = |requirement: &LabelRequirement| match &requirement.test {
            LabelTest::Equals(value) => Some(vec![value.clone()]),
            LabelTest::In(values) => Some(values.iter().cloned().collect()),
            _ => None,
        };
        let label = self.labels.requirements().iter().find_map(|requirement| {
            Some(Interest::Label { key: requirement.key.clone(), values: values(requirement)? })
        });
        label.unwrap_or(Interest::All)
    }

    /// Whether the view contains every object of the resource.
    pub(crate) fn is_everything(&self) -> bool {
        let of_namespace =
            self.namespaces.is_empty() && matches!(self.selected, SelectedNamespaces::All);
        of_namespace && self.key.is_empty() && self.labels.is_everything() && self.fields.is_empty()
    }

    fn selects_namespace(&self, key: &ObjectKey) -> bool {
        match &self.selected {
            SelectedNamespaces::All => true,
            SelectedNamespaces::Now(labels) => labels.select(key.namespace()),
            SelectedNamespaces::Followed(followed) => followed.contain(key),
        }
    }

    /// The reason for which the `namespaceSelector` does not select this namespace.
    pub(crate) fn refusal_of_namespace(&self, namespace: &str, shows: bool) -> String {
        match &self.selected {
            SelectedNamespaces::Followed(followed) => followed.refusal(namespace, shows),
            SelectedNamespaces::All | SelectedNamespaces::Now(_) => String::new(),
        }
    }

    /// Whether the view can contain objects of this namespace, whatever the namespace's labels.
    pub(crate) fn covers_namespace(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.contains(namespace)
    }
}

/// `\u0061` is one byte.
const ESCAPE_BYTES_MAX: usize = 6;

/// Whether a JSON value equals this text. For a string the content is compared, for any other value its JSON; a
/// missing value is empty.
fn is_text(json: &[u8], text: &str) -> bool {
    let Some(content) = json.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return json == text.as_bytes();
    };
    if !content.contains(&b'\\') {
        return content == text.as_bytes();
    }
    // An escape has at most six bytes for one. A longer content is another text, and is not unescaped.
    if content.len() > ESCAPE_BYTES_MAX * text.len() {
        return false;
    }
    match serde_json::from_slice::<String>(json) {
        Ok(content) => content == text,
        // Half a surrogate pair is no text.
        Err(_) => json == text.as_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &[u8] = br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"a",
        "labels":{"app":"x"}},"spec":{"n":7,"on":true,"none":null,"list":[1, 2]},"status":{"phase":"Run\u006eing"}}"#;

    #[track_caller]
    fn check(selector: &str, expect: bool) {
        check_of("v1/pods", POD, selector, expect);
    }

    #[track_caller]
    fn check_of(resource: &str, json: &[u8], selector: &str, expect: bool) {
        let object = Object::decode(json, None).expect("the test's object is well formed");
        let fields = selector.parse().expect("a field selector");
        let resource = resource.parse().expect("a resource");
        let view = View::new(&resource, NamespaceSet::default(), LabelSelector::default(), &fields);
        assert_eq!(view.contains(&object), expect, "{resource} {selector}");
    }

    #[test]
    fn fields_are_compared_as_text() {
        check("status.phase=Running", true);
        check("status.phase!=Running", false);
        check("spec.n=7,spec.on=true,spec.none=null", true);
        check("spec.list=[1\\, 2]", true);
        check("spec.list.1=2", true);
    }

    #[test]
    fn a_value_is_the_text_that_its_escapes_mean() {
        let check = |json: &str, text: &str, expect| {
            assert_eq!(is_text(json.as_bytes(), text), expect, "{json}");
        };
        check(r#""\u0061\u0062""#, "ab", true);
        check(r#""\u0061\u0062""#, "a", false);
        check(r#""\u0061\u0062""#, "abc", false);
        check(r#""\ud83d\ude00""#, "😀", true);
        check(r#""\n""#, "", false);
        check(r#""\ud83d""#, r#""\ud83d""#, true);
    }

    #[test]
    fn what_is_not_there_is_empty() {
        check("spec.nodeName=", true);
        check("spec.nodeName!=a,status.phase.deeper=", true);
        check("spec.nodeName=a", false);
    }

    #[test]
    fn values_that_the_api_server_fills_in_are_those_of_its_own_resources() {
        check("spec.hostNetwork=false,spec.hostNetwork!=true", true);
        check("spec.hostNetwork=", false);
        let job = br#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"status":{"succeeded":3}}"#;
        check_of("batch/v1/jobs", job, "status.successful=3", true);
        check_of("v1/nodes", job, "spec.unschedulable=false", true);
        let thing = br#"{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"status":{"successful":4,"succeeded":3}}"#;
        check_of("example.com/v1/things", thing, "status.successful=4,status.replicas=", true);
    }

    #[test]
    fn name_and_namespace_are_those_of_the_key() {
        check("metadata.name=web,metadata.namespace!=b,spec.n!=8", true);
        check("metadata.name!=web,spec.n=7", false);
        check("metadata.namespace=b", false);
    }

    #[test]
    fn only_what_has_no_condition_is_everything() {
        let pods = "v1/pods".parse().expect("a resource");
        let view = |fields: &str| {
            let fields = fields.parse().expect("a field selector");
            View::new(&pods, NamespaceSet::default(), LabelSelector::default(), &fields)
                .is_everything()
        };
        assert!(view(""));
        assert!(!view("metadata.name=web"));
        assert!(!view("spec.n=7"));
    }

    /// The interest of a view of these namespaces with this label selector.
    #[track_caller]
    fn check_interest(namespaces: &[&str], labels: &str, expect: Interest) {
        let resource = "v1/pods".parse().expect("a resource");
        let namespaces = NamespaceSet::new(namespaces.iter().copied().map(str::to_owned).collect());
        let labels = labels.parse().expect("a label selector");
        let view = View::new(&resource, namespaces, labels, &FieldSelector::default());
        assert_eq!(view.interest(), expect);
    }

    #[test]
    fn a_view_names_its_namespaces_or_the_values_of_one_label() {
        let of_label = |values: &[&str]| Interest::Label {
            key: "app".to_owned(),
            values: values.iter().copied().map(str::to_owned).collect(),
        };
        let a = NamespaceSet::new(["a".to_owned()].into());
        check_interest(&["a"], "app=x", Interest::Namespaces(a));
        check_interest(&[], "app=x", of_label(&["x"]));
        check_interest(&[], "!gone,app in (x,y),tier=web", of_label(&["x", "y"]));
        for without_values in ["", "app", "!app", "app!=x", "app notin (x)", "app>1"] {
            check_interest(&[], without_values, Interest::All);
        }
    }
}
