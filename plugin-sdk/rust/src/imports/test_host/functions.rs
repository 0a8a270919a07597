//! The contract's imports, implemented for the test's host. Signatures are those of the generated bindings.

use super::{Line, with};
use serde_json::Value;

pub(crate) mod log {
    use super::{Line, with};
    use crate::bindings::informant::plugin::log::Level;

    pub(crate) fn enabled(_: Level) -> bool {
        true
    }

    pub(crate) fn log(level: Level, message: &str, fields: &[(String, String)]) {
        let line = Line { level, message: message.to_owned(), fields: fields.to_vec() };
        with(|state| state.log.push(line));
    }
}

pub(crate) mod clock {
    use std::sync::LazyLock;
    use std::time::Instant;

    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

    /// Nanoseconds since the first call.
    pub(crate) fn now() -> u64 {
        u64::try_from(BEGUN.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

pub(crate) mod event_data {
    use super::{at, with};
    use crate::bindings::informant::plugin::event_data::Side;

    pub(crate) fn json(side: Side) -> Option<Vec<u8>> {
        with(|state| {
            let object = match side {
                Side::New => &state.event.0,
                Side::Old => &state.event.1,
            };
            object.as_ref().map(|o| o.to_string().into_bytes())
        })
    }

    pub(crate) fn fields(side: Side, pointers: &[String]) -> Vec<Option<String>> {
        with(|state| {
            let object = match side {
                Side::New => &state.event.0,
                Side::Old => &state.event.1,
            };
            pointers.iter().map(|p| object.as_ref().and_then(|o| at(o, p))).collect()
        })
    }

    pub(crate) fn changed(pointer: &str) -> bool {
        with(|state| {
            let value = |object: &Option<_>| object.as_ref().and_then(|o| at(o, pointer));
            value(&state.event.0) != value(&state.event.1)
        })
    }
}

pub(crate) mod state {
    use super::with;

    pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(with(|state| state.values.get(key).cloned()))
    }

    pub(crate) fn set(key: &str, value: Option<&[u8]>) -> Result<(), String> {
        with(|state| state.values.set(key, value))
    }

    pub(crate) fn compare_and_set(
        key: &str,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<bool, String> {
        with(|state| {
            let is_expected = state.values.get(key).map(Vec::as_slice) == expected;
            if is_expected {
                state.values.set(key, value)?;
            }
            Ok(is_expected)
        })
    }

    pub(crate) fn keys(prefix: &str) -> Result<Vec<String>, String> {
        Ok(with(|state| state.values.keys(prefix)))
    }
}

pub(crate) mod metrics {
    use super::with;

    type Labels = [(String, String)];

    pub(crate) fn counter_add(name: &str, labels: &Labels, value: f64) -> Result<(), String> {
        if value < 0.0 {
            return Err(format!("a counter only rises, and this is {value}"));
        }
        let name = name.strip_suffix("_total").unwrap_or(name);
        with(|state| *state.metric(name, labels) += value);
        Ok(())
    }

    pub(crate) fn gauge_set(name: &str, labels: &Labels, value: f64) -> Result<(), String> {
        with(|state| *state.metric(name, labels) = value);
        Ok(())
    }

    pub(crate) fn histogram_observe(name: &str, labels: &Labels, value: f64) -> Result<(), String> {
        with(|state| *state.metric(name, labels) += value);
        Ok(())
    }
}

pub(crate) mod kube {
    use super::super::writes::{TestWrite, name};
    use super::with;
    use crate::ObjectKey;
    use crate::bindings::informant::plugin::kube::{Error, PatchType};
    use serde_json::{Value, json};

    fn write(
        verb: &'static str,
        gvr: &str,
        key: &ObjectKey,
        subresource: &str,
        body: Value,
    ) -> TestWrite {
        let resource = match subresource {
            "" => gvr.to_owned(),
            subresource => format!("{gvr}/{subresource}"),
        };
        TestWrite { verb, resource, key: key.clone(), body }
    }

    fn read(json: &[u8]) -> Result<Value, Error> {
        serde_json::from_slice(json).map_err(|error| Error::Invalid(error.to_string()))
    }

    pub(crate) fn create(
        gvr: &str,
        key: &ObjectKey,
        subresource: &str,
        object: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let write = write("create", gvr, key, subresource, read(object)?);
        with(|state| state.writes.make(write))
    }

    pub(crate) fn update(
        gvr: &str,
        key: &ObjectKey,
        subresource: &str,
        object: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let write = write("update", gvr, key, subresource, read(object)?);
        with(|state| state.writes.make(write))
    }

    pub(crate) fn patch(
        gvr: &str,
        key: &ObjectKey,
        subresource: &str,
        kind: PatchType,
        patch: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let write = write(name(kind), gvr, key, subresource, read(patch)?);
        with(|state| state.writes.make(write))
    }

    pub(crate) fn delete(gvr: &str, key: &ObjectKey, uid: Option<&str>) -> Result<(), Error> {
        let write = write("delete", gvr, key, "", uid.into());
        with(|state| state.writes.make(write)).map(|_| ())
    }

    pub(crate) fn record_event(
        gvr: &str,
        key: &ObjectKey,
        warning: bool,
        reason: &str,
        message: &str,
    ) -> Result<(), Error> {
        let kind = if warning { "Warning" } else { "Normal" };
        let body = json!({ "type": kind, "reason": reason, "message": message });
        with(|state| state.writes.note(write("event", gvr, key, "", body)));
        Ok(())
    }
}

pub(crate) mod http {
    use super::with;
    use crate::bindings::informant::plugin::http::{Error, Request, Response};

    pub(crate) fn send(request: &Request) -> Result<Response, Error> {
        with(|state| state.requests.make(request))
    }
}

pub(crate) mod workqueue {
    use super::with;
    use std::time::Duration;

    pub(crate) fn add(key: &str) {
        with(|state| state.keys.add("add", key, Duration::ZERO));
    }

    pub(crate) fn add_after(key: &str, ms: u64) {
        with(|state| state.keys.add("add-after", key, Duration::from_millis(ms)));
    }

    pub(crate) fn add_rate_limited(key: &str) {
        with(|state| state.keys.add_rate_limited(key));
    }

    pub(crate) fn forget(key: &str) {
        with(|state| state.keys.forget(key));
    }

    pub(crate) fn num_requeues(key: &str) -> u32 {
        with(|state| state.keys.num_requeues(key))
    }

    pub(crate) fn len() -> u32 {
        with(|state| u32::try_from(state.keys.waiting().len()).unwrap_or(u32::MAX))
    }
}

pub(crate) mod host_info {
    pub(crate) fn is_leader() -> bool {
        true
    }

    pub(crate) fn plugin_name() -> String {
        "plugin-under-test".to_owned()
    }

    pub(crate) fn shard() -> (u32, u32) {
        (0, 1)
    }

    pub(crate) fn host_version() -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }
}

pub(crate) mod indexer {
    use super::{at, with};
    use crate::ObjectKey;
    use crate::bindings::informant::plugin::indexer::{Error, KeyPage, Page, ValuePage};

    pub(crate) fn get(resource: &str, key: &ObjectKey) -> Result<Option<Vec<u8>>, Error> {
        with(|state| Ok(state.cache.get(resource, key)?.map(|o| o.to_string().into_bytes())))
    }

    pub(crate) fn fields(
        resource: &str,
        key: &ObjectKey,
        pointers: &[String],
    ) -> Result<Option<Vec<Option<String>>>, Error> {
        with(|state| {
            let object = state.cache.get(resource, key)?;
            Ok(object.map(|o| pointers.iter().map(|p| at(o, p)).collect()))
        })
    }

    pub(crate) fn list(
        resource: &str,
        namespace: Option<&str>,
        labels: &str,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page, Error> {
        with(|state| state.cache.list(resource, namespace, labels, limit, cursor))
    }

    pub(crate) fn by_index(
        resource: &str,
        index: &str,
        value: &str,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page, Error> {
        with(|state| state.cache.by_index(resource, index, value, limit, cursor))
    }

    pub(crate) fn index_keys(
        resource: &str,
        index: &str,
        value: &str,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<KeyPage, Error> {
        with(|state| state.cache.index_keys(resource, index, value, limit, cursor))
    }

    pub(crate) fn index_values(
        resource: &str,
        index: &str,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<ValuePage, Error> {
        with(|state| state.cache.index_values(resource, index, limit, cursor))
    }

    pub(crate) fn count(resource: &str, namespace: Option<&str>) -> Result<u64, Error> {
        with(|state| state.cache.count(resource, namespace))
    }

    pub(crate) fn has_synced(resource: &str) -> Result<bool, Error> {
        with(|state| state.cache.has_synced(resource))
    }
}

fn at(object: &Value, pointer: &str) -> Option<String> {
    object.pointer(pointer).map(ToString::to_string)
}
