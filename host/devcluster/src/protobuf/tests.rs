//! The tests build bodies field by field, in the format of Go's encoder.

use serde_json::json;

use super::*;

/// A field with bytes.
fn bytes(number: u8, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(value.len()).expect("test messages are short");
    assert!(length < 128, "one byte is enough for the length");
    [&[number << 3 | 2, length][..], value].concat()
}

fn text(number: u8, value: &str) -> Vec<u8> {
    bytes(number, value.as_bytes())
}

fn number(field: u8, value: u8) -> Vec<u8> {
    vec![field << 3, value]
}

fn body(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
    let type_meta = [text(1, api_version), text(2, kind)].concat();
    [MAGIC.to_vec(), bytes(1, &type_meta), bytes(2, object)].concat()
}

#[track_caller]
fn check(api_version: &str, kind: &str, object: &[u8], mut expect: Value) {
    let decoded = decode(&body(api_version, kind, object)).expect("readable");
    expect["kind"] = kind.into();
    expect["apiVersion"] = api_version.into();
    assert_eq!(decoded, expect);
}

#[track_caller]
fn check_error(body: &[u8], expect: &ProtobufError) {
    assert_eq!(decode(body).as_ref(), Err(expect));
}

#[test]
fn texts_maps_and_bytes() {
    let entry = |key: &str, value: &str| bytes(2, &[text(1, key), text(2, value)].concat());
    let metadata = [text(1, "a"), text(3, ""), bytes(8, &[])].concat();
    let object = [bytes(1, &metadata), entry("k", "v"), entry("l", "")].concat();
    let expect = json!({"metadata": {"name": "a"}, "data": {"k": "v", "l": ""}});
    check("v1", "ConfigMap", &object, expect);
    let secret = bytes(2, &[text(1, "k"), text(2, "v")].concat());
    check("v1", "Secret", &secret, json!({"data": {"k": "dg=="}}));
}

#[test]
fn zeros_count_where_go_has_a_pointer() {
    let spec = [number(1, 0), number(5, 0)].concat();
    check("apps/v1", "Deployment", &bytes(2, &spec), json!({"spec": {"replicas": 0}}));
}

#[test]
fn inlined_messages_quantities_and_times() {
    // A volume's source is inlined into the volume; an empty emptyDir is a choice.
    let volume = [text(1, "v"), bytes(2, &bytes(2, &[]))].concat();
    let memory = bytes(1, &[text(1, "memory"), bytes(2, &text(1, "64Mi"))].concat());
    let container = [text(1, "c"), bytes(8, &memory)].concat();
    let spec = [bytes(1, &volume), bytes(2, &container)].concat();
    let metadata = bytes(8, &number(1, 60));
    let object = [bytes(1, &metadata), bytes(2, &spec)].concat();
    let expect = json!({
        "metadata": {"creationTimestamp": "1970-01-01T00:01:00Z"},
        "spec": {
            "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [{"name": "c", "resources": {"limits": {"memory": "64Mi"}}}],
        },
    });
    check("v1", "Pod", &object, expect);
}

#[test]
fn integer_or_text() {
    let port = |target: &[u8]| {
        let port = [number(3, 80), bytes(4, target)].concat();
        bytes(2, &bytes(1, &port))
    };
    let by_number = port(&[number(1, 0), number(2, 81), text(3, "")].concat());
    let expect = json!({"spec": {"ports": [{"port": 80, "targetPort": 81}]}});
    check("v1", "Service", &by_number, expect);
    let by_name = port(&[number(1, 1), number(2, 0), text(3, "http")].concat());
    let expect = json!({"spec": {"ports": [{"port": 80, "targetPort": "http"}]}});
    check("v1", "Service", &by_name, expect);
}

#[test]
fn what_cannot_be_read_is_refused() {
    check_error(b"{}", &ProtobufError::NoMagic);
    let unknown = body("example.com/v1", "Thing", &[]);
    check_error(&unknown, &ProtobufError::UnknownKind("example.com/v1 Thing".to_owned()));
    let mut short = body("v1", "Pod", &bytes(1, &text(1, "a")));
    short.pop();
    check_error(&short, &ProtobufError::Damaged("it ends too early"));
    let group = body("v1", "Pod", &[1 << 3 | 3]);
    check_error(&group, &ProtobufError::Damaged("a field has an unknown wire type"));
    let wrong = body("v1", "Pod", &number(1, 1));
    check_error(&wrong, &ProtobufError::Damaged("a field has another wire type than its own"));
    let long = body("v1", "Pod", &[0xff; 12]);
    check_error(&long, &ProtobufError::Damaged("a number is longer than ten bytes"));
}
