//! Networking: services, endpoints, ingresses, policies.

use serde_json::Value;

use super::column::{AGE, LABELS, NAME, Printer, column};
use super::format::{
    NONE, UNKNOWN, UNSET, entries, int_or, joined, named_default, or, plain, selector_or_none,
    shortened, text, text_or,
};

/// Lists in cells are cut after so many entries.
const SHOWN_MAX: usize = 3;

#[rustfmt::skip]
pub(super) static PRINTERS: &[Printer] = &[
    Printer::new(&[("", "services")], &[
        NAME,
        column("Type", "how the service is reached", |it| text_or(&it["spec"]["type"], "ClusterIP").into()),
        column("Cluster-IP", "the service's address inside the cluster", |it| cluster_ip(&it["spec"]).into()),
        column("External-IP", "the service's addresses outside the cluster", |it| external_ip(it).into()),
        column("Port(s)", "the service's ports", |it| or(service_ports(&it["spec"]["ports"]), NONE).into()),
        AGE,
        LABELS,
    ]),
    Printer::new(&[("", "endpoints")], &[
        NAME,
        column("Endpoints", "addresses and ports behind the service", |it| endpoints(&it["subsets"]).into()),
        AGE,
    ]),
    Printer::new(&[("discovery.k8s.io", "endpointslices")], &[
        NAME,
        column("AddressType", "the kind of the addresses", |it| text(&it["addressType"]).into()),
        column("Ports", "the ports of every endpoint", |it| slice_ports(it).into()),
        column("Endpoints", "the addresses of the endpoints", |it| slice_addresses(it).into()),
        AGE,
    ]),
    Printer::new(&[("networking.k8s.io", "ingresses")], &[
        NAME,
        column("Class", "the class that implements the ingress", |it| text_or(&it["spec"]["ingressClassName"], NONE).into()),
        column("Hosts", "the hosts that requests are matched by", |it| hosts(&it["spec"]["rules"]).into()),
        column("Address", "where the load balancer is reached", |it| load_balancer(&it["status"]).into()),
        column("Ports", "the ports that are open",
            |it| if entries(&it["spec"]["tls"]).is_empty() { "80" } else { "80, 443" }.into()),
        AGE,
    ]),
    Printer::new(&[("networking.k8s.io", "ingressclasses")], &[
        column("Name", "the object's name",
            |it| named_default(it, &["ingressclass.kubernetes.io/is-default-class"])).named(),
        column("Controller", "the controller that implements the class", |it| text(&it["spec"]["controller"]).into()),
        column("Parameters", "the object with more about the class", |it| parameters(&it["spec"]["parameters"]).into()),
        AGE,
    ]),
    Printer::new(&[("networking.k8s.io", "networkpolicies")], &[
        NAME,
        column("Pod-Selector", "the pods that the policy is about", |it| selector_or_none(&it["spec"]["podSelector"]).into()),
        AGE,
    ]),
    Printer::new(&[("networking.k8s.io", "servicecidrs")], &[
        NAME,
        column("CIDRs", "the ranges that services' addresses are taken from", |it| joined(&it["spec"]["cidrs"], ",").into()),
        AGE,
    ]),
    Printer::new(&[("networking.k8s.io", "ipaddresses")], &[
        NAME,
        column("ParentRef", "the object that the address belongs to", |it| parent(&it["spec"]["parentRef"]).into()),
        AGE,
    ]),
];

fn cluster_ip(spec: &Value) -> &str {
    text_or(&spec["clusterIPs"][0], text_or(&spec["clusterIP"], NONE))
}

fn slice_ports(slice: &Value) -> String {
    let ports = entries(&slice["ports"]).iter().map(|port| match &port["port"] {
        Value::Null => text_or(&port["name"], "*").to_owned(),
        number => plain(number),
    });
    or(shortened(&ports.collect::<Vec<_>>(), SHOWN_MAX, ","), UNSET)
}

fn slice_addresses(slice: &Value) -> String {
    let endpoints = entries(&slice["endpoints"]).iter();
    let addresses = endpoints.flat_map(|endpoint| entries(&endpoint["addresses"]));
    let addresses: Vec<String> = addresses.map(|address| text(address).to_owned()).collect();
    or(shortened(&addresses, SHOWN_MAX, ","), UNSET)
}

fn hosts(rules: &Value) -> String {
    let hosts = entries(rules).iter().map(|rule| text(&rule["host"]).to_owned());
    let hosts: Vec<String> = hosts.filter(|host| !host.is_empty()).collect();
    or(shortened(&hosts, SHOWN_MAX, ","), "*")
}

fn parameters(parameters: &Value) -> String {
    let (kind, named) = (text(&parameters["kind"]), text(&parameters["name"]));
    match (parameters.is_object(), parameters["apiGroup"].as_str()) {
        (false, _) => NONE.to_owned(),
        (true, Some(group)) => format!("{kind}.{group}/{named}"),
        (true, None) => format!("{kind}/{named}"),
    }
}

fn parent(parent: &Value) -> String {
    let resource = text(&parent["resource"]).to_lowercase();
    let resource = match text(&parent["group"]) {
        "" => resource,
        group => format!("{resource}.{group}"),
    };
    let path = [resource.as_str(), text(&parent["namespace"]), text(&parent["name"])];
    let path: Vec<&str> = path.into_iter().filter(|part| !part.is_empty()).collect();
    or(path.join("/"), NONE)
}

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
