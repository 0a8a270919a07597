//! The actors of a plugin's shards: their start, and commands to all of them.

use super::{Plugin, Takeover};
use crate::contract::limits::Limits;
use crate::guest::surroundings::Surroundings;
use crate::guest_threads::Task;
use crate::outside::leading::Leading;
use crate::pace::Pace;
use crate::plugin::actor::{
    Actor, ActorCommand, CommandSender, Done, Hold, LastCall, Running, WorkTurn, command_line,
};
use crate::plugin::admin::AdminError;
use crate::plugin::lifecycle::Input;
use crate::plugin::prepare::Preparer;
use crate::plugin_name::PluginName;
use futures::future::join_all;
use informant_cache::workqueue::exponential;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::error;

/// The wait before the second restart of actors that a defect of the host ended. It doubles with each, up to
/// [`RESTART_MAX`].
const RESTART_BASE: Duration = Duration::from_secs(1);
const RESTART_MAX: Duration = Duration::from_secs(300);

/// The restarts of a plugin's actors that a defect of the host ended.
#[derive(Default)]
pub(super) struct ActorRestarts {
    count: u32,
    not_before: Option<Instant>,
}

impl ActorRestarts {
    /// Whether a restart is due. If so, the next one waits for longer.
    fn take_due(&mut self, now: Instant) -> bool {
        let is_due = self.not_before.is_none_or(|not_before| not_before <= now);
        if is_due {
            self.not_before = Some(now + exponential(RESTART_BASE, self.count, RESTART_MAX));
            self.count = self.count.saturating_add(1);
        }
        is_due
    }
}

pub(super) struct ActorHandle {
    commands: CommandSender,
    /// Whether a version has taken over in this actor.
    has_version: bool,
    pace: Pace,
    task: Task,
}

impl ActorHandle {
    /// Stops the guest and waits until the actor has ended.
    async fn stop(self) {
        self.pace.stop(Instant::now());
        // The send fails if the actor ended already.
        let _ = self.commands.send(ActorCommand::Stop);
        if let Err(error) = self.task.ended().await {
            error!("a plugin's actor ended early: {error}");
        }
    }
}

impl Plugin {
    /// The commands to the actors of so many shards and to all further actors. An actor is started if there is none,
    /// or if a defect of the host ended it.
    pub(crate) fn takeover(
        &mut self,
        name: &PluginName,
        preparer: &Preparer,
        (limits, leading): (&Arc<Limits>, &Leading),
        shards: usize,
    ) -> Takeover {
        let together = self.together.get_or_insert_default().clone();
        for shard in 0..shards.max(self.actors.len()) {
            let there = self.actors.get(shard);
            if there.is_some_and(|actor| !actor.commands.is_closed()) {
                continue;
            }
            let (commands, receiver) = command_line();
            let pace = match self.actors.first() {
                Some(first) => first.pace.of_shard(),
                None => preparer.threads.pace(self.core.counters.ledger.clone()),
            };
            let actor = Actor {
                name: name.clone(),
                shard,
                together: together.clone(),
                engine: preparer.engine.clone(),
                limits: limits.clone(),
                leading: leading.clone(),
                pace: pace.clone(),
                powers: preparer.powers.clone(),
                core: self.core.clone(),
                commands: receiver,
                running: Running::Nothing,
                last_call: LastCall::none(Instant::now()),
                turn: WorkTurn::over(Instant::now()),
                paused: self.paused,
                surroundings: Surroundings::default(),
                tapes: preparer.tapes.clone(),
                retired: None,
            };
            let task = self.run(actor, preparer);
            let handle = ActorHandle { commands, has_version: false, pace, task };
            match self.actors.get_mut(shard) {
                Some(ended) => *ended = handle,
                None => self.actors.push(handle),
            }
        }
        let commands = self.actors.iter().map(|actor| actor.commands.clone()).collect();
        Takeover { commands, core: self.core.clone(), together }
    }

    /// Starts an actor. The work that an earlier actor left in flight comes again.
    fn run(&self, mut actor: Actor, preparer: &Preparer) -> Task {
        let (shard, pace, now) = (actor.shard, actor.pace.clone(), Instant::now());
        self.core.queue.look(|mailboxes| mailboxes.recover(shard, now));
        let task = preparer.threads.spawn(async move { actor.run().await }, pace);
        self.core.queue.set_worker(shard, task.turn());
        task
    }

    /// Whether a defect of the host ended an actor of the version in charge. Its shard calls nothing until the version
    /// takes over in another actor.
    pub(crate) fn has_lost_actor(&self) -> bool {
        let shards = self.current.as_ref().map_or(0, |current| current.prepared.shards);
        let is_lost = |actor: &ActorHandle| actor.commands.is_closed() || !actor.has_version;
        self.actors.iter().take(shards).any(is_lost)
    }

    /// A version has taken over in all actors.
    pub(super) fn all_have_a_version(&mut self) {
        self.actors.iter_mut().for_each(|actor| actor.has_version = true);
    }

    /// Whether the version in charge is to be loaded again now, because it has lost an actor.
    pub(crate) fn take_restart(&mut self, now: Instant) -> bool {
        self.is_at_rest() && self.has_lost_actor() && self.restarts.take_due(now)
    }

    /// Ends the subscriptions, stops the guests and waits until the actors have ended.
    pub(crate) async fn stop(mut self) {
        self.ended.cancel();
        self.subscriptions.clear();
        join_all(std::mem::take(&mut self.actors).into_iter().map(ActorHandle::stop)).await;
    }

    /// Pauses or resumes the plugin. The actors show the change, in the order of their other changes.
    pub(crate) fn pause(&mut self, paused: bool, done: Done) {
        let mut live = Vec::with_capacity(self.actors.len());
        // An actor that has ended starts again with the next version, and gets the pause then.
        for actor in self.actors.iter().filter(|actor| !actor.commands.is_closed()) {
            if !actor.commands.has_room() {
                let text = "it is still busy with what it was asked before; try again in a second";
                return done(Err(AdminError::Refused(text.to_owned())));
            }
            live.push(actor.commands.clone());
        }
        self.paused = paused;
        self.memory.pause_is_said = true;
        self.core.archive.paused(paused);
        if live.is_empty() {
            let input = if paused { Input::Paused } else { Input::Resumed };
            self.core.apply([input], Timestamp::now());
            return done(Ok(()));
        }
        let hold = Hold::new(paused, live.len(), done);
        for actor in live {
            // An actor that has ended meanwhile gets the pause when it starts again.
            let _ = actor.send(ActorCommand::Hold(hold.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_are_due_with_growing_waits() {
        let (mut restarts, begin) = (ActorRestarts::default(), Instant::now());
        let due = (0..700).filter(|second| restarts.take_due(begin + Duration::from_secs(*second)));
        assert_eq!(due.collect::<Vec<_>>(), [0, 1, 3, 7, 15, 31, 63, 127, 255, 511]);
    }
}
