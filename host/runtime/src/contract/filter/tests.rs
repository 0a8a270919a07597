//! The verdicts of filters, and the bounds of their cost.

use super::*;
use crate::guest_threads::THREAD_STACK_BYTES;
use informant_fuzz::Target;
use proptest::prelude::*;
use std::time::Instant;

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"a",
    "labels":{"app":"web","a/b~c":"odd"},"annotations":{}},"spec":{"nodeName":"n1","replicas":3,"none":null,
    "containers":[{"name":"c","image":"x:1","ports":[80,443]},{"name":"d","image":"y:2"}]},"status":{"phase":"Running"}}"#;

pub(super) fn change(text: &str) -> Change {
    match text {
        "added" => Change::Added,
        "updated" => Change::Updated,
        "deleted" => Change::Deleted,
        other => panic!("no such change: {other}"),
    }
}

/// The verdict on an event with these states, which are decoded as the cache does.
#[track_caller]
pub(super) fn verdict(
    filter: &Filter,
    object: Option<&str>,
    old: Option<&str>,
    of: &str,
) -> FilterVerdict {
    let decode = |json: &str| {
        informant_cache::Object::decode(json.as_bytes(), None).expect("the test's object is one")
    };
    let (object, old) = match change(of) {
        Change::Deleted => (old.map(decode).expect("a deletion has an old state"), None),
        _ => (object.map(decode).expect("it is there"), old.map(decode)),
    };
    filter.verdict(&Event {
        reason: crate::event::Reason::Watch,
        old,
        ..Event::new(crate::event::SubscriptionId(1), change(of), object, Instant::now())
    })
}

/// `expect` is `told`, `filtered` or the error.
#[track_caller]
fn check(expression: &str, object: Option<&str>, old: Option<&str>, of: &str, expect: &str) {
    let filter = Filter::compile(expression).unwrap_or_else(|error| panic!("{error}"));
    let found = match verdict(&filter, object, old, of) {
        FilterVerdict::Told => "told".to_owned(),
        FilterVerdict::Filtered => "filtered".to_owned(),
        FilterVerdict::Failed(error) => error,
    };
    assert_eq!(found, expect, "{expression}");
}

/// Checks the verdict on the added pod.
#[track_caller]
fn check_pod(expression: &str, expect: &str) {
    check(expression, Some(POD), None, "added", expect);
}

#[track_caller]
fn check_refused(expression: &str, expect: &str) {
    let error = Filter::compile(expression).expect_err(expression).to_string();
    assert_eq!(error, format!("filter: {expect}"), "{expression}");
}

#[test]
fn what_is_true_is_told() {
    check_pod("true", "told");
    check_pod("object.spec.nodeName == 'n1'", "told");
    check_pod("object.spec.nodeName == 'n2'", "filtered");
    check_pod("object.spec.replicas > 2 && object.status.phase in ['Running', 'Failed']", "told");
    check_pod("object.metadata.labels['app'] == 'web'", "told");
    check_pod("object.metadata.labels['a/b~c'].startsWith('o')", "told");
    check_pod("object['metadata']['name'] == \"web\"", "told");
    check_pod("object.spec.containers.exists(c, c.image.endsWith(':2'))", "told");
    check_pod(
        "object.spec.containers.all(c, has(c.ports) && c.ports.exists(p, p == 80))",
        "filtered",
    );
    check_pod("object.spec.containers.map(c, c.name) == ['c', 'd']", "told");
    check_pod("object.spec.containers.filter(c, c.name != 'c')[0].image == 'y:2'", "told");
    check_pod("size(object.spec.containers) == 2 && object.spec.containers.size() == 2", "told");
    check_pod("object.spec.containers[1].name == 'd'", "told");
    check_pod("'app' in object.metadata.labels", "told");
    check_pod("type(object.spec.replicas) == int", "told");
    check_pod("object.metadata.name + '-' + object.metadata.namespace == 'web-a'", "told");
}

#[test]
fn what_is_missing_is_as_cel_says() {
    check_pod("has(object.spec.nodeName)", "told");
    check_pod("has(object.spec.other)", "filtered");
    check_pod("has(object.spec.none) && object.spec.none == null", "told");
    check_pod("!has(object.metadata.annotations.x)", "told");
    check_pod("has(object.other.x)", "No such key: other");
    check_pod("object.spec.other == 'x'", "No such key: other");
    check_pod("object.spec.other == 'x' || object.spec.nodeName == 'n1'", "told");
    let text = "found no matching overload for '_._' applied to '(string, string)'";
    check_pod("has(object.spec.nodeName.x)", text);
    let text = "found no matching overload for '_._' applied to '(list, string)'";
    check_pod("has(object.spec.containers.x)", text);
    check_pod("object.metadata.labels != null", "told");
}

#[test]
fn the_state_before_is_old() {
    let old = POD.replace("Running", "Pending");
    let expression = "old == null || old.status.phase != object.status.phase";
    check(expression, Some(POD), None, "added", "told");
    check(expression, Some(POD), Some(&old), "updated", "told");
    check(expression, Some(POD), Some(POD), "updated", "filtered");
    check("object == old", Some(POD), Some(POD), "updated", "told");
    check("object.spec == old.spec", Some(POD), Some(&old), "updated", "told");
    check(
        "old.status.phase == 'x'",
        Some(POD),
        None,
        "added",
        "found no matching overload for '_._' applied to '(null_type, string)'",
    );
}

#[test]
fn a_deletion_is_filtered_only_by_who_names_change() {
    check("object.status.phase == 'Failed'", None, Some(POD), "deleted", "told");
    check("false", None, Some(POD), "deleted", "told");
    let expression = "change == 'deleted' ? old.status.phase == 'Failed' : true";
    check(expression, None, Some(POD), "deleted", "filtered");
    check(expression, Some(POD), Some(POD), "updated", "told");
    check("change != 'deleted' || object == null", None, Some(POD), "deleted", "told");
    check("change == 'added'", Some(POD), Some(POD), "updated", "filtered");
}

/// Invariant 42.
#[test]
fn an_error_has_types_and_no_values() {
    let types = "the operator add does not take string and int";
    check_pod("object.metadata.name + 1 == 2", types);
    check_pod("object + 1 == 2", "the operator add does not take map and int");
    check_pod("object.spec[object.metadata.name] == 1", "there is no such key");
    let index = "object.metadata.name == 'web' && {'x': 1}[object.metadata.name] == 1";
    check_pod(index, "there is no such key");
    check_pod("object.spec.absent == 1", "No such key: absent");
    check_pod("int(object.metadata.name) == 2", "the function int failed");
    check_pod("object.spec.replicas / 0 == 2", "division by zero");
}

#[test]
fn what_is_no_bool_is_an_error() {
    check_pod("object.metadata.name", "the answer is a string, not a bool");
    check_pod("1 / 0 == 1", "division by zero");
}

#[test]
fn what_cannot_be_used_is_refused_with_its_place() {
    check_refused(
        "object.spec.x ==",
        "line 1, column 17: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
    );
    check_refused(
        "true &&\n  pod.x",
        "line 2, column 3: \"pod\" is not known; there are object, old and change",
    );
    check_refused(
        "object.a.matches('x')",
        "line 1, column 17: the function \"matches\" is not offered; there are bool, bytes, contains, double, dyn, endsWith, int, size, startsWith, string, type, uint",
    );
    check_refused(
        "[1].all(object, true)",
        "line 1, column 8: \"object\" cannot be a loop's variable",
    );
}

#[test]
fn a_text_is_bounded() {
    let longest = |length: usize| format!("'{}' == ''", "x".repeat(length - 8));
    check_pod(&longest(TEXT_BYTES_MAX), "filtered");
    check_refused(&longest(TEXT_BYTES_MAX + 1), "it has 2049 bytes, at most 2048 are read");
    let problem = "line 1, column 1: it is nested more than 16 levels deep";
    let sum = |terms: usize| format!("{} == {terms}", vec!["1"; terms].join("+"));
    check_pod(&sum(NESTING_MAX - 1), "told");
    check_refused(&sum(NESTING_MAX), problem);
    let chain = |members: usize| format!("has(object.{})", vec!["a"; members].join("."));
    check_pod(&chain(127), "No such key: a");
    let problem = "line 1, column 5: it names a member more than 127 levels deep";
    check_refused(&chain(128), problem);
}

/// The deepest accepted expression of each kind fits on the stack of a guest's thread.
#[test]
fn what_is_accepted_does_not_overflow() {
    let deepest = |open: &str, middle: &str, close: &str| {
        let text = |n: usize| format!("{}{middle}{} == 1", open.repeat(n), close.repeat(n));
        // The first refused level by halves: deep ones take long to compile.
        let levels: Vec<usize> = (1..64).collect();
        let accepted = levels.partition_point(|n| Filter::compile(&text(*n)).is_ok());
        assert!(accepted > 0, "some level is accepted: {open}");
        let text = text(accepted);
        let verdict =
            std::thread::Builder::new().stack_size(THREAD_STACK_BYTES / 2).spawn(move || {
                let filter = Filter::compile(&text).expect("it is accepted");
                verdict(&filter, Some(POD), Some(POD), "updated")
            });
        let verdict = verdict.expect("a thread").join().expect("no panic");
        assert_eq!(verdict, FilterVerdict::Filtered, "{open}");
    };
    deepest("[", "1", "]");
    deepest("{1: ", "1", "}");
    deepest("(true ? 2 * ", "1", " : 1)");
    deepest("[1].map(x, ", "1", ")");
    deepest("size([object] + [", "1", "]) + 1");
    deepest("string('' + ", "'x'", ")");
}

/// For any text, compiling ends and has no other effect than an error.
#[test]
fn no_text_is_too_much_for_the_parser() {
    let shapes = [
        "(",
        "[",
        "{",
        "{1:",
        "!",
        "-",
        "- ",
        "a.",
        "a[",
        "a(",
        "a?b:",
        "?",
        "a?",
        "a&&",
        "a||",
        "1+",
        "a in ",
        "'",
        "\"\"\"",
        "b'",
        "r\"",
        "`",
        "\\",
        "\0",
        "é",
        "//",
        "\n",
        "a.exists(x,",
        "[1].map(x,",
        "has(",
        "0x",
        "1e",
        "@",
        ".",
        ",",
        "]",
        ")",
        "true?",
        "(a,",
        "!(",
        "-(",
        "x{",
        "x{a:",
    ];
    for shape in shapes {
        let text = shape.repeat(TEXT_BYTES_MAX / shape.len());
        assert!(Filter::compile(&text).is_err() || shape == "//", "{shape}");
    }
}

/// An evaluation that would take long or fill the memory ends with an error.
#[test]
fn an_evaluation_is_bounded() {
    let json = |list: String| {
        format!(
            r#"{{"apiVersion":"v1","kind":"X","metadata":{{"name":"x"}},"s":"{}","list":[{list}]}}"#,
            "x".repeat(20_000)
        )
    };
    let numbers = json(vec!["1"; 20_000].join(","));
    let texts = json(vec![format!("\"{}\"", "y".repeat(100)); 900].join(","));
    let too_much = "it goes through more values than an expression of its length may";
    let check = |object: &str, expression: &str, expect: &str| {
        check(expression, Some(object), None, "added", expect);
    };
    check(&numbers, "object.list.all(x, x == 1)", "told");
    check(&numbers, "object.list.all(x, object.list.all(y, x == y))", too_much);
    check(&numbers, "object.list.all(x, object.list.all(y, x == y)) || true", too_much);
    check(&numbers, "object.list.all(x, x in object.list)", too_much);
    check(&numbers, "object.list.map(x, object.s).size() == 0", too_much);
    check(&numbers, "object.list.map(x, [object.s]).size() == 0", too_much);
    check(&numbers, "object.list.map(x, {'a': object.s}).size() == 0", too_much);
    check(&numbers, "[object.s].all(t, object.list.all(x, t != string(x)))", too_much);
    check(&texts, "object.list.exists(x, x.contains(object.s))", too_much);
    check(&texts, "object.list.exists_one(x, object.s.contains(x))", too_much);
    let doubled = format!("[object.s]{}.size() == 1", ".map(x, x + x + x + x)".repeat(8));
    check(&texts, &doubled, too_much);
    let listed = format!("[object.s]{}.size() == 1", ".map(x, [x, x, x, x])".repeat(8));
    check(&texts, &listed, too_much);
}

#[test]
fn what_is_read_is_bounded() {
    let object = |bytes: usize| {
        format!(
            r#"{{"apiVersion":"v1","kind":"X","metadata":{{"name":"x"}},"a":"{}","b":1}}"#,
            "x".repeat(bytes - 2)
        )
    };
    let (longest, longer) = (object(READ_BYTES_MAX), object(READ_BYTES_MAX + 1));
    let too_much = "it reads more than 131072 bytes of the objects";
    check("object.a == ''", Some(&longest), None, "added", "filtered");
    check("object.a == ''", Some(&longer), None, "added", too_much);
    check("object.a == old.a", Some(&longest), Some(&longest), "updated", too_much);
    check("object.b == 1 && has(object.a)", Some(&longer), None, "added", "told");
}

/// JSON that has values for the expressions below.
fn json() -> impl Strategy<Value = String> {
    let word =
        prop::sample::select(vec!["null", "true", "1", "0.5", "\"a\"", "\"\\u0062\"", "{}", "[]"]);
    word.prop_map(str::to_owned).prop_recursive(4, 24, 4, |inner| {
        let key = prop::sample::select(vec!["a", "b", "c", "a/b", "\\u0061"]);
        let entry = (key, inner.clone()).prop_map(|(key, value)| format!("\"{key}\": {value}"));
        prop_oneof![
            3 => prop::collection::vec(entry, 0..4).prop_map(|all| format!("{{{}}}", all.join(","))),
            1 => prop::collection::vec(inner, 0..3).prop_map(|all| format!("[{}]", all.join(","))),
        ]
    })
}

fn expression() -> impl Strategy<Value = String> {
    let root = prop::sample::select(vec!["object", "old"]);
    let member = prop::sample::select(vec![
        ".a",
        ".b",
        ".c",
        "['a']",
        "['a/b']",
        "[0]",
        "[change]",
        "[object.a]",
    ]);
    let chain = (root, prop::collection::vec(member, 0..4))
        .prop_map(|(root, members)| format!("{root}{}", members.concat()));
    let leaf = (chain.clone(), chain, 0..14).prop_map(|(a, b, shape)| match shape {
        0 => format!("has({a}.b)"),
        1 => format!("{a} == null"),
        2 => format!("null != {a}"),
        3 => format!("{a} == {b}"),
        4 => format!("{a} == 1"),
        5 => format!("size({a}) == 1"),
        6 => format!("{a}.exists(x, x == 1)"),
        7 => format!("{a}.all(x, has(x.a) && x.a == {b})"),
        8 => format!("'a' in {a}"),
        9 => format!("type({a}) == map"),
        10 => format!("{a} in [{b}, 1]"),
        11 => format!("[{a}, {b}].map(x, x.a).size() == 2"),
        12 => format!("(change == 'added' ? {a} : {b}).c == 1"),
        _ => a,
    });
    leaf.prop_recursive(3, 8, 2, |inner| {
        (inner.clone(), inner, 0..4).prop_map(|(a, b, shape)| match shape {
            0 => format!("({a}) && ({b})"),
            1 => format!("({a}) || ({b})"),
            2 => format!("!({a})"),
            _ => format!("({a}) ? ({b}) : false"),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_projected_answers_as_the_whole(
        expression in expression(), object in json(), old in prop::option::of(json()),
    ) {
        let projected = compile::compile(&expression).expect("it can be used");
        let whole = CompiledFilter {
            object: Needs::everything(),
            old: Needs::everything(),
            ..compile::compile(&expression).expect("it can be used")
        };
        let verdict = |compiled: &CompiledFilter| {
            let old = old.as_deref().map(str::as_bytes);
            compiled.verdict(Some(object.as_bytes()), old, Change::Added)
        };
        let (projected, whole) = (verdict(&projected), verdict(&whole));
        let same = std::mem::discriminant(&projected) == std::mem::discriminant(&whole);
        prop_assert!(same, "{}: {:?} with what is read, {:?} with everything", expression, projected, whole);
    }
}

/// An input is an expression, a line break, and the object's JSON.
#[test]
fn filter() {
    let words = &[
        "object",
        "old",
        "change",
        ".a",
        "['a']",
        "has(",
        ")",
        " == ",
        "null",
        " && ",
        ".exists(x, ",
        "{\"a\":1}",
        "size(",
        "'a'",
        " in ",
        "\n",
    ];
    Target::new(env!("CARGO_MANIFEST_DIR"), "filter").words(words).run(|input| {
        let Some(end) = input.iter().position(|byte| *byte == b'\n') else { return };
        let Ok(expression) = std::str::from_utf8(&input[..end]) else { return };
        let json = &input[end + 1..];
        let Ok(compiled) = compile::compile(expression) else { return };
        let verdict = compiled.verdict(Some(json), None, Change::Added);
        if let FilterVerdict::Failed(error) = &verdict {
            assert!(!error.contains("panicked") && !error.contains('\n'), "{error:?}");
        }
        if serde_json::from_slice::<serde_json::Value>(json).is_err() {
            return;
        }
        let whole = CompiledFilter { object: Needs::everything(), ..compiled };
        let whole = whole.verdict(Some(json), None, Change::Added);
        assert_eq!(std::mem::discriminant(&verdict), std::mem::discriminant(&whole), "{whole:?}");
    });
}

#[test]
fn a_long_expression_may_go_through_less() {
    let object = format!(
        r#"{{"apiVersion":"v1","kind":"X","metadata":{{"name":"x"}},"list":[{}]}}"#,
        vec!["1"; 20_000].join(",")
    );
    let body = vec!["1 == 1"; 100].join(" && ");
    let long = format!("object.list.all(x, {body})");
    let too_much = "it goes through more values than an expression of its length may";
    check("object.list.all(x, 1 == 1)", Some(&object), None, "added", "told");
    check(&long, Some(&object), None, "added", too_much);
}
