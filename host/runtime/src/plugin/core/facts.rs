//! The facts of a plugin for pages and metrics: its state, the running version, the results of its
//! latest load and calls.

use crate::contract::component::WasiImports;
use crate::contract::configuration::PluginSettings;
use crate::contract::descriptor::{ReadSpec, SubscriptionSpec};
use crate::event::SubscriptionId;
use crate::plugin::lifecycle::{Input, LifecycleState};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The facts of a plugin.
pub(crate) struct Facts {
    pub(crate) state: LifecycleState,
    /// The number of shards of the running version, and the shards that lack their instance.
    pub(crate) shards: usize,
    pub(crate) lost: BTreeSet<usize>,
    pub(crate) since: Timestamp,
    pub(crate) running: Option<RunningVersion>,
    pub(crate) last_load: Option<LastLoad>,
    pub(crate) last_error: Option<(String, Timestamp)>,
    /// The error of the last event that will be retried.
    pub(crate) last_retry: Option<String>,
    /// The error of the last key that will be retried.
    pub(crate) last_key_retry: Option<(String, String)>,
    /// Whether the log has reported missing keys of events.
    pub(crate) misses_keys: bool,
}

/// The version that takes events.
#[derive(Clone, Debug)]
pub(crate) struct RunningVersion {
    pub(crate) version: String,
    pub(crate) sha256: String,
    /// The functions that it imports from WASI.
    pub(crate) wasi: Arc<WasiImports>,
    /// The subscriptions with their ids.
    pub(crate) specs: Arc<[(SubscriptionId, Arc<SubscriptionSpec>)]>,
    /// The further reads.
    pub(crate) reads: Arc<[ReadSpec]>,
    /// The settings of the version.
    pub(crate) settings: Arc<PluginSettings>,
}

impl RunningVersion {
    /// The resources that it subscribes to or reads.
    pub(crate) fn resources(&self) -> impl Iterator<Item = String> {
        let subscribed = self.specs.iter().map(|(_, spec)| spec.resource.to_string());
        subscribed.chain(self.reads.iter().map(|spec| spec.resource.to_string()))
    }
}

/// How the latest load ended.
#[derive(Clone, Debug)]
pub(crate) struct LastLoad {
    pub(crate) result: &'static str,
    pub(crate) reason: Option<String>,
    pub(crate) sha256: String,
    pub(crate) at: Timestamp,
}

impl Facts {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            state: LifecycleState::Loading,
            shards: 0,
            lost: BTreeSet::new(),
            since: now,
            running: None,
            last_load: None,
            last_error: None,
            last_retry: None,
            last_key_retry: None,
            misses_keys: false,
        }
    }

    pub(super) fn step(&mut self, input: Input, now: Timestamp) {
        let before = self.state.clone();
        self.state = before.clone().step(input);
        if self.state.name() != before.name() {
            self.since = now;
        }
    }

    /// Applies the input. If an instance is missing, the plugin then backs off with the reason `missing`.
    pub(super) fn goes_on(&mut self, input: Input, missing: &str, now: Timestamp) {
        self.step(input, now);
        if !self.lost.is_empty() {
            self.step(Input::Crashed { reason: missing.to_owned() }, now);
        }
    }
}

impl LastLoad {
    pub(super) fn new(
        result: &'static str,
        reason: Option<&str>,
        sha256: &str,
        at: Timestamp,
    ) -> Self {
        Self { result, reason: reason.map(str::to_owned), sha256: sha256.to_owned(), at }
    }
}
