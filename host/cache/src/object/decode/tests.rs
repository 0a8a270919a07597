//! Decoding against serde_json's tree: the same object without what is cut. And its two readers against each other.

use super::*;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn pod() -> TypeMeta {
    TypeMeta { api_version: "v1".to_owned(), kind: "Pod".to_owned() }
}

#[track_caller]
fn check(json: &str, expect: &str) {
    let object = Object::decode_without_last_applied(json.as_bytes(), Some(&pod()));
    let object = object.expect("it decodes");
    assert_eq!(std::str::from_utf8(&object.json()), Ok(expect));
}

#[track_caller]
fn check_error(json: &str, expect: &str) {
    let error = Object::decode(json.as_bytes(), None).expect_err("it does not decode").to_string();
    assert!(error.starts_with(expect), "{error:?} does not start with {expect:?}");
}

/// What the quick reader reads, if it does, the careful one reads alike.
#[track_caller]
pub(in crate::object) fn readers_agree(json: &[u8]) {
    let Ok(text) = std::str::from_utf8(json) else { return };
    for last_applied in [LastApplied::Kept, LastApplied::Cut] {
        if let Some(scan) = usual::scan(text, last_applied) {
            assert_eq!(careful::scan(text, last_applied).ok(), Some(scan), "{text}");
        }
    }
}

#[test]
fn objects_as_servers_write_them_are_read_by_the_quick_reader() {
    let pod = include_str!("../../../benches/pod.json");
    assert!(usual::scan(pod, LastApplied::Kept).is_some());
    let bookmark = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"12746","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null},"status":{}}"#;
    assert!(
        usual::scan(bookmark, LastApplied::Kept)
            .is_some_and(|scan| scan.metadata.initial_events_end)
    );
}

#[test]
fn what_is_unusual_is_read_as_serde_json_reads_it_or_left_to_it() {
    let twice = [
        r#"{"metadata":{"name":"a"},"metadata":{}}"#,
        r#"{"metadata":{"name":"a","name":"b","uid":null}}"#,
        r#"{"metadata":{"labels":{"a":"1"},"labels":{}}}"#,
        r#"{"metadata":{"labels":{"a":"1","a":"2"}}}"#,
        r#"{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"annotations":{}}}"#,
        r#"{"metadata":{"ownerReferences":[{"uid":"1"}],"ownerReferences":[]}}"#,
        r#"{"metadata":{"ownerReferences":[{"uid":"1","uid":"2"}]}}"#,
        r#"{"metadata":{"ownerReferences":[{"uid":"","uid":"2"}]}}"#,
        r#"{"metadata":{"ownerReferences":[{"controller":null,"controller":true}]}}"#,
        r#"{"kind":"a","kind":"b","apiVersion":7}"#,
    ];
    let odd = [
        r#"{"metadata":{"generation":-0}}"#,
        r#"{"metadata":{"generation":-1}}"#,
        r#"{"metadata":{"generation":1e2}}"#,
        r#"{"metadata":{"generation":9223372036854775808}}"#,
        r#"{"metadata":{"n\u0061me":"a","managed\u0046ields":1}}"#,
        r#"{"metadata":{"labels":null,"annotations":null,"ownerReferences":null}}"#,
        r#"{"metadata":{"ownerReferences":[null]}}"#,
        r#"{"metadata":{"ownerReferences":[{"name":null}]}}"#,
        r#"{"metadata":null}"#,
        r#"{"spec":"\ud800","status":1e999}"#,
        r#"{"metadata":{"managedFields":1,"name":"a","managedFields":[2]}}"#,
    ];
    for json in twice.into_iter().chain(odd) {
        readers_agree(json.as_bytes());
    }
}

#[test]
fn the_type_comes_first_whatever_the_route() {
    let expect = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{}}"#;
    check(r#"{"metadata":{"name":"a"},"spec":{}}"#, expect);
    check(r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{}}"#, expect);
    check(r#"{"metadata":{"name":"a"},"spec":{},"kind":"Pod","apiVersion":"v1"}"#, expect);
    check(r#"{"apiVersion":"v1","metadata":{"name":"a"},"kind":"Pod","spec":{}}"#, expect);
    check(r#"{"kind":"","metadata":{"name":"a"},"spec":{},"apiVersion":null}"#, expect);
    check("\r\n {\"metadata\":{\"name\":\"a\"},\"spec\":{}}\t\n", expect);
}

#[test]
fn only_what_json_takes_for_space_may_stand_around() {
    check_error("\u{c}{\"metadata\":{\"name\":\"a\"}}", "object cannot be read: ");
    check_error("{\"metadata\":{\"name\":\"a\"}}\u{b}", "object cannot be read: ");
}

#[test]
fn managed_fields_and_last_applied_are_cut_wherever_they_stand() {
    let expect = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u"}}"#;
    check(r#"{"metadata":{"managedFields":[{"a":"}"}],"name":"a","uid":"u"}}"#, expect);
    check(r#"{"metadata":{"name":"a","managedFields":[],"uid":"u"}}"#, expect);
    check(r#"{"metadata":{"name":"a","uid":"u","managedFields":[{}]}}"#, expect);
    check(r#"{"metadata":{"name":"a","uid":"u","managedFields":1,"managedFields":2}}"#, expect);
    check(r#"{"metadata":{"managedFields":1,"managedFields":2,"name":"a","uid":"u"}}"#, expect);
    check(r#"{"metadata":{"name":"a","uid":"u","managed\u0046ields":[]}}"#, expect);
    check(
        r#"{"metadata":{"name":"a","annotations":{"x":"1","kubectl.kubernetes.io/last-applied-configuration":"{\"y\":2}\n"}}}"#,
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","annotations":{"x":"1"}}}"#,
    );
    check(
        r#"{"metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"z"}}}"#,
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","annotations":{}}}"#,
    );
}

/// A caller that replaces the object in the cluster needs this.
#[test]
fn an_object_knows_that_it_lacks_last_applied() {
    let with = r#"{"metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"z"}}}"#;
    let escaped = with.replace("kubectl", "kube\\u0063tl");
    let without =
        r#"{"metadata":{"name":"a","annotations":{"b":"c"},"managedFields":[{"a":"b"}]}}"#;
    for (json, expect) in [(with, true), (&*escaped, true), (without, false)] {
        let cut = Object::decode_without_last_applied(json.as_bytes(), Some(&pod()));
        let cut = cut.expect("it decodes");
        assert_eq!(cut.lacks_last_applied(), expect, "{json}");
        let other = cut.with_json(cut.json()).packed(None);
        assert_eq!(other.lacks_last_applied(), expect, "{json}");
        let kept = Object::decode(json.as_bytes(), Some(&pod())).expect("it decodes");
        assert!(!kept.lacks_last_applied(), "{json}");
    }
}

/// An object that replaces the one in the cluster must have it.
#[test]
fn last_applied_stays_where_nobody_said_that_it_may_go() {
    let metadata = r#""metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"z"}"#;
    let json = format!("{{{metadata},\"managedFields\":[]}}}}");
    let object = Object::decode(json.as_bytes(), Some(&pod())).expect("it decodes");
    let expect = format!(r#"{{"apiVersion":"v1","kind":"Pod",{metadata}}}}}"#);
    assert_eq!(std::str::from_utf8(&object.json()), Ok(expect.as_str()));
}

#[test]
fn what_is_cut_only_by_name_elsewhere_stays() {
    let json = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"managedFields":1,"kind":"x"}}"#;
    check(json, json);
}

#[test]
fn metadata_is_read() {
    let json = r#"{"metadata":{"name":"a\u00e9","namespace":"n","uid":"u","resourceVersion":"7",
        "generation":3,"labels":{"app":"x","t":null,"app":"y"},"annotations":null,
        "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"o","controller":true}]}}"#;
    let object = Object::decode(json.as_bytes(), Some(&pod())).expect("it decodes");
    assert_eq!(object.key(), &ObjectKey::new("n", "aé"));
    assert_eq!((&*object.uid(), object.resource_version()), ("u", "7"));
    assert_eq!(object.generation(), Some(3));
    assert_eq!(object.labels().collect::<Vec<_>>(), [("app", "y"), ("t", "")]);
    assert_eq!(object.label("app"), Some("y"));
    let owner = object.owner_references().next().expect("it has one");
    assert_eq!((&*owner.kind, &*owner.name, owner.controller), ("ReplicaSet", "r", Some(true)));
}

#[test]
fn a_generation_of_zero_is_none() {
    let json = r#"{"metadata":{"name":"a","generation":0}}"#;
    let object = Object::decode(json.as_bytes(), Some(&pod())).expect("it decodes");
    assert_eq!(object.generation(), None);
}

#[test]
fn a_resource_version_is_as_long_as_it_may_be() {
    let json = |length| {
        let version = "1".repeat(length);
        format!(r#"{{"metadata":{{"name":"a","resourceVersion":"{version}"}}}}"#)
    };
    let (longest, longer) = (json(TOKEN_BYTES_MAX), json(TOKEN_BYTES_MAX + 1));
    assert!(Object::decode(longest.as_bytes(), Some(&pod())).is_ok());
    assert!(bookmark(longest.as_bytes()).is_ok());
    let object = Object::decode(longer.as_bytes(), Some(&pod())).expect_err("it is too long");
    let bookmark = bookmark(longer.as_bytes()).expect_err("it is too long");
    for error in [object, bookmark] {
        assert_eq!(error.to_string(), "object's resourceVersion is longer than 4096 bytes");
    }
}

#[test]
fn the_last_of_two_metadata_counts() {
    let json = r#"{"metadata":{"name":"a","labels":{"x":"y"}},"metadata":{"name":"b"}}"#;
    let object = Object::decode(json.as_bytes(), Some(&pod())).expect("it decodes");
    assert_eq!((object.key().name(), object.label("x")), ("b", None));
}

#[test]
fn deep_nesting_is_skipped_without_descending() {
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let json = format!(r#"{{"metadata":{{"name":"a"}},"spec":{open}{close}}}"#);
    let object = Object::decode(json.as_bytes(), Some(&pod())).expect("it decodes");
    assert_eq!(object.json().len(), json.len() + r#""apiVersion":"v1","kind":"Pod","#.len());
}

#[test]
fn nonsense_is_an_error() {
    check_error("", "object cannot be read");
    check_error("[]", "object cannot be read");
    check_error(r#"{"metadata":{"name":"a"}} x"#, "object cannot be read");
    check_error(r#"{"metadata":{"name":"a"}"#, "object cannot be read");
    check_error(r#"{"metadata":null}"#, "object cannot be read");
    check_error(r#"{"metadata":{"name":1}}"#, "object cannot be read");
    check_error(r#"{"metadata":{"name":"\ud800"}}"#, "object cannot be read");
    check_error(r#"{"metadata":{"labels":{"a":1}}}"#, "object cannot be read");
    check_error(r#"{"kind":7,"apiVersion":"v1","metadata":{"name":"a"}}"#, "object cannot be read");
    check_error("{}", "object has no metadata.name");
    check_error(r#"{"metadata":{"name":"a"}}"#, "object a has no apiVersion");
    check_error(r#"{"apiVersion":"v1","metadata":{"name":"a"}}"#, "object a has no kind");
    let bytes = b"{\"metadata\":{\"name\":\"a\"},\"x\":\"\xff\"}";
    assert!(Object::decode(bytes, Some(&pod())).is_err(), "not UTF-8");
}

#[test]
fn bookmarks_tell_whether_they_end_the_initial_events() {
    let read = |annotations: &str| {
        let json = format!(
            r#"{{"kind":"Pod","metadata":{{"resourceVersion":"9","annotations":{annotations}}}}}"#
        );
        bookmark(json.as_bytes()).expect("a bookmark")
    };
    assert_eq!(read(r#"{"k8s.io/initial-events-end":"true"}"#), ("9".into(), true));
    assert_eq!(read(r#"{"k8s.io/initial-events-end":"false"}"#), ("9".into(), false));
    assert_eq!(read("null"), ("9".into(), false));
}

/// Any JSON, with the words that matter here among the keys.
fn any_value() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        Just("managedFields".to_owned()),
        Just("kind".to_owned()),
        Just("metadata".to_owned()),
        Just(LAST_APPLIED.to_owned()),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// An object with its entries and its metadata's in any order.
fn any_object() -> impl Strategy<Value = Value> {
    let string_map = || {
        let key = prop_oneof![Just(LAST_APPLIED.to_owned()), any::<String>()];
        prop::collection::vec((key, any::<String>()), 0..4).prop_map(|entries| {
            entries.into_iter().map(|(k, v)| (k, json!(v))).collect::<Map<_, _>>()
        })
    };
    let metadata = (any::<String>(), string_map(), string_map(), any_value(), any::<bool>());
    let metadata = metadata.prop_map(|(name, labels, annotations, managed, has_managed)| {
        let mut entries = vec![
            ("name", json!(format!("n{name}"))),
            ("labels", Value::Object(labels)),
            ("annotations", Value::Object(annotations)),
        ];
        if has_managed {
            entries.push(("managedFields", managed));
        }
        entries
    });
    (metadata.prop_flat_map(|entries| Just(entries).prop_shuffle()), any_value(), any::<bool>())
        .prop_flat_map(|(metadata, spec, typed)| {
            let metadata: Map<_, _> =
                metadata.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
            let mut entries = vec![("metadata", Value::Object(metadata)), ("spec", spec)];
            if typed {
                entries.extend([("kind", json!("Ki\"nd")), ("apiVersion", json!("g/v1"))]);
            }
            let object = |entries: Vec<(&str, Value)>| {
                Value::Object(entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            };
            Just(entries).prop_shuffle().prop_map(object)
        })
}

fn expected(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().expect("made above");
    metadata.remove("managedFields");
    metadata["annotations"].as_object_mut().expect("made above").remove(LAST_APPLIED);
    let map = object.as_object_mut().expect("made above");
    map.entry("apiVersion").or_insert(json!("v1"));
    map.entry("kind").or_insert(json!("Pod"));
    object
}

proptest! {
    #[test]
    fn the_bytes_are_those_of_serde_json_without_what_is_cut(
        object in any_object(),
        pretty in any::<bool>(),
    ) {
        let json = if pretty { format!("{object:#}") } else { object.to_string() };
        let decoded = Object::decode_without_last_applied(json.as_bytes(), Some(&pod()));
        let decoded = decoded.expect("it decodes");
        let value: Value = serde_json::from_slice(&decoded.json()).expect("the result is JSON");
        prop_assert_eq!(&value, &expected(object.clone()));
        prop_assert_eq!(decoded.key().name(), object["metadata"]["name"].as_str().expect("made above"));
        let labels: Map<_, _> = decoded.labels().map(|(k, v)| (k.to_owned(), json!(v))).collect();
        prop_assert_eq!(&Value::Object(labels), &object["metadata"]["labels"]);
        let again = Object::decode(&decoded.json(), None).expect("it decodes again");
        prop_assert_eq!(again.json(), decoded.json());
        readers_agree(json.as_bytes());
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), cut in any::<prop::sample::Index>()) {
        let _ = Object::decode(&bytes, Some(&pod()));
        let mut json = br#"{"kind":"Pod","metadata":{"managedFields":[{}],"name":"a\n"},"x":[1.5e3]}"#.to_vec();
        let at = cut.index(json.len());
        json.splice(at..at, bytes);
        if let Ok(object) = Object::decode(&json, Some(&pod())) {
            let _: &serde_json::value::RawValue = serde_json::from_slice(&object.json()).expect("JSON");
        }
    }
}

/// Linear in their number: compared one with another, these would take minutes.
#[test]
fn very_many_labels_are_read_in_time_and_the_last_value_counts() {
    let labels = (0..200_000).map(|n| format!(r#""k{}":"{n}""#, n % 150_000)).collect::<Vec<_>>();
    let labels = labels.join(",");
    let json = format!(
        r#"{{"kind":"K","apiVersion":"v1","metadata":{{"name":"a","labels":{{{labels}}}}}}}"#
    );
    let object = Object::decode(json.as_bytes(), None).expect("it decodes");
    let labels: Vec<_> = object.labels().collect();
    assert_eq!(labels.len(), 150_000);
    assert_eq!([labels[0], labels[49_999]], [("k0", "150000"), ("k49999", "199999")]);
    assert_eq!([labels[50_000], labels[149_999]], [("k50000", "50000"), ("k149999", "149999")]);
}
