//! What the body of a write says that decides whether it may be made: which object it is, and what the answer would show. Members that are there twice
//! are refused, because nobody knows which of them counts.

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

/// What is granted by name and namespace is looked up in the key, and made of the object.
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

/// Whether it says which object it replaces. API servers refuse it where that one is not there; without a UID they make some kinds of objects
/// that an update finds missing (Leases, Services, Endpoints).
pub(super) fn is_of_known_object(body: &[u8]) -> bool {
    serde_json::from_slice::<KnownBody>(body).is_ok_and(|object| !object.metadata.uid.is_empty())
}

#[derive(Deserialize)]
struct Operation {
    op: String,
}

/// Who may write a Secret does not read it: a copy would put what is in it where the answer shows it, and a test tells whether it is as somebody guesses.
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
