//! The host's data for an instance that uses WASI; the functions are in `guest/host_functions/wasi.rs`.

mod lines;
mod pollables;

use super::GuestState;
pub(crate) use lines::OutputLine;
pub(crate) use pollables::{POLLABLES_MAX, Pollables, READY};
use std::time::Instant;

/// The host's data for an instance that uses WASI, made at the first use.
pub(crate) struct Wasi {
    /// When the instance's monotonic clock began.
    pub(crate) began: Instant,
    pub(crate) pollables: Pollables,
    pub(crate) out: OutputLine,
    pub(crate) err: OutputLine,
}

impl Wasi {
    pub(crate) fn new(began: Instant) -> Self {
        let (out, err) = (OutputLine::default(), OutputLine::default());
        Self { began, pollables: Pollables::default(), out, err }
    }
}

impl GuestState {
    /// The instance's data, made at the first use.
    pub(crate) fn wasi(&mut self) -> &mut Wasi {
        self.wasi.get_or_insert_with(|| Box::new(Wasi::new(self.began)))
    }
}
