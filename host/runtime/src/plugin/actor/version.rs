//! One version of a plugin, as its actors have it.

use crate::contract::configuration::PluginSettings;
use crate::contract::descriptor::SubscriptionSpec;
use crate::contract::schedule::ScheduleSpec;
use crate::delivery::reevaluation::Wish;
use crate::event::SubscriptionId;
use crate::guest::instance::Template;
use crate::guest::instance_ends::InstanceEnds;
use crate::guest::reads::Reads;
use crate::guest::tape::{Tape, TapeOf};
use crate::plugin_name::PluginName;
use crate::powers::access::Permissions;
use crate::shard::Shard;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// Everything that one version of a plugin needs to run.
pub(crate) struct Version {
    /// The load that brought it.
    pub(crate) load: u64,
    /// As its descriptor says.
    pub(crate) number: String,
    pub(crate) template: Template,
    pub(crate) reads: Arc<Reads>,
    pub(crate) settings: Arc<PluginSettings>,
    /// Which of the version's subscriptions an event's id is. Boxed, because a map has room for three at once and most plugins have one.
    pub(crate) subscriptions: HashMap<SubscriptionId, Box<Subscription>>,
    /// When it is called by the clock.
    pub(crate) schedules: Vec<ScheduleSpec>,
    /// In how many instances it runs.
    pub(crate) shards: usize,
    pub(crate) tapes: VersionTapes,
    /// For the log.
    pub(crate) ends: InstanceEnds,
}

/// The tape of each of a version's shards: it goes on from one instance to the next, and ends with the version.
#[derive(Default)]
pub(crate) struct VersionTapes(Mutex<BTreeMap<usize, Arc<dyn Tape>>>);

impl VersionTapes {
    /// That of a shard; `begin` makes the first one, if there is to be one.
    pub(super) fn of(
        &self,
        shard: usize,
        begin: impl FnOnce() -> Option<Arc<dyn Tape>>,
    ) -> Option<Arc<dyn Tape>> {
        match self.0.lock().entry(shard) {
            Entry::Occupied(tape) => Some(tape.get().clone()),
            Entry::Vacant(place) => Some(place.insert(begin()?).clone()),
        }
    }
}

impl Version {
    /// One of its shards.
    pub(super) fn shard(&self, number: usize) -> Shard {
        Shard { number, count: self.shards }
    }

    /// What a tape of one of its shards is of.
    pub(super) fn tape_of<'a>(&'a self, plugin: &'a PluginName, shard: usize) -> TapeOf<'a> {
        let mut subscriptions: Vec<_> = self.subscriptions.values().collect();
        subscriptions.sort_by_key(|it| it.index);
        let named = subscriptions.into_iter().map(|it| (it.spec.name.as_str(), &*it.resource));
        TapeOf {
            plugin,
            version: &self.number,
            shard: self.shard(shard),
            grants_secrets: self.settings.grants_secrets(),
            subscriptions: named.collect(),
        }
    }
}

/// How events of one subscription are handed over.
pub(crate) struct Subscription {
    /// Position in the version's descriptor.
    pub(crate) index: u32,
    /// The load since which it wants to hear of the same: events that others have queued are evaluated again.
    pub(crate) asked_by: u64,
    pub(crate) wish: Wish,
    pub(crate) resource: Arc<str>,
    pub(crate) permissions: Permissions,
    pub(crate) spec: SubscriptionSpec,
}
