//! Plays a recording back to a plugin: the calls in their order, at their time, with the recorded answers.
//!
//! A host call that is not in the recording gets the answer of an empty host: an empty cache, no state, no cluster, no
//! HTTP servers. The transcript marks it. The calls are those of the recording, with their attempts: a build that
//! fails where the recorded one did not gets no further attempt.

use super::journal::Journal;
use super::plugin::{OfflineError, OfflinePlugin};
use super::run::Run;
use super::transcript::Transcript;
use super::world::OfflineWorld;
use crate::delivery::mailbox::{Attempts, Queued};
use crate::event::{Event, SubscriptionId};
use crate::guest::surroundings::Surroundings;
use crate::plugin::actor::{Actor, GuestCall, Version};
use crate::recording::{CalledWith, HandledEvent, Moment, NamedSubscription, Recording};
use informant_cache::Object;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl OfflinePlugin {
    /// Plays a recording back to the plugin.
    pub async fn replay(&self, recording: Recording) -> Result<Transcript, OfflineError> {
        let run = Run::new(self, OfflineWorld::default(), recording.head.began);
        let replay = RecordingReplay::new(run, recording.head.subscriptions.clone());
        self.on_guest_thread(replay.through(recording)).await
    }
}

struct RecordingReplay {
    actor: Actor,
    version: Arc<Version>,
    surroundings: Surroundings,
    journal: Arc<Journal>,
    began: Instant,
    /// In the recorded version.
    recorded: Vec<NamedSubscription>,
}

impl RecordingReplay {
    fn new(run: Run, recorded: Vec<NamedSubscription>) -> Self {
        let (actor, version, surroundings, journal) = run.into_parts();
        let began = surroundings.now();
        Self { actor, version, surroundings, journal, began, recorded }
    }

    async fn through(mut self, recording: Recording) -> Transcript {
        let head = &recording.head;
        let with = json!({ "name": self.actor.name.as_str(), "version": self.version.number, "recorded": head.plugin, "recordedVersion": head.plugin_version });
        self.journal.note("plugin", with);
        for moment in recording.moments {
            self.play(moment).await;
            if self.journal.is_cut() {
                return self.journal.take();
            }
        }
        let why = recording.stopped.unwrap_or_else(|| "it has no end".to_owned());
        self.journal.note("end", json!({ "recording": why }));
        self.journal.take()
    }

    async fn play(&mut self, moment: Moment) {
        let at = self.began + Duration::from_millis(moment.at);
        self.surroundings.pass(at.saturating_duration_since(self.surroundings.now()));
        match self.told(&moment.with) {
            Ok(told) => {
                self.journal.answer_from(moment.asked);
                self.actor.play(&self.version, told).await;
            }
            Err(why) => self.journal.note("passed over", json!({ "why": why })),
        }
    }

    /// The call of this version for a recorded call; or the reason why there is none.
    fn told(&self, with: &CalledWith) -> Result<GuestCall, String> {
        Ok(match with {
            CalledWith::Start => GuestCall::Start,
            CalledWith::Stop => GuestCall::Stop,
            CalledWith::Snapshot => GuestCall::Snapshot,
            CalledWith::Restore { from } => {
                return Err(format!("what version {from} had to say is not in a recording"));
            }
            CalledWith::Synced { subscription } => {
                GuestCall::Synced(self.subscription(*subscription)?.1)
            }
            CalledWith::Reconcile { key, attempt } => {
                GuestCall::Reconcile(key.as_str().into(), *attempt)
            }
            CalledWith::Fire { schedule, unix_ms } => {
                GuestCall::Fire(schedule.as_str().into(), *unix_ms)
            }
            CalledWith::Handle(event) => GuestCall::Handle(Box::new(self.queued(event)?)),
        })
    }

    /// This version's subscription of the recorded one's name.
    fn subscription(&self, index: u32) -> Result<(SubscriptionId, u32), String> {
        let recorded = self.recorded.get(index as usize);
        let recorded = recorded.ok_or("the recording names no such subscription")?;
        let mut all = self.version.subscriptions.iter();
        let found =
            all.find(|(_, it)| it.spec.name == recorded.name && *it.resource == *recorded.resource);
        found.map(|(id, it)| (*id, it.index)).ok_or_else(|| {
            format!("this version has no subscription {} of {}", recorded.name, recorded.resource)
        })
    }

    fn queued(&self, event: &HandledEvent) -> Result<Queued, String> {
        let (subscription, _) = self.subscription(event.subscription)?;
        let decoded = |json: &str| {
            Object::decode(json.as_bytes(), None).map_err(|error| format!("its object: {error}"))
        };
        let told = Event {
            asked_by: super::run::LOAD,
            reason: event.reason.0,
            gone: event.gone.map(|it| it.0),
            old: event.old.as_deref().map(decoded).transpose()?,
            coalesced: event.coalesced,
            ..Event::new(
                subscription,
                event.change.0,
                decoded(&event.object)?,
                self.surroundings.now(),
            )
        };
        let tried = Attempts { number: event.attempt, ..Attempts::NONE };
        Ok(Queued { event: told.into(), tried, seq: event.seq })
    }
}
