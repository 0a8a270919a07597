//! The parts to list and watch for several scopes: one for each of their namespaces, or one for all of them.
//!
//! A part has metadata alone if that is enough for each of its scopes. Its selectors have the requirements that each of its scopes has; the host evaluates the others. So a part
//! covers its scopes, whatever their selectors are. Requirements are compared as they are written: `app=web` and
//! `app in (web)` are two. One part for each selector would be narrower. But such parts would overlap for good, and an
//! object that goes from one to another would be deleted and added. client-go has one selector for a whole factory.

use super::{Namespaces, Scope};
use crate::list_watch::Part;
use informant_apimachinery::{FieldRequirement, FieldSelector, LabelRequirement, LabelSelector};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// The most namespaces of one resource that are listed and watched individually. With more, all namespaces are listed
/// and watched at once.
pub(crate) const NAMESPACES_MAX: usize = 256;

/// The parts for these scopes. If the API server refuses a list of all namespaces, the scopes of single namespaces are
/// served all the same, because those may be allowed.
pub(crate) fn parts<'a>(
    scopes: impl Iterator<Item = &'a Scope> + Clone,
    is_refused_whole: bool,
) -> BTreeSet<Part> {
    let mut numbered = Numbered::default();
    let is_whole = is_whole(scopes.clone());
    let mut parts = BTreeSet::new();
    if is_whole {
        let common = common_of_all(scopes.clone(), &mut numbered);
        parts.insert(numbered.part(&common, None));
    }
    // Invariant 10. Beside a part of whole objects there is none of their metadata.
    if !is_whole || is_refused_whole {
        let of_whole = parts.first().is_none_or(|part| part.metadata_only);
        let single = common_of_each(scopes, &mut numbered);
        parts.extend(single.into_iter().take(NAMESPACES_MAX).map(|(name, mut common)| {
            common.metadata_only &= of_whole;
            numbered.part(&common, Some(name.into()))
        }));
    }
    parts
}

/// Whether all namespaces are listed and watched at once.
fn is_whole<'a>(mut scopes: impl Iterator<Item = &'a Scope>) -> bool {
    let mut single = BTreeSet::new();
    scopes.any(|scope| match &scope.namespaces {
        Namespaces::All => true,
        Namespaces::Set(names) => {
            single.extend(names);
            single.len() > NAMESPACES_MAX
        }
    })
}

/// What all scopes have in common.
fn common_of_all<'a>(
    scopes: impl Iterator<Item = &'a Scope>,
    numbered: &mut Numbered<'a>,
) -> Common {
    let mut common: Option<Common> = None;
    for scope in scopes.filter(|scope| scope.namespaces != Namespaces::Set(BTreeSet::new())) {
        match &mut common {
            Some(common) if common.is_nothing() => break,
            Some(common) => common.keep_those_of(&numbered.common(scope)),
            None => common = Some(numbered.common(scope)),
        }
    }
    common.unwrap_or_default()
}

/// What the scopes of each single namespace have in common.
fn common_of_each<'a>(
    scopes: impl Iterator<Item = &'a Scope>,
    numbered: &mut Numbered<'a>,
) -> BTreeMap<&'a str, Common> {
    let mut single: BTreeMap<&str, Common> = BTreeMap::new();
    for scope in scopes {
        let Namespaces::Set(names) = &scope.namespaces else { continue };
        let of_scope = numbered.common(scope);
        for name in names {
            let common = single.entry(name).and_modify(|common| common.keep_those_of(&of_scope));
            common.or_insert_with(|| of_scope.clone());
        }
    }
    single
}

/// What several scopes have in common: requirements, by their numbers in order, and whether metadata are enough.
#[derive(Clone, Default)]
struct Common {
    metadata_only: bool,
    labels: Vec<usize>,
    fields: Vec<usize>,
}

impl Common {
    fn keep_those_of(&mut self, other: &Self) {
        self.metadata_only &= other.metadata_only;
        self.labels.retain(|number| other.labels.binary_search(number).is_ok());
        self.fields.retain(|number| other.fields.binary_search(number).is_ok());
    }

    /// Whether a further scope changes nothing.
    fn is_nothing(&self) -> bool {
        !self.metadata_only && self.labels.is_empty() && self.fields.is_empty()
    }
}

/// The different requirements of all scopes. Each is read once for a scope, and not once for a namespace of the scope: a
/// requirement may have hundreds of values.
#[derive(Default)]
struct Numbered<'a> {
    labels: Numbers<'a, LabelRequirement>,
    fields: Numbers<'a, FieldRequirement>,
}

impl<'a> Numbered<'a> {
    fn common(&mut self, scope: &'a Scope) -> Common {
        Common {
            metadata_only: scope.is_metadata_only(),
            labels: self.labels.numbers(scope.labels.requirements()),
            fields: self.fields.numbers(scope.fields.requirements()),
        }
    }

    /// The order of the requirements is the same for the same ones: another text would be another part.
    fn part(&self, common: &Common, namespace: Option<Box<str>>) -> Part {
        let mut labels = self.labels.requirements(&common.labels);
        labels.sort_by_cached_key(ToString::to_string);
        let text = |one: &FieldRequirement| FieldSelector::new([one.clone()]).to_string();
        let mut fields = self.fields.requirements(&common.fields);
        fields.sort_by_cached_key(text);
        Part {
            namespace,
            label_selector: LabelSelector::new(labels).to_string(),
            field_selector: FieldSelector::new(fields).to_string(),
            metadata_only: common.metadata_only,
        }
    }
}

/// A number for each different requirement.
struct Numbers<'a, R> {
    of: HashMap<&'a R, usize>,
    all: Vec<&'a R>,
}

impl<R> Default for Numbers<'_, R> {
    fn default() -> Self {
        Self { of: HashMap::new(), all: Vec::new() }
    }
}

impl<'a, R: Clone + Eq + Hash> Numbers<'a, R> {
    /// The numbers of these requirements, in order, each once.
    fn numbers(&mut self, requirements: &'a [R]) -> Vec<usize> {
        let Self { of, all } = self;
        let number = |one| {
            *of.entry(one).or_insert_with(|| {
                all.push(one);
                all.len() - 1
            })
        };
        let mut numbers: Vec<usize> = requirements.iter().map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn requirements(&self, numbers: &[usize]) -> Vec<R> {
        numbers
            .iter()
            .filter_map(|number| self.all.get(*number))
            .map(|one| (*one).clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(namespaces: &[&str], labels: &str, fields: &str) -> Scope {
        let scope = match namespaces {
            [] => Scope::all(),
            names => Scope::namespaces(names.iter().copied()),
        };
        let scope = scope.with_labels(labels.parse().expect("a selector"));
        scope.with_fields(fields.parse().expect("a selector")).expect("these can be evaluated")
    }

    /// The parts for scopes with these namespaces and labels.
    #[track_caller]
    fn check(scopes: &[(&[&str], &str)], expect: &[&str]) {
        let scopes: Vec<Scope> =
            scopes.iter().map(|(namespaces, labels)| scope(namespaces, labels, "")).collect();
        check_scopes(&scopes, expect);
    }

    #[track_caller]
    fn check_scopes(scopes: &[Scope], expect: &[&str]) {
        let texts = |found: BTreeSet<Part>| -> Vec<String> {
            found.iter().map(ToString::to_string).collect()
        };
        let found = parts(scopes.iter(), false);
        assert_eq!(texts(found.clone()), expect);
        assert_eq!(texts(parts(scopes.iter().rev(), false)), expect, "in another order");
        let covers: Vec<Scope> = found.iter().map(Scope::of_part).collect();
        for scope in scopes {
            assert!(scope.is_covered_by(covers.iter()), "{scope} by {expect:?}");
        }
    }

    #[test]
    fn requirements_that_all_scopes_have_are_sent() {
        check(&[(&[], "app=web")], &["all namespaces, labels app=web"]);
        check(&[(&[], "app=web"), (&[], "app=web")], &["all namespaces, labels app=web"]);
        check(
            &[(&[], "app=web,tier=front"), (&[], "tier=front")],
            &["all namespaces, labels tier=front"],
        );
        check(
            &[(&[], "tier,app=web,a!=b"), (&[], "app=web,tier,c")],
            &["all namespaces, labels app=web,tier"],
        );
        check(&[(&[], "app=web"), (&[], "app=db")], &["all namespaces"]);
        check(&[(&[], "app=web"), (&[], "")], &["all namespaces"]);
    }

    #[test]
    fn requirements_are_compared_as_they_are_written() {
        check(&[(&[], "app=web"), (&[], "app in (web)")], &["all namespaces"]);
        check(&[(&[], "a=1,a=1"), (&[], "a==1")], &["all namespaces, labels a=1"]);
    }

    #[test]
    fn each_namespace_has_the_requirements_of_its_own_scopes() {
        check(
            &[(&["x", "y"], "app=web"), (&["y"], "")],
            &["namespace x, labels app=web", "namespace y"],
        );
        check(&[(&["x"], "app=web"), (&[], "app=web,new")], &["all namespaces, labels app=web"]);
        check(&[(&["x"], "app=db"), (&[], "app=web")], &["all namespaces"]);
    }

    #[test]
    fn a_scope_without_namespaces_changes_nothing() {
        let nothing = Scope::namespaces(Vec::<Box<str>>::new());
        let web = scope(&[], "app=web", "");
        check_scopes(std::slice::from_ref(&nothing), &[]);
        check_scopes(&[nothing, web], &["all namespaces, labels app=web"]);
    }

    #[test]
    fn metadata_are_requested_alone_where_they_are_enough_for_all() {
        let (all, x) = (scope(&[], "", ""), scope(&["x"], "", ""));
        let metadata = |scope: &Scope| scope.clone().metadata_only();
        check_scopes(&[metadata(&all)], &["all namespaces, metadata only"]);
        check_scopes(&[metadata(&all), metadata(&x)], &["all namespaces, metadata only"]);
        check_scopes(&[metadata(&all), x.clone()], &["all namespaces"]);
        check_scopes(&[metadata(&all), all.clone()], &["all namespaces"]);
        let web = scope(&["x", "y"], "app=web", "");
        check_scopes(
            &[metadata(&web), x.clone()],
            &["namespace x", "namespace y, labels app=web, metadata only"],
        );
        // If all namespaces at once are refused, a change of the permission changes nothing else.
        let refused = |scopes: &[Scope]| -> Vec<String> {
            parts(scopes.iter(), true).iter().map(ToString::to_string).collect()
        };
        assert_eq!(refused(&[all.clone(), metadata(&x)]), ["all namespaces", "namespace x"]);
        assert_eq!(
            refused(&[metadata(&all), metadata(&x)]),
            ["all namespaces, metadata only", "namespace x, metadata only"]
        );
    }

    #[test]
    fn fields_are_sent_by_the_same_rule() {
        let both = scope(&[], "app=web", "spec.nodeName=a,status.phase!=Failed");
        let node = scope(&[], "app=db", "spec.nodeName=a");
        check_scopes(
            std::slice::from_ref(&both),
            &["all namespaces, labels app=web, fields spec.nodeName=a,status.phase!=Failed"],
        );
        check_scopes(&[both, node], &["all namespaces, fields spec.nodeName=a"]);
    }

    /// Whatever scopes ask, a part has every object that one of its scopes has.
    #[test]
    fn no_scope_loses_an_object() {
        let mut random = fastrand::Rng::with_seed(7);
        let labels = ["", "a=1", "a=1,b=2", "b=2", "a!=2", "b in (1,2),a=1", "!c", "c"];
        let namespaces: [&[&str]; 4] = [&[], &["x"], &["y"], &["x", "y"]];
        for _ in 0..2_000 {
            let mut one_of =
                |_| scope(namespaces[random.usize(..4)], labels[random.usize(..8)], "");
            let scopes: Vec<Scope> = (0..3).map(&mut one_of).collect();
            let found = parts(scopes.iter(), random.bool());
            let covers: Vec<Scope> = found.iter().map(Scope::of_part).collect();
            let (namespace, a, b) =
                (["x", "y"][random.usize(..2)], random.u8(1..3), random.u8(1..3));
            let json = format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"{namespace}","name":"a","labels":{{"a":"{a}","b":"{b}"}}}}}}"#
            );
            let object = crate::object::Object::decode(json.as_bytes(), None).expect("it decodes");
            let asked = scopes.iter().any(|scope| scope.contains(&object));
            let shown = covers.iter().any(|scope| scope.contains(&object));
            assert!(!asked || shown, "{scopes:?} by {found:?}: {json}");
        }
    }
}
