//! The server's decisions about an object's metadata, and the order of an object's keys.

use informant_apimachinery::{Status, StatusCause, check_label_key, check_label_value};
use informant_apiserver::ResourceInfo;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The characters of generated names: without vowels and without characters that are easily misread (apimachinery's
/// `util/rand`).
const GENERATED_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const GENERATED_LENGTH: usize = 5;
/// The longest name of most objects, a DNS subdomain.
const NAME_LENGTH_MAX: usize = 253;
/// The longest name of a namespace or service, a DNS label.
const LABEL_LENGTH_MAX: usize = 63;

/// The order of Go's encoder, and so of a real server's answers.
const METADATA_ORDER: [&str; 13] = [
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
];

/// A time with seconds and `Z`, in Kubernetes' format.
pub fn time_text(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A random UID of version 4.
pub fn uid(random: &mut fastrand::Rng) -> String {
    let bits = random.u128(..);
    let bits = (bits & !(0xf << 76)) | (0x4 << 76);
    let bits = (bits & !(0x3 << 62)) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A random name with a prefix.
pub fn generated_name(prefix: &str, random: &mut fastrand::Rng) -> String {
    let kept = prefix.floor_char_boundary(NAME_LENGTH_MAX - GENERATED_LENGTH);
    let mut name = prefix[..kept].to_owned();
    for _ in 0..GENERATED_LENGTH {
        name.push(char::from(GENERATED_ALPHABET[random.usize(..GENERATED_ALPHABET.len())]));
    }
    name
}

/// The object's metadata, created if missing.
pub fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["metadata"].as_object_mut().expect("it was just made an object")
}

/// Whether finalizers hold the object.
pub fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty())
}

/// Whether the object is being deleted.
pub fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// The problems of names, labels and annotations, one by one.
pub fn problems(resource: &ResourceInfo, object: &Value) -> Vec<StatusCause> {
    let metadata = &object["metadata"];
    let mut causes = Vec::new();
    let name = metadata["name"].as_str().unwrap_or_default();
    if name.is_empty() {
        causes.push(StatusCause::required("metadata.name", "name or generateName is required"));
    } else if let Some(problem) = name_problem(resource, name) {
        causes.push(StatusCause::invalid("metadata.name", format!("{name:?}"), problem));
    }
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        let checked = match value.as_str() {
            Some(value) => check_label_key(key).and_then(|()| check_label_value(value)),
            None => Err("a label's value must be a string".to_owned()),
        };
        if let Err(problem) = checked {
            causes.push(StatusCause::invalid("metadata.labels", format!("{value}"), &problem));
        }
    }
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        if let Err(problem) = check_label_key(&key.to_lowercase()) {
            causes.push(StatusCause::invalid("metadata.annotations", format!("{key:?}"), &problem));
        } else if !value.is_string() {
            let why = "an annotation's value must be a string";
            causes.push(StatusCause::invalid("metadata.annotations", value, why));
        }
    }
    causes
}

fn name_problem(resource: &ResourceInfo, name: &str) -> Option<&'static str> {
    let gvr = &resource.gvr;
    if gvr.group == "rbac.authorization.k8s.io" || gvr.group == "certificates.k8s.io" {
        let plain = name != "." && name != ".." && !name.contains(['/', '%']);
        return (!plain).then_some("may not be '.' or '..' nor contain '/' or '%'");
    }
    let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let label = |text: &str| {
        text.bytes().all(|b| lower(b) || b == b'-')
            && text.bytes().next().is_some_and(lower)
            && text.bytes().last().is_some_and(lower)
    };
    if gvr.group.is_empty() && matches!(gvr.resource.as_str(), "namespaces" | "services") {
        let fits = name.len() <= LABEL_LENGTH_MAX && label(name);
        return (!fits).then_some(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
             and must start and end with an alphanumeric character",
        );
    }
    let fits = name.len() <= NAME_LENGTH_MAX && name.split('.').all(label);
    (!fits).then_some(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
         '.', and must start and end with an alphanumeric character",
    )
}

/// Refuses an object whose version, kind or namespace differs from its path. Fills in these fields if they are
/// missing.
pub fn match_path(
    resource: &ResourceInfo,
    namespace: Option<&str>,
    object: &mut Value,
) -> Result<(), Status> {
    if !object.is_object() {
        return Err(Status::bad_request("the body of the request is no JSON object"));
    }
    check_shape(resource, object)?;
    let api_version = resource.gvr.api_version();
    for (key, expected) in [("apiVersion", api_version.as_str()), ("kind", &resource.kind)] {
        match object[key].as_str() {
            None | Some("") => object[key] = expected.into(),
            Some(written) if written == expected => {}
            Some(written) => {
                return Err(Status::bad_request(format!(
                    "{key} in the data ({written}) does not match the expected one ({expected})"
                )));
            }
        }
    }
    let metadata = metadata_mut(object);
    let written = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    match namespace {
        None if written.is_empty() => {
            metadata.shift_remove("namespace");
        }
        Some(namespace) if written.is_empty() => {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
        Some(namespace) if written == namespace => {}
        _ => {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    }
    Ok(())
}

/// Refuses values that Go's decoder could not put into the type. The rest of the store relies on this check.
fn check_shape(resource: &ResourceInfo, object: &Value) -> Result<(), Status> {
    let refuse = |field: &str, wanted: &str| {
        let kind = &resource.kind;
        Err(Status::bad_request(format!(
            "{kind} in the body cannot be read: {field} must be {wanted}"
        )))
    };
    let absent_or = |value: Option<&Value>, is: fn(&Value) -> bool| {
        value.is_none_or(|value| value.is_null() || is(value))
    };
    if !absent_or(object.get("metadata"), Value::is_object) {
        return refuse("metadata", "an object");
    }
    let metadata = &object["metadata"];
    for field in ["labels", "annotations"] {
        if !absent_or(metadata.get(field), Value::is_object) {
            return refuse(field, "an object");
        }
    }
    for field in ["finalizers", "ownerReferences", "managedFields"] {
        if !absent_or(metadata.get(field), Value::is_array) {
            return refuse(field, "a list");
        }
    }
    let texts = ["name", "generateName", "namespace", "uid", "resourceVersion"];
    if let Some(field) = texts.iter().find(|f| !absent_or(metadata.get(**f), Value::is_string)) {
        return refuse(field, "a string");
    }
    let objects = ["spec", "status", "data", "stringData", "binaryData"];
    let odd = objects.iter().find(|field| !absent_or(object.get(**field), Value::is_object));
    match odd {
        Some(field) if !resource.custom => refuse(field, "an object"),
        _ => Ok(()),
    }
}

/// Puts the keys into the order of a real server's answers: type first, then metadata in its own order, then the other
/// keys as they came, with `status` last.
pub fn ordered(resource: &ResourceInfo, mut object: Value) -> Value {
    let Some(fields) = object.as_object_mut() else { return object };
    let mut result = Map::new();
    let first = if resource.custom { ["apiVersion", "kind"] } else { ["kind", "apiVersion"] };
    for key in first {
        result.insert(key.to_owned(), fields.get(key).cloned().unwrap_or_default());
        fields.shift_remove(key);
    }
    let metadata = fields.shift_remove("metadata").unwrap_or_default();
    result.insert("metadata".to_owned(), ordered_metadata(metadata));
    let status = fields.shift_remove("status");
    result.extend(std::mem::take(fields));
    if let Some(status) = status {
        result.insert("status".to_owned(), status);
    }
    Value::Object(result)
}

fn ordered_metadata(mut metadata: Value) -> Value {
    let Some(fields) = metadata.as_object_mut() else { return metadata };
    let mut result = Map::new();
    for key in METADATA_ORDER {
        if let Some(value) = fields.shift_remove(key).filter(|value| !is_empty(value)) {
            result.insert(key.to_owned(), value);
        }
    }
    fields.retain(|_, value| !is_empty(value));
    result.extend(std::mem::take(fields));
    Value::Object(result)
}

/// Whether Go's `omitempty` omits the value.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_whole_seconds() {
        let now = Timestamp::from_millisecond(1_700_000_000_999).expect("in range");
        assert_eq!(time_text(now), "2023-11-14T22:13:20Z");
    }

    #[test]
    fn uids_and_names_follow_from_the_seed() {
        let mut random = fastrand::Rng::with_seed(1);
        let (first, name) = (uid(&mut random), generated_name("web-", &mut random));
        assert_eq!((first.len(), &first[14..15]), (36, "4"));
        assert!("89ab".contains(&first[19..20]), "{first}");
        assert_eq!((name.len(), &name[..4]), (9, "web-"));
        let mut random = fastrand::Rng::with_seed(1);
        assert_eq!(uid(&mut random), first);
    }
}
