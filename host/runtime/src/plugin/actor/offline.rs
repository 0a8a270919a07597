//! An actor without a task, for runs without a host: its owner moves the clock and starts each
//! step, so that every run is the same.

use super::call::{call, to_tell};
use super::keys::becomes_keys;
use super::{Actor, Running, Version};
use crate::delivery::mailbox::Queued;
use crate::delivery::mailboxes::Hands;
use crate::plugin::prepare::LoadError;
use std::sync::Arc;
use std::time::Instant;

/// A call of a recording that is played back.
pub(crate) enum GuestCall {
    Start,
    Stop,
    Snapshot,
    /// The index of the version's subscription.
    Synced(u32),
    Reconcile(Arc<str>, u32),
    Fire(Arc<str>, u64),
    Handle(Box<Queued>),
}

impl Actor {
    /// Starts the first version.
    pub(crate) async fn begin(&mut self, version: Arc<Version>) -> Result<(), LoadError> {
        let (instance, _) = self.prepare(&version).await?;
        let at = self.surroundings.read();
        if let Some(former) = self.together.swap(&version, &self.core, at) {
            self.core.queue.regroup(former, at.instant);
        }
        self.take_over(version, instance).await;
        Ok(())
    }

    /// When there is work, with or without schedules. A time in the past means now; `None` means that no work waits.
    pub(crate) fn next_due(&mut self, schedules: bool) -> Option<Instant> {
        let now = self.surroundings.now();
        let hands = self.running.hands_in_debt(self.shard, &self.together, || now)?;
        let hands = Hands { fires: hands.fires && schedules, ..hands };
        self.core.queue.look(|it| it.due(self.shard, hands, now))
    }

    /// Does the next due work, and takes no other with its end: the actor's turn is over from the start.
    pub(crate) async fn step(&mut self) {
        let now = self.surroundings.now();
        let Some(hands) = self.running.hands(self.shard, &self.together) else { return };
        if let Some(work) = self.take_with(hands, now) {
            self.do_work(&work, now).await;
        }
    }

    /// Calls the guest as a recording has it. Starts an instance if there is none. Writes of the call to `state` count
    /// if the call succeeds.
    pub(crate) async fn play(&mut self, version: &Arc<Version>, told: GuestCall) {
        if !matches!(self.running, Running::Alive { .. }) {
            if matches!(told, GuestCall::Stop) {
                return;
            }
            // The tape has the reason of a failed start.
            let Ok(instance) = self.instance(version).await else { return };
            let (version, instance) = (version.clone(), Box::new(instance));
            self.running = Running::Alive { version, instance };
        }
        let now = self.surroundings.now();
        let Running::Alive { version, instance, .. } = &mut self.running else { return };
        let result = match told {
            GuestCall::Start => return,
            GuestCall::Stop => return self.stop_guest().await,
            GuestCall::Snapshot => instance.snapshot().await.map(drop),
            GuestCall::Synced(subscription) => instance.synced(subscription, 1).await,
            GuestCall::Reconcile(key, attempt) => {
                instance.reconcile((&key, attempt), &[], now).await.map(drop)
            }
            GuestCall::Fire(schedule, unix_ms) => instance.fire(&schedule, unix_ms, (1, now)).await,
            GuestCall::Handle(queued) => {
                let id = queued.event.subscription;
                let Some(subscription) = version.subscriptions.get(&id) else { return };
                let tape = instance.state().tape.clone();
                let hears = (&*self.core.counters, tape.as_deref());
                let Some(event) = to_tell(subscription, &queued, None, hears) else { return };
                if becomes_keys(&self.core, subscription, event, (tape.as_deref(), None), now) {
                    return;
                }
                call(instance, subscription, &queued, event, now).await
            }
        };
        let result = instance.state().finish(result, |_| ());
        if result.is_err_and(|error| error.ends_instance()) {
            self.running = Running::Nothing;
        }
    }

    /// Stops the guest, if there is one.
    pub(crate) async fn stop_guest(&mut self) {
        let running = std::mem::replace(&mut self.running, Running::Nothing);
        self.end(running).await;
    }
}
