//! What the pods of a cluster look like: workloads with containers, environments, volumes and conditions, as varied as
//! people make them, from a seed.

use serde_json::{Map, Value, json};

use crate::load_server::field::{LAST_UPDATE, container_id, time};
use crate::load_server::{STAMP_ANNOTATION, managed_fields};

const AREAS: &[&str] = &[
    "billing",
    "catalog",
    "checkout",
    "search",
    "identity",
    "media",
    "fleet",
    "ledger",
    "pricing",
    "returns",
    "shipping",
    "support",
    "telemetry",
    "warehouse",
    "payments",
    "profiles",
];
const ROLES: &[&str] = &[
    "api",
    "worker",
    "gateway",
    "indexer",
    "scheduler",
    "consumer",
    "exporter",
    "frontend",
    "cache",
    "proxy",
    "sync",
    "reporter",
    "importer",
    "webhook",
    "relay",
    "mailer",
];
const SIDECARS: &[&str] = &["istio-proxy", "fluent-bit", "vault-agent", "otel-collector"];
const VARIABLES: &[&str] = &[
    "LOG_LEVEL",
    "DATABASE_URL",
    "REDIS_ADDR",
    "KAFKA_BROKERS",
    "FEATURE_FLAGS",
    "HTTP_PORT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "GOMAXPROCS",
    "REGION",
    "CLUSTER",
    "TENANT",
    "S3_BUCKET",
    "SENTRY_DSN",
    "MAX_CONNECTIONS",
    "TIMEOUT_MS",
    "CACHE_TTL",
    "JAVA_TOOL_OPTIONS",
    "TOPIC",
    "CONSUMER_GROUP",
    "RETRY_LIMIT",
    "SHARD_COUNT",
    "BUILD_ID",
    "RELEASE",
    "GRPC_ENDPOINT",
];

/// Where pods are and which labels they have, beside what all benchmarks share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Pods are in so many namespaces of these names, evenly; with 0 in those of their workloads.
    pub namespaces: usize,
    /// Pods of one workload in so many have the label of [`CHOSEN_LABEL`]; with 0 none has.
    pub chosen: usize,
}

/// The label of chosen pods; its value is `yes`.
pub const CHOSEN_LABEL: &str = "bench.informant.dev/chosen";

/// The namespace of this number, of those of a [`Layout`].
pub fn namespace(number: usize) -> String {
    format!("ns-{number}")
}

/// One container, as far as more than one place shows it.
pub(crate) struct Container {
    pub name: String,
    pub image: String,
    digest: String,
    pub variables: Vec<String>,
    pub mounts: Vec<String>,
    pub has_probe: bool,
}

/// A pod of a workload in JSON, with placeholders and without its type, as in a list: what follows the opening brace.
pub(crate) fn pod(number: usize, seed: u64, layout: &Layout) -> String {
    let mut random = fastrand::Rng::with_seed(seed ^ (number as u64).wrapping_mul(0x9e37_79b9));
    let area = AREAS[random.usize(..AREAS.len())];
    let role = ROLES[random.usize(..ROLES.len())];
    let workload = format!("{area}-{role}-{number}");
    let containers = containers(&mut random, role);
    let mut labels = labels(&mut random, area, role, &workload);
    if layout.chosen > 0 && number.is_multiple_of(layout.chosen) {
        labels.insert(CHOSEN_LABEL.to_owned(), "yes".into());
    }
    let namespace = match layout.namespaces {
        0 => format!("{area}-{}", ["prod", "staging", "eu", "us"][number % 4]),
        namespaces => namespace(number % namespaces),
    };
    let annotations = annotations(&mut random);
    let hash = hex(&mut random, 10);
    let managed_fields = managed_fields::of(&containers, &labels, &annotations);
    let pod = json!({
        "metadata": {
            "name": format!("{workload}-{hash}-@n~~~"),
            "generateName": format!("{workload}-{hash}-"),
            "namespace": namespace,
            "uid": format!("@u{}", "~".repeat(34)),
            "resourceVersion": "@r~~~~~~~~",
            "generation": 1,
            "creationTimestamp": time(0),
            "labels": with(labels, "pod-template-hash", &hash),
            "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": format!("{workload}-{hash}"),
                "uid": uuid(&mut random),
                "controller": true,
                "blockOwnerDeletion": true,
            }],
            "managedFields": managed_fields,
        },
        "spec": spec(&mut random, &workload, &containers),
        "status": status(&containers),
    });
    let text = pod.to_string();
    text.strip_prefix('{').expect("an object").to_owned()
}

fn containers(random: &mut fastrand::Rng, role: &str) -> Vec<Container> {
    let mut names = vec![role.to_owned()];
    let sidecars = [0, 0, 0, 0, 1, 1][random.usize(..6)];
    names.extend(random.choose_multiple(SIDECARS.iter(), sidecars).into_iter().map(|&s| s.into()));
    let container = |(place, name): (usize, String)| {
        let digest = hex(random, 64);
        let tag = format!("v{}.{}.{}", random.u8(0..9), random.u8(0..40), random.u8(0..20));
        let variables = if place == 0 { random.usize(1..6) } else { random.usize(0..3) };
        let variables = random.choose_multiple(VARIABLES.iter(), variables);
        let mut mounts = vec!["kube-api-access-@t~~~".to_owned()];
        if place == 0 && random.bool() {
            mounts.push("config".to_owned());
        }
        Container {
            image: format!("registry.example.com/{}/{name}:{tag}", hex(random, 6)),
            name,
            digest,
            variables: variables.into_iter().map(|&name| name.to_owned()).collect(),
            mounts,
            has_probe: place == 0 || random.bool(),
        }
    };
    names.into_iter().enumerate().map(container).collect()
}

fn labels(
    random: &mut fastrand::Rng,
    area: &str,
    role: &str,
    workload: &str,
) -> Map<String, Value> {
    let mut labels = Map::new();
    let mut add = |key: &str, value: String| labels.insert(key.to_owned(), value.into());
    add("app.kubernetes.io/name", role.to_owned());
    add("app.kubernetes.io/instance", workload.to_owned());
    add("app.kubernetes.io/part-of", area.to_owned());
    add("app.kubernetes.io/version", format!("{}.{}.{}", random.u8(0..9), random.u8(..), 1));
    add("team", format!("{area}-{}", hex(random, 2)));
    if random.bool() {
        add("security.istio.io/tlsMode", "istio".to_owned());
    }
    labels
}

fn annotations(random: &mut fastrand::Rng) -> Map<String, Value> {
    let mut annotations = Map::new();
    let mut add = |key: &str, value: String| annotations.insert(key.to_owned(), value.into());
    add(STAMP_ANNOTATION, "@s~~~~~~~~~~~~~~~~~".to_owned());
    add("cni.projectcalico.org/containerID", container_id(9));
    add("cni.projectcalico.org/podIP", "@i~~~~~~~~~~~~/32".to_owned());
    add("checksum/config", hex(random, 32));
    if random.bool() {
        add("prometheus.io/port", random.u16(2_000..20_000).to_string());
        add("prometheus.io/scrape", "true".to_owned());
    }
    annotations
}

fn spec(random: &mut fastrand::Rng, workload: &str, containers: &[Container]) -> Value {
    let token = json!({
        "name": "kube-api-access-@t~~~",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
            ],
            "defaultMode": 420,
        },
    });
    let mut volumes = vec![token];
    if containers.iter().any(|container| container.mounts.iter().any(|name| name == "config")) {
        let name = format!("{workload}-config");
        volumes.push(json!({"name": "config", "configMap": {"name": name, "defaultMode": 420}}));
    }
    let tolerate = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
    json!({
        "volumes": volumes,
        "containers": containers.iter().map(|one| container(random, one)).collect::<Vec<_>>(),
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": random.choice([30, 45, 60, 90]),
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": workload,
        "serviceAccount": workload,
        "nodeName": format!("@d{}", "~".repeat(26)),
        "securityContext": {"runAsUser": random.u16(1_000..60_000), "runAsNonRoot": true},
        "schedulerName": "default-scheduler",
        "tolerations": [
            tolerate("node.kubernetes.io/not-ready"),
            tolerate("node.kubernetes.io/unreachable"),
        ],
        "priority": 0,
        "enableServiceLinks": true,
        "preemptionPolicy": "PreemptLowerPriority",
    })
}

fn container(random: &mut fastrand::Rng, container: &Container) -> Value {
    let cpu = format!("{}m", 50 * random.u32(1..40));
    let memory = format!("{}Mi", 64 * random.u32(1..64));
    let port = random.u16(3_000..10_000);
    let probe = |path: &str, delay: u8| {
        json!({
            "httpGet": {"path": path, "port": port, "scheme": "HTTP"},
            "initialDelaySeconds": delay,
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        })
    };
    let mut value = json!({
        "name": container.name,
        "image": container.image,
        "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}],
        "env": container.variables.iter().map(|name| variable(random, name)).collect::<Vec<_>>(),
        "resources": {
            "limits": {"cpu": cpu, "memory": memory},
            "requests": {"cpu": cpu, "memory": memory},
        },
        "volumeMounts": container.mounts.iter().map(|name| mount(name)).collect::<Vec<_>>(),
    });
    let fields = value.as_object_mut().expect("it was made as an object");
    if container.has_probe {
        fields.insert("livenessProbe".to_owned(), probe("/healthz", random.u8(5..30)));
        fields.insert("readinessProbe".to_owned(), probe("/readyz", random.u8(1..10)));
    }
    fields.insert("terminationMessagePath".to_owned(), "/dev/termination-log".into());
    fields.insert("terminationMessagePolicy".to_owned(), "File".into());
    fields.insert("imagePullPolicy".to_owned(), "IfNotPresent".into());
    value
}

fn mount(volume: &str) -> Value {
    match volume {
        "config" => json!({"name": "config", "mountPath": "/etc/app"}),
        token => json!({
            "name": token,
            "readOnly": true,
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
        }),
    }
}

fn variable(random: &mut fastrand::Rng, name: &str) -> Value {
    let value = match random.u8(..6) {
        0 => random.u16(..).to_string(),
        1 => hex(random, 24),
        2 => format!("{}.{}.svc:{}", hex(random, 8), AREAS[random.usize(..AREAS.len())], 9_092),
        3 => format!("https://{}.example.com/v{}", hex(random, 12), random.u8(1..4)),
        4 => ["info", "true", "eu-west-1", "debug", "false"][random.usize(..5)].to_owned(),
        _ => {
            let secret = json!({"secretKeyRef": {"name": hex(random, 10), "key": "value"}});
            return json!({"name": name, "valueFrom": secret});
        }
    };
    json!({"name": name, "value": value})
}

fn status(containers: &[Container]) -> Value {
    let condition = |(number, kind): (u8, &str)| {
        json!({
            "type": kind,
            "observedGeneration": 1,
            "status": "True",
            "lastProbeTime": null,
            "lastTransitionTime": time(if kind == "Ready" { LAST_UPDATE } else { number }),
        })
    };
    let kinds = [
        (1, "PodReadyToStartContainers"),
        (0, "Initialized"),
        (7, "Ready"),
        (7, "ContainersReady"),
        (0, "PodScheduled"),
    ];
    let container = |(number, container): (usize, &Container)| {
        json!({
            "name": container.name,
            "state": {"running": {"startedAt": time(2 + number as u8)}},
            "lastState": {},
            "ready": true,
            "restartCount": 0,
            "image": container.image,
            "imageID": format!(
                "{}@sha256:{}",
                container.image.rsplit_once(':').map_or("", |(name, _)| name),
                container.digest
            ),
            "containerID": format!("containerd://{}", container_id(number as u8)),
            "started": true,
        })
    };
    json!({
        "phase": "Running",
        "conditions": kinds.into_iter().map(condition).collect::<Vec<_>>(),
        "hostIP": "@h~~~~~~~~~~",
        "hostIPs": [{"ip": "@h~~~~~~~~~~"}],
        "podIP": "@i~~~~~~~~~~~~",
        "podIPs": [{"ip": "@i~~~~~~~~~~~~"}],
        "startTime": time(0),
        "containerStatuses": containers.iter().enumerate().map(container).collect::<Vec<_>>(),
        "qosClass": "Guaranteed",
        "observedGeneration": 1,
    })
}

fn with(mut labels: Map<String, Value>, key: &str, value: &str) -> Map<String, Value> {
    labels.insert(key.to_owned(), value.into());
    labels
}

fn hex(random: &mut fastrand::Rng, digits: usize) -> String {
    (0..digits).map(|_| char::from_digit(random.u32(..16), 16).unwrap_or('0')).collect()
}

fn uuid(random: &mut fastrand::Rng) -> String {
    let part = [8, 4, 4, 4, 12].map(|digits| hex(random, digits));
    part.join("-")
}
