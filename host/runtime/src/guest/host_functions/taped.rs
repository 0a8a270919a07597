//! The same functions for an instance whose calls are recorded or played back (`guest/tape.rs`). Each asks the tape
//! for an answer first, and passes its own answer to the tape.
//!
//! Two groups of functions are not taped: those that only read the guest's event (`event-data`), and those of
//! `host-info` whose answers never change.

mod outside;

use super::host_call::{self, HostCall};
use super::{Json, Labels};
use crate::guest::bindings::informant::plugin::types::ObjectKeyResult as GuestKey;
use crate::guest::bindings::informant::plugin::{
    event_data, host_info, indexer, log, metrics, state, workqueue,
};
use crate::guest::guest_state::GuestState;
use crate::guest::tape::{Tape, Taped};
use serde_json::{Value, json};
use std::sync::Arc;
use wasmtime::component::HasData;

/// A call of a host function by a guest that may have a tape.
pub(crate) struct TapedCall<'a>(&'a mut GuestState);

/// Interfaces with this marker are taped.
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

    /// The arguments of a call, for a tape. Without a tape nothing is copied.
    fn arguments(&self, arguments: impl FnOnce() -> Value) -> Option<Value> {
        self.0.tape.is_some().then(arguments)
    }

    /// The question for the tape; `None` without a tape.
    fn question(&self, function: &'static str, with: Option<Value>) -> Option<Question> {
        Some(Question { tape: self.0.tape.clone()?, function, with: with? })
    }

    /// The tape's answer, or else the function's.
    fn taped<T: Taped>(
        &mut self,
        function: &'static str,
        with: Option<Value>,
        answer: impl FnOnce(&mut HostCall<'_>) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        let Some(question) = self.question(function, with) else {
            return answer(&mut self.call());
        };
        let known = question.known();
        Ok(question.answered(known.map_or_else(|| answer(&mut self.call()), Ok)?))
    }

    /// The same for a function that waits for an outside answer.
    async fn taped_later<T: Taped>(
        &mut self,
        function: &'static str,
        with: Option<Value>,
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

/// A call of a guest with a tape.
struct Question {
    tape: Arc<dyn Tape>,
    function: &'static str,
    with: Value,
}

impl Question {
    /// The answer that the tape has already.
    fn known<T: Taped>(&self) -> Option<T> {
        self.tape.answer(self.function, &self.with).and_then(|it| T::from_tape(&it))
    }

    /// Passes the answer to the tape before the guest gets it.
    fn answered<T: Taped>(self, answer: T) -> T {
        self.tape.asked(self.function, self.with, answer.to_tape());
        answer
    }
}

/// The functions of this interface. Each function and each argument has its name on tapes.
macro_rules! taped {
    ($interface:path; $(
        $called:literal
        $function:ident($($name:literal: $argument:ident: $type:ty),*) -> $answer:ty;
    )*) => { $(
        fn $function(&mut self, $($argument: $type),*) -> wasmtime::Result<$answer> {
            let with = self.arguments(|| json!({ $($name: $argument.to_tape()),* }));
            self.taped($called, with, |it| {
                <HostCall<'_> as $interface>::$function(it, $($argument),*)
            })
        }
    )* };
}

impl indexer::Host for TapedCall<'_> {
    taped! { indexer::Host;
        "indexer.get" get("resource": gvr: String, "key": key: GuestKey)
            -> Result<Option<Json>, indexer::Error>;
        "indexer.fields"
        fields("resource": gvr: String, "key": key: GuestKey, "pointers": pointers: Vec<String>)
            -> Result<Option<Vec<Option<String>>>, indexer::Error>;
        "indexer.list" list(
            "resource": gvr: String, "namespace": namespace: Option<String>,
            "labelSelector": selector: String, "limit": limit: u32, "cursor": cursor: Option<String>
        ) -> Result<indexer::Page, indexer::Error>;
        "indexer.by-index" by_index(
            "resource": gvr: String, "index": index: String, "value": value: String,
            "limit": limit: u32, "cursor": cursor: Option<String>
        ) -> Result<indexer::Page, indexer::Error>;
        "indexer.index-keys" index_keys(
            "resource": gvr: String, "index": index: String, "value": value: String,
            "limit": limit: u32, "cursor": cursor: Option<String>
        ) -> Result<indexer::KeyPage, indexer::Error>;
        "indexer.count" count("resource": gvr: String, "namespace": namespace: Option<String>)
            -> Result<u64, indexer::Error>;
        "indexer.has-synced" has_synced("resource": gvr: String) -> Result<bool, indexer::Error>;
    }

    /// Tapes have an empty value for each key.
    fn index_values(
        &mut self,
        gvr: String,
        index: String,
        limit: u32,
        cursor: Option<String>,
    ) -> wasmtime::Result<Result<indexer::ValuePage, indexer::Error>> {
        let with = self.arguments(|| json!({ "resource": gvr, "index": index, "value": null, "limit": limit, "cursor": cursor }));
        self.taped("indexer.index-values", with, |it| it.index_values(gvr, index, limit, cursor))
    }
}

impl state::Host for TapedCall<'_> {
    taped! { state::Host;
        "state.get" get("key": key: String) -> Result<Option<Vec<u8>>, String>;
        "state.set" set("key": key: String, "value": value: Option<Vec<u8>>) -> Result<(), String>;
        "state.compare-and-set" compare_and_set(
            "key": key: String, "expected": expected: Option<Vec<u8>>,
            "value": value: Option<Vec<u8>>
        ) -> Result<bool, String>;
        "state.keys" keys("prefix": prefix: String) -> Result<Vec<String>, String>;
    }
}

impl metrics::Host for TapedCall<'_> {
    taped! { metrics::Host;
        "metrics.counter-add"
        counter_add("name": name: String, "labels": labels: Labels, "value": value: f64)
            -> Result<(), String>;
        "metrics.gauge-set"
        gauge_set("name": name: String, "labels": labels: Labels, "value": value: f64)
            -> Result<(), String>;
        "metrics.histogram-observe"
        histogram_observe("name": name: String, "labels": labels: Labels, "value": value: f64)
            -> Result<(), String>;
    }
}

impl workqueue::Host for TapedCall<'_> {
    taped! { workqueue::Host;
        "workqueue.add" add("key": key: String) -> ();
        "workqueue.add-after" add_after("key": key: String, "ms": ms: u64) -> ();
        "workqueue.add-rate-limited" add_rate_limited("key": key: String) -> ();
        "workqueue.forget" forget("key": key: String) -> ();
        "workqueue.num-requeues" num_requeues("key": key: String) -> u32;
        "workqueue.len" len() -> u32;
    }
}

impl host_info::Host for TapedCall<'_> {
    taped! { host_info::Host;
        "host-info.is-leader" is_leader() -> bool;
        "host-info.plugin-name" plugin_name() -> String;
        "host-info.shard" shard() -> (u32, u32);
        "host-info.host-version" host_version() -> String;
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
