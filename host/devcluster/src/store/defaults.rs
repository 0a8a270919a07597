//! The defaults of a real server that clients rely on: those of namespaces, of services, and of the kinds with pods.
//! Kubernetes fills in more fields; these are the ones that kubectl and controllers read.

use informant_apiserver::ResourceInfo;
use serde_json::{Map, Value, json};

/// Fills in the fields that only a new object gets.
pub fn apply_on_create(resource: &ResourceInfo, object: &mut Value, random: &mut fastrand::Rng) {
    if resource.custom {
        return;
    }
    match (resource.gvr.group.as_str(), resource.gvr.resource.as_str()) {
        ("", "namespaces") => {
            let name = object["metadata"]["name"].clone();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
            object["spec"] = json!({"finalizers": ["kubernetes"]});
            object["status"] = json!({"phase": "Active"});
        }
        ("", "pods") => {
            object["status"] =
                json!({"phase": "Pending", "qosClass": quality_of_service(&object["spec"])});
        }
        ("", "persistentvolumeclaims" | "persistentvolumes") => {
            object["status"] = json!({"phase": "Pending"});
        }
        ("", "services") => cluster_ip(object, random),
        ("batch", "jobs") => job_labels(object),
        (_, plural) => {
            if let Some(status) = first_status(plural) {
                object["status"] = status;
            }
        }
    }
}

/// The status that Go's encoder shows before a controller has written one.
fn first_status(plural: &str) -> Option<Value> {
    Some(match plural {
        "deployments" | "jobs" | "cronjobs" => json!({}),
        "replicasets" => json!({"replicas": 0}),
        "statefulsets" => json!({"replicas": 0, "availableReplicas": 0}),
        "daemonsets" => json!({
            "currentNumberScheduled": 0,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 0,
            "numberReady": 0,
        }),
        "ingresses" => json!({"loadBalancer": {}}),
        "poddisruptionbudgets" => json!({
            "disruptionsAllowed": 0,
            "currentHealthy": 0,
            "desiredHealthy": 0,
            "expectedPods": 0,
        }),
        "horizontalpodautoscalers" => json!({"desiredReplicas": 0, "currentMetrics": null}),
        _ => return None,
    })
}

/// A job selects its pods by its own UID, unless it has a manual selector (registry/batch/job's
/// `generateSelectorIfNeeded`).
fn job_labels(job: &mut Value) {
    job["status"] = json!({});
    if job["spec"]["manualSelector"] == true || !job["spec"]["template"].is_object() {
        return;
    }
    let (uid, name) = (job["metadata"]["uid"].clone(), job["metadata"]["name"].clone());
    let labels = json!({
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    });
    fill(&mut job["spec"]["template"], &json!({"metadata": {"labels": labels}}));
    let selector = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
    fill(&mut job["spec"], &json!({"selector": selector}));
}

/// Fills in the missing fields of a new or changed object.
pub fn apply(resource: &ResourceInfo, object: &mut Value) {
    if resource.custom {
        return;
    }
    match (resource.gvr.group.as_str(), resource.gvr.resource.as_str()) {
        ("", "pods") => {
            pod(&mut object["spec"]);
            fill(&mut object["spec"], &json!({"enableServiceLinks": true}));
        }
        ("", "services") => {
            service_ports(&mut object["spec"]);
            fill(&mut object["spec"], &json!({"type": "ClusterIP", "sessionAffinity": "None"}));
            if object["spec"]["type"] != "ExternalName" {
                fill(&mut object["spec"], &json!({"internalTrafficPolicy": "Cluster"}));
            }
        }
        ("", "secrets") => secret(object),
        ("apps" | "batch", plural) => workload(plural, object),
        ("apiextensions.k8s.io", _) => definition(&mut object["spec"]),
        ("rbac.authorization.k8s.io", _) => {
            let people = |subject: &&mut Value| subject["kind"] != "ServiceAccount";
            for subject in members(object, "subjects").filter(people) {
                fill(subject, &json!({"apiGroup": "rbac.authorization.k8s.io"}));
            }
        }
        (_, plural) => {
            if let Some(fields) = other_fields(plural) {
                fill(object, &fields);
            }
        }
    }
}

fn definition(spec: &mut Value) {
    fill(spec, &json!({"conversion": {"strategy": "None"}}));
    if let Some(kind) = spec["names"]["kind"].as_str() {
        let names = json!({"singular": kind.to_lowercase(), "listKind": format!("{kind}List")});
        fill_present(spec, "names", &names);
    }
}

/// Defaults of kinds without pods.
fn other_fields(plural: &str) -> Option<Value> {
    Some(match plural {
        "persistentvolumeclaims" => json!({"spec": {"volumeMode": "Filesystem"}}),
        "persistentvolumes" => json!({
            "spec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
        }),
        "networkpolicies" => json!({"spec": {"policyTypes": ["Ingress"]}}),
        "horizontalpodautoscalers" => json!({
            "spec": {
                "minReplicas": 1,
                "metrics": [{
                    "type": "Resource",
                    "resource": {
                        "name": "cpu",
                        "target": {"type": "Utilization", "averageUtilization": 80},
                    },
                }],
            },
        }),
        "storageclasses" => {
            json!({"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})
        }
        _ => return None,
    })
}

fn workload(plural: &str, object: &mut Value) {
    let Some(fields) = workload_fields(plural) else { return };
    fill(&mut object["spec"], &fields);
    if plural == "cronjobs" {
        // The job in a cron job gets only the defaults of its pods.
        if object["spec"]["jobTemplate"]["spec"]["template"]["spec"].is_object() {
            pod(&mut object["spec"]["jobTemplate"]["spec"]["template"]["spec"]);
        }
        return;
    }
    let recreates = object["spec"]["strategy"]["type"] == "Recreate";
    if recreates && let Some(strategy) = object["spec"]["strategy"].as_object_mut() {
        strategy.shift_remove("rollingUpdate");
    }
    if object["spec"]["template"]["spec"].is_object() {
        pod(&mut object["spec"]["template"]["spec"]);
    }
}

fn workload_fields(plural: &str) -> Option<Value> {
    Some(match plural {
        "deployments" => json!({
            "replicas": 1,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
            },
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
        }),
        "replicasets" => json!({"replicas": 1}),
        "statefulsets" => json!({
            "replicas": 1,
            "podManagementPolicy": "OrderedReady",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "revisionHistoryLimit": 10,
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": "Retain",
                "whenScaled": "Retain",
            },
        }),
        "daemonsets" => json!({
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
            },
            "revisionHistoryLimit": 10,
        }),
        "jobs" => json!({
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 6,
            "completionMode": "NonIndexed",
            "suspend": false,
            "manualSelector": false,
            "podReplacementPolicy": "TerminatingOrFailed",
        }),
        "cronjobs" => json!({
            "concurrencyPolicy": "Allow",
            "suspend": false,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 1,
        }),
        _ => return None,
    })
}

/// Adds the missing fields, level by level.
fn fill(target: &mut Value, fields: &Value) {
    if target.is_null() {
        *target = Value::Object(Map::new());
    }
    let (Some(target), Some(fields)) = (target.as_object_mut(), fields.as_object()) else { return };
    for (key, value) in fields {
        match target.get_mut(key) {
            None | Some(Value::Null) => {
                target.insert(key.clone(), value.clone());
            }
            Some(present) if value.is_object() => fill(present, value),
            Some(_) => {}
        }
    }
}

fn pod(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    let fields = json!({
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    });
    fill(spec, &fields);
    for key in ["containers", "initContainers"] {
        members(spec, key).for_each(container);
    }
    for volume in members(spec, "volumes") {
        for source in ["configMap", "secret", "downwardAPI", "projected"] {
            fill_present(volume, source, &json!({"defaultMode": 0o644}));
        }
        fill_present(volume, "hostPath", &json!({"type": ""}));
    }
}

fn container(container: &mut Value) {
    let policy = match container["image"].as_str().map(tag) {
        Some("latest" | "") => "Always",
        _ => "IfNotPresent",
    };
    let fields = json!({
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": policy,
    });
    fill(container, &fields);
    for port in members(container, "ports") {
        fill(port, &json!({"protocol": "TCP"}));
    }
    for variable in members(container, "env") {
        if let Some(source) = variable.get_mut("valueFrom") {
            fill_present(source, "fieldRef", &json!({"apiVersion": "v1"}));
        }
    }
    for key in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let times = json!({
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        });
        fill_present(container, key, &times);
        if let Some(probe) = container.get_mut(key) {
            fill_present(probe, "httpGet", &json!({"path": "/", "scheme": "HTTP"}));
        }
    }
}

/// Adds fields to a member if it exists.
fn fill_present(object: &mut Value, member: &str, fields: &Value) {
    if let Some(present) = object.get_mut(member).filter(|present| present.is_object()) {
        fill(present, fields);
    }
}

/// The members of a list if it exists. Indexing would create the list.
fn members<'a>(object: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten()
}

/// The tag of an image. Empty without a tag.
fn tag(image: &str) -> &str {
    let name = image.rsplit('/').next().unwrap_or(image);
    name.split_once(':').map_or("", |(_, tag)| tag)
}

fn quality_of_service(spec: &Value) -> &'static str {
    let containers = spec["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let complete = |list: &Value| ["cpu", "memory"].iter().all(|key| !list[*key].is_null());
    let any = |c: &Value| {
        ["requests", "limits"]
            .iter()
            .any(|key| c["resources"][*key].as_object().is_some_and(|l| !l.is_empty()))
    };
    let guaranteed = |c: &Value| {
        let (limits, requests) = (&c["resources"]["limits"], &c["resources"]["requests"]);
        complete(limits) && (requests.is_null() || requests == limits)
    };
    if !containers.is_empty() && containers.iter().all(guaranteed) {
        "Guaranteed"
    } else if containers.iter().any(any) {
        "Burstable"
    } else {
        "BestEffort"
    }
}

fn service_ports(spec: &mut Value) {
    for port in members(spec, "ports") {
        let target = port["port"].clone();
        fill(port, &json!({"protocol": "TCP", "targetPort": target}));
    }
}

fn cluster_ip(service: &mut Value, random: &mut fastrand::Rng) {
    service["status"] = json!({"loadBalancer": {}});
    let spec = &mut service["spec"];
    if spec["type"] == "ExternalName" {
        return;
    }
    if spec["clusterIP"].as_str().is_none_or(str::is_empty) {
        // 10.96.0.0/16, except the low addresses that clusters give to their own services.
        let address = format!("10.96.{}.{}", random.u8(1..255), random.u8(1..255));
        spec["clusterIP"] = address.into();
    }
    let address = spec["clusterIP"].clone();
    fill(
        spec,
        &json!({"clusterIPs": [address], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}),
    );
}

/// Moves `stringData` into `data`. `stringData` is never shown.
fn secret(object: &mut Value) {
    use base64::Engine as _;
    let Some(fields) = object.as_object_mut() else { return };
    if let Some(Value::Object(plain)) = fields.shift_remove("stringData") {
        let data = fields.entry("data").or_insert_with(|| json!({}));
        for (key, value) in plain {
            let text = value.as_str().unwrap_or_default();
            data[key] = base64::engine::general_purpose::STANDARD.encode(text).into();
        }
    }
    fields.entry("type").or_insert_with(|| "Opaque".into());
}
