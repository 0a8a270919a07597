//! The applications of the embedded cluster: a shop, its payments, some analytics, and the cluster's own services.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::edit;
use super::managed_fields;
use super::operation::Operation;
use super::world::Kind;

/// One application.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) namespace: &'static str,
    pub(crate) name: &'static str,
    image: &'static str,
    /// The releases that rollouts go through, again and again.
    tags: [&'static str; 3],
    pub(crate) replicas: u32,
    port: u16,
    cpu: &'static str,
    memory: &'static str,
}

const fn app(
    namespace: &'static str,
    name: &'static str,
    image: &'static str,
    tags: [&'static str; 3],
    size: (u32, &'static str, &'static str),
    port: u16,
) -> App {
    App { namespace, name, image, tags, replicas: size.0, port, cpu: size.1, memory: size.2 }
}

const SHOP: [&str; 3] = ["v2.14.0", "v2.14.1", "v2.15.0"];
const PAY: [&str; 3] = ["2026.9.1", "2026.9.2", "2026.10.0"];

/// All applications.
pub(crate) const APPS: [App; 10] = [
    app(
        "kube-system",
        "coredns",
        "registry.k8s.io/coredns/coredns",
        ["v1.13.1", "v1.13.1", "v1.13.1"],
        (2, "100m", "170Mi"),
        53,
    ),
    app(
        "kube-system",
        "metrics-server",
        "registry.k8s.io/metrics-server/metrics-server",
        ["v0.8.0", "v0.8.0", "v0.8.0"],
        (1, "100m", "200Mi"),
        10250,
    ),
    app("default", "hello", "nginx", ["1.29.0", "1.29.1", "1.29.2"], (1, "50m", "64Mi"), 80),
    app("shop", "frontend", "ghcr.io/example/frontend", SHOP, (3, "200m", "256Mi"), 8080),
    app("shop", "catalog", "ghcr.io/example/catalog", SHOP, (2, "100m", "256Mi"), 8081),
    app("shop", "cart", "ghcr.io/example/cart", SHOP, (2, "100m", "128Mi"), 8082),
    app("shop", "checkout", "ghcr.io/example/checkout", SHOP, (2, "250m", "512Mi"), 8083),
    app("payments", "gateway", "ghcr.io/example/gateway", PAY, (2, "250m", "512Mi"), 9090),
    app("payments", "ledger", "ghcr.io/example/ledger", PAY, (2, "500m", "1Gi"), 9091),
    app(
        "analytics",
        "ingest",
        "ghcr.io/example/ingest",
        ["0.9.7", "0.9.8", "0.9.9"],
        (2, "300m", "512Mi"),
        7070,
    ),
];

/// The namespaces whose applications get background changes and failures.
pub(crate) const LIVELY: [&str; 3] = ["shop", "payments", "analytics"];

/// Creates the namespaces, their configuration, and the applications with their services.
pub(crate) fn install(now: Timestamp) -> Vec<Operation> {
    let create = |kind, namespace: &str, object| Operation::Create {
        kind,
        namespace: namespace.to_owned(),
        object,
    };
    let mut operations = Vec::new();
    for namespace in LIVELY {
        let labels = json!({"team": namespace});
        let object = json!({"metadata": {"name": namespace, "labels": labels}});
        operations.push(create(Kind::Namespace, "", object));
        let flags = json!({
            "metadata": {"name": "feature-flags", "labels": {"team": namespace}},
            "data": {"new-search": "false", "dark-mode": "true", "rollout-percent": "10"},
        });
        operations.push(create(Kind::ConfigMap, namespace, flags));
    }
    operations.push(create(Kind::DaemonSet, "kube-system", kube_proxy()));
    for app in &APPS {
        operations.push(create(Kind::Deployment, app.namespace, app.deployment(now)));
        operations.push(create(Kind::Service, app.namespace, app.service()));
    }
    operations
}

/// A DaemonSet on every node, including the control plane.
fn kube_proxy() -> Value {
    let labels = json!({"k8s-app": "kube-proxy"});
    json!({
        "metadata": {"name": "kube-proxy", "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "hostNetwork": true,
                    "priorityClassName": "system-node-critical",
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{
                        "name": "kube-proxy",
                        "image": "registry.k8s.io/kube-proxy:v1.36.3",
                        "command": ["/usr/local/bin/kube-proxy", "--config=/var/lib/kube-proxy/config.conf"],
                        "securityContext": {"privileged": true},
                    }],
                },
            },
        },
    })
}

impl App {
    /// The image of the release after the running one.
    pub(crate) fn next_image(&self, running: &str) -> String {
        let present = self.tags.iter().position(|tag| running.ends_with(tag));
        let next = present.map_or(0, |present| (present + 1) % self.tags.len());
        format!("{}:{}", self.image, self.tags[next])
    }

    /// The labels that select its pods.
    fn selector(&self) -> Value {
        match self.name {
            "coredns" => json!({"k8s-app": "kube-dns"}),
            "metrics-server" => json!({"k8s-app": "metrics-server"}),
            name => {
                json!({"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": self.namespace})
            }
        }
    }

    fn service(&self) -> Value {
        let (name, port) = match self.name {
            "coredns" => ("kube-dns", 53),
            name => (name, 80),
        };
        json!({
            "metadata": {"name": name, "labels": self.selector()},
            "spec": {
                "type": "ClusterIP",
                "selector": self.selector(),
                "ports": [{"name": "main", "protocol": "TCP", "port": port, "targetPort": self.port}],
            },
        })
    }

    fn deployment(&self, now: Timestamp) -> Value {
        let mut labels = self.selector();
        edit::put(&mut labels, &["app.kubernetes.io/managed-by"], "Helm");
        let mut object = json!({
            "apiVersion": "apps/v1",
            "metadata": {"name": self.name, "labels": labels},
            "spec": {
                "replicas": self.replicas,
                "revisionHistoryLimit": 3,
                "selector": {"matchLabels": self.selector()},
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
                },
                "template": {
                    "metadata": {
                        "labels": labels,
                        "annotations": {
                            "prometheus.io/scrape": "true",
                            "checksum/config":
                                format!("{:016x}", edit::fnv1a(self.name.as_bytes())),
                        },
                    },
                    "spec": self.pod_spec(),
                },
            },
        });
        let entry = managed_fields::entry("helm", &object, None, now);
        edit::put(&mut object, &["metadata", "managedFields"], vec![entry]);
        object
    }

    fn pod_spec(&self) -> Value {
        json!({
            "containers": [self.container()],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": 65532,
                "fsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "schedulerName": "default-scheduler",
            "volumes": [
                {"name": "config", "configMap": {"name": "feature-flags", "defaultMode": 420, "optional": true}},
            ],
        })
    }

    fn container(&self) -> Value {
        let node = json!({"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}});
        let probe = |path: &str, period: u32, failures: u32| {
            json!({
                "httpGet": {"path": path, "port": "main", "scheme": "HTTP"},
                "timeoutSeconds": 1,
                "periodSeconds": period,
                "successThreshold": 1,
                "failureThreshold": failures,
            })
        };
        json!({
            "name": self.name,
            "image": format!("{}:{}", self.image, self.tags[0]),
            "imagePullPolicy": "IfNotPresent",
            "args": [format!("--listen=:{}", self.port), "--log-format=json"],
            "ports": [
                {"name": "main", "containerPort": self.port, "protocol": "TCP"},
            ],
            "env": [
                {"name": "NODE_NAME", "valueFrom": node},
                {"name": "LOG_LEVEL", "value": "info"},
            ],
            "resources": {
                "requests": {"cpu": self.cpu, "memory": self.memory},
                "limits": {"memory": self.memory},
            },
            "livenessProbe": probe("/healthz", 10, 3),
            "readinessProbe": probe("/readyz", 5, 2),
            "volumeMounts": [
                {"name": "config", "readOnly": true, "mountPath": "/etc/config"},
            ],
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            },
        })
    }
}

/// The application of a deployment.
pub(crate) fn find(namespace: &str, name: &str) -> Option<&'static App> {
    APPS.iter().find(|app| app.namespace == namespace && app.name == name)
}
