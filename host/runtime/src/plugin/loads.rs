//! Steps of plugins beside the host's task: preparations, swaps and stops. They take as long as the guest takes, so
//! the host never waits for a single one.

use super::Loaded;
use crate::contract::configuration::Sidecar;
use crate::event::SubscriptionId;
use crate::kept::archive::Kept;
use crate::kept::dead_letters::Selection;
use crate::plugin::admin::Reply;
use crate::plugin::prepare::{LoadError, Prepared};
use crate::plugin_name::PluginName;
use crate::powers::access::VersionPermissions;
use hashbrown::HashMap;
use std::future::Future;
use std::time::Instant;
use tokio::task::{Id, JoinSet};

/// One version on its way. Its number separates it from other loads of the same name.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) name: PluginName,
    pub(crate) number: u64,
    /// The hash of the plugin file, in hexadecimal. Empty while the plugin's kept data is read.
    pub(crate) sha256: String,
    /// Whether the load is a rollback.
    pub(crate) is_rollback: bool,
    began: Instant,
}

impl Load {
    pub(crate) fn new(name: PluginName, number: u64, sha256: String) -> Self {
        Self { name, number, sha256, is_rollback: false, began: Instant::now() }
    }

    /// The beginning of the hash, for people.
    pub(crate) fn short_hash(&self) -> &str {
        self.sha256.get(..12).unwrap_or_default()
    }

    /// Whether the plugin's kept data is read, before the first version is loaded.
    pub(crate) fn reads_kept_data(&self) -> bool {
        self.sha256.is_empty()
    }

    /// The version with its file.
    pub(crate) fn loaded(&self, prepared: Prepared) -> Loaded {
        Loaded { sha256: self.sha256.clone(), prepared }
    }

    /// The log's message when the version has taken over.
    pub(crate) fn success(&self, is_first: bool) -> String {
        match is_first {
            true => "running".to_owned(),
            false => format!("reloaded in {:.2} s", self.began.elapsed().as_secs_f64()),
        }
    }
}

/// The end of a step.
pub(crate) enum StepOutcome {
    /// The plugin's kept data was read. `None`: nothing reads or writes it any more.
    Read(Load, Option<Kept>),
    /// The file beside a plugin's was read.
    Configured(PluginName, Box<Sidecar>),
    /// The version can be started.
    Prepared(Load, Prepared),
    /// The version took over.
    Swapped(Load, Box<TookOver>),
    /// The version will not take over.
    Refused(Load, LoadError),
    /// A removed plugin of this name has ended.
    Stopped(PluginName),
    /// A plugin whose file is gone got its waiting events, or as many as there was time for.
    Drained(PluginName, u64),
    /// The kept data of an absent plugin was read, for a purge.
    Absent(Box<AbsentPurge>),
}

/// A request to purge dead letters of an absent plugin.
pub(crate) struct AbsentPurge {
    pub(crate) name: PluginName,
    pub(crate) selection: Selection,
    pub(crate) reply: Reply,
    /// `None`: nothing reads or writes the data any more.
    pub(crate) kept: Option<Kept>,
}

/// A version in charge.
pub(crate) struct TookOver {
    pub(crate) prepared: Prepared,
    /// The ids of its subscriptions, in the descriptor's order.
    pub(crate) ids: Vec<SubscriptionId>,
    /// Whether the version restored the snapshot of the version before.
    pub(crate) restored: bool,
    /// The reads that the version may make.
    pub(crate) granted: VersionPermissions,
}

/// The steps under way.
#[derive(Default)]
pub(crate) struct Loads {
    steps: JoinSet<StepOutcome>,
    loads: HashMap<Id, Load>,
    /// Removed plugins that have not ended yet.
    stops: HashMap<Id, PluginName>,
    /// Drains by plugin and number.
    drains: HashMap<Id, (PluginName, u64)>,
}

impl Loads {
    /// Carries out a step of a load. If the step panics, the load is refused.
    pub(crate) fn spawn(
        &mut self,
        load: Load,
        step: impl Future<Output = StepOutcome> + Send + 'static,
    ) {
        let id = self.steps.spawn(step).id();
        self.loads.insert(id, load);
    }

    /// Stops a removed plugin.
    pub(crate) fn spawn_stop(
        &mut self,
        name: PluginName,
        stop: impl Future<Output = ()> + Send + 'static,
    ) {
        let of = name.clone();
        let stop = self.steps.spawn(async move {
            stop.await;
            StepOutcome::Stopped(of)
        });
        self.stops.insert(stop.id(), name);
    }

    /// Waits until a plugin whose file is gone has got its waiting events.
    pub(crate) fn spawn_drain(
        &mut self,
        (name, number): (PluginName, u64),
        drain: impl Future<Output = ()> + Send + 'static,
    ) {
        let of = name.clone();
        let drain = self.steps.spawn(async move {
            drain.await;
            StepOutcome::Drained(of, number)
        });
        self.drains.insert(drain.id(), (name, number));
    }

    /// Reads the file beside a plugin's.
    pub(crate) fn spawn_configuration(
        &mut self,
        name: PluginName,
        read: impl Future<Output = Sidecar> + Send + 'static,
    ) {
        self.steps.spawn(async move { StepOutcome::Configured(name, Box::new(read.await)) });
    }

    /// Reads the kept data of an absent plugin. If a defect ends the read, the caller gets no answer.
    pub(crate) fn spawn_read(&mut self, read: impl Future<Output = AbsentPurge> + Send + 'static) {
        self.steps.spawn(async move { StepOutcome::Absent(Box::new(read.await)) });
    }

    /// Whether a plugin of this name was removed and has not ended yet.
    pub(crate) fn is_stopping(&self, name: &PluginName) -> bool {
        self.stops.values().any(|stopping| stopping == name)
    }

    /// The next end of a step; `None` while no step is under way.
    pub(crate) async fn next(&mut self) -> Option<StepOutcome> {
        loop {
            let ended = self.steps.join_next_with_id().await?;
            let id = ended.as_ref().map_or_else(tokio::task::JoinError::id, |(id, _)| *id);
            let (load, stop) = (self.loads.remove(&id), self.stops.remove(&id));
            let drain = self.drains.remove(&id);
            let error = match ended {
                Ok((_, outcome)) => return Some(outcome),
                Err(error) => error,
            };
            if let Some(load) = load {
                return Some(StepOutcome::Refused(load, LoadError::Host(error.to_string())));
            }
            if let Some((name, number)) = drain {
                return Some(StepOutcome::Drained(name, number));
            }
            if let Some(name) = stop {
                return Some(StepOutcome::Stopped(name));
            }
        }
    }

    /// Drops all loads, and waits only for stops.
    pub(crate) async fn shutdown(&mut self) {
        self.steps.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_without_a_file_has_no_hash_to_show() {
        let load = |sha256: &str| Load::new("a".parse().expect("a name"), 1, sha256.to_owned());
        let hash = "0123456789abcdef";
        assert_eq!((load(hash).short_hash(), load(hash).reads_kept_data()), (&hash[..12], false));
        assert_eq!((load("").short_hash(), load("").reads_kept_data()), ("", true));
    }
}
