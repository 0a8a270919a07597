//! A plugin's reads through `indexer`: resources beside its subscriptions, and indexes.

use super::{
    BoundedList, Descriptor, DescriptorError, check_bytes, check_name, check_pointer_bounds, error,
    json, resource,
};
use crate::contract::coverage::NAMESPACES_WATCHED_MAX;
use crate::names::is_namespace;
use informant_apimachinery::GroupVersionResource;
use informant_cache::JsonPointer;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// The most namespaces of one view: four times as many as are watched individually.
pub(crate) const NAMESPACES_MAX: usize = 4 * NAMESPACES_WATCHED_MAX;

/// Bytes of a namespace's name: those of a DNS label.
const NAMESPACE_BYTES_MAX: usize = 63;

/// The keys of an index.
const INDEX_KEYS: [&str; 3] = ["resource", "name", "pointer"];
/// The keys of a resource to read.
const READ_KEYS: [&str; 2] = ["resource", "namespaces"];
/// The namespaces of a view, not yet read.
pub(super) type RawNamespaces = BoundedList<String, NAMESPACES_MAX>;

/// A secondary index: objects by the values at a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// The indexed resource.
    pub resource: GroupVersionResource,
    /// The index's name, unique within plugin and resource.
    pub name: String,
    /// A JSON pointer in which `*` steps into every member.
    pub pointer: JsonPointer,
    /// The pointer as the plugin wrote it.
    pub pointer_text: String,
}

/// A resource that is read without a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadSpec {
    /// The resource.
    pub resource: GroupVersionResource,
    /// Empty: all namespaces.
    pub namespaces: BTreeSet<String>,
}

#[derive(Deserialize)]
struct RawIndex {
    resource: String,
    name: String,
    pointer: String,
}

pub(super) fn index(json: &RawValue, at: &str) -> Result<IndexSpec, DescriptorError> {
    let raw: RawIndex = json::object(json, at, &INDEX_KEYS)?;
    check_name(&format!("{at}.name"), &raw.name)?;
    check_pointer_bounds(&format!("{at}.pointer"), &raw.pointer)?;
    let pointer = raw.pointer.parse().map_err(|e| error(at, format!("{e}")))?;
    let resource = resource(&raw.resource, at)?;
    Ok(IndexSpec { resource, name: raw.name, pointer, pointer_text: raw.pointer })
}

#[derive(Deserialize)]
struct RawRead {
    resource: String,
    #[serde(default)]
    namespaces: RawNamespaces,
}

pub(super) fn read(json: &RawValue, at: &str) -> Result<ReadSpec, DescriptorError> {
    let raw: RawRead = json::object(json, at, &READ_KEYS)?;
    let namespaces = namespaces(raw.namespaces, at)?;
    Ok(ReadSpec { resource: resource(&raw.resource, at)?, namespaces })
}

/// Checks that the names can be those of namespaces: they are shown, also in lines of configuration for copying.
pub(super) fn namespaces(
    names: RawNamespaces,
    at: &str,
) -> Result<BTreeSet<String>, DescriptorError> {
    let place = format!("{at}.namespaces");
    let names = names.entries(&place)?;
    names.iter().try_for_each(|name| check_bytes(&place, name, NAMESPACE_BYTES_MAX))?;
    match names.iter().find(|name| !is_namespace(name)) {
        Some(name) => {
            let problem = format!("namespaces: {name:?} cannot be the name of a namespace");
            Err(error(at, problem))
        }
        None => Ok(names.into_iter().collect()),
    }
}

impl Descriptor {
    pub(super) fn check_indexes(&self) -> Result<(), DescriptorError> {
        let resources = self.resources();
        let mut names = BTreeSet::new();
        for IndexSpec { resource, name, .. } in &self.indexes {
            if !names.insert((resource, name)) {
                let problem = format!("the name {name:?} is used twice for {resource}");
                return Err(error("indexes", problem));
            }
            if !resources.contains(resource) {
                let problem = format!(
                    "{name:?} is on {resource}, which is neither subscribed to nor among the reads"
                );
                return Err(error("indexes", problem));
            }
        }
        Ok(())
    }
}
