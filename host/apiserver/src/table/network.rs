//! Networking: services, endpoints, ingresses, policies.

use serde_json::Value;

use super::column::{AGE, NAME, Printer, SELECTOR, text as column};
use super::format::{
    NONE, UNKNOWN, UNSET, entries, int_or, joined, labels, name, or, plain, selector_or_none,
    shortened, text, text_or,
};
use super::human_duration::age;

/// Lists in cells are cut after so many entries.
const SHOWN_MAX: usize = 3;

pub(super) fn printer(group: &str, resource: &str) -> Option<&'static Printer> {
    match (group, resource) {
        ("", "services") => Some(&SERVICES),
        ("", "endpoints") => Some(&ENDPOINTS),
        ("discovery.k8s.io", "endpointslices") => Some(&ENDPOINT_SLICES),
        ("networking.k8s.io", "ingresses") => Some(&INGRESSES),
        ("networking.k8s.io", "ingressclasses") => Some(&INGRESS_CLASSES),
        ("networking.k8s.io", "networkpolicies") => Some(&NETWORK_POLICIES),
        ("networking.k8s.io", "servicecidrs") => Some(&SERVICE_CIDRS),
        ("networking.k8s.io", "ipaddresses") => Some(&IP_ADDRESSES),
        _ => None,
    }
}

static SERVICES: Printer = Printer::new(
    &[
        NAME,
        column("Type", "how the service is reached"),
        column("Cluster-IP", "the service's address inside the cluster"),
        column("External-IP", "the service's addresses outside the cluster"),
        column("Port(s)", "the service's ports"),
        AGE,
        SELECTOR,
    ],
    |object, now| {
        let spec = &object["spec"];
        vec![
            name(object),
            text_or(&spec["type"], "ClusterIP").into(),
            text_or(&spec["clusterIPs"][0], text_or(&spec["clusterIP"], NONE)).into(),
            external_ip(object).into(),
            or(service_ports(&spec["ports"]), NONE).into(),
            age(object, now),
            labels(&spec["selector"]).into(),
        ]
    },
);

fn external_ip(service: &Value) -> String {
    let spec = &service["spec"];
    let external = joined(&spec["externalIPs"], ",");
    match text_or(&spec["type"], "ClusterIP") {
        "ClusterIP" | "NodePort" => or(external, NONE),
        "LoadBalancer" => {
            let balancer = load_balancer(&service["status"]);
            let both: Vec<String> =
                [balancer, external].into_iter().filter(|text| !text.is_empty()).collect();
            or(both.join(","), "<pending>")
        }
        "ExternalName" => text(&spec["externalName"]).to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

/// The addresses of a load balancer: IP before host name, sorted, each once.
fn load_balancer(status: &Value) -> String {
    let ingress = entries(&status["loadBalancer"]["ingress"]).iter();
    let mut addresses: Vec<&str> =
        ingress.map(|point| text_or(&point["ip"], text(&point["hostname"]))).collect();
    addresses.retain(|address| !address.is_empty());
    addresses.sort_unstable();
    addresses.dedup();
    addresses.join(",")
}

fn service_ports(ports: &Value) -> String {
    let ports = entries(ports).iter().map(|port| {
        let (number, protocol) = (int_or(&port["port"], 0), text_or(&port["protocol"], "TCP"));
        match int_or(&port["nodePort"], 0) {
            0 => format!("{number}/{protocol}"),
            node_port => format!("{number}:{node_port}/{protocol}"),
        }
    });
    ports.collect::<Vec<_>>().join(",")
}

static ENDPOINTS: Printer = Printer::new(
    &[NAME, column("Endpoints", "addresses and ports behind the service"), AGE],
    |object, now| vec![name(object), endpoints(&object["subsets"]).into(), age(object, now)],
);

fn endpoints(subsets: &Value) -> String {
    if entries(subsets).is_empty() {
        return NONE.to_owned();
    }
    let mut all = Vec::new();
    for subset in entries(subsets) {
        let addresses = || entries(&subset["addresses"]).iter().map(|address| text(&address["ip"]));
        if entries(&subset["ports"]).is_empty() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in entries(&subset["ports"]) {
            let port = int_or(&port["port"], 0);
            all.extend(addresses().map(|ip| host_and_port(ip, port)));
        }
    }
    shortened(&all, SHOWN_MAX, ",")
}

fn host_and_port(ip: &str, port: i64) -> String {
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}

static ENDPOINT_SLICES: Printer = Printer::new(
    &[
        NAME,
        column("AddressType", "the kind of the addresses"),
        column("Ports", "the ports of every endpoint"),
        column("Endpoints", "the addresses of the endpoints"),
        AGE,
    ],
    |object, now| {
        let ports = entries(&object["ports"]).iter().map(|port| match &port["port"] {
            Value::Null => text_or(&port["name"], "*").to_owned(),
            number => plain(number),
        });
        let ports: Vec<String> = ports.collect();
        let addresses = entries(&object["endpoints"]).iter();
        let addresses: Vec<String> = addresses
            .flat_map(|endpoint| entries(&endpoint["addresses"]))
            .map(|address| text(address).to_owned())
            .collect();
        vec![
            name(object),
            text(&object["addressType"]).into(),
            or(shortened(&ports, SHOWN_MAX, ","), UNSET).into(),
            or(shortened(&addresses, SHOWN_MAX, ","), UNSET).into(),
            age(object, now),
        ]
    },
);

static INGRESSES: Printer = Printer::new(
    &[
        NAME,
        column("Class", "the class that implements the ingress"),
        column("Hosts", "the hosts that requests are matched by"),
        column("Address", "where the load balancer is reached"),
        column("Ports", "the ports that are open"),
        AGE,
    ],
    |object, now| {
        let spec = &object["spec"];
        let hosts = entries(&spec["rules"]).iter().map(|rule| text(&rule["host"]).to_owned());
        let hosts: Vec<String> = hosts.filter(|host| !host.is_empty()).collect();
        let tls = !entries(&spec["tls"]).is_empty();
        vec![
            name(object),
            text_or(&spec["ingressClassName"], NONE).into(),
            or(shortened(&hosts, SHOWN_MAX, ","), "*").into(),
            load_balancer(&object["status"]).into(),
            if tls { "80, 443" } else { "80" }.into(),
            age(object, now),
        ]
    },
);

static INGRESS_CLASSES: Printer = Printer::new(
    &[
        NAME,
        column("Controller", "the controller that implements the class"),
        column("Parameters", "the object with more about the class"),
        AGE,
    ],
    |object, now| {
        let default =
            &object["metadata"]["annotations"]["ingressclass.kubernetes.io/is-default-class"];
        let suffix = if *default == "true" { " (default)" } else { "" };
        let parameters = &object["spec"]["parameters"];
        let (kind, named) = (text(&parameters["kind"]), text(&parameters["name"]));
        let parameters = match (parameters.is_object(), parameters["apiGroup"].as_str()) {
            (false, _) => NONE.to_owned(),
            (true, Some(group)) => format!("{kind}.{group}/{named}"),
            (true, None) => format!("{kind}/{named}"),
        };
        vec![
            format!("{}{suffix}", text(&object["metadata"]["name"])).into(),
            text(&object["spec"]["controller"]).into(),
            parameters.into(),
            age(object, now),
        ]
    },
);

static NETWORK_POLICIES: Printer = Printer::new(
    &[NAME, column("Pod-Selector", "the pods that the policy is about"), AGE],
    |object, now| {
        vec![
            name(object),
            selector_or_none(&object["spec"]["podSelector"]).into(),
            age(object, now),
        ]
    },
);

static SERVICE_CIDRS: Printer = Printer::new(
    &[NAME, column("CIDRs", "the ranges that services' addresses are taken from"), AGE],
    |object, now| {
        vec![name(object), joined(&object["spec"]["cidrs"], ",").into(), age(object, now)]
    },
);

static IP_ADDRESSES: Printer = Printer::new(
    &[NAME, column("ParentRef", "the object that the address belongs to"), AGE],
    |object, now| {
        let parent = &object["spec"]["parentRef"];
        let resource = text(&parent["resource"]).to_lowercase();
        let resource = match text(&parent["group"]) {
            "" => resource,
            group => format!("{resource}.{group}"),
        };
        let path = [resource.as_str(), text(&parent["namespace"]), text(&parent["name"])];
        let path: Vec<&str> = path.into_iter().filter(|part| !part.is_empty()).collect();
        vec![name(object), or(path.join("/"), NONE).into(), age(object, now)]
    },
);
