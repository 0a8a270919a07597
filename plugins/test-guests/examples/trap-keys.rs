//! Works on the keys of pods, panics on those of a pod named `trap-keys…`, and fails on those of one named `fail-keys…`.
//!
//! The host must end this instance only, have the next ones work on the key again, give it up once it has ended three, show it in `/plugins`,
//! and go on with the keys of other objects.

use std::time::Duration;

use informant_plugin::prelude::*;
use informant_plugin::{EnqueueRule, Reconciler};

/// The plugin.
pub struct TrapKeys;

impl Plugin for TrapKeys {
    fn describe(_: &Config) -> Result<Descriptor> {
        let pods = Subscription::to("v1/pods").enqueue(EnqueueRule::itself());
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(pods))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }
}

impl Reconciler for TrapKeys {
    fn reconcile(&mut self, key: &str, _: u32) -> Result<Option<Duration>> {
        let (namespace, name) = key.split_once('/').ok_or("a pod has a namespace")?;
        let pod = indexer::get_json("v1/pods", &ObjectKey::new(namespace, name))?;
        let is_asked_for = name.starts_with("trap-keys") || name.starts_with("sin-");
        assert!(pod.is_none() || !is_asked_for, "asked to trap by {key}");
        if pod.is_some() && name.starts_with("fail-keys") {
            return Err(Failure::new(format!("asked to fail by {key}")));
        }
        info!("worked on {key}");
        Ok(None)
    }
}

export_plugin!(TrapKeys, reconciler);
