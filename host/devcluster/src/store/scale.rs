//! The `scale` subresource: one number of an object, as `autoscaling/v1` `Scale`.

use std::sync::Arc;

use informant_apimachinery::Status;
use informant_apiserver::ApiObject;
use serde_json::{Value, json};

use super::custom_resources::{ScalePaths, scale_paths};
use super::{Store, Target, WriteOptions};
use crate::patch::Patch;

impl Store {
    /// The object's `Scale`.
    pub fn scale(&self, target: &Target<'_>) -> Result<Value, Status> {
        let paths = self.scale_paths(target)?;
        let object = self.present(target)?.to_value();
        Ok(scale_of(&object, &paths))
    }

    /// Sets the number from a whole `Scale`.
    pub fn update_scale(
        &mut self,
        target: &Target<'_>,
        scale: &Value,
        options: WriteOptions,
    ) -> Result<Value, Status> {
        let paths = self.scale_paths(target)?;
        let mut object = self.present(target)?.to_value();
        if let Some(version) = scale["metadata"]["resourceVersion"].as_str()
            && !version.is_empty()
            && object["metadata"]["resourceVersion"] != version
        {
            return Err(Status::modified(&target.resource.gvr, target.name));
        }
        let replicas = match &scale["spec"]["replicas"] {
            Value::Null => 0,
            replicas => replicas
                .as_i64()
                .filter(|n| (0..=i64::from(i32::MAX)).contains(n))
                .ok_or_else(|| {
                    Status::bad_request(format!("spec.replicas of a Scale cannot be {replicas}"))
                })?,
        };
        set(&mut object, &paths.wanted, replicas.into());
        let whole = Target { subresource: None, ..target.clone() };
        let new: Arc<ApiObject> = self.update(&whole, object, options)?;
        Ok(scale_of(&new.to_value(), &paths))
    }

    /// Sets the number from part of a `Scale`.
    pub fn patch_scale(
        &mut self,
        target: &Target<'_>,
        patch: &Patch,
        options: WriteOptions,
    ) -> Result<Value, Status> {
        let mut scale = self.scale(target)?;
        patch.apply_to_kind(&mut scale, "Scale", &target.resource.gvr, target.name)?;
        self.update_scale(target, &scale, options)
    }

    fn scale_paths(&self, target: &Target<'_>) -> Result<ScalePaths, Status> {
        let resource = target.resource;
        resource.subresource("scale").ok_or_else(Status::no_such_resource)?;
        if !resource.custom {
            return Ok(ScalePaths {
                wanted: "spec.replicas".to_owned(),
                running: "status.replicas".to_owned(),
                selector: None,
            });
        }
        let definition = self.definition(resource);
        definition
            .and_then(|definition| scale_paths(&definition, &resource.gvr.version))
            .ok_or_else(Status::no_such_resource)
    }
}

fn scale_of(object: &Value, paths: &ScalePaths) -> Value {
    let metadata = &object["metadata"];
    let number = |path: &str| get(object, path).as_i64().unwrap_or(0);
    let mut shown = json!({});
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = metadata.get(key) {
            shown[key] = value.clone();
        }
    }
    let mut status = json!({"replicas": number(&paths.running)});
    let selector = match &paths.selector {
        Some(path) => get(object, path).as_str().unwrap_or_default().to_owned(),
        None => selector_text(&object["spec"]["selector"]),
    };
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    // Go omits a zero.
    let spec = match number(&paths.wanted) {
        0 => json!({}),
        replicas => json!({"replicas": replicas}),
    };
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": shown,
        "spec": spec,
        "status": status,
    })
}

/// A selector structure as text. Replication controllers have plain labels.
fn selector_text(selector: &Value) -> String {
    let labels = selector.get("matchLabels").unwrap_or(selector);
    let pairs = labels.as_object().into_iter().flatten();
    let mut terms: Vec<String> = pairs
        .filter_map(|(key, value)| value.as_str().map(|value| format!("{key}={value}")))
        .collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values = expression["values"].as_array().into_iter().flatten();
        let values = values.filter_map(Value::as_str).collect::<Vec<_>>().join(",");
        terms.push(match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    terms.sort();
    terms.join(",")
}

fn get<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(object, |at, key| &at[key])
}

fn set(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for key in path.split('.') {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[key];
    }
    *at = value;
}
