//! Whether the server's discovery knows a resource. A clear no empties a cache.
//!
//! A clear no needs two answers. The first is that of the group and version, which does not list the resource or is
//! 404. After a 404, the root must not list the group and version either. An aggregated API server that is down, a
//! proxy's 404 and any other document are errors: then the answer is unknown.

use super::Collection;
use crate::list_watch::ListWatchError;
use informant_apimachinery::{GroupVersionResource, nearest};
use serde::Deserialize;

/// A group with a thousand resources takes less than one MiB.
const DISCOVERY_BYTES_MAX: usize = 8 << 20;

/// The media type of a document that has all groups with their resources.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The documents of `/api`, `/apis` and below, with the fields that this module needs. Each lists its entries, also if
/// there are none.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind")]
pub(super) enum Document {
    #[serde(rename = "APIGroupList")]
    Groups { groups: Vec<Group> },
    #[serde(rename = "APIVersions")]
    CoreVersions { versions: Vec<String> },
    #[serde(rename = "APIResourceList")]
    Resources { resources: Vec<Named> },
    #[serde(rename = "APIGroupDiscoveryList")]
    Aggregated { items: Vec<AggregatedGroup> },
}

impl Document {
    pub(super) fn read(json: &[u8]) -> Result<Self, ListWatchError> {
        serde_json::from_slice(json)
            .map_err(|error| unreadable(format!("discovery cannot be read: {error}")))
    }

    /// Whether the list of a group and version has the resource; an error for another document.
    pub(super) fn has_resource(&self, name: &str) -> Result<bool, ListWatchError> {
        match self {
            Self::Resources { resources } => Ok(resources.iter().any(|one| one.name == name)),
            _ => Err(unreadable(
                "discovery is not the APIResourceList that was asked for".to_owned(),
            )),
        }
    }

    /// The kind of the resource, if the list of a group and version has it.
    fn kind_of(&self, name: &str) -> Option<&str> {
        let Self::Resources { resources } = self else { return None };
        let kind = &resources.iter().find(|one| one.name == name)?.kind;
        Some(kind).filter(|kind| !kind.is_empty()).map(String::as_str)
    }

    /// Whether the root has the group (empty for the core group) and version.
    pub(super) fn has_version(&self, group: &str, version: &str) -> Result<bool, ListWatchError> {
        match self {
            Self::CoreVersions { versions } if group.is_empty() => {
                Ok(versions.iter().any(|one| one == version))
            }
            Self::Groups { groups } if !group.is_empty() => {
                let mut same = groups.iter().filter(|one| one.name == group);
                Ok(same.any(|one| one.versions.iter().any(|one| one.version == version)))
            }
            _ => Err(unreadable(
                "discovery is not the list of groups or versions that was asked for".to_owned(),
            )),
        }
    }
}

fn unreadable(message: String) -> ListWatchError {
    ListWatchError::unreadable(&message)
}

#[derive(Debug, Deserialize)]
pub(super) struct Group {
    name: String,
    versions: Vec<Version>,
}

#[derive(Debug, Deserialize)]
struct Version {
    version: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Named {
    name: String,
    #[serde(default)]
    kind: String,
}

/// A group with the resources of its versions. The core group has no name.
#[derive(Debug, Deserialize)]
pub(super) struct AggregatedGroup {
    #[serde(default)]
    metadata: GroupName,
    #[serde(default)]
    versions: Vec<AggregatedVersion>,
}

#[derive(Debug, Default, Deserialize)]
struct GroupName {
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct AggregatedVersion {
    version: String,
    #[serde(default)]
    resources: Vec<AggregatedResource>,
}

#[derive(Debug, Deserialize)]
struct AggregatedResource {
    resource: String,
}

impl AggregatedGroup {
    /// The first version that has the resource, with the group's name.
    fn version_with(&self, resource: &str) -> Option<String> {
        let has = |one: &&AggregatedVersion| one.resources.iter().any(|it| it.resource == resource);
        let version = &self.versions.iter().find(has)?.version;
        Some(GroupVersionResource::new(&*self.metadata.name, &**version, resource).api_version())
    }
}

/// The root of the discovery of a resource's group, and the path of its group and version.
fn paths(resource: &GroupVersionResource) -> (&'static str, String) {
    let GroupVersionResource { group, version, .. } = resource;
    match group.is_empty() {
        true => ("/api", format!("/api/{version}")),
        false => ("/apis", format!("/apis/{group}/{version}")),
    }
}

/// The message about a missing resource, with the same resource of another group or version, or else with the nearest
/// resource of its own. Without an answer of discovery, the message is unchanged.
pub(super) async fn with_nearest(collection: &Collection, message: String) -> String {
    let resource = &collection.resource;
    let name = &*resource.resource;
    let (_, path) = paths(resource);
    let own = match document(collection, path).await {
        Ok(Document::Resources { resources }) => resources,
        _ => Vec::new(),
    };
    let names: Vec<&str> = own.iter().map(|one| one.name.as_str()).collect();
    if names.contains(&name) {
        return message;
    }
    let meant = match elsewhere(collection).await {
        Some(version) => Some((version, name)),
        None => nearest(name, &names).map(|near| (resource.api_version(), near)),
    };
    match meant {
        Some((version, name)) => format!("{message}; did you mean {version}/{name}?"),
        None => message,
    }
}

/// The group and version that has a resource of the same name. Other versions of its own group come first.
async fn elsewhere(collection: &Collection) -> Option<String> {
    let mut groups = Vec::new();
    for root in ["/api", "/apis"] {
        let document = document_as(collection, root.to_owned(), AGGREGATED).await;
        if let Ok(Document::Aggregated { items }) = document {
            groups.extend(items);
        }
    }
    let GroupVersionResource { group, resource, .. } = &collection.resource;
    groups.sort_by_key(|one| one.metadata.name != *group);
    groups.iter().find_map(|one| one.version_with(resource))
}

pub(super) async fn is_served(collection: &Collection) -> Result<bool, ListWatchError> {
    let resource = &collection.resource;
    let (root, path) = paths(resource);
    match document(collection, path).await {
        Ok(document) => document.has_resource(&resource.resource),
        Err(ListWatchError::NotFound { .. }) => {
            let document = document(collection, root.to_owned()).await?;
            if document.has_version(&resource.group, &resource.version)? {
                let message = format!("discovery lists {} and answers 404", resource.api_version());
                return Err(ListWatchError::transient(message));
            }
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// The kind of the resource; `None` if discovery does not say it.
pub(super) async fn kind(collection: &Collection) -> Result<Option<String>, ListWatchError> {
    let (_, path) = paths(&collection.resource);
    let document = document(collection, path).await?;
    Ok(document.kind_of(&collection.resource.resource).map(str::to_owned))
}

async fn document(collection: &Collection, path: String) -> Result<Document, ListWatchError> {
    document_as(collection, path, "application/json").await
}

async fn document_as(
    collection: &Collection,
    path: String,
    accept: &'static str,
) -> Result<Document, ListWatchError> {
    let mut body = collection.send(path, accept).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > DISCOVERY_BYTES_MAX {
            let message = format!("discovery has more than {DISCOVERY_BYTES_MAX} bytes");
            return Err(unreadable(message));
        }
    }
    Document::read(&bytes)
}
