//! What is under way for plugins beside the host's task: preparations, swaps and stops. They take as long
//! as the guest takes, so the host never waits for one of them alone.

use crate::archive::Kept;
use crate::event::SubscriptionId;
use crate::plugin_name::PluginName;
use crate::prepare::{LoadError, Prepared};
use hashbrown::HashMap;
use std::future::Future;
use tokio::task::{Id, JoinSet};

/// One version on its way. Its number tells it from other loads of the same name.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) name: PluginName,
    pub(crate) number: u64,
    /// Of the plugin file, in hexadecimal.
    pub(crate) sha256: String,
}

/// How a step ended.
pub(crate) enum Outcome {
    /// What is kept of the plugin was read; none: nobody reads or writes it any more.
    Read(Load, Option<Kept>),
    /// The version can be started.
    Prepared(Load, Prepared),
    /// The version took over.
    Swapped(Load, Box<TookOver>),
    /// The version will not take over.
    Refused(Load, LoadError),
    /// A removed plugin of this name has ended.
    Stopped(PluginName),
}

/// A version in charge.
pub(crate) struct TookOver {
    pub(crate) prepared: Prepared,
    /// The ids of its subscriptions, in the descriptor's order.
    pub(crate) ids: Vec<SubscriptionId>,
    /// It knows what the version before it knew.
    pub(crate) restored: bool,
}

/// The steps under way.
#[derive(Default)]
pub(crate) struct Loads {
    steps: JoinSet<Outcome>,
    loads: HashMap<Id, Load>,
    /// Plugins that were removed and have not ended yet.
    stops: HashMap<Id, PluginName>,
}

impl Loads {
    /// Carries out a step of a load. If it panics the load is refused.
    pub(crate) fn spawn(
        &mut self,
        load: Load,
        step: impl Future<Output = Outcome> + Send + 'static,
    ) {
        let id = self.steps.spawn(step).id();
        self.loads.insert(id, load);
    }

    /// Lets a plugin that was removed end.
    pub(crate) fn spawn_stop(
        &mut self,
        name: PluginName,
        stop: impl Future<Output = ()> + Send + 'static,
    ) {
        let of = name.clone();
        let stop = self.steps.spawn(async move {
            stop.await;
            Outcome::Stopped(of)
        });
        self.stops.insert(stop.id(), name);
    }

    /// Whether a plugin of this name was removed and has not ended yet.
    pub(crate) fn is_stopping(&self, name: &PluginName) -> bool {
        self.stops.values().any(|stopping| stopping == name)
    }

    /// The next end of a step; none while nothing is under way.
    pub(crate) async fn next(&mut self) -> Option<Outcome> {
        let ended = self.steps.join_next_with_id().await?;
        let id = ended.as_ref().map_or_else(tokio::task::JoinError::id, |(id, _)| *id);
        let (load, stop) = (self.loads.remove(&id), self.stops.remove(&id));
        Some(match (ended, load, stop) {
            (Ok((_, outcome)), _, _) => outcome,
            (Err(error), Some(load), _) => {
                Outcome::Refused(load, LoadError::Host(error.to_string()))
            }
            (Err(_), None, stop) => {
                Outcome::Stopped(stop.expect("every step is a load's or a stop"))
            }
        })
    }

    /// Forgets loads, and waits for nothing but stops.
    pub(crate) async fn shutdown(&mut self) {
        self.steps.shutdown().await;
    }
}
