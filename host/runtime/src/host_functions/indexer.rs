//! `indexer`: reads of the shared cache, cut to what the plugin may see.

use crate::bindings::informant::plugin::indexer::{Error, Host, KeyPage, Page, ValuePage};
use crate::bindings::informant::plugin::types::ObjectKeyResult as GuestKey;
use crate::guest_state::GuestState;
use crate::json_pointer::find;
use crate::reads::{Answer, Bounds, ReadError, Reads};
use informant_apimachinery::LabelSelector;
use informant_cache::{Object, ObjectKey};

type Json = Vec<u8>;
type Result<T> = wasmtime::Result<std::result::Result<T, Error>>;

impl Host for GuestState {
    fn get(&mut self, gvr: String, key: GuestKey) -> Result<Option<Json>> {
        Ok(self.object(&gvr, &key).map(|object| object.map(|object| object.json().to_vec())))
    }

    fn fields(
        &mut self,
        gvr: String,
        key: GuestKey,
        pointers: Vec<String>,
    ) -> Result<Option<Vec<Option<String>>>> {
        let values = |object: Object| {
            let json = object.json();
            let value = |pointer: &String| find(&json, pointer).map(|value| value.get().to_owned());
            pointers.iter().map(value).collect()
        };
        Ok(self.object(&gvr, &key).map(|object| object.map(values)))
    }

    fn list(
        &mut self,
        gvr: String,
        namespace: Option<String>,
        label_selector: String,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Page> {
        let bounds = self.bounds(limit);
        let answer = self.reads().and_then(|reads| {
            let selector: LabelSelector = label_selector
                .parse()
                .map_err(|error| Error::Invalid(format!("label selector: {error}")))?;
            let cursor = cursor.as_deref();
            Ok(reads.list(&gvr, namespace.as_deref(), &selector, bounds, cursor)?)
        });
        Ok(answer.map(page))
    }

    fn by_index(
        &mut self,
        gvr: String,
        index: String,
        value: String,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Page> {
        let bounds = self.bounds(limit);
        let answer = self.reads().and_then(|reads| {
            Ok(reads.by_index(&gvr, &index, &value, bounds, cursor.as_deref())?)
        });
        Ok(answer.map(page))
    }

    fn index_keys(
        &mut self,
        gvr: String,
        index: String,
        value: String,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<KeyPage> {
        let bounds = self.bounds(limit);
        let answer = self.reads().and_then(|reads| {
            Ok(reads.by_index(&gvr, &index, &value, bounds, cursor.as_deref())?)
        });
        Ok(answer.map(|answer| KeyPage {
            keys: answer.items.iter().map(|object| guest_key(object.key())).collect(),
            next: answer.next,
        }))
    }

    fn index_values(
        &mut self,
        gvr: String,
        index: String,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<ValuePage> {
        let items = self.bounds(limit).items;
        let answer = self
            .reads()
            .and_then(|reads| Ok(reads.index_values(&gvr, &index, items, cursor.as_deref())?));
        Ok(answer.map(|answer| ValuePage { values: answer.items, next: answer.next }))
    }

    fn count(&mut self, gvr: String, namespace: Option<String>) -> Result<u64> {
        Ok(self.reads().and_then(|reads| Ok(reads.count(&gvr, namespace.as_deref())?)))
    }

    fn has_synced(&mut self, gvr: String) -> Result<bool> {
        Ok(self.reads().and_then(|reads| Ok(reads.has_synced(&gvr)?)))
    }
}

impl GuestState {
    fn reads(&self) -> std::result::Result<&Reads, Error> {
        let nothing = || Error::NotGranted("nothing is granted while describing".to_owned());
        self.reads.as_deref().ok_or_else(nothing)
    }

    fn object(&self, gvr: &str, key: &GuestKey) -> std::result::Result<Option<Object>, Error> {
        let key =
            ObjectKey { namespace: key.namespace.as_str().into(), name: key.name.as_str().into() };
        Ok(self.reads()?.get(gvr, &key)?)
    }

    fn bounds(&self, limit: u32) -> Bounds {
        let limits = self.limits();
        let items = match limit as usize {
            0 => limits.page_items_default,
            limit => limit,
        };
        Bounds { items, bytes: limits.answer_bytes_max }
    }
}

fn page(answer: Answer<Object>) -> Page {
    let items = answer.items.iter().map(|object| object.json().to_vec()).collect();
    Page { items, next: answer.next }
}

fn guest_key(key: &ObjectKey) -> GuestKey {
    GuestKey { namespace: key.namespace.to_string(), name: key.name.to_string() }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotGranted(text) => Self::NotGranted(text),
            ReadError::UnknownIndex(text) => Self::UnknownIndex(text),
            ReadError::NotSynced(text) => Self::NotSynced(text),
            ReadError::Invalid(text) => Self::Invalid(text),
        }
    }
}
