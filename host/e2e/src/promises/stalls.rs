//! How long the machine let a thread of the test wait that had nothing to do but to wake up: the same was done to the host meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_millis(10);

/// Wakes up for as long as there is this.
pub(super) struct Stalls {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Duration>>,
}

impl Stalls {
    pub(super) fn begin() -> Self {
        let is_over = Arc::<AtomicBool>::default();
        let of = is_over.clone();
        let thread = std::thread::spawn(move || {
            let mut longest = Duration::ZERO;
            while !of.load(Ordering::Relaxed) {
                let slept = Instant::now();
                std::thread::park_timeout(EVERY);
                longest = longest.max(slept.elapsed().saturating_sub(EVERY));
            }
            longest
        });
        Self { is_over, thread: Some(thread) }
    }

    /// The longest time from when it was to wake up to when it did.
    pub(super) fn end(&mut self) -> Duration {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
