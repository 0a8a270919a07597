//! The same functions for an instance whose calls are recorded or played back (`guest/tape.rs`).
//! Each asks the tape for an answer first, and passes its own answer to the tape.
//!
//! What only looks at what the guest was handed (`event-data`) or says who it is (`host-info`, but for what may change) is not worth a line.

mod outside;

use super::host_call::{self, HostCall};
use super::{Json, Labels};
use crate::guest::bindings::informant::plugin::types::ObjectKeyResult as GuestKey;
use crate::guest::bindings::informant::plugin::{
    event_data, host_info, indexer, log, metrics, state, workqueue,
};
use crate::guest::guest_state::GuestState;
use crate::guest::tape::{Tape, Taped, key_text};
use serde_json::{Value, json};
use std::sync::Arc;
use wasmtime::component::HasData;

type TapedAnswer<T, E> = wasmtime::Result<Result<T, E>>;

/// A call of a host function by a guest that may have a tape.
pub(crate) struct TapedCall<'a>(&'a mut GuestState);

/// What interfaces are linked with so.
pub(crate) struct TapedInterfaces;

impl HasData for TapedInterfaces {
    type Data<'a> = TapedCall<'a>;
}

pub(crate) fn begin(state: &mut GuestState) -> TapedCall<'_> {
    TapedCall(state)
}

impl TapedCall<'_> {
    fn call(&mut self) -> HostCall<'_> {
        host_call::begin(self.0)
    }

    /// None where there is no tape.
    fn question(&self, function: &'static str, with: Value) -> Option<Question> {
        Some(Question { tape: self.0.tape.clone()?, function, with })
    }

    /// What the tape knows, else what the function answers.
    fn taped<T: Taped>(
        &mut self,
        function: &'static str,
        with: Value,
        answer: impl FnOnce(&mut HostCall<'_>) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        let Some(question) = self.question(function, with) else {
            return answer(&mut self.call());
        };
        let known = question.known();
        Ok(question.answered(known.map_or_else(|| answer(&mut self.call()), Ok)?))
    }

    /// The same for what waits for somebody else.
    async fn taped_later<T: Taped>(
        &mut self,
        function: &'static str,
        with: Value,
        answer: impl AsyncFnOnce(&mut GuestState) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        let Some(question) = self.question(function, with) else { return answer(self.0).await };
        let answer = match question.known() {
            Some(known) => known,
            None => answer(self.0).await?,
        };
        Ok(question.answered(answer))
    }
}

/// What a guest with a tape asks.
struct Question {
    tape: Arc<dyn Tape>,
    function: &'static str,
    with: Value,
}

impl Question {
    /// What is answered without asking anybody.
    fn known<T: Taped>(&self) -> Option<T> {
        self.tape.answer(self.function, &self.with).and_then(|it| T::from_tape(&it))
    }

    /// Before the guest hears it.
    fn answered<T: Taped>(self, answer: T) -> T {
        self.tape.asked(self.function, self.with, answer.to_tape());
        answer
    }
}

impl indexer::Host for TapedCall<'_> {
    fn get(&mut self, gvr: String, key: GuestKey) -> TapedAnswer<Option<Json>, indexer::Error> {
        let with = json!({ "resource": gvr, "key": key_text(&key) });
        self.taped("indexer.get", with, |it| it.get(gvr, key))
    }

    fn fields(
        &mut self,
        gvr: String,
        key: GuestKey,
        pointers: Vec<String>,
    ) -> TapedAnswer<Option<Vec<Option<String>>>, indexer::Error> {
        let with = json!({ "resource": gvr, "key": key_text(&key), "pointers": pointers });
        self.taped("indexer.fields", with, |it| it.fields(gvr, key, pointers))
    }

    fn list(
        &mut self,
        gvr: String,
        namespace: Option<String>,
        label_selector: String,
        limit: u32,
        cursor: Option<String>,
    ) -> TapedAnswer<indexer::Page, indexer::Error> {
        let with = json!({ "resource": gvr, "namespace": namespace, "labelSelector": label_selector, "limit": limit, "cursor": cursor });
        self.taped("indexer.list", with, |it| {
            it.list(gvr, namespace, label_selector, limit, cursor)
        })
    }

    fn by_index(
        &mut self,
        gvr: String,
        index: String,
        value: String,
        limit: u32,
        cursor: Option<String>,
    ) -> TapedAnswer<indexer::Page, indexer::Error> {
        let with = of_index(&gvr, &index, Some(&value), limit, cursor.as_ref());
        self.taped("indexer.by-index", with, |it| it.by_index(gvr, index, value, limit, cursor))
    }

    fn index_keys(
        &mut self,
        gvr: String,
        index: String,
        value: String,
        limit: u32,
        cursor: Option<String>,
    ) -> TapedAnswer<indexer::KeyPage, indexer::Error> {
        let with = of_index(&gvr, &index, Some(&value), limit, cursor.as_ref());
        self.taped("indexer.index-keys", with, |it| it.index_keys(gvr, index, value, limit, cursor))
    }

    fn index_values(
        &mut self,
        gvr: String,
        index: String,
        limit: u32,
        cursor: Option<String>,
    ) -> TapedAnswer<indexer::ValuePage, indexer::Error> {
        let with = of_index(&gvr, &index, None, limit, cursor.as_ref());
        self.taped("indexer.index-values", with, |it| it.index_values(gvr, index, limit, cursor))
    }

    fn count(
        &mut self,
        gvr: String,
        namespace: Option<String>,
    ) -> TapedAnswer<u64, indexer::Error> {
        let with = json!({ "resource": gvr, "namespace": namespace });
        self.taped("indexer.count", with, |it| it.count(gvr, namespace))
    }

    fn has_synced(&mut self, gvr: String) -> TapedAnswer<bool, indexer::Error> {
        let with = json!({ "resource": gvr });
        self.taped("indexer.has-synced", with, |it| it.has_synced(gvr))
    }
}

fn of_index(
    gvr: &str,
    index: &str,
    value: Option<&String>,
    limit: u32,
    cursor: Option<&String>,
) -> Value {
    json!({ "resource": gvr, "index": index, "value": value, "limit": limit, "cursor": cursor })
}

impl state::Host for TapedCall<'_> {
    fn get(&mut self, key: String) -> TapedAnswer<Option<Vec<u8>>, String> {
        self.taped("state.get", json!({ "key": key }), |it| state::Host::get(it, key))
    }

    fn set(&mut self, key: String, value: Option<Vec<u8>>) -> TapedAnswer<(), String> {
        let with = json!({ "key": key, "value": value.to_tape() });
        self.taped("state.set", with, |it| it.set(key, value))
    }

    fn compare_and_set(
        &mut self,
        key: String,
        expected: Option<Vec<u8>>,
        value: Option<Vec<u8>>,
    ) -> TapedAnswer<bool, String> {
        let with = json!({ "key": key, "expected": expected.to_tape(), "value": value.to_tape() });
        self.taped("state.compare-and-set", with, |it| it.compare_and_set(key, expected, value))
    }

    fn keys(&mut self, prefix: String) -> TapedAnswer<Vec<String>, String> {
        let with = json!({ "prefix": prefix });
        self.taped("state.keys", with, |it| state::Host::keys(it, prefix))
    }
}

impl metrics::Host for TapedCall<'_> {
    fn counter_add(&mut self, name: String, labels: Labels, value: f64) -> TapedAnswer<(), String> {
        let with = json!({ "name": name, "labels": labels, "value": value });
        self.taped("metrics.counter-add", with, |it| it.counter_add(name, labels, value))
    }

    fn gauge_set(&mut self, name: String, labels: Labels, value: f64) -> TapedAnswer<(), String> {
        let with = json!({ "name": name, "labels": labels, "value": value });
        self.taped("metrics.gauge-set", with, |it| it.gauge_set(name, labels, value))
    }

    fn histogram_observe(
        &mut self,
        name: String,
        labels: Labels,
        value: f64,
    ) -> TapedAnswer<(), String> {
        let with = json!({ "name": name, "labels": labels, "value": value });
        self.taped("metrics.histogram-observe", with, |it| {
            it.histogram_observe(name, labels, value)
        })
    }
}

impl workqueue::Host for TapedCall<'_> {
    fn add(&mut self, key: String) -> wasmtime::Result<()> {
        self.taped("workqueue.add", json!({ "key": key }), |it| it.add(key))
    }

    fn add_after(&mut self, key: String, ms: u64) -> wasmtime::Result<()> {
        let with = json!({ "key": key, "ms": ms });
        self.taped("workqueue.add-after", with, |it| it.add_after(key, ms))
    }

    fn add_rate_limited(&mut self, key: String) -> wasmtime::Result<()> {
        let with = json!({ "key": key });
        self.taped("workqueue.add-rate-limited", with, |it| it.add_rate_limited(key))
    }

    fn forget(&mut self, key: String) -> wasmtime::Result<()> {
        self.taped("workqueue.forget", json!({ "key": key }), |it| it.forget(key))
    }

    fn num_requeues(&mut self, key: String) -> wasmtime::Result<u32> {
        let with = json!({ "key": key });
        self.taped("workqueue.num-requeues", with, |it| it.num_requeues(key))
    }

    fn len(&mut self) -> wasmtime::Result<u32> {
        self.taped("workqueue.len", json!({}), |it| it.len())
    }
}

impl host_info::Host for TapedCall<'_> {
    fn is_leader(&mut self) -> wasmtime::Result<bool> {
        self.taped("host-info.is-leader", json!({}), |it| it.is_leader())
    }

    fn plugin_name(&mut self) -> wasmtime::Result<String> {
        self.taped("host-info.plugin-name", json!({}), |it| it.plugin_name())
    }

    fn shard(&mut self) -> wasmtime::Result<(u32, u32)> {
        self.taped("host-info.shard", json!({}), |it| it.shard())
    }

    fn host_version(&mut self) -> wasmtime::Result<String> {
        self.taped("host-info.host-version", json!({}), |it| it.host_version())
    }
}

impl event_data::Host for TapedCall<'_> {
    fn json(&mut self, side: event_data::Side) -> wasmtime::Result<Option<Vec<u8>>> {
        self.call().json(side)
    }

    fn fields(
        &mut self,
        side: event_data::Side,
        pointers: Vec<String>,
    ) -> wasmtime::Result<Vec<Option<String>>> {
        event_data::Host::fields(&mut self.call(), side, pointers)
    }

    fn changed(&mut self, pointer: String) -> wasmtime::Result<bool> {
        self.call().changed(pointer)
    }
}

impl log::Host for TapedCall<'_> {
    fn enabled(&mut self, level: log::Level) -> wasmtime::Result<bool> {
        self.call().enabled(level)
    }

    fn log(
        &mut self,
        level: log::Level,
        message: String,
        fields: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        self.call().log(level, message, fields)
    }
}
