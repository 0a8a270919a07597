//! Storage: volumes, claims, classes, drivers.

use serde_json::Value;

use super::column::{AGE, NAME, Printer, boolean, column, integer};
use super::format::{
    UNSET, entries, is_terminating, joined, named_default, or, plain, text, text_or,
};

#[rustfmt::skip]
pub(super) static PRINTERS: &[Printer] = &[
    Printer::new(&[("", "persistentvolumes")], &[
        NAME,
        column("Capacity", "how much it holds", |it| plain(&it["spec"]["capacity"]["storage"]).into()),
        column("Access Modes", "how it can be mounted", |it| access_modes(&it["spec"]["accessModes"]).into()),
        column("Reclaim Policy", "what becomes of it when its claim is gone",
            |it| text_or(&it["spec"]["persistentVolumeReclaimPolicy"], "Retain").into()),
        column("Status", "the volume's phase", |it| phase(it).into()),
        column("Claim", "the claim that has it", |it| claim(&it["spec"]["claimRef"]).into()),
        column("StorageClass", "the class that it belongs to", |it| class(it).into()),
        column("VolumeAttributesClass", "the class of its attributes",
            |it| text_or(&it["spec"]["volumeAttributesClassName"], UNSET).into()),
        column("Reason", "why it is in its phase", |it| text(&it["status"]["reason"]).into()),
        AGE,
        column("VolumeMode", "whether it is a file system or a block device",
            |it| text_or(&it["spec"]["volumeMode"], "Filesystem").into()).wide(),
    ]),
    Printer::new(&[("", "persistentvolumeclaims")], &[
        NAME,
        column("Status", "the claim's phase", |it| phase(it).into()),
        column("Volume", "the volume that it has", |it| text(&it["spec"]["volumeName"]).into()),
        column("Capacity", "how much it got", |it| plain(&bound(it)["capacity"]["storage"]).into()),
        column("Access Modes", "how the volume can be mounted", |it| access_modes(&bound(it)["accessModes"]).into()),
        column("StorageClass", "the class that it asks for", |it| class(it).into()),
        column("VolumeAttributesClass", "the class of the volume's attributes",
            |it| text_or(&it["spec"]["volumeAttributesClassName"], UNSET).into()),
        AGE,
        column("VolumeMode", "whether it is a file system or a block device",
            |it| text_or(&it["spec"]["volumeMode"], "Filesystem").into()).wide(),
    ]),
    Printer::new(&[("storage.k8s.io", "storageclasses")], &[
        column("Name", "the object's name", |it| named_default(it, &[
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ])).named(),
        column("Provisioner", "who makes the volumes", |it| text(&it["provisioner"]).into()),
        column("ReclaimPolicy", "what becomes of volumes when their claims are gone",
            |it| text_or(&it["reclaimPolicy"], "Delete").into()),
        column("VolumeBindingMode", "when volumes are made and bound",
            |it| text_or(&it["volumeBindingMode"], "Immediate").into()),
        column("AllowVolumeExpansion", "whether volumes can grow", |it| (it["allowVolumeExpansion"] == true).into()),
        AGE,
    ]),
    Printer::new(&[("storage.k8s.io", "volumeattachments")], &[
        NAME,
        column("Attacher", "the driver that attaches the volume", |it| text(&it["spec"]["attacher"]).into()).named(),
        column("PV", "the volume", |it| text(&it["spec"]["source"]["persistentVolumeName"]).into()),
        column("Node", "the node that it is attached to", |it| text(&it["spec"]["nodeName"]).into()),
        boolean("Attached", "whether it is attached", |it| (it["status"]["attached"] == true).into()),
        AGE,
    ]),
    Printer::new(&[("storage.k8s.io", "csinodes")], &[
        NAME,
        integer("Drivers", "how many drivers the node has", |it| entries(&it["spec"]["drivers"]).len().into()),
        AGE,
    ]),
    Printer::new(&[("storage.k8s.io", "csidrivers")], &[
        NAME,
        boolean("AttachRequired", "whether volumes must be attached before they are mounted",
            |it| (it["spec"]["attachRequired"] != false).into()),
        boolean("PodInfoOnMount", "whether the driver is told of the pod",
            |it| (it["spec"]["podInfoOnMount"] == true).into()),
        boolean("StorageCapacity", "whether the scheduler looks at the driver's capacity",
            |it| (it["spec"]["storageCapacity"] == true).into()),
        column("TokenRequests", "the audiences of the tokens that the driver needs",
            |it| audiences(&it["spec"]["tokenRequests"]).into()),
        boolean("RequiresRepublish", "whether mounts are renewed from time to time",
            |it| (it["spec"]["requiresRepublish"] == true).into()),
        column("Modes", "the kinds of volume that the driver knows",
            |it| or(joined(&it["spec"]["volumeLifecycleModes"], ","), "Persistent").into()),
        AGE,
    ]),
];

fn claim(claim: &Value) -> String {
    match claim.is_object() {
        true => format!("{}/{}", text(&claim["namespace"]), text(&claim["name"])),
        false => String::new(),
    }
}

/// The status of a claim that has a volume.
fn bound(claim: &Value) -> &Value {
    match text(&claim["spec"]["volumeName"]) {
        "" => &Value::Null,
        _ => &claim["status"],
    }
}

fn audiences(tokens: &Value) -> String {
    let audiences = entries(tokens).iter().map(|token| text(&token["audience"]));
    match tokens.is_array() {
        true => audiences.collect::<Vec<_>>().join(","),
        false => UNSET.to_owned(),
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
