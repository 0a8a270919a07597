//! The hand-off from the reflectors of one informer to its task: bounded and in order.
//!
//! Behaves like client-go's `RealFIFO` (`tools/cache/the_real_fifo.go`, used by its informers since 0.33) under the
//! familiar name: one delta each, in the order of arrival, without compression. A list is its begin, its objects and
//! its end, so that two whole sets are never held; its end is like `ReplacedAll`. Each delta names its part of the
//! informer's scope. The order holds within a part and between parts.
//!
//! The queue does not know the store, so it makes no tombstones: the informer compares. There are no `Sync` deltas
//! either. A resync concerns one handler and goes from the store to that handler's queue (`shared_processor.rs`). That
//! queue leaves out objects with a newer notification, as `Resync` does in client-go.

use crate::list_watch::Change;
use crate::object::Object;
use crate::pulse::Flow;
use crate::transform::{Transform, TransformError};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

/// One step of the informer's work.
#[derive(Clone, Debug)]
pub(crate) enum Delta {
    /// A list begins. It is a consistent read: even a lower resourceVersion counts.
    Begin,
    /// An object of the list.
    Listed(Object, Instant),
    /// A change.
    Changed(Change, Object, Instant),
    /// The list is complete. With `whole`, objects that the list did not show are gone. Otherwise an unreadable item
    /// may be any known object, and nothing is removed.
    End { resource_version: Box<str>, whole: bool },
    /// The resource is no longer served: its objects are gone.
    Gone,
    /// Everything up to here has been queued.
    Bookmark { resource_version: Box<str> },
}

impl Delta {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Listed(object, _) | Self::Changed(_, object, _) => object.size(),
            Self::Begin | Self::End { .. } | Self::Gone | Self::Bookmark { .. } => 64,
        }
    }
}

/// A full queue makes the reflector wait: at a batch of this many deltas, or at 4 MiB. An empty queue takes one delta
/// of any size. These deltas are most of the memory that a first list takes and frees. Invariant 19.
const DELTAS_WAITING_MAX: usize = 256;
const BYTES_WAITING_MAX: usize = 4 << 20;

/// The number of a part of an informer's scope. Numbers are never reused.
pub(crate) type PartId = u64;

/// The processing of each arriving object before it is queued.
#[derive(Clone)]
pub(crate) struct Intake {
    pub(crate) transform: Transform,
    /// Called for each object on which the transform failed; the object is queued unchanged.
    pub(crate) failed: Arc<dyn Fn(&TransformError) + Send + Sync>,
}

impl Intake {
    fn take(&self, object: Object) -> Object {
        let (object, error) = self.transform.apply(object);
        if let Some(error) = error {
            (self.failed)(&error);
        }
        object
    }
}

/// The input of one part's reflector.
#[derive(Clone)]
pub(crate) struct DeltaSink {
    fifo: Arc<DeltaFifo>,
    part: PartId,
    /// Whether no more than the objects' metadata is queued, whatever the source sends.
    metadata_only: bool,
    intake: Option<Intake>,
}

impl DeltaSink {
    pub(crate) fn new(fifo: Arc<DeltaFifo>, part: PartId) -> Self {
        Self { fifo, part, metadata_only: false, intake: None }
    }

    pub(crate) fn with_metadata_only(self, metadata_only: bool) -> Self {
        Self { metadata_only, ..self }
    }

    pub(crate) fn with_intake(self, intake: Option<Intake>) -> Self {
        Self { intake, ..self }
    }

    /// As [`DeltaFifo::push`], for this part.
    pub(crate) async fn push(&self, delta: Delta) {
        let delta = match delta {
            Delta::Listed(object, received) => Delta::Listed(self.take(object), received),
            Delta::Changed(change, object, received) => {
                Delta::Changed(change, self.take(object), received)
            }
            delta => delta,
        };
        self.fifo.push(self.part, delta).await;
    }

    fn take(&self, object: Object) -> Object {
        let object = if self.metadata_only { object.metadata_only() } else { object };
        match &self.intake {
            Some(intake) => intake.take(object),
            None => object,
        }
    }
}

/// The queue: the reflectors push, one informer pops.
#[derive(Debug, Default)]
pub(crate) struct DeltaFifo {
    waiting: Mutex<WaitingDeltas>,
    pushed: Notify,
    filled: Notify,
    popped: Notify,
    /// Changed under the lock of `waiting`.
    flow: Arc<Flow>,
}

#[derive(Debug, Default)]
struct WaitingDeltas {
    deltas: VecDeque<(PartId, Delta)>,
    /// The sum over `deltas`.
    bytes: usize,
}

impl WaitingDeltas {
    fn is_full(&self) -> bool {
        self.deltas.len() >= DELTAS_WAITING_MAX || self.bytes >= BYTES_WAITING_MAX
    }
}

impl DeltaFifo {
    /// A queue with this `flow`, which shows whether pushed deltas are popped.
    pub(crate) fn watched(flow: Arc<Flow>) -> Self {
        Self { flow, ..Self::default() }
    }

    /// Appends; waits while the queue is full. Nothing is appended if the future is dropped before.
    pub(crate) async fn push(&self, part: PartId, delta: Delta) {
        let mut delta = Some((part, delta));
        loop {
            if self.try_push(&mut delta) {
                self.pushed.notify_one();
                return;
            }
            self.popped.notified().await;
        }
    }

    /// Takes all waiting deltas; waits for the first.
    pub(crate) async fn pop_all(&self) -> VecDeque<(PartId, Delta)> {
        loop {
            let deltas = self.try_pop_all();
            if !deltas.is_empty() {
                return deltas;
            }
            self.pushed.notified().await;
        }
    }

    /// Takes all deltas that wait at this time, or earlier if the queue is full. Then waits for the first, as
    /// [`Self::pop_all`].
    pub(crate) async fn pop_gathered(&self, until: Option<Instant>) -> VecDeque<(PartId, Delta)> {
        if let Some(until) = until {
            let filled = self.filled.notified();
            if !self.waiting.lock().is_full() {
                _ = tokio::time::timeout_at(until.into(), filled).await;
            }
        }
        self.pop_all().await
    }

    /// Takes all waiting deltas, if there are any. The caller has finished the deltas of its last call.
    pub(crate) fn try_pop_all(&self) -> VecDeque<(PartId, Delta)> {
        let deltas = {
            let mut waiting = self.waiting.lock();
            let WaitingDeltas { deltas, .. } = std::mem::take(&mut *waiting);
            match deltas.is_empty() {
                true => self.flow.idle(),
                false => self.flow.taken(),
            }
            deltas
        };
        if !deltas.is_empty() {
            self.popped.notify_one();
        }
        deltas
    }

    fn try_push(&self, delta: &mut Option<(PartId, Delta)>) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.is_full() {
            return false;
        }
        let (part, delta) = delta.take().expect("pushed once");
        waiting.bytes += delta.bytes();
        waiting.deltas.push_back((part, delta));
        self.flow.brought();
        if waiting.is_full() {
            self.filled.notify_waiters();
        } else {
            // Another part's reflector may wait for room too.
            self.popped.notify_one();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pulse::Pulse;
    use futures::FutureExt;

    fn bookmark(number: usize) -> Delta {
        Delta::Bookmark { resource_version: number.to_string().into() }
    }

    fn numbers(deltas: VecDeque<(PartId, Delta)>) -> Vec<usize> {
        let number = |(_, delta)| match delta {
            Delta::Bookmark { resource_version } => resource_version.parse().expect("a number"),
            other => panic!("not a bookmark: {other:?}"),
        };
        deltas.into_iter().map(number).collect()
    }

    #[test]
    fn deltas_come_out_in_order_and_all_at_once() {
        let fifo = DeltaFifo::default();
        for number in 0..3 {
            fifo.push(0, bookmark(number)).now_or_never().expect("there is room");
        }
        assert_eq!(numbers(fifo.pop_all().now_or_never().expect("not empty")), [0, 1, 2]);
        assert!(fifo.pop_all().now_or_never().is_none(), "an empty queue waits");
    }

    /// Invariant 19.
    #[test]
    fn a_full_queue_makes_the_reflector_wait() {
        let fifo = DeltaFifo::default();
        for number in 0..DELTAS_WAITING_MAX {
            fifo.push(0, bookmark(number)).now_or_never().expect("there is room");
        }
        let mut push = Box::pin(fifo.push(0, bookmark(DELTAS_WAITING_MAX)));
        assert!(push.as_mut().now_or_never().is_none(), "the queue is full");
        assert_eq!(numbers(fifo.try_pop_all()).len(), DELTAS_WAITING_MAX);
        push.now_or_never().expect("there is room again");
        assert_eq!(numbers(fifo.try_pop_all()), [DELTAS_WAITING_MAX]);
    }

    #[test]
    fn deltas_that_nobody_pops_or_that_are_not_through_are_work_without_a_step() {
        let flow = Arc::<Flow>::default();
        let fifo = DeltaFifo::watched(flow.clone());
        let pulse =
            |steps: u64, has_work: bool| assert_eq!(flow.pulse(), Pulse { steps, has_work });
        pulse(0, false);
        fifo.push(0, bookmark(0)).now_or_never().expect("there is room");
        pulse(0, true);
        assert_eq!(numbers(fifo.try_pop_all()), [0]);
        pulse(1, true);
        assert!(fifo.try_pop_all().is_empty());
        pulse(1, false);
    }

    #[test]
    fn every_reflector_that_waits_for_room_gets_its_turn() {
        let fifo = DeltaFifo::default();
        for number in 0..DELTAS_WAITING_MAX {
            fifo.push(0, bookmark(number)).now_or_never().expect("there is room");
        }
        let mut pushes: Vec<_> =
            (1..4).map(|part| Box::pin(fifo.push(part, bookmark(0)))).collect();
        for push in &mut pushes {
            assert!(push.as_mut().now_or_never().is_none(), "the queue is full");
        }
        fifo.try_pop_all();
        for push in &mut pushes {
            push.as_mut().now_or_never().expect("there is room again");
        }
        let parts: Vec<_> = fifo.try_pop_all().into_iter().map(|(part, _)| part).collect();
        assert_eq!(parts, [1, 2, 3]);
    }
}
