//! Waits for a place in the [`CompileLine`], and gives the place back at any end of the wait or the work.

use super::line::{CompileLine, FileLane, Ticket};
use crate::plugin_name::PluginName;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// The line in which all loads wait. Clones share it.
#[derive(Clone, Default)]
pub(super) struct CompileTurns(Arc<Mutex<Waiters>>);

#[derive(Default)]
struct Waiters {
    line: CompileLine,
    called: HashMap<Ticket, oneshot::Sender<()>>,
}

/// A place in the line, waiting or held. Dropping it gives the place back.
pub(super) struct CompileTurn {
    turns: CompileTurns,
    ticket: Ticket,
}

impl CompileTurns {
    /// Waits for the turn to check and compile the plugin's file.
    pub(super) async fn take(
        &self,
        lane: FileLane,
        plugin: &PluginName,
        bytes: usize,
    ) -> CompileTurn {
        let (call, called) = oneshot::channel();
        let turn = {
            let mut waiters = self.0.lock();
            let ticket = waiters.line.wait(lane, plugin, bytes);
            waiters.called.insert(ticket, call);
            CompileTurn { turns: self.clone(), ticket }
        };
        self.call();
        // Only this turn's own end drops the sender.
        let _ = called.await;
        turn
    }

    /// Wakes every file whose turn has come.
    fn call(&self) {
        let mut waiters = self.0.lock();
        while let Some(ticket) = waiters.line.next(Instant::now()) {
            if let Some(call) = waiters.called.remove(&ticket) {
                // A waiter that is gone is about to drop its turn.
                let _ = call.send(());
            }
        }
    }
}

impl Drop for CompileTurn {
    fn drop(&mut self) {
        {
            let mut waiters = self.turns.0.lock();
            waiters.called.remove(&self.ticket);
            waiters.line.leave(self.ticket, Instant::now());
        }
        self.turns.call();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::poll;

    #[tokio::test]
    async fn a_turn_that_is_dropped_lets_the_next_one_go_on() {
        let (turns, plugin) = (CompileTurns::default(), "a".parse().expect("a name"));
        let first = turns.take(FileLane::Large, &plugin, 1).await;
        let mut second = Box::pin(turns.take(FileLane::Large, &plugin, 2));
        let mut third = Box::pin(turns.take(FileLane::Large, &plugin, 3));
        assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
        // The second file gives up while it waits.
        drop(second);
        assert!(poll!(&mut third).is_pending());
        drop(first);
        assert!(poll!(&mut third).is_ready());
        assert!(turns.0.lock().called.is_empty());
    }
}
