use allocation_counter::measure;
use informant_apimachinery::GroupVersionResource;
use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-01-01T01:00:00Z";

fn options() -> TableOptions {
    TableOptions {
        include_object: IncludeObject::Metadata,
        no_headers: false,
        now: NOW.parse().expect("a time"),
    }
}

fn table(resource: &str, custom: Option<&Value>, object: Value) -> Value {
    let resource: GroupVersionResource = resource.parse().expect("a resource");
    rendered(&resource, custom, &object, &options())
}

fn rendered(
    resource: &GroupVersionResource,
    custom: Option<&Value>,
    object: &Value,
    options: &TableOptions,
) -> Value {
    let (metadata, object) = (json!({"resourceVersion": "7"}), object.to_string().into());
    let table = render(resource, custom, metadata, &[object], options);
    serde_json::from_slice(&table).expect("it is JSON")
}

/// The table of one object as kubectl shows it wide: titles in capitals, one row; an hour is its age.
#[track_caller]
fn check(resource: &str, object: Value, expect: &str) {
    let mut object = object;
    object["metadata"]["name"] = "x".into();
    object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    let table = table(resource, None, object);
    let columns = table["columnDefinitions"].as_array().expect("columns");
    let cells = table["rows"][0]["cells"].as_array().expect("cells");
    assert_eq!(columns.len(), cells.len(), "as many cells as columns");
    let lines: Vec<String> = columns
        .iter()
        .zip(cells)
        .map(|(column, cell)| {
            let wide = if column["priority"] == 1 { "+" } else { "" };
            let cell = cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
            format!("{wide}{}={cell}", column["name"].as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(lines.join(" | "), expect);
}

/// Name, ready, status and restarts of a pod.
#[track_caller]
fn check_pod(spec: Value, status: Value, metadata: Value, expect: &str) {
    let pod = json!({"metadata": metadata, "spec": spec, "status": status});
    let table = table("v1/pods", None, pod);
    let cells = &table["rows"][0]["cells"];
    let text = |index: usize| cells[index].as_str().unwrap_or_default();
    assert_eq!(format!("{} {} {}", text(1), text(2), text(3)), expect);
}

fn one_container() -> Value {
    json!({"containers": [{"name": "c"}]})
}

fn container(ready: bool, restarts: i64, state: Value, last: Value) -> Value {
    json!({"name": "c", "ready": ready, "restartCount": restarts, "state": state, "lastState": last})
}

#[test]
fn pods_have_nine_columns() {
    check(
        "v1/pods",
        json!({
            "spec": {"containers": [{"name": "c"}], "nodeName": "n1",
                "readinessGates": [{"conditionType": "g"}]},
            "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}],
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "g", "status": "True"}],
                "containerStatuses": [container(true, 0, json!({"running": {}}), json!({}))]},
        }),
        "Name=x | Ready=1/1 | Status=Running | Restarts=0 | Age=60m | +IP=10.0.0.1 | +Node=n1 \
         | +Nominated Node=<none> | +Readiness Gates=1/1",
    );
}

#[test]
fn pod_status_is_what_holds_the_pod_up() {
    let wait = |reason: &str| {
        json!({"phase": "Pending", "containerStatuses": [
            container(false, 0, json!({"waiting": {"reason": reason}}), json!({}))]})
    };
    check_pod(one_container(), json!({"phase": "Pending"}), json!({}), "0/1 Pending 0");
    check_pod(one_container(), wait("ContainerCreating"), json!({}), "0/1 ContainerCreating 0");
    check_pod(one_container(), wait("ImagePullBackOff"), json!({}), "0/1 ImagePullBackOff 0");
    check_pod(
        one_container(),
        json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}),
        json!({}),
        "0/1 SchedulingGated 0",
    );
    check_pod(
        one_container(),
        json!({"phase": "Failed", "reason": "Evicted"}),
        json!({}),
        "0/1 Evicted 0",
    );
}

#[test]
fn pod_restarts_say_when_the_last_one_was() {
    let last = json!({"terminated": {"finishedAt": "2026-01-01T00:58:20Z", "exitCode": 1}});
    check_pod(
        one_container(),
        json!({"phase": "Running", "containerStatuses": [
            container(false, 3, json!({"waiting": {"reason": "CrashLoopBackOff"}}), last)]}),
        json!({}),
        "0/1 CrashLoopBackOff 3 (100s ago)",
    );
}

#[test]
fn ended_containers_give_reason_signal_or_exit_code() {
    let ended = |terminated: Value| {
        json!({"phase": "Failed", "containerStatuses": [
            container(false, 0, json!({"terminated": terminated}), json!({}))]})
    };
    check_pod(
        one_container(),
        ended(json!({"exitCode": 0, "reason": "Completed"})),
        json!({}),
        "0/1 Completed 0",
    );
    check_pod(
        one_container(),
        ended(json!({"exitCode": 137, "reason": "OOMKilled"})),
        json!({}),
        "0/1 OOMKilled 0",
    );
    check_pod(
        one_container(),
        ended(json!({"exitCode": 1, "reason": "Error"})),
        json!({}),
        "0/1 Error 0",
    );
    check_pod(one_container(), ended(json!({"exitCode": 3})), json!({}), "0/1 ExitCode:3 0");
    check_pod(
        one_container(),
        ended(json!({"exitCode": 137, "signal": 9})),
        json!({}),
        "0/1 Signal:9 0",
    );
}

#[test]
fn a_completed_container_beside_a_running_one_is_running_or_not_ready() {
    let two = json!({"containers": [{"name": "done"}, {"name": "c"}]});
    let statuses = json!([
        {"name": "done", "restartCount": 0, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
        container(true, 0, json!({"running": {}}), json!({})),
    ]);
    let ready = json!({"phase": "Running", "containerStatuses": statuses,
        "conditions": [{"type": "Ready", "status": "True"}]});
    check_pod(two.clone(), ready, json!({}), "1/2 Running 0");
    let not_ready = json!({"phase": "Running", "containerStatuses": statuses});
    check_pod(two, not_ready, json!({}), "1/2 NotReady 0");
}

#[test]
fn init_containers_count_down() {
    let spec =
        json!({"initContainers": [{"name": "a"}, {"name": "b"}], "containers": [{"name": "c"}]});
    let init = |state: Value| {
        json!({"phase": "Pending", "initContainerStatuses": [
            {"name": "a", "restartCount": 2, "state": {"terminated": {"exitCode": 0}}},
            {"name": "b", "restartCount": 0, "state": state}]})
    };
    let wait = |reason: &str| json!({"waiting": {"reason": reason}});
    check_pod(spec.clone(), init(wait("PodInitializing")), json!({}), "0/1 Init:1/2 2");
    check_pod(
        spec.clone(),
        init(wait("CrashLoopBackOff")),
        json!({}),
        "0/1 Init:CrashLoopBackOff 2",
    );
    check_pod(
        spec.clone(),
        init(json!({"terminated": {"exitCode": 2}})),
        json!({}),
        "0/1 Init:ExitCode:2 2",
    );
    check_pod(
        spec,
        init(json!({"terminated": {"exitCode": 1, "reason": "Error"}})),
        json!({}),
        "0/1 Init:Error 2",
    );
}

#[test]
fn sidecars_count_as_containers() {
    check_pod(
        json!({"initContainers": [{"name": "s", "restartPolicy": "Always"}],
            "containers": [{"name": "c"}]}),
        json!({"phase": "Running",
            "initContainerStatuses": [{"name": "s", "restartCount": 1, "started": true,
                "ready": true, "state": {"running": {}}}],
            "containerStatuses": [container(true, 0, json!({"running": {}}), json!({}))]}),
        json!({}),
        "2/2 Running 1",
    );
}

#[test]
fn deletion_shows_as_terminating_unless_the_pod_has_ended() {
    let deleted = json!({"deletionTimestamp": NOW});
    check_pod(one_container(), json!({"phase": "Running"}), deleted.clone(), "0/1 Terminating 0");
    check_pod(one_container(), json!({"phase": "Succeeded"}), deleted.clone(), "0/1 Succeeded 0");
    check_pod(
        one_container(),
        json!({"phase": "Running", "reason": "NodeLost"}),
        deleted,
        "0/1 Unknown 0",
    );
}

#[test]
fn ended_pods_have_row_conditions() {
    let table = table("v1/pods", None, json!({"status": {"phase": "Succeeded"}}));
    assert_eq!(table["rows"][0]["conditions"][0]["type"], "Completed");
}

fn template() -> Value {
    json!({"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j:2"}]}})
}

#[test]
fn workloads() {
    check(
        "apps/v1/deployments",
        json!({"spec": {"replicas": 3, "template": template(), "selector": {
                "matchLabels": {"b": "2", "a": "1"},
                "matchExpressions": [{"key": "c", "operator": "In", "values": ["y", "x"]}]}},
            "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}}),
        "Name=x | Ready=1/3 | Up-to-date=2 | Available=1 | Age=60m | +Containers=a,b \
         | +Images=i:1,j:2 | +Selector=a=1,b=2,c in (x,y)",
    );
    check(
        "apps/v1/replicasets",
        json!({"spec": {"replicas": 3, "template": template()}, "status": {"replicas": 2}}),
        "Name=x | Desired=3 | Current=2 | Ready=0 | Age=60m | +Containers=a,b | +Images=i:1,j:2 \
         | +Selector=<none>",
    );
    check(
        "apps/v1/statefulsets",
        json!({"spec": {"template": template()}, "status": {"readyReplicas": 1}}),
        "Name=x | Ready=1/1 | Age=60m | +Containers=a,b | +Images=i:1,j:2",
    );
    check(
        "apps/v1/daemonsets",
        json!({"spec": {"template": template()}, "status": {"desiredNumberScheduled": 3,
            "currentNumberScheduled": 3, "numberReady": 2, "updatedNumberScheduled": 1}}),
        "Name=x | Desired=3 | Current=3 | Ready=2 | Up-to-date=1 | Available=0 \
         | Node Selector=<none> | Age=60m | +Containers=a,b | +Images=i:1,j:2 | +Selector=<none>",
    );
    check(
        "batch/v1/jobs",
        json!({"spec": {"completions": 3, "template": template()}, "status": {"succeeded": 1,
            "startTime": "2026-01-01T00:59:00Z"}}),
        "Name=x | Status=Running | Completions=1/3 | Duration=60s | Age=60m | +Containers=a,b \
         | +Images=i:1,j:2 | +Selector=<none>",
    );
    check(
        "batch/v1/cronjobs",
        json!({"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template()}}},
            "status": {"active": [{}], "lastScheduleTime": "2026-01-01T00:59:00Z"}}),
        "Name=x | Schedule=* * * * * | Timezone=<none> | Suspend=False | Active=1 \
         | Last Schedule=60s | Age=60m | +Containers=a,b | +Images=i:1,j:2 | +Selector=<none>",
    );
    check(
        "policy/v1/poddisruptionbudgets",
        json!({"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}}),
        "Name=x | Min Available=50% | Max Unavailable=N/A | Allowed Disruptions=1 | Age=60m",
    );
}

#[test]
fn services_and_what_is_behind_them() {
    check(
        "v1/services",
        json!({"spec": {"type": "NodePort", "clusterIP": "10.96.0.7", "selector": {"app": "x"},
            "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]}}),
        "Name=x | Type=NodePort | Cluster-IP=10.96.0.7 | External-IP=<none> \
         | Port(s)=80:30080/TCP,53/UDP | Age=60m | +Selector=app=x",
    );
    check(
        "v1/services",
        json!({"spec": {"type": "LoadBalancer", "clusterIPs": ["10.96.0.7"]},
            "status": {"loadBalancer": {"ingress": [{"hostname": "b"}, {"ip": "1.2.3.4"}]}}}),
        "Name=x | Type=LoadBalancer | Cluster-IP=10.96.0.7 | External-IP=1.2.3.4,b | Port(s)=<none> \
         | Age=60m | +Selector=<none>",
    );
    check(
        "v1/endpoints",
        json!({"subsets": [{"ports": [{"port": 80}], "addresses": [{"ip": "a"}, {"ip": "b"},
            {"ip": "c"}, {"ip": "d"}, {"ip": "::1"}]}]}),
        "Name=x | Endpoints=a:80,b:80,c:80 + 2 more... | Age=60m",
    );
    check(
        "discovery.k8s.io/v1/endpointslices",
        json!({"addressType": "IPv4", "ports": [{"port": 80}], "endpoints": [
            {"addresses": ["a"]}, {"addresses": ["b"]}]}),
        "Name=x | AddressType=IPv4 | Ports=80 | Endpoints=a,b | Age=60m",
    );
    check(
        "networking.k8s.io/v1/ingresses",
        json!({"spec": {"ingressClassName": "nginx", "rules": [{"host": "a.io"}], "tls": [{}]}}),
        "Name=x | Class=nginx | Hosts=a.io | Address= | Ports=80, 443 | Age=60m",
    );
}

#[test]
fn the_cluster_and_its_configuration() {
    check(
        "v1/nodes",
        json!({"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "Unknown"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kubeletVersion": "v1.36.3", "osImage": "Debian", "kernelVersion": "6.1",
                    "architecture": "amd64", "containerRuntimeVersion": "containerd://2.1"}}}),
        "Name=x | Status=NotReady,SchedulingDisabled | Roles=control-plane | Age=60m \
         | Version=v1.36.3 | +Internal-IP=10.0.0.1 | +External-IP=<none> | +OS-Image=Debian \
         | +Kernel-Version=6.1 (amd64) | +Container-Runtime=containerd://2.1",
    );
    check(
        "v1/events",
        json!({"type": "Warning", "reason": "BackOff", "message": " back-off \n", "count": 4,
            "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"},
            "source": {"component": "kubelet", "host": "n1"},
            "firstTimestamp": "2026-01-01T00:59:00Z", "lastTimestamp": "2026-01-01T00:59:50Z"}),
        "Last Seen=10s | Type=Warning | Reason=BackOff | Object=pod/p \
         | +Subobject=spec.containers{c} | +Source=kubelet, n1 | Message=back-off \
         | +First Seen=60s | +Count=4 | +Name=x",
    );
    check(
        "v1/namespaces",
        json!({"status": {"phase": "Active"}}),
        "Name=x | Status=Active | Age=60m",
    );
    check("v1/configmaps", json!({"data": {"a": "1"}}), "Name=x | Data=1 | Age=60m");
    check("v1/secrets", json!({"type": "Opaque"}), "Name=x | Type=Opaque | Data=0 | Age=60m");
    check(
        "coordination.k8s.io/v1/leases",
        json!({"spec": {"holderIdentity": "n1"}}),
        "Name=x | Holder=n1 | Age=60m",
    );
    check(
        "rbac.authorization.k8s.io/v1/roles",
        json!({}),
        "Name=x | Created At=2026-01-01T00:00:00Z",
    );
    check(
        "rbac.authorization.k8s.io/v1/rolebindings",
        json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [
            {"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "namespace": "n", "name": "s"}]}),
        "Name=x | Role=Role/r | Age=60m | +Users=u | +Groups= | +ServiceAccounts=n/s",
    );
}

#[test]
fn storage_and_scaling() {
    check(
        "v1/persistentvolumeclaims",
        json!({"spec": {"volumeName": "v", "storageClassName": "fast"}, "status": {"phase": "Bound",
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]}}),
        "Name=x | Status=Bound | Volume=v | Capacity=1Gi | Access Modes=RWO,RWX \
         | StorageClass=fast | VolumeAttributesClass=<unset> | Age=60m | +VolumeMode=Filesystem",
    );
    check(
        "autoscaling/v2/horizontalpodautoscalers",
        json!({"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 1,
                "maxReplicas": 5, "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 80}}}]},
            "status": {"currentReplicas": 2, "currentMetrics": [{"type": "Resource", "resource": {
                "name": "cpu", "current": {"averageUtilization": 33}}}]}}),
        "Name=x | Reference=Deployment/d | Targets=cpu: 33%/80% | MinPods=1 | MaxPods=5 \
         | Replicas=2 | Age=60m",
    );
}

#[test]
fn rows_carry_as_much_of_the_object_as_asked_for() {
    let object = json!({"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "1"}});
    let row = |include_object| {
        let resource = "v1/configmaps".parse().expect("a resource");
        let options = TableOptions { include_object, no_headers: true, ..options() };
        let table = rendered(&resource, None, &object, &options);
        assert_eq!(table["columnDefinitions"], json!([]));
        table["rows"][0]["object"].clone()
    };
    assert_eq!(row(IncludeObject::None), Value::Null);
    assert_eq!(row(IncludeObject::Object), object);
    assert_eq!(
        row(IncludeObject::Metadata),
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": {"name": "x"}}),
    );
}

#[test]
fn custom_resources_show_their_declared_columns_or_their_age() {
    let object = json!({"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"size": 3}});
    let columns = json!([{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]);
    let declared = table("example.com/v1/foos", Some(&columns), object.clone());
    assert_eq!(declared["columnDefinitions"][1]["name"], "Size");
    assert_eq!(declared["rows"][0]["cells"], json!(["x", 3]));
    let undeclared = table("example.com/v1/foos", Some(&Value::Null), object);
    assert_eq!(undeclared["rows"][0]["cells"], json!(["x", "60m"]));
}

#[test]
fn an_object_that_is_quite_wrong_still_has_a_row() {
    let resources = [
        "v1/pods",
        "v1/nodes",
        "v1/events",
        "v1/services",
        "apps/v1/deployments",
        "batch/v1/jobs",
        "autoscaling/v2/horizontalpodautoscalers",
        "v1/endpoints",
        "v1/persistentvolumes",
    ];
    for resource in resources {
        for object in [json!({}), json!({"metadata": 3, "spec": [], "status": "x"}), json!(null)] {
            let table = table(resource, None, object);
            assert_eq!(
                table["rows"][0]["cells"].as_array().map(Vec::len),
                table["columnDefinitions"].as_array().map(Vec::len),
            );
        }
    }
}

/// An object of 1.5 MB of the values that take most as a tree, also in its metadata.
#[track_caller]
fn check_memory(path: &str, include_object: IncludeObject) {
    const MEMORY_MAX: u64 = 40 << 20;
    let many = vec![r#"{"":0}"#; 110_000].join(",");
    let object = format!(r#"{{"metadata":{{"name":"x","m":[{many}]}},"spec":{{"a":[{many}]}}}}"#);
    let columns = json!([{"name": "A", "type": "string", "jsonPath": path}]);
    let resource = "example.com/v1/things".parse().expect("a resource");
    let options = TableOptions { include_object, ..options() };
    let object = Bytes::from(object);
    let made = measure(|| {
        let objects = std::slice::from_ref(&object);
        drop(render(&resource, Some(&columns), json!({}), objects, &options));
    });
    assert!(made.bytes_max < MEMORY_MAX, "{path}: {} bytes", made.bytes_max);
}

#[test]
fn a_row_of_a_large_object_takes_a_bounded_memory() {
    for path in [".spec.b", ".spec", ".spec.a[*].z", ".metadata"] {
        check_memory(path, IncludeObject::Object);
        check_memory(path, IncludeObject::Metadata);
    }
}
