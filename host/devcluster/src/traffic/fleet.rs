//! The nodes of the embedded cluster, as their kubelets describe them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::edit;
use super::operation::Operation;
use super::time;
use super::world::Kind;

/// Name, zone, instance type, processors, memory.
const NODES: [(&str, &str, &str, u32, &str); 4] = [
    ("control-plane-1", "eu-west-1a", "m7.large", 2, "8127044Ki"),
    ("worker-1", "eu-west-1a", "m7.2xlarge", 8, "32657816Ki"),
    ("worker-2", "eu-west-1b", "m7.2xlarge", 8, "32657816Ki"),
    ("worker-3", "eu-west-1c", "m7.2xlarge", 8, "32657816Ki"),
];

/// Registers every node.
pub(crate) fn register(now: Timestamp) -> Vec<Operation> {
    let create = |object| Operation::Create { kind: Kind::Node, namespace: String::new(), object };
    NODES.iter().enumerate().map(|(index, node)| create(describe(index, node, now))).collect()
}

/// The names of the nodes without the control plane. These nodes can be lost.
pub(crate) fn workers() -> impl Iterator<Item = &'static str> {
    NODES.iter().map(|(name, ..)| *name).filter(|name| name.starts_with("worker"))
}

/// The second number of the addresses of a node's pods. Nodes that this module did not create share the other numbers.
pub(crate) fn address_range(node: &str) -> u64 {
    let known = NODES.iter().position(|(name, ..)| *name == node);
    known.map_or_else(|| 140 + edit::fnv1a(node.as_bytes()) % 100, |index| 129 + index as u64)
}

fn describe(index: usize, node: &(&str, &str, &str, u32, &str), now: Timestamp) -> Value {
    let (name, zone, machine, ..) = node;
    let number = index + 1;
    let control_plane = name.starts_with("control-plane");
    let mut labels = json!({
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": machine,
        "topology.kubernetes.io/region": "eu-west-1",
        "topology.kubernetes.io/zone": zone,
    });
    let range = format!("10.{}.0.0/16", address_range(name));
    let mut spec = json!({
        "podCIDR": range,
        "podCIDRs": [range],
        "providerID": format!("aws:///{zone}/i-0{number:016x}"),
    });
    if control_plane {
        labels["node-role.kubernetes.io/control-plane"] = "".into();
        spec["taints"] =
            json!([{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]);
    }
    json!({
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
        },
        "spec": spec,
        "status": status(number, node, now),
    })
}

fn status(number: usize, node: &(&str, &str, &str, u32, &str), now: Timestamp) -> Value {
    let (name, _, _, processors, memory) = node;
    let at = time::seconds(now);
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastHeartbeatTime": at, "lastTransitionTime": at,
    });
    let resources = |cpu: String| {
        json!({
            "cpu": cpu,
            "ephemeral-storage": "101430960Ki",
            "hugepages-1Gi": "0",
            "hugepages-2Mi": "0",
            "memory": memory,
            "pods": "110",
        })
    };
    json!({
        "capacity": resources(processors.to_string()),
        "allocatable": resources(format!("{}m", processors * 980)),
        "conditions": [ready],
        "addresses": [
            {"type": "InternalIP", "address": format!("10.0.{number}.10")},
            {"type": "Hostname", "address": name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": format!("ec2{number:029x}"),
            "systemUUID": format!("ec2{number:05x}-0000-4000-8000-{number:012x}"),
            "bootID": format!("b007{number:04x}-0000-4000-8000-{number:012x}"),
            "kernelVersion": "6.12.43",
            "osImage": "Debian GNU/Linux 13 (trixie)",
            "containerRuntimeVersion": "containerd://2.2.0",
            "kubeletVersion": "v1.36.3",
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    })
}
