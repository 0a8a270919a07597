//! A plugin in an ordinary unit test: no wasm and no cluster, but a host with a cache that can be filled
//! and a log that can be read. It exists natively only.
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
//! The host here belongs to the test's thread. It delivers what it is told to: selectors, filters and
//! replay are the real host's business and are not worked out.

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

/// The host of one test. Making another one empties it.
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

    /// Puts an object into the cache, without telling anybody.
    pub fn put(&self, resource: &str, object: Value) {
        with(|state| state.cache.put(resource, object));
    }

    /// Takes an object out of the cache, without telling anybody.
    pub fn remove(&self, resource: &str, key: &ObjectKey) {
        with(|state| state.cache.remove(resource, key));
    }

    /// Whether the resource's first list is complete; it is until this says otherwise.
    pub fn set_synced(&self, resource: &str, synced: bool) {
        with(|state| state.cache.set_synced(resource, synced));
    }

    /// Puts a value into the plugin's state, as if a call before had written it.
    pub fn set_state(&self, key: &str, value: &[u8]) {
        with(|state| state.values.put(key, value));
    }

    /// A value of the plugin's state: what the calls that succeeded have left.
    #[must_use]
    pub fn state(&self, key: &str) -> Option<Vec<u8>> {
        with(|state| state.values.get(key).cloned())
    }

    /// The keys that could be worked on now, in the order in which they were added.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        with(|state| state.keys.waiting().to_vec())
    }

    /// The keys that wait for their time, and how long.
    #[must_use]
    pub fn delayed_keys(&self) -> BTreeMap<String, Duration> {
        with(|state| state.keys.delayed().clone())
    }

    /// What a counter or a gauge is at, or what a histogram's values are together; none where nothing was counted. A counter's name goes
    /// without `_total`.
    #[must_use]
    pub fn metric(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut labels: Vec<_> = labels.iter().map(owned).collect();
        labels.sort();
        with(|state| state.metrics.get(&(name.to_owned(), labels)).copied())
    }

    /// What the plugin wrote to the cluster so far, whatever it was answered. Nothing is changed by it, and everything is granted.
    #[must_use]
    pub fn writes(&self) -> Vec<TestWrite> {
        with(|state| state.writes.made().to_vec())
    }

    /// What the next write is answered with, and after several calls the one after that; by itself a write is answered with what was sent.
    pub fn answer_write(&self, answer: std::result::Result<Value, crate::kube::Error>) {
        let answer = answer.map_err(answers::of_write);
        with(|state| state.writes.answer(answer));
    }

    /// What the plugin asked over HTTP so far, whatever it was answered. Nobody is asked, and everything is granted.
    #[must_use]
    pub fn requests(&self) -> Vec<TestRequest> {
        with(|state| state.requests.made().to_vec())
    }

    /// What the next request over HTTP is answered with, and after several calls the one after that; by itself one is answered with 200 and no body.
    pub fn answer_request(
        &self,
        answer: std::result::Result<crate::http::Response, crate::http::Error>,
    ) {
        let answer = answer.map(crate::http::Response::into_contract).map_err(answers::of_http);
        with(|state| state.requests.answer(answer));
    }

    /// Describes and starts a plugin, as the real host does. From here on it may read only what its
    /// descriptor covers.
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
    /// Hands over one event. The cache has it by then, as it has with the real host.
    pub fn handle(&mut self, event: TestEvent) -> Result {
        let subscription =
            self.descriptor.subscriptions.get(event.subscription as usize).ok_or_else(|| {
                Failure::new(format!("the plugin has no subscription {}", event.subscription))
            })?;
        with(|state| {
            match event.change {
                Change::Deleted => state.cache.remove(&subscription.resource, &event.key()),
                Change::Added | Change::Updated => {
                    state.cache.put(&subscription.resource, event.newest().clone());
                }
            }
            state.event = event.sides(subscription);
        });
        self.seq += 1;
        let event = Event::new(event.into_contract(self.seq, subscription));
        let result = at_work(|| self.plugin.handle(event));
        with(|state| state.event = (None, None));
        result
    }

    /// Has it work on a key, whether that waits or not. One that is to come again is delayed afterwards, as the host would have it.
    pub fn reconcile(&mut self, key: &str, attempt: u32) -> Result<Option<Duration>>
    where
        P: Reconciler,
    {
        with(|state| state.keys.take(key));
        let result = at_work(|| self.plugin.reconcile(key, attempt));
        with(|state| state.keys.settle(key, &result));
        result
    }

    /// Tells that the moment of one of its schedules has come.
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

    /// What the plugin asked for.
    #[must_use]
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// The plugin itself, to look at its state.
    #[must_use]
    pub fn plugin(&self) -> &P {
        &self.plugin
    }

    /// Ends it.
    pub fn stop(mut self) {
        self.plugin.stop();
    }
}

/// A call in which the plugin may write: what it wrote counts if it succeeds, which it has not if a key could not be added.
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
