//! What becomes of a plugin whose file is gone: it is told what waits, as long as that may take, and goes on if the file comes back.

use super::Plugin;
use crate::configuration::OnRemoval;
use crate::lifecycle::{Input, State};
use crate::plugin_queue::PluginQueue;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;

impl Plugin {
    /// Takes nothing new in any more, and answers how long what waits may take to be told; none if it is not told at all: nothing
    /// waits, or nothing would be told, or that is not wanted. In the middle of a load nobody knows to which version to tell it.
    pub(crate) fn drain(&mut self, number: u64) -> Option<(Arc<PluginQueue>, Duration)> {
        let settings = &self.current.as_ref()?.prepared.settings;
        let limit = settings.limits.drain_time;
        let is_held = matches!(self.status.state(), State::Paused { .. } | State::Tripped { .. });
        let is_wanted = settings.on_removal == OnRemoval::Drain;
        if !is_wanted || is_held || self.load.is_some() || self.status.queue.is_drained() {
            return None;
        }
        (self.draining, self.next) = (Some(number), None);
        self.status.queue.close();
        self.status.apply([Input::FileGone], Timestamp::now());
        Some((self.status.queue.clone(), limit))
    }

    /// Its file is there again. Answers whether it was gone.
    pub(crate) fn goes_on(&mut self) -> bool {
        let was_gone = self.draining.take().is_some();
        if was_gone {
            self.status.queue.reopen();
            self.status.apply([Input::FileBack], Timestamp::now());
        }
        was_gone
    }
}
