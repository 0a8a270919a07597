//! Wakes everybody who waits, always in the order in which they began to wait. tokio's `watch` wakes in a
//! random order, which would make every run another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// The sending side.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    inner: Arc<SignalState>,
}

#[derive(Debug, Default)]
struct SignalState {
    sent: AtomicU64,
    waiting: Notify,
}

/// Waits for signals sent after it was made.
#[derive(Debug)]
pub(crate) struct SignalListener {
    inner: Arc<SignalState>,
    seen: u64,
}

impl Signal {
    pub(crate) fn send(&self) {
        self.inner.sent.fetch_add(1, Ordering::AcqRel);
        self.inner.waiting.notify_waiters();
    }

    pub(crate) fn listen(&self) -> SignalListener {
        let inner = self.inner.clone();
        let seen = inner.sent.load(Ordering::Acquire);
        SignalListener { inner, seen }
    }
}

impl SignalListener {
    /// What was sent up to now has been noticed.
    pub(crate) fn notice(&mut self) {
        self.seen = self.inner.sent.load(Ordering::Acquire);
    }

    /// Returns when something was sent since the last call of this or of `notice`.
    pub(crate) async fn sent(&mut self) {
        loop {
            let inner = self.inner.clone();
            let woken = inner.waiting.notified();
            tokio::pin!(woken);
            // From here on nothing is missed.
            woken.as_mut().enable();
            let sent = self.inner.sent.load(Ordering::Acquire);
            if sent != self.seen {
                self.seen = sent;
                return;
            }
            woken.await;
        }
    }
}
