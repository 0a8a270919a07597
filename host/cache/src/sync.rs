//! The two primitives between readers and the writer of a store: a mutex that no reader takes, and
//! a cell that is read without waiting.
//!
//! In the crate's tests both offer a point to switch threads before and after each step. So a
//! scheduler can try orders that real threads rarely have.

use arc_swap::{ArcSwap, Guard};
use std::sync::Arc;

pub(crate) use parking_lot::MutexGuard;

/// For writers.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(test)]
        while schedule::step() {
            if let Some(guard) = self.0.try_lock() {
                return guard;
            }
        }
        self.0.lock()
    }
}

/// A published value: read at any time in a bounded number of steps, replaced as a whole. Invariant 3.
#[derive(Debug, Default)]
pub(crate) struct Published<T>(ArcSwap<T>);

impl<T> Published<T> {
    /// For the length of one call.
    pub(crate) fn read(&self) -> Guard<Arc<T>> {
        step();
        self.0.load()
    }

    /// To keep.
    pub(crate) fn snapshot(&self) -> Arc<T> {
        step();
        self.0.load_full()
    }

    /// Returns the former value. Its reference count is exact when this returns, and only falls from then on.
    pub(crate) fn replace(&self, value: Arc<T>) -> Arc<T> {
        step();
        let before = self.0.swap(value);
        step();
        before
    }
}

fn step() {
    #[cfg(test)]
    schedule::step();
}

/// The turns of a test's scheduler.
#[cfg(test)]
pub(crate) mod schedule {
    use std::cell::Cell;

    thread_local! {
        static TURN: Cell<Option<fn()>> = const { Cell::new(None) };
    }

    /// Calls `turn` at each step of this thread, while `run` runs.
    pub(crate) fn with(turn: fn(), run: impl FnOnce()) {
        TURN.set(Some(turn));
        run();
        TURN.set(None);
    }

    /// Whether there is a scheduler; it has then had its turn.
    pub(super) fn step() -> bool {
        let turn = TURN.get();
        if let Some(turn) = turn {
            turn();
        }
        turn.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static TURNS: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn a_scheduler_gets_its_turn_at_every_step() {
        let (mutex, published) = (Mutex::<()>::default(), Published::<u32>::default());
        schedule::with(
            || TURNS.set(TURNS.get() + 1),
            || {
                let _guard = mutex.lock();
                published.replace(Arc::new(1));
                assert_eq!((**published.read(), *published.snapshot()), (1, 1));
            },
        );
        drop(mutex.lock());
        assert_eq!(TURNS.get(), 5);
    }
}
