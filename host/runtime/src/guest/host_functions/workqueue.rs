//! `workqueue`: keys that the plugin wants to reconcile.

use super::HostCall;
use crate::call_error::CallError;
use crate::delivery::key_queue::{AddError, HashedKey};
use crate::delivery::plugin_queue::PluginQueue;
use crate::guest::bindings::informant::plugin::workqueue::Host;
use crate::guest::guest_state::GuestState;
use informant_cache::workqueue::AddOptions;
use std::time::Duration;

impl Host for HostCall<'_> {
    fn add(&mut self, key: String) -> wasmtime::Result<()> {
        self.add_key("add", &key, AddOptions::default())
    }

    fn add_after(&mut self, key: String, ms: u64) -> wasmtime::Result<()> {
        let options = AddOptions { after: Duration::from_millis(ms), ..AddOptions::default() };
        self.add_key("add-after", &key, options)
    }

    fn add_rate_limited(&mut self, key: String) -> wasmtime::Result<()> {
        let options = AddOptions { rate_limited: true, ..AddOptions::default() };
        self.add_key("add-rate-limited", &key, options)
    }

    fn forget(&mut self, key: String) -> wasmtime::Result<()> {
        let keys = self.at_work("forget")?;
        if let Ok(key) = HashedKey::new(&key) {
            keys.change(|it| it.forget_key(key));
        }
        Ok(())
    }

    fn num_requeues(&mut self, key: String) -> wasmtime::Result<u32> {
        let keys = self.keys("num-requeues")?;
        let key = HashedKey::new(&key);
        Ok(key.map_or(0, |key| keys.look(|it| it.keys.num_requeues(key))))
    }

    fn len(&mut self) -> wasmtime::Result<u32> {
        let now = self.surroundings.now();
        let keys = self.keys("len")?;
        keys.ripen(now);
        let waiting = keys.look(|it| it.keys.len(now));
        Ok(u32::try_from(waiting).unwrap_or(u32::MAX))
    }
}

impl GuestState {
    /// The interface has no error: a call that could not add a key fails, whatever its result.
    fn add_key(&mut self, function: &str, key: &str, options: AddOptions) -> wasmtime::Result<()> {
        let now = self.surroundings.now();
        let keys = self.at_work(function)?;
        let add = |key| keys.change(|it| it.add_key(key, options, now));
        let added = HashedKey::new(key).and_then(add);
        if let Err(error) = added {
            let later = matches!(error, AddError::Full { .. });
            let reason = format!("workqueue.{function}: {error}");
            // A key that can never be added counts more than one that may be added later.
            if !later || self.notes.key_refused.is_none() {
                self.notes.key_refused = Some(CallError::KeyRefused { reason, later });
            }
        }
        Ok(())
    }

    /// The queue, if this call may change it.
    fn at_work(&self, function: &str) -> wasmtime::Result<&PluginQueue> {
        let keys = self.keys(function)?;
        if self.phase.is_work() {
            return Ok(keys);
        }
        let phase = self.phase.name();
        let text =
            format!("workqueue.{function} in {phase}, where another version may be in charge");
        Err(wasmtime::Error::msg(text))
    }

    fn keys(&self, function: &str) -> wasmtime::Result<&PluginQueue> {
        let nothing = || {
            let why = "it is there for a plugin that exports reconciler, and not in describe";
            wasmtime::Error::msg(format!("workqueue.{function}: {why}"))
        };
        self.keys.as_deref().ok_or_else(nothing)
    }
}
