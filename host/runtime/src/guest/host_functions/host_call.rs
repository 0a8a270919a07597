//! One call of a host function, and how long it takes by the clock.

use crate::guest::guest_state::GuestState;
use std::ops::{Deref, DerefMut};
use std::time::Instant;
use wasmtime::component::HasData;

/// The state of the guest that calls, for as long as its call lasts. Handing arguments over is not part of it.
pub(crate) struct HostCall<'a> {
    state: &'a mut GuestState,
    began: Instant,
}

/// What interfaces are linked with so that their calls are measured.
pub(crate) struct Measured;

impl HasData for Measured {
    type Data<'a> = HostCall<'a>;
}

/// A host function is called.
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
