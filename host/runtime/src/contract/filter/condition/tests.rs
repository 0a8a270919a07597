//! What the tests of a condition say is what the interpreter says, wherever they say anything.

use super::super::tests::{change, verdict as interpreted};
use super::super::{Filter, FilterVerdict};
use super::*;
use proptest::prelude::*;

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"app":"w","odd":"a\"b"}},
    "spec":{"n":3,"f":3.0,"on":true,"none":null,"list":[1],"big":18446744073709551615,"minus":-4},"status":{"phase":"Running"}}"#;

/// The verdict of the condition, if the expression has one and it is certain.
fn tested(filter: &Filter, object: Option<&str>, old: Option<&str>, of: &str) -> Option<bool> {
    let condition = filter.condition()?;
    let projection = informant_cache::Projection::new(condition.pointers());
    let values = |json: Option<&'static str>| json.map(|json| projection.values(json.as_bytes()));
    let kept = |json: Option<&str>| json.map(|json| &*json.to_owned().leak());
    let (object, old) = (values(kept(object)), values(kept(old)));
    let object = object.as_ref().map(|values| |number: usize| values[number]);
    let old = old.as_ref().map(|values| |number: usize| values[number]);
    condition.verdict(&TestedStates {
        change: change(of),
        object: object.as_ref().map(|state| state as &dyn Fn(usize) -> Option<&'static [u8]>),
        old: old.as_ref().map(|state| state as &dyn Fn(usize) -> Option<&'static [u8]>),
    })
}

#[track_caller]
fn check_of(expression: &str, old: Option<&str>, of: &str, expect: Option<bool>) {
    let filter = Filter::compile(expression).unwrap_or_else(|error| panic!("{error}"));
    let object = (of != "deleted").then_some(POD);
    let found = tested(&filter, object, old, of);
    assert_eq!(found, expect, "{expression}");
    let told = interpreted(&filter, object, old, of);
    let agrees = found.is_none_or(|found| {
        told == if found { FilterVerdict::Told } else { FilterVerdict::Filtered }
    });
    assert!(agrees, "{expression}: {told:?}");
}

/// Of an added pod.
#[track_caller]
fn check(expression: &str, expect: Option<bool>) {
    check_of(expression, None, "added", expect);
}

#[test]
fn members_are_compared_with_literals() {
    check("object.status.phase == 'Running'", Some(true));
    check("'Failed' == object.status.phase", Some(false));
    check("object.status.phase != 'Failed' && object.spec.n > 2", Some(true));
    check("object.spec.n >= 4 || object.spec.minus < 0", Some(true));
    check("object.spec.on == true && !(object.spec.on == false)", Some(true));
    check("object.metadata.labels['app'] in ['x', 'w']", Some(true));
    check("object.metadata.labels['app'] in ['x', 'y']", Some(false));
    check("object.metadata.name.startsWith('we')", Some(true));
    check("object.metadata.name.endsWith('we')", Some(false));
    check("object.metadata.name.contains('e')", Some(true));
    check("object.spec.n == 3 ? object.spec.on == false : true", Some(false));
    check("true", Some(true));
}

#[test]
fn what_is_there_is_known() {
    check("has(object.spec.n)", Some(true));
    check("has(object.spec.other)", Some(false));
    check("has(object.status.conditions) && object.status.phase == 'x'", Some(false));
    check("has(object.spec.none) && object.spec.none == null", Some(true));
    check("object.spec.list != null", Some(true));
    check("has(object.spec.n.x)", None);
}

#[test]
fn what_is_not_certain_is_left_to_the_interpreter() {
    check("object.spec.other == 'x'", None);
    check("object.spec.other == 'x' && object.spec.n == 4", Some(false));
    check("object.spec.other == 'x' || object.spec.n == 3", Some(true));
    check("object.spec.other == 'x' || object.spec.n == 4", None);
    check("object.spec.n == 'x'", None);
    check("object.spec.other in []", None);
    check("object.spec.f == 3", None);
    check("object.spec.big > 3", None);
    check("object.metadata.labels.odd == 'a'", None);
    check("object.metadata.name > 'a'", None);
    check("size(object.spec.list) == 1", None);
    check("object.spec.list.exists(item, item == 1)", None);
}

#[test]
fn the_state_before_is_compared() {
    let old = POD.replace("Running", "Pending");
    let expression = "old == null || old.status.phase != object.status.phase";
    check_of(expression, None, "added", Some(true));
    check_of(expression, Some(&old), "updated", Some(true));
    check_of(expression, Some(POD), "updated", Some(false));
    check_of("object.spec != old.spec", Some(&old), "updated", Some(false));
    check_of("object.metadata != old.metadata || object == old", Some(POD), "updated", Some(true));
    check_of("old.spec.n == 3", None, "added", None);
    check_of("change == 'added'", Some(POD), "updated", Some(false));
    check_of("change == 'deleted' && object == null", Some(POD), "deleted", Some(true));
}

#[test]
fn much_text_is_left_to_the_interpreter() {
    let long = "x".repeat(READ_BYTES_MAX / 2);
    let filter = Filter::compile("object.spec.x == 'y'").expect("it compiles");
    let object = |text: &str| format!(r#"{{"metadata":{{"name":"a"}},"spec":{{"x":"{text}"}}}}"#);
    assert_eq!(tested(&filter, Some(&object(&long[3..])), None, "added"), Some(false));
    assert_eq!(tested(&filter, Some(&object(&long)), None, "added"), None);
    assert_eq!(tested(&filter, Some(&object("\\ud83d")), None, "added"), None);
}

/// Chains that are there, are not there, and lead through values without members.
const CHAINS: [&str; 7] = ["a", "b", "c.a", "c.b", "c", "d", "a.x"];

fn operand_text() -> impl Strategy<Value = String> {
    let chain = (any::<bool>(), prop::sample::select(&CHAINS[..]))
        .prop_map(|(old, chain)| format!("{}.{chain}", if old { "old" } else { "object" }));
    let literal =
        ["'x'", "'y'", "''", "3", "4", "true", "false", "null", "change", "old", "object"];
    prop_oneof![2 => chain, 1 => prop::sample::select(literal.to_vec()).prop_map(str::to_owned)]
}

fn expression_text() -> impl Strategy<Value = String> {
    let operators = ["==", "!=", "<", "<=", ">", ">="];
    let compared = (operand_text(), prop::sample::select(operators.to_vec()), operand_text())
        .prop_map(|(left, operator, right)| format!("{left} {operator} {right}"));
    let within = operand_text().prop_map(|value| format!("{value} in ['x', 3]"));
    let begins =
        (operand_text(), prop::sample::select(&["startsWith", "endsWith", "contains"][..]))
            .prop_map(|(value, test)| format!("{value}.{test}('x')"));
    let has = (any::<bool>(), prop::sample::select(&CHAINS[..]))
        .prop_map(|(old, chain)| format!("has({}.{chain})", if old { "old" } else { "object" }));
    let leaf = prop_oneof![4 => compared, 1 => within, 1 => begins, 2 => has];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|it| format!("!({it})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) && ({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) || ({b})")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("({a}) ? ({b}) : ({c})")),
        ]
    })
}

fn state_text() -> impl Strategy<Value = String> {
    let values =
        ["\"x\"", "\"y\"", "\"\"", "\"x\\\"\"", "3", "4", "3.0", "true", "null", "[]", "{}"];
    let value = || prop::option::of(prop::sample::select(values.to_vec()));
    let entry = |name: &str, value: Option<&str>| value.map(|value| format!("\"{name}\":{value}"));
    (value(), value(), value(), value()).prop_map(move |(a, b, ca, cb)| {
        let inner: Vec<String> = [entry("a", ca), entry("b", cb)].into_iter().flatten().collect();
        let inner = (!inner.is_empty()).then(|| format!("\"c\":{{{}}}", inner.join(",")));
        let metadata = r#""apiVersion":"v1","kind":"A","metadata":{"name":"n"}"#;
        let metadata = Some(metadata.to_owned());
        let all: Vec<String> =
            [metadata, entry("a", a), entry("b", b), inner].into_iter().flatten().collect();
        format!("{{{}}}", all.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn a_certain_verdict_is_the_interpreters(
        expression in expression_text(),
        object in state_text(),
        old in prop::option::of(state_text()),
    ) {
        let filter = Filter::compile(&expression).expect("it compiles");
        let of = if old.is_some() { "updated" } else { "added" };
        if let Some(found) = tested(&filter, Some(&object), old.as_deref(), of) {
            let told = interpreted(&filter, Some(&object), old.as_deref(), of);
            let expect = if found { FilterVerdict::Told } else { FilterVerdict::Filtered };
            prop_assert_eq!(told, expect, "{} of {} before {:?}", expression, object, old);
        }
    }
}
