//! The queue of a plugin whose file is gone.

use super::PluginQueue;
use crate::delivery::mailboxes::Mailboxes;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::futures::Notified;

impl PluginQueue {
    /// From here on what happens is put aside.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Relaxed);
        self.change(Mailboxes::close);
    }

    /// Goes on with what was put aside.
    pub(crate) fn reopen(&self) {
        self.is_closing.store(false, Relaxed);
        self.change(Mailboxes::reopen);
        self.send_rooms();
    }

    /// Waits until there may be less to tell, from here on.
    pub(crate) fn progress(&self) -> Notified<'_> {
        self.progress.notified()
    }

    /// There may be less to tell, or what waits will not be told soon.
    pub(crate) fn tell_progress(&self) {
        if self.is_closing.load(Relaxed) {
            self.progress.notify_waiters();
        }
    }
}
