//! Runs a plugin in an ordinary unit test, without wasm and without a cluster. The test's host has a cache that the
//! test can fill and a log that the test can read. This module exists in native builds only.
//!
//! ```
//! # use informant_plugin::prelude::*;
//! # struct Greeter;
//! # impl Plugin for Greeter {
//! #     fn describe(_: &Config) -> Result<Descriptor> {
//! #         Ok(Descriptor::new("0.1.0").subscribe(Subscription::to("v1/pods")))
//! #     }
//! #     fn start(_: &Config) -> Result<Self> { Ok(Greeter) }
//! #     fn handle(&mut self, event: Event) -> Result {
//! #         info!("{} {}", event.change(), event.key());
//! #         Ok(())
//! #     }
//! # }
//! use informant_plugin::testing::{Host, added};
//! use serde_json::json;
//!
//! let host = Host::new();
//! let mut greeter = host.start::<Greeter>(json!({})).unwrap();
//! greeter.handle(added(json!({"metadata": {"namespace": "default", "name": "web-1"}}))).unwrap();
//! assert_eq!(host.messages(), ["added default/web-1"]);
//! ```
//!
//! This host belongs to the test's thread. It delivers the events that the test gives it: namespaces, selectors,
//! filters and replay work only in the real host.

mod answers;
mod event;

pub use crate::imports::test_host::{Line, TestRequest, TestWrite};
pub use event::{TestEvent, added, deleted, updated};

use crate::imports::test_host::{State, with};
use crate::{
    Change, Config, Descriptor, Event, Failure, ObjectKey, Plugin, Reconciler, Result, SyncAware,
    Timer,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::Duration;

/// The host of one test. A new one is empty and replaces the previous one.
pub struct Host {
    on_this_thread: PhantomData<*const ()>,
}

impl Host {
    /// A host with an empty cache and an empty log.
    #[must_use]
    pub fn new() -> Self {
        with(|state| *state = State::default());
        Self { on_this_thread: PhantomData }
    }

    /// Puts an object into the cache, without an event.
    pub fn put(&self, resource: &str, object: Value) {
        with(|state| state.cache.put(resource, object));
    }

    /// Removes an object from the cache, without an event.
    pub fn remove(&self, resource: &str, key: &ObjectKey) {
        with(|state| state.cache.remove(resource, key));
    }

    /// Sets whether the resource's first list is complete. It is complete by default.
    pub fn set_synced(&self, resource: &str, synced: bool) {
        with(|state| state.cache.set_synced(resource, synced));
    }

    /// Sets a value of the plugin's state, as if an earlier call had written it.
    pub fn set_state(&self, key: &str, value: &[u8]) {
        with(|state| state.values.put(key, value));
    }

    /// A value of the plugin's state, as the successful calls left it.
    #[must_use]
    pub fn state(&self, key: &str) -> Option<Vec<u8>> {
        with(|state| state.values.get(key).cloned())
    }

    /// The waiting keys that are due, in the order in which they were added.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        with(|state| state.keys.waiting().to_vec())
    }

    /// The delayed keys, with their delays.
    #[must_use]
    pub fn delayed_keys(&self) -> BTreeMap<String, Duration> {
        with(|state| state.keys.delayed().clone())
    }

    /// Lets time pass for the queue. The delayed keys that are due by then are in `keys`, in the order of their times.
    pub fn wait(&self, passes: Duration) {
        with(|state| state.keys.wait(passes));
    }

    /// The value of a counter or a gauge, or the sum of a histogram's values. `None` if it does not exist. A counter's
    /// name has no `_total` here.
    #[must_use]
    pub fn metric(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut labels: Vec<_> = labels.iter().map(owned).collect();
        labels.sort();
        with(|state| state.metrics.get(&(name.to_owned(), labels)).copied())
    }

    /// All writes of the plugin so far, with any answers. They change no object, and all of them are granted.
    #[must_use]
    pub fn writes(&self) -> Vec<TestWrite> {
        with(|state| state.writes.made().to_vec())
    }

    /// Sets the answer to the next write. Several calls set the answers to several writes. By default, the answer to a
    /// write is the written object.
    pub fn answer_write(&self, answer: std::result::Result<Value, crate::kube::Error>) {
        let answer = answer.map_err(answers::of_write);
        with(|state| state.writes.answer(answer));
    }

    /// All HTTP requests of the plugin so far, with any answers. They are not sent, and all of them are granted.
    #[must_use]
    pub fn requests(&self) -> Vec<TestRequest> {
        with(|state| state.requests.made().to_vec())
    }

    /// Sets the answer to the next HTTP request. Several calls set the answers to several requests. By default, the
    /// answer is 200 without a body.
    pub fn answer_request(
        &self,
        answer: std::result::Result<crate::http::Response, crate::http::Error>,
    ) {
        let answer = answer.map(crate::http::Response::into_contract).map_err(answers::of_http);
        with(|state| state.requests.answer(answer));
    }

    /// Calls `describe` and `start` of a plugin, as the real host does. From then on it may read only the resources of
    /// its descriptor.
    pub fn start<P: Plugin>(&self, config: impl Serialize) -> Result<Running<P>> {
        let config = Config::from_json(serde_json::to_vec(&config)?);
        let descriptor = P::describe(&config)?;
        descriptor.check()?;
        let readable = descriptor.readable().map(str::to_owned).collect();
        with(|state| state.cache.grant(readable, descriptor.indexes.clone()));
        Ok(Running { plugin: P::start(&config)?, descriptor, seq: 0 })
    }

    /// Every line logged so far.
    #[must_use]
    pub fn log(&self) -> Vec<Line> {
        with(|state| state.log.clone())
    }

    /// The texts of all lines logged so far.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        with(|state| state.log.iter().map(|line| line.message.clone()).collect())
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

/// A started plugin.
#[derive(Debug)]
pub struct Running<P> {
    plugin: P,
    descriptor: Descriptor,
    seq: u64,
}

impl<P: Plugin> Running<P> {
    /// Delivers one event. The cache then contains its object, as with the real host. Of the subscription's conditions
    /// its types and `only_if_changed` count: without them the plugin is not called. The object is in the view, and
    /// passes the filter.
    pub fn handle(&mut self, event: TestEvent) -> Result {
        let subscription =
            self.descriptor.subscriptions.get(event.subscription as usize).ok_or_else(|| {
                Failure::new(format!("the plugin has no subscription {}", event.subscription))
            })?;
        with(|state| match event.change {
            Change::Deleted => state.cache.remove(&subscription.resource, &event.key()),
            Change::Added | Change::Updated => {
                state.cache.put(&subscription.resource, event.newest().clone());
            }
        });
        if !event.is_wanted(subscription) {
            return Ok(());
        }
        with(|state| state.event = event.sides(subscription));
        self.seq += 1;
        let event = Event::new(event.into_contract(self.seq, subscription));
        let result = at_work(|| self.plugin.handle(event));
        with(|state| state.event = (None, None));
        result
    }

    /// Works on a key, whether it waits or not. Afterwards a key that must come again is delayed, as with the real
    /// host.
    pub fn reconcile(&mut self, key: &str, attempt: u32) -> Result<Option<Duration>>
    where
        P: Reconciler,
    {
        with(|state| state.keys.take(key));
        let result = at_work(|| self.plugin.reconcile(key, attempt));
        with(|state| state.keys.settle(key, &result));
        result
    }

    /// Calls `fire` for one of its schedules.
    pub fn fire(&mut self, schedule: &str, unix_ms: u64) -> Result
    where
        P: Timer,
    {
        if !self.descriptor.schedules.iter().any(|known| known.name == schedule) {
            return Err(Failure::new(format!("the plugin has no schedule {schedule}")));
        }
        at_work(|| self.plugin.fire(schedule, unix_ms))
    }

    /// Calls `synced` for a subscription, counted from 0.
    pub fn synced(&mut self, subscription: u32) -> Result
    where
        P: SyncAware,
    {
        if self.descriptor.subscriptions.get(subscription as usize).is_none() {
            return Err(Failure::new(format!("the plugin has no subscription {subscription}")));
        }
        at_work(|| self.plugin.synced(subscription))
    }

    /// The plugin's descriptor.
    #[must_use]
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// The plugin itself, for checks of its state.
    #[must_use]
    pub fn plugin(&self) -> &P {
        &self.plugin
    }

    /// Calls `stop` of the plugin.
    pub fn stop(mut self) {
        self.plugin.stop();
    }
}

/// A call in which the plugin may write. Its writes are kept if it succeeds. It fails if a key could not be added.
fn at_work<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    with(|state| {
        state.values.begin();
        state.keys.begin();
    });
    let result = call();
    with(|state| {
        let added = state.keys.end();
        let result = result.and_then(|value| added.map(|()| value));
        state.values.end(result.is_ok());
        result
    })
}
