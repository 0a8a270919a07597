//! The commands to one actor. Hardly any event finds one, so an actor without commands reads one word. A channel of the
//! runtime takes some locks and cache lines for that, and a block of memory for each of a thousand plugins.

use super::ActorCommand;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::task::{Context, Poll, Waker};

/// The task that sends commands holds no more of them back. Invariant 19.
const COMMANDS_MAX: usize = 4;

/// A new, empty line of commands.
pub(crate) fn command_line() -> (CommandSender, Commands) {
    let line = Arc::<CommandLine>::default();
    (CommandSender(Arc::new(SendingEnd(line.clone()))), Commands { line, known: None })
}

#[derive(Default)]
struct CommandLine {
    /// Whether a command waits, or all senders are gone.
    has_news: AtomicBool,
    state: Mutex<LineState>,
}

#[derive(Default)]
struct LineState {
    waiting: VecDeque<ActorCommand>,
    /// Wakes the actor.
    waker: Option<Waker>,
    /// Whether all senders are gone.
    is_ended: bool,
    /// Whether the actor is gone.
    is_closed: bool,
}

/// Sends commands to an actor. Clones send to the same one. Without any, the actor gets the end.
#[derive(Clone)]
pub(crate) struct CommandSender(Arc<SendingEnd>);

struct SendingEnd(Arc<CommandLine>);

/// The actor is gone.
#[derive(Debug)]
pub(crate) struct ActorGone;

impl CommandSender {
    /// Whether the actor is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.0.state.lock().is_closed
    }

    /// Whether the actor has taken nearly all commands.
    pub(crate) fn has_room(&self) -> bool {
        self.0.0.state.lock().waiting.len() < COMMANDS_MAX
    }

    /// Sends a command, for which the caller has asked for room, or of which it sends only one.
    pub(crate) fn send(&self, command: ActorCommand) -> Result<(), ActorGone> {
        self.0.0.change(|state| {
            if state.is_closed {
                return Err(ActorGone);
            }
            state.waiting.push_back(command);
            Ok(())
        })
    }
}

impl CommandLine {
    /// Makes news, and wakes the actor.
    fn change<T>(&self, change: impl FnOnce(&mut LineState) -> T) -> T {
        let (answer, waker) = {
            let mut state = self.state.lock();
            let answer = change(&mut state);
            self.has_news.store(true, Release);
            (answer, state.waker.clone())
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        answer
    }
}

impl Drop for SendingEnd {
    fn drop(&mut self) {
        self.0.change(|state| state.is_ended = true);
    }
}

/// The commands that an actor is to carry out.
pub(crate) struct Commands {
    line: Arc<CommandLine>,
    /// The waker that the line knows.
    known: Option<Waker>,
}

impl Commands {
    /// Whether nothing is to be carried out.
    pub(super) fn is_empty(&self) -> bool {
        !self.line.has_news.load(Acquire)
    }

    /// The next command; `None` if there are no senders any more. Cancelling this call loses nothing.
    pub(super) async fn next(&mut self) -> Option<ActorCommand> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &Context<'_>) -> Poll<Option<ActorCommand>> {
        let is_known = |waker: &Waker| waker.will_wake(context.waker());
        if self.is_empty() && self.known.as_ref().is_some_and(is_known) {
            return Poll::Pending;
        }
        let mut state = self.line.state.lock();
        let command = state.waiting.pop_front();
        if state.waiting.is_empty() {
            // Commands are rare: an idle plugin keeps no room for them.
            state.waiting = VecDeque::new();
        }
        self.line.has_news.store(state.is_ended || !state.waiting.is_empty(), Release);
        if command.is_some() || state.is_ended {
            return Poll::Ready(command);
        }
        state.waker = Some(context.waker().clone());
        self.known.clone_from(&state.waker);
        Poll::Pending
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        let waiting = {
            let mut state = self.line.state.lock();
            (state.is_closed, state.waker) = (true, None);
            take(&mut state.waiting)
        };
        // Their callers are answered without the lock.
        drop(waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;
    use std::task::Wake;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn commands_come_in_order_and_wake_the_actor() {
        let (sender, mut commands) = command_line();
        let wakes = Arc::<Wakes>::default();
        let waker = Waker::from(wakes.clone());
        let poll = |commands: &mut Commands| commands.poll(&Context::from_waker(&waker));
        assert!(commands.is_empty() && poll(&mut commands).is_pending());
        assert!(poll(&mut commands).is_pending());
        assert_eq!(wakes.0.load(Relaxed), 0);
        for _ in 0..COMMANDS_MAX {
            assert!(sender.has_room());
            sender.send(ActorCommand::Stop).expect("the actor is there");
        }
        assert!(!sender.has_room() && !commands.is_empty());
        assert_eq!(wakes.0.load(Relaxed), COMMANDS_MAX);
        for _ in 0..COMMANDS_MAX {
            assert!(matches!(poll(&mut commands), Poll::Ready(Some(ActorCommand::Stop))));
        }
        assert!(commands.is_empty() && poll(&mut commands).is_pending());
        assert_eq!(commands.line.state.lock().waiting.capacity(), 0, "no room is kept");
        sender.send(ActorCommand::Stop).expect("the actor is there");
        assert_eq!(wakes.0.load(Relaxed), COMMANDS_MAX + 1);
    }

    #[test]
    fn the_last_sender_ends_the_actor_after_the_last_command() {
        let (sender, mut commands) = command_line();
        let other = sender.clone();
        drop(sender);
        assert!(commands.next().now_or_never().is_none());
        other.send(ActorCommand::Stop).expect("the actor is there");
        drop(other);
        assert!(matches!(commands.next().now_or_never(), Some(Some(ActorCommand::Stop))));
        assert!(matches!(commands.next().now_or_never(), Some(None)));
        assert!(matches!(commands.next().now_or_never(), Some(None)));
    }

    #[test]
    fn an_actor_that_is_gone_takes_no_command_and_drops_those_that_wait() {
        let (sender, commands) = command_line();
        let (answer, answered) = tokio::sync::oneshot::channel::<()>();
        let done = Box::new(move |_| drop(answer));
        let hold = crate::plugin::actor::Hold::new(true, 1, done);
        sender.send(ActorCommand::Hold(hold)).expect("the actor is there");
        assert!(!sender.is_closed());
        drop(commands);
        assert!(answered.now_or_never().is_some_and(|answer| answer.is_err()));
        assert!(sender.is_closed() && sender.send(ActorCommand::Stop).is_err());
    }
}
