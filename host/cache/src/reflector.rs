//! Lists and watches one resource into its [`DeltaFifo`]: the driver of the machine in `reflector/state.rs`.
//!
//! Answers to client-go's `Reflector`. It decides nothing: it makes the request that the machine asks for,
//! queues what the machine says to queue, and reports each failure once.

mod backoff;
mod state;

pub use state::RelistCause;

use crate::delta_fifo::{Delta, DeltaFifo};
use crate::informer_state::{InformerState, Progress};
use crate::list_watch::{
    ListEvent, ListStream, ListTweaks, ListWatchError, ListerWatcher, WatchEvent, WatchStream,
};
use crate::object::DecodeError;
use futures::StreamExt;
use informant_apimachinery::GroupVersionResource;
use state::{Action, Input, Machine, Request, State};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// A failure of a list or watch, and what is done about it.
#[derive(Clone, Debug)]
pub struct WatchFailure<'a> {
    /// The resource.
    pub resource: &'a GroupVersionResource,
    /// What failed.
    pub error: &'a ListWatchError,
    /// What is done, for example `watching again in 1.2s`.
    pub next: String,
}

/// Told of every failure of every list and watch, in the middle of a stream too. It must not block.
pub type WatchErrorHandler = dyn Fn(&WatchFailure<'_>) + Send + Sync;

/// One resource's list and watch.
pub(crate) struct Reflector {
    pub(crate) resource: GroupVersionResource,
    pub(crate) lister_watcher: Arc<dyn ListerWatcher>,
    pub(crate) fifo: Arc<DeltaFifo>,
    pub(crate) progress: Arc<Progress>,
    /// Lists of the whole process that may run at once.
    pub(crate) lists: Arc<Semaphore>,
    pub(crate) watch_error_handler: Option<Arc<WatchErrorHandler>>,
    pub(crate) tweaks: ListTweaks,
    pub(crate) seed: u64,
}

/// The stream that is being read.
enum Stream {
    None,
    List(ListStream),
    Watch(WatchStream),
}

/// What came, owned; the machine is shown a view of it.
enum Arrived {
    Opened,
    List(ListEvent),
    Watch(WatchEvent),
    Ended,
    Failed(ListWatchError),
    Deadline,
    Elapsed,
}

impl Arrived {
    fn input(&self) -> Input<'_> {
        match self {
            Self::Opened => Input::Opened,
            Self::List(ListEvent::Object(object, _))
            | Self::Watch(WatchEvent::Changed(_, object, _)) => {
                Input::Event { resource_version: object.resource_version() }
            }
            Self::List(ListEvent::Malformed(_)) | Self::Watch(WatchEvent::Malformed(_)) => {
                Input::Malformed
            }
            Self::List(ListEvent::End { resource_version, continue_token }) => {
                Input::PageEnd { resource_version, continue_token: continue_token.as_deref() }
            }
            Self::Watch(WatchEvent::Bookmark { resource_version, initial_events_end }) => {
                Input::Bookmark { resource_version, initial_events_end: *initial_events_end }
            }
            Self::Ended => Input::Ended,
            Self::Failed(error) => Input::Failed(error),
            Self::Deadline => Input::Deadline,
            Self::Elapsed => Input::Elapsed,
        }
    }

    /// As a delta; only what the machine can ask to be queued is one.
    fn into_delta(self) -> Option<Delta> {
        match self {
            Self::List(ListEvent::Object(object, received)) => {
                Some(Delta::Listed(object, received))
            }
            Self::Watch(WatchEvent::Changed(change, object, received)) => {
                Some(Delta::Changed(change, object, received))
            }
            Self::Watch(WatchEvent::Bookmark { resource_version, .. }) => {
                Some(Delta::Bookmark { resource_version })
            }
            Self::List(ListEvent::Malformed(_) | ListEvent::End { .. })
            | Self::Watch(WatchEvent::Malformed(_))
            | Self::Opened
            | Self::Ended
            | Self::Failed(_)
            | Self::Deadline
            | Self::Elapsed => None,
        }
    }
}

impl Reflector {
    /// Runs until the future is dropped.
    pub(crate) async fn run(self) {
        let (mut machine, mut action) =
            Machine::start(self.tweaks.clone(), self.seed, Instant::now().into_std());
        let mut stream = Stream::None;
        let mut permit = None;
        let mut last_error = String::new();
        loop {
            let deadline = machine.deadline().map(Instant::from_std);
            let arrived = self.carry_out(&action, &mut stream, &mut permit, deadline).await;
            let now = Instant::now().into_std();
            self.note(&arrived);
            (machine, action) = machine.step(arrived.input(), now);
            self.report(&arrived, &machine, &action, &mut last_error);
            match &action {
                Action::Enqueue => {
                    if let Some(delta) = arrived.into_delta() {
                        self.fifo.push(delta).await;
                    }
                }
                Action::Begin { consistent, cause } => {
                    self.progress.relist(*cause);
                    self.fifo.push(Delta::Begin { consistent: *consistent }).await;
                }
                Action::End { resource_version } => {
                    permit = None;
                    let resource_version = resource_version.clone();
                    self.fifo.push(Delta::End { resource_version }).await;
                }
                Action::Open(_) | Action::Read | Action::Wait(_) => {}
            }
        }
    }

    /// Does what the action says beyond queueing, and waits for what comes of it.
    async fn carry_out(
        &self,
        action: &Action,
        stream: &mut Stream,
        permit: &mut Option<OwnedSemaphorePermit>,
        deadline: Option<Instant>,
    ) -> Arrived {
        match action {
            Action::Open(request) => {
                *stream = Stream::None;
                self.open(request, stream, permit).await
            }
            Action::Wait(wait) => {
                *stream = Stream::None;
                *permit = None;
                tokio::time::sleep(*wait).await;
                Arrived::Elapsed
            }
            Action::Begin { .. } | Action::Enqueue | Action::End { .. } | Action::Read => {
                within(deadline, read(stream)).await
            }
        }
    }

    /// Waiting for the turn to list does not count against the answer's deadline.
    async fn open(
        &self,
        request: &Request,
        stream: &mut Stream,
        permit: &mut Option<OwnedSemaphorePermit>,
    ) -> Arrived {
        let lists = match request {
            Request::List(_) => true,
            Request::Watch(options) => options.send_initial_events,
        };
        if !lists {
            *permit = None;
        } else if permit.is_none() {
            *permit = self.lists.clone().acquire_owned().await.ok();
        }
        let deadline = Some(Instant::now() + state::ANSWER_MAX);
        let open = async {
            let opened = match request {
                Request::List(options) => {
                    self.lister_watcher.list(options.clone()).await.map(Stream::List)
                }
                Request::Watch(options) => {
                    self.lister_watcher.watch(options.clone()).await.map(Stream::Watch)
                }
            };
            match opened {
                Ok(opened) => {
                    *stream = opened;
                    Arrived::Opened
                }
                Err(error) => Arrived::Failed(error),
            }
        };
        within(deadline, open).await
    }

    fn note(&self, arrived: &Arrived) {
        match arrived {
            Arrived::List(ListEvent::Malformed(error))
            | Arrived::Watch(WatchEvent::Malformed(error)) => self.note_malformed(error),
            Arrived::List(_) | Arrived::Watch(_) => self.progress.heard(std::time::Instant::now()),
            _ => {}
        }
    }

    fn note_malformed(&self, error: &DecodeError) {
        self.progress.malformed();
        tracing::warn!(resource = %self.resource, %error, "skipped what cannot be read");
    }

    /// The state for people and the one report of a failure.
    fn report(&self, arrived: &Arrived, machine: &Machine, action: &Action, last: &mut String) {
        let error = match arrived {
            Arrived::Failed(error) => error.clone(),
            Arrived::Deadline => ListWatchError::transient("server has been silent for too long"),
            Arrived::Ended if matches!(machine.state, State::BackingOff { .. }) => {
                ListWatchError::transient("stream ended before it was complete")
            }
            Arrived::List(_) | Arrived::Watch(_) | Arrived::Ended | Arrived::Elapsed => return,
            Arrived::Opened => {
                if matches!(machine.state, State::Watching { .. }) {
                    last.clear();
                    self.progress.watching();
                }
                return;
            }
        };
        self.progress.failed(InformerState::after(&error));
        let next = what_next(&machine.state, action);
        let failure = WatchFailure { resource: &self.resource, error: &error, next };
        if let Some(handler) = &self.watch_error_handler {
            handler(&failure);
        }
        let text = error.to_string();
        if *last == text {
            tracing::debug!(resource = %self.resource, %error, next = %failure.next, "watch failed");
        } else {
            tracing::warn!(resource = %self.resource, %error, next = %failure.next, "watch failed");
            *last = text;
        }
    }
}

fn what_next(state: &State, action: &Action) -> String {
    use state::Next;
    let what = match state {
        State::BackingOff { next: Next::List(_) } => "listing again",
        State::BackingOff { next: Next::Page { .. } } => "asking for the page again",
        State::BackingOff { next: Next::Watch } | State::Watching { .. } => "watching again",
        State::WatchListing { .. } => "listing again, by a watch",
        State::Listing { .. } => "listing again, in pages",
        State::Listed => "going on",
    };
    match action {
        Action::Wait(wait) => format!("{what} in {:.1}s", wait.as_secs_f64()),
        Action::Open(_)
        | Action::Begin { .. }
        | Action::Enqueue
        | Action::End { .. }
        | Action::Read => format!("{what} now"),
    }
}

async fn read(stream: &mut Stream) -> Arrived {
    match stream {
        Stream::None => Arrived::Ended,
        Stream::List(list) => match list.next().await {
            Some(Ok(event)) => Arrived::List(event),
            Some(Err(error)) => Arrived::Failed(error),
            None => Arrived::Ended,
        },
        Stream::Watch(watch) => match watch.next().await {
            Some(Ok(event)) => Arrived::Watch(event),
            Some(Err(error)) => Arrived::Failed(error),
            None => Arrived::Ended,
        },
    }
}

async fn within(deadline: Option<Instant>, future: impl Future<Output = Arrived>) -> Arrived {
    // Far enough away to be never, near enough to be added.
    let never = Duration::from_secs(86_400 * 365);
    let deadline = deadline.unwrap_or_else(|| Instant::now() + never);
    tokio::time::timeout_at(deadline, future).await.unwrap_or(Arrived::Deadline)
}
