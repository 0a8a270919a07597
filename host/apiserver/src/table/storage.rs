//! Storage: volumes, claims, classes, drivers.

use serde_json::Value;

use super::column::{AGE, NAME, Printer, boolean, integer, text as column};
use super::format::{UNSET, entries, is_terminating, joined, name, or, plain, text, text_or};
use super::human_duration::age;

pub(super) fn printer(group: &str, resource: &str) -> Option<&'static Printer> {
    match (group, resource) {
        ("", "persistentvolumes") => Some(&PERSISTENT_VOLUMES),
        ("", "persistentvolumeclaims") => Some(&PERSISTENT_VOLUME_CLAIMS),
        ("storage.k8s.io", "storageclasses") => Some(&STORAGE_CLASSES),
        ("storage.k8s.io", "volumeattachments") => Some(&VOLUME_ATTACHMENTS),
        ("storage.k8s.io", "csinodes") => Some(&CSI_NODES),
        ("storage.k8s.io", "csidrivers") => Some(&CSI_DRIVERS),
        _ => None,
    }
}

/// The short names of access modes, in a fixed order, each once.
fn access_modes(modes: &Value) -> String {
    let names = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| entries(modes).iter().any(|known| known == mode);
    let short = names.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short);
    short.collect::<Vec<_>>().join(",")
}

fn phase(object: &Value) -> &str {
    if is_terminating(object) { "Terminating" } else { text(&object["status"]["phase"]) }
}

/// The storage class: the annotation of old objects before the field.
fn class(object: &Value) -> &str {
    let annotation = &object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
    text_or(annotation, text(&object["spec"]["storageClassName"]))
}

static PERSISTENT_VOLUMES: Printer = Printer::new(
    &[
        NAME,
        column("Capacity", "how much it holds"),
        column("Access Modes", "how it can be mounted"),
        column("Reclaim Policy", "what becomes of it when its claim is gone"),
        column("Status", "the volume's phase"),
        column("Claim", "the claim that has it"),
        column("StorageClass", "the class that it belongs to"),
        column("VolumeAttributesClass", "the class of its attributes"),
        column("Reason", "why it is in its phase"),
        AGE,
        column("VolumeMode", "whether it is a file system or a block device").wide(),
    ],
    |object, now| {
        let spec = &object["spec"];
        let claim = &spec["claimRef"];
        let claim = if claim.is_object() {
            format!("{}/{}", text(&claim["namespace"]), text(&claim["name"]))
        } else {
            String::new()
        };
        vec![
            name(object),
            plain(&spec["capacity"]["storage"]).into(),
            access_modes(&spec["accessModes"]).into(),
            text_or(&spec["persistentVolumeReclaimPolicy"], "Retain").into(),
            phase(object).into(),
            claim.into(),
            class(object).into(),
            text_or(&spec["volumeAttributesClassName"], UNSET).into(),
            text(&object["status"]["reason"]).into(),
            age(object, now),
            text_or(&spec["volumeMode"], "Filesystem").into(),
        ]
    },
);

static PERSISTENT_VOLUME_CLAIMS: Printer = Printer::new(
    &[
        NAME,
        column("Status", "the claim's phase"),
        column("Volume", "the volume that it has"),
        column("Capacity", "how much it got"),
        column("Access Modes", "how the volume can be mounted"),
        column("StorageClass", "the class that it asks for"),
        column("VolumeAttributesClass", "the class of the volume's attributes"),
        AGE,
        column("VolumeMode", "whether it is a file system or a block device").wide(),
    ],
    |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let bound = !text(&spec["volumeName"]).is_empty();
        let (capacity, modes) = if bound {
            (plain(&status["capacity"]["storage"]), access_modes(&status["accessModes"]))
        } else {
            (String::new(), String::new())
        };
        vec![
            name(object),
            phase(object).into(),
            text(&spec["volumeName"]).into(),
            capacity.into(),
            modes.into(),
            class(object).into(),
            text_or(&spec["volumeAttributesClassName"], UNSET).into(),
            age(object, now),
            text_or(&spec["volumeMode"], "Filesystem").into(),
        ]
    },
);

static STORAGE_CLASSES: Printer = Printer::new(
    &[
        NAME,
        column("Provisioner", "who makes the volumes"),
        column("ReclaimPolicy", "what becomes of volumes when their claims are gone"),
        column("VolumeBindingMode", "when volumes are made and bound"),
        column("AllowVolumeExpansion", "whether volumes can grow"),
        AGE,
    ],
    |object, now| {
        let annotations = &object["metadata"]["annotations"];
        let default = [
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ]
        .iter()
        .any(|key| annotations[key] == "true");
        let suffix = if default { " (default)" } else { "" };
        vec![
            format!("{}{suffix}", text(&object["metadata"]["name"])).into(),
            text(&object["provisioner"]).into(),
            text_or(&object["reclaimPolicy"], "Delete").into(),
            text_or(&object["volumeBindingMode"], "Immediate").into(),
            (object["allowVolumeExpansion"] == true).into(),
            age(object, now),
        ]
    },
);

static VOLUME_ATTACHMENTS: Printer = Printer::new(
    &[
        NAME,
        column("Attacher", "the driver that attaches the volume").named(),
        column("PV", "the volume"),
        column("Node", "the node that it is attached to"),
        boolean("Attached", "whether it is attached"),
        AGE,
    ],
    |object, now| {
        let spec = &object["spec"];
        vec![
            name(object),
            text(&spec["attacher"]).into(),
            text(&spec["source"]["persistentVolumeName"]).into(),
            text(&spec["nodeName"]).into(),
            (object["status"]["attached"] == true).into(),
            age(object, now),
        ]
    },
);

static CSI_NODES: Printer = Printer::new(
    &[NAME, integer("Drivers", "how many drivers the node has"), AGE],
    |object, now| {
        vec![name(object), entries(&object["spec"]["drivers"]).len().into(), age(object, now)]
    },
);

static CSI_DRIVERS: Printer = Printer::new(
    &[
        NAME,
        boolean("AttachRequired", "whether volumes must be attached before they are mounted"),
        boolean("PodInfoOnMount", "whether the driver is told of the pod"),
        boolean("StorageCapacity", "whether the scheduler looks at the driver's capacity"),
        column("TokenRequests", "the audiences of the tokens that the driver needs"),
        boolean("RequiresRepublish", "whether mounts are renewed from time to time"),
        column("Modes", "the kinds of volume that the driver knows"),
        AGE,
    ],
    |object, now| {
        let spec = &object["spec"];
        let tokens = &spec["tokenRequests"];
        let audiences = entries(tokens).iter().map(|token| text(&token["audience"]));
        let tokens = match tokens.is_array() {
            true => audiences.collect::<Vec<_>>().join(","),
            false => UNSET.to_owned(),
        };
        vec![
            name(object),
            (spec["attachRequired"] != false).into(),
            (spec["podInfoOnMount"] == true).into(),
            (spec["storageCapacity"] == true).into(),
            tokens.into(),
            (spec["requiresRepublish"] == true).into(),
            or(joined(&spec["volumeLifecycleModes"], ","), "Persistent").into(),
            age(object, now),
        ]
    },
);
