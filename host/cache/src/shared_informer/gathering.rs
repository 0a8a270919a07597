//! The pause between two batches of changes, if many handlers pass them on to other threads.
//!
//! What a change costs each of these handlers is mostly the first touch of its memory, which the handlers before it have
//! replaced in the caches. Several changes at once cost it little more than one. So the informer waits after a batch for
//! the changes of the next moments. A change after a pause waits for nothing.

use std::time::{Duration, Instant};

/// The pause for each handler that passed changes on. In a tenth of this time or less, a plugin handles a change.
const PAUSE_FOR_EACH: Duration = Duration::from_micros(200);
const PAUSE_MAX: Duration = Duration::from_millis(20);
/// A shorter pause is none: fewer than ten handlers get each change at once.
const PAUSE_MIN: Duration = Duration::from_millis(2);

/// When the next batch may begin, after one that so many handlers have passed on.
pub(super) fn gather_until(passed_on: usize, now: Instant) -> Option<Instant> {
    let handlers = u32::try_from(passed_on).unwrap_or(u32::MAX);
    let pause = PAUSE_FOR_EACH.saturating_mul(handlers).min(PAUSE_MAX);
    (pause >= PAUSE_MIN).then(|| now + pause)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Bench, pod};
    use super::*;
    use crate::handler_queue::HandlerOptions;
    use crate::object::Object;
    use crate::resource_event_handler::{Cause, FinalState, ResourceEventHandler};
    use parking_lot::Mutex;
    use std::sync::Arc;

    #[test]
    fn the_pause_grows_with_the_handlers_up_to_twenty_milliseconds() {
        let now = Instant::now();
        let pause = |handlers| gather_until(handlers, now).map(|until| (until - now).as_millis());
        let pauses = [0, 1, 9, 10, 50, 100, 1_000, usize::MAX].map(pause);
        assert_eq!(pauses, [None, None, None, Some(2), Some(10), Some(20), Some(20), Some(20)]);
    }

    /// Passes everything on, and notes the sizes of the batches.
    #[derive(Default)]
    struct PassesOn {
        waiting: Mutex<usize>,
        batches: Mutex<Vec<usize>>,
    }

    impl PassesOn {
        fn count(&self) {
            *self.waiting.lock() += 1;
        }
    }

    impl ResourceEventHandler for PassesOn {
        fn on_add(&self, _: &Object, _: Cause) {
            self.count();
        }
        fn on_update(&self, _: &Object, _: &Object, _: Cause) {
            self.count();
        }
        fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {
            self.count();
        }
        fn on_batch_told(&self) -> bool {
            let passed_on = std::mem::take(&mut *self.waiting.lock());
            if passed_on > 0 {
                self.batches.lock().push(passed_on);
            }
            passed_on > 0
        }
    }

    /// Makes changes at these milliseconds, and checks the batches of a handler at the end.
    async fn check(handlers: usize, changes: &[(u64, usize)], expect: &[usize]) {
        let bench = Bench::start(|_| {}).await;
        let all: Vec<_> = (0..handlers).map(|_| Arc::new(PassesOn::default())).collect();
        let add = |handler: &Arc<PassesOn>| {
            bench.informer.add_inline_handler(handler.clone(), HandlerOptions::default())
        };
        let _registrations: Vec<_> = all.iter().map(add).collect();
        let start = tokio::time::Instant::now() + Duration::from_secs(60);
        tokio::time::sleep_until(start).await;
        for &(at, count) in changes {
            tokio::time::sleep_until(start + Duration::from_millis(at)).await;
            (0..count).for_each(|_| _ = bench.source.add(&pod("a")));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        for handler in all {
            assert_eq!(*handler.batches.lock(), expect, "{handlers} handlers, {changes:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_soon_after_another_waits_for_more_if_there_are_many_handlers() {
        // The first one waits for nothing, and so does one after a pause.
        check(100, &[(0, 1), (2, 1), (9, 1), (18, 2), (60, 1)], &[1, 4, 1]).await;
        check(100, &[(0, 1), (2, 1), (50, 1)], &[1, 1, 1]).await;
        // Few handlers get each change at once.
        check(9, &[(0, 1), (2, 1), (4, 1), (6, 2)], &[1, 1, 1, 2]).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_ends_the_pause() {
        // A queue of 256 changes is full. The rest follows a pause later.
        check(100, &[(0, 1), (2, 300)], &[1, 256, 44]).await;
    }
}
