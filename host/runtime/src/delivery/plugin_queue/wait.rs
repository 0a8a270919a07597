//! How the actor of a shard waits for its mailbox.

use super::PluginQueue;
use crate::delivery::mailboxes::Mailboxes;
use crate::delivery::sync_calls::SyncCalls;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::time::{Sleep, sleep_until};

impl PluginQueue {
    /// When something may be popped for a shard, or one of these calls is to be made.
    pub(crate) fn next_due(
        &self,
        shard: usize,
        (events, calls): (bool, &SyncCalls),
        now: Instant,
    ) -> Option<Instant> {
        first_due(&mut self.shared.lock().mailboxes, shard, (events, Some(calls)), now)
    }

    /// Waits until something can be popped for a shard, or one of these calls is to be made. Cancelling it loses nothing.
    pub(crate) async fn wait(&self, shard: usize, calls: Option<&SyncCalls>) {
        self.wait_for(shard, true, calls).await;
    }

    /// The same where no event may be popped: waits until one of these calls is to be made.
    pub(crate) async fn wait_for_calls(&self, shard: usize, calls: Option<&SyncCalls>) {
        self.wait_for(shard, false, calls).await;
    }

    async fn wait_for(&self, shard: usize, events: bool, calls: Option<&SyncCalls>) {
        let _waiting = Waiting(self, shard);
        let mut timer: Option<Pin<Box<Sleep>>> = None;
        poll_fn(|context| {
            loop {
                let now = Instant::now();
                let due = match self.due(shard, (events, calls), now, context) {
                    None => return Poll::Pending,
                    Some(due) if due <= now => return Poll::Ready(()),
                    Some(due) => due.into(),
                };
                let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
                if timer.deadline() != due {
                    timer.as_mut().reset(due);
                }
                ready!(timer.as_mut().poll(context));
            }
        })
        .await;
    }

    /// When there is something to do. Unless it is now, whoever asks is woken when that changes.
    fn due(
        &self,
        shard: usize,
        (events, calls): (bool, Option<&SyncCalls>),
        now: Instant,
        context: &Context<'_>,
    ) -> Option<Instant> {
        let mut shared = self.shared.lock();
        let due = first_due(&mut shared.mailboxes, shard, (events, calls), now);
        let worker = shared.worker(shard);
        worker.is_waiting = events;
        let waker = context.waker();
        let is_known = worker.waiting.as_ref().is_some_and(|known| known.will_wake(waker));
        if due.is_none_or(|due| due > now) && !is_known {
            worker.waiting = Some(waker.clone());
        }
        due
    }
}

/// When there is something to do for a shard: an event, if they are wanted, or one of these calls.
fn first_due(
    mailboxes: &mut Mailboxes,
    shard: usize,
    (events, calls): (bool, Option<&SyncCalls>),
    now: Instant,
) -> Option<Instant> {
    let call = calls.and_then(|calls| calls.next(mailboxes.initials(shard)?, now));
    let event = events.then(|| mailboxes.next_due(shard, now)).flatten();
    event.into_iter().chain(call.map(|(due, _)| due)).min()
}

/// The actor of a shard waits for the queue; who stops waiting is not woken for it, and nobody takes its turn while it does something else.
struct Waiting<'a>(&'a PluginQueue, usize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut shared = self.0.shared.lock();
        let worker = shared.worker(self.1);
        (worker.is_waiting, worker.waiting) = (false, None);
    }
}
