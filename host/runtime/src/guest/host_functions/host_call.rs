//! One call of a host function, with its time by the clock.

use crate::guest::guest_state::GuestState;
use std::ops::{Deref, DerefMut};
use std::time::Instant;
use wasmtime::component::HasData;

/// The state of the calling guest during its call. The conversion of arguments is not part of the measured time.
pub(crate) struct HostCall<'a> {
    state: &'a mut GuestState,
    began: Instant,
}

/// Interfaces with this marker have their calls measured.
pub(crate) struct Measured;

impl HasData for Measured {
    type Data<'a> = HostCall<'a>;
}

/// Begins a call of a host function.
pub(crate) fn begin(state: &mut GuestState) -> HostCall<'_> {
    HostCall { state, began: Instant::now() }
}

impl Drop for HostCall<'_> {
    fn drop(&mut self) {
        self.state.notes.host_calls += self.began.elapsed();
    }
}

impl Deref for HostCall<'_> {
    type Target = GuestState;

    fn deref(&self) -> &GuestState {
        self.state
    }
}

impl DerefMut for HostCall<'_> {
    fn deref_mut(&mut self) -> &mut GuestState {
        self.state
    }
}
