//! Checks built-in objects against their Go types, as the API server's decoder does. A value of the wrong type is
//! refused. An unknown field is dropped, or refused if the client asks for strict checks.
//!
//! The types are those of `protobuf/schema.txt`. Custom resources are not changed.

use informant_apimachinery::Status;
use serde_json::Value;

use crate::protobuf::schema::{Field, FieldKind, Message, schema};

/// Objects nested deeper than this are refused. No Kubernetes type is nested so deeply.
const DEPTH_MAX: usize = 48;

/// Drops fields that the object's type does not have. Refuses them with `strict`.
pub fn conform(object: &mut Value, strict: bool) -> Result<(), Status> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let Some(message) = schema().of_kind(text("apiVersion"), text("kind")) else { return Ok(()) };
    let mut walk = Walk { unknown: Vec::new() };
    walk.message(object, message, "", DEPTH_MAX).map_err(|problem| {
        Status::bad_request(format!("the body of the request cannot be read: {problem}"))
    })?;
    if strict && !walk.unknown.is_empty() {
        let fields: Vec<String> =
            walk.unknown.iter().map(|path| format!("unknown field {path:?}")).collect();
        let message = format!("strict decoding error: {}", fields.join(", "));
        return Err(Status::bad_request(message));
    }
    Ok(())
}

struct Walk {
    /// The paths of the dropped fields.
    unknown: Vec<String>,
}

impl Walk {
    fn message(
        &mut self,
        value: &mut Value,
        message: &Message,
        path: &str,
        depth: usize,
    ) -> Result<(), String> {
        let depth = depth.checked_sub(1).ok_or("it is nested too deeply")?;
        let fields = value.as_object_mut().ok_or_else(|| format!("{path} must be an object"))?;
        let mut unknown = Vec::new();
        for (key, value) in fields.iter_mut() {
            if path.is_empty() && matches!(key.as_str(), "apiVersion" | "kind") {
                continue;
            }
            match schema().named(message, key) {
                Some(field) => self.field(value, field, &join(path, key), depth)?,
                None => unknown.push(key.clone()),
            }
        }
        for key in unknown {
            fields.shift_remove(&key);
            self.unknown.push(join(path, &key));
        }
        Ok(())
    }

    fn field(
        &mut self,
        value: &mut Value,
        field: &Field,
        path: &str,
        depth: usize,
    ) -> Result<(), String> {
        if value.is_null() {
            return Ok(());
        }
        if field.map {
            let entries =
                value.as_object_mut().ok_or_else(|| format!("{path} must be an object"))?;
            for (key, value) in entries {
                self.value(value, &field.kind, &join(path, key), depth)?;
            }
            return Ok(());
        }
        if field.repeated {
            let items = value.as_array_mut().ok_or_else(|| format!("{path} must be a list"))?;
            for (index, value) in items.iter_mut().enumerate() {
                self.value(value, &field.kind, &format!("{path}[{index}]"), depth)?;
            }
            return Ok(());
        }
        self.value(value, &field.kind, path, depth)
    }

    fn value(
        &mut self,
        value: &mut Value,
        kind: &FieldKind,
        path: &str,
        depth: usize,
    ) -> Result<(), String> {
        let is_integer = value.is_i64() || value.is_u64();
        let (fits, wanted) = match kind {
            FieldKind::Message(name) => {
                return self.message(value, schema().message(name), path, depth);
            }
            FieldKind::Raw => (true, "anything"),
            FieldKind::String
            | FieldKind::Bytes
            | FieldKind::Time
            | FieldKind::MicroTime
            | FieldKind::Duration => (value.is_string(), "a string"),
            FieldKind::Bool => (value.is_boolean(), "true or false"),
            FieldKind::Integer => (is_integer, "a whole number"),
            FieldKind::Double => (value.is_number(), "a number"),
            FieldKind::Quantity => (value.is_string() || value.is_number(), "a quantity"),
            FieldKind::IntOrString => {
                (value.is_string() || is_integer, "a whole number or a string")
            }
            FieldKind::StringList => (value.is_array(), "a list"),
        };
        if fits || value.is_null() { Ok(()) } else { Err(format!("{path} must be {wanted}")) }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A pod with this specification becomes `expect`, or is refused with this text.
    #[track_caller]
    fn check(strict: bool, spec: Value, expect: Result<Value, &str>) {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": spec});
        let outcome = conform(&mut pod, strict).map(|()| pod["spec"].take());
        match (outcome, expect) {
            (Ok(kept), Ok(expect)) => assert_eq!(kept, expect),
            (Err(status), Err(part)) => {
                assert_eq!(status.code, 400);
                assert!(status.message.contains(part), "{status}");
            }
            (outcome, expect) => panic!("{outcome:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn what_the_type_has_is_kept() {
        let spec = json!({
            "containers": [{"name": "c", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}],
            "volumes": [{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "x"}}],
            "nodeSelector": {"any.key/x": "y"},
            "securityContext": null,
        });
        check(true, spec.clone(), Ok(spec));
    }

    #[test]
    fn what_the_type_lacks_is_dropped_or_refused() {
        let spec = json!({"nodeName": "n", "nodename": "x", "volumes": [{"name": "v", "x": 1}]});
        let kept = json!({"nodeName": "n", "volumes": [{"name": "v"}]});
        check(false, spec.clone(), Ok(kept));
        check(true, spec, Err("unknown field \"spec.volumes[0].x\""));
    }

    #[test]
    fn wrong_types_are_refused() {
        check(false, json!("x"), Err("spec must be an object"));
        check(false, json!({"containers": "x"}), Err("spec.containers must be a list"));
        check(false, json!({"nodeName": 1}), Err("spec.nodeName must be a string"));
        check(
            false,
            json!({"nodeSelector": {"a": 1}}),
            Err("spec.nodeSelector.a must be a string"),
        );
        let port = json!({"containers": [{"ports": [{"containerPort": "80"}]}]});
        check(false, port, Err("spec.containers[0].ports[0].containerPort must be a whole number"));
    }

    #[test]
    fn unknown_kinds_are_left_alone() {
        let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "spec": 1});
        let mut kept = thing.clone();
        assert!(conform(&mut kept, true).is_ok());
        assert_eq!(kept, thing);
    }
}
