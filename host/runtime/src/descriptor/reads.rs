//! What a plugin reads through `indexer`: resources beside its subscriptions, and indexes.

use super::keys::checked;
use super::{Descriptor, DescriptorError, check_name, error, resource};
use informant_apimachinery::GroupVersionResource;
use informant_cache::{JsonPointer, Part};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// A secondary index: objects by the values found at a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// What is indexed.
    pub resource: GroupVersionResource,
    /// The index's name, unique within plugin and resource.
    pub name: String,
    /// A JSON pointer in which `*` steps into every member.
    pub pointer: JsonPointer,
    /// The pointer as the plugin wrote it.
    pub pointer_text: String,
}

/// A resource that is read without being subscribed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadSpec {
    /// What is read.
    pub resource: GroupVersionResource,
    /// Empty: all.
    pub namespaces: BTreeSet<String>,
}

#[derive(Deserialize)]
struct RawIndex {
    resource: String,
    name: String,
    pointer: String,
}

pub(super) fn index(value: Value, at: &str) -> Result<IndexSpec, DescriptorError> {
    let raw: RawIndex = checked(value, at, &["resource", "name", "pointer"])?;
    let pointer = raw.pointer.parse().map_err(|e| error(at, format!("{e}")))?;
    let resource = resource(&raw.resource, at)?;
    Ok(IndexSpec { resource, name: raw.name, pointer, pointer_text: raw.pointer })
}

#[derive(Deserialize)]
struct RawRead {
    resource: String,
    #[serde(default)]
    namespaces: BTreeSet<String>,
}

pub(super) fn read(value: Value, at: &str) -> Result<ReadSpec, DescriptorError> {
    let raw: RawRead = checked(value, at, &["resource", "namespaces"])?;
    let namespaces = namespaces(raw.namespaces, at)?;
    Ok(ReadSpec { resource: resource(&raw.resource, at)?, namespaces })
}

/// Whether a namespace can be called so.
pub(crate) fn is_namespace(name: &str) -> bool {
    Part::namespace(name).has_valid_namespace()
}

/// Names that can be those of namespaces: they are shown, also as lines of configuration to be copied.
pub(super) fn namespaces(
    names: BTreeSet<String>,
    at: &str,
) -> Result<BTreeSet<String>, DescriptorError> {
    match names.iter().find(|name| !is_namespace(name)) {
        Some(name) => {
            let problem = format!("namespaces: {name:?} cannot be the name of a namespace");
            Err(error(at, problem))
        }
        None => Ok(names),
    }
}

impl Descriptor {
    pub(super) fn check_indexes(&self) -> Result<(), DescriptorError> {
        let resources = self.resources();
        let mut names = BTreeSet::new();
        for IndexSpec { resource, name, .. } in &self.indexes {
            check_name("indexes", name)?;
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
