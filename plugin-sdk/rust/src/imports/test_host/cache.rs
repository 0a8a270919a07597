//! The cache of a test: objects by resource and key, with the contract's answers.

use super::selector::Selector;
use crate::bindings::informant::plugin::indexer::{Error, KeyPage, Page, ValuePage};
use crate::{Index, ObjectKey};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The number of objects on a page if the plugin sets no page size.
const DEFAULT_PAGE: usize = 500;

#[derive(Default)]
pub(crate) struct Cache {
    /// By resource, then by namespace and name.
    objects: BTreeMap<String, BTreeMap<(String, String), Value>>,
    not_synced: HashSet<String>,
    /// The readable resources. `None` until a plugin was started: all resources are readable.
    granted: Option<HashSet<String>>,
    indexes: Vec<Index>,
}

impl Cache {
    pub(crate) fn put(&mut self, resource: &str, object: Value) {
        let key = key_of(&object);
        let objects = self.objects.entry(resource.to_owned()).or_default();
        objects.insert((key.namespace, key.name), object);
    }

    pub(crate) fn remove(&mut self, resource: &str, key: &ObjectKey) {
        if let Some(objects) = self.objects.get_mut(resource) {
            objects.remove(&(key.namespace.clone(), key.name.clone()));
        }
    }

    pub(crate) fn set_synced(&mut self, resource: &str, synced: bool) {
        if synced {
            self.not_synced.remove(resource);
        } else {
            self.not_synced.insert(resource.to_owned());
        }
    }

    pub(crate) fn grant(&mut self, readable: HashSet<String>, indexes: Vec<Index>) {
        self.granted = Some(readable);
        self.indexes = indexes;
    }

    pub(crate) fn has_synced(&self, resource: &str) -> Result<bool, Error> {
        match &self.granted {
            Some(granted) if !granted.contains(resource) => Err(Error::NotGranted(format!(
                "{resource} is neither subscribed to nor among the descriptor's reads"
            ))),
            _ => Ok(!self.not_synced.contains(resource)),
        }
    }

    pub(crate) fn get(&self, resource: &str, key: &ObjectKey) -> Result<Option<&Value>, Error> {
        let synced = self.has_synced(resource)?;
        let key = (key.namespace.clone(), key.name.clone());
        match self.objects.get(resource).and_then(|objects| objects.get(&key)) {
            None if !synced => Err(Error::NotSynced(resource.to_owned())),
            found => Ok(found),
        }
    }

    pub(crate) fn list(
        &self,
        resource: &str,
        namespace: Option<&str>,
        labels: &str,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page, Error> {
        let selector = Selector::parse(labels).map_err(Error::Invalid)?;
        let found = self.all(resource)?.filter(|((ns, _), object)| {
            namespace.is_none_or(|n| n == ns) && selector.matches(object)
        });
        let found = found.map(|((ns, name), object)| (format!("{ns}/{name}"), object));
        let (items, next) = cut(found, limit, cursor);
        Ok(Page { items: items.into_iter().map(|o| o.to_string().into_bytes()).collect(), next })
    }

    pub(crate) fn by_index(
        &self,
        resource: &str,
        index: &str,
        value: &str,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page, Error> {
        let (items, next) = cut(self.filed(resource, index, value)?, limit, cursor);
        Ok(Page { items: items.into_iter().map(|o| o.to_string().into_bytes()).collect(), next })
    }

    pub(crate) fn index_keys(
        &self,
        resource: &str,
        index: &str,
        value: &str,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<KeyPage, Error> {
        let (items, next) = cut(self.filed(resource, index, value)?, limit, cursor);
        Ok(KeyPage { keys: items.into_iter().map(key_of).collect(), next })
    }

    pub(crate) fn index_values(
        &self,
        resource: &str,
        index: &str,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<ValuePage, Error> {
        let pointer = self.pointer(resource, index)?;
        let values: BTreeSet<_> =
            self.all(resource)?.flat_map(|(_, o)| values_at(o, pointer)).collect();
        let (values, next) = cut(values.into_iter().map(|v| (v.clone(), v)), limit, cursor);
        Ok(ValuePage { values, next })
    }

    pub(crate) fn count(&self, resource: &str, namespace: Option<&str>) -> Result<u64, Error> {
        Ok(self.all(resource)?.filter(|((ns, _), _)| namespace.is_none_or(|n| n == ns)).count()
            as u64)
    }

    fn all(
        &self,
        resource: &str,
    ) -> Result<impl Iterator<Item = (&(String, String), &Value)>, Error> {
        match self.has_synced(resource)? {
            true => Ok(self.objects.get(resource).into_iter().flatten()),
            false => Err(Error::NotSynced(resource.to_owned())),
        }
    }

    fn filed<'a>(
        &'a self,
        resource: &str,
        index: &str,
        value: &str,
    ) -> Result<impl Iterator<Item = (String, &'a Value)>, Error> {
        let pointer = self.pointer(resource, index)?;
        let filed = self
            .all(resource)?
            .filter(move |(_, o)| values_at(o, pointer).iter().any(|v| v == value));
        Ok(filed
            .map(|((ns, name), object)| (format!("{ns}/{name}"), object))
            .collect::<Vec<_>>()
            .into_iter())
    }

    fn pointer(&self, resource: &str, index: &str) -> Result<&str, Error> {
        let declared = self.indexes.iter().find(|i| i.resource == resource && i.name == index);
        declared
            .map(|i| i.pointer.as_str())
            .ok_or_else(|| Error::UnknownIndex(format!("{resource} has no index {index}")))
    }
}

/// The page after `cursor`, which is the position of the last item of the previous page.
fn cut<T>(
    items: impl Iterator<Item = (String, T)>,
    limit: u32,
    cursor: Option<&str>,
) -> (Vec<T>, Option<String>) {
    let limit = if limit == 0 { DEFAULT_PAGE } else { limit as usize };
    let mut left: Vec<_> = items.filter(|(at, _)| cursor.is_none_or(|c| at.as_str() > c)).collect();
    left.sort_by(|(a, _), (b, _)| a.cmp(b));
    let more = left.len() > limit;
    left.truncate(limit);
    let next = left.last().filter(|_| more).map(|(at, _)| at.clone());
    (left.into_iter().map(|(_, item)| item).collect(), next)
}

/// The texts at a JSON pointer. `*` steps into every member.
fn values_at(object: &Value, pointer: &str) -> Vec<String> {
    let mut reached = vec![object];
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        reached = reached.into_iter().flat_map(|value| step_into(value, &step)).collect();
    }
    reached.into_iter().filter_map(text_of).collect()
}

fn step_into<'a>(value: &'a Value, step: &str) -> Vec<&'a Value> {
    match value {
        Value::Object(members) if step == "*" => members.values().collect(),
        Value::Array(members) if step == "*" => members.iter().collect(),
        Value::Object(members) => members.get(step).into_iter().collect(),
        Value::Array(members) => {
            step.parse::<usize>().ok().and_then(|i| members.get(i)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The key of an object.
pub(crate) fn key_of(object: &Value) -> ObjectKey {
    ObjectKey::new(text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

/// The text at a pointer. Empty without a text.
pub(crate) fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
