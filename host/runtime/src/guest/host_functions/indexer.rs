//! `indexer`: reads of the shared cache, limited to the plugin's views.

use super::fields::{FieldsError, fields};
use super::{HostCall, Json};
use crate::contract::selectors::label_selector;
use crate::guest::bindings::informant::plugin::indexer::{Error, Host, KeyPage, Page, ValuePage};
use crate::guest::bindings::informant::plugin::types::ObjectKeyResult as GuestKey;
use crate::guest::guest_state::GuestState;
use crate::guest::reads::{AnswerBounds, ReadAnswer, ReadError, Reads};
use informant_apimachinery::LabelSelector;
use informant_cache::{JsonReader, Object, ObjectKey};
use wasmtime::Trap;

type IndexerResult<T> = wasmtime::Result<std::result::Result<T, Error>>;
type ReadResult<T> = std::result::Result<T, ReadError>;

impl Host for HostCall<'_> {
    fn get(&mut self, gvr: String, key: GuestKey) -> IndexerResult<Option<Json>> {
        let read = self.object(&gvr, &key);
        self.answer(read.map(|object| object.map(|object| object.json().to_vec())))
    }

    fn fields(
        &mut self,
        gvr: String,
        key: GuestKey,
        pointers: Vec<String>,
    ) -> IndexerResult<Option<Vec<Option<String>>>> {
        let bytes_max = self.limits().answer_bytes_max;
        let values = |object: Object| {
            fields(&mut JsonReader::new(object.json()), &pointers, bytes_max, &self.clock)
        };
        let read = self.object(&gvr, &key).and_then(|object| Ok(object.map(values).transpose()?));
        self.answer(read)
    }

    fn list(
        &mut self,
        gvr: String,
        namespace: Option<String>,
        label_selector: String,
        limit: u32,
        cursor: Option<String>,
    ) -> IndexerResult<Page> {
        let found = self.reads_of(&gvr).and_then(|reads| {
            let selector = selector(&label_selector)?;
            let namespace = namespace.as_deref();
            reads.list(&gvr, namespace, &selector, self.bounds(limit), cursor.as_deref())
        });
        self.answer(found.map(page))
    }

    fn by_index(
        &mut self,
        gvr: String,
        index: String,
        value: String,
        limit: u32,
        cursor: Option<String>,
    ) -> IndexerResult<Page> {
        let found = self.reads_of(&gvr).and_then(|reads| {
            reads.by_index(&gvr, &index, &value, self.bounds(limit), cursor.as_deref())
        });
        self.answer(found.map(page))
    }

    fn index_keys(
        &mut self,
        gvr: String,
        index: String,
        value: String,
        limit: u32,
        cursor: Option<String>,
    ) -> IndexerResult<KeyPage> {
        let found = self.reads_of(&gvr).and_then(|reads| {
            reads.index_keys(&gvr, &index, &value, self.bounds(limit), cursor.as_deref())
        });
        self.answer(found.map(|found| KeyPage {
            keys: found.items.iter().map(|item| guest_key(item.0.key())).collect(),
            next: found.next,
        }))
    }

    fn index_values(
        &mut self,
        gvr: String,
        index: String,
        limit: u32,
        cursor: Option<String>,
    ) -> IndexerResult<ValuePage> {
        let found = self.reads_of(&gvr).and_then(|reads| {
            reads.index_values(&gvr, &index, self.bounds(limit), cursor.as_deref())
        });
        self.answer(found.map(|found| ValuePage { values: found.items, next: found.next }))
    }

    fn count(&mut self, gvr: String, namespace: Option<String>) -> IndexerResult<u64> {
        let counted = |reads: &Reads| reads.count(&gvr, namespace.as_deref(), self.bounds(0));
        let read = self.reads_of(&gvr).and_then(counted);
        self.answer(read)
    }

    fn has_synced(&mut self, gvr: String) -> IndexerResult<bool> {
        let read = self.reads_of(&gvr).and_then(|reads| reads.has_synced(&gvr));
        self.answer(read)
    }
}

impl GuestState {
    /// The reads of a resource: those of the version, unless the configuration no longer allows this read.
    pub(super) fn reads_of(&self, gvr: &str) -> ReadResult<&Reads> {
        let nothing = || ReadError::NotGranted("nothing is granted while describing".to_owned());
        let reads = self.reads.as_deref().ok_or_else(nothing)?;
        if let Some(powers) = &self.powers {
            let may = powers.restriction.check_read(&powers.settings, gvr);
            may.map_err(ReadError::Withdrawn)?;
        }
        Ok(reads)
    }

    fn object(&self, gvr: &str, key: &GuestKey) -> ReadResult<Option<Object>> {
        let key = ObjectKey::new(&*key.namespace, &*key.name);
        self.reads_of(gvr)?.get(gvr, &key)
    }

    /// A deadline ends the call; the guest handles every other error.
    fn answer<T>(&mut self, read: ReadResult<T>) -> IndexerResult<T> {
        self.notes.is_hindered |= read.as_ref().is_err_and(ReadError::is_hindrance);
        match read {
            Ok(found) => Ok(Ok(found)),
            Err(ReadError::NotGranted(text) | ReadError::Withdrawn(text)) => {
                Ok(Err(Error::NotGranted(text)))
            }
            Err(ReadError::UnknownIndex(text)) => Ok(Err(Error::UnknownIndex(text))),
            Err(ReadError::NotSynced(text)) => Ok(Err(Error::NotSynced(text))),
            Err(ReadError::Invalid(text)) => Ok(Err(Error::Invalid(text))),
            Err(ReadError::DeadlineExceeded) => Err(Trap::Interrupt.into()),
        }
    }

    fn bounds(&self, limit: u32) -> AnswerBounds<'_> {
        let limits = self.limits();
        let items = match limit as usize {
            0 => limits.page_items_max.div_ceil(2),
            limit => limit.min(limits.page_items_max),
        };
        AnswerBounds { items, bytes: limits.answer_bytes_max, clock: &self.clock }
    }
}

fn selector(text: &str) -> ReadResult<LabelSelector> {
    let invalid = |problem: String| ReadError::Invalid(format!("label selector: {problem}"));
    label_selector(text).map_err(invalid)
}

fn page(answer: ReadAnswer<Object>) -> Page {
    let items = answer.items.iter().map(|object| object.json().to_vec()).collect();
    Page { items, next: answer.next }
}

fn guest_key(key: &ObjectKey) -> GuestKey {
    GuestKey { namespace: key.namespace().to_owned(), name: key.name().to_owned() }
}

impl From<FieldsError> for ReadError {
    fn from(error: FieldsError) -> Self {
        match error {
            FieldsError::TooMuch(text) => Self::Invalid(text),
            FieldsError::DeadlineExceeded => Self::DeadlineExceeded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::limits::Limits;
    use crate::contract::selectors::SELECTOR_BYTES_MAX;
    use crate::log_budget::LogBudget;
    use std::sync::Arc;
    use std::time::Instant;

    #[track_caller]
    fn check_items(limit: u32, expect: usize) {
        let limits = Arc::<Limits>::default();
        let name = "p".parse().expect("a plugin's name");
        let budget = LogBudget::new(&*limits, Arc::default(), Instant::now());
        assert_eq!(GuestState::new(name, &limits, budget, None).bounds(limit).items, expect);
    }

    #[test]
    fn pages_are_bounded_whatever_the_plugin_says() {
        check_items(0, 500);
        check_items(1, 1);
        check_items(1_000, 1_000);
        check_items(u32::MAX, 1_000);
    }

    #[test]
    fn selectors_are_bounded() {
        let longest = "a".repeat(SELECTOR_BYTES_MAX);
        let error = selector(&format!("{longest}b")).err();
        let text = "label selector: it has 4097 bytes, at most 4096 are read";
        assert_eq!(error, Some(ReadError::Invalid(text.to_owned())));
        assert!(selector("app=web").is_ok());
    }
}
