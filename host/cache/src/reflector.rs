//! Lists and watches one part of a resource into its [`DeltaFifo`]: the driver of the machine in `reflector/state.rs`.
//!
//! As client-go's `Reflector`. It decides nothing: it makes the machine's requests, queues the machine's deltas, and
//! reports each failure once.

mod arrived;
mod backoff;
mod state;

use crate::definition_signal::DefinitionSignal;
use crate::delta_fifo::{Delta, DeltaSink};
use crate::informer_state::PartProgress;
use crate::list_watch::{ListEvent, ListTweaks, ListWatchError, ListerWatcher, WatchEvent};
use arrived::{Arrived, Stream, within};
use informant_apimachinery::GroupVersionResource;
use state::{Machine, Next, ReflectorAction, ReflectorRequest, ReflectorState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// A failure of a list or watch, and the next step.
#[derive(Clone, Debug)]
pub struct WatchFailure<'a> {
    /// The resource.
    pub resource: &'a GroupVersionResource,
    /// The error.
    pub error: &'a ListWatchError,
    /// The next step, for example `watching again in 1.2s`.
    pub next: String,
}

/// Called once for every failure of every list and watch, also in the middle of a stream, and for unreadable objects.
/// It must not block.
pub type WatchErrorHandler = dyn Fn(&WatchFailure<'_>) + Send + Sync;

/// One part's list and watch.
pub(crate) struct Reflector {
    pub(crate) resource: GroupVersionResource,
    pub(crate) lister_watcher: Arc<dyn ListerWatcher>,
    pub(crate) fifo: DeltaSink,
    pub(crate) progress: PartProgress,
    /// The permits of the whole process for lists. The list that waited longest is next.
    pub(crate) lists: Arc<Semaphore>,
    pub(crate) watch_error_handler: Option<Arc<WatchErrorHandler>>,
    /// Signals that an awaited resource may be served.
    pub(crate) definition: Option<DefinitionSignal>,
    pub(crate) tweaks: ListTweaks,
    pub(crate) seed: u64,
    /// Whether it follows another reflector of the same part, whose objects are in the store.
    pub(crate) again: bool,
}

/// The driver's data between two steps.
struct Hands {
    stream: Stream,
    /// A list in progress holds one; every list has deadlines, so it is never kept for good.
    permit: Option<OwnedSemaphorePermit>,
    definition: Option<DefinitionSignal>,
    epoch: u64,
    following: bool,
    /// The last failure's text: repetitions are logged at a lower level.
    last_error: String,
}

impl Reflector {
    /// Runs until the future is dropped.
    pub(crate) async fn run(mut self) {
        let now = Instant::now().into_std();
        let (mut machine, mut action) =
            Machine::start(self.tweaks.clone(), self.seed, self.again, now);
        let mut hands = Hands {
            stream: Stream::None,
            permit: None,
            definition: self.definition.take(),
            epoch: 0,
            following: false,
            last_error: String::new(),
        };
        loop {
            let deadline = machine.deadline().map(Instant::from_std);
            let arrived = self.carry_out(&action, &mut hands, deadline).await;
            let now = Instant::now().into_std();
            self.note(&arrived);
            (machine, action) = machine.step(arrived.input(), now);
            if self.progress.take_set_back() {
                machine.store_was_set_back();
                // The informer's task has counted it.
                hands.epoch = machine.epoch();
            }
            self.report(&arrived, &machine, &action, &mut hands);
            self.queue(arrived, &action, &mut hands).await;
        }
    }

    async fn queue(&self, arrived: Arrived, action: &ReflectorAction, hands: &mut Hands) {
        match action {
            ReflectorAction::Enqueue => {
                if let Some(delta) = arrived.into_delta() {
                    self.fifo.push(delta).await;
                }
            }
            ReflectorAction::Begin { cause } => {
                self.progress.relist(*cause);
                self.fifo.push(Delta::Begin).await;
            }
            ReflectorAction::End { resource_version, whole } => {
                hands.permit = None;
                let (resource_version, whole) = (resource_version.clone(), *whole);
                self.fifo.push(Delta::End { resource_version, whole }).await;
            }
            ReflectorAction::Forget => self.fifo.push(Delta::Gone).await,
            ReflectorAction::Open(_)
            | ReflectorAction::Discover
            | ReflectorAction::Read
            | ReflectorAction::Wait(_)
            | ReflectorAction::WaitForResource { .. } => {}
        }
    }

    /// Carries out the action beyond queueing, and waits for its result.
    async fn carry_out(
        &self,
        action: &ReflectorAction,
        hands: &mut Hands,
        deadline: Option<Instant>,
    ) -> Arrived {
        match action {
            ReflectorAction::Open(request) => {
                hands.stream = Stream::None;
                // Later signals are not older than the answer.
                if let Some(definition) = &mut hands.definition {
                    definition.mark();
                }
                self.open(request, hands).await
            }
            ReflectorAction::Discover => {
                (hands.stream, hands.permit) = (Stream::None, None);
                self.discover().await
            }
            ReflectorAction::Wait(wait) => {
                (hands.stream, hands.permit) = (Stream::None, None);
                tokio::time::sleep(*wait).await;
                Arrived::Elapsed
            }
            ReflectorAction::WaitForResource { told, untold } => {
                (hands.stream, hands.permit) = (Stream::None, None);
                let is_told = match &mut hands.definition {
                    Some(definition) => definition.wait(*told, *untold).await,
                    None => {
                        tokio::time::sleep(*untold).await;
                        false
                    }
                };
                if is_told { Arrived::DefinitionTold } else { Arrived::Elapsed }
            }
            ReflectorAction::Begin { .. }
            | ReflectorAction::Enqueue
            | ReflectorAction::End { .. }
            | ReflectorAction::Forget
            | ReflectorAction::Read => within(deadline, hands.stream.read()).await,
        }
    }

    /// The wait for the turn to list does not count against the answer's deadline.
    async fn open(&self, request: &ReflectorRequest, hands: &mut Hands) -> Arrived {
        let lists = match request {
            ReflectorRequest::List(_) => true,
            ReflectorRequest::Watch(options) => options.send_initial_events,
        };
        if !lists {
            hands.permit = None;
        } else if hands.permit.is_none() {
            hands.permit = self.lists.clone().acquire_owned().await.ok();
        }
        let deadline = Some(Instant::now() + state::ANSWER_MAX);
        let open = async {
            let opened = match request {
                ReflectorRequest::List(options) => {
                    self.lister_watcher.list(options.clone()).await.map(Stream::List)
                }
                ReflectorRequest::Watch(options) => {
                    self.lister_watcher.watch(options.clone()).await.map(Stream::Watch)
                }
            };
            match opened {
                Ok(opened) => {
                    hands.stream = opened;
                    Arrived::Opened
                }
                Err(error) => Arrived::Failed(error),
            }
        };
        within(deadline, open).await
    }

    /// An error or a timeout counts as unknown.
    async fn discover(&self) -> Arrived {
        let answer = tokio::time::timeout(state::ANSWER_MAX, self.lister_watcher.is_served()).await;
        let served = match answer {
            Ok(Ok(served)) => Some(served),
            Ok(Err(error)) => {
                tracing::debug!(resource = %self.resource, %error, "discovery failed");
                None
            }
            Err(_) => None,
        };
        if served == Some(false) {
            tracing::info!(resource = %self.resource, "resource is gone, and its objects with it");
        }
        Arrived::Served(served)
    }

    fn note(&self, arrived: &Arrived) {
        match arrived {
            Arrived::List(ListEvent::Malformed(_)) | Arrived::Watch(WatchEvent::Malformed(_)) => {
                // Invariant 14.
                self.progress.malformed();
            }
            Arrived::List(_) | Arrived::Watch(_) => {
                self.progress.heard(Instant::now().into_std());
            }
            _ => {}
        }
    }

    /// Sets the state for people, and makes the one report of a failure.
    fn report(
        &self,
        arrived: &Arrived,
        machine: &Machine,
        action: &ReflectorAction,
        hands: &mut Hands,
    ) {
        let following = machine.is_following();
        if following && !hands.following && machine.failure.is_none() {
            hands.last_error.clear();
            self.progress.watching();
        }
        hands.following = following;
        if machine.epoch() != hands.epoch {
            hands.epoch = machine.epoch();
            self.progress.rewound();
        }
        // Invariant 15.
        let Some(error) = &machine.failure else { return };
        let one_object = matches!(
            arrived,
            Arrived::List(ListEvent::Malformed(_)) | Arrived::Watch(WatchEvent::Malformed(_))
        );
        // An unreadable object says nothing about the rest.
        if !one_object {
            self.progress.failed(error);
            // A server that was set back goes on sending changes.
            if following {
                self.progress.watching();
            }
        }
        let next = what_next(machine, action);
        let failure = WatchFailure { resource: &self.resource, error, next };
        self.tell(&failure);
        let text = error.to_string();
        if hands.last_error == text {
            tracing::debug!(resource = %self.resource, %error, next = %failure.next, "watch failed");
        } else {
            tracing::warn!(resource = %self.resource, %error, next = %failure.next, "watch failed");
            hands.last_error = text;
        }
    }
}

impl Reflector {
    fn tell(&self, failure: &WatchFailure<'_>) {
        if !failure.tell(self.watch_error_handler.as_ref()) {
            self.progress.handler_panicked();
        }
    }
}

impl WatchFailure<'_> {
    /// Catches a panic of the hook. Returns whether there was none.
    pub(crate) fn tell(&self, handler: Option<&Arc<WatchErrorHandler>>) -> bool {
        let Some(handler) = handler else { return true };
        let told = catch_unwind(AssertUnwindSafe(|| handler(self))).is_ok();
        if !told {
            tracing::error!(resource = %self.resource, "watch-error hook panicked");
        }
        told
    }
}

fn what_next(machine: &Machine, action: &ReflectorAction) -> String {
    let what = match &machine.state {
        ReflectorState::BackingOff { next: Next::List(_) } => "listing again",
        ReflectorState::BackingOff { next: Next::Page(_) } => "asking for the page again",
        ReflectorState::BackingOff { next: Next::Watch } => "watching again",
        ReflectorState::WatchListing(_) => "listing again, by a watch",
        ReflectorState::Listing { .. } => "listing again, in pages",
        ReflectorState::Asking { .. } => "asking whether the resource is gone",
        ReflectorState::Watching(_) | ReflectorState::Listed | ReflectorState::Forgetting => {
            "going on"
        }
    };
    let after = |wait: &Duration| format!("{what} in {:.1}s", wait.as_secs_f64());
    match action {
        ReflectorAction::Wait(wait) | ReflectorAction::WaitForResource { untold: wait, .. } => {
            after(wait)
        }
        ReflectorAction::Enqueue | ReflectorAction::Read | ReflectorAction::End { .. } => {
            "going on".to_owned()
        }
        ReflectorAction::Open(_)
        | ReflectorAction::Discover
        | ReflectorAction::Begin { .. }
        | ReflectorAction::Forget => {
            format!("{what} now")
        }
    }
}

#[cfg(test)]
mod tests;
