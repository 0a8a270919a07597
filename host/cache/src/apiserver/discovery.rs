//! Whether the server's discovery knows a resource: the word on which a cache is emptied.
//!
//! A clear no needs two answers: that of the group and version, which does not list the resource or is 404, and in the latter case
//! that of the root, which does not list the group and version. An aggregated API server that is down, a
//! proxy's 404 and anything that is not discovery are errors: nobody knows.

use super::Collection;
use crate::list_watch::ListWatchError;
use serde::Deserialize;

/// A group with a thousand resources takes less than one.
const DISCOVERY_BYTES_MAX: usize = 8 << 20;

/// The documents of `/api`, `/apis` and those below, as far as they matter here.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Document {
    kind: String,
    /// Of `/apis`.
    groups: Vec<Group>,
    /// Of `/api`.
    versions: Vec<String>,
    /// Of a group and version.
    resources: Vec<Named>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Group {
    name: String,
    versions: Vec<Version>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Version {
    version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

pub(super) async fn is_served(collection: &Collection) -> Result<bool, ListWatchError> {
    let resource = &collection.resource;
    let core = resource.group.is_empty();
    let root = if core { "/api" } else { "/apis" };
    let path = if core {
        format!("{root}/{}", resource.version)
    } else {
        format!("{root}/{}/{}", resource.group, resource.version)
    };
    match document(collection, path, "APIResourceList").await {
        Ok(document) => Ok(document.resources.iter().any(|one| one.name == resource.resource)),
        Err(ListWatchError::NotFound { .. }) => {
            let kind = if core { "APIVersions" } else { "APIGroupList" };
            let document = document(collection, root.to_owned(), kind).await?;
            let mut groups = document.groups.iter().filter(|group| group.name == resource.group);
            let known = document.versions.contains(&resource.version)
                || groups.any(|g| g.versions.iter().any(|v| v.version == resource.version));
            if known {
                let message = format!("discovery lists {} and answers 404", resource.api_version());
                return Err(ListWatchError::transient(message));
            }
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

async fn document(
    collection: &Collection,
    path: String,
    kind: &str,
) -> Result<Document, ListWatchError> {
    let unreadable = |message: String| ListWatchError::Unreadable { message };
    let mut body = collection.send(path, "application/json").await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > DISCOVERY_BYTES_MAX {
            let message = format!("discovery has more than {DISCOVERY_BYTES_MAX} bytes");
            return Err(unreadable(message));
        }
    }
    let document: Document = serde_json::from_slice(&bytes)
        .map_err(|error| unreadable(format!("discovery is no JSON: {error}")))?;
    if document.kind != kind {
        return Err(unreadable(format!("discovery is {:?}, not {kind}", document.kind)));
    }
    Ok(document)
}
