//! The parts of a write's body that decide whether it is allowed: the object's identity, and the content that the
//! answer would show. Duplicate members are refused, because it is unclear which one counts.

use serde::Deserialize;

#[derive(Deserialize)]
struct NewObject {
    metadata: Option<NewMetadata>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewMetadata {
    name: Option<String>,
    namespace: Option<String>,
    generate_name: Option<String>,
}

/// Checks that a new object has the name and namespace of the key. Grants check the key, and the API server creates
/// the object.
pub(super) fn check_new_object(body: &[u8], namespace: &str, name: &str) -> Result<(), String> {
    let object: NewObject =
        serde_json::from_slice(body).map_err(|error| format!("the object: {error}"))?;
    let metadata = object.metadata.unwrap_or_default();
    let found = metadata.name.unwrap_or_default();
    if found != name {
        return Err(format!("the object's name is {found:?}, and that of its key {name:?}"));
    }
    let makes_name = metadata.generate_name.is_some_and(|prefix| !prefix.is_empty());
    if name.is_empty() && !makes_name {
        return Err("neither the key has a name nor the object a generateName".to_owned());
    }
    match metadata.namespace {
        Some(found) if !found.is_empty() && found != namespace => {
            Err(format!("the object's namespace is {found:?}, and that of its key {namespace:?}"))
        }
        _ => Ok(()),
    }
}

#[derive(Deserialize)]
struct KnownBody {
    metadata: KnownMetadata,
}

#[derive(Deserialize)]
struct KnownMetadata {
    uid: String,
}

/// Whether the body names the replaced object's UID. Then API servers refuse the update if that object does not exist.
/// Without a UID they create some kinds of missing objects (Leases, Services, Endpoints).
pub(super) fn is_of_known_object(body: &[u8]) -> bool {
    serde_json::from_slice::<KnownBody>(body).is_ok_and(|object| !object.metadata.uid.is_empty())
}

#[derive(Deserialize)]
struct Operation {
    op: String,
}

/// A plugin that may write a Secret may not read it. A copy would move content to a place that the answer shows, and a
/// test would confirm a guess.
pub(super) fn check_patch_of_secret(body: &[u8]) -> Result<(), String> {
    let operations: Vec<Operation> =
        serde_json::from_slice(body).map_err(|error| format!("the patch: {error}"))?;
    // Invariant 35.
    let only_writes = |op: &str| ["add", "replace", "remove"].contains(&op);
    match operations.iter().find(|operation| !only_writes(&operation.op)) {
        None => Ok(()),
        Some(Operation { op }) => Err(format!(
            "a JSON patch of a Secret may add, replace and remove: {op:?} would tell what is in it"
        )),
    }
}
