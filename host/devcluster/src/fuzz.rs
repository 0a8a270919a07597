//! Fuzz targets: the bodies that clients send.

use crate::patch::Patch;
use crate::protobuf::schema::schema;
use crate::{body, protobuf};
use informant_apimachinery::GroupVersionResource;
use informant_fuzz::Target;
use serde_json::{Map, Value, json};

fn target(name: &'static str) -> Target {
    Target::new(env!("CARGO_MANIFEST_DIR"), name)
}

/// Kinds whose messages are nested deepest, or are special.
const KINDS: &[(&str, &str)] = &[
    ("v1", "Pod"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "Node"),
    ("v1", "Service"),
    ("v1", "Event"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "CronJob"),
    ("coordination.k8s.io/v1", "Lease"),
    ("networking.k8s.io/v1", "Ingress"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"),
    ("v1", "DeleteOptions"),
];

fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).expect("seven bits") | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).expect("seven bits"));
    bytes
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2][..], &varint(bytes.len()), bytes].concat()
}

/// A body with an object's message.
fn envelope(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
    let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &type_meta), field(2, object)].concat()
}

/// A message of the kind that contains every possible field number with this wire type.
fn every_field(api_version: &str, kind: &str, wire: u8) -> Vec<u8> {
    let message = schema().of_kind(api_version, kind).expect("a kind of the schema");
    let numbers = (1..=15).filter(|number| message.field(u32::from(*number)).is_some());
    let value: &[u8] = match wire {
        0 => &[1],
        1 => &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
        _ => &[2, 10, 0],
    };
    numbers.flat_map(|number| [&[number << 3 | wire][..], value].concat()).collect()
}

#[test]
fn protobuf_body() {
    let mut inputs = Vec::new();
    for (position, (api_version, kind)) in KINDS.iter().enumerate() {
        let position = u8::try_from(position).expect("a few kinds");
        for wire in 0..3 {
            let object = every_field(api_version, kind, wire);
            inputs.push([&[position][..], &object].concat());
            inputs.push(envelope(api_version, kind, &object));
        }
    }
    target("protobuf_body").inputs(inputs).run(|input| {
        let _ = protobuf::decode(input);
        // Mutations seldom keep an envelope valid, so the target adds one to the object.
        let Some((first, object)) = input.split_first() else { return };
        let (api_version, kind) = KINDS[usize::from(*first) % KINDS.len()];
        let Ok(tree) = protobuf::decode(&envelope(api_version, kind, object)) else { return };
        assert_eq!((&tree["apiVersion"], &tree["kind"]), (&api_version.into(), &kind.into()));
        let json = tree.to_string();
        assert_eq!(serde_json::from_str::<Value>(&json).ok(), Some(tree), "it is JSON");
    });
}

/// The algorithm of RFC 7386.
fn merged(target: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut target = match target {
        Value::Object(target) => target,
        _ => Map::new(),
    };
    for (name, value) in patch {
        match value {
            Value::Null => drop(target.shift_remove(name)),
            value => {
                let before = target.get(name).cloned().unwrap_or_default();
                target.insert(name.clone(), merged(before, value));
            }
        }
    }
    target.into()
}

const MEDIA_TYPES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

#[test]
fn patch() {
    let words = &[
        "{\"op\":\"add\",\"path\":\"/spec/x\",\"value\":1}",
        "\"op\":\"test\"",
        "\"op\":\"move\",\"from\":\"/spec\"",
        "/metadata/labels/app",
        "/spec/template/spec/containers/0",
        "\"$patch\":\"replace\"",
        "\"$patch\":\"delete\"",
        "\"$retainKeys\":[\"name\"]",
        "\"$setElementOrder/containers\":[{\"name\":\"c\"}]",
        "\"$deleteFromPrimitiveList/finalizers\":[\"a\"]",
        "\"spec\":{\"template\":{\"spec\":{}}}",
        "\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]",
        "\"ports\":[{\"containerPort\":80}]",
        "\"finalizers\":[\"b\"]",
        "\"tolerations\":null",
    ];
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}, "finalizers": ["a", "b"]},
        "spec": {"replicas": 2, "strategy": {"type": "RollingUpdate", "rollingUpdate": {}}, "template": {"spec": {
            "containers": [
                {"name": "c", "image": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}]},
                {"name": "d", "image": "b", "args": ["x"]},
            ],
            "tolerations": [{"key": "k"}],
        }}},
    });
    let gvr = GroupVersionResource::new("apps", "v1", "deployments");
    target("patch").words(words).run(|input| {
        let Some((first, body)) = input.split_first() else { return };
        let media_type = MEDIA_TYPES[usize::from(*first) % MEDIA_TYPES.len()];
        let Ok(patch) = Patch::parse(media_type, body) else { return };
        let mut patched = object.clone();
        let outcome = patch.apply_to_kind(&mut patched, "Deployment", &gvr, "web");
        if let Err(refusal) = outcome {
            assert!(matches!(refusal.code, 400 | 422), "{refusal:?}");
            return;
        }
        match &patch {
            Patch::Json(_) => {}
            Patch::Merge(value) => assert_eq!(patched, merged(object.clone(), value)),
            Patch::Strategic(value) | Patch::Apply(value) => {
                assert!(patched.is_object());
                if value.as_object().is_some_and(Map::is_empty) {
                    assert_eq!(patched, object, "an empty patch changes nothing");
                }
            }
        }
    });
}

#[test]
fn body_of_a_request() {
    let words = &["a: ", "- ", "&x ", "*x", "<<: ", "|\n  ", "---\n", "!!str ", "? ", "'", "#"];
    target("body_of_a_request").words(words).run(|input| {
        let json = body::object("application/json", input);
        let yaml = body::object("application/yaml", input);
        for outcome in [&json, &yaml] {
            match outcome {
                Ok(tree) => assert!(tree.is_object()),
                Err(refusal) => assert_eq!(refusal.code, 400, "{refusal:?}"),
            }
        }
    });
}
