//! The reasons for a 422: invalid names and labels of all objects. For the kinds that people write by hand, also
//! violations of the few rules without which other clients of the object would fail. A number that a workload's type
//! cannot have is a 400, because a real server cannot read it.

use informant_apimachinery::{Status, StatusCause};
use informant_apiserver::ResourceInfo;
use serde_json::Value;

use super::metadata;

/// Checks a new object. `causes` are the problems already found.
pub fn check_create(
    resource: &ResourceInfo,
    object: &Value,
    mut causes: Vec<StatusCause>,
) -> Result<(), Status> {
    check_numbers(resource, object)?;
    causes.extend(metadata::problems(resource, object));
    causes.extend(specification_problems(resource, object));
    refuse(resource, object, causes)
}

/// Checks a changed object against its previous state. `causes` are the problems already found.
pub fn check_update(
    resource: &ResourceInfo,
    before: &Value,
    object: &Value,
    mut causes: Vec<StatusCause>,
) -> Result<(), Status> {
    check_numbers(resource, object)?;
    causes.extend(metadata::problems(resource, object));
    causes.extend(specification_problems(resource, object));
    for field in immutable_fields(resource) {
        let path: Vec<&str> = field.split('.').collect();
        let at =
            |object: &Value| path.iter().fold(object.clone(), |value, key| value[*key].clone());
        let (old, new) = (at(before), at(object));
        if old != new && !old.is_null() {
            causes.push(StatusCause::invalid(field, new, "field is immutable"));
        }
    }
    if before["immutable"] == true
        && (before["data"] != object["data"] || object["immutable"] != true)
    {
        causes.push(StatusCause::forbidden("data", "field is immutable when `immutable` is set"));
    }
    refuse(resource, object, causes)
}

/// The refusal of an update of a custom object without a resourceVersion.
pub fn missing_resource_version(resource: &ResourceInfo, name: &str) -> Status {
    let field = "metadata.resourceVersion";
    let cause = StatusCause::invalid(field, "0", "must be specified for an update");
    Status::invalid(&resource.gvr.group, &resource.kind, name, vec![cause])
}

fn refuse(resource: &ResourceInfo, object: &Value, causes: Vec<StatusCause>) -> Result<(), Status> {
    if causes.is_empty() {
        return Ok(());
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    Err(Status::invalid(&resource.gvr.group, &resource.kind, name, causes))
}

/// The numbers of workloads that are of the type `int32`. A real server cannot decode an object with another number.
const INT32_FIELDS: [&str; 5] =
    ["replicas", "revisionHistoryLimit", "parallelism", "completions", "backoffLimit"];

fn check_numbers(resource: &ResourceInfo, object: &Value) -> Result<(), Status> {
    if resource.custom || !matches!(resource.gvr.group.as_str(), "apps" | "batch") {
        return Ok(());
    }
    let spec = &object["spec"];
    let is_outside = |field: &&str| {
        let number = &spec[*field];
        number.is_number() && number.as_i64().is_none_or(|number| i32::try_from(number).is_err())
    };
    let Some(field) = INT32_FIELDS.into_iter().find(is_outside) else { return Ok(()) };
    let (kind, version, number) = (&resource.kind, &resource.gvr.version, &spec[field]);
    Err(Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: json: cannot unmarshal number {number} into Go struct field {kind}Spec.spec.{field} of type int32"
    )))
}

fn immutable_fields(resource: &ResourceInfo) -> &'static [&'static str] {
    match (resource.gvr.group.as_str(), resource.gvr.resource.as_str()) {
        ("apps", "deployments" | "replicasets" | "daemonsets") => &["spec.selector"],
        ("apps", "statefulsets") => &["spec.selector", "spec.serviceName"],
        ("batch", "jobs") => &["spec.template"],
        ("", "pods") => &["spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName"],
        ("", "secrets") => &["type"],
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => &["roleRef"],
        ("storage.k8s.io", "storageclasses") => &["provisioner"],
        ("apiextensions.k8s.io", _) => &["spec.group", "spec.names.plural", "spec.scope"],
        _ => &[],
    }
}

fn specification_problems(resource: &ResourceInfo, object: &Value) -> Vec<StatusCause> {
    let spec = &object["spec"];
    if resource.custom {
        return Vec::new();
    }
    match (resource.gvr.group.as_str(), resource.gvr.resource.as_str()) {
        ("", "pods") => pod_problems("spec", spec),
        ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets") => {
            workload_problems(object)
        }
        ("batch", "jobs") => pod_problems("spec.template.spec", &spec["template"]["spec"]),
        ("", "services") => service_problems(spec),
        ("apiextensions.k8s.io", "customresourcedefinitions") => definition_problems(object),
        _ => Vec::new(),
    }
}

fn pod_problems(path: &str, spec: &Value) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    let containers = spec["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    if containers.is_empty() {
        causes.push(StatusCause::required(&format!("{path}.containers"), ""));
    }
    let mut seen = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let field = |key: &str| format!("{path}.containers[{index}].{key}");
        let name = container["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            causes.push(StatusCause::required(&field("name"), ""));
        } else if seen.contains(&name) {
            let message = format!("Duplicate value: {name:?}");
            causes.push(StatusCause {
                reason: "FieldValueDuplicate".into(),
                message,
                field: field("name"),
            });
        }
        seen.push(name);
        if container["image"].as_str().is_none_or(str::is_empty) {
            causes.push(StatusCause::required(&field("image"), ""));
        }
    }
    let known = ["Always", "OnFailure", "Never"];
    if let Some(policy) = spec["restartPolicy"].as_str()
        && !known.contains(&policy)
    {
        let field = format!("{path}.restartPolicy");
        causes.push(StatusCause::not_supported(&field, policy, &known));
    }
    causes
}

fn workload_problems(object: &Value) -> Vec<StatusCause> {
    let spec = &object["spec"];
    let mut causes = pod_problems("spec.template.spec", &spec["template"]["spec"]);
    let wanted = spec["selector"]["matchLabels"].as_object();
    let expressions = spec["selector"]["matchExpressions"].as_array();
    if wanted.is_none_or(serde_json::Map::is_empty) && expressions.is_none_or(Vec::is_empty) {
        causes.push(StatusCause::required("spec.selector", ""));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if wanted.into_iter().flatten().any(|(key, value)| labels.get(key) != Some(value)) {
        let why = "`selector` does not match template `labels`";
        causes.push(StatusCause::invalid("spec.template.metadata.labels", labels, why));
    }
    if spec["replicas"].as_i64().is_some_and(|replicas| replicas < 0) {
        let why = "must be greater than or equal to 0";
        causes.push(StatusCause::invalid("spec.replicas", &spec["replicas"], why));
    }
    causes
}

fn service_problems(spec: &Value) -> Vec<StatusCause> {
    let needs_ports = spec["type"] != "ExternalName" && spec["clusterIP"] != "None";
    if needs_ports && spec["ports"].as_array().is_none_or(Vec::is_empty) {
        return vec![StatusCause::required("spec.ports", "")];
    }
    Vec::new()
}

fn definition_problems(object: &Value) -> Vec<StatusCause> {
    let spec = &object["spec"];
    let mut causes = Vec::new();
    for path in ["spec.group", "spec.names.plural", "spec.names.kind"] {
        let value = path.split('.').fold(object, |at, key| &at[key]);
        if value.as_str().is_none_or(str::is_empty) {
            causes.push(StatusCause::required(path, ""));
        }
    }
    if let Some(scope) = spec["scope"].as_str()
        && !matches!(scope, "Namespaced" | "Cluster")
    {
        causes.push(StatusCause::not_supported("spec.scope", scope, &["Cluster", "Namespaced"]));
    } else if !spec["scope"].is_string() {
        causes.push(StatusCause::required("spec.scope", ""));
    }
    let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(StatusCause::invalid("spec.versions", "[]", why));
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let expected = format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]));
    let name = text(&object["metadata"]["name"]);
    if causes.is_empty() && name != expected {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(StatusCause::invalid("metadata.name", format!("{name:?}"), why));
    }
    causes
}
