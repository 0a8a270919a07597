//! How a shard's actor waits for its work and takes it.

use super::{PluginQueue, Shared};
use crate::delivery::mailboxes::{Hands, Work};
use crate::outside::leading::Leading;
use jiff::Timestamp;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Poll, Waker, ready};
use std::time::Instant;
use tokio::time::{Sleep, sleep_until};

impl PluginQueue {
    /// Waits for a shard's next work and takes it, with the time of that. `None` if this host no longer leads. Cancelling
    /// this call loses nothing.
    pub(crate) async fn next(
        &self,
        shard: usize,
        hands: Hands,
        leading: &Leading,
        wall: impl Fn() -> Timestamp,
    ) -> Option<(Work, Instant)> {
        let mut waiting = Waiting { queue: self, shard, is_known: false };
        let mut timer: Option<Pin<Box<Sleep>>> = None;
        poll_fn(|context| {
            loop {
                // Invariant 20.
                if !leading.is_leader() {
                    return Poll::Ready(None);
                }
                let now = Instant::now();
                let taken = self.change_shared(|shared| {
                    let Some(work) = shared.mailboxes.next(shard, hands, now, &wall) else {
                        return Err(shared.wait((shard, hands), now, context.waker()));
                    };
                    shared.worker(shard).stop_waiting();
                    Ok(work)
                });
                waiting.is_known = taken.is_err();
                let due = match taken {
                    Ok(work) => return Poll::Ready(Some((work, now))),
                    Err(due) => due,
                };
                let Some(due) = due.map(Into::into) else { return Poll::Pending };
                let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
                if timer.deadline() != due {
                    timer.as_mut().reset(due);
                }
                ready!(timer.as_mut().poll(context));
            }
        })
        .await
    }
}

impl Shared {
    /// A shard's actor waits from here on. Returns when the actor is to look by itself.
    fn wait(
        &mut self,
        (shard, hands): (usize, Hands),
        now: Instant,
        waker: &Waker,
    ) -> Option<Instant> {
        let held = self.mailboxes.held_until(hands, now);
        // An informer announces no event to an actor that could not take it.
        let hears_events = held.is_none() && self.mailboxes.takes_events(hands, now);
        let due = held.or_else(|| self.mailboxes.due(shard, hands, now));
        self.worker(shard).wait(held.is_none().then_some(hands), hears_events, waker);
        due
    }
}

/// A shard's actor that waits for the queue. When it stops waiting, the queue no longer wakes it, and no informer runs
/// its turn while it does other work.
struct Waiting<'a> {
    queue: &'a PluginQueue,
    shard: usize,
    /// Whether the queue has noted the wait.
    is_known: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.is_known {
            self.queue.lock().worker(self.shard).stop_waiting();
        }
    }
}
