//! One version of a plugin, for its actors.

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

/// The parts that one version of a plugin needs to run.
pub(crate) struct Version {
    /// The load that made the version.
    pub(crate) load: u64,
    /// The version number in the descriptor.
    pub(crate) number: String,
    pub(crate) template: Template,
    pub(crate) reads: Arc<Reads>,
    pub(crate) settings: Arc<PluginSettings>,
    /// The version's subscriptions, by the id in an event. Boxed: a map reserves room for three entries, and most
    /// plugins have one.
    pub(crate) subscriptions: HashMap<SubscriptionId, Box<Subscription>>,
    /// The version's schedules.
    pub(crate) schedules: Vec<ScheduleSpec>,
    /// The number of shards.
    pub(crate) shards: usize,
    pub(crate) tapes: VersionTapes,
    /// For the log.
    pub(crate) ends: InstanceEnds,
}

/// The tape of each shard of a version. It continues from one instance to the next, and ends with the version.
#[derive(Default)]
pub(crate) struct VersionTapes(Mutex<BTreeMap<usize, Arc<dyn Tape>>>);

impl VersionTapes {
    /// The tape of a shard. `begin` makes the first one, if the host records.
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
    /// The shard with this number.
    pub(super) fn shard(&self, number: usize) -> Shard {
        Shard { number, count: self.shards }
    }

    /// The description of a shard's tape.
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

/// The delivery settings of one subscription.
pub(crate) struct Subscription {
    /// Position in the version's descriptor.
    pub(crate) index: u32,
    /// The load since which the subscription is unchanged. Events that other loads queued are reevaluated.
    pub(crate) asked_by: u64,
    pub(crate) wish: Wish,
    pub(crate) resource: Arc<str>,
    pub(crate) permissions: Permissions,
    pub(crate) spec: Arc<SubscriptionSpec>,
}
