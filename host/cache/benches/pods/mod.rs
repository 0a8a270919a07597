//! Pods as a busy cluster has them: about 6 KB each, of which 1.5 are `managedFields`.
//!
//! Pods of one workload are alike, workloads are not: names, images, variables, probes and resources differ. What differs between any two
//! pods in earnest is random here: UIDs, suffixes, addresses, times, container IDs. All follows from the numbers.

use fastrand::Rng;

const WORDS: [&str; 32] = [
    "payments", "orders", "catalog", "search", "gateway", "auth", "session", "billing", "ledger",
    "invoice", "shipping", "stock", "pricing", "profile", "media", "upload", "mailer", "report",
    "worker", "proxy", "queue", "stream", "metrics", "tracing", "frontend", "backend", "portal",
    "fraud", "feature", "webhook", "tenant", "edge",
];
const VARIABLES: [&str; 16] = [
    "LOG_LEVEL",
    "DATABASE_URL",
    "REDIS_URL",
    "KAFKA_BROKERS",
    "TIMEOUT_MS",
    "POOL_SIZE",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "JAVA_OPTS",
    "REGION",
    "CACHE_TTL_SECONDS",
    "MAX_CONNECTIONS",
    "S3_BUCKET",
    "TOKEN_ISSUER",
    "RATE_LIMIT",
    "BATCH_SIZE",
    "SHARD_COUNT",
];
const CONDITIONS: [&str; 5] =
    ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
const NODES: u64 = 2000;
/// Pods of one workload whose numbers follow each other: a list comes in the order of names.
const SIDE_BY_SIDE: u64 = 20;

/// The pods of a cluster.
pub struct Pods {
    workloads: Vec<Workload>,
}

/// What the pods of one ReplicaSet have in common.
struct Workload {
    namespace: String,
    name: String,
    hash: String,
    owner: String,
    labels: String,
    checksum: String,
    image: String,
    digest: String,
    container: String,
}

impl Pods {
    pub fn new(workloads: u64) -> Self {
        Self { workloads: (0..workloads).map(Workload::new).collect() }
    }

    /// The JSON of one version of a pod, as a server sends it.
    pub fn json(&self, number: u64, version: u64) -> String {
        let workloads = self.workloads.len() as u64;
        self.workloads[(number / SIDE_BY_SIDE % workloads) as usize].pod(number, version)
    }
}

fn word(random: &mut Rng) -> &'static str {
    WORDS[random.usize(..WORDS.len())]
}

fn hex(random: &mut Rng, length: usize) -> String {
    std::iter::repeat_with(|| random.digit(16)).take(length).collect()
}

/// A suffix as Kubernetes makes it: without vowels.
fn suffix(random: &mut Rng, length: usize) -> String {
    let letters = b"bcdfghjklmnpqrstvwxz2456789";
    std::iter::repeat_with(|| char::from(letters[random.usize(..letters.len())]))
        .take(length)
        .collect()
}

fn uid(random: &mut Rng) -> String {
    let part = |random: &mut Rng, length| hex(random, length);
    format!(
        "{}-{}-4{}-a{}-{}",
        part(random, 8),
        part(random, 4),
        part(random, 3),
        part(random, 3),
        part(random, 12)
    )
}

fn time(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    format!(
        "2026-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        1 + days / 28 % 12,
        1 + days % 28,
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

impl Workload {
    fn new(number: u64) -> Self {
        let random = &mut Rng::with_seed(number);
        let (team, name) = (word(random), format!("{}-{}-{number}", word(random), word(random)));
        let hash = suffix(random, 10);
        let release = format!("{}.{}.{}", random.u32(0..9), random.u32(0..40), random.u32(0..20));
        let labels = format!(
            r#""app.kubernetes.io/component":"{}","app.kubernetes.io/instance":"{name}","app.kubernetes.io/managed-by":"Helm","app.kubernetes.io/name":"{name}","app.kubernetes.io/part-of":"{team}","app.kubernetes.io/version":"{release}","pod-template-hash":"{hash}""#,
            word(random)
        );
        let variables =
            (0..random.usize(2..9)).map(|at| variable(random, number as usize + at * 3, &name));
        let variables = variables.collect::<Vec<_>>().join(",");
        let container = format!(
            r#""ports":[{{"name":"http","containerPort":{},"protocol":"TCP"}}],"env":[{variables}],"resources":{{"limits":{{"cpu":"{}","memory":"{}Mi"}},"requests":{{"cpu":"{}m","memory":"{}Mi"}}}}"#,
            random.u32(3000..9000),
            random.u32(1..8),
            random.u32(1..32) * 128,
            random.u32(1..20) * 50,
            random.u32(1..16) * 64
        );
        Self {
            namespace: format!("{team}-{}", ["prod", "staging", "dev"][number as usize % 3]),
            image: format!("registry.example.com/{team}/{name}:{release}"),
            digest: hex(random, 64),
            checksum: hex(random, 64),
            owner: uid(random),
            name,
            hash,
            labels,
            container,
        }
    }

    fn pod(&self, number: u64, version: u64) -> String {
        let Self { name, hash, namespace, labels, checksum, .. } = self;
        let random = &mut Rng::with_seed(number ^ 0x5eed << 32);
        let pod = format!("{name}-{hash}-{}", suffix(random, 5));
        let created = random.u64(..20_000_000);
        let owner = format!(
            r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{name}-{hash}","uid":"{}","controller":true,"blockOwnerDeletion":true}}"#,
            self.owner
        );
        let metadata = format!(
            r#"{{"name":"{pod}","generateName":"{name}-{hash}-","namespace":"{namespace}","uid":"{}","resourceVersion":"{}","generation":1,"creationTimestamp":"{}","labels":{{{labels}}},"annotations":{{"checksum/config":"{checksum}","prometheus.io/port":"9090","prometheus.io/scrape":"true"}},"ownerReferences":[{owner}],"managedFields":[{}]}}"#,
            uid(random),
            1 + number + version * 10_000_000,
            time(created),
            managed_fields(&time(created + 20)),
        );
        let (spec, status) =
            (self.spec(random), self.status(random, created + 3, created + 5 + version));
        format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{metadata},"spec":{spec},"status":{status}}}"#
        )
    }

    fn spec(&self, random: &mut Rng) -> String {
        let Self { name, image, container, .. } = self;
        let access = format!("kube-api-access-{}", suffix(random, 5));
        let probe = |path: &str, period: u32| {
            format!(
                r#"{{"httpGet":{{"path":"{path}","port":"http","scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":{period},"successThreshold":1,"failureThreshold":3}}"#
            )
        };
        let toleration = |reason: &str| {
            format!(
                r#"{{"key":"node.kubernetes.io/{reason}","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}"#
            )
        };
        format!(
            r#"{{"volumes":[{{"name":"config","configMap":{{"name":"{name}-config","defaultMode":420}}}},{{"name":"{access}","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}},{{"downwardAPI":{{"items":[{{"path":"namespace","fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.namespace"}}}}]}}}}],"defaultMode":420}}}}],"containers":[{{"name":"{name}","image":"{image}",{container},"volumeMounts":[{{"name":"config","readOnly":true,"mountPath":"/etc/config"}},{{"name":"{access}","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{},"readinessProbe":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"{name}","serviceAccount":"{name}","nodeName":"node-{:04}.example.internal","securityContext":{{}},"schedulerName":"default-scheduler","tolerations":[{},{}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}}"#,
            probe("/healthz", 10),
            probe("/readyz", 5),
            random.u64(..NODES),
            toleration("not-ready"),
            toleration("unreachable"),
        )
    }

    fn status(&self, random: &mut Rng, started: u64, changed: u64) -> String {
        let Self { name, image, digest, .. } = self;
        let conditions = CONDITIONS.map(|kind| {
            let at = time(if kind.contains("Ready") { changed } else { started });
            format!(
                r#"{{"type":"{kind}","observedGeneration":1,"status":"True","lastProbeTime":null,"lastTransitionTime":"{at}"}}"#
            )
        });
        let repository = image.split_once(':').map_or("", |(repository, _)| repository);
        let host = format!("10.0.{}.{}", random.u8(..), random.u8(..));
        let ip = format!("10.{}.{}.{}", 100 + random.u8(..100), random.u8(..), random.u8(..));
        format!(
            r#"{{"phase":"Running","observedGeneration":1,"conditions":[{}],"hostIP":"{host}","hostIPs":[{{"ip":"{host}"}}],"podIP":"{ip}","podIPs":[{{"ip":"{ip}"}}],"startTime":"{}","containerStatuses":[{{"name":"{name}","state":{{"running":{{"startedAt":"{}"}}}},"lastState":{{}},"ready":true,"restartCount":0,"image":"{image}","imageID":"{repository}@sha256:{digest}","containerID":"containerd://{}","started":true}}],"qosClass":"Burstable"}}"#,
            conditions.join(","),
            time(started),
            time(started + 2),
            hex(random, 64),
        )
    }
}

fn variable(random: &mut Rng, number: usize, workload: &str) -> String {
    let key = VARIABLES[number % VARIABLES.len()];
    let value = match random.u8(0..4) {
        0 => format!("https://{}.svc.cluster.local:8443/{}", word(random), word(random)),
        1 => random.u32(1..10_000).to_string(),
        2 => format!("{}-{}", word(random), word(random)),
        _ => {
            let secret = word(random);
            return format!(
                r#"{{"name":"{key}","valueFrom":{{"secretKeyRef":{{"name":"{workload}-secrets","key":"{secret}"}}}}}}"#
            );
        }
    };
    format!(r#"{{"name":"{key}","value":"{value}"}}"#)
}

/// What the API server notes of who set which field.
fn managed_fields(at: &str) -> String {
    let names = |names: &[&str]| {
        names.iter().map(|name| format!(r#""f:{name}":{{}}"#)).collect::<Vec<_>>().join(",")
    };
    let spec = names(&[
        "dnsPolicy",
        "enableServiceLinks",
        "restartPolicy",
        "schedulerName",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "terminationGracePeriodSeconds",
        "volumes",
    ]);
    let container = names(&[
        "env",
        "image",
        "imagePullPolicy",
        "livenessProbe",
        "name",
        "ports",
        "readinessProbe",
        "resources",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "volumeMounts",
    ]);
    let conditions = CONDITIONS.map(|kind| {
        format!(
            r#""k:{{\"type\":\"{kind}\"}}":{{{}}}"#,
            names(&["lastProbeTime", "lastTransitionTime", "observedGeneration", "status", "type"])
        )
    });
    format!(
        r#"{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"{at}","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:labels":{{".":{{}},"f:pod-template-hash":{{}}}}}},"f:spec":{{"f:containers":{{"k:{{\"name\":\"app\"}}":{{{container}}}}},{spec}}}}}}},{{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"{at}","fieldsType":"FieldsV1","fieldsV1":{{"f:status":{{"f:conditions":{{{}}},{}}}}},"subresource":"status"}}"#,
        conditions.join(","),
        names(&["containerStatuses", "hostIP", "hostIPs", "phase", "podIP", "podIPs", "startTime"]),
    )
}
