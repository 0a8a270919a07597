//! Wakes all waiters, always in the order in which they began to wait. tokio's `watch` wakes in a random order, which
//! would make runs of the same seed differ.

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

/// Waits for signals that are sent after its creation.
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
    /// Ignores the signals so far.
    pub(crate) fn notice(&mut self) {
        self.seen = self.inner.sent.load(Ordering::Acquire);
    }

    /// Returns when a signal was sent after the last call of this function or of `notice`.
    pub(crate) async fn sent(&mut self) {
        loop {
            let inner = self.inner.clone();
            let woken = inner.waiting.notified();
            tokio::pin!(woken);
            // From now on no signal is missed.
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
